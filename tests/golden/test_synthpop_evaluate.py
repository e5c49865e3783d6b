"""Everything R synthpop 1.9-3 says of its own five copies, from one ``synthdp evaluate``."""

import json
from typing import Any

import pytest
from shared_data import SHARED
from typer.testing import CliRunner

from synthdp.cli import app

FOLDER = SHARED / "published" / "synthpop"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the published synthpop files are not here")

CONFIG = """\
version: 1
data: {path: %s}
variables:
  sex: {key: true, levels: [MALE, FEMALE]}
  agegr: {key: true}
  marital: {key: true}
  edu:
    key: true
    kind: ordinal
    levels: [PRIMARY/NO EDUCATION, VOCATIONAL/GRAMMAR, SECONDARY, POST-SECONDARY OR HIGHER]
analyses:
  - {name: compare, model: ols, formula: income ~ sex + agegr + edu, rule: mean_se}
  - {name: population, model: ols, formula: income ~ sex + agegr + edu, rule: raab2016}
evaluation: {rows: none, risk: [identity, attribute], targets: [ls]}
"""


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text())
    return loaded


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("synthpop")
    (folder / "config.yaml").write_text(CONFIG % (FOLDER / "original.csv"))
    copies = [str(FOLDER / f"copy_{number}.csv") for number in range(1, 6)]
    line = ["evaluate", str(folder / "config.yaml"), "--synthetic", *copies, "--out", str(folder / "out"), "--quiet"]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads((folder / "out" / "metrics.json").read_text(encoding="utf-8"))
    assert found["cautions"] == []
    return found


@pytest.fixture(scope="module")
def utility(metrics: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = metrics["utility"]
    return found


def test_disclosure(metrics: dict[str, Any], expected: dict[str, Any]) -> None:
    (found,) = metrics["risk"]["attribute"]
    assert found["target"] == expected["target"]
    published = zip(expected["identity_percent"], expected["attribute_percent"], strict=True)
    for line, (identity, attribute) in zip(found["per_copy"], published, strict=True):
        wanted = identity | attribute
        assert {name: line[name] for name in wanted} == pytest.approx(wanted, rel=0, abs=1e-6)


@pytest.mark.parametrize("measure", ["pmse", "po50", "specks"])
def test_propensity(utility: dict[str, Any], expected: dict[str, Any], measure: str) -> None:
    section = utility["pmse"]["logit"] if measure == "pmse" else utility[measure]
    wanted = expected["utility_gen_logit_main_effects"][measure]
    assert section["per_copy"] == pytest.approx(wanted, rel=1e-5)


def test_one_way_tables(utility: dict[str, Any], expected: dict[str, Any]) -> None:
    found = {entry["columns"][0]: entry for entry in utility["tables"] if len(entry["columns"]) == 1}
    wanted = expected["oneway_tables_mean_over_copies"]
    assert set(found) == set(wanted)
    for name, values in wanted.items():
        assert {key: found[name][key] for key in values} == pytest.approx(values, rel=1e-8)


def test_terms(utility: dict[str, Any], expected: dict[str, Any]) -> None:
    compare, population = utility["analyses"]
    assert {_as_r_writes(term["term"]) for term in compare["terms"]} == set(expected["terms"])
    for ours, other in zip(compare["terms"], population["terms"], strict=True):
        wanted = expected["terms"][_as_r_writes(ours["term"])]
        assert ours["original"]["estimate"] == pytest.approx(wanted["observed"], rel=1e-5)
        assert ours["synthetic"]["estimate"] == pytest.approx(wanted["synthetic"], rel=1e-5)
        assert ours["synthetic"]["se"] == pytest.approx(wanted["mean_se"], rel=1e-5)
        assert ours["std_diff"] == pytest.approx(wanted["std_diff"], rel=1e-5)
        assert ours["ci_overlap"] == pytest.approx(wanted["ci_overlap"], rel=1e-5)
        assert other["synthetic"]["se"] == pytest.approx(wanted["se_population_raab2016"], rel=1e-5)


def test_every_number_has_its_spread_and_floor(utility: dict[str, Any]) -> None:
    assert len(utility["tables"]) == 7 + 21
    for entry in utility["tables"]:
        assert len(entry["per_copy"]["s_pmse"]) == 5
        assert entry["low"]["s_pmse"] <= entry["s_pmse"] <= entry["high"]["s_pmse"]
        assert entry["noise"]["s_pmse"] > 0


def _as_r_writes(term: str) -> str:
    return "(Intercept)" if term == "Intercept" else term.replace("[T.", "").removesuffix("]")
