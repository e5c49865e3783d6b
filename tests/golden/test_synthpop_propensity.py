"""Propensity measures of five CART copies as R synthpop 1.9-3 reports them (``utility.gen``, logit, main effects)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.propensity import evaluate_propensity, propensity
from synthdp.microdata import resolve

FOLDER = Path(__file__).parents[2].parent / "shared" / "data" / "published" / "synthpop"
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
    section = evaluate_propensity(comparison)
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
