"""Propensity measures of five CART copies as R synthpop 1.9-3 reports them (``utility.gen``, logit and CART)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared_data import SHARED
from typer.testing import CliRunner

from synthdp.cli import app
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.propensity import Propensity, evaluate_propensity, propensity
from synthdp.table.microdata import resolve

FOLDER = SHARED / "published" / "synthpop"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the published synthpop files are not here")

# six columns of levels and one numeric one: 1 + 5 + 3 + 5 + 1 + 6 + 2
SLOPES = 23


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    original = pd.read_csv(FOLDER / "original.csv")
    copies = tuple(pd.read_csv(FOLDER / f"copy_{number}.csv") for number in range(1, 6))
    return Comparison(original, copies, resolve(original, {}).schema, aligned=False)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())["utility_gen_logit_main_effects"]
    return content


def test_measures_per_copy(comparison: Comparison, expected: dict[str, Any]) -> None:
    section = evaluate_propensity(comparison, rng=np.random.default_rng(1))
    # R stops its fit at a relative change of 1e-8 in the deviance: six digits of pMSE
    np.testing.assert_allclose(section["pmse"]["logit"]["per_copy"], expected["pmse"], rtol=1e-5)
    np.testing.assert_allclose(section["po50"]["per_copy"], expected["po50"], rtol=1e-8)
    np.testing.assert_allclose(section["specks"]["per_copy"], expected["specks"], rtol=1e-8)


def test_ratio_to_the_null_expectation(comparison: Comparison, expected: dict[str, Any]) -> None:
    null = SLOPES * 0.5**3 / (2 * len(comparison.original))
    for copy, pmse in zip(comparison.copies, expected["pmse"], strict=True):
        scores = propensity(comparison.original, copy, comparison.schema)
        assert scores.slopes == SLOPES
        assert scores.ratio == pytest.approx(pmse / null, rel=1e-5)


def test_the_tree_is_rparts_own(comparison: Comparison) -> None:
    published = json.loads((FOLDER / "expected.json").read_text())["utility_gen_cart"]
    settings = Propensity(models=("cart",), null="permutation", permutations=50)
    found = evaluate_propensity(comparison, settings, rng=np.random.default_rng(1))["pmse"]["cart"]
    # 25% is asked for; growing and pruning as rpart does gives its digits
    np.testing.assert_allclose(found["per_copy"], published["pmse"], rtol=1e-8)
    # the published S_pMSE stands on 20 permutations of each copy, whose spread is a fifth of their mean
    assert found["ratio"] == pytest.approx(np.mean(published["s_pmse_20_permutations"]), rel=4 * 0.2 / np.sqrt(100))


def test_through_the_command_line(tmp_path: Path, expected: dict[str, Any]) -> None:
    (tmp_path / "config.yaml").write_text(f"data: {{path: {FOLDER / 'original.csv'}}}\nevaluation: {{rows: none}}\n")
    copies = [str(FOLDER / f"copy_{number}.csv") for number in range(1, 6)]
    line = ["evaluate", str(tmp_path / "config.yaml"), "--synthetic", *copies, "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    utility = json.loads((tmp_path / "out" / "metrics.json").read_text(encoding="utf-8"))["utility"]
    np.testing.assert_allclose(utility["pmse"]["logit"]["per_copy"], expected["pmse"], rtol=1e-5)
    np.testing.assert_allclose(utility["po50"]["per_copy"], expected["po50"], rtol=1e-8)
    np.testing.assert_allclose(utility["specks"]["per_copy"], expected["specks"], rtol=1e-8)
    published = json.loads((FOLDER / "expected.json").read_text())["utility_gen_cart"]["pmse"]
    np.testing.assert_allclose(utility["pmse"]["cart"]["per_copy"], published, rtol=1e-8)
