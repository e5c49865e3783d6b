"""A regression on five CART copies as R synthpop 1.9-3 reports it (``compare`` of fits, level-wise dummies)."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from shared_data import SHARED

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.analyses import ci_overlap, evaluate_analyses
from synthdp.inference.analyses import Analysis
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

FOLDER = SHARED / "published" / "synthpop"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the published synthpop files are not here")

# the factor levels of the survey, in its own order: the first is the reference
LEVELS = {
    "sex": ("MALE", "FEMALE"),
    "edu": ("PRIMARY/NO EDUCATION", "VOCATIONAL/GRAMMAR", "SECONDARY", "POST-SECONDARY OR HIGHER"),
}


@pytest.fixture(scope="module")
def content() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())
    return loaded


def test_terms(content: dict[str, Any]) -> None:
    original = pd.read_csv(FOLDER / "original.csv")
    copies = tuple(pd.read_csv(FOLDER / f"copy_{number}.csv") for number in range(1, 6))
    schema = resolve(original, {name: Variable(levels=levels) for name, levels in LEVELS.items()}).schema
    analysis = Analysis(name="income", model=content["model"], formula=content["formula"], rule="mean_se")
    (entry,) = evaluate_analyses(Comparison(original, copies, schema, aligned=False), [analysis])
    found = {_as_r_writes(term["term"]): term for term in entry["terms"]}
    assert set(found) == set(content["terms"])
    z = stats.norm.ppf(0.975)
    for name, expected in content["terms"].items():
        ours, theirs = found[name]["original"], found[name]["synthetic"]
        assert ours["estimate"] == pytest.approx(expected["observed"], rel=1e-8)
        assert theirs["estimate"] == pytest.approx(expected["synthetic"], rel=1e-8)
        assert theirs["se"] == pytest.approx(expected["mean_se"], rel=1e-8)
        assert found[name]["std_diff"] == pytest.approx(expected["std_diff"], rel=1e-6)
        # synthpop gives both intervals the original's standard error: its overlap is 1 - |std_diff|/(2 z)
        half = z * ours["se"]
        ends = [estimate + side * half for estimate in (ours["estimate"], theirs["estimate"]) for side in (-1, 1)]
        assert ci_overlap(*map(np.asarray, ends)) == pytest.approx(expected["ci_overlap"], rel=1e-6)
        assert found[name]["ci_overlap"] == pytest.approx(expected["ci_overlap"], rel=1e-6)


def _as_r_writes(term: str) -> str:
    return "(Intercept)" if term == "Intercept" else term.replace("[T.", "").removesuffix("]")
