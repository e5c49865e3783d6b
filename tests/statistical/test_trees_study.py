"""The study of trees given a mask: its arithmetic by hand, and what the committed page says."""

import json
from pathlib import Path

import numpy as np
import pytest

from reports.trees import study

RESULTS = Path(__file__).parents[2] / "reports" / "trees" / "results.json"


def made_up(replications=4):
    """Every model's overlap is 10 times its risk, plain CART's is 8 times; risks of plain CART lie inside but one."""
    draws = np.zeros((replications, len(study.runs()), len(study.MEASURES)))
    for k, run in enumerate(study.runs()):
        place = [other.setting for other in study.runs() if other.curve == run.curve].index(run.setting)
        risk = 0.01 * (place + 1) if run.curve in study.MODELS else 0.01 * (place + 1.5)
        draws[:, k, :2] = risk
        draws[:, k, 2:] = (10 if run.curve in study.MODELS else 8) * risk
    return draws


def test_equal_risk_is_read_off_the_curve():
    rows = study.equal_risk(made_up())
    assert len(rows) == len(study.RISKS) * len(study.LEAVES) * len(study.MODELS)
    for row in rows:
        outside = row["plain"] == "leaf 1"  # the riskiest setting lies beyond the last mask
        assert row["inside"] == (0 if outside else 4)
        place = list(reversed(study.LEAVES)).index(int(row["plain"].split()[1]))
        for name in study.OVERLAPS:
            assert row[name] == (None if outside else pytest.approx(2 * 0.01 * (place + 1.5)))


def test_rises_are_paired_differences():
    draws = made_up()
    assert all(row["every_step"] and row["rise"] == 0.5 for row in study.rises(draws))
    draws[:, 2, 2:] -= 0.15
    worse = [row for row in study.rises(draws) if not row["every_step"]]
    assert {row["curve"] for row in worse} == {"regression"}


@pytest.mark.slow
def test_a_slice_shows_the_rise():
    draws = np.asarray([study.one_replication(r, seed=99) for r in range(2)])
    assert all(row["rise"] > 0 for row in study.rises(draws))


def test_the_committed_results_say_what_is_claimed_of_them():
    results = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
    for row in results["rises"]:
        assert row["every_step"]
        assert row["rise"] > 4 * row["error"]
    as_they_are = [row for row in results["equal_risk"] if row["risk"] == "mean_individual"]
    for row in as_they_are:
        if row["curve"].startswith("DA-CART") and row["plain"] in ("leaf 1", "leaf 2"):
            assert all(row[name] > 2 * row[f"{name}_error"] for name in study.OVERLAPS)
    # the honest opposite: who averages copies of which each has its own W undoes the advantage
    averaged = [row for row in results["equal_risk"] if row["risk"] == "mean_individual_averaged"]
    assert any(row["curve"] == "DA-CART, leaf 20" and (row["overlap_curved"] or 0) < 0 for row in averaged)
