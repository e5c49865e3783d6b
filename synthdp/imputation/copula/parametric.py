"""Parametric margins: a family instead of the column's own distribution, for those who know it or have few records.

The family describes the working scale (see ``links``): ``transform: log`` with a normal margin is a shifted lognormal.
Its parameters are those of largest likelihood with the weights of the records, so that a Bayesian bootstrap gives every
copy parameters of its own (the weighted likelihood bootstrap of Newton and Raftery 1994, JRSS B 56(1), 3-48).
Every value tells its latent exactly; there are no heaps.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special, stats

from synthdp.imputation.copula.margins import NumberCurve, NumberMargin, record_mass
from synthdp.microdata import Floats

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
