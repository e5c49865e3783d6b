"""The pictures of regions that the explorer starts from, each with what the mechanism costs in accuracy.

References
----------
Najib (2025), "Privacy visualisation through hypothesis testing", EPFL, chapter on privacy and utility. Corrected here:
the histogram of proportions has sensitivity 2/n, so its squared error is 8k/(nε)², where 2 and 8k/ε² are printed; the
score of the median counts every rank twice, so the bound on a rank error of t is m e^(−εt/2), where m e^(−εt/4) is
printed (true, but loose). Its figures are drawn anew from the corrected formulas (see ``composing`` for the others).
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import analytic_ratio
from synthdp.privacy.guarantees import delta_of, not_negative, positive, share, whole
from synthdp.privacy.tradeoff import figures
from synthdp.privacy.tradeoff.composing import compose
from synthdp.privacy.tradeoff.curves import (
    Gaussian,
    Laplace,
    approximate,
    classical_gaussian,
    dp_tv,
    pure,
    randomised_response,
    total_variation,
)
from synthdp.privacy.tradeoff.figures import Region, crossing

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


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


EPSILON, DELTA = 0.6, 0.05
FOLD = 5


def gallery() -> dict[str, tuple[Region, ...]]:
    """Return the regions of every picture, by its title."""
    one = Region(f"({EPSILON}, {DELTA})-DP", approximate(EPSILON, DELTA))
    folded = Region(f"{FOLD}-fold, exact", compose(one.curve, times=FOLD).curve)
    loose = Region("(0.6, 0.15)-DP", approximate(EPSILON, 0.15)), Region("0.25-TV", total_variation(0.25))
    laplace = Laplace(1.0)
    eta = float(laplace.delta(0.0))
    twice_dp = Region("(0.6, 0.05)-DP twice", compose(one.curve, times=2).curve)
    twice_tv = Region("0.2-TV twice", compose(total_variation(0.2), times=2).curve)
    return {
        "(0.6, 0.05)-DP": (one,),
        "(0.6, 0.05)-DP, 5 times": (one, folded),
        "(0.6, 0.15)-DP and 0.25-TV": (*loose, crossing("both", *loose)),
        "(0.6, 0.05)-DP and 0.2-TV, 5 times": (
            Region("once", dp_tv(EPSILON, DELTA, 0.2)),
            Region(f"{FOLD}-fold", compose(dp_tv(EPSILON, DELTA, 0.2), times=FOLD).curve),
        ),
        "1-GDP": (Region("1-GDP", Gaussian(1.0)),),
        "Laplace noise, ε = 1": (
            Region("1-DP", pure(1.0)),
            Region(f"1-DP and {eta:.3f}-TV", dp_tv(1.0, 0.0, eta)),
            Region("exact", laplace),
        ),
        "5-fold (0.6, 0.05)-DP: basic, exact, with 0.15-TV": (
            Region("basic: (3, 0.25)-DP", approximate(FOLD * EPSILON, FOLD * DELTA)),
            folded,
            Region("exact, with 0.15-TV", compose(dp_tv(EPSILON, DELTA, 0.15), times=FOLD).curve),
        ),
        "k times (1/√k)-DP tends to 1-GDP": (
            *(Region(f"k = {k}", compose(pure(1 / math.sqrt(k)), times=k).curve) for k in (1, 4, 16, 64)),
            Region("1-GDP", Gaussian(1.0)),
        ),
        "two mechanisms, each (0.6, 0.05)-DP and 0.2-TV": (
            twice_dp,
            twice_tv,
            crossing("both promises, composed apart", twice_dp, twice_tv),
            Region("exact, composed together", compose(dp_tv(EPSILON, DELTA, 0.2), times=2).curve),
        ),
    }


def pictures() -> dict[str, "Figure"]:
    """Return every picture of the gallery and every window, drawn."""
    shown = {title: figures.regions(regions, title=title) for title, regions in gallery().items()}
    return shown | windows()


def windows() -> dict[str, "Figure"]:
    """Return privacy beside its price for every query whose price is known, at ε = 1."""
    sample = np.random.default_rng(20_258).integers(1, 101, 500)

    def mean(price: Callable[..., float], epsilon: float) -> float:
        return price(epsilon, 1e-5, records=1000, diameter=1.0, dimension=2)

    def draw(region: Region, cost: str, utilities: dict[str, Callable[[float], float]]) -> "Figure":
        values = np.geomspace(0.05, 5, 60)
        return figures.window(region, utilities, values=values, current=1.0, parameter="ε", cost=cost)

    return {
        "histogram of 10 bins, Laplace noise": draw(
            Region("Laplace noise, ε = 1", Laplace(1.0)),
            "expected squared error",
            {
                "counts": lambda e: histogram_error(e, 10),
                "proportions, n = 1000": lambda e: histogram_error(e, 10, 1000),
            },
        ),
        "mean of 1000 records, Gaussian noise, δ = 1e-5": draw(
            Region("classical Gaussian noise, ε = 1", classical_gaussian(1.0, 1e-5)),
            "expected squared error",
            {
                "classical": lambda e: mean(mean_error, e),
                "analytic": lambda e: mean(mean_error_analytic, e),
            },
        ),
        "median of 500 values on {1..100}, exponential mechanism": draw(
            Region("1-DP", pure(1.0)),
            "P(rank error of 20 or more)",
            {
                "bound": lambda e: median_bound(e, 100, 20),
                "exact": lambda e: max(median_probability(sample, e, 100, 20), 1e-12),
            },
        ),
        "one value of 5 levels, randomised response": draw(
            Region("randomised response, ε = 1", randomised_response(1.0, 5)),
            "P(answer without looking)",
            {"random answer": lambda e: random_answer(e, 5)},
        ),
    }
