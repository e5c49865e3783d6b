"""Masks that differ by a rule on replaced columns: the committed study, and a slice of it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports.group_rules import study

pytestmark = pytest.mark.slow

RESULTS = Path(__file__).parents[2] / "reports" / "group_rules" / "results.json"
SLICE = 8


@pytest.fixture(scope="module")
def committed() -> dict:
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_intervals_cover(committed):
    rows = pd.DataFrame(committed["results"]["rows"])
    assert committed["settings"]["replications"] >= 500
    agreeing = study.agreeing(rows)
    assert len(agreeing) == len(study.CASES) * 5
    assert agreeing["coverage"].between(0.93, 0.97).all()
    assert (rows[rows["scheme"] == "da_mi"]["coverage"] >= 0.93).all()
    before = pd.DataFrame(committed["results"]["before"]).set_index(["design", "scheme", "term"])["coverage"]
    assert before["two-sided", "da_mi", "5% quantile of x"] < 0.5


def test_copies_of_a_slice_are_like_their_files():
    draws = np.asarray([study.one_replication(r, seed=20231) for r in range(SLICE)])
    made, original = draws[:, :, 0], draws[:, :, 1]
    shift = (made[:, :, 0] - original[:, :, 0]) / np.sqrt(original[:, :, 1])
    error = shift.std(axis=0) / np.sqrt(SLICE)
    # 45 means of 8: with so few the error is not known well, so those of all terms are taken together
    assert np.abs(shift.mean(axis=0)).max() < 4.5 * np.sqrt((error**2).mean())
    assert abs(shift.mean()) < 0.1
