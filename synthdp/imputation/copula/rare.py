"""Rare levels of a nominal column: too few records to learn from whom they go with, so they share one utility.

    P(level l | the rest) = P(one of the rare levels | the rest) · s_l,   s_l their shares among the rare ones

A level of four records has a utility whose correlations could be almost anything: chains wander between them for hours,
and copies of any of them would be noise. The shares are those of records with the weights of the copy's bootstrap.
"""

from dataclasses import dataclass

import numpy as np

from synthdp.table.microdata import Codes, Floats

ENOUGH, SHARE, LEAST = 10, 0.01, 3


def fewest(records: int) -> float:
    """Return how many records a level needs for a utility of its own: ten, in small files a hundredth, but three."""
    return max(min(ENOUGH, SHARE * records), LEAST)


@dataclass(frozen=True, repr=False)
class Pool:
    """The rare levels of a column.

    Parameters
    ----------
    levels
        Their positions in the schema.
    rows, member
        The records that have one of them, and which.
    """

    levels: Codes
    rows: Codes
    member: Codes

    @classmethod
    def of(cls, codes: Codes, levels: Codes) -> "Pool":
        """Return the pool of some levels of a column; codes are positions in the schema."""
        place = np.full(max(int(codes.max()), int(levels.max())) + 2, -1, dtype=np.int64)
        place[levels] = np.arange(len(levels))
        rows = np.flatnonzero(place[codes] >= 0)
        return cls(levels, rows, place[codes[rows]])

    def shares(self, weights: Floats) -> Floats:
        """Return the shares of the levels among the rare ones, with weights of all records."""
        mass = np.bincount(self.member, weights[self.rows], minlength=len(self.levels))
        return np.asarray(mass / mass.sum(), dtype=np.float64)


def rarest(counts: Codes) -> Codes:
    """Return which levels are to be pooled, of counts in decreasing order; none where there is nothing to pool.

    All with too few records (see ``fewest``) and, until they have enough together, the next ones. The most frequent
    level stands for itself.

    Examples
    --------
    >>> rarest(np.array([900, 300, 9, 2, 1])).tolist(), rarest(np.array([900, 300, 3])).tolist()
    ([2, 3, 4], [1, 2])
    >>> rarest(np.array([900, 300, 10])).tolist(), rarest(np.array([900, 3])).tolist()
    ([2], [1])
    """
    enough = fewest(int(counts.sum()))
    first = int((counts >= enough).sum())
    if first == len(counts):
        return np.arange(len(counts) - 1, len(counts))
    first = min(first, len(counts) - 1)
    while first > 1 and (counts[first:].sum() < enough or first == len(counts) - 1):
        first -= 1
    return np.arange(max(first, 1), len(counts))


def drawn(chances: Floats, *, rng: np.random.Generator) -> Codes:
    """Draw a level for every row of weights."""
    sums = np.cumsum(chances, axis=1)
    u = rng.random(len(chances)) * sums[:, -1]
    return np.asarray((u[:, None] >= sums[:, :-1]).sum(axis=1), dtype=np.int64)
