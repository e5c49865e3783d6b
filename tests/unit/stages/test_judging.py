"""Judging the mechanism: the verdict is on what the settings let through, whatever is drawn, listed or published."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp import pipeline
from synthdp.cli import app
from synthdp.config import Config, parse
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Thresholds
from synthdp.evaluation.gate.limits import OFF
from synthdp.evaluation.gate.tally import Tally
from synthdp.release.register import Earlier
from synthdp.report.summary import headline
from synthdp.seeding import Streams
from synthdp.stages import draws as draws_module
from synthdp.stages import gating
from synthdp.stages.assessing import assess_comparison
from synthdp.stages.draws import EARLY_LEVEL, FEWEST_DRAWS, LARGE, Draws, count_of
from synthdp.stages.gating import Judged, judge, judge_copies
from synthdp.stages.intake import prepare
from synthdp.stages.judging import EXTREMES, FEWEST, MOST, PAIRS, TYPICAL, choose, published_before
from synthdp.stages.planning import notes_of, plan_of
from synthdp.synthesis.making import make
from synthdp.synthesis.plan import Plan, Release
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

N = 150
UNGATED = dict.fromkeys(Thresholds.model_fields) | {"draws": FEWEST_DRAWS}
SEED = 2**100 + 7


def people(n: int = N, seed: int = 1) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    z = draw.normal(size=n)
    return pd.DataFrame(
        {
            "z": z.round(3),
            "area": draw.choice(list("ab"), n),
            "age": (50 + 8 * z + 9 * draw.normal(size=n)).round(1),
            "sex": draw.choice(["F", "M"], n),
        }
    )


def settings(path: Any = "in memory", *, limits: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "data": {"path": str(path)},
        "variables": {
            "z": {"key": False},
            "area": {"key": False},
            "age": {"kind": "continuous", "role": "replace", "key": True, "tolerance": 3, "decimals": 1},
            "sex": {"role": "replace", "key": True},
        },
        "masks": {"age": {"method": "gaussian", "sd": 3.0}, "sex": {"method": "shifted_normal", "alpha": 0.3}},
        "synthesis": {"copies": 2, "sweeps": 5},
        "release": UNGATED | (limits or {}),
    } | more


def judged(config: Config, frame: pd.DataFrame, seed: int = 3, **more: Any) -> Judged:
    how = {name: more.pop(name) for name in ("jobs", "advance", "mechanism") if name in more}
    return judge(Draws(config, plan_of(config, prepare(frame, config)), Streams(seed), **how), **more)


# the verdict


def test_what_is_refused_before_any_draw_is_no_verdict_on_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of a large file whose kept columns are undecided ends like any other refused run."""
    monkeypatch.setattr(gating, "MOST_DRAWN_IN_VAIN", N - 1)
    made = settings(limits={"max_individual": 0.33})
    made["variables"]["z"] = {"key": None}
    section = judged(parse(made), people()).section()
    assert (section["basis"], section["draws"], section["verdict"]) == ("draws", 0, "refused")
    assert headline(section, published=False).endswith("refused, nothing was published")


def test_it_is_the_same_for_any_number_of_jobs() -> None:
    limits = {"max_individual": 0.33, "max_expected_match_rate": 0.03, "max_claims_right": 0.33, "min_overlap": 0.6}
    limits |= {"max_attribute_gain": 0.1, "max_excess_verbatim": 0, "max_excess_true_match": 0}
    config = parse(settings(limits=limits))
    told: tuple[list[tuple[int, int]], ...] = ([], [])
    one, three = (
        judged(config, people(), jobs=jobs, advance=lambda done, total, steps=steps: steps.append((done, total)))
        for jobs, steps in zip((1, 3), told, strict=True)
    )
    assert told[0] == told[1] == [(draw, FEWEST_DRAWS) for draw in range(1, FEWEST_DRAWS + 1)]
    assert json.dumps(one.section()) == json.dumps(three.section())
    assert one.draws == FEWEST_DRAWS
    assert one.averages is not None
    assert three.averages is not None
    for name, risk in one.averages.records().items():
        np.testing.assert_array_equal(risk, three.averages.records()[name])


