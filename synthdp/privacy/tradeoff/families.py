"""The trade-off functions of promises and of mechanisms with finitely many likelihood ratios.

References
----------
Kairouz, Oh, Viswanath (2017): Definition 2.1 for (ε, δ). Ghazi, Issa (2024), "Total variation meets differential
privacy", IEEE J. Sel. Areas Inf. Theory: DP together with total variation. Canonne, Kamath, Steinke (2020), "The
discrete Gaussian for differential privacy", NeurIPS.
"""

import math

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.microdata import Floats
from synthdp.privacy.parameters import delta_of, positive
from synthdp.privacy.tradeoff.checks import not_negative, share, whole
from synthdp.privacy.tradeoff.curves import Gaussian
from synthdp.privacy.tradeoff.pairs import Pair, hull

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
    not_negative(epsilon, "epsilon")
    share(delta, "delta")
    return delta + (1 - delta) * math.tanh(epsilon / 2)


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
    return Pair(_softmax(rate * np.asarray(scores, dtype=float)), _softmax(rate * np.asarray(others, dtype=float)))


def _softmax(values: Floats) -> Floats:
    weights = np.exp(values - values.max())
    return np.asarray(weights / weights.sum())
