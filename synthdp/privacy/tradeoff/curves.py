"""Trade-off functions: what every one can do, the smooth ones, and those with finitely many likelihood ratios.

References
----------
Dong, Roth, Su (2022): (6) for G_μ, Proposition 2.12 for δ(ε), Section 2.3 for Laplace noise. Balle, Wang (2018),
"Improving the Gaussian mechanism", ICML: (6) for δ of Gaussian noise.
Kairouz, Oh, Viswanath (2017): Definition 2.1 for (ε, δ). Ghazi, Issa (2024), "Total variation meets differential
privacy", IEEE J. Sel. Areas Inf. Theory: DP together with total variation. Canonne, Kamath, Steinke (2020), "The
discrete Gaussian for differential privacy", NeurIPS.
"""

import math
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import integrate, special

from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import gaussian_delta, widest_variation
from synthdp.privacy.guarantees import delta_of, not_negative, positive, share, whole
from synthdp.privacy.tradeoff.pairs import Moments, Pair, hull, maximum
from synthdp.table.microdata import Floats


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
        return np.asarray(gaussian_delta(-eps / self.mu + self.mu / 2, -eps / self.mu - self.mu / 2, eps))

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


SMALLEST_MASS = 1e-290
MOST_SDS = 20.0


def approximate(epsilon: float, delta: float) -> Pair:
    """Return the curve of (ε, δ)-DP: max(0, 1 − δ − e^ε α, e^−ε (1 − δ − α)).

    Its pair of distributions is a mass δ that gives the data set away, and randomised response on the rest.

    Examples
    --------
    >>> round(float(approximate(0.6, 0.05)(0.1)), 4)
    0.7678
    """
    return dp_tv(epsilon, delta, largest_tv(epsilon, delta))


def pure(epsilon: float) -> Pair:
    """Return the curve of ε-DP, which is that of binary randomised response."""
    return approximate(epsilon, 0.0)


def total_variation(eta: float) -> Pair:
    """Return the curve of η-TV: α + f(α) ≥ 1 − η, the same as (0, η)-DP."""
    return approximate(0.0, eta)


def largest_tv(epsilon: float, delta: float) -> float:
    """Return the total variation that (ε, δ)-DP allows: δ + (1 − δ)(e^ε − 1)/(e^ε + 1)."""
    return widest_variation(not_negative(epsilon, "epsilon"), share(delta, "delta"))


def dp_tv(epsilon: float, delta: float, eta: float) -> Pair:
    """Return the curve of a mechanism that is (ε, δ)-DP and η-TV.

    Its pair has a mass δ that gives the data set away and three outcomes with ratios e^ε, 1 and e^−ε; the middle one,
    which says nothing, has probability μ = 1 − (η − δ)/(1 − δ) · (e^ε + 1)/(e^ε − 1) among these.
    """
    most = largest_tv(epsilon, delta)
    # a hair above the largest is rounding, such as from reading it off a table
    eta = share(most if most < eta <= most + 1e-12 else eta, "eta", delta, most)
    half = math.tanh(epsilon / 2)
    silent = 1 - (eta - delta) / ((1 - delta) * half) if half > 0 and delta < 1 else 1.0
    rest = (1 - delta) * (1 - max(silent, 0.0))
    large, small = rest / (1 + math.exp(-epsilon)), rest / (1 + math.exp(epsilon))
    middle = (1 - delta) * max(silent, 0.0)
    return Pair([0.0, small, middle, large, delta], [delta, large, middle, small, 0.0])


def classical_gaussian(epsilon: float, delta: float) -> Gaussian:
    """Return the exact curve of Gaussian noise with the classical sd Δ√(2 ln(1.25/δ))/ε: μ = ε/√(2 ln(1.25/δ)).

    Whether that noise is (ε, δ)-DP is another question: the classical proof needs ε < 1.
    """
    positive(epsilon, "epsilon")
    return Gaussian(epsilon / math.sqrt(2 * math.log(1.25 / delta_of(delta))))