def test_every_intruder_is_asked_whatever_the_config_lists() -> None:
    limits = {"max_individual": 0.33}
    every = judged(parse(settings(limits=limits)), people())
    fewer = judged(parse(settings(limits=limits, evaluation={"risk": [], "utility": []})), people())
    assert every.verdict == fewer.verdict
    asked = {check.attack for check in every.verdict.checks}
    assert asked == {
        "identity", "identity_averaged", "identity_linked", "identity_likelihood", "identity_public",
        "identity_extremes", "identity_bayes",
    }  # fmt: skip


@pytest.mark.parametrize(("doubts", "stages"), [((), 1), ((True,), 2), ((True, True), 3), ((True, True, True), 3)])
def test_more_draws_are_made_a_stage_at_a_time(
    monkeypatch: pytest.MonkeyPatch, doubts: tuple[bool, ...], stages: int
) -> None:
    answers, reaches = iter((*doubts, False)), []

    def doubtful(checks: Any) -> bool:
        reaches.append(max(check.high - check.value for check in checks))
        return next(answers)

    monkeypatch.setattr("synthdp.stages.judging.unsure", doubtful)
    found = judged(parse(settings(limits={"max_expected_match_rate": 0.03})), people())
    assert found.draws == stages * FEWEST_DRAWS
    # the look between the first and the last asks for wider intervals, and the last is the verdict's own
    assert len(reaches) == min(len(doubts) + 1, 2)


def test_an_early_look_asks_for_a_wider_interval() -> None:
    tally = Tally()
    for own in (0.0, 1.0, 0.0, 0.0):
        tally.add(np.array([own, 0.0]), np.array([1.0, np.nan]), np.array([own, 0.0]))
    for taken in (tally.individual, tally.expected, tally.claims, tally.mean_individual):
        assert taken(EARLY_LEVEL).value == taken().value
        assert (taken(EARLY_LEVEL).high or 0) >= (taken().high or 0)


def test_no_limit_no_draw() -> None:
    found = judged(parse(settings()), people())
    assert (found.verdict.checks, found.draws, found.averages) == ((), 0, None)
    assert found.verdict.judgement == "passed"
    assert len(found.records_at_risk(Comparison(people(), (), resolve(people(), {}).schema, aligned=True))) == 0


def test_large_files_get_the_fewest_draws_unless_somebody_asks_for_more() -> None:
    default = parse(settings(release={}))
    assert (count_of(default, LARGE - 1), count_of(default, LARGE)) == (20, FEWEST_DRAWS)
    asked = parse(settings(release={"draws": 30}))
    assert (count_of(asked, 10), count_of(asked, 10 * LARGE)) == (30, 30)


def test_draws_share_nothing_with_the_published_copies(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "data.csv", index=False)
    published = []
    for number, limits in enumerate(({}, {"max_individual": 1.0}, {"max_individual": 1.0, "draws": 14})):
        config = parse(settings(tmp_path / "data.csv", limits=limits, evaluation={"risk": [], "utility": []}))
        outcome = pipeline.run(config.model_copy(update={"seed": SEED}), out=tmp_path / str(number))
        assert outcome.metrics["gate"]["draws"] == (limits.get("draws", FEWEST_DRAWS) if limits else 0)
        assert outcome.public is not None
        published.append({path.name: path.read_bytes() for path in outcome.public.iterdir()})
    assert published[0] == published[1] == published[2]


# columns of which nobody has decided


def undecided() -> dict[str, Any]:
    made = settings(limits={"max_exposed": 0})
    return made | {"variables": {name: value for name, value in made["variables"].items() if name != "z"}}


def test_an_undecided_column_refuses_until_somebody_decides_or_accepts() -> None:
    frame = people()
    config = parse(undecided())
    found = judged(config, frame)
    assert found.verdict.judgement == "refused"
    (reason,) = found.verdict.reasons
    assert reason.startswith("undecided: z. ")
    assert "key: true or key: false" in reason
    assert any("May an intruder know z?" in note for note in found.notes)
    # a study publishes nothing, so nobody has to decide
    study = judged(config, frame, study=True)
    assert study.verdict.passed
    assert any("May an intruder know z?" in note for note in study.notes)
    for name in ("undecided", "z", "undecided.z"):
        accepted = judged(config, frame, accepted={name: "a research code"})
        assert accepted.verdict.passed
        assert accepted.section()["accepted"][0]["reason"] == "a research code"
    with pytest.raises(InputError, match=r"no check named 'undecided\.age'"):
        judged(config, frame, accepted={"undecided.age": "misspelt"})


