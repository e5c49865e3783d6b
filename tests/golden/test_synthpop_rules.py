"""Standard errors for the population as R synthpop 1.9-3 gives them for five CART copies (Raab, Nowok, Dibben 2016)."""

import json

import pandas as pd
import pytest
from shared_data import SHARED

from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import combine

FOLDER = SHARED / "published" / "synthpop"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the published synthpop files are not here")
LEVELS = {
    "sex": ("MALE", "FEMALE"),
    "edu": ("PRIMARY/NO EDUCATION", "VOCATIONAL/GRAMMAR", "SECONDARY", "POST-SECONDARY OR HIGHER"),
}


def test_standard_errors_for_the_population() -> None:
    content = json.loads((FOLDER / "expected.json").read_text())
    analysis = Analysis(name="income", model=content["model"], formula=content["formula"])
    estimates = []
    for number in range(1, 6):
        copy = pd.read_csv(FOLDER / f"copy_{number}.csv")
        ordered = {name: pd.Categorical(copy[name], categories=levels) for name, levels in LEVELS.items()}
        estimates.append(analysis.estimate(copy.assign(**ordered)))
    found = combine(estimates, "raab2016").table().set_index("term")["se"]
    found.index = [
        str(term).replace("Intercept", "(Intercept)").replace("[T.", "").removesuffix("]") for term in found.index
    ]
    assert set(found.index) == set(content["terms"])
    for term, expected in content["terms"].items():
        assert found[term] == pytest.approx(expected["se_population_raab2016"], rel=1e-8)
