"""The arrays the compiled loops work on and return."""

from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from synthdp.microdata import Codes, Floats

Bins = npt.NDArray[np.uint16]
Booleans = npt.NDArray[np.bool_]
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
        return type(self)(
            start=self.start[:count].copy(),
            end=self.end[:count].copy(),
            depth=self.depth[:count].copy(),
            feature=self.feature[:count].copy(),
            threshold=self.threshold[:count].copy(),
            missing_left=self.missing_left[:count].copy(),
            left=self.left[:count].copy(),
        )


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
