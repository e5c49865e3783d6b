"""Intervals from sequential copies cover at the nominal rate when the model is right."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.imputation.regression.forward import NormLogit
from synthdp.inference.rules import RULES, Replicates
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

pytestmark = pytest.mark.slow

RUNS, RECORDS, COPIES = 200, 250, 5
TRUTH = np.array([0.5, -0.7])


def survey(rng: np.random.Generator) -> pd.DataFrame:
    """Return z, x | z and y | z, x, all normal: the regressions in any order are right."""
    z = rng.normal(size=RECORDS)
    x = 0.6 * z + rng.normal(size=RECORDS)
    return pd.DataFrame({"z": z, "x": x, "y": TRUTH[0] * z + TRUTH[1] * x + rng.normal(size=RECORDS)})


def slopes(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    design = np.column_stack([np.ones(len(frame)), frame["z"], frame["x"]])
    beta, squares, *_ = np.linalg.lstsq(design, frame["y"].to_numpy())
    covariance = squares[0] / (len(frame) - 3) * np.linalg.inv(design.T @ design)
    return beta[1:], np.diag(covariance)[1:]


@pytest.mark.parametrize("proper", [False, True])
@pytest.mark.parametrize("replaced", [("x",), ("x", "y")])
def test_norm_logit_with_reiter(replaced, proper):
    method = Sequential(model=NormLogit(linear_prior_sd=1e3), copies=COPIES, proper=proper)
    hits = np.zeros(2)
    for run in range(RUNS):
        frame = survey(np.random.default_rng(run))
        data = resolve(frame, {name: Variable(role="replace") for name in replaced})
        copies = method.synthesize(Plan(data, tag(data, None)), streams=Streams(run)).copies
        q, v = (np.array(part) for part in zip(*map(slopes, copies), strict=True))
        spread, df, *_ = RULES["reiter2003"].spread(Replicates(q, v))
        hits += np.abs(q.mean(axis=0) - TRUTH) < stats.t.ppf(0.975, df) * np.sqrt(spread)
    assert np.abs(hits / RUNS - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / RUNS)
