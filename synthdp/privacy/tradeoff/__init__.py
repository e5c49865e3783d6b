"""Trade-off functions: how well any test can tell two neighbouring data sets apart from what a mechanism says.

A test has two errors: α, calling the first data set the second (FP), and β, calling the second the first (FN). The
trade-off function f(α) is the least β that any test can reach; the larger f, the more private the mechanism. f is
convex, continuous and non-increasing, and f(α) ≤ 1 − α. The region of a mechanism is all (α, β) between f and the
line α + β = 1.

* ``curves``: what every trade-off function can do; Gaussian and Laplace in closed form; intersections; (ε, δ), total
  variation, randomised response, discrete noise, matrices, exponential mechanism.
* ``pairs``: pairs of distributions on finitely many outputs, exact by Neyman and Pearson.
* ``composing``: the tensor product, exact or between two bounds; the central limit theorem with its error band.
* ``duality``: from f to all (ε, δ(ε)) and back, and the curve that an event promises.
* ``divergences``: how far two laws are apart in five ways.
* ``utility``: what a mechanism costs in accuracy. ``tables``: what tables and counts cost, and no mechanism can beat.
* ``figures``: regions drawn with plotly. ``gallery``: the pictures.

References
----------
Dong, Roth, Su (2022), "Gaussian differential privacy", JRSS B 84(1). Kairouz, Oh, Viswanath (2017), "The composition
theorem for differential privacy", IEEE Trans. Inf. Theory 63(6).
"""

from synthdp.privacy.tradeoff.composing import Composition, GaussianLimit, compose, gaussian_limit
from synthdp.privacy.tradeoff.curves import (
    Gaussian,
    Intersection,
    Laplace,
    Tradeoff,
    approximate,
    classical_gaussian,
    discrete_gaussian,
    discrete_laplace,
    dp_tv,
    exponential,
    intersect,
    pure,
    randomised_response,
    total_variation,
    transition,
)
from synthdp.privacy.tradeoff.duality import epsilon, from_deltas, group, regret
from synthdp.privacy.tradeoff.pairs import Pair

__all__ = [
    "Composition",
    "Gaussian",
    "GaussianLimit",
    "Intersection",
    "Laplace",
    "Pair",
    "Tradeoff",
    "approximate",
    "classical_gaussian",
    "compose",
    "discrete_gaussian",
    "discrete_laplace",
    "dp_tv",
    "epsilon",
    "exponential",
    "from_deltas",
    "gaussian_limit",
    "group",
    "intersect",
    "pure",
    "randomised_response",
    "regret",
    "total_variation",
    "transition",
]
