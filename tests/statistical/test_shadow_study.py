"""The committed games of the shadow study are held to what is claimed of them, and three are played again."""

import json
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from reports.shadow.study import LEAKS, METHODS, SIZES, play

RESULTS = Path(__file__).parents[2] / "reports" / "shadow" / "results.json"


@pytest.fixture(scope="module")
def committed() -> list[dict[str, Any]]:
    if not RESULTS.exists():
        pytest.skip("reports/shadow/results.json is not there yet: run python -m reports shadow")
    found: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))["results"]["cases"]
    return found


def of(committed: list[dict[str, Any]], part: str) -> list[dict[str, Any]]:
    return [one for one in committed if one["part"] == part]


@pytest.mark.parametrize("leak", list(LEAKS))
def test_committed_leaks_are_found_where_distance_misses_them(committed: list[dict[str, Any]], leak: str) -> None:
    (found,) = (one for one in of(committed, "planted") if one["case"] == leak)
    assert found["games"] >= 10
    assert found["above"] == found["games"]
    # where distance sees nothing an interval of 95% lies above 0.5 in one game of forty
    assert found["distance_above"] <= stats.binom.ppf(0.999, found["games"], 0.025)


def test_committed_intervals_hold_a_half_where_nobody_is_in(committed: list[dict[str, Any]]) -> None:
    null = of(committed, "null")
    games, held = sum(one["games"] for one in null), sum(one["holds_half"] for one in null)
    assert {one["case"] for one in null} == set(METHODS)
    assert games >= 60
    assert held >= stats.binom.ppf(0.001, games, 0.95)


def test_committed_harmless_files_are_harmless_when_they_are_large(committed: list[dict[str, Any]]) -> None:
    by_size = {n: [one for one in of(committed, "harmless") if one["case"].endswith(f", n = {n}")] for n in SIZES}
    fewest = min(sum(one["games"] for one in found) for found in by_size.values())
    if fewest < 20:
        pytest.skip(f"only {fewest} games of a size are played so far: run python -m reports shadow")
    games, held = (sum(one[key] for one in by_size[SIZES[-1]]) for key in ("games", "holds_half"))
    assert held >= stats.binom.ppf(0.001, games, 0.95)
    means = [sum(one["auc"] for one in by_size[n]) / len(by_size[n]) for n in SIZES]
    assert means[0] > means[1] > means[-1]
    # never more than a record's weight in the parameters explains
    said = sum(one["findings"]["memorised"] for one in of(committed, "harmless"))
    assert said <= stats.binom.ppf(0.999, sum(one["games"] for one in of(committed, "harmless")), 0.025)


def test_committed_trees_memorise(committed: list[dict[str, Any]]) -> None:
    (found,) = of(committed, "census")
    assert found["findings"]["memorised"] == found["games"] >= 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "findings"),
    [
        (("planted", "one column verbatim, shuffled", 0), {"memorised"}),
        (("harmless", "mi, n = 300", 0), {"none", "influence"}),
    ],
)
def test_a_game_is_the_one_that_the_study_counts(
    cell: tuple[str, str, int], findings: set[str], tmp_path: Path
) -> None:
    assert play(*cell, data=tmp_path)["finding"] in findings
