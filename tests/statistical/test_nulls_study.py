"""The nulls of the pMSE: a slice of the study, and the committed results held to what is claimed of them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reports.nulls import study

pytestmark = pytest.mark.slow

RESULTS = Path(__file__).parents[2] / "reports" / "nulls" / "results.json"


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.DataFrame(json.loads(RESULTS.read_text(encoding="utf-8"))["results"]["rows"])


def ratio(rows: pd.DataFrame, **wanted: str) -> float:
    here = rows[np.logical_and.reduce([rows[name] == value for name, value in wanted.items()])]
    (found,) = here["mean_ratio"]
    return float(found)


def test_right_nulls_give_one_in_a_slice():
    cases = tuple(case for case in study.CASES if case.data == "tables" and case.right and case.null != "pairs")
    draws = np.asarray([study.one_replication(r, seed=96, cases=cases) for r in range(12)])
    for row in study.summarise(draws, cases):
        assert abs(row["mean_ratio"] - 1) < 4 * row["mc_error"], row


@pytest.mark.parametrize("model", study.MODELS)
def test_committed_plug_in_full_synthesis(rows, model):
    null = "formula, plug-in" if model == "logit" else "permutation, plug-in"
    assert 0.9 <= ratio(rows, data="tables", synthesis="full, plug-in", model=model, null=null) <= 1.1


def test_committed_proper_synthesis_is_two_by_the_plug_in_formula_and_one_by_its_own(rows):
    for data in ("tables", "numbers"):
        wrong = ratio(rows, data=data, synthesis="full, proper", model="logit", null="formula, plug-in")
        assert 1.8 <= wrong <= 2.2


def test_committed_right_nulls_give_one(rows):
    right = rows[rows["null_is_right"]]
    assert {"full, plug-in", "full, proper", "partial, proper", "masked, proper"} <= set(right["synthesis"])
    assert right["ratio_of_means"].between(0.9, 1.1).all()
    # the null of three pairs varies, and so dividing by it gives more than 1 on average
    assert right[right["null"] != "pairs"]["mean_ratio"].between(0.9, 1.1).all()


def test_committed_permutations_are_wrong_for_what_is_tied_to_the_records(rows):
    assert ratio(rows, data="numbers", synthesis="masked, proper", model="logit", null="permutation") < 0.2