def test_what_is_undecided_counts_as_a_key_until_it_is_accepted() -> None:
    made = undecided()
    config = parse(made | {"release": UNGATED | {"max_mean_individual": 0.33}})
    # z is exact and different for nearly everybody: who knows it finds nearly everybody
    known = {check.attack: check.value or 0 for check in judged(config, people(), study=True).verdict.checks}
    assert known["identity_likelihood"] > 0.8
    accepted = judged(config, people(), accepted={"undecided": "a research code"}).verdict
    assert all((check.value or 0) < 0.1 for check in accepted.checks if check.name == "max_mean_individual")


def test_the_command_line_asks_and_goes_on_in_a_study(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "data.csv", index=False)
    made = undecided() | {"data": {"path": "data.csv"}, "evaluation": {"risk": [], "utility": []}}
    (tmp_path / "config.yaml").write_text(json.dumps(made))

    def invoke(out: str, *options: str) -> Any:
        arguments = ["run", str(tmp_path / "config.yaml"), "--out", str(tmp_path / out), "--quiet", *options]
        return CliRunner().invoke(app, arguments)

    refused = invoke("a")
    assert refused.exit_code == 3
    assert "undecided: " in refused.output
    assert not (tmp_path / "a" / "public").exists()
    study = invoke("b", "--study")
    assert study.exit_code == 0, study.output
    assert not (tmp_path / "b" / "public").exists()
    accepted = invoke("c", "--accept-risk", "undecided.z: a research code")
    assert accepted.exit_code == 0, accepted.output
    assert (tmp_path / "c" / "public").is_dir()


# kept keys


def test_who_is_alone_on_kept_keys_is_found_with_certainty() -> None:
    frame = people()
    frame.loc[0, "area"] = "c"
    made = settings(limits={"max_exposed": 0})
    made["variables"] = made["variables"] | {"area": {"key": True}}
    found = judged(parse(made), frame)
    (check,) = found.verdict.checks
    assert (check.name, check.attack, check.value, check.passed) == ("max_exposed", "exposure", 1.0, False)
    assert "number of records alone on kept keys 1 is above the limit 0" in check.sentence
    assert judged(parse(made | {"release": UNGATED | {"max_exposed": 1}}), frame).verdict.passed
    assert judged(parse(made), people()).verdict.passed


# differentially private methods


def private(**limits: Any) -> Config:
    variables = {"age": {"bounds": [0, 100], "decimals": 0}, "sex": {"levels": ["F", "M"]}}
    return parse(
        {
            "data": {"path": "in memory"},
            "variables": {name: {"role": "replace", "key": True} | more for name, more in variables.items()},
            "synthesis": {"method": "dp_margins", "epsilon": 2.0, "source": "simulated"},
            "release": limits,
        }
    )


def test_private_methods_are_not_judged_unless_somebody_asks_and_pays_with_epsilon() -> None:
    frame = people()[["age", "sex"]].round({"age": 0})
    config = private()
    assert config.limits == OFF
    assert (judged(config, frame).verdict.checks, judged(config, frame).draws) == ((), 0)
    plan = plan_of(config, prepare(frame, config))
    assert plan.selection is None
    stands = make(config.synthesis, plan, streams=Streams(1)).privacy
    assert stands is not None
    assert stands.section()["epsilon"] == 2.0
    asked = private(max_expected_match_rate=1)
    assert asked.limits == OFF.model_copy(update={"max_expected_match_rate": 1})
    plan = plan_of(asked, prepare(frame, asked))
    withdrawn = make(asked.synthesis, plan, streams=Streams(1)).privacy
    assert withdrawn is not None
    assert withdrawn.section()["epsilon"] is None
    assert "the release gate looked at the data" in withdrawn.section()["statement"]


# earlier releases


