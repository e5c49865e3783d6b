"""The pictures of regions that the studies show, each with what the mechanism costs in accuracy.

References
----------
Najib (2025), "Privacy visualisation through hypothesis testing", EPFL: its figures, drawn anew from the corrected
formulas (see ``utility`` and ``composing``).
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from synthdp.privacy.tradeoff import figures, utility
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
    mixed = Region("(0.6, 0.05)-DP, then 0.2-TV: (0.6, 0.24)-DP", compose(one.curve, total_variation(0.2)).curve)
    dp_and_tv, gdp = Region("(0.6, 0.15)-DP and 0.25-TV", dp_tv(EPSILON, 0.15, 0.25)), Region("0.8-GDP", Gaussian(0.8))
    return {
        "(0.6, 0.05)-DP": (one,),
        "(0.6, 0.05)-DP, 5 times": (one, folded),
        "(0.6, 0.15)-DP and 0.25-TV": (*loose, crossing("both", *loose)),
        "(0.6, 0.15)-DP and 0.25-TV beside 1.5-GDP": (dp_and_tv, Region("1.5-GDP", Gaussian(1.5))),
        "(0.6, 0.15)-DP, 0.25-TV and 0.8-GDP": (dp_and_tv, gdp, crossing("Intersection", dp_and_tv, gdp)),
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
            mixed,
            twice_tv,
            crossing("hypothesis: all three at once", twice_dp, mixed, twice_tv),
            Region("true: composed together", compose(dp_tv(EPSILON, DELTA, 0.2), times=2).curve),
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
                "counts": lambda e: utility.histogram_error(e, 10),
                "proportions, n = 1000": lambda e: utility.histogram_error(e, 10, 1000),
            },
        ),
        "mean of 1000 records, Gaussian noise, δ = 1e-5": draw(
            Region("classical Gaussian noise, ε = 1", classical_gaussian(1.0, 1e-5)),
            "expected squared error",
            {
                "classical": lambda e: mean(utility.mean_error, e),
                "analytic": lambda e: mean(utility.mean_error_analytic, e),
            },
        ),
        "median of 500 values on {1..100}, exponential mechanism": draw(
            Region("1-DP", pure(1.0)),
            "P(rank error of 20 or more)",
            {
                "bound": lambda e: utility.median_bound(e, 100, 20),
                "exact": lambda e: max(utility.median_probability(sample, e, 100, 20), 1e-12),
            },
        ),
        "one value of 5 levels, randomised response": draw(
            Region("randomised response, ε = 1", randomised_response(1.0, 5)),
            "P(answer without looking)",
            {"random answer": lambda e: utility.random_answer(e, 5)},
        ),
    }
