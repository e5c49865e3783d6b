"""Copies of masked records: intervals cover, the audit finds planted mistakes, and nothing else."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports.dp_da_mi import auditing, study

REPORT = Path(__file__).parents[2] / "reports" / "dp_da_mi" / "results.json"


@pytest.fixture(scope="module")
def results():
    if not REPORT.exists():
        pytest.skip("no results are committed yet: run python -m reports dp_da_mi")
    return json.loads(REPORT.read_text(encoding="utf-8"))["results"]


def test_the_committed_intervals_cover_by_rubins_rule_and_by_no_other(results):
    rows = pd.DataFrame(results["coverage"])
    ours = rows[rows["rule"] == "rubin1987"]
    assert len(ours) == len(study.COVERED) * len(study.TERMS)
    assert (ours["coverage"] > 0.95 - 4 * np.sqrt(0.95 * 0.05 / ours["runs"])).all()
    for rule in ("reiter2003", "masked file"):
        assert (rows.loc[rows["rule"] == rule, "coverage"] < 0.8).sum() > len(ours) / 3


def test_the_committed_audits_refute_what_is_wrong_and_nothing_else(results):
    assert not any(row["refuted"] for case in ("pipeline", "mask") for row in results["audit"][case])
    assert all(row["refuted"] for row in results["audit"]["planted"])
    assert len(results["audit"]["planted"]) == 4


@pytest.mark.slow
def test_the_audit_finds_planted_mistakes():
    assert not any(row["refuted"] for row in auditing.audited("mask", 800, seed=1))
    assert all(row["refuted"] for row in auditing.audited("planted", 800, seed=1))


def test_a_slice_of_the_study():
    found = study.replication(0, 100.0, seed=study.SEED)
    lines = [{"part": "coverage", "epsilon": 100.0, "found": found}]
    rows = study.covered(lines)
    assert {row["rule"] for row in rows} == {*study.RULES, "masked file", "file"}
    widths = {(row["rule"], row["term"]): row["width"] for row in rows}
    assert all(widths["rubin1987", term] > widths["reiter2003", term] for term in study.TERMS)
    committed = study.page({"coverage": rows, "utility": [], "audit": {}} | {"utility": [_line()]}, _settings())
    assert "Coverage of 95% intervals" in committed


def _line():
    return {"file": "fair", "epsilon": 1.0, "method": "dp_da_mi", "runs": 1} | dict.fromkeys(
        ("overlap", "total_variation", "links", "chance"), 0.5
    )


def _settings():
    return {"delta": study.DELTA, "records": study.RECORDS, "copies": study.COPIES, "replications": 1}
