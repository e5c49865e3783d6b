"""A simulated file whose tables are mostly empty: ordered columns that hang together closely, and a rare level.

``age`` has seven skewed levels; ``years`` is age, one lower or one higher, so that 30 of 49 cells are empty; ``kids``
is a Poisson count that grows with years, of which most is below 3 of 9; ``area`` has a level of 3%, more of the old;
``yes`` follows a logistic regression on age, kids and area. Nothing of this is of the form of the model that is fitted,
but for the last.
"""

import itertools

import numpy as np
import pandas as pd
from scipy.special import expit, gammaln

from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Variable

AGES = np.array([0.05, 0.17, 0.26, 0.22, 0.14, 0.1, 0.06])
STEPS = {-1: 0.25, 0: 0.5, 1: 0.25}
AREAS = np.array([0.5, 0.3, 0.17, 0.03])
LOGIT = np.array([-1.2, 0.3, -0.25, 0.4, -0.3, 0.8])
COLUMNS = ("age", "years", "kids", "area", "yes")
SPARSE = {
    "age": Variable(role="replace", kind="ordinal", levels=tuple(range(7))),
    "years": Variable(role="replace", kind="ordinal", levels=tuple(range(7))),
    "kids": Variable(role="replace", kind="count", bounds=(0, 8)),
    "area": Variable(role="replace", kind="nominal", levels=(0, 1, 2, 3)),
    "yes": Variable(role="replace", kind="binary", levels=(0, 1)),
}
TERMS = (
    *("mean yes", "mean kids", "logit 1", "logit age", "logit kids", "logit area=1", "logit area=2", "logit area=3"),
    *("ols years: 1", "ols years: age", "ols years: kids"),
)


def matrix(age: Floats, kids: Floats, area: Floats) -> Floats:
    """Return the logistic regression's design."""
    return np.column_stack([np.ones(len(age)), age, kids, area == 1, area == 2, area == 3]).astype(np.float64)


def law() -> tuple[Codes, Floats]:
    """Return every cell that can be, and its probability."""
    cells, weights = [], []
    counts = np.arange(9)
    for age, (step, moved), kids, area in itertools.product(range(7), STEPS.items(), counts, range(4)):
        years = min(max(age + step, 0), 6)
        rate = 0.2 + 0.3 * years
        poisson = np.exp(counts * np.log(rate) - gammaln(counts + 1))
        areas = AREAS * np.array([1.0, 1.0, 1.0, 0.5 + age / 5])
        cells.append((age, years, kids, area))
        weights.append(AGES[age] * moved * poisson[kids] / poisson.sum() * areas[area] / areas.sum())
    found, p = np.array(cells), np.array(weights)
    yes = expit(matrix(found[:, 0], found[:, 2], found[:, 3]) @ LOGIT)
    both = [np.column_stack([found, np.full(len(found), value)]) for value in (0, 1)]
    return np.vstack(both), np.concatenate([p * (1 - yes), p * yes])


def sparse(rng: np.random.Generator, records: int) -> pd.DataFrame:
    """Return records."""
    cells, p = law()
    return pd.DataFrame(cells[rng.choice(len(p), records, p=p / p.sum())], columns=list(COLUMNS))


def truth() -> Floats:
    """Return what the estimates estimate, from the law itself."""
    cells, p = law()
    age, years, kids, _, yes = cells.T
    design = np.column_stack([np.ones(len(cells)), age, kids])
    slopes = np.linalg.solve((design * p[:, None]).T @ design, (design * p[:, None]).T @ years)
    return np.concatenate([[p @ yes, p @ kids], LOGIT, slopes])