def earlier(copy: pd.DataFrame, covers: np.ndarray) -> Earlier:
    return Earlier("2026-01-01T00:00:00", (copy.loc[covers].reset_index(drop=True),), covers)


def test_an_earlier_release_of_some_records_stands_beside_every_draw() -> None:
    frame = people()
    config = parse(settings(limits={"max_mean_individual": 0.1}))
    half = np.arange(N) < N // 2
    # one copy that gave the first half away, beside which every new copy is wide
    found = judged(config, frame, earlier=[earlier(frame, half)])
    assert not found.verdict.passed
    alone = [check for check in found.verdict.checks if not check.releases]
    assert all(check.passed for check in alone)
    together = {check.attack: check for check in found.verdict.checks if check.releases and not check.earlier}
    # who is of the first half is found but for those of the same age and sex, the others as before
    shared = frame.groupby(["age", "sex"])["z"].transform("size")[half]
    told = together["identity_likelihood"].value
    assert told is not None
    assert (1 / shared).sum() / N - 0.1 < told < (1 / shared).sum() / N + 0.05
    words = ("together with 1 earlier release of the same data, ", "already the earlier release of 2026-01-01 alone, ")
    assert all(reason.startswith(words) for reason in found.verdict.reasons)
    assert any(reason.startswith(words[0]) for reason in found.verdict.reasons)
    # what stands beside does not touch what is judged alone
    assert tuple(alone) == judged(config, frame).verdict.checks


def test_what_an_earlier_release_gives_away_by_itself_is_said_and_accepted_by_name() -> None:
    frame = people()
    config = parse(settings(limits={"max_individual": 0.6, "max_mean_individual": 0.33}))
    told = earlier(frame, np.arange(N) < 60)
    found = judged(config, frame, earlier=[told])
    already = [check for check in found.verdict.checks if check.earlier]
    assert {check.earlier for check in already} == {"2026-01-01"}
    assert any("already the earlier release of 2026-01-01 alone, identity_l" in one for one in found.verdict.reasons)
    # to somebody who matches, a coincidence is as good as a find, and one release has no draws to average
    assert {check.attack for check in already if check.name == "max_individual"} == {
        "identity_likelihood", "identity_public", "identity_extremes",
    }  # fmt: skip
    accepted = judged(config, frame, earlier=[told], accepted={"earlier_release": "published in January"})
    assert all(check.accepted for check in accepted.verdict.checks if check.earlier and not check.passed)
    # that does not accept what is known once this release is beside it
    assert not accepted.verdict.passed
    assert all(reason.startswith("together with 1 earlier") for reason in accepted.verdict.reasons)
    names = {"earlier_release.max_individual": "a", "identity_likelihood": "b", "identity.max_individual": "c"}
    assert judged(config, frame, earlier=[told], accepted=names).verdict.checks[-1].earlier


@pytest.mark.parametrize("seed", range(3))
def test_an_earlier_release_that_says_nothing_changes_nothing(seed: int) -> None:
    frame = people()
    draw = np.random.default_rng(seed)
    blind = frame.assign(age=draw.permutation(frame["age"]), sex=draw.permutation(frame["sex"]))
    limits = {"max_individual": 0.6, "max_mean_individual": 0.1, "max_claims_right": 0.33}
    limits |= {"max_expected_match_rate": 0.06}
    found = judged(parse(settings(limits=limits)), frame, earlier=[earlier(blind, np.ones(N, dtype=bool))])
    assert found.verdict.passed
    few = judged(parse(settings(limits=limits)), frame, earlier=[earlier(frame, np.arange(N) < 10)])
    # ten people are taken for each other only, so they are not attacked by themselves, but beside every draw they are
    assert not any(check.earlier for check in few.verdict.checks)
    assert not few.verdict.passed


def test_a_column_that_an_earlier_release_did_not_give_out_says_nothing() -> None:
    frame = people()
    config = parse(settings(limits={"max_mean_individual": 0.1}))
    whole = np.ones(N, dtype=bool)
    # the register lays today's values beside what was given out: sex was, age was not
    told = replace(earlier(frame, whole), columns=frozenset({"z", "area", "sex"}))
    found = judged(config, frame, earlier=[told])
    assert found.verdict.passed
    assert not judged(config, frame, earlier=[earlier(frame, whole)]).verdict.passed
    made = Release((frame.assign(age=1.0),), "da_mi", "reiter2003", "per_copy")
    (copy,) = published_before([told], made)
    assert (copy["age"] == 1.0).all()
    assert copy["sex"].tolist() == frame["sex"].tolist()


