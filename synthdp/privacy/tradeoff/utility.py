"""What a mechanism costs in accuracy: exact errors and bounds, for the windows that show them beside a region.

References
----------
Najib (2025), "Privacy visualisation through hypothesis testing", EPFL, chapter on privacy and utility. Corrected here:
the histogram of proportions has sensitivity 2/n, so its squared error is 8k/(nε)², where 2 and 8k/ε² are printed; the
score of the median counts every rank twice, so the bound on a rank error of t is m e^(−εt/2), where m e^(−εt/4) is
printed (true, but loose). McSherry, Talwar (2007), "Mechanism design via differential privacy", FOCS, Theorem 6.
Hall (2012), thesis, Carnegie Mellon: Proposition 1.2.2, and Section 3.3.1 for the density. Ghosh, Roughgarden,
Sundararajan (2012), "Universally utility-maximizing privacy mechanisms", SIAM J. Comput. 41(6), for counts.
"""

import math

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import analytic_ratio
from synthdp.privacy.guarantees import delta_of, not_negative, positive, share, whole
from synthdp.privacy.tradeoff.tables import count_lower_bound as count_lower_bound
from synthdp.privacy.tradeoff.tables import fano_bound as fano_bound
from synthdp.privacy.tradeoff.tables import histogram_lower_bound as histogram_lower_bound
from synthdp.privacy.tradeoff.tables import margins_error as margins_error
from synthdp.privacy.tradeoff.tables import margins_lower_bound as margins_lower_bound
from synthdp.privacy.tradeoff.tables import sparse_table_bound as sparse_table_bound
from synthdp.privacy.tradeoff.tables import sparse_table_error as sparse_table_error
from synthdp.privacy.tradeoff.tables import sparse_table_lower_bound as sparse_table_lower_bound
from synthdp.privacy.tradeoff.tables import table_error as table_error


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


def exponential_bound(epsilon: float, sensitivity: float, candidates: int, t: float, best: int = 1) -> float:
    """Return how far the score of the exponential mechanism falls short of the best, but for a probability of e^−t.

    P(s ≤ OPT − (2Δ/ε)(ln(C/C*) + t)) ≤ e^−t for C candidates of which C* are best (Najib 2025, Proposition 24).

    Examples
    --------
    >>> round(exponential_bound(1.0, 2, 100, 3.0), 2)
    30.42
    """
    many, top = whole(candidates, "candidates", 1), whole(best, "best", 1)
    if top > many:
        raise InputError(f"best: cannot be more than the {many} candidates, found {top}.")
    rate = positive(epsilon, "epsilon") / (2 * positive(sensitivity, "sensitivity"))
    return (math.log(many / top) + not_negative(t, "t")) / rate


def count_error(epsilon: float, records: int | None = None) -> float:
    """Return the largest expected absolute error of a count with integer Laplace noise.

    1/sinh ε without an end to the range; on {0..n}, what falls outside is put on its ends, and the middle fares worst:
    a(2 − a^⌊n/2⌋ − a^⌈n/2⌉)/(1 − a²), a = e^−ε.
    """
    eps = positive(epsilon, "epsilon")
    if records is None:
        return 1 / math.sinh(eps)
    half = whole(records, "records", 1) // 2
    gone = math.expm1(-eps * half) + math.expm1(-eps * (records - half))
    return gone * math.exp(-eps) / math.expm1(-2 * eps)


def density_error(epsilon: float, delta: float, *, records: int, bandwidth: float, dimension: int) -> float:
    """Return the expected squared error of a private kernel density on the unit cube, from its noise alone.

    The noise is a Gaussian process with the kernel's own covariance; replacing a record moves the density by at most
    √2/(n(√(2π) h)^d) in that kernel's norm, and the least noise for it has the same sd everywhere.
    """
    width = math.sqrt(2 * math.pi) * positive(bandwidth, "bandwidth")
    moved = math.sqrt(2) / (whole(records, "records", 1) * width ** whole(dimension, "dimension", 1))
    return (moved * analytic_ratio(epsilon, delta)) ** 2


def _spread(sd: float, records: int, diameter: float, dimension: int) -> float:
    unit = sd * positive(diameter, "diameter") / whole(records, "records", 1)
    return whole(dimension, "dimension", 1) * unit**2
