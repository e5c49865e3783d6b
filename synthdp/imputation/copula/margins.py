"""Margins: how values and latents go together, x = F⁻¹(Φ(y / s)).

F is the column's own distribution with weights of the records: equal ones while the copula is fitted, those of a
Bayesian bootstrap (Rubin 1981) in every copy, the same for all columns, so that a copy has margins of its own and
regressions between columns keep their uncertainty.

A number that at least ``HEAP`` records share is a point mass (a heap, a zero, a small count): an interval of latents,
released as it is. Any other number is spread evenly over the cell between the midpoints to its neighbours, inside the
bounds; so no rare value, and no extreme, is given out as it was, and the more lonely a value is, the wider its cell.
What is known of a latent is a point for a value that one record has, an interval for a value that several have.

s is one unless covariates move the latents: then these are a mixture of normals (see ``mixing``), and s is their sd.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from synthdp.microdata import Codes, Floats

HEAP = 5
EVERYONE = slice(None)
CLOSEST = 0.02  # how near to the edge of its cell an extreme may be, as a share of the cell


@dataclass(frozen=True, repr=False)
class NumberMargin:
    """The distinct values of a numeric column and the cell each is spread over.

    Parameters
    ----------
    rows
        Of each record the position of its value, -1 when missing.
    values, counts
        The distinct values in order, and how many records have each.
    left, right
        The cell of each value; a point for a heap.
    filled
        ``rows`` with a drawn position where the value is missing: the weights are added up over these. Over known
        values only, the margin would be wrong wherever missingness depends on other columns.
    """

    rows: Codes
    values: Floats
    counts: Codes
    left: Floats
    right: Floats
    filled: Codes

    @classmethod
    def of(cls, x: Floats, limits: tuple[float, float] = (-np.inf, np.inf)) -> "NumberMargin":
        """Return the margin of a column with its bounds; missing is NaN. O(n log n)."""
        known = np.isfinite(x)
        values, place, counts = np.unique(x[known], return_inverse=True, return_counts=True)
        rows = np.full(len(x), -1, dtype=np.int64)
        rows[known] = place
        middles = (values[1:] + values[:-1]) / 2
        left = np.concatenate([[max(2 * values[0] - middles[0], limits[0])], middles])
        right = np.concatenate([middles, [min(2 * values[-1] - middles[-1], limits[1])]])
        heaped = counts >= HEAP
        return cls(rows, values, counts, np.where(heaped, values, left), np.where(heaped, values, right), rows)

    def at(self, weights: Floats) -> "NumberCurve":
        """Return F with weights of the records."""
        mass = record_mass(self.filled, weights, len(self.values))
        above = np.cumsum(mass) / mass.sum()
        above[-1] = 1.0
        below = np.concatenate([[0.0], above[:-1]])
        knots = np.column_stack([self.left, self.right]).ravel(), np.column_stack([below, above]).ravel()
        width = self.right - self.left
        share = np.divide(self.values - self.left, width, out=np.full(len(width), 0.5), where=width > 0)
        # a value at its bound would have an infinite latent
        share[[0, -1]] = np.clip(share[[0, -1]], CLOSEST, 1 - CLOSEST)
        point = below + share * (above - below)
        single = self.counts == 1
        low, high = ndtri(np.where(single, point, below)), ndtri(np.where(single, point, above))
        return NumberCurve(*knots, self.rows, low, high)


@dataclass(frozen=True, repr=False)
class NumberCurve:
    """F of a numeric column: a line through knots, steep where there are heaps.

    Parameters
    ----------
    x, u
        The knots, both in order: values and cumulative probabilities.
    rows, low, high
        Of each record the position of its value (-1: missing), and of each value the latents that give it.
    """

    x: Floats
    u: Floats
    rows: Codes
    low: Floats
    high: Floats

    def bounds(self, of: slice = EVERYONE) -> tuple[Floats, Floats]:
        """Return between what each record's latent lies: a point where it is known, everything where it is missing."""
        return _at(self.rows[of], self.low, -np.inf), _at(self.rows[of], self.high, np.inf)

    def cell(self, z: Floats) -> Codes:
        """Return the position of the value in whose cell each latent falls."""
        return np.minimum(np.searchsorted(self.u[1::2], ndtr(z)), len(self.low) - 1)

    def value(self, z: Floats) -> Floats:
        """Return F⁻¹(Φ(z))."""
        return np.interp(ndtr(z), self.u, self.x)

    def latent(self, x: Floats) -> Floats:
        """Return Φ⁻¹(F(x)); infinite outside the outermost cells."""
        return np.asarray(ndtri(np.interp(x, self.x, self.u, left=0.0, right=1.0)))


@dataclass(frozen=True, repr=False)
class LevelMargin:
    """The ordered levels of a column.

    Parameters
    ----------
    rows, filled
        The position of each record's level, -1 when missing; and with a drawn one there.
    levels
        How many there are.
    """

    rows: Codes
    filled: Codes
    levels: int

    def at(self, weights: Floats) -> "LevelCurve":
        """Return the cut points with weights of the records."""
        mass = record_mass(self.filled, weights, self.levels)
        above = np.cumsum(mass) / mass.sum()
        # levels that nobody has lie at the edges; rounding must not leave a sliver for them
        above[np.flatnonzero(mass > 0)[-1] :] = 1.0
        return LevelCurve(ndtri(np.concatenate([[0.0], above])), self.rows)


@dataclass(frozen=True, repr=False)
class LevelCurve:
    """The cut points of ordered levels on the latent scale, one more than levels."""

    cuts: Floats
    rows: Codes

    def bounds(self, of: slice = EVERYONE) -> tuple[Floats, Floats]:
        """Return between what each record's latent lies."""
        return _at(self.rows[of], self.cuts[:-1], -np.inf), _at(self.rows[of], self.cuts[1:], np.inf)

    def cell(self, z: Floats) -> Codes:
        """Return the level of each latent."""
        return np.searchsorted(self.cuts[1:-1], z)

    def value(self, z: Floats) -> Floats:
        """Return the level of each latent, as a number."""
        return self.cell(z).astype(np.float64)


def record_mass(rows: Codes, weights: Floats, size: int) -> Floats:
    """Return the weight of the records at each position."""
    known = rows >= 0
    return np.asarray(np.bincount(rows[known], weights[known], minlength=size), dtype=np.float64)


def _at(rows: Codes, of: Floats, missing: float) -> Floats:
    return np.where(rows < 0, missing, of[rows])
