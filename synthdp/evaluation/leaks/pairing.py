"""A released file beside the original, and who may stand in for a record: what chance is measured with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.arrays import Codes, Floats
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.finding import NEIGHBOURS
from synthdp.table.coded import coded, distinct, joint, merge, same
from synthdp.table.schema import Column, Schema

ENOUGH = 10  # combinations of values for each stand-in
LOOKED_AT = 1000  # values that tell which column has the most


@dataclass(frozen=True, repr=False)
class Beside:
    """One released file beside the original, columns as numbers that are equal when the values are.

    Parameters
    ----------
    name
        The released file.
    original, copy
        Values by column; NaN is missing.
    kept, kept_copy
        One number for each combination of kept columns, -1 where there are no kept columns.
    twice
        Whether ``kept_copy`` lists every released row twice, under its kept values and under its place.
    """

    name: str
    original: Mapping[str, Floats]
    copy: Mapping[str, Floats]
    kept: Codes
    kept_copy: Codes
    twice: bool = False

    @cached_property
    def links(self) -> tuple[Codes, Codes]:
        """Released rows and the records they must come from: combinations of kept columns that occur once."""
        here, there = _once(self.kept_copy), _once(self.kept)
        _, rows, records = np.intersect1d(self.kept_copy[here], self.kept[there], return_indices=True)
        return here[rows], there[records]

    @cached_property
    def codes(self) -> tuple[Codes, Codes]:
        """One number for each combination of replaced values that both files have, -1 for all others."""
        here, there = shared([(self.original[name], self.copy[name]) for name in self.original])
        return here, np.tile(there, 2) if self.twice else there

    def given_out(self) -> npt.NDArray[np.bool_]:
        """Return whose combination of replaced values some released row has."""
        return self.codes[0] >= 0


@dataclass(frozen=True, repr=False)
class Original:
    """What is read of the original once, whatever is laid beside it: values by column, and kept combinations."""

    frame: pd.DataFrame
    values: dict[str, Floats] = field(default_factory=dict)
    combined: dict[tuple[str, ...], Codes] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Original({len(self.frame)} records)"

    def column(self, column: Column) -> Floats:
        """Return a column as numbers."""
        if column.name not in self.values:
            self.values[column.name] = coded(self.frame).values(column)
        return self.values[column.name]

    def kept(self, columns: Sequence[Column]) -> Codes:
        """Return one number for each combination of these columns."""
        names = tuple(column.name for column in columns)
        if names not in self.combined:
            self.combined[names] = joint([self.column(column) for column in columns])
        return self.combined[names]


def beside(name: str, known: Original, copy: pd.DataFrame, schema: Schema, *, passive: set[str]) -> Beside:
    """Return a released file beside the original; ``passive`` columns (derived ones) link nobody."""
    n = len(known.frame)
    kept = [column for column in schema.kept() if column.name not in passive and column.name in copy.columns]
    replaced = [column for column in schema.replaced() if column.name in copy.columns]
    file = coded(copy)
    both = [(known.column(column), file.values(column)) for column in kept]
    if not kept:
        combined = np.full(n + len(copy), -1, dtype=np.int64)
    elif n == len(copy) and all(same(ours, theirs).all() for ours, theirs in both):
        # numbers are given in the order of the original, so that the same columns give the same
        combined = np.tile(known.kept(kept), 2)
    else:
        combined = joint([np.concatenate(pair) for pair in both])
    return Beside(
        name=name,
        original={column.name: known.column(column) for column in replaced},
        copy={column.name: file.values(column) for column in replaced},
        kept=combined[:n],
        kept_copy=combined[n:],
    )


def side_by_side(comparison: Comparison, known: Original | None = None) -> list[Beside]:
    """Return every copy beside the original, rows told apart by kept columns or, where they are aligned, by place.

    ``known`` is the original as it was read before.
    """
    passive = {column.name for column in comparison.schema.derived()}
    known = known or Original(comparison.original)
    pairs = [
        beside(f"copy {number}", known, copy, comparison.schema, passive=passive)
        for number, copy in enumerate(comparison.copies, start=1)
    ]
    if comparison.aligned:
        return [_placed(pair) for pair in pairs]
    if len(np.unique(pairs[0].kept)) < 2:
        raise InputError("verbatim: kept columns do not tell these records apart, so equal rows say nothing.")
    return pairs


def _placed(pair: Beside) -> Beside:
    """Return a pair in which records that share their kept values are told apart by their place.

    Every row is listed twice, under its kept values and under its place.
    """
    alone = np.bincount(pair.kept + 1)[pair.kept + 1] == 1
    first = 1 + int(max(pair.kept.max(), pair.kept_copy.max(initial=0)))
    return replace(
        pair,
        twice=True,
        kept=np.where(alone, pair.kept, first + np.arange(len(pair.kept))),
        kept_copy=np.concatenate([pair.kept_copy, first + np.arange(len(pair.kept_copy))]),
    )


def shared(columns: Sequence[tuple[Floats, Floats]]) -> tuple[Codes, Codes]:
    """Return one number for each combination of values that both files have, -1 for all others; NaN equals NaN.

    Parameters
    ----------
    columns
        Each as it is in one file and in the other.

    Notes
    -----
    O(n) for the column with the most values; rows whose value the other file does not have are not looked at again.

    Examples
    --------
    >>> first, second = np.array([1.0, 1.0, 2.0]), np.array([5.0, 6.0, 5.0])
    >>> [codes.tolist() for codes in shared([(first, first[::-1]), (second, second)])]
    [[0, 1, 2], [2, 1, 0]]
    >>> [codes.tolist() for codes in shared([(first, first + 1)])]
    [[-1, -1, 1], [1, 1, -1]]
    """
    if not columns:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    finest = sorted(columns, key=lambda column: -len(np.unique(column[0][:LOOKED_AT])))
    rows = [np.arange(len(values)) for values in columns[0]]
    labels = [np.zeros(len(values), dtype=np.int64) for values in columns[0]]
    for column in finest:
        values = np.concatenate([values[some] for values, some in zip(column, rows, strict=True)])
        found = merge(np.concatenate(labels), distinct(values))
        each = found[: len(rows[0])], found[len(rows[0]) :]
        size = int(found.max(initial=-1)) + 1
        both = (np.bincount(each[0], minlength=size) > 0) & (np.bincount(each[1], minlength=size) > 0)
        rows = [some[both[part]] for some, part in zip(rows, each, strict=True)]
        labels = [part[both[part]] for part in each]
        if not len(rows[0]):
            break
    whole = [np.full(len(values), -1, dtype=np.int64) for values in columns[0]]
    for place, some, found in zip(whole, rows, labels, strict=True):
        place[some] = found
    return whole[0], whole[1]


@dataclass(frozen=True, repr=False)
class Marks:
    """Who was found in a released file: for some records, and for each of their stand-ins.

    Parameters
    ----------
    own
        Whether a row with the record's kept values has its replaced values too, shape (r,).
    others
        Whether a row with a stand-in's kept values has the record's replaced values, shape (r, stand-ins).
    """

    own: npt.NDArray[np.bool_]
    others: npt.NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"Marks({len(self.own)} records)"


def mark(pair: Beside, rows: Codes, near: Codes) -> Marks:
    """Look for the replaced values of some records in their own rows and in those of their stand-ins.

    The values looked for are the record's own each time, so neither a common value nor records that are alike on the
    replaced columns make chance look smaller or larger than it is.
    """
    here, there = pair.codes
    wide = int(max(here.max(initial=0), there.max(initial=0))) + 1
    known = here[rows] >= 0
    released = (pair.kept_copy * wide + there)[there >= 0]
    own = known & np.isin(pair.kept[rows] * wide + here[rows], released)
    others = known[:, None] & np.isin(pair.kept[near] * wide + here[rows][:, None], released)
    return Marks(own, others)


def replaced_values(original: pd.DataFrame, schema: Schema, pairs: Sequence[Beside]) -> Floats:
    """Return the replaced columns that every file has, each in units of its standard deviation."""
    shared = [column for column in schema.replaced() if all(column.name in pair.copy for pair in pairs)]
    columns = [scaled(coded(original).values(column)) for column in shared]
    return np.column_stack(columns) if columns else np.empty((len(original), 0))


def stand_ins(x: Floats, *, rng: np.random.Generator, rows: Codes | None = None, most: int = NEIGHBOURS) -> Codes:
    """Return for each of some records others whose values are nearest, ties in random order; shape (r, at most 10)."""
    from scipy.spatial import KDTree

    wanted = min(most, len(x) - 1)
    jittered = x + rng.uniform(-1e-9, 1e-9, size=x.shape)
    asked = jittered if rows is None else jittered[rows]
    if not len(asked):
        return np.empty((0, wanted), dtype=np.int64)
    found = np.asarray(KDTree(jittered).query(asked, k=wanted + 1)[1], dtype=np.int64)
    return found[:, 1:]


def unlike_stand_ins(x: Floats, *, rng: np.random.Generator, rows: Codes, most: int = NEIGHBOURS) -> Codes:
    """Return stand-ins with other values than the record's where values are fine enough, else any.

    The rows of a record's exact twins may have been copied over too, or be confused with its own. Where there are few
    combinations of values, the next one is too far from a record to stand in for it, and twins have to do.
    """
    # one record of each combination, whichever comes first in a random order
    order = rng.permutation(len(x))
    combinations, first, which = np.unique(x[order], axis=0, return_index=True, return_inverse=True)
    if len(combinations) < ENOUGH * most:
        return stand_ins(x, rng=rng, rows=rows, most=most)
    place = np.empty(len(x), dtype=np.int64)
    place[order] = which.reshape(-1)
    return np.asarray(order[first][stand_ins(combinations, rng=rng, rows=place[rows], most=most)], dtype=np.int64)


def _once(ids: Codes) -> Codes:
    """Return where the numbers stand that occur once."""
    _, first, counts = np.unique(ids, return_index=True, return_counts=True)
    return np.asarray(first[counts == 1], dtype=np.int64)


def scaled(values: Floats) -> Floats:
    """Return values in units of their standard deviation, missing ones far from all others."""
    present = np.isfinite(values)
    if not present.any():
        return np.zeros_like(values)
    spread = float(values[present].std()) or 1.0
    return np.where(present, (values - values[present].mean()) / spread, 10.0)