def test_records_that_an_earlier_release_did_not_hold_get_rows_of_this_one() -> None:
    frame = pd.DataFrame(
        {
            "age": [31, 42, 53, 64],
            "site": pd.Categorical(list("abab")),
            "born": pd.to_datetime(["1990-01-01"] * 4),
            "pay": [1.0, 2.0, 3.0, 4.0],
        }
    )
    made = Release((frame, frame.assign(age=[1, 2, 3, 4])), "da_mi", "reiter2003", "per_copy")
    covers = np.array([False, True, False, True])
    # more decimals, a gap, and a level that this release does not have
    before = pd.DataFrame(
        {
            "age": [0, 42.5, 0, np.nan],
            "site": list("xzxa"),
            "born": pd.to_datetime(["2000-01-01", "2001-02-03", "2000-01-01", None]),
            "pay": [0.0, np.nan, 0.0, 7.0],
        }
    )
    (found,) = published_before([earlier(before, covers)], made)
    assert list(found.columns) == list(frame.columns)
    assert list(found.index) == [0, 1, 2, 3]
    assert found["age"].tolist()[:3] == [31.0, 42.5, 53.0]
    assert np.isnan(found["age"].iloc[3])
    assert found["site"].astype(object).tolist() == ["a", "z", "a", "a"]
    assert found["born"].tolist()[:3] == [pd.Timestamp(day) for day in ("1990-01-01", "2001-02-03", "1990-01-01")]
    assert found["pay"].tolist()[::2] == [1.0, 3.0]
    # of several old copies each is completed by another new one; a whole one stays as it is
    twice = replace(earlier(before, covers), copies=(before.loc[covers], before.loc[covers]))
    assert [copy["age"].iloc[0] for copy in published_before([twice], made)] == [31, 1]
    (whole,) = published_before([earlier(before, np.ones(4, dtype=bool))], made)
    pd.testing.assert_frame_equal(whole, before)


def test_an_earlier_release_that_cannot_be_laid_beside_refuses() -> None:
    lost = Earlier("2026-01-01T00:00:00", (people(),), np.zeros(N, dtype=bool), aligned=False, share=0.4)
    found = judged(parse(settings(limits={"max_exposed": 0})), people(), earlier=[lost])
    assert not found.verdict.passed
    assert "shares about 40% of its records with the release of 2026-01-01" in found.verdict.reasons[0]
    name = found.verdict.checks[-1].name
    assert name == "earlier_release"
    assert judged(
        parse(settings(limits={"max_exposed": 0})), people(), earlier=[lost], accepted={name: "another survey"}
    ).verdict.passed


# whom intruders look for in large files


def crowd(n: int, seed: int = 1) -> Comparison:
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": draw.normal(50, 10, n), "site": draw.choice(["a", "b"], n), "x": draw.normal(size=n)})
    frame.loc[17, "site"] = "alone"
    data = resolve(frame, {"age": Variable(role="replace", key=True), "site": Variable(key=True)})
    return Comparison(data.frame, (), data.schema, aligned=True)


def test_small_files_and_files_without_keys_are_attacked_whole() -> None:
    rng = np.random.default_rng(1)
    assert choose(crowd(MOST), None, rng=rng) is None
    keyless = resolve(crowd(MOST + 1).original, {})
    assert choose(Comparison(keyless.frame, (), keyless.schema, aligned=True), None, rng=rng) is None


