"""DP statistics whose intervals account for the privacy noise: ``synthdp.dp.mean(values, bounds=(0, 1), epsilon=1)``.

Examples
--------
>>> import numpy as np
>>> from synthdp import dp
>>> from synthdp.privacy.mechanisms import Simulated
>>> ages = np.random.default_rng(1).integers(18, 90, 2000)
>>> noisy = dp.mean(ages, bounds=(18, 90), epsilon=1, source=Simulated(np.random.default_rng(2)))
>>> noisy.epsilon, noisy.adjacency, bool(noisy.low < 53.5 < noisy.high)
(1, 'replace', True)
"""

from synthdp.dp.aggregation import aggregate
from synthdp.dp.counting import count, histogram
from synthdp.dp.counting import total as sum
from synthdp.dp.density import Density, density
from synthdp.dp.functions import OnlineRelease, ReleasedFunction, release_function
from synthdp.dp.kmeans import Clusters, kmeans
from synthdp.dp.learning import gradient_descent, sgd
from synthdp.dp.least_squares import cov, ols
from synthdp.dp.moments import mean, variance
from synthdp.dp.noisy_records import variance_of_noisy
from synthdp.dp.preparing import Preparation, declared, paid_bounds, prepare
from synthdp.dp.quantiles import median, quantile
from synthdp.dp.regression import Coefficients, Fit, adassp, ssp
from synthdp.dp.request import Released, ReleasedTable
from synthdp.dp.smoothed import smooth_median
from synthdp.dp.svm import Classifier, svm

__all__ = [
    "Classifier",
    "Clusters",
    "Coefficients",
    "Density",
    "Fit",
    "OnlineRelease",
    "Preparation",
    "Released",
    "ReleasedFunction",
    "ReleasedTable",
    "adassp",
    "aggregate",
    "count",
    "cov",
    "declared",
    "density",
    "gradient_descent",
    "histogram",
    "kmeans",
    "mean",
    "median",
    "ols",
    "paid_bounds",
    "prepare",
    "quantile",
    "release_function",
    "sgd",
    "smooth_median",
    "ssp",
    "sum",
    "svm",
    "variance",
    "variance_of_noisy",
]
