"""The gate: the worst attack decides, and what was not measured does not pass."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from synthdp.evaluation.gate import Thresholds, judge

SAFE = {
    "expected_match_rate": 0.05,
    "true_match": 3,
    "true_match_chance": 3,
    "max_individual": 0.5,
}


def without_identity(**limits: float) -> Thresholds:
    return Thresholds(max_expected_match_rate=None, max_excess_true_match=None, max_individual=None, **limits)


def test_a_risk_at_its_limit_passes() -> None:
    verdict = judge({"identity": SAFE, "identity_averaged": SAFE}, Thresholds())
    assert verdict.passed
    assert verdict.reasons == ()
    assert [(check.name, check.attack, check.value, check.limit, check.passed) for check in verdict.checks] == [
        ("max_expected_match_rate", "identity", 0.05, 0.05, True),
        ("max_expected_match_rate", "identity_averaged", 0.05, 0.05, True),
        ("max_excess_true_match", "identity", 0.0, 0.0, True),
        ("max_excess_true_match", "identity_averaged", 0.0, 0.0, True),
        ("max_individual", "identity", 0.5, 0.5, True),
        ("max_individual", "identity_averaged", 0.5, 0.5, True),
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"expected_match_rate": 0.0721}, "identity_averaged: expected match rate 0.0721 is above the limit 0.05."),
        (
            {"expected_match_rate": 0.05000001},
            "identity_averaged: expected match rate 0.05000001 is above the limit 0.05.",
        ),
        ({"true_match": 7}, "identity_averaged: number of true matches beyond chance 4 is above the limit 0."),
        ({"max_individual": 1.0}, "identity_averaged: largest individual match probability 1 is above the limit 0.5."),
    ],
)
def test_the_worst_attack_decides(change: dict[str, float], reason: str) -> None:
    verdict = judge({"identity": SAFE, "identity_averaged": SAFE | change}, Thresholds())
    assert not verdict.passed
    assert verdict.reasons == (reason,)


def test_fewer_true_matches_than_chance_buy_nothing() -> None:
    verdict = judge({"identity": SAFE | {"true_match": 0}}, Thresholds())
    assert [check.value for check in verdict.checks if check.name == "max_excess_true_match"] == [0.0]


def test_one_unit_in_the_last_place_above_is_above_and_reads_so() -> None:
    rate = math.nextafter(0.05, 1)
    (reason,) = judge({"identity": SAFE | {"expected_match_rate": rate}}, Thresholds()).reasons
    assert float(reason.split()[4]) == rate


@pytest.mark.parametrize("value", [math.nan, None, "many"])
@pytest.mark.parametrize("key", list(SAFE))
def test_what_is_not_a_number_refuses(key: str, value: Any) -> None:
    verdict = judge({"identity": SAFE | {key: value}}, Thresholds())
    assert not verdict.passed
    assert "was not measured, so it cannot be held against the limit" in verdict.reasons[0]
    assert [check.value for check in verdict.checks if not check.passed] == [None]


@pytest.mark.parametrize("key", list(SAFE))
def test_what_is_absent_refuses(key: str) -> None:
    section = {name: value for name, value in SAFE.items() if name != key}
    assert not judge({"identity": section}, Thresholds()).passed


def test_infinity_refuses() -> None:
    assert not judge({"identity": SAFE | {"max_individual": math.inf}}, Thresholds()).passed


def test_without_an_identity_attack_its_limits_refuse() -> None:
    verdict = judge({}, Thresholds(max_individual=None))
    assert verdict.reasons == (
        "identity: expected match rate was not measured, so it cannot be held against the limit 0.05.",
        "identity: number of true matches beyond chance was not measured, so it cannot be held against the limit 0.",
    )
    assert judge({}, without_identity()).passed


def test_null_is_not_judged() -> None:
    verdict = judge({"identity": SAFE | {"max_individual": 1.0}}, Thresholds(max_individual=None))
    assert verdict.passed
    assert {check.name for check in verdict.checks} == {"max_expected_match_rate", "max_excess_true_match"}


def test_every_attribute_target_is_judged() -> None:
    found = [{"target": "vote", "gain": 0.3}, {"target": "income", "gain": 0.05}, {"target": "health", "gain": None}]
    verdict = judge({"attribute": found}, without_identity())
    assert verdict.reasons == (
        "attribute: attribute gain for 'vote' 0.3 is above the limit 0.1.",
        "attribute: attribute gain for 'health' was not measured, so it cannot be held against the limit 0.1.",
    )


def test_the_likelihood_attack_is_judged_by_its_links() -> None:
    links = {"identity_likelihood": {"expected_links": 60, "expected_links_rate": 0.06}, "identity": SAFE}
    assert judge(links, Thresholds()).reasons == (
        "identity_likelihood: expected match rate 0.06 is above the limit 0.05.",
    )


def test_other_sections_are_not_read() -> None:
    assert judge({"identity": SAFE, "original": {"expected_match_rate": 1.0}}, Thresholds()).passed


def test_limits_are_not_negative_and_unknown_ones_are_refused() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Thresholds(max_individual=-1)
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Thresholds.model_validate({"max_risk": 1})


def test_section() -> None:
    section = judge({"identity": SAFE | {"true_match": 5}}, Thresholds()).section()
    assert section["passed"] is False
    assert section["reasons"] == ["identity: number of true matches beyond chance 2 is above the limit 0."]
    assert section["checks"][1] == {
        "name": "max_excess_true_match",
        "attack": "identity",
        "value": 2.0,
        "limit": 0.0,
        "passed": False,
        "releases": 0,
        "accepted": None,
    }
