"""The committed verdicts of the gate's study are held to what is claimed of them, and two are given again."""

import json
from pathlib import Path
from typing import Any

import pytest

from reports.gate.cases import cases
from reports.gate.study import STABLE, verdict_of

RESULTS = Path(__file__).parents[2] / "reports" / "gate" / "results.json"
MOST_HARMLESS, LEAST_PLANTED, LEAST_STABLE = 0.02, 0.95, 0.95


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    if not RESULTS.exists():
        pytest.skip("reports/gate/results.json is not there yet: run python -m reports gate")
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]
    return found


def test_committed_harmless_files_are_hardly_ever_refused(committed: dict[str, Any]) -> None:
    harmless = [one for one in committed["cases"] if not one["leaks"]]
    assert {one["case"] for one in harmless} == {name for name, case in cases(Path()).items() if not case.leaks}
    assert sum(one["refused"] for one in harmless) <= MOST_HARMLESS * sum(one["verdicts"] for one in harmless)


@pytest.mark.parametrize("name", [name for name, case in cases(Path()).items() if case.leaks])
def test_committed_leaks_are_refused(committed: dict[str, Any], name: str) -> None:
    (found,) = (one for one in committed["cases"] if one["case"] == name)
    assert found["leaks"]
    assert found["refused"] >= LEAST_PLANTED * found["verdicts"]


@pytest.mark.parametrize("name", STABLE)
def test_committed_verdicts_do_not_turn_with_the_seed(committed: dict[str, Any], name: str) -> None:
    (found,) = (one for one in committed["seeds"] if one["case"] == name)
    of_each = (found["refused"], found["amber"], found["verdicts"] - found["refused"] - found["amber"])
    assert max(of_each) >= LEAST_STABLE * found["verdicts"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "verdict"), [("fine measurements", "passed"), ("verbatim, coarse", "refused")])
def test_a_verdict_is_the_one_that_the_study_counts(name: str, verdict: str, tmp_path: Path) -> None:
    found = verdict_of("cases", name, 0, data=tmp_path)
    assert found["verdict"] == verdict, found["worst"]
    assert bool(found["refused_by"]) == (verdict == "refused")
