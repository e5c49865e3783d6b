"""The re-identification risks that the DA-MI authors' R function gives, reproduced to 1e-9."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shared_data import SHARED

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.identity import IdentityRisk, evaluate_identity, evaluate_original
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

FOLDER = SHARED / "published" / "matching"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the published matching files are not on this machine")

CATEGORICAL = ("Gender", "NewWhite", "MoreThanHighSchool")
ITSELF = "original against itself, tolerance "


def comparison(tolerance: float) -> Comparison:
    # the original writes MoreThanHighSchool as 1.0 and the copies as 1
    variables = {name: Variable(kind="binary", key=True) for name in CATEGORICAL}
    variables["Age_raw"] = Variable(kind="continuous", key=True, tolerance=tolerance)
    original = resolve(pd.read_csv(FOLDER / "original.csv"), variables)
    copies = tuple(pd.read_csv(FOLDER / f"copy_{number}.csv") for number in (1, 2, 3))
    return Comparison(original.frame, copies, original.schema, aligned=True)


def expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())
    return found


def check(found: IdentityRisk, published: dict[str, float]) -> None:
    section = found.section()
    assert {key: section[key] for key in published} == pytest.approx(published, rel=0, abs=1e-9)
    assert section["expected_match_rate"] == pytest.approx(section["expected_match"] / 693, rel=1e-12)


@pytest.mark.parametrize("attack", ["copies", "averaged"])
@pytest.mark.parametrize("tolerance", [1, 3, 5])
def test_copies(tolerance: int, attack: str) -> None:
    found = evaluate_identity(comparison(tolerance), averaged=attack == "averaged", rng=np.random.default_rng(1))
    check(found, expected()[f"tolerance {tolerance}"][attack])


@pytest.mark.parametrize("tolerance", [3, 5])
def test_original_against_itself(tolerance: int) -> None:
    found = evaluate_original(comparison(tolerance), rng=np.random.default_rng(1))
    check(found, expected()[f"{ITSELF}{tolerance}"])


def test_every_published_setting_is_checked() -> None:
    settings = {f"tolerance {tolerance}" for tolerance in (1, 3, 5)} | {f"{ITSELF}{tolerance}" for tolerance in (3, 5)}
    assert set(expected()) == settings
    assert all(set(expected()[f"tolerance {tolerance}"]) == {"copies", "averaged"} for tolerance in (1, 3, 5))
