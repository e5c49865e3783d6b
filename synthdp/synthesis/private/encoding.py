r"""Columns as vectors of length at most 1, and how far a record moves the sum of their products.

A level of a nominal column of L levels is a corner of a regular simplex: vectors of length 1, any two of which have the
product −1/(L − 1). An ordered column (ordinal, or numbers) is one score in [−1, 1], in the units of its values; what is
no value of it (the heap at 0, missing) has a direction of its own.

Ordered columns of many cells are cut into groups of about as many records each, as a noisy margin has it, and cells
in which it finds little beside its noise join a neighbour. A score is the mean of its group by that margin. So cells
may be fine, as single years, without a table of them.

A replaced record moves Σ w_ab u_a ⊗ u_b, with Σ g_a u_a beside it, in ℓ2 by at most

    Δ² = max_c { Σ w_ab² (2 − 2 c_a c_b) + Σ g_a² (2 − 2 c_a) },      c_a = u_a · u_a′ ∈ [lowest_a, 1],

u and u′ the old and the new record's: the square is convex in each vector, so it is largest where all have length 1,
and then linear in each c_a, so at a corner.

References
----------
Dwork, Talwar, Thakurta, Zhang (2014), STOC (noise on second moments). The bound by corners is ours.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthdp.dp.noise import projected
from synthdp.synthesis.private.domain import Axis
from synthdp.synthesis.private.junction import Columns
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Kind

MOST_CORNERS = 14
"""Columns up to which all corners are tried; beyond, every pair is bounded by itself, which is a little more."""
NEXT_TO_NOTHING = 1e-9
SURE = 3.0
"""In sd of the noise: what a group of cells holds at least."""


@dataclass(frozen=True)
class Encoded:
    """One column: the group of each cell, and the vector of each group.

    Parameters
    ----------
    group, vectors
        By cell, and by group.
    ordered
        Whether the first coordinate is a score.
    """

    group: Codes
    vectors: Floats
    ordered: bool

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.vectors)


def ordered(axis: Axis) -> bool:
    """Return whether a column has an order."""
    return not axis.column.kind.categorical or axis.column.kind is Kind.ORDINAL


def lowest(axis: Axis) -> float:
    """Return the least product of two of a column's vectors; fixed by what was declared."""
    return -1.0 if ordered(axis) else -1.0 / (axis.size - 1)


def values_of(axis: Axis) -> Floats:
    """Return a number for every cell of an ordered column: its value, or its place where levels are no numbers."""
    if not axis.column.kind.categorical:
        return axis.centres()
    levels = axis.column.levels
    if all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels):
        return np.asarray(levels, dtype=np.float64)
    return np.arange(len(levels), dtype=np.float64)


def grouped(counts: Floats, most: int) -> Codes:
    """Return groups of neighbouring cells, at most so many, each with about as large a share of the counts.

    A cell that holds more than its share stands alone or nearly so.

    Examples
    --------
    >>> grouped(np.array([1.0, 1.0, 8.0, 1.0, 1.0]), 3)
    array([0, 0, 1, 2, 2])
    """
    if len(counts) <= most:
        return np.arange(len(counts))
    total = max(float(counts.sum()), NEXT_TO_NOTHING)
    middle = (np.cumsum(counts) - counts / 2) / total
    return np.asarray(np.unique(np.minimum(middle * most, most - 1).astype(np.int64), return_inverse=True)[1])


def joined(group: Codes, counts: Floats, least: float) -> Codes:
    """Return groups of which each holds at least so much, where all together do: the smallest joins a neighbour.

    Examples
    --------
    >>> joined(np.arange(5), np.array([9.0, 5.0, 1.0, 1.0, 0.0]), 2.0)
    array([0, 1, 2, 2, 2])
    """
    while (held := np.bincount(group, counts)).size > 1 and held.min() < least:
        # of equal ones the last, so that a tail is drawn together from its end
        at = len(held) - 1 - int(held[::-1].argmin())
        beside = [v for v in (at - 1, at + 1) if 0 <= v < len(held)]
        other = min(beside, key=held.__getitem__)
        group = np.where(group >= max(at, other), group - 1, group)
    return group


def encoded(axis: Axis, margin: Floats, total: int, most: int, sd: float) -> Encoded:
    """Return a column's vectors, given its noisy margin and the sd of its noise."""
    if not ordered(axis):
        return Encoded(np.arange(axis.size), _corners(axis.size), False)
    counts = projected(margin, float(total))[: axis.plain]
    group, extra = joined(grouped(counts, most), counts, SURE * sd), axis.size - axis.plain
    size = int(group.max()) + 1
    # an even share of next to nothing, for groups that are empty
    weights = counts + NEXT_TO_NOTHING
    means = np.bincount(group, weights * values_of(axis)) / np.bincount(group, weights)
    low, high = float(means.min()), float(means.max())
    vectors = np.zeros((size + extra, 1 + extra))
    vectors[:size, 0] = (2 * means - low - high) / (high - low) if high > low else 0.0
    vectors[size:, 1:] = np.eye(extra)
    return Encoded(np.concatenate([group, size + np.arange(extra)]), vectors, True)


def _corners(levels: int) -> Floats:
    """Return the corners of a regular simplex around 0, in one dimension less than there are."""
    centred = (np.eye(levels) - 1 / levels) * math.sqrt(levels / (levels - 1))
    # Helmert's contrasts: rows that are orthogonal to each other and to what is the same for all levels
    turned = np.tril(np.ones((levels - 1, levels)), 0)
    turned[np.arange(levels - 1), np.arange(1, levels)] = -np.arange(1, levels)
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    return np.asarray(centred @ turned.T)


def moved(lowest: Sequence[float], weights: Mapping[Columns, float], looks: Sequence[float]) -> float:
    """Return Δ: how far a replaced record moves all weighed products and the vectors that are looked at alone.

    Examples
    --------
    >>> moved([-1.0, -1.0], {(0, 1): 1.0}, [0.0, 0.0])
    2.0
    """
    if len(lowest) > MOST_CORNERS:
        worst = sum(w**2 * (2 - 2 * min(lowest[a], lowest[b])) for (a, b), w in weights.items())
        return math.sqrt(worst + sum(g**2 * (2 - 2 * low) for g, low in zip(looks, lowest, strict=True)))
    corners = np.array(list(itertools.product(*((1.0, low) for low in lowest))))
    found = (2 - 2 * corners) @ np.square(np.asarray(looks, dtype=np.float64))
    for (a, b), w in weights.items():
        found += w**2 * (2 - 2 * corners[:, a] * corners[:, b])
    return math.sqrt(float(found.max()))
