"""A small slice of every study is run again, and the committed results are held to what the README claims of them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthdp.studies import coverage, tuning

pytestmark = pytest.mark.slow

REPORTS = Path(__file__).parents[2] / "reports"
SLICE = 60


def committed(study: str) -> dict:
    return json.loads((REPORTS / study / "results.json").read_text(encoding="utf-8"))["results"]


@pytest.fixture(scope="module")
def coverage_slice() -> pd.DataFrame:
    draws = np.asarray([coverage.one_replication(r, seed=99, unseen=False) for r in range(SLICE)])
    return pd.DataFrame(coverage.summarise(draws))


@pytest.mark.parametrize("scheme", coverage.VALID)
def test_valid_schemes_cover_in_a_slice(coverage_slice, scheme):
    here = coverage_slice[coverage_slice["scheme"] == scheme]
    # nine coefficients of one fit are dependent: the error of their mean is at most that of a single one
    for _, mask in here.groupby(["sd", "alpha"]):
        assert abs(mask["coverage"].mean() - 0.95) < 4 * np.sqrt(0.95 * 0.05 / SLICE)


def test_conditioning_on_the_true_others_fails_in_a_slice(coverage_slice):
    here = coverage_slice[(coverage_slice["scheme"] == "given_true_others") & (coverage_slice["sd"] >= 1)]
    assert here["coverage"].min() < 0.8


def test_committed_coverage_is_nominal_for_the_valid_schemes():
    rows = pd.DataFrame(committed("coverage")["seen"])
    valid = rows[rows["scheme"].isin(coverage.VALID)]
    assert valid["coverage"].between(*coverage.BAND).all()
    exact = valid[valid["term"].str.startswith(("ols", "mean"))]
    assert (exact["bias_in_mc_errors"].abs() < 4).all()
    assert (valid[valid["term"].str.startswith("logit")]["shift_from_original_in_se"].abs() < 0.15).all()


def test_committed_coverage_shows_what_the_wrong_schemes_cost():
    rows = pd.DataFrame(committed("coverage")["seen"])
    worst = rows.groupby("scheme")["coverage"].min()
    assert worst["once"] < worst[list(coverage.VALID)].min()
    assert worst["given_true_others"] < 0.8


def test_committed_bias_for_an_unseen_outcome_shrinks_with_the_mask():
    rows = pd.DataFrame(committed("coverage")["unseen"])
    bias = rows[rows["term"] == "ols: x"]["bias"].abs().tolist()
    assert bias == sorted(bias, reverse=True)


def test_tuning_slice_trades_error_for_risk():
    draws = np.asarray([tuning.one_replication(r, seed=99) for r in range(4)])
    names = [(dial, value) for dial, value, *_ in tuning.settings()]
    first, last = names.index(("information", 0.03)), names.index(("information", 1000.0))
    risk = draws[:, :, 1, -1].mean(axis=0)
    distance = draws[:, :, 1, len(tuning.TERMS) : -1].mean(axis=(0, 2))
    assert risk[first] < risk[last]
    assert distance[first] > distance[last]


def test_committed_tuning_is_monotone():
    for name, holds in committed("tuning")["monotone"].items():
        assert holds, name