def randomised_response(epsilon: float, levels: int = 2) -> Pair:
    """Return the curve of randomised response on m levels, truth with probability e^ε/(e^ε + m − 1).

    Its total variation is (e^ε − 1)/(e^ε + m − 1), below what ε-DP allows as soon as m > 2.
    """
    positive(epsilon, "epsilon")
    m = whole(levels, "levels", 2)
    other = math.exp(-epsilon) / (1 + (m - 1) * math.exp(-epsilon))
    truth = 1 - (m - 1) * other
    return Pair([truth, other, (m - 2) * other], [other, truth, (m - 2) * other])


def discrete_laplace(scale: float, sensitivity: int = 1) -> Pair:
    """Return the curve of noise with P(z) ∝ e^(−|z|/scale) on the integers, for answers ``sensitivity`` apart.

    The loss is constant outside the two answers, so Δ + 1 outcomes say everything; for Δ = 1 it is ε-DP to the full.
    """
    rate = 1 / positive(scale, "scale")
    shift = whole(sensitivity, "sensitivity", 1)
    z = np.arange(shift + 1)
    p = math.tanh(rate / 2) * np.exp(-rate * z)
    # everything at or beyond an answer has the ratio of that answer
    p[0], p[-1] = 1 / (1 + math.exp(-rate)), math.exp(-rate * shift) / (1 + math.exp(-rate))
    return Pair(p, p[::-1])


def discrete_gaussian(sd: float, sensitivity: int = 1) -> Pair:
    """Return the curve of noise with P(z) ∝ e^(−z²/(2 sd²)) on the integers, for answers ``sensitivity`` apart.

    ``sd`` is the parameter of the density, which the true sd does not exceed. Cut at about 36 sd, where a mass is
    10^−290 and its logarithm begins to lose digits.
    """
    positive(sd, "sd")
    shift = whole(sensitivity, "sensitivity", 1)
    if shift > MOST_SDS * sd:
        raise InputError(f"sensitivity: is more than {MOST_SDS:g} sd, so the noise hides nothing; use a larger sd.")
    reach = math.ceil(38 * sd) + shift
    z = np.arange(-reach, reach + shift + 1)
    p, q = (np.exp(-((z - centre) ** 2) / (2 * sd**2)) for centre in (0, shift))
    kept = np.minimum(p, q) > SMALLEST_MASS
    return Pair(p[kept] / p.sum(), q[kept] / q.sum())


def transition(matrix: npt.ArrayLike) -> Pair:
    """Return the curve of a mechanism that turns level i into level j with probability ``matrix[i, j]``.

    The largest convex curve below those of all ordered pairs of rows: nothing larger holds whichever the two levels
    are. Cost: O(m³ log m) for m levels.
    """
    rows = np.asarray(matrix, dtype=float)
    if rows.ndim != 2 or len(rows) < 2:
        raise InputError(f"matrix: must have two dimensions and at least two rows, found shape {rows.shape}.")
    knots = [Pair(p, q).knots for i, p in enumerate(rows) for j, q in enumerate(rows) if i != j]
    return hull(np.concatenate([alpha for alpha, _ in knots]), np.concatenate([beta for _, beta in knots]))


def exponential(
    scores: npt.ArrayLike, others: npt.ArrayLike, *, epsilon: float, sensitivity: float, monotone: bool = False
) -> Pair:
    """Return the exact curve of the exponential mechanism on two given data sets.

    Parameters
    ----------
    scores, others
        The score of every candidate on the first and on the second data set; larger is better.
    epsilon, sensitivity
        P(c) ∝ exp(ε s(c)/(2Δ)).
    monotone
        Whether all scores move the same way between neighbours, so that the factor 2 may go.
    """
    positive(sensitivity, "sensitivity")
    rate = positive(epsilon, "epsilon") / (sensitivity * (1 if monotone else 2))
    return Pair(*(special.softmax(rate * np.asarray(of, dtype=float)) for of in (scores, others)))
