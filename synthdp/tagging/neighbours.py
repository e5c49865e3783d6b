"""Who looks like whom on the keys: code keys, count neighbours, match records, average aligned copies.

Two records are neighbours when they agree on every categorical key and differ by at most the tolerance on every
numeric key. Files are sorted by cell (combination of categorical keys, cut into strips along a second numeric key) and
by the sharpest numeric key, so a record's neighbours lie in a few stretches found by bisection; only those are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.errors import InputError
from synthdp.table.coded import MISSING, Coded, coded, merge
from synthdp.table.schema import Column, Kind
from synthdp.tagging.compiled import match_sorted, sum_sorted

__all__ = ["MOST_STRIPS", "Keys", "Matches", "average", "count_neighbours", "encode_keys", "match", "sum_neighbours"]


def average(copies: Sequence[pd.DataFrame], columns: Sequence[Column]) -> pd.DataFrame:
    """Average aligned copies: the mean of numbers and dates, the most frequent level of categories.

    Missing values are ignored; of equally frequent levels the first in schema order is taken.
    """
    averaged: dict[str, Any] = {}
    for column in columns:
        if column.kind.categorical:
            levels = np.stack([coded(copy).codes(column) for copy in copies])
            # position -1 is the None at the end
            averaged[column.name] = np.asarray([*column.levels, None], dtype=object)[_mode(levels)]
            continue
        values = np.stack([coded(copy).numbers(column) for copy in copies])
        known = np.isfinite(values)
        count = known.sum(axis=0)
        mean = np.where(known, values, 0.0).sum(axis=0) / np.where(count > 0, count, np.nan)
        date = column.kind is Kind.DATE
        averaged[column.name] = _moments(mean) if date else mean
    return pd.DataFrame(averaged)


def _mode(levels: Codes) -> Codes:
    votes = np.stack([(levels == level).sum(axis=0) for level in levels])
    votes[levels == MISSING] = 0
    ranked = np.where(votes == votes.max(axis=0), levels, np.iinfo(np.int64).max)
    return np.where(votes.max(axis=0) > 0, ranked.min(axis=0), MISSING)


def _moments(days: Floats) -> pd.Series:
    """Return days since 1970 as moments, to the second: nanoseconds end in 2262, before 9999-12-31."""
    found = np.full(len(days), "NaT", dtype="datetime64[s]")
    known = np.isfinite(days)
    found[known] = np.round(days[known] * 86_400).astype(np.int64).astype("datetime64[s]")
    return pd.Series(found)


MOST_STRIPS = 2**20


@dataclass(frozen=True, repr=False)
class Keys:
    """The key columns of one file, coded for matching.

    Parameters
    ----------
    cells
        Which combination of categorical keys (and of missing numeric keys) each record has, shape (n,).
    numbers
        Numeric keys, shape (n, q); 0 where missing, because the cell already says that it is missing.
    tolerances
        How far apart two numbers may be and still match, shape (q,).
    """

    cells: Codes
    numbers: Floats
    tolerances: Floats

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        return f"Keys({len(self)} records, {len(self.tolerances)} numeric keys)"


@dataclass(frozen=True, repr=False)
class Matches:
    """What an intruder who holds the keys finds in the copies, record by record.

    Target i has s_ij candidates in copy j; each of them is the target with probability 1/s_ij. The probability of
    record r is the mean over copies, and the intruder points at the records with the largest one.

    Parameters
    ----------
    individual
        Probability given to record i itself, zero where it is no candidate.
    unconditional
        Mean over copies of 1/s_ij, whether or not record i is a candidate.
    top
        The largest probability any record is given, 0 where no copy has a candidate.
    best
        c_i, how many records share the largest probability; 0 where no copy has a candidate.
    hit
        I_i, whether record i is one of them.
    winner
        The record pointed at where c_i = 1, otherwise -1.
    alone
        In how many copies record i itself is the only candidate.
    """

    individual: Floats
    unconditional: Floats
    top: Floats
    best: Codes
    hit: Booleans
    winner: Codes
    alone: Codes

    def __repr__(self) -> str:
        return f"Matches({len(self.best)} targets)"

    @property
    def any_candidate(self) -> Booleans:
        """Whether some copy has a candidate for the target."""
        return self.best > 0


def encode_keys(frames: Sequence[pd.DataFrame], columns: Sequence[Column]) -> tuple[Keys, ...]:
    """Code the key columns of several files alike, so that they can be matched with each other.

    A missing value matches only a missing value. A value that is no level of its column, or no number, matches
    nothing in a checked file.

    Raises
    ------
    InputError
        If a date key holds something that is no date.

    Examples
    --------
    >>> from synthdp.table.schema import Column
    >>> age = Column(name="age", kind="continuous", role="replace", key=True, tolerance=3)
    >>> original, copy = pd.DataFrame({"age": [41.0, 70.0]}), pd.DataFrame({"age": [44.0, 42.0]})
    >>> count_neighbours(*encode_keys([original, copy], [age]))
    array([2, 0])
    """
    cells = np.zeros(sum(len(frame) for frame in frames), dtype=np.int64)
    numeric: list[Floats] = []
    tolerances: list[float] = []
    for column in columns:
        parts = [encode_column(coded(frame), column) for frame in frames]
        labels = np.concatenate([label for label, _ in parts])
        if labels.any():
            cells = merge(cells, labels)
        if not column.kind.categorical:
            numeric.append(np.concatenate([values for _, values in parts]))
            tolerances.append(column.tolerance)
    stacked = np.column_stack(numeric) if numeric else np.empty((len(cells), 0))
    cuts = np.cumsum([len(frame) for frame in frames])[:-1]
    limits = np.asarray(tolerances, dtype=np.float64)
    pieces = zip(np.split(cells, cuts), np.split(stacked, cuts), strict=True)
    return tuple(Keys(cells=cell, numbers=values, tolerances=limits) for cell, values in pieces)


def count_neighbours(targets: Keys, file: Keys) -> Codes:
    """Count for every target the records of ``file`` in its cell and within the tolerance on every numeric key.

    Notes
    -----
    Sorting costs O(n log n). With at most one numeric key a target then costs O(log n); with more it costs the number
    of records that agree on the cell and the two sharpest numeric keys. Targets with equal keys are counted once.
    """
    return _summed(targets, file, np.empty(0)).astype(np.int64)


def sum_neighbours(targets: Keys, file: Keys, weights: Floats) -> Floats:
    """Add up the weights of the records that :func:`count_neighbours` counts, at the cost of reading each of them.

    Examples
    --------
    >>> keys = Keys(np.zeros(3, dtype=np.int64), np.array([[1.0], [2.0], [9.0]]), np.array([1.5]))
    >>> sum_neighbours(keys, keys, np.array([10.0, 5.0, 2.0]))
    array([15., 15.,  2.])
    """
    return _summed(targets, file, weights)


def _summed(targets: Keys, file: Keys, weights: Floats) -> Floats:
    """Add up the weights of each target's neighbours; without weights, count them."""
    if len(targets) == 0 or len(file) == 0:
        return np.zeros(len(targets))
    reach, (targets, file) = _arrange(targets, file)
    rows = _sorted_rows(file)
    return sum_sorted(
        _alike_together(targets),
        targets.cells,
        targets.numbers,
        reach,
        file.cells[rows],
        file.numbers[rows],
        file.tolerances,
        weights[rows] if len(weights) else weights,
    )


