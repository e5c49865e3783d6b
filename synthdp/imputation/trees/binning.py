"""Predictors as small whole numbers, made once per data set, and the arrays that the compiled loops work on.

A number becomes the index of its bin. With at most 255 distinct values every value has a bin of its own and the
trees' splits are exact; otherwise the bins hold about equally many records. A bin's edge lies half-way between two
values of the data, so a synthetic value between them has its place too. Ordered levels are treated as numbers, other
levels are codes without order. Missing is always the last bin of its column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from synthdp.arrays import Booleans
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column, Kind

Bins = npt.NDArray[np.uint16]
Words = npt.NDArray[np.uint64]


class Records(NamedTuple):
    """Records of a node: which they are, their responses and weights."""

    rows: Codes
    y: Floats
    w: Floats


class Split(NamedTuple):
    """A split: the first ``cut`` of its ``bins`` sorted bins go left."""

    gain: float
    feature: int
    cut: int
    bins: int
    missing_first: bool


class Nodes(NamedTuple):
    """The nodes of a tree, the root first; a right child follows its left one.

    Parameters
    ----------
    start, end
        Where the node's records stand.
    depth
        Splits above it.
    feature
        The row of the codes it splits on, -1 in a leaf.
    threshold
        The largest bin that goes left; for an unordered predictor the first of its words.
    missing_left
        Whether missing values of an ordered predictor go left.
    left
        Its left child.
    """

    start: Codes
    end: Codes
    depth: Codes
    feature: Codes
    threshold: Codes
    missing_left: Booleans
    left: Codes

    @classmethod
    def make(cls, n: int, min_leaf: int) -> Self:
        """Return the root of a tree of n records, and room for all the nodes there can be."""
        most = 2 * (n // min_leaf) + 3

        def whole(value: int) -> Codes:
            return np.full(most, value, dtype=np.int64)

        return cls(whole(0), whole(n), whole(0), whole(-1), whole(0), np.zeros(most, dtype=np.bool_), whole(-1))

    def first(self, count: int) -> Self:
        """Return the first nodes."""
        return type(self)._make(part[:count].copy() for part in self)


class Room(NamedTuple):
    """Room to work in. A bin that occurs in the node has a slot, a class that occurs in a slot has a cell.

    Parameters
    ----------
    slot
        By bin: its slot, -1 when it does not occur.
    bins, records, weight, total, key, end
        By slot: its bin, records, their weight and weighted response, what it is sorted by, the end of its cells.
    order
        Slots sorted by key.
    best, best_records
        Bins sorted as in the best split so far, and their records.
    place, listed, side, spare, spare_rows
        The slot of each record; the records slot by slot; which go left; copies of those that do not.
    label, mass
        By cell: its class and the weight of its records.
    cell, whole, left, right, axis
        By class: its latest cell, its weight in the node and in either child, the direction of the shares.
    """

    slot: Codes
    bins: Codes
    records: Codes
    weight: Floats
    total: Floats
    key: Floats
    end: Codes
    order: Codes
    best: Codes
    best_records: Codes
    place: Codes
    listed: Codes
    side: Booleans
    spare: Floats
    spare_rows: Codes
    label: Codes
    mass: Floats
    cell: Codes
    whole: Floats
    left: Floats
    right: Floats
    axis: Floats

    @classmethod
    def make(cls, n: int, bins: int, classes: int) -> Self:
        """Return room for n records, so many bins of the largest predictor, and classes."""
        slots = min(n, bins)

        def whole(size: int) -> Codes:
            return np.zeros(size, dtype=np.int64)

        return cls(
            slot=np.full(bins, -1, dtype=np.int64),
            bins=whole(slots),
            records=whole(slots),
            weight=np.zeros(slots),
            total=np.zeros(slots),
            key=np.zeros(slots),
            end=whole(slots),
            order=whole(slots),
            best=whole(slots),
            best_records=whole(slots),
            place=whole(n),
            listed=whole(n),
            side=np.zeros(n, dtype=np.bool_),
            spare=np.zeros(n),
            spare_rows=whole(n),
            label=whole(n),
            mass=np.zeros(n),
            cell=whole(classes),
            whole=np.zeros(classes),
            left=np.zeros(classes),
            right=np.zeros(classes),
            axis=np.zeros(classes),
        )


MOST_BINS = 255
# codes are 16 bits wide; the rarest levels beyond that share one code
MOST_LEVELS = 65_000


@dataclass(frozen=True, repr=False)
class Binning:
    """How one column's values become bins.

    Parameters
    ----------
    ordered
        Whether neighbouring bins are neighbours in meaning.
    edges
        Upper ends of the bins but the last, of an ordered column.
    places
        The bin of each level, of a column without order.

    Examples
    --------
    >>> halves = Binning.of_numbers(np.array([1.0, 2.0, np.nan]))
    >>> halves.bins(np.array([0.0, 1.4, 7.0, np.nan])).tolist()
    [0, 0, 1, 2]
    """

    ordered: bool
    edges: Floats
    places: Bins

    @classmethod
    def of(cls, column: Column, values: Floats) -> Self:
        """Return the binning of a column, given its numbers or its positions in the levels."""
        ordered = not column.kind.categorical or column.kind is Kind.ORDINAL
        return cls.of_numbers(values) if ordered else cls.of_levels(values, len(column.levels))

    @classmethod
    def of_numbers(cls, values: Floats) -> Self:
        """Return the binning of a numeric column."""
        distinct, counts = np.unique(values[np.isfinite(values)], return_counts=True)
        if len(distinct) > MOST_BINS:
            # the last value of each of 255 groups of about equally many records
            wanted = counts.sum() * np.arange(1, MOST_BINS) / MOST_BINS
            last = np.unique(np.searchsorted(counts.cumsum(), wanted))
            last = last[last < len(distinct) - 1]
        else:
            last = np.arange(max(len(distinct) - 1, 0))
        # halves first: the sum of two large values may overflow
        return cls(True, distinct[last] / 2 + distinct[last + 1] / 2, np.empty(0, dtype=np.uint16))

    @classmethod
    def of_levels(cls, positions: Floats, levels: int) -> Self:
        """Return the binning of a column of levels without order."""
        places = np.arange(levels)
        if levels > MOST_LEVELS:
            counts = np.bincount(positions[np.isfinite(positions)].astype(np.int64), minlength=levels)
            places[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(levels), MOST_LEVELS)
        return cls(False, np.empty(0), places.astype(np.uint16))

    @property
    def missing(self) -> int:
        """The bin of missing values, the last one."""
        if self.ordered:
            return len(self.edges) + 1
        return int(self.places.max(initial=0)) + 1

    def bins(self, values: Floats) -> Bins:
        """Return the bin of each value: numbers, or positions in the levels; missing is NaN."""
        absent = np.isnan(values)
        if self.ordered:
            return np.where(absent, self.missing, np.searchsorted(self.edges, values)).astype(np.uint16)
        return np.where(absent, self.missing, self.places[np.where(absent, 0, values).astype(np.int64)])


@dataclass(frozen=True, repr=False)
class Binned:
    """The predictors of a data set, one row of bins per column, and how they were made."""

    names: tuple[str, ...]
    binnings: Mapping[str, Binning]
    codes: Bins

    @classmethod
    def of(cls, data: Microdata, names: Sequence[str]) -> Self:
        """Bin the named columns. Cost O(n log n) per column."""
        columns = {name: data.values(name) for name in names}
        binnings = {name: Binning.of(data.schema[name], values) for name, values in columns.items()}
        return cls.make(binnings, columns, len(data))

    @classmethod
    def make(cls, binnings: Mapping[str, Binning], columns: Mapping[str, Floats], n: int) -> Self:
        """Put the values of some columns of n records into their bins."""
        codes = np.empty((len(columns), n), dtype=np.uint16)
        for row, (name, values) in enumerate(columns.items()):
            codes[row] = binnings[name].bins(values)
        return cls(tuple(columns), binnings, codes)

    def __repr__(self) -> str:
        return f"Binned({self.codes.shape[1]} records x {len(self.names)} columns)"

    def positions(self, names: Sequence[str]) -> Codes:
        """Return the rows of some columns."""
        return np.asarray([self.names.index(name) for name in names], dtype=np.int64)

    def ordered(self) -> npt.NDArray[np.bool_]:
        """Return which columns are ordered."""
        return np.asarray([self.binnings[name].ordered for name in self.names], dtype=np.bool_)

    def missing(self) -> Codes:
        """Return the bin of missing values of each column."""
        return np.asarray([self.binnings[name].missing for name in self.names], dtype=np.int64)
