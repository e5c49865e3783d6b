"""Two files on top of each other, their columns as numbers: what every classifier works on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.arrays import Codes, Floats
from synthdp.table.coded import MISSING, Coded, coded
from synthdp.table.schema import Column, Kind, Schema

Bins = npt.NDArray[np.uint16]

MOST_BINS = 1000


def widths(bins: Bins) -> Codes:
    """Return how many bins each column has."""
    return np.asarray(bins.max(axis=1, initial=0), dtype=np.int64) + 1


def _numbers(parts: Sequence[Floats | Codes]) -> list[Codes]:
    """Return bins from 1 in the order of the values; 0 is missing."""
    numbers = [np.where(part == MISSING, np.nan, part) if part.dtype.kind == "i" else part for part in parts]
    together = np.sort(np.concatenate([part[~np.isnan(part)] for part in numbers]))
    first = np.append(True, together[1:] != together[:-1])[: len(together)]
    lowest = together[first]
    if len(lowest) >= MOST_BINS:
        # the values at which so many groups of equally many records begin
        lowest = np.unique(together[(len(together) * np.arange(MOST_BINS - 1)) // (MOST_BINS - 1)])
    # NaN sorts after everything
    found = [np.searchsorted(lowest, part, side="right") for part in numbers]
    return [np.where(np.isnan(part), 0, place) for part, place in zip(numbers, found, strict=True)]


def _levels(parts: Sequence[Floats | Codes]) -> list[Codes]:
    """Return bins in the order of the levels; the rarest levels beyond 1,000 share one."""
    places = [part.astype(np.int64) - MISSING for part in parts]
    counts = np.asarray(sum(np.bincount(place, minlength=max(p.max() for p in places) + 1) for place in places))
    rank = np.cumsum(counts > 0) - 1
    if rank[-1] >= MOST_BINS:
        rank[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(len(counts)), MOST_BINS - 1)
    return [rank[place] for place in places]


@dataclass(frozen=True, repr=False)
class Encoded:
    """A file as one array per column: floats of a number, positions in the levels of anything else.

    Parameters
    ----------
    columns
        A missing number is NaN, a missing level -1, a value outside the levels one more than the last.
    ordered
        Whether a column's values can be split by a threshold.
    bins
        What trees split on, a row per column; None where no tree was asked for.
    """

    columns: tuple[Floats | Codes, ...]
    ordered: tuple[bool, ...]
    bins: Bins | None = None

    @classmethod
    def of(cls, frame: pd.DataFrame, schema: Schema) -> Self:
        """Encode a file, columns in schema order."""
        columns = tuple(_encode_column(coded(frame), column) for column in schema.columns)
        return cls(columns, tuple(not c.kind.categorical or c.kind is Kind.ORDINAL for c in schema.columns))

    def __len__(self) -> int:
        return len(self.columns[0])

    def take(self, rows: Codes) -> Self:
        """Return some of the records."""
        bins = None if self.bins is None else self.bins[:, rows]
        return type(self)(tuple(column[rows] for column in self.columns), self.ordered, bins)


@dataclass(frozen=True, repr=False)
class Stack:
    """The records of two files, the original's (label 0) first and the copy's (label 1) below them.

    Parameters
    ----------
    paired
        Whether row i of both files belongs to the same record.
    """

    original: Encoded
    synthetic: Encoded
    paired: bool = False

    def __len__(self) -> int:
        return len(self.original) + len(self.synthetic)

    @property
    def share(self) -> float:
        """The share c of synthetic records."""
        return len(self.synthetic) / len(self)

    @property
    def label(self) -> Floats:
        """1 for a synthetic record."""
        return np.repeat([0.0, 1.0], [len(self.original), len(self.synthetic)])

    @property
    def ordered(self) -> tuple[bool, ...]:
        """Whether each column's values can be split by a threshold."""
        return self.original.ordered

    def columns(self) -> list[Floats | Codes]:
        """Return each column of both files."""
        pairs = zip(self.original.columns, self.synthetic.columns, strict=True)
        return [np.concatenate([first, second]) for first, second in pairs]

    def bins(self) -> Bins:
        """Return the bins of both files' records, a row per column."""
        if self.original.bins is None or self.synthetic.bins is None:
            return np.concatenate(binned([self.original, self.synthetic]), axis=1)
        return np.concatenate([self.original.bins, self.synthetic.bins], axis=1)

    def relabel(self, *, swap: bool, rng: np.random.Generator) -> Floats:
        """Return labels exchanged at random: among all records, or (``swap``) within the pairs by a coin each."""
        if not swap:
            return rng.permutation(self.label)
        coin = (rng.random(len(self.original)) < 0.5).astype(np.float64)
        return np.concatenate([coin, 1 - coin])

    def __repr__(self) -> str:
        return f"Stack({len(self.original)} on {len(self.synthetic)} records)"


def binned(files: Sequence[Encoded]) -> list[Bins]:
    """Return the bins of several files, a row per column, one binning for all of them.

    With at most 999 distinct values every value has a bin of its own; otherwise bins hold about equally many records.
    Missing is a bin of its own: below all numbers, and one more level. Cost O(n log n) per column, once for all files.
    """
    found = [np.empty((len(file.columns), len(file)), dtype=np.uint16) for file in files]
    for number, ordered in enumerate(files[0].ordered):
        parts = [file.columns[number] for file in files]
        for bins, made in zip(found, _numbers(parts) if ordered else _levels(parts), strict=True):
            bins[number] = made
    return found


def halves(table: Encoded, *, rng: np.random.Generator) -> Stack:
    """Return a file split into two halves at random."""
    order = rng.permutation(len(table))
    middle = len(table) // 2
    return Stack(table.take(order[:middle]), table.take(order[middle:]))


def kept_columns(original: Encoded, copies: tuple[Encoded, ...], *, aligned: bool) -> list[int]:
    """Return which columns all copies have as the original has them: nothing was synthesised there.

    Where rows cannot be traced the sorted values are compared. A column with one value says nothing.
    Cost O(n log n) per column and copy.
    """
    found = []
    for number, column in enumerate(original.columns):
        first = column if aligned else np.sort(column)
        if _constant(column):
            continue
        others = (copy.columns[number] for copy in copies)
        equal_nan = column.dtype.kind == "f"
        if all(np.array_equal(first, c if aligned else np.sort(c), equal_nan=equal_nan) for c in others):
            found.append(number)
    return found


def _constant(column: Floats | Codes) -> bool:
    return bool(np.all(column == column[0])) or (column.dtype.kind == "f" and bool(np.isnan(column).all()))


def _encode_column(file: Coded, column: Column) -> Floats | Codes:
    if not column.kind.categorical:
        return file.numbers(column)
    # a value outside the levels is a level of its own: it must not pass for a missing one
    return file.codes(column, foreign=len(column.levels))
