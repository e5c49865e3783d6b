"""What data users are told: the default answer is about the whole file, the measures of the literature about blocks."""

import json
from pathlib import Path

import pandas as pd
import pytest

from reports.verification import study

REPORT = Path(__file__).parents[2] / "reports" / "verification" / "results.json"


def test_the_committed_answers():
    if not REPORT.exists():
        pytest.skip("no results are committed yet: run python -m reports verification")
    rows = pd.DataFrame(json.loads(REPORT.read_text(encoding="utf-8"))["results"]["rows"])
    assert len(rows) == len(study.BLOCKS) * len(study.EPSILONS) * len(study.OFF) * len(study.METHODS)
    wrong = rows[(rows["method"] == "sides") & (rows["off"] == 8)]
    assert (wrong["yes"] == 0).all()
    right = rows[(rows["method"] == "sides") & (rows["off"] == 0)]
    assert (right["no"] <= 0.1).all()
    # Lin and Reiter (2024): widened ends keep r high for right estimates whatever M is; and fixed ones do not
    bare = rows[rows["epsilon"].isna() & (rows["off"] == 0)].set_index(["method", "blocks"])["r"]
    assert bare["inflated"].min() > 0.88
    assert bare["fixed"].max() < 0.5
    assert bare["fixed"].is_monotonic_decreasing
    # and that is bought by confirming what is off by four times the margin
    assert (rows[(rows["method"] == "inflated") & (rows["off"] == 4)]["yes"] > 0.85).all()


def test_a_slice_of_the_study():
    line = {"number": 0, "blocks": 25, **study.one_replication(number=0, blocks=25, seed=study.SEED)}
    counts = line["counts"]
    assert counts.shape == (len(study.OFF), 7)
    assert (counts <= 25).all()
    assert (counts[:, 0] + counts[:, 1] >= 25).all()  # every block is above the lower end or below the upper one
    rows = study.gathered([line | {"blocks": blocks} for blocks in study.BLOCKS], seed=1)
    assert "what a data user is told" in study.page(rows, {"replications": 3})
