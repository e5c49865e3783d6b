"""Intervals from m x r copies of incomplete data cover; by the rule for complete data they are too short."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.imputation.regression.association import Regression
from synthdp.inference.rules import RULES, Replicates
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

pytestmark = pytest.mark.slow

RUNS, RECORDS, IMPUTATIONS, COPIES = 150, 200, 4, 2
SLOPE = 0.6
TRUTH = np.array([0.0, SLOPE])
MODEL = Regression(linear_prior_sd=1e3)


def survey(rng: np.random.Generator) -> pd.DataFrame:
    """Return z, x | z and y | z, x, all normal; 40% of y missing, the more often the larger z is."""
    z = rng.normal(size=RECORDS)
    x = 0.5 * z + rng.normal(size=RECORDS)
    y = SLOPE * x + 0.4 * z + rng.normal(size=RECORDS)
    return pd.DataFrame({"z": z, "x": x, "y": np.where(rng.normal(size=RECORDS) < z - 0.35, np.nan, y)})


def estimate(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of y and its slope on x given z, with their variances."""
    y, n = frame["y"].to_numpy(), len(frame)
    design = np.column_stack([np.ones(n), frame["x"], frame["z"]])
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    residual = float(np.sum((y - design @ beta) ** 2)) / (n - 3)
    return np.array([y.mean(), beta[1]]), np.array([y.var(ddof=1) / n, residual * inverse[1, 1]])


@pytest.fixture(scope="module")
def found() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return hits by reiter2004 and by reiter2003, and the variances T by reiter2004 with the estimates."""
    method = DaMi(model=MODEL, imputations=IMPUTATIONS, copies=COPIES, missing="impute")
    hits, variances, estimates = np.zeros((2, 2)), [], []
    for run in range(RUNS):
        data = resolve(survey(np.random.default_rng([11, run])), {"x": Variable(role="replace")})
        plan = Plan(data, tag(data, None), {"x": Gaussian(sd=1.0)})
        made = method.synthesize(plan, streams=Streams(run))
        q, v = (np.array(part) for part in zip(*map(estimate, made.copies), strict=True))
        spreads = (
            RULES["reiter2004"].spread(Replicates(q, v, nests=IMPUTATIONS)),
            RULES["reiter2003"].spread(Replicates(q, v)),
        )
        for row, spread in enumerate(spreads):
            hits[row] += np.abs(q.mean(axis=0) - TRUTH) < stats.t.ppf(0.975, spread.df) * np.sqrt(spread.variance)
        variances.append(spreads[0].variance)
        estimates.append(q.mean(axis=0))
    return hits / RUNS, np.array(variances), np.array(estimates)


def test_intervals_cover(found):
    coverage = found[0][0]
    assert np.abs(coverage - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / RUNS)


def test_the_variance_is_that_of_the_estimates(found):
    _, variances, estimates = found
    # four standard errors of both means; the estimates' variance has a relative error of sqrt(2 / RUNS)
    spread = estimates.var(axis=0, ddof=1)
    error = np.sqrt(2 / RUNS * spread**2 + variances.var(axis=0) / RUNS)
    assert (np.abs(variances.mean(axis=0) - spread) < 4 * error).all()
    assert (np.abs(estimates.mean(axis=0) - TRUTH) < 4 * np.sqrt(spread / RUNS)).all()


def test_the_rule_for_complete_data_is_too_short(found):
    coverage = found[0][1]
    assert (coverage < 0.95 - 2 * np.sqrt(0.95 * 0.05 / RUNS)).all()
