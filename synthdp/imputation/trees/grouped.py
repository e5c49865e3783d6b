"""Trees of a column that is nested in another, such as an occupation in its group: one tree for each group.

A record then only ever gets a value of its own group. synthpop's ``nested`` draws from all donors of the group; here
the other columns split the group further. A group with fewer donors than a leaf asks for is one leaf of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from synthdp.arrays import Booleans
from synthdp.imputation.trees.binning import Binned, Bins
from synthdp.imputation.trees.tree import Growth, Tree, by_value, taken
from synthdp.table.microdata import Codes, Floats


@dataclass(frozen=True, repr=False)
class Grouped:
    """The trees of all groups, their leaves numbered on.

    Parameters
    ----------
    parent
        The row of the bins that holds the group.
    trees
        By bin of the parent.
    first
        The first leaf of each group's tree.
    offsets, rows, cumulative
        The donors of all leaves, as of a ``Tree``. The last leaf holds all donors, for groups that have none: what is
        drawn from it is replaced by the gap that such a group always has.
    """

    parent: int
    trees: Mapping[int, Tree]
    first: Mapping[int, int]
    offsets: Codes
    rows: Codes
    cumulative: Floats | None

    @classmethod
    def grow(
        cls,
        parent: str,
        binned: Binned,
        predictors: Sequence[str],
        response: Floats,
        *,
        classes: int = 0,
        rows: Codes,
        weights: Floats | None = None,
        growth: Growth | None = None,
    ) -> Self:
        """Grow a tree for each group of the records ``rows``; the other parameters are those of ``Tree.grow``."""
        at = binned.names.index(parent)
        others = [name for name in predictors if name != parent]
        trees, first, donors, sizes = {}, {}, [], [0]
        for group in np.unique(binned.codes[at, rows]).tolist():
            own = rows[binned.codes[at, rows] == group]
            tree = Tree.grow(binned, others, response, classes=classes, rows=own, weights=weights, growth=growth)
            trees[group], first[group] = tree, len(sizes) - 1
            donors.append(tree.rows)
            sizes += np.diff(tree.offsets).tolist()
        every = np.concatenate([*donors, rows])
        return cls(
            parent=at,
            trees=trees,
            first=first,
            offsets=np.cumsum([*sizes, len(rows)]),
            rows=every,
            cumulative=None if weights is None else np.cumsum(weights[every]),
        )

    def __repr__(self) -> str:
        return f"Grouped({len(self.trees)} trees, {self.leaves} leaves)"

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return len(self.offsets) - 1

    def apply(self, codes: Bins) -> Codes:
        """Return the leaf of each record, given its bins."""
        found = np.full(codes.shape[1], self.leaves - 1, dtype=np.int64)
        for group, tree in self.trees.items():
            own: Booleans = codes[self.parent] == group
            if own.any():
                found[own] = self.first[group] + tree.apply(np.ascontiguousarray(codes[:, own]))
        return found

    def sorted(self, values: Floats, weights: Floats | None = None) -> Self:
        """Return the same trees, the donors of each leaf from the smallest value to the largest."""
        rows = by_value(self.offsets, self.rows, values)
        return replace(self, rows=rows, cumulative=None if weights is None else np.cumsum(weights[rows]))

    def take(self, leaves: Codes, chance: Floats) -> Codes:
        """Return for each record the donor of its leaf at a share of the donors' weights, 0 ≤ ``chance`` < 1."""
        return taken(self.offsets, self.rows, self.cumulative, leaves, chance)
