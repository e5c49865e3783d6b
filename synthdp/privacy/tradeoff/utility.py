"""What a mechanism costs in accuracy, as closed forms beside its region.

References
----------
Najib (2025), "Privacy visualisation through hypothesis testing", EPFL, chapter on privacy and utility. Corrected here:
the histogram of proportions has sensitivity 2/n, so its squared error is 8k/(nε)², where 2 and 8k/ε² are printed; the
score of the median counts every rank twice, so the bound on a rank error of t is m e^(−εt/2), where m e^(−εt/4) is
printed (true, but loose).
"""

import math

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy.mechanisms.gaussian import analytic_ratio
from synthdp.privacy.parameters import delta_of, positive
from synthdp.privacy.tradeoff.checks import not_negative, share, whole


def histogram_error(epsilon: float, bins: int, records: int | None = None) -> float:
    """Return the expected squared error, over all bins, of a Laplace histogram when one record is replaced.

    On counts 8k/ε²; on proportions, when ``records`` is given, 8k/(nε)².
    """
    unit = 1 if records is None else whole(records, "records", 1)
    return 8 * whole(bins, "bins", 1) / (unit * positive(epsilon, "epsilon")) ** 2


def mean_error(epsilon: float, delta: float, *, records: int, diameter: float, dimension: int) -> float:
    """Return the expected squared error of a mean with the classical Gaussian noise: 2k ln(1.25/δ) d²/(nε)²."""
    sd = math.sqrt(2 * math.log(1.25 / delta_of(delta))) / positive(epsilon, "epsilon")
    return _spread(sd, records, diameter, dimension)


def mean_error_analytic(epsilon: float, delta: float, *, records: int, diameter: float, dimension: int) -> float:
    """Return the same with the least Gaussian noise that is (ε, δ)-DP (Balle and Wang 2018, Theorem 8)."""
    return _spread(analytic_ratio(epsilon, delta), records, diameter, dimension)


def median_bound(epsilon: float, levels: int, rank_error: float) -> float:
    """Return the bound m e^(−εt/2) on the probability that the median on {1..m} is wrong by t ranks or more."""
    return min(whole(levels, "levels", 2) * math.exp(-positive(epsilon, "epsilon") * rank_error / 2), 1.0)


def median_probability(values: npt.ArrayLike, epsilon: float, levels: int, rank_error: float) -> float:
    """Return the exact probability of a rank error of t or more, for given values in {1..m}.

    The score of a candidate is −|Σ sign(c − x)|, which changes by at most 2 when a record is replaced.
    """
    x = np.asarray(values, dtype=float)
    candidates = np.arange(1, whole(levels, "levels", 2) + 1)
    balance = np.abs(np.sign(candidates[:, None] - x[None, :]).sum(axis=1))
    weights = np.exp(-positive(epsilon, "epsilon") * (balance - balance.min()) / 4)
    return float(weights[balance / 2 >= rank_error].sum() / weights.sum())


def random_answer(epsilon: float, levels: int) -> float:
    """Return the probability m/(e^ε + m − 1) that randomised response answers without looking."""
    return whole(levels, "levels", 2) / (math.exp(positive(epsilon, "epsilon")) + levels - 1)


def biased_epsilon(bias: float) -> float:
    """Return the ε of reporting the truth with probability 1/2 + γ: ln((1/2 + γ)/(1/2 − γ))."""
    if not 0 < bias < 0.5:
        raise InputError(f"bias: must lie strictly between 0 and 0.5, found {bias:g}.")
    return math.log((0.5 + bias) / (0.5 - bias))


def proportion_bound(bias: float, records: int, error: float) -> float:
    """Return Chebyshev's bound 1/(16 γ² t² n) on P(|p̂ − p| ≥ t), p̂ the unbiased estimate of a proportion."""
    biased_epsilon(bias)
    return min(1 / (16 * bias**2 * positive(error, "error") ** 2 * whole(records, "records", 1)), 1.0)


def power_bound(size: npt.ArrayLike, epsilon: float, delta: float = 0.0) -> npt.NDArray[np.float64]:
    """Return the most power any test of a given size has against an (ε, δ)-DP release: min(1, e^ε size + δ).

    Hall (2012), Proposition 1.2.2: the adversary knows all records but one. This is one of the two lines of the
    region; ``1 - approximate(ε, δ)(size)`` is never larger.
    """
    share(delta, "delta")
    return np.minimum(math.exp(not_negative(epsilon, "epsilon")) * np.asarray(size, dtype=float) + delta, 1.0)


def _spread(sd: float, records: int, diameter: float, dimension: int) -> float:
    unit = sd * positive(diameter, "diameter") / whole(records, "records", 1)
    return whole(dimension, "dimension", 1) * unit**2
