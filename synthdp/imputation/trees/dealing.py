"""How leaves give their values to the records that reach them: by independent draws, or dealt evenly.

The k records of a leaf get the numbers u of even steps, one random start U for the leaf:

    u_i = (r_i / k + U) mod 1,      r a permutation of 0 … k - 1

and a record gets the donor at the share u of the leaf's donors, sorted by their value. Each u_i is uniform, so each
record by itself is drawn as it always was; but of any range of values the leaf's records get its share, to within one
record, where independent draws would be off by the square root of the count. What the leaf says is then told with less
noise, and a copy is nearer to the model than a sample of it would be.

r is random, unless the records are to be dealt ``by`` a column: then the j-th of the leaf's records, in the order of
that column, has the rank of jφ mod 1, φ the golden section, of which every run of consecutive terms is spread evenly:
the records of one level get values as evenly as all of them. Where that column has levels, each of them gets its own
shares of the leaf's values (see ``areas``).

References
----------
Madow and Madow (1944), Annals of Mathematical Statistics 15(1), 1-24 (systematic sampling). Kuipers and Niederreiter
(1974), Uniform Distribution of Sequences, section 2.3 (multiples of an irrational number).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from synthdp.arrays import Codes, Floats, compiled
from synthdp.imputation.trees.areas import Areas
from synthdp.imputation.trees.binning import Bins
from synthdp.imputation.trees.grouped import Grouped
from synthdp.imputation.trees.tree import Tree

Dealing = Literal["independent", "systematic"]
GOLDEN = (np.sqrt(5) - 1) / 2


@dataclass(frozen=True, repr=False)
class Dealer:
    """A tree, and how its leaves give out their values.

    Parameters
    ----------
    by
        The row of the bins of the column that records are dealt by; None for none.
    areas
        The shares of its levels; None where they are the leaf's.
    """

    tree: Tree | Grouped
    dealing: Dealing = "independent"
    by: int | None = None
    areas: Areas | None = None

    def deal(self, codes: Bins, *, rng: np.random.Generator) -> tuple[Codes, Codes]:
        """Return the leaf and the donor of each record, given its bins."""
        leaves = self.tree.apply(codes)
        by = None if self.by is None else codes[self.by].astype(np.int64)
        chance = chances(leaves, rng=rng, dealing=self.dealing, by=by)
        if self.areas is not None and by is not None:
            chance = self.areas.moved(chance, leaves, by)
        return leaves, self.tree.take(leaves, chance)


def chances(
    leaves: Codes, *, rng: np.random.Generator, dealing: Dealing = "systematic", by: Codes | None = None
) -> Floats:
    """Return a uniform number for each record, from 0 up to but not including 1.

    Cost O(n), with ``by`` O(n log n).

    Parameters
    ----------
    leaves
        The leaf of each record.
    by
        The levels of the column that records are dealt by; None for no order.
    """
    n = len(leaves)
    if dealing == "independent" or n == 0:
        return rng.random(n)
    count = np.bincount(leaves)
    order = rng.permutation(n)
    if by is not None:
        order = order[np.argsort(by[order], kind="stable")]
    rank = _numbered(leaves, order, len(count))
    if by is not None:
        place = np.mod(rank * GOLDEN, 1.0)
        within = np.argsort(leaves + place)
        rank = _numbered(leaves, within, len(count))
    start = rng.random(len(count))
    return np.asarray(np.mod(rank / count[leaves] + start[leaves], 1.0))


@compiled
def _numbered(leaves: Codes, order: Codes, many: int) -> Floats:
    """Return for each record how many of its leaf come before it in an order."""
    seen, found = np.zeros(many), np.empty(len(leaves))
    for i in order:
        found[i] = seen[leaves[i]]
        seen[leaves[i]] += 1
    return found
