"""The nearest rows of another file when columns are mixed: levels differ or not, numbers differ by more or less."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.evaluation.combinations import classes, merge
from synthdp.microdata import Codes, Floats, numbers
from synthdp.schema import Column

MIDDLE = (0.01, 0.99)


@dataclass(frozen=True, repr=False)
class Records:
    """Records of one file, coded for distances.

    The distance of two records is the mean over columns of: 0 or 1 for equal or different levels; min(1, |a − b|/r)
    for numbers, where r is the span of the middle 98% of the original; 0 where both are missing, 1 where one is. It is
    Gower's (1971, Biometrics 27, 857-871) with a range that one outlier does not stretch.

    Parameters
    ----------
    labels
        Levels as codes, shape (n, c); the last column says whether the first number is missing.
    values
        Numbers in units of r, shape (n, p), NaN where missing; the first column is 0 where missing.
    width
        The number of columns p + c − 1 by which the sum is divided.
    """

    labels: Codes
    values: Floats
    width: int

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Records({len(self)} records, {self.width} columns)"

    def take(self, rows: Codes) -> "Records":
        """Return some of the records."""
        return Records(self.labels[rows], self.values[rows], self.width)


def stack(parts: Sequence[Records]) -> Records:
    """Return the records of several files as one."""
    return Records(
        np.concatenate([part.labels for part in parts]), np.concatenate([part.values for part in parts]), parts[0].width
    )


def encode_records(frames: Sequence[pd.DataFrame], columns: Sequence[Column]) -> tuple[Records, ...]:
    """Code several files alike; the first one (the original) sets the scale of numbers. Cost O(p n log n)."""
    sizes = [len(frame) for frame in frames]
    labels: list[Codes] = []
    values: list[Floats] = []
    for column in columns:
        series = [frame[column.name] for frame in frames]
        if column.kind.categorical:
            labels.append(np.concatenate(classes(series, column)))
            continue
        found = [numbers(one, column) for one in series]
        found = [np.where(np.isfinite(one), one, np.nan) for one in found]
        values.append(np.concatenate(found) / span(found[0]))
    # the widest first: it rules out most rows
    values.sort(key=lambda one: -float(np.nanstd(one)) if np.isfinite(one).any() else 0.0)
    first = values[0] if values else np.zeros(sum(sizes))
    absent = np.isnan(first)
    numeric = np.column_stack([np.where(absent, 0.0, first), *values[1:]])
    coded = np.column_stack([*labels, absent.astype(np.int64)])
    cuts = np.cumsum(sizes)[:-1]
    pairs = zip(np.split(coded, cuts), np.split(numeric, cuts), strict=True)
    return tuple(Records(one, np.ascontiguousarray(other), len(columns)) for one, other in pairs)


def nearest(
    targets: Records, rows: Records, *, k: int = 1, skip: Codes | None = None, rng: np.random.Generator
) -> tuple[Codes, Floats]:
    """Return for every target the k nearest rows and their distances, nearest first.

    Parameters
    ----------
    targets, rows
        Coded together by :func:`encode_records`.
    k
        How many; -1 (at distance ∞) fills the places where there are fewer rows.
    skip
        For each target a row that does not count (itself), or -1.
    rng
        Ties (up to rounding) go to the row that comes first in a random order of all rows, so nothing is said by where
        a row stands in its file.

    Notes
    -----
    Rows are sorted by cell (combination of levels) and by the widest number. Cells are visited by the number of levels
    that differ and dropped when that alone is too far; inside a cell the search goes outwards from the target's number
    until it alone is too far. The worst case is q · n for q targets (many numbers, no levels); with levels it is
    q times the number of cells plus the rows of a few cells. Callers bound q.
    """
    from synthdp.evaluation.risk.nearest_loops import search

    if len(targets) == 0 or len(rows) == 0:
        return np.full((len(targets), k), -1, dtype=np.int64), np.full((len(targets), k), np.inf)
    cell = np.zeros(len(rows), dtype=np.int64)
    for column in rows.labels.T:
        cell = merge(cell, column)
    shuffled = rng.permutation(len(rows))
    rank = np.empty(len(rows), dtype=np.int64)
    rank[shuffled] = np.arange(len(rows))
    order = shuffled[np.lexsort((rows.values[shuffled, 0], cell[shuffled]))]
    starts = np.searchsorted(cell[order], np.arange(cell.max() + 2)).astype(np.int64)
    found, distance = search(
        np.ascontiguousarray(targets.labels),
        np.ascontiguousarray(targets.values),
        np.ascontiguousarray(rows.labels[order[starts[:-1]]]),
        starts,
        np.ascontiguousarray(rows.values[order]),
        order.astype(np.int64),
        rank,
        np.full(len(targets), -1, dtype=np.int64) if skip is None else skip,
        k,
    )
    return found, distance / max(1, rows.width)


def span(values: Floats) -> float:
    """Return the width of the middle 98% of the known values, or of all of them, or 1."""
    known = values[np.isfinite(values)]
    if not len(known):
        return 1.0
    low, high = np.quantile(known, MIDDLE)
    return float(high - low) or float(known.max() - known.min()) or 1.0
