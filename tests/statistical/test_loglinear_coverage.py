"""Intervals from copies of log-linear tables cover at the nominal rate, by the rule that the design calls for."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.inference.rules import RULES, Replicates
from synthdp.seeding import Streams
from synthdp.synthesis.loglinear.catall import Catall
from synthdp.synthesis.loglinear.ipf import Ipf
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

pytestmark = pytest.mark.slow

RUNS, RECORDS, COPIES = 200, 400, 5
# logits of y by a and b without an interaction: all pairs are the right model
SLOPES = np.array([0.8, -0.6])


def survey(rng):
    a = rng.random(RECORDS) < 0.5
    b = rng.random(RECORDS) < np.where(a, 0.6, 0.35)
    y = rng.random(RECORDS) < 1 / (1 + np.exp(0.2 - SLOPES[0] * a - SLOPES[1] * b))
    return pd.DataFrame({name: np.where(values, "yes", "no") for name, values in (("a", a), ("b", b), ("y", y))})


def estimates(frame):
    """Return the two slopes and the share of y, with their variances."""
    x = np.column_stack([np.ones(len(frame)), frame["a"] == "yes", frame["b"] == "yes"]).astype(float)
    y = (frame["y"] == "yes").to_numpy(dtype=float)
    beta = np.zeros(3)
    for _ in range(8):
        p = 1 / (1 + np.exp(-x @ beta))
        inverse = np.linalg.inv(x.T * (p * (1 - p)) @ x)
        beta += inverse @ (x.T @ (y - p))
    share = y.mean()
    return np.append(beta[1:], share), np.append(np.diag(inverse)[1:], share * (1 - share) / len(y))


def truth():
    shares = [(a, b, (0.5 * (0.6 if a else 0.35) if b else 0.5 * (0.4 if a else 0.65))) for a in (0, 1) for b in (0, 1)]
    mean = sum(p / (1 + np.exp(0.2 - SLOPES[0] * a - SLOPES[1] * b)) for a, b, p in shares)
    return np.append(SLOPES, mean)


@pytest.mark.parametrize("proper", [False, True])
@pytest.mark.parametrize("replaced", [("a", "y"), ("a", "b", "y")])
@pytest.mark.parametrize("kind", [Ipf, Catall])
def test_intervals_cover(kind, replaced, proper):
    method, known, hits = kind(copies=COPIES, proper=proper), truth(), np.zeros(3)
    for run in range(RUNS):
        frame = survey(np.random.default_rng(run))
        data = resolve(frame, {name: Variable(role="replace") for name in replaced})
        release = method.synthesize(Plan(data, tag(data, None)), streams=Streams(run))
        q, v = (np.array(part) for part in zip(*map(estimates, release.copies), strict=True))
        spread, df, *_ = RULES[release.rule].spread(Replicates(q, v))
        hits += np.abs(q.mean(axis=0) - known) < stats.t.ppf(0.975, df) * np.sqrt(spread)
    assert np.abs(hits / RUNS - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / RUNS)
