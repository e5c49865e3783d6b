"""θ under constraints has the posterior of the truncated likelihood, and intervals of such copies cover."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from reports.constraints import study
from synthdp.imputation.regression.association import Regression
from synthdp.imputation.regression.forward import NormLogit
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.rejection import memory
from synthdp.synthesis.sampler import prepare
from synthdp.synthesis.truncation import Truncated, TruncatedSequence, writer
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

pytestmark = pytest.mark.slow

RESULTS = Path(__file__).parents[2] / "reports" / "constraints" / "results.json"
CUT, N, TURNS, SLICE = 1.0, 150, 1200, 6


def normal_below_a_cut() -> pd.DataFrame:
    x = np.random.default_rng(11).normal(size=4 * N)
    return pd.DataFrame({"x": x[x < CUT][:N]})


@cache
def quadrature() -> tuple[np.ndarray, float, float]:
    """Return E and E of squares of (μ, log σ) on the working scale, prior flat in both, by a sum over a fine grid."""
    x = normal_below_a_cut()["x"].to_numpy()
    center, spread = x.mean(), x.std()
    y, cut = (x - center) / spread, (CUT - center) / spread
    mu, log_sd = np.linspace(-1, 5, 700)[:, None], np.linspace(-0.6, 1.6, 700)[None, :]
    log_density = -N * log_sd - ((y[:, None, None] - mu) ** 2).sum(axis=0) / (2 * np.exp(2 * log_sd))
    log_density -= N * norm.logcdf((cut - mu) * np.exp(-log_sd))
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    return np.array([(weight * value).sum() for value in (mu, log_sd, mu**2, log_sd**2)]), center, spread


def held_to_quadrature(trace: np.ndarray) -> None:
    """Check means and second moments of the draws of (μ, log σ) against the grid's, within 4 Monte Carlo errors."""
    expected = quadrature()[0]
    draws = np.column_stack([trace, trace**2])
    errors = [column.std() * np.sqrt(memory(column[:, None]) / len(column)) for column in draws.T]
    assert (np.abs(draws.mean(axis=0) - expected) < 4 * np.array(errors)).all()
    # the test has power: the fit that knows of no constraint lies far from it
    assert (np.abs(expected[:2]) > 8 * np.array(errors[:2])).all()


def test_the_chain_has_the_posterior_of_the_truncated_likelihood():
    data = resolve(normal_below_a_cut(), {"x": Variable(role="replace")})
    plan, rng, model = Plan(data, tag(data, None), constraints=(f"x < {CUT}",)), np.random.default_rng(1), Regression()
    task, _ = prepare(plan, model, 1)
    found = Truncated.of(model, task, model.fit(task, rng=rng), plan.constraints, writer(task), rng=rng)
    rejected, trace = found.rejected, []
    for _ in range(TURNS):
        theta, rejected = found.turn(rejected, rng=rng)
        trace.append((theta.model.number_beta[0, 0], np.log(theta.model.root[0, 0])))
    held_to_quadrature(np.array(trace))


def test_so_has_the_chain_of_sequential_regressions():
    data = resolve(normal_below_a_cut(), {"x": Variable(role="replace")})
    rng = np.random.default_rng(2)
    found = TruncatedSequence.of(NormLogit().prepare(data), (f"x < {CUT}",), rng=rng)
    rejected, trace = found.rejected, []
    for _ in range(TURNS):
        theta, rejected = found.turn(rejected, rng=rng)
        trace.append((theta["x"].beta[0], np.log(theta["x"].sd)))
    held_to_quadrature(np.array(trace))


def test_a_slice_of_the_study_is_covered(monkeypatch):
    """Terms and designs of one run are dependent: the error of their mean is taken for that of a single one."""
    monkeypatch.setattr(study, "LARGE", 300_000)
    monkeypatch.setattr(study, "CASES", (study.CASES[0], study.CASES[2]))
    draws = np.asarray([study.one_replication(r, seed=96, methods=("da_mi",)) for r in range(SLICE)])
    rows = pd.DataFrame(study.summarise(draws, ("da_mi",)))
    here = rows[rows["scheme"] == "da_mi"]
    assert here["finished"].eq(SLICE).all()
    assert abs(here["coverage"].mean() - 0.95) < 4 * np.sqrt(0.95 * 0.05 / SLICE)
    assert here["shift_from_original_in_se"].abs().mean() < 4 / np.sqrt(SLICE) * np.sqrt(2 / study.COPIES)


@pytest.mark.skipif(not RESULTS.exists(), reason="the study of constraints has not been finished yet")
def test_committed_intervals_cover():
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert kept["settings"]["replications"] == 500
    rows = pd.DataFrame(kept["results"]["rows"])
    asked = study.asked(rows)
    assert asked["coverage"].min() >= study.BAND[0]
    # a line through a law that the constraint bends is covered too often on the file itself: there, more is not a fault
    own = rows[rows["scheme"] == "original"].set_index(["design", "term"])["coverage"]
    wide = asked[asked["coverage"] > study.BAND[1]].set_index(["design", "term"])
    assert len(wide) <= 1
    assert (own.loc[wide.index] > study.BAND[1]).all()
    assert rows[rows["scheme"] != "original"]["coverage"].min() >= study.BAND[0]
    before = pd.DataFrame(kept["results"]["before"])
    assert before[before["scheme"] != "original"]["coverage"].min() < 0.5
