"""Intervals of DP quantiles cover wherever they are given, and those of before did not."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports.dp_quantiles import study

REPORT = Path(__file__).parents[2] / "reports" / "dp_quantiles" / "results.json"


def test_the_committed_intervals_cover():
    if not REPORT.exists():
        pytest.skip("no results are committed yet: run python -m reports dp_quantiles")
    record = json.loads(REPORT.read_text(encoding="utf-8"))
    rows = pd.DataFrame(record["results"]["rows"])
    assert record["settings"]["replications"] >= 500
    assert len(rows) == len(study.CASES) * len(study.DATA) * len(study.PROBABILITIES)
    judged = rows[rows["coverage"].notna()]
    intervals = judged["given"] * record["settings"]["replications"]
    assert (judged["coverage"] > 0.95 - 4 * np.sqrt(0.95 * 0.05 / intervals)).all()
    assert (rows["before"] < 0.8).sum() > 100


@pytest.mark.slow
def test_a_slice_of_the_study(monkeypatch):
    monkeypatch.setattr(study, "CASES", [("replace", 1.0, 100), ("add_remove", 3.0, 1000)])
    draws = np.asarray([study.one_replication(r, seed=1) for r in range(20)])
    rows = pd.DataFrame(study.summarise(draws))
    judged = rows[rows["coverage"].notna()]
    assert (judged["coverage"] > 0.95 - 4 * np.sqrt(0.95 * 0.05 / (20 * judged["given"]))).all()
    assert rows["before"].min() < 0.5
    settings = {"replications": 20}
    monkeypatch.setattr(study, "EPSILONS", (1.0,))
    monkeypatch.setattr(study, "SIZES", (100,))
    assert "Do the intervals of DP quantiles cover?" in study.page({"rows": rows.to_dict("records")}, settings)
