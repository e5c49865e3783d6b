"""A classification or regression tree whose leaves keep their donors.

A split of an ordered predictor is a threshold, tried with missing values on either side. A split of a predictor
without order is a set of levels: the levels are sorted by their mean response and only the L - 1 cuts of that order
are tried, which for a number or two classes finds the best of all 2^(L-1) - 1 sets. For more classes they are sorted
by the first principal direction of their class shares, which is near the best and takes the same time.

References
----------
Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, theorem 4.5 (the order is enough).
Coppersmith, Hong, Hosking (1999), Data Mining and Knowledge Discovery 3, 197-217, section 3 (principal direction).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from synthdp.arrays import Booleans
from synthdp.imputation.trees import growing
from synthdp.imputation.trees.binning import Binned, Bins, Nodes, Records, Room, Words
from synthdp.imputation.trees.descending import descend
from synthdp.table.microdata import Codes, Floats


@dataclass(frozen=True)
class Growth:
    """When a tree stops.

    Parameters
    ----------
    min_leaf
        Fewest records of a leaf.
    complexity
        The smallest gain of a split, as a share of the root's impurity.
    max_depth
        Most splits above a leaf.
    min_split
        Fewest records of a node that is split; default three times ``min_leaf``, as in rpart.
    """

    min_leaf: int = 5
    complexity: float = 1e-8
    max_depth: int = 30
    min_split: int | None = None

    def limits(self, classes: int) -> Codes:
        """Return the limits as the compiled loops read them."""
        least = 3 * self.min_leaf if self.min_split is None else self.min_split
        return np.asarray([self.min_leaf, least, self.max_depth, classes], dtype=np.int64)


@dataclass(frozen=True, repr=False)
class Tree:
    """A grown tree.

    Parameters
    ----------
    nodes, words
        The splits; ``words`` holds one bit per bin of every unordered split.
    leaf
        By node: the number of the leaf, -1 for a node that is split.
    ordered, missing
        By predictor: whether it is split by a threshold, and its bin of missing values.
    offsets, rows
        The donors of leaf k are ``rows[offsets[k] : offsets[k + 1]]``.
    cumulative
        Running sum of the donors' weights in the order of ``rows``; None when all weigh the same.
    """

    nodes: Nodes
    words: Words
    leaf: Codes
    ordered: Booleans
    missing: Codes
    offsets: Codes
    rows: Codes
    cumulative: Floats | None

    @classmethod
    def grow(
        cls,
        binned: Binned,
        predictors: Sequence[str],
        response: Floats,
        *,
        classes: int = 0,
        rows: Codes | None = None,
        weights: Floats | None = None,
        growth: Growth | None = None,
        event: Booleans | None = None,
    ) -> Self:
        """Grow a tree. Cost O(depth · rows · predictors), whatever the number of levels.

        Parameters
        ----------
        predictors
            The columns the tree may split on.
        response
            A value for every record: a number, or one of ``classes`` classes from 0.
        rows
            The records the tree is grown on; default all.
        weights
            Of every record; min_leaf counts records all the same.
        event
            Of a response that is a time: whether it ended with the event, not by censoring. Splits then have the
            largest log-rank statistic (see ``growing``).
        """
        growth = growth or Growth()
        # two classes are a number: their Gini index is twice the variance
        classes = 0 if classes <= 2 else classes
        chosen = np.arange(len(response)) if rows is None else rows.copy()
        clock, died = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
        if event is not None:
            # nodes keep the order of their records: sorted once is sorted in every node
            clock, died = np.unique(response, return_inverse=True)[1].astype(np.int64), event
            chosen = chosen[np.lexsort((event[chosen], clock[chosen]))]
        y = np.asarray(response, dtype=np.float64)[chosen]
        if classes == 0 and len(y) > 0:
            y -= y[0]  # a constant far from zero is then exactly constant
        records = Records(
            rows=chosen,
            y=y,
            w=np.ones(len(chosen)) if weights is None else weights[chosen],
        )
        ordered, missing = binned.ordered(), binned.missing()
        nodes = Nodes.make(len(chosen), growth.min_leaf)
        made, words, used = growing.grow(
            binned.codes,
            ordered,
            missing,
            binned.positions(predictors),
            records,
            clock,
            died,
            growth.limits(classes),
            growth.complexity,
            nodes,
            Room.make(len(chosen), int(missing.max(initial=0)) + 1, classes),
        )
        nodes = nodes.first(made)
        leaves = np.flatnonzero(nodes.feature < 0)
        leaves = leaves[np.argsort(nodes.start[leaves])]
        leaf = np.full(made, -1, dtype=np.int64)
        leaf[leaves] = np.arange(len(leaves))
        return cls(
            nodes=nodes,
            words=words[:used].copy(),
            leaf=leaf,
            ordered=ordered,
            missing=missing,
            offsets=np.append(nodes.start[leaves], len(chosen)),
            rows=chosen,
            cumulative=None if weights is None else np.cumsum(weights[chosen]),
        )

    def __repr__(self) -> str:
        return f"Tree({self.leaves} leaves, {len(self.rows)} donors)"

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return len(self.offsets) - 1

    def apply(self, codes: Bins) -> Codes:
        """Return the leaf of each record, given its bins (one row per predictor, as in ``Binned.codes``)."""
        return np.asarray(self.leaf[descend(codes, self.ordered, self.missing, self.nodes, self.words)])

    def sorted(self, values: Floats, weights: Floats | None = None) -> Self:
        """Return the same tree, the donors of each leaf from the smallest value to the largest.

        Parameters
        ----------
        values
            Of every record.
        weights
            Those the tree was grown with.
        """
        rows = by_value(self.offsets, self.rows, values)
        return replace(self, rows=rows, cumulative=None if weights is None else np.cumsum(weights[rows]))

    def take(self, leaves: Codes, chance: Floats) -> Codes:
        """Return for each record the donor of its leaf at a share of the donors' weights, 0 ≤ ``chance`` < 1."""
        return taken(self.offsets, self.rows, self.cumulative, leaves, chance)


def by_value(offsets: Codes, rows: Codes, values: Floats) -> Codes:
    """Return the donors of leaves, those of each leaf from the smallest value to the largest."""
    leaf = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.asarray(rows[np.lexsort((values[rows], leaf))])


def taken(offsets: Codes, rows: Codes, cumulative: Floats | None, leaves: Codes, chance: Floats) -> Codes:
    """Return the donors at shares of the weights of leaves, given as a tree's ``offsets``, ``rows``, ``cumulative``."""
    start, end = offsets[leaves], offsets[leaves + 1]
    if cumulative is None:
        return np.asarray(rows[np.minimum(start + (chance * (end - start)).astype(np.int64), end - 1)])
    before = np.concatenate([[0.0], cumulative])
    found = np.searchsorted(cumulative, before[start] + chance * (before[end] - before[start]), side="right")
    return np.asarray(rows[np.clip(found, start, end - 1)])
