"""Noise scales and composed ε agree with OpenDP, dp-accounting and diffprivlib; secure noise is as quick as OpenDP."""

import json
from pathlib import Path

import pytest

from reports.dp_agreement import study
from synthdp.privacy.accounting import accountants

REPORT = Path(__file__).parents[3] / "reports" / "dp_agreement"


@pytest.mark.slow
def test_agreement_on_a_few_settings(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "speed", lambda: {"secure": 1, "opendp_alone": 2, "ratio": 0.5, "hundred_fold": 1})
    rows = study.STUDY.run(out=tmp_path, replications=2, jobs=1)["rows"]
    assert len(rows) == 23
    for row in rows:
        if row["same_claim"]:
            # noise to rounding; the peer's own grid of 10⁻⁴ in ε bounds what is composed on it
            bound = 1e-5 if "scale" in row["quantity"] or "sd" in row["quantity"] else 2e-3
            assert -bound < row["lowest"] <= row["highest"] < bound, row
        else:
            assert row["highest"] < 1e-6, row
    assert "| OpenDP | Laplace scale" in (tmp_path / "README.md").read_text()


def test_the_committed_table_is_the_full_one():
    stored = json.loads((REPORT / "results.json").read_text())
    assert all(row["settings"] == 50 for row in stored["results"]["rows"])
    assert {row["peer"].split()[0] for row in stored["results"]["rows"]} == {"OpenDP", "dp-accounting", "diffprivlib"}
    assert stored["results"]["speed"]["ratio"] <= 1.2
    assert stored["results"]["speed"]["hundred_fold"] < 2


def test_without_the_peer_there_are_no_rows(tmp_path):
    assert list(study.stored_comparisons(tmp_path / "none.json")) == []


@pytest.mark.slow
def test_secure_noise_is_no_slower_than_opendp_alone():
    accountants.cost(study.events.Laplace(0.1), 1e-6)
    fast = study.speed(4000)
    assert fast["ratio"] <= 1.2
    assert fast["hundred_fold"] < 2