def test_extremes_and_loners_are_always_looked_for_and_the_rest_is_a_simple_random_sample() -> None:
    n, times = 6000, 60
    size = PAIRS // n
    assert FEWEST < size < MOST
    comparison = crowd(n)
    order = np.argsort(comparison.original["age"].to_numpy())
    neighbours = np.full(n, 50)
    lonely = np.random.default_rng(2).choice(n, 100, replace=False)
    neighbours[lonely] = 0
    sampled = np.zeros(n)
    for seed in range(times):
        chosen = choose(comparison, neighbours, rng=np.random.default_rng(seed))
        assert chosen is not None
        targets, typical = chosen
        assert (np.diff(targets) > 0).all()
        assert typical.sum() == int(TYPICAL * size)
        assert set(np.flatnonzero(typical)) <= set(targets)
        assert {17, *lonely, *order[:EXTREMES], *order[-EXTREMES:]} <= set(targets)
        assert len(targets) <= size + 2 * EXTREMES
        sampled += typical
    # extremes and loners are in the sample as often as anybody
    share = int(TYPICAL * size) / n
    for some in (lonely, np.array([17, *order[:EXTREMES], *order[-EXTREMES:]])):
        error = np.sqrt(share * (1 - share) / (times * len(some)))
        assert sampled[some].mean() / times == pytest.approx(share, abs=4 * error)
    # and nobody more often than chance lets them: counts are binomial
    assert sampled.var() == pytest.approx(times * share * (1 - share), rel=4 * np.sqrt(2 / n))


# mechanisms that leak


def test_three_verbatim_rows_in_every_draw_are_refused() -> None:
    config = parse(settings(limits={"max_excess_verbatim": 0}))

    def planting(plan: Plan, streams: Streams) -> Release:
        made = make(config.synthesis, plan, streams=streams)
        first = made.copies[0].copy()
        first.loc[:2, ["age", "sex"]] = plan.data.frame.loc[:2, ["age", "sex"]]
        return replace(made, copies=(first, *made.copies[1:]))

    assert judged(config, people()).verdict.passed
    planted = judged(config, people(), mechanism=planting)
    (check,) = planted.verdict.checks
    assert (check.attack, check.passed) == ("verbatim", False)
    # the rows of all draws, and ages that one record alone has
    assert check.value is not None
    assert check.value >= 3


def test_donors_are_refused_and_a_regression_is_not() -> None:
    config = parse(settings(limits={"max_memorised": 0.02}))

    def handing_on(plan: Plan, streams: Streams) -> Release:
        made = make(config.synthesis, plan, streams=streams)
        rng = streams.generator("donors")
        frame = plan.data.frame
        donors = [frame[["age", "sex"]].iloc[rng.integers(0, len(frame), len(frame))] for _ in made.copies]
        copies = [frame.assign(age=one["age"].to_numpy(), sex=one["sex"].to_numpy()) for one in donors]
        return replace(made, copies=tuple(copies))

    memory = judged(config, people(), mechanism=handing_on)
    (check,) = memory.verdict.checks
    assert (check.name, check.passed) == ("max_memorised", False)
    # a person is among the donors of a copy with probability 1 - 1/e
    assert check.value == pytest.approx(1 - np.exp(-1), abs=0.15)
    assert judged(config, people()).verdict.passed


def test_masks_that_differ_by_a_rule_on_a_replaced_column_are_drawn_by_it_or_cautioned_or_refused() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=60), "z": rng.normal(size=60)})
    settings = {
        "data": {"path": "in memory"},
        "variables": {"x": {"role": "replace", "key": True, "bounds": [-9, 9]}, "z": {"key": False}},
        "groups": {"rules": {"high": "abs(x) > 1"}},
        "masks": {"x": {"method": "gaussian", "sd": 1}},
        "masks_by_group": {"high": {"x": {"method": "gaussian", "sd": 3}}},
    }

    def said(**changed: Any) -> str:
        config = parse({**settings, **changed})
        return " ".join(notes_of(config, plan_of(config, prepare(frame, config))))

    assert "Masks differ" not in said()  # regressions draw by the rule
    trees = {"synthesis": {"method": "da_mi", "model": {"method": "cart"}}}
    one_sided = {"groups": {"rules": {"high": "x > 1"}}}
    assert "Masks differ by a rule on x, which copies replace: model cart knows" in said(**trees, **one_sided)
    assert "Masks differ" not in said(**trees, groups={"rules": {"high": "abs(z) > 1"}})
    assert "Masks differ" not in said(**trees, masks_by_group={})
    for model in ("cart", "copula"):
        with pytest.raises(
            InputError, match=f"groups.rules.high: model {model} carries a rule on replaced columns only"
        ):
            said(synthesis={"method": "da_mi", "model": {"method": model}})


