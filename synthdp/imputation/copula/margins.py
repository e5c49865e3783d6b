"""Margins: how values and latents go together, x = F⁻¹(Φ(y / s)), with F the column's own distribution or a family.

F is the column's own distribution with weights of the records: equal ones while the copula is fitted, those of a
Bayesian bootstrap (Rubin 1981) in every copy, the same for all columns, so that a copy has margins of its own and
regressions between columns keep their uncertainty.

A number that at least ``HEAP`` records share is a point mass (a heap, a zero, a small count): an interval of latents,
released as it is. Any other number is spread evenly over the cell between the midpoints to its neighbours, inside the
bounds; so no rare value, and no extreme, is given out as it was, and the more lonely a value is, the wider its cell.
What is known of a latent is a point for a value that one record has, an interval for a value that several have.

s is one unless covariates move the latents: then these are a mixture of normals (see ``mixing``), and s is their sd.

The family describes the working scale (see ``links``): ``transform: log`` with a normal margin is a shifted lognormal.
Its parameters are those of largest likelihood with the weights of the records, so that a Bayesian bootstrap gives every
copy parameters of its own (the weighted likelihood bootstrap of Newton and Raftery 1994, JRSS B 56(1), 3-48).
Every value tells its latent exactly; there are no heaps.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special
from scipy.special import ndtr, ndtri

from synthdp.table.microdata import Codes, Floats

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


Family = Literal["normal", "gamma", "beta"]
FAMILIES: tuple[Family, ...] = ("normal", "gamma", "beta")
FARTHEST, KNOTS = 6.0, 2401
STEPS, CLOSE = 100, 1e-10
SMALLEST, LARGEST = 1e-3, 1e6  # of a shape


@dataclass(frozen=True, repr=False)
class ParametricMargin(NumberMargin):
    """The distinct values of a column, and the family its latents are read from.

    Parameters
    ----------
    family
        ``normal``; ``gamma`` above the lower bound; ``beta`` between the bounds.
    limits
        The bounds.
    """

    family: Family
    limits: tuple[float, float]

    @classmethod
    def from_family(cls, x: Floats, limits: tuple[float, float], family: Family) -> "ParametricMargin":
        """Return the margin of a column with its bounds; missing is NaN. O(n log n)."""
        plain = NumberMargin.of(x, limits)
        return cls(plain.rows, plain.values, plain.counts, plain.left, plain.right, plain.filled, family, limits)

    def at(self, weights: Floats) -> "ParametricCurve":
        """Return F with the parameters of largest weighted likelihood. O(n), and O(values) per step of Newton."""
        mass = record_mass(self.filled, weights, len(self.values))
        z = np.linspace(-FARTHEST, FARTHEST, KNOTS)
        low, high = self.limits
        if self.family == "normal":
            center, spread = weighted_normal(self.values, mass)
            x = np.clip(center + spread * z, low, high)
            latents = (self.values - center) / spread
        else:
            from scipy import stats

            width = high - low if self.family == "beta" else 1.0
            share = self._inside((self.values - low) / width)
            law: Any
            if self.family == "beta":
                law = stats.beta(*weighted_beta(share, mass))
            else:
                shape, scale = weighted_gamma(share, mass)
                law = stats.gamma(shape, scale=scale)
            # each tail from its own side: far out the other one has no digits left
            x = np.minimum(low + width * np.where(z < 0, law.ppf(special.ndtr(z)), law.isf(special.ndtr(-z))), high)
            below, above = law.cdf(share), law.sf(share)
            latents = np.where(below < 0.5, special.ndtri(below), -special.ndtri(above))
        latents = np.clip(latents, -FARTHEST, FARTHEST)
        return ParametricCurve(np.maximum.accumulate(x), special.ndtr(z), self.rows, latents, latents, self.values)

    def _inside(self, share: Floats) -> Floats:
        """Return shares moved off the bounds, where a density may be zero or infinite, by half of the smallest gap."""
        inner = share[(share > 0) & ((share < 1) | (self.family == "gamma"))]
        gap = 0.5 * float(inner.min(initial=1.0))
        if self.family == "gamma":
            return np.maximum(share, gap)
        return np.clip(share, gap, 1 - 0.5 * float((1 - inner).min(initial=1.0)))


@dataclass(frozen=True, repr=False)
class ParametricCurve(NumberCurve):
    """F of a family, as a line through many knots.

    Parameters
    ----------
    values
        The column's distinct values.
    """

    values: Floats

    def cell(self, z: Floats) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """Return the position of the nearest value."""
        return np.searchsorted((self.values[1:] + self.values[:-1]) / 2, self.value(z))


def weighted_normal(x: Floats, mass: Floats) -> tuple[float, float]:
    """Return mean and sd of largest likelihood."""
    center = float(np.average(x, weights=mass))
    return center, float(np.sqrt(np.average((x - center) ** 2, weights=mass)))


def weighted_gamma(x: Floats, mass: Floats) -> tuple[float, float]:
    """Return shape and scale of largest likelihood: log(a) − ψ(a) = log mean(x) − mean(log x), by Newton on log(a)."""
    mean = float(np.average(x, weights=mass))
    gap = max(float(np.log(mean) - np.average(np.log(x), weights=mass)), 1e-12)
    # Minka's (2002) start is within 2% of the end
    a = (3 - gap + np.sqrt((gap - 3) ** 2 + 24 * gap)) / (12 * gap)
    for _ in range(STEPS):
        step = (np.log(a) - special.digamma(a) - gap) / (1 - a * special.polygamma(1, a))
        a = float(np.clip(a * np.exp(-step), SMALLEST, LARGEST))
        if abs(step) < CLOSE:
            break
    return float(a), mean / float(a)


def weighted_beta(x: Floats, mass: Floats) -> tuple[float, float]:
    """Return both shapes of largest likelihood: ψ(a) − ψ(a + b) = mean(log x), and so b; by Newton from the moments."""
    center, spread = weighted_normal(x, mass)
    logs = np.array([np.average(np.log(x), weights=mass), np.average(np.log1p(-x), weights=mass)])
    total = max(center * (1 - center) / max(spread**2, 1e-12) - 1, 0.1)
    shapes = np.array([center, 1 - center]) * total
    for _ in range(STEPS):
        score = logs - special.digamma(shapes) + special.digamma(shapes.sum())
        bend = np.diag(special.polygamma(1, shapes)) - special.polygamma(1, shapes.sum())
        # on log shapes, so that they stay positive; halved while far away
        step = np.clip(np.linalg.solve(bend, score) / shapes, -1.0, 1.0)
        shapes = np.clip(shapes * np.exp(step), SMALLEST, LARGEST)
        if np.abs(step).max() < CLOSE:
            break
    return float(shapes[0]), float(shapes[1])