def match(targets: Keys, copies: Sequence[Keys], *, sample: Codes | None = None) -> Matches:
    """Match every target against all copies, where row i of every copy stands for record i.

    Parameters
    ----------
    targets
        The keys the intruder holds, one per record.
    copies
        The keys of each file.
    sample
        Only these targets, increasing; the results are then theirs, in this order.

    Notes
    -----
    Time is proportional to the number of candidates (as the two sharpest numeric keys see them), summed over copies
    and over targets with distinct keys, plus sorting; memory to the number of records times copies. Seconds and
    memory for a million targets are printed by benchmarks/identity.py.

    Raises
    ------
    ValueError
        If there is no target or no copy, or a copy has not as many rows as there are targets.
    """
    if not copies or len(targets) == 0 or any(len(copy) != len(targets) for copy in copies):
        raise ValueError("match: needs targets and at least one copy, each with as many rows as there are targets.")
    reach, (targets, *files) = _arrange(targets, *copies)
    order = _alike_together(targets)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    places = np.sort(rank) if sample is None else np.sort(rank[sample])
    orders = [_sorted_rows(file) for file in files]
    second = min(1, targets.numbers.shape[1] - 1)
    individual, unconditional, top, best, hit, winner, alone = match_sorted(
        places,
        targets.cells[order],
        targets.numbers[order],
        reach,
        np.stack([rank[rows].astype(np.int32) for rows in orders]),
        np.stack([file.cells[rows] for file, rows in zip(files, orders, strict=True)]),
        np.stack([file.numbers[rows, 0] for file, rows in zip(files, orders, strict=True)]),
        np.stack([file.numbers[rows, second] for file, rows in zip(files, orders, strict=True)]),
        np.stack([file.cells[order] for file in files]),
        np.stack([file.numbers[order] for file in files]),
        targets.tolerances,
    )
    # from the kernel's numbering back to the records'
    back = np.argsort(order[places])
    named = np.where(winner >= 0, order[winner], -1)
    return Matches(individual[back], unconditional[back], top[back], best[back], hit[back], named[back], alone[back])