def test_a_few_records_that_are_unique_on_what_is_kept_are_not_called_none() -> None:
    frame = pd.DataFrame({"x": np.arange(400.0), "z": [1.0] + [0.0] * 399})
    config = parse(
        {
            "data": {"path": "in memory"},
            "variables": {"x": {"role": "replace", "key": True}, "z": {"key": False}},
            "masks": {"x": {"method": "gaussian", "sd": 1}},
        }
    )
    first, *_ = notes_of(config, plan_of(config, prepare(frame, config)))
    assert first.startswith("Under 1% of the records are unique on the kept columns alone")


# what must not pass unread, and what chance gives persons


def test_a_limit_on_attributes_that_nobody_could_answer_does_not_pass() -> None:
    made = settings(limits={"max_attribute_gain": 0.1}, evaluation={"targets": ["age"]})
    made["variables"] = made["variables"] | {"sex": {"role": "replace", "key": False}}
    found = judged(parse(made), people())
    (check,) = found.verdict.checks
    assert (check.name, check.value, check.passed) == ("max_attribute_gain", None, False)
    assert "was not measured" in check.sentence


def surveyed(sizes: list[int], **mask: Any) -> tuple[Config, pd.DataFrame]:
    draw = np.random.default_rng(1)
    n = sum(sizes)
    frame = pd.DataFrame(
        {
            "place": np.repeat(np.arange(len(sizes)), sizes),
            "age": draw.normal(50, 10, n).round(1),
            "sex": draw.choice(["F", "M"], n),
        }
    )
    keys = {name: {"role": "replace", "key": True} for name in ("age", "sex")}
    limits = {"max_expected_match_rate": 0.03, "max_individual": 0.33, "max_claims_right": 0.33}
    made = {
        "data": {"path": "in memory", "cluster": "place"},
        "variables": {"place": {"key": False}} | keys,
        "synthesis": {"copies": 2, "method": "mi"},
        "release": UNGATED | limits,
    }
    if mask:
        made |= {"masks": {"age": mask}, "synthesis": {"copies": 2, "sweeps": 5}}
    return parse(made), frame


@pytest.mark.parametrize("sizes", [[50] * 20, [150] * 2, list(range(5, 30)), [4] * 60], ids=str)
def test_copies_that_say_nothing_pass_in_clusters_of_any_size(sizes: list[int]) -> None:
    # somebody among fifty is soon found, one of two places is guessed half of the time, and a number of rows that
    # one place alone has is told by the column that is kept, not by the copies
    config, frame = surveyed(sizes)
    found = judged(config, frame)
    assert any(check.attack == "identity_persons" for check in found.verdict.checks)
    assert found.verdict.passed, found.verdict.reasons


def test_a_household_that_copies_give_away_is_still_refused() -> None:
    config, frame = surveyed([4] * 60, method="gaussian", sd=0.3)
    checks = {(one.attack, one.name): one for one in judged(config, frame).verdict.checks}
    for name in ("max_expected_match_rate", "max_individual", "max_claims_right"):
        assert not checks["identity_persons", name].passed


def test_an_epsilon_that_bounds_nothing_does_not_take_the_place_of_the_limits() -> None:
    frame = people()[["age", "sex"]].round({"age": 0})
    small, large = (
        private().model_copy(update={"synthesis": private().synthesis.model_copy(update={"epsilon": epsilon})})
        for epsilon in (20.0, 1e6)
    )
    assert small.limits == OFF
    assert large.limits == Thresholds()
    assert any("bounds almost nothing" in note for note in judged(large, frame, study=True).notes)
    # written limits are obeyed
    release = type(large.release)(**dict.fromkeys(Thresholds.model_fields))
    assert large.model_copy(update={"release": release}).limits == OFF


