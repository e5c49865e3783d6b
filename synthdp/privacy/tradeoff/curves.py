"""What every trade-off function can do, and those that are smooth: Gaussian and Laplace noise.

References
----------
Dong, Roth, Su (2022): (6) for G_μ, Proposition 2.12 for δ(ε), Section 2.3 for Laplace noise. Balle, Wang (2018),
"Improving the Gaussian mechanism", ICML: (6) for δ of Gaussian noise.
"""

from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import integrate, special

from synthdp.errors import InputError
from synthdp.microdata import Floats
from synthdp.privacy.parameters import positive
from synthdp.privacy.tradeoff.pairs import Moments, Pair, maximum


class Tradeoff(Protocol):
    """The least FN at each FP, and the same knowledge as δ at each ε.

    The two are dual: δ(ε) = 1 − min over α of (e^ε α + f(α)) and f(α) = max over real ε of (1 − δ(ε) − e^ε α).
    """

    def __call__(self, alpha: npt.ArrayLike) -> Floats:
        """Return f(α)."""
        ...

    def delta(self, epsilon: npt.ArrayLike) -> Floats:
        """Return the least δ for which the mechanism is (ε, δ)-DP, as seen from the second data set."""
        ...

    def moments(self) -> Moments:
        """Return the moments of the privacy loss."""
        ...


@dataclass(frozen=True)
class Gaussian:
    """G_μ(α) = Φ(Φ⁻¹(1 − α) − μ): telling N(0, 1) from N(μ, 1); the exact curve of Gaussian noise with sd Δ/μ.

    Examples
    --------
    >>> round(float(Gaussian(1.0)(0.05)), 4)
    0.7405
    """

    mu: float

    def __post_init__(self) -> None:
        positive(self.mu, "mu")

    def __call__(self, alpha: npt.ArrayLike) -> Floats:
        """Return f(α)."""
        return np.asarray(special.ndtr(-special.ndtri(np.asarray(alpha, dtype=float)) - self.mu))

    def delta(self, epsilon: npt.ArrayLike) -> Floats:
        """Return Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2)."""
        eps = np.asarray(epsilon, dtype=float)
        first = special.log_ndtr(-eps / self.mu + self.mu / 2)
        second = eps + special.log_ndtr(-eps / self.mu - self.mu / 2)
        # the difference of two nearly equal numbers keeps its digits only as e^a(1 − e^(b−a))
        return np.asarray(np.exp(first) * -np.expm1(np.minimum(second - first, 0.0)))

    def moments(self) -> Moments:
        """Return the moments of the loss, which is N(−μ²/2, μ²)."""
        kl, sd = self.mu**2 / 2, self.mu
        central = 2 * np.sqrt(2 / np.pi) * sd**3
        third = integrate.quad(lambda z: abs(sd * z - kl) ** 3 * np.exp(-z * z / 2), -40, 40, points=[kl / sd])[0]
        return Moments(kl, sd**2 + kl**2, float(third / np.sqrt(2 * np.pi)), float(central))


@dataclass(frozen=True)
class Laplace:
    """L(α) = F(F⁻¹(1 − α) − ε), F the Laplace distribution: the exact curve of Laplace noise of scale Δ/ε.

    In pieces: 1 − e^ε α up to α = e^−ε/2, then e^−ε/(4α) up to α = 1/2, then e^−ε(1 − α).

    Examples
    --------
    >>> round(float(Laplace(1.0)(0.5)), 4)
    0.1839
    """

    epsilon: float

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")

    def __call__(self, alpha: npt.ArrayLike) -> Floats:
        """Return f(α)."""
        a, shrink = np.asarray(alpha, dtype=float), np.exp(-self.epsilon)
        middle = shrink / (4 * np.maximum(a, shrink / 2))
        return np.asarray(np.where(a < shrink / 2, 1 - a / shrink, np.where(a <= 0.5, middle, shrink * (1 - a))))

    def delta(self, epsilon: npt.ArrayLike) -> Floats:
        """Return 1 − e^((ε' − ε)/2) for 0 ≤ ε' ≤ ε, nothing beyond, and its mirror image below 0."""
        eps = np.asarray(epsilon, dtype=float)
        return mirrored(eps, np.maximum(-np.expm1((np.abs(eps) - self.epsilon) / 2), 0.0))

    def moments(self) -> Moments:
        """Return the moments of the loss |x| − |x − ε| under Laplace noise about 0."""
        eps = self.epsilon
        kl = eps + np.expm1(-eps)
        atoms = np.asarray([-eps, eps]), np.asarray([0.5, 0.5 * np.exp(-eps)])

        def mean(power: int, about: float) -> float:
            inside = integrate.quad(
                lambda x: abs(2 * x - eps - about) ** power * np.exp(-x) / 2, 0, eps, points=[(eps + about) / 2]
            )[0]
            return float(inside + atoms[1] @ np.abs(atoms[0] - about) ** power)

        return Moments(float(kl), mean(2, 0.0), mean(3, 0.0), mean(3, -float(kl)))


@dataclass(frozen=True)
class Intersection:
    """The larger of several curves at every α: all their promises hold at once.

    The curves must be symmetric (equal to their own inverse), as those of mechanisms are for neighbours that can be
    exchanged.
    """

    parts: tuple[Tradeoff, ...]

    def __call__(self, alpha: npt.ArrayLike) -> Floats:
        """Return f(α)."""
        return np.asarray(np.maximum.reduce([part(alpha) for part in self.parts]))

    def delta(self, epsilon: npt.ArrayLike) -> Floats:
        """Return 1 − min over α of (e^ε α + f(α)), found by golden section, as the sum is convex."""
        eps = np.asarray(epsilon, dtype=float)
        weight = np.exp(np.abs(eps))
        low, high = np.zeros_like(eps), np.ones_like(eps)
        ratio = (np.sqrt(5) - 1) / 2
        for _ in range(100):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            falls = weight * left + self(left) > weight * right + self(right)
            low, high = np.where(falls, left, low), np.where(falls, high, right)
        least = np.minimum(weight * low + self(low), weight * high + self(high))
        return mirrored(eps, np.maximum(1 - least, 0.0))

    def moments(self) -> Moments:
        """Refuse: an intersection is a bound; it has no loss of its own."""
        raise InputError("intersection: has no privacy loss of its own; compose its parts, or use `compose`.")


def intersect(*curves: Tradeoff) -> Tradeoff:
    """Return the intersection of regions: exact corners where all are piecewise linear."""
    if not curves:
        raise InputError("intersect: needs at least one curve.")
    pairs = [curve for curve in curves if isinstance(curve, Pair)]
    if len(pairs) == len(curves):
        return reduce(maximum, pairs)
    return Intersection(curves)


def mirrored(eps: Floats, delta: Floats) -> Floats:
    """Return δ at negative ε from δ(|ε|), for curves that are their own inverse: 1 − e^ε + e^ε δ(−ε)."""
    shrink = np.exp(np.minimum(eps, 0.0))
    return np.where(eps >= 0, delta, -np.expm1(np.minimum(eps, 0.0)) + shrink * delta)
