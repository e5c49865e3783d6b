"""Masks that differ by a rule on replaced columns: the committed study, and a slice of it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp.studies import group_rules as study

pytestmark = pytest.mark.slow

RESULTS = Path(__file__).parents[2] / "reports" / "group_rules" / "results.json"
SLICE = 8


@pytest.fixture(scope="module")
def committed() -> dict:
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def test_intervals_cover(committed):
    rows = pd.DataFrame(committed["results"]["rows"])
    slack = 4 * np.sqrt(0.05 * 0.95 / committed["settings"]["replications"]) - 0.02
    agreeing = study.agreeing(rows)
    assert len(agreeing) == len(study.CASES) * 5
    assert agreeing["coverage"].between(0.93 - max(slack, 0), 0.97 + max(slack, 0)).all()
    assert (rows[rows["scheme"] == "da_mi"]["coverage"] >= 0.93 - max(slack, 0)).all()


def test_a_slice_is_what_was_committed_of_it():
    draws = np.asarray([study.one_replication(r, seed=20231) for r in range(SLICE)])
    rows = pd.DataFrame(study.summarise(draws))
    shift = rows[rows["scheme"] == "da_mi"]["shift_from_original_in_se"]
    # copies differ from their file by about 0.5 standard errors of the file, each way
    assert shift.abs().max() < 4 * 0.7 / np.sqrt(SLICE)
    assert abs(shift.mean()) < 0.1
