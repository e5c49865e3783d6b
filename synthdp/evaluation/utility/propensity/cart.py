"""A classification tree that tells synthetic from original records."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from synthdp.evaluation.utility.propensity.binning import Bins, widths
from synthdp.evaluation.utility.propensity.stacking import Stack
from synthdp.microdata import Codes, Floats

# as synthpop's utility.gen sets rpart
MIN_LEAF = 5
MIN_SPLIT = 3 * MIN_LEAF
MAX_DEPTH = 30
COMPLEXITY = 1e-3


@dataclass(frozen=True, repr=False)
class Cart:
    """A tree grown by the Gini index and pruned by misclassification, as rpart does (cp 0.001, leaves of 5 or more).

    Without missing values, and with fewer than 1,000 distinct ones in each column, the tree is rpart's own to the
    digit; see ``binning`` for the rest.

    Notes
    -----
    Cost O(depth · N · columns) per tree: about 5 ms for 8,500 stacked records and 7 columns.
    """

    stack: Stack
    codes: Bins
    widths: Codes

    @classmethod
    def of(cls, stack: Stack) -> Self:
        """Return the tree of a stack, columns put into bins."""
        codes = stack.bins()
        return cls(stack, codes, widths(codes))

    def scores(self, label: Floats) -> Floats:
        """Return the share of synthetic records in each record's leaf."""
        from synthdp.evaluation.utility.propensity import loops

        synthetic = float(label.sum())
        price = COMPLEXITY * min(synthetic, len(label) - synthetic)
        limits = np.asarray([MIN_LEAF, MIN_SPLIT, MAX_DEPTH], dtype=np.int64)
        ordered = np.asarray(self.stack.ordered, dtype=np.bool_)
        rows, nodes = loops.grow(self.codes, ordered, self.widths, label.astype(np.uint8), limits, price)
        return loops.shares(rows, nodes, loops.prune(nodes, price))
