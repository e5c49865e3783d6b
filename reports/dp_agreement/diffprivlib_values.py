"""Print diffprivlib's noise scales and composed ε for 50 random settings each, as JSON.

Run where diffprivlib 0.6.6 and scikit-learn 1.6 are installed (it does not work with newer ones); what it prints is
``diffprivlib.json`` beside this file.
"""

import json
import sys
import warnings
from typing import Any

import diffprivlib
import numpy as np
from diffprivlib import BudgetAccountant, mechanisms

warnings.simplefilter("ignore")
rng = np.random.default_rng(66)
N = 50


def strength(low: float = 0.02, high: float = 5.0) -> float:
    """Return a number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def used(mechanism: Any, value: float = 0.0) -> float:
    """Return the scale after a draw: some mechanisms work it out only then."""
    mechanism.randomise(value)
    return float(mechanism._scale)


def small() -> float:
    """Return a δ between 1e-9 and 1e-2."""
    return float(10 ** rng.uniform(-9, -2))


kinds = ("laplace", "geometric", "gaussian_classical", "gaussian_analytic", "bounded", "composed")
rows: dict[str, list[list[float]]] = {kind: [] for kind in kinds}
for _ in range(N):
    e, s = strength(), strength(0.01, 100)
    rows["laplace"].append([e, s, float(np.sqrt(mechanisms.Laplace(epsilon=e, sensitivity=s).variance(0.0) / 2))])
    e, s = strength(), int(rng.integers(1, 20))
    rows["geometric"].append([e, s, -1 / used(mechanisms.Geometric(epsilon=e, sensitivity=s), 0)])
    e, d, s = strength(high=0.99), small(), strength(0.01, 100)
    rows["gaussian_classical"].append([e, d, s, used(mechanisms.Gaussian(epsilon=e, delta=d, sensitivity=s))])
    e, d, s = strength(), small(), strength(0.01, 100)
    sd = used(mechanisms.GaussianAnalytic(epsilon=e, delta=d, sensitivity=s))
    rows["gaussian_analytic"].append([e, d, s, sd])
    e, s, w = strength(0.1), strength(0.01, 1), strength(1, 100)
    kept = mechanisms.LaplaceBoundedDomain(epsilon=e, delta=0.0, sensitivity=s, lower=0.0, upper=w)
    rows["bounded"].append([e, s, w, used(kept)])
    e, k, d = strength(0.01, 0.5), int(rng.integers(2, 60)), small()
    accountant = BudgetAccountant(slack=d)
    for _ in range(k):
        accountant.spend(e, 0.0)
    rows["composed"].append([e, k, d, *map(float, accountant.total())])
json.dump({"version": diffprivlib.__version__, "rows": rows}, sys.stdout, indent=1)
