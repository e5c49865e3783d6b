"""The law of the noise of one release, so that intervals can account for it.

W = N(0, σ²) + Laplace(0, β) is what a noisy mean does around the truth. Its density is

    f(w) = e^{σ²/2β²}/(2β) · [ e^{−w/β} Φ(w/σ − σ/β) + e^{w/β} Φ(−w/σ − σ/β) ],

and integrating by parts gives

    F(w) = Φ(w/σ) + e^{σ²/2β²}/2 · [ e^{w/β} Φ(−w/σ − σ/β) − e^{−w/β} Φ(w/σ − σ/β) ].

Every product is taken in logarithms, since e^{σ²/2β²} overflows where the noise is small.

δ = 0 gives Laplace noise of scale Δ₁/ε; δ > 0 gives Gaussian noise by the analytic calibration (Balle & Wang 2018,
Theorem 8), which holds for every ε.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from synthdp.dp.declarations import Budget
from synthdp.privacy.mechanisms import Gaussian, Laplace, Sensitivity, Source
from synthdp.table.microdata import Floats


def laplace_normal_pdf(w: ArrayLike, sd: float, scale: float) -> Floats:
    """Return the density of N(0, sd²) + Laplace(0, scale) at w."""
    w = np.asarray(w, dtype=np.float64)
    left, right = _halves(w, sd, scale)
    return np.asarray((left + right) / (2 * scale))


def laplace_normal_cdf(w: ArrayLike, sd: float, scale: float) -> Floats:
    """Return P(N(0, sd²) + Laplace(0, scale) ≤ w)."""
    w = np.asarray(w, dtype=np.float64)
    if scale == 0:
        return np.asarray(ndtr(w / sd))
    if sd == 0:
        return np.asarray(np.where(w < 0, np.exp(-np.abs(w) / scale) / 2, 1 - np.exp(-np.abs(w) / scale) / 2))
    left, right = _halves(w, sd, scale)
    return np.asarray(np.clip(ndtr(w / sd) + (right - left) / 2, 0, 1))


def laplace_normal_quantile(probability: float, sd: float, scale: float) -> float:
    """Return w with P(N(0, sd²) + Laplace(0, scale) ≤ w) = probability, by bracketing.

    The sum exceeds the larger of both laws' quantiles and stays under the sum of their quantiles at half the tail.
    """
    from scipy.optimize import brentq

    if probability < 0.5:
        return -laplace_normal_quantile(1 - probability, sd, scale)
    if probability == 0.5 or sd == scale == 0:
        return 0.0
    tail = (1 - probability) / 2
    top = sd * float(ndtri(1 - tail)) - scale * float(np.log(2 * tail))
    found = brentq(lambda w: float(laplace_normal_cdf(w, sd, scale)) - probability, 0.0, top, xtol=1e-12 * top)
    return float(found)


def _halves(w: Floats, sd: float, scale: float) -> tuple[Floats, Floats]:
    shift = sd**2 / (2 * scale**2)
    left = np.exp(shift - w / scale + log_ndtr(w / sd - sd / scale))
    right = np.exp(shift + w / scale + log_ndtr(-w / sd - sd / scale))
    return np.asarray(left), np.asarray(right)


BELIEVABLE = 0.5, 1.5


@dataclass(frozen=True)
class Noise:
    """Laplace or Gaussian noise on every number of a release.

    Examples
    --------
    >>> Noise.of(Budget(0.5), 2.0).scale
    4.0
    """

    mechanism: Laplace | Gaussian

    @classmethod
    def of(cls, budget: Budget, l1: float, l2: float | None = None) -> "Noise":
        """Return the noise that pays for these sensitivities (the same for one number) out of this budget."""
        if budget.pure:
            moved = Sensitivity(l1, "l1", budget.adjacency)
            return cls(Laplace.calibrated(moved, epsilon=budget.epsilon))
        moved = Sensitivity(l1 if l2 is None else l2, "l2", budget.adjacency)
        return cls(Gaussian.calibrated(moved, epsilon=budget.epsilon, delta=budget.delta))

    @property
    def scale(self) -> float:
        """The scale of Laplace noise, the sd of Gaussian noise."""
        return self.mechanism.scale if isinstance(self.mechanism, Laplace) else self.mechanism.sd

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return self.mechanism.sd

    def add(self, centre: Floats, source: Source) -> Floats:
        """Return the numbers with noise from the source: the release."""
        return self.mechanism.release(centre, source=source)

    def draw(self, size: int | tuple[int, ...], *, rng: np.random.Generator) -> Floats:
        """Return draws of the same law, to find out what it does to an interval; never part of a release."""
        law = rng.laplace if isinstance(self.mechanism, Laplace) else rng.normal
        return law(scale=self.scale, size=size)

    def quantile(self, probability: float, *, sd: float) -> float:
        """Return the quantile of N(0, sd²) plus this noise: exact."""
        if isinstance(self.mechanism, Laplace):
            return laplace_normal_quantile(probability, sd, self.scale)
        return laplace_normal_quantile(probability, float(np.hypot(sd, self.scale)), 0.0)


def bootstrap_generator(source: Source) -> np.random.Generator:
    """Return a generator for simulating intervals: post-processing, which needs no safe noise."""
    return np.random.default_rng([int(word) for word in source.words(2)])


def projected(counts: Floats, total: float) -> Floats:
    """Return the non-negative counts with this total that are nearest in ℓ2: max(c − t, 0). O(p log p).

    Setting negative counts to 0 alone leaves half of the noise of every empty cell in the table: E = b/2 per cell for
    Laplace noise of scale b, which is most of a sparse table. The threshold t takes it away.

    Examples
    --------
    >>> projected(np.array([5.0, 1.0, -2.0]), 4.0)
    array([4., 0., 0.])
    """
    ordered = np.sort(counts)[::-1]
    excess = np.cumsum(ordered) - total
    ranks = np.arange(1, len(ordered) + 1)
    last = int(np.flatnonzero(ordered - excess / ranks > 0)[-1])
    return np.asarray(np.maximum(counts - excess[last] / (last + 1), 0.0), dtype=np.float64)


def nearest_law(mass: Floats) -> Floats:
    """Return probabilities near noisy masses, some of which may be negative; even where nothing is left of them.

    They keep their own sum while they are made non-negative, as a part of the law may lie beyond the bounds; the sum is
    then set to 1.
    """
    found = projected(mass.ravel(), float(np.clip(mass.sum(), *BELIEVABLE))).reshape(mass.shape)
    return np.asarray(found / found.sum())
