"""The study of strangers' files: how answers become settings, whom it compares, and its page."""

from typing import Any

import pytest

from reports.tune_files.commands import answered
from reports.tune_files.comparing import as_before, at_our_risk, best_by_hand, binding
from reports.tune_files.files import FILES, HAND_ALPHA, HAND_KEEP, HAND_NOISE, File, hand
from reports.tune_files.page import page

FILE = File(
    "x.csv", "nowhere", "nothing", "ols", "y ~ x", {"x": {"role": "keep"}, "z": {"role": "drop"}, "v": {"key": False}}
)


def measured(panel: float, risk: float, *, passed: bool = True, **more: Any) -> dict[str, Any]:
    risks = {
        "max_individual": {"value": risk, "deciding": 1.1 * risk, "limit": 0.33, "attack": "identity"},
        "max_exposed": {"value": 0.0, "deciding": 0.0, "limit": 0.0, "attack": "exposure"},
        "max_memorised": {"value": None, "deciding": None, "limit": 0.02, "attack": "memorised"},
    }
    return {"panel": panel, "regression": panel, "passed": passed, "risks": risks, "draws": 20, "seconds": 1.0, **more}


def test_answers_change_variables_and_take_masks_of_kept_columns_out() -> None:
    first = {
        "variables": {
            "x": {"role": "replace", "key": True},
            "z": {"role": "keep", "kind": "nominal"},
            "v": {"role": "keep", "key": None},
        },
        "masks": {"x": {"method": "gaussian", "sd": 1.0}},
        "version": 1,
    }
    found = answered(first, FILE)
    assert found["variables"] == {
        "x": {"role": "keep", "key": True},
        "z": {"role": "drop"},
        "v": {"role": "keep", "key": False},
    }
    assert found["masks"] == {}
    assert first["variables"]["x"]["role"] == "replace", "what init wrote stays as it was"


def test_a_person_has_a_strength_for_every_mask() -> None:
    masks = {"b": {"method": "shifted_normal", "alpha": 1.0}, "n": {"method": "transition", "keep": 0.6}}
    for noise in HAND_NOISE:
        found = hand(masks, noise)
        assert (found["b"]["alpha"], found["n"]["keep"]) == (HAND_ALPHA[noise], HAND_KEEP[noise])


def test_the_binding_limit_is_the_nearest_one_that_is_above_zero() -> None:
    assert binding(measured(0.9, 0.2)) == "max_individual"


def test_the_best_by_hand_is_let_through() -> None:
    tried = [measured(0.95, 0.5, passed=False), measured(0.9, 0.2), measured(0.8, 0.1)]
    assert best_by_hand(tried) == tried[1]
    assert best_by_hand(tried[:1]) is None


def trees(*found: tuple[int, float, float]) -> list[dict[str, Any]]:
    return [measured(panel, risk, leaf=leaf) for leaf, panel, risk in found]


def test_trees_are_interpolated_between_the_leaf_sizes_either_side_of_our_risk() -> None:
    found = at_our_risk(trees((5, 0.9, 0.4), (10, 0.8, 0.25), (20, 0.7, 0.15)), measured(0.9, 0.2), "max_individual")
    assert found is not None
    assert (found.leaves, found.where) == ((10, 20), "at")
    assert found.panel == pytest.approx(0.75)
    assert found.regression == pytest.approx(0.75)


def test_a_setting_at_our_risk_or_below_counts_where_it_is_more_useful() -> None:
    found = at_our_risk(trees((5, 0.7, 0.4), (10, 0.8, 0.1), (20, 0.9, 0.2)), measured(0.9, 0.2), "max_individual")
    assert found is not None
    assert (found.leaves, found.panel) == ((20,), 0.9)


@pytest.mark.parametrize(
    ("risks", "leaf", "where"), [((0.1, 0.05), 5, "below"), ((0.5, 0.3), 10, "above"), ((0.3, 0.25), 10, "above")]
)
def test_trees_that_are_all_at_more_or_less_risk_are_said_to_be(
    risks: tuple[float, float], leaf: int, where: str
) -> None:
    found = at_our_risk(trees((5, 0.9, risks[0]), (10, 0.8, risks[1])), measured(0.9, 0.2), "max_individual")
    assert found is not None
    assert (found.leaves, found.where) == ((leaf,), where)


@pytest.mark.parametrize(("risks", "chosen"), [((0.1, 0.25, 0.4), 0.25), ((0.05, 0.1), 0.1), ((0.3, 0.2), 0.2)])
def test_before_trees_were_compared_at_our_risk_or_the_next_above(risks: tuple[float, ...], chosen: float) -> None:
    found = as_before([measured(0.5, risk, leaf=5) for risk in risks], measured(0.9, 0.2))
    assert found is not None
    assert found["risks"]["max_individual"]["value"] == chosen


def test_trees_that_were_not_made_are_left_out() -> None:
    assert at_our_risk([{"leaf": 5, "said": "there is no Rscript"}], measured(0.9, 0.2), "max_individual") is None


def test_the_page_counts_releases_and_those_ahead() -> None:
    step = {"code": 0, "seconds": 10.0}
    ours = {
        "records": 240,
        "init": step,
        "tune": step,
        "run": step,
        "verdict": "passed",
        "measured": measured(0.9, 0.2),
    }
    won = {
        "ours": ours,
        "hand": {"tried": [measured(0.8, 0.2, noise=1.0, copies=5)]},
        "trees": {"tried": [measured(0.7, 0.3, leaf=5)]},
    }
    lost = {**won, "hand": {"tried": [measured(0.95, 0.2, noise=1.0, copies=5)]}}
    refused = {"ours": {"records": 766, "tune": step, "problem": "tune: nothing\nholds"}, "hand": {"tried": []}}
    results = {"files": dict(zip((one.name for one in FILES), (won, lost, refused), strict=False))}
    text = page(results, {"budget": "2m"})
    assert "**2 of 3 files are released." in text
    assert "of synthpop at the same risk: 1 of 3**" in text
    assert "smoking.csv: tune: nothing holds" in text
    assert "yes (yes)" in text