def encode_column(file: Coded, column: Column) -> tuple[Codes, Floats]:
    """Return what must be equal (numbers: 0, or 1 for missing, 2 for foreign) and, for numeric keys, be close."""
    if column.kind.categorical:
        return file.codes(column, foreign=len(column.levels)) + 1, np.empty(0)
    try:
        values = file.numbers(column)
    except (ValueError, TypeError):
        wanted = "dates" if column.kind is Kind.DATE else "numbers"
        raise InputError(f"{column.name}: a {column.kind} key needs {wanted}, found values that are not.") from None
    finite = np.isfinite(values)
    return np.where(finite, 0, np.where(file.present(column.name), 2, 1)), np.where(finite, values, 0.0)


def _arrange(targets: Keys, *files: Keys) -> tuple[int, list[Keys]]:
    """Put the numeric key that rules out most records first, and cut cells into strips along the second.

    Neighbours then lie in a strip or ``reach`` strips beside it, whose cells are numbered consecutively.
    """
    arranged = [targets, *files]
    if len(targets.tolerances) == 0:
        # a constant key rules nobody out, and spares the kernels a special case
        return 0, [Keys(keys.cells, np.zeros((len(keys), 1)), np.zeros(1)) for keys in arranged]
    spread = np.vstack([keys.numbers for keys in files]).std(axis=0)
    width = np.divide(targets.tolerances, spread, out=np.full_like(spread, np.inf), where=spread > 0)
    order = np.argsort(width, kind="stable")
    arranged = [Keys(keys.cells, keys.numbers[:, order], keys.tolerances[order]) for keys in arranged]
    if len(order) == 1:
        return 0, arranged
    low = min(keys.numbers[:, 1].min(initial=np.inf) for keys in arranged)
    high = max(keys.numbers[:, 1].max(initial=-np.inf) for keys in arranged)
    # a hair wider than the tolerance, so that rounding never puts neighbours two strips apart
    strip = max(float(arranged[0].tolerances[1]) * (1 + 1e-6), (high - low) / MOST_STRIPS) or 1.0
    per_cell = int((high - low) / strip) + 3
    return 1, [
        Keys(
            keys.cells * per_cell + 1 + np.floor((keys.numbers[:, 1] - low) / strip).astype(np.int64),
            np.ascontiguousarray(keys.numbers),
            keys.tolerances,
        )
        for keys in arranged
    ]


def _sorted_rows(keys: Keys) -> Codes:
    return np.lexsort((keys.numbers[:, 0], keys.cells)).astype(np.int64)


def _alike_together(keys: Keys) -> Codes:
    """Order targets so that equal keys follow each other: their candidates are then looked up once."""
    return np.lexsort((*keys.numbers.T[::-1], keys.cells)).astype(np.int64)
