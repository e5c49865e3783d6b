"""A classification tree that tells synthetic from original records, and the bins it splits on."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from synthdp.evaluation.propensity.stacking import Stack
from synthdp.microdata import MISSING, Codes, Floats

Bins = npt.NDArray[np.uint16]

MOST_BINS = 1000
# as synthpop's utility.gen sets rpart
MIN_LEAF = 5
MIN_SPLIT = 3 * MIN_LEAF
MAX_DEPTH = 30
COMPLEXITY = 1e-3


@dataclass(frozen=True, repr=False)
class Cart:
    """A tree grown by the Gini index and pruned by misclassification, as rpart does (cp 0.001, leaves of 5 or more).

    Numbers with at most 1,000 distinct values are split exactly, and the tree is then rpart's own to the digit;
    beyond that they are put into bins of about equally many records. Missing is a value of its own: below all numbers,
    and one more level.

    Notes
    -----
    Cost O(depth · N · columns) per tree: about 5 ms for 8,500 stacked records and 7 columns. Binning, O(N log N) per
    column, happens once however often the labels are exchanged.
    """

    stack: Stack
    codes: Bins
    widths: Codes

    @classmethod
    def of(cls, stack: Stack) -> Self:
        """Return the tree of a stack, columns put into bins."""
        return cls(stack, *bins(stack, MOST_BINS))

    def scores(self, label: Floats) -> Floats:
        """Return the share of synthetic records in each record's leaf."""
        from synthdp.evaluation.propensity import loops

        synthetic = float(label.sum())
        price = COMPLEXITY * min(synthetic, len(label) - synthetic)
        limits = np.asarray([MIN_LEAF, MIN_SPLIT, MAX_DEPTH], dtype=np.int64)
        ordered = np.asarray(self.stack.ordered, dtype=np.bool_)
        rows, nodes = loops.grow(self.codes, ordered, self.widths, label.astype(np.uint8), limits, price)
        return loops.shares(rows, nodes, loops.prune(nodes, price))

    def resampled(self, picked: Codes) -> Self:
        """Return the same model for the original and these records of it, in the same bins."""
        original = self.stack.original
        codes = self.codes[:, : len(original)]
        stack = Stack(original, original.take(picked))
        return replace(self, stack=stack, codes=np.concatenate([codes, codes[:, picked]], axis=1))


def bins(stack: Stack, most: int) -> tuple[Bins, Codes]:
    """Return the bin of each stacked record, a row per column, and how many bins each column has."""
    codes = np.empty((len(stack.ordered), len(stack)), dtype=np.uint16)
    widths = np.empty(len(stack.ordered), dtype=np.int64)
    for number, (column, ordered) in enumerate(zip(stack.columns(), stack.ordered, strict=True)):
        found = _of_numbers(column, most) if ordered else _of_levels(column, most)
        codes[number], widths[number] = found, int(found.max(initial=0)) + 1
    return codes, widths


def _of_numbers(column: Floats | Codes, most: int) -> Codes:
    """Return bins from 1 in the order of the values; 0 is missing."""
    absent = np.isnan(column) if column.dtype.kind == "f" else column == MISSING
    distinct, place, counts = np.unique(column[~absent], return_inverse=True, return_counts=True)
    if len(distinct) >= most:
        # each value goes to the bin in which the middle of its records stands
        middle = counts.cumsum() - counts / 2
        place = (middle * (most - 1) / counts.sum()).astype(np.int64)[place]
    found = np.zeros(len(column), dtype=np.int64)
    found[~absent] = place + 1
    return found


def _of_levels(column: Floats | Codes, most: int) -> Codes:
    """Return bins in the order of the levels; the rarest levels beyond ``most`` share one."""
    distinct, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    if len(distinct) <= most:
        return np.asarray(place, dtype=np.int64)
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(len(distinct)), most - 1)
    return np.asarray(rank[place], dtype=np.int64)
