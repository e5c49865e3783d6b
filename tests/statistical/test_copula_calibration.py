"""A short calibration of the copula's sampler; the long one is reports/copula_sbc."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from reports.copula_sbc import study

REPORT = Path(__file__).parents[2] / "reports" / "copula_sbc" / "results.json"
REPLICATIONS = 30


@pytest.mark.slow
def test_ranks_of_the_truth_are_uniform(monkeypatch):
    monkeypatch.setattr(study, "EVERY", 20)
    monkeypatch.setattr(study, "BURN", 150)
    one = partial(study.one_replication, seed=3, n=40)
    ranks = np.asarray([one(r) for r in range(REPLICATIONS)])
    assert ranks.shape[1] == len(study.names())
    # five bins of four ranks each: six expected in each
    for name, column in zip(study.names(), ranks.T, strict=True):
        counts = np.bincount(column // 4, minlength=5)
        assert stats.chisquare(counts).pvalue > 0.001, name


def test_the_committed_study_passes():
    found = json.loads(REPORT.read_text())
    assert found["settings"]["replications"] >= 500
    assert set(found["results"]) == {"exact", "smallest_p"}
    assert [row["name"] for row in found["results"]["exact"]] == study.names()
    assert min(row["p"] for row in found["results"]["exact"]) == found["results"]["smallest_p"] > study.LEAST_P


def test_the_truth_and_a_state_of_the_chain_have_the_same_quantities():
    latent, truth = study.draw_data(n=40, rng=np.random.default_rng(5))
    cells = study.watched_cells(latent)
    found = study.quantities(truth, latent, cells)
    assert len(found) == len(study.names())
    named = dict(zip(study.names(), found, strict=True))
    sd = np.sqrt(np.diag(truth.sigma))
    assert named["scale: continuous"] == sd[0]
    assert named["r: continuous, binary"] == pytest.approx(truth.sigma[0, 2] / (sd[0] * sd[2]))
    assert named["Γ: constant, nominal 2"] == pytest.approx(truth.gamma[0, 5] / sd[5])
    assert named["Γ: group, ordinal"] == pytest.approx(truth.gamma[1, 3] / sd[3])
    row = cells[0][1]
    assert np.isinf([latent.lower[row, 2], latent.upper[row, 2]]).all()
    residual = truth.y[row, 2] - latent.covariates[row] @ truth.gamma[:, 2]
    assert named["missing cell: binary"] == pytest.approx(residual / sd[2])


@pytest.mark.slow
def test_the_study_writes_its_page(tmp_path, monkeypatch):
    for name, value in (("EVERY", 2), ("BURN", 5)):
        monkeypatch.setattr(study, name, value)
    study.STUDY.run(out=tmp_path, jobs=1, replications=5)
    assert "Smallest p" in (tmp_path / "README.md").read_text()
    results = json.loads((tmp_path / "results.json").read_text())["results"]
    assert set(results) == {"exact", "smallest_p"}
    assert [row["name"] for row in results["exact"]] == study.names()