def test_columns_of_which_no_attribute_gain_is_read_are_named() -> None:
    made = settings(limits={"max_attribute_gain": 0.1}, evaluation={"targets": ["area"]})
    made["variables"] = made["variables"] | {"age": {"role": "replace", "key": False}}
    found = judged(parse(made), people())
    assert "max_attribute_gain is read for area (evaluation.targets), not for age." in found.notes
    plain = judged(parse(settings(limits={"max_attribute_gain": 0.1})), people()).notes
    assert not any("is read for" in note or "Nobody has said" in note for note in plain)


def test_replaced_columns_of_which_nobody_has_said_whether_they_are_known_are_named() -> None:
    made = settings(limits={"max_exposed": 0})
    made["variables"] = made["variables"] | {"age": {"role": "replace"}}
    found = judged(parse(made), people())
    (note,) = [note for note in found.notes if note.startswith("Nobody has said")]
    assert note.startswith("Nobody has said whether an intruder may know age, which copies replace")


def test_files_are_scanned_for_rows_copied_over_whatever_the_report_lists() -> None:
    frame = people()
    config = parse(settings(limits={"max_excess_verbatim": 0}, evaluation={"risk": [], "utility": []}))
    data = plan_of(config, prepare(frame, config)).released
    blind = frame.assign(age=(frame["age"] + 20).round(1), sex=np.random.default_rng(1).permutation(frame["sex"]))
    for copy, passed in ((frame, False), (blind, True)):
        files = Comparison(data.frame, (copy,), data.schema, aligned=True)
        (check,) = judge_copies(config, files, assess_comparison(config, files)).verdict.checks
        assert (check.name, check.passed) == ("max_excess_verbatim", passed)


def test_rows_of_a_kept_id_are_one_persons_although_nobody_has_said_so() -> None:
    config, frame = surveyed([4] * 60)
    raw = config.model_dump(mode="json", exclude_unset=True)
    raw["data"] = {"path": "in memory"}
    raw["variables"] = {"hhid": {"key": False}, **{name: raw["variables"][name] for name in ("age", "sex")}}
    found = judged(parse(raw), frame.rename(columns={"place": "hhid"}))
    assert any(check.attack == "identity_persons" for check in found.verdict.checks)
    assert "Rows that share a value of hhid are judged as one person's; data.cluster names another." in found.notes


def test_a_replaced_column_on_which_nobody_decided_is_judged_as_a_key() -> None:
    made = settings(limits={"max_individual": 0.33})
    variables = {name: dict(block) for name, block in made["variables"].items()}
    variables["age"].pop("key")
    found = judged(parse(made | {"variables": variables}), people())
    assert "age" in found.keys
    assert found.section()["keys"] == list(found.keys)
    assert any("whether an intruder may know age, which copies replace" in note for note in found.notes)
    decided = judged(parse(made | {"variables": variables | {"age": variables["age"] | {"key": False}}}), people())
    assert "age" not in decided.keys
    target = judged(parse(made | {"variables": variables, "evaluation": {"targets": ["age"]}}), people())
    assert "age" not in target.keys


@pytest.mark.parametrize(
    ("model", "records_a_draw", "fits"), [("auto", 2000, 4), ("auto", 75, 2), ("regression", 75, 1)]
)
def test_draws_have_a_fit_each_where_the_fit_rests_on_chance(
    model: str, records_a_draw: int, fits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two fits to a small file differ, so that draws of one fit are more alike than those of two runs."""
    config = parse(settings(synthesis={"copies": 2, "model": {"method": model}}))
    plan = plan_of(config, prepare(people(), config))
    made: list[int] = []
    sort = type(config.synthesis.model)
    fit = sort.fit
    monkeypatch.setattr(draws_module, "RECORDS_A_DRAW", records_a_draw)
    monkeypatch.setattr(sort, "fit", lambda self, task, *, rng: made.append(1) or fit(self, task, rng=rng))
    assert len(list(Draws(config, plan, Streams(SEED)).repeat(4))) == 4
    assert len(made) == fits


def test_trees_that_choose_their_leaves_by_halves_rest_on_chance() -> None:
    for model, by_chance in (({"method": "cart"}, True), ({"method": "cart", "min_leaf": 5}, False)):
        config = parse(settings(masks={}, synthesis={"method": "sequential", "model": model}))
        assert config.synthesis.fitted_by_chance is by_chance
