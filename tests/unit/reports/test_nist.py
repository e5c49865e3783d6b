"""The scores of the census extract on tables that can be checked by hand, and on the extract where it is there."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports.nist import scoring
from reports.nist.methods import METHODS, settings_of
from reports.nist.study import cells, results
from synthdp.config import parse

SHARED = os.environ.get("SYNTHDP_SHARED_DATA")


def test_uniques_and_matches():
    original = pd.DataFrame({"SEX": ["1", "1", "2", "2"], "MSP": ["6", "6", "1", "3"]})
    copy = pd.DataFrame({"SEX": ["2", "1"], "MSP": ["1", "3"]})
    assert scoring.unique(original).tolist() == [False, False, True, True]
    assert scoring.matched(original, copy).tolist() == [False, False, True, False]
    assert scoring.scores(original, copy)["uem"] == 50


def test_impossible_records_are_those_that_break_a_rule():
    frame = pd.DataFrame(
        {
            "AGEP": ["40", "3", "14", "16", "50"],
            "MSP": ["1", "1", "N", "6", "N"],
            "EDU": ["9", "2", "3", "8", "5"],
        }
    )
    assert scoring.impossible(frame).tolist() == [False, True, False, True, True]


def test_a_table_is_told_as_text():
    frame = scoring.spelled(pd.DataFrame({"PINCP": [100.0, np.nan], "DENSITY": ["20.0", "3.5"], "SEX": [1, 2]}))
    assert frame.to_dict("list") == {"PINCP": ["100", "N"], "DENSITY": ["20.0", "3.5"], "SEX": ["1", "2"]}


@pytest.mark.parametrize("cell", list(cells(1)), ids=lambda cell: f"{cell['method']} {cell['columns']}")
def test_every_method_has_a_config(cell):
    if cell["method"] in METHODS:
        levels = {name: ["a", "b"] for names in scoring.SETS.values() for name in names}
        given = settings_of(cell["method"], cell["columns"], levels)
        assert parse({"data": {"path": "x.csv"}, **given}).synthesis.copies == 1


def test_results_are_means_over_seeds():
    line = dict.fromkeys(("subsample", "uem", "fitted", "held_out", "difference", "pmse", "impossible", "seconds"), 1.0)
    lines = [
        {"columns": "industry", "method": "ipf", "seed": s, "k_marginal": 900 + s, "bootstrap": 950.0} | line
        for s in (0, 2)
    ]
    (row,) = results(lines)["rows"]
    assert (row["k_marginal"], row["runs"], row["uem_sd"]) == (901, 2, 0)


@pytest.mark.skipif(SHARED is None, reason="the census extract is not ours to pass on; set SYNTHDP_SHARED_DATA")
@pytest.mark.parametrize("columns", scoring.SETS)
def test_the_extract_keeps_its_rules_and_scores_like_itself(columns):
    frame = scoring.extract(Path(str(SHARED)), scoring.SETS[columns])
    assert not scoring.impossible(frame).any()
    assert scoring.k_marginal(frame, frame)["value"] == 1000
