"""The gate: means over draws with intervals, the worst intruder decides, and what was not measured does not pass."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from synthdp.errors import InputError
from synthdp.evaluation.gate import LIMITS, Thresholds, Verdict, accepted_risks
from synthdp.evaluation.gate.inquiry import Averages, Drawn
from synthdp.evaluation.gate.limits import OFF
from synthdp.evaluation.gate.tally import Bound, Tally, over_draws, surest_right
from synthdp.evaluation.gate.verdict import UNDECIDED, check, undecided

Floats = Any


class Finding:
    """An identity finding with given arrays."""

    def __init__(self, individual: Floats, confidence: Floats, right: Floats, **section: Any) -> None:
        self.individual, self.confidence, self.right = map(np.asarray, (individual, confidence, right))
        self._section = section

    def section(self) -> dict[str, Any]:
        return self._section


def averages(*draws: Drawn) -> Averages:
    found = Averages()
    for drawn in draws:
        found.add(drawn)
    return found


def drawn(individual: Floats, **more: Any) -> Drawn:
    sure = np.where(np.asarray(individual) > 0, 1.0, 0.5)
    finding = Finding(individual, sure, individual, **more.pop("section", {}))
    return Drawn({"identity": finding}, more.pop("figures", {}), more.pop("reasons", {}))


def figures(vote: float, income: float, panel: float, analyses: float, pmse: float) -> dict[str, dict[str, float]]:
    whole = {"panel": {"": panel}, "analyses": {"": analyses}, "pmse": {"": pmse}}
    return {"attribute": {"vote": vote, "income": income}, **whole}


def only(**limits: float) -> Thresholds:
    return OFF.model_copy(update=limits)


# tallies


@given(st.integers(2, 25), st.integers(1, 12), st.integers(0, 10**6))
def test_the_largest_mean_has_students_interval(draws: int, n: int, seed: int) -> None:
    values = np.random.default_rng(seed).random((draws, n))
    tally = Tally()
    for row in values:
        tally.add(row, np.ones(n), row)
    means, errors = values.mean(axis=0), stats.sem(values, axis=0)
    upper = np.minimum(means + stats.t.ppf(0.975, draws - 1) * errors, 1.0)
    worst = int(np.argmax(upper))
    found = tally.individual()
    assert found.value == pytest.approx(means[worst])
    assert found.high == pytest.approx(upper[worst])
    assert found.low == pytest.approx(max(0.0, 2 * means[worst] - upper[worst]))
    np.testing.assert_allclose(tally.by_record(), means)


def test_one_chance_match_in_twenty_draws_is_far_from_the_default_limit() -> None:
    tally = Tally()
    for place in range(20):
        own = np.zeros(50)
        own[3] = place == 7
        tally.add(own, np.ones(50), own)
    found = tally.individual()
    assert found.value == pytest.approx(0.05)
    assert found.high == pytest.approx(0.05 + stats.t.ppf(0.975, 19) * 0.05)
    assert found.high < Thresholds().max_individual / 2


def test_what_a_pick_at_random_gives_is_taken_off() -> None:
    rng, n, rates = np.random.default_rng(1), 40, []
    tally = Tally()
    for _ in range(400):
        right = (rng.integers(0, n, n) == np.arange(n)).astype(float)
        tally.add(right, np.ones(n), right)
        rates.append(right.mean())
    found = tally.expected()
    assert found.chance == pytest.approx(1 / n)
    assert found.value == pytest.approx(np.mean(rates) - 1 / n)
    assert abs(found.value) < 4 * np.std(rates) / 20


def test_records_that_were_not_attacked_do_not_count() -> None:
    tally = Tally(typical=np.array([True, True, False, False]))
    for own in (1.0, 0.0):
        individual = np.array([own, 0.0, 0.9, np.nan])
        tally.add(individual, np.array([1.0, np.nan, 1.0, np.nan]), np.nan_to_num(individual))
    assert tally.expected().value == pytest.approx(0.25 - 0.5 / 4)  # of the two typical ones
    assert tally.individual().value == pytest.approx(0.5)  # whose bound is largest
    assert tally.mean_individual().value == pytest.approx(0.25)
    assert math.isnan(tally.by_record()[3])
    assert (tally.claimed, tally.successes) == (2, 1.0)


def test_after_one_draw_there_is_no_interval() -> None:
    tally = Tally()
    tally.add(np.array([0.2, 0.7]), np.array([0.5, 0.6]), np.array([0.0, 1.0]))
    assert tally.individual() == Bound(0.7)
    assert tally.expected().high is None


def test_nobody_attacked_is_not_a_risk_of_zero() -> None:
    tally = Tally()
    tally.add(np.full(3, np.nan), np.full(3, np.nan), np.zeros(3))
    assert math.isnan(tally.individual().value)
    assert not check("max_individual", "identity", tally.individual(), 0.33).passed


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), min_size=1, max_size=60))
def test_the_surest_claims_by_brute_force(claims: list[tuple[float, bool]]) -> None:
    confidence, right = (np.array(values, dtype=float) for values in zip(*claims, strict=True))
    size = min(len(claims), 10)
    rng, found = np.random.default_rng(1), []
    for _ in range(300):  # ties at the border are broken at random
        order = np.lexsort((rng.random(len(claims)), -confidence))
        found.append(right[order[:size]].mean())
    error = np.std(found) / np.sqrt(300)
    assert abs(surest_right(confidence, right, size) - np.mean(found)) <= 4 * error + 1e-9


def test_one_percent_of_many_targets_are_the_surest() -> None:
    confidence = np.linspace(0, 1, 5000)
    right = (np.arange(5000) >= 4975).astype(float)
    tally = Tally()
    tally.add(right, confidence, right)
    assert tally.claims().value == pytest.approx(0.5)  # 25 of the 50 surest


def test_a_few_chance_claims_in_many_draws_find_nobody() -> None:
    """A matching intruder who hardly ever claims anything: one claim in each of three draws, one of them right."""
    tally = Tally()
    for place in range(60):
        claims = np.where((np.arange(100) == place) & (place < 3), 0.9, np.nan)
        tally.add(np.zeros(100), claims, (np.arange(100) == 0) * (place == 0) * 1.0)
    found = tally.claims()
    assert found.value == pytest.approx(0.1)  # of ten at least
    assert found.high is not None
    assert found.high < 0.33
    always = Tally()
    for _ in range(20):  # the same person in every draw
        always.add(np.zeros(100), np.where(np.arange(100) == 7, 0.9, np.nan), (np.arange(100) == 7) * 1.0)
    assert always.claims().value == always.claims().low == always.claims().high == 1.0


def test_the_interval_of_claims_is_students_where_all_draws_make_as_many() -> None:
    rng = np.random.default_rng(3)
    tally, shares = Tally(), []
    for _ in range(20):
        right = (rng.random(200) < 0.3) * 1.0
        tally.add(np.zeros(200), rng.random(200) * 0 + 0.5, right)
        shares.append(right.mean())
    told, found = over_draws(shares), tally.claims()
    assert (found.value, found.low, found.high) == pytest.approx((told.value, told.low, told.high))


def test_over_draws_is_students_interval() -> None:
    values = [0.1, 0.4, 0.2]
    low, high = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    found = over_draws(values, chance=0.01)
    assert (found.value, found.low, found.high) == pytest.approx((np.mean(values), low, high))
    assert found.chance == 0.01
    assert math.isnan(over_draws([]).value)


# checks and verdicts


def test_the_upper_end_decides_for_a_risk_and_the_mean_for_usefulness() -> None:
    assert check("max_individual", "identity", Bound(0.2, 0.1, 0.33), 0.33).passed
    assert not check("max_individual", "identity", Bound(0.2, 0.1, 0.34), 0.33).passed
    assert check("min_overlap", "panel", Bound(0.6, 0.5, 0.7), 0.6).passed
    assert not check("min_overlap", "panel", Bound(0.59, 0.5, 0.9), 0.6).passed


def test_reasons_give_figure_bound_and_limit() -> None:
    refused = check("max_individual", "identity_public", Bound(0.3, 0.2, 0.412), 0.33)
    assert refused.sentence == (
        "identity_public: largest probability that one record is found 0.3, at most 0.412 with 95% confidence: above "
        "the limit 0.33."
    )
    useless = check("min_overlap", "panel", Bound(0.041), 0.6)
    assert useless.sentence == "panel: mean overlap of confidence intervals 0.041 is below the limit 0.6."


@pytest.mark.parametrize("value", [math.nan, None, math.inf])
@pytest.mark.parametrize("name", list(LIMITS))
def test_what_is_not_a_number_does_not_pass(name: str, value: Any) -> None:
    found = check(name, "identity", None if value is None else Bound(value), 0.5)
    assert not found.passed
    assert found.value is None
    assert found.sentence.endswith("was not measured, so it cannot be held against the limit 0.5.")


def test_one_unit_in_the_last_place_above_is_above_and_reads_so() -> None:
    limit = 0.03
    found = check("max_expected_match_rate", "identity", Bound(0.03, 0.02, math.nextafter(limit, 1)), limit)
    assert not found.passed
    assert float(found.sentence.partition("at most ")[2].split()[0]) > limit


@pytest.mark.parametrize(
    ("risk", "use", "judgement", "passed"),
    [(0.1, 0.9, "passed", True), (0.1, 0.1, "amber", True), (0.9, 0.9, "refused", False), (0.9, 0.1, "refused", False)],
)
def test_safe_and_useful_are_two_questions(risk: float, use: float, judgement: str, passed: bool) -> None:
    verdict = Verdict(
        (check("max_individual", "identity", Bound(risk), 0.33), check("min_overlap", "panel", Bound(use), 0.6))
    )
    assert (verdict.judgement, verdict.passed) == (judgement, passed)
    assert verdict.section()["verdict"] == judgement


def test_reasons_begin_with_what_is_undecided_then_the_worst_of_each_limit_then_use() -> None:
    verdict = Verdict(
        (
            check("min_overlap", "panel", Bound(0.1), 0.6),
            check("max_claims_right", "identity", Bound(0.9), 0.33),
            check("max_individual", "identity", Bound(0.5), 0.33),
            check("max_individual", "identity_public", Bound(0.9), 0.33),
            undecided("age", "With sex it makes 12 records unique; decide."),
        )
    )
    assert [reason.partition(":")[0] for reason in verdict.reasons] == [
        "undecided",
        "identity_public",
        "identity",
        "identity",
        "panel",
    ]


def test_a_risk_is_accepted_by_attack_by_limit_or_by_both_and_usefulness_never() -> None:
    made = Verdict(
        (
            check("max_individual", "identity", Bound(0.9), 0.33),
            check("min_overlap", "panel", Bound(0.1), 0.6),
            undecided("age", "Decide."),
        )
    )
    for name in ("identity", "max_individual", "identity.max_individual"):
        accepted = made.accepting({name: "agreed", UNDECIDED: "asked"})
        assert accepted.passed
        assert accepted.judgement == "amber"
    assert made.accepting({"undecided.age": "asked", "identity": "agreed"}).passed
    assert not made.accepting({"identity": "agreed"}).passed
    assert made.accepting({"min_overlap": "no matter"}).checks[1].accepted is None
    with pytest.raises(InputError, match="--accept-risk: no check named 'identty'; there are "):
        made.accepting({"identty": "misspelt"})


def test_accepted_risks_need_a_reason() -> None:
    assert accepted_risks(["max_individual: agreed: in writing"]) == {"max_individual": "agreed: in writing"}
    for text in ("max_individual", "max_individual:", ": reason"):
        with pytest.raises(InputError, match='--accept-risk: must have the form "name: reason"'):
            accepted_risks([text])


def test_beside_earlier_releases_risks_count_and_usefulness_does_not() -> None:
    alone = Verdict((check("max_individual", "identity", Bound(0.1), 0.33),))
    joint = Verdict(
        (check("max_individual", "identity", Bound(0.9), 0.33), check("min_overlap", "panel", Bound(0.1), 0.6))
    )
    both = alone.beside(joint, 2)
    assert both.judgement == "refused"
    assert [one.releases for one in both.checks] == [0, 2]
    assert both.reasons[0].startswith("together with 2 earlier releases of the same data, identity: largest")


def test_section() -> None:
    section = Verdict((check("max_exposed", "exposure", Bound(3.0), 0.0),)).section()
    assert section["passed"] is False
    assert section["reasons"] == ["exposure: number of records alone on kept keys 3 is above the limit 0."]
    assert section["checks"] == [
        {
            "name": "max_exposed",
            "attack": "exposure",
            "value": 3.0,
            "limit": 0.0,
            "passed": False,
            "low": None,
            "high": None,
            "chance": None,
            "releases": 0,
            "accepted": None,
        }
    ]


def test_limits_are_not_negative_and_unknown_ones_are_refused() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Thresholds(max_individual=-1)
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Thresholds.model_validate({"max_risk": 1})
    assert not OFF.judged()
    assert Thresholds().judged("max_excess_true_match") is False


# averages over draws


def test_every_limit_reads_every_intruder() -> None:
    rng = np.random.default_rng(1)
    draws = [
        Drawn({name: Finding(*rng.random((3, 30))) for name in ("identity", "identity_likelihood")}, {}, {})
        for _ in range(12)
    ]
    found = list(averages(*draws).checks(Thresholds(max_mean_individual=0.5, min_overlap=None)))
    assert {(one.name, one.attack) for one in found} == {
        (limit, attack)
        for limit in ("max_expected_match_rate", "max_individual", "max_claims_right", "max_mean_individual")
        for attack in ("identity", "identity_likelihood")
    }


def test_a_limit_on_identity_that_nobody_could_answer_refuses() -> None:
    found = averages(Drawn({}, {}, {"identity": "no keys"}))
    (one,) = found.checks(only(max_individual=0.33))
    assert not one.passed
    assert found.reasons == {"identity": "no keys"}
    assert list(found.checks(only(max_attribute_gain=0.1))) == []


def test_gains_and_usefulness_are_means_over_draws() -> None:
    found = averages(
        drawn(np.zeros(5), figures=figures(0.1, math.nan, 0.5, 0.9, 3.0)),
        drawn(np.zeros(5), figures=figures(0.3, math.nan, 0.7, 0.9, 1.0)),
    )
    limits = only(max_attribute_gain=0.1, min_overlap=0.65, max_pmse_ratio=1.5)
    by = {(one.name, one.attack): one for one in found.checks(limits)}
    assert by["max_attribute_gain", "attribute"].value == pytest.approx(0.2)
    assert "for 'vote'" in by["max_attribute_gain", "attribute"].sentence
    assert not by["min_overlap", "panel"].passed
    assert by["min_overlap", "analyses"].passed
    assert not by["max_pmse_ratio", "pmse"].passed


def test_true_matches_beyond_chance_are_judged_where_somebody_asks() -> None:
    found = averages(*(drawn(np.zeros(5), section={"true_match": 7, "true_match_chance": 3}) for _ in range(3)))
    (one,) = found.checks(only(max_excess_true_match=0))
    assert one.value == 4.0
    assert not one.passed


def test_who_was_attacked_in_one_draw_of_several_does_not_hide_the_others() -> None:
    tally = Tally()
    for draw in range(12):
        own = np.array([0.01 if draw == 0 else np.nan, 0.9, 0.2])
        tally.add(own, own, np.nan_to_num(own))
    assert tally.individual().value == pytest.approx(0.9)
    assert tally.individual().high == pytest.approx(0.9)
    once = Tally()
    for own in (np.array([0.4, np.nan]), np.array([np.nan, 0.3])):
        once.add(own, own, np.nan_to_num(own))
    assert once.individual() == Bound(0.4)


def test_what_a_blind_guess_gives_is_taken_off_and_a_person_counts_once() -> None:
    person, chance = np.array([0, 0, 0, 1]), np.array([0.5, 0.5, 0.5, 0.5])
    tally = Tally()
    tally.add(np.array([1.0, 1.0, 1.0, 0.5]), np.ones(4), np.array([1.0, 1.0, 1.0, 0.0]), chance, person)
    # (1 − ½)/½ and (0 − ½)/½, each once
    assert tally.expected().value == pytest.approx(0.0)
    assert tally.mean_individual().value == pytest.approx(0.5)
    assert tally.by_record().tolist() == [1.0, 1.0, 1.0, 0.0]
    sure = Tally()
    # who is the only one that can be meant is found without the copies
    sure.add(np.ones(2), np.ones(2), np.ones(2), np.ones(2), np.array([0, 1]))
    assert (sure.individual().value, sure.expected().value) == (0.0, 0.0)


def test_true_matches_of_loners_stand_for_themselves() -> None:
    # of 1,000 records a random sample of 100 and 10 loners are attacked; all loners and one other are matched
    own = np.full(1000, np.nan)
    own[:110] = 0.0
    own[[0, *range(100, 110)]] = 1.0
    finding = Finding(own, own, np.nan_to_num(own), true_match=100.0, true_match_chance=0.0)
    finding.true_match_mask = np.nan_to_num(own) == 1.0
    found = Averages(np.arange(1000) < 100)
    found.add(Drawn({"identity": finding}, {}, {}))
    (check_,) = found.checks(only(max_excess_true_match=0))
    assert check_.value == pytest.approx(10 + 1 * 990 / 100)
