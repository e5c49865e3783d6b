"""Advice ends: one change that can be pasted, at most three trials, and what is to blame where masks no longer help."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from synthdp.config import Config, parse
from synthdp.config.settings import MASKS
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Check, Thresholds, Verdict
from synthdp.evaluation.gate.tally import Bound
from synthdp.evaluation.gate.verdict import check, undecided
from synthdp.evaluation.risk.exposure import evaluate_exposure
from synthdp.masking.categorical import Transition
from synthdp.seeding import Streams
from synthdp.stages import advising
from synthdp.stages.advising import (
    MOST_TRIED,
    PATIENCE,
    STEEP,
    WIDEST,
    advise,
    advise_on,
    excess,
    masks_text,
    widened,
)
from synthdp.stages.draws import Draws
from synthdp.stages.gating import judge
from synthdp.stages.intake import prepare
from synthdp.stages.kept_advice import MOST_TRIALS, Advice
from synthdp.stages.planning import plan_of
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Role

N = 150
UNGATED = dict.fromkeys(Thresholds.model_fields) | {"draws": 12}


def people(n: int = N) -> pd.DataFrame:
    draw = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "z": draw.normal(size=n).round(2),
            "year": draw.integers(1930, 1990, n),
            "age": draw.normal(50, 12, n).round(1),
            "sex": draw.choice(["F", "M"], n),
        }
    )


SETTINGS: dict[str, Any] = {
    "data": {"path": "in memory"},
    "variables": {
        "z": {"key": False},
        "year": {"key": False},
        "age": {"kind": "continuous", "role": "replace", "key": True, "tolerance": 3, "decimals": 1},
        "sex": {"role": "replace", "key": True},
    },
    "masks": {"age": {"method": "gaussian", "sd": 0.2}, "sex": {"method": "shifted_normal", "alpha": 2.0}},
    "synthesis": {"copies": 3, "sweeps": 5},
    "release": UNGATED | {"max_individual": 0.33},
}


def merged(settings: dict[str, Any], change: str) -> dict[str, Any]:
    """Return a config into which the lines were pasted, column by column."""
    made = dict(settings)
    for block, lines in yaml.safe_load(change).items():
        # a line takes the place of the old one, so it must be whole
        made[block] = made[block] | lines if block == "variables" else lines
    return made


def records(settings: dict[str, Any] = SETTINGS) -> Microdata:
    return prepare(people(), parse(settings))


def verdict(value: float | None, name: str = "max_individual", limit: float = 0.33) -> Verdict:
    return Verdict((check(name, "identity_likelihood", None if value is None else Bound(value, value, value), limit),))


class Trials:
    """Judges a changed config by a rule, and counts."""

    def __init__(self, rule: Callable[[Config], Verdict | None]) -> None:
        self.rule, self.tried = rule, []  # type: ignore[var-annotated]

    def __call__(self, config: Config) -> Verdict | None:
        self.tried.append(config)
        return self.rule(config)


def falling(config: Config, power: float) -> Verdict:
    """Return a risk that falls with the width of the mask: .9 at sd .2."""
    return verdict(0.9 * (0.2 / config.masks["age"].sd) ** power)  # type: ignore[attr-defined]


def given(settings: dict[str, Any], found: Verdict, trials: Trials) -> Advice:
    advice = advise(parse(settings), records(settings), found, trials)
    assert advice is not None
    assert advice.trials == len(trials.tried) <= MOST_TRIALS
    return advice


# masks


@pytest.mark.parametrize("power", [0.6, 1.0, 2.0, 3.0])
def test_wider_masks_are_found_in_three_trials(power: float) -> None:
    trials = Trials(lambda config: falling(config, power))
    advice = given(SETTINGS, verdict(0.9), trials)
    assert advice.why == "The masks let too much through; wider ones bring every risk within its limit."
    pasted = parse(merged(SETTINGS, advice.change))
    assert falling(pasted, power).passed
    assert advice.verdict == falling(pasted, power)
    # no wider than needed: the risk is not far below the limit, unless only the widest passed
    enough = 0.2 * (0.9 / 0.33) ** (1 / power)
    assert pasted.masks["age"].sd <= max(2.5 * enough, enough + 0.4)  # type: ignore[attr-defined]
    # nothing else changed
    assert pasted.model_copy(update={"masks": {}}) == parse(SETTINGS).model_copy(update={"masks": {}})


def test_what_is_expected_is_told() -> None:
    def rule(config: Config) -> Verdict:
        use = check("min_overlap", "panel", Bound(0.7, 0.6, 0.8), 0.6)
        return Verdict((*falling(config, 1.0).checks, use))

    section = given(SETTINGS, verdict(0.9), Trials(rule)).section()
    assert section["expected"]["verdict"] == "passed"
    assert section["expected"]["overlap"] == 0.7
    (line,) = section["expected"]["risk"]
    assert set(line) == {"name", "attack", "value", "high", "limit"}
    assert line["high"] <= 0.33


def test_masks_of_groups_are_widened_too() -> None:
    high = {"age": {"method": "gaussian", "scale": 4.0}, "sex": {"method": "transition", "keep": 0.8}}
    made = SETTINGS | {"masks_by_group": {"high": high}}
    advice = given(made, verdict(0.9), Trials(lambda config: falling(config, 1.0)))
    pasted = parse(merged(made, advice.change))
    factor = pasted.masks["age"].sd / 0.2  # type: ignore[attr-defined]
    assert pasted.masks_by_group["high"]["age"].scale == pytest.approx(4 * factor, rel=0.1)  # type: ignore[attr-defined]
    assert 0.5 < pasted.masks_by_group["high"]["sex"].keep < 0.8  # type: ignore[attr-defined]


def test_every_mask_has_a_wider_one() -> None:
    made = {
        "gaussian": [{"sd": 0.5}, {"scale": 2.0}],
        "shifted_normal": [{"alpha": 2.0}],
        "transition": [{"keep": 0.8}],
    }
    for settings in MASKS.values():
        for block in made[settings.model_fields["method"].default]:
            mask = settings(**block)
            assert mask.wider(2.0, 4) != mask
    assert Transition(keep=0.9).wider(1e9, 4).keep == 0.25  # the blind guess
    config = parse(SETTINGS)
    assert widened(config, WIDEST, records().schema).masks["age"].sd == 0.2 * WIDEST  # type: ignore[attr-defined]
    assert yaml.safe_load(masks_text(config)) == {"masks": SETTINGS["masks"]}


def test_the_pasted_masks_pass_when_judged_again() -> None:
    # a mean over records: twelve draws of so few records leave the largest of them to chance
    settings = SETTINGS | {"release": UNGATED | {"max_expected_match_rate": 0.03}}
    config = parse(settings)
    plan = plan_of(config, prepare(people(), config))
    found = judge(Draws(config, plan, Streams(1)))
    assert found.verdict.judgement == "refused"
    advice = advise_on(Draws(config, plan, Streams(1)), found, accepted={})
    assert advice["trials"] <= MOST_TRIALS
    assert advice["expected"]["verdict"] != "refused"
    pasted = parse(merged(settings, advice["change"]))
    again = judge(Draws(pasted, plan_of(pasted, prepare(people(), pasted)), Streams(2)))
    assert again.verdict.passed


# what else is to blame


def test_kept_keys_are_named_where_masks_no_longer_help() -> None:
    made = SETTINGS | {"variables": SETTINGS["variables"] | {"year": {"key": True}}}
    trials = Trials(lambda _: verdict(0.8))
    advice = given(made, verdict(0.9), trials)
    assert advice.why == "Wider masks no longer help: year is a key and kept, so it is known exactly."
    assert advice.trials == len(trials.tried) == 3  # the masks, and two of what can be done to the column
    pasted = records(merged(made, advice.change)).schema
    assert "year" in {column.name for column in pasted.replaced()}


def test_fewer_copies_where_masks_alone_do_not_help() -> None:
    trials = Trials(lambda config: verdict(0.1 if config.synthesis.copies == 2 else 0.8))
    advice = given(SETTINGS, verdict(0.9), trials)
    assert advice.why == "Wider masks no longer help with 3 copies: fewer let less through."
    pasted = parse(merged(SETTINGS, advice.change))
    assert pasted.synthesis.copies == 2
    assert pasted.masks == trials.tried[-1].masks


def test_the_kept_columns_are_named_where_nothing_helps() -> None:
    advice = given(SETTINGS, verdict(0.9), Trials(lambda _: verdict(0.8)))
    assert advice.why == (
        "Wider masks no longer help: the risk comes from what the model knows of every record. The kept columns z, "
        "year tell the model who is who: replace or drop some."
    )
    assert (advice.change, advice.verdict) == ("", None)


def test_masks_that_could_not_be_tried_are_said_to_be_untried() -> None:
    advice = advise(parse(SETTINGS), records(), verdict(0.9), Trials(lambda _: None))
    assert advice is not None
    assert advice.why.endswith("as much wider as the largest risk is over its limit, untried:")
    factor = excess(verdict(0.9)) ** STEEP
    pasted = parse(merged(SETTINGS, advice.change)).masks["age"]
    assert pasted.sd == pytest.approx(0.2 * factor, rel=0.05)  # type: ignore[union-attr]
    assert (advice.trials, advice.verdict) == (0, None)


def test_a_trial_is_not_begun_that_would_end_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    config = parse(SETTINGS | {"release": UNGATED | {"max_expected_match_rate": 0.03}})
    plan = plan_of(config, prepare(people(), config))
    found = judge(Draws(config, plan, Streams(1)))
    began: list[object] = []
    real = advising.judge
    monkeypatch.setattr(advising, "judge", lambda *given, **more: began.append(given) or real(*given, **more))
    # twelve draws took two minutes, as many would again
    late = advise_on(Draws(config, plan, Streams(1)), found, accepted={}, pace=2 * PATIENCE / 12)
    assert (late["trials"], began) == (0, [])
    assert late["why"].endswith("untried:")
    assert late["change"]
    # the first trial takes all the time there is
    clock = iter([0.0, 0.0, PATIENCE, PATIENCE, PATIENCE])
    monkeypatch.setattr(advising.time, "monotonic", lambda: next(clock))
    once = advise_on(Draws(config, plan, Streams(1)), found, accepted={})
    assert (once["trials"], len(began)) == (1, 1)
    assert once["expected"]["verdict"] != "refused"


def test_a_method_without_masks() -> None:
    made = SETTINGS | {"synthesis": {"method": "mi", "copies": 2}, "masks": {}}
    advice = given(made, verdict(0.9), Trials(lambda _: verdict(0.9)))
    assert advice.why.startswith("Method mi masks nothing: the risk comes from what the model knows")
    assert advice.trials == 0


def test_donors_are_replaced_by_a_regression() -> None:
    made = SETTINGS | {"synthesis": {"method": "sequential", "model": {"method": "cart"}, "copies": 2}, "masks": {}}
    trials = Trials(lambda _: verdict(0.01, "max_memorised", 0.02))
    advice = given(made, verdict(0.2, "max_memorised", 0.02), trials)
    assert advice.why == "Model cart memorises: it passes on values of the records it was fitted to."
    pasted = parse(merged(made, advice.change))
    assert pasted.synthesis == trials.tried[0].synthesis
    assert pasted.synthesis.model.method == "regression"  # type: ignore[union-attr]
    never = given(made, verdict(0.2, "max_memorised", 0.02), Trials(lambda _: None))
    assert never.why.endswith("such as regression or copula.")
    assert never.change == ""


def test_logs_from_the_smallest_value_are_told_and_start_from_nought() -> None:
    """The person with the smallest value lies far from all others on that scale, and no mask hides them."""
    age = SETTINGS["variables"]["age"] | {"bounds_from": "data", "transform": "log"}
    made = SETTINGS | {"variables": SETTINGS["variables"] | {"age": age}}
    found = Verdict((check("max_individual", "identity_extremes", Bound(0.9, 0.9, 0.9), 0.33),))
    trials = Trials(lambda _: found)
    advice = given(made, found, trials)
    assert len(trials.tried) == 1
    assert "age taken as logs from the smallest value in the data" in advice.why
    pasted = records(merged(made, advice.change))
    assert pasted.schema["age"].bounds == (0.0, 1000.0)
    # somebody else's figure is another matter
    other = given(made, verdict(0.9), Trials(lambda _: verdict(0.9)))
    assert "logs" not in other.why


def test_a_regression_that_memorises_is_shrunk_more() -> None:
    made = SETTINGS | {
        "synthesis": {"copies": 3, "sweeps": 5, "model": {"method": "regression", "order": ["sex", "age"]}}
    }
    over = verdict(0.1, "max_memorised", 0.02)

    def rule(config: Config) -> Verdict:
        return verdict(0.01 if config.synthesis.model.prior_sd < 0.3 else 0.1, "max_memorised", 0.02)  # type: ignore[union-attr]

    advice = given(made, over, Trials(rule))
    assert advice.why.startswith("Model regression has so many parameters for so few records")
    assert advice.verdict is not None
    assert advice.verdict.passed
    model = parse(made | {"synthesis": made["synthesis"] | yaml.safe_load(advice.change)["synthesis"]}).synthesis.model  # type: ignore[union-attr]
    assert (model.prior_sd, model.order) == (0.1, ("sex", "age"))  # type: ignore[union-attr]
    never = given(made, over, Trials(lambda _: over))
    assert never.change == ""
    assert never.why.endswith("keep fewer columns, or use model: copula.")


def alone(data: Microdata) -> int:
    """Return how many records are alone on the kept keys."""
    return int(evaluate_exposure(Comparison(data.frame, (), data.schema, aligned=True)).section()["alone"])


def test_kept_keys_with_loners_become_coarser_until_nobody_is_alone() -> None:
    made = SETTINGS | {"variables": SETTINGS["variables"] | {"year": {"key": True}, "z": {"key": True}}}
    trials = Trials(lambda _: None)
    advice = given(made, verdict(6.0, "max_exposed", 0.0), trials)
    assert advice.why.startswith("z, year are keys and kept: anyone alone with them is found with certainty.")
    assert (advice.trials, advice.verdict) == (1, None)  # as in a file that is too large: the first is not repeated
    assert alone(records(made)) > 0
    assert alone(records(merged(made, advice.change))) == 0


def test_what_the_model_cannot_replace_is_dropped_instead() -> None:
    """A column with gaps: regression would end the pasted run with an error."""
    frame = people().assign(code=lambda frame: np.where(frame["age"] > 60, np.nan, 1000.0 * np.arange(N)))
    made = SETTINGS | {"variables": SETTINGS["variables"] | {"code": {"key": None, "kind": "nominal"}}}
    found = Verdict((undecided("code", "Decide."),))

    def possible(config: Config) -> bool:
        try:
            return plan_of(config, prepare(frame, config)) is not None
        except InputError:
            return False

    advice = advise(parse(made), prepare(frame, parse(made)), found, Trials(lambda _: None), possible)
    assert advice is not None
    assert yaml.safe_load(advice.change) == {"variables": {"code": {"role": "drop"}}}
    pasted = parse(merged(made, advice.change))
    assert plan_of(pasted, prepare(frame, pasted)) is not None


def test_the_least_change_of_kept_keys_that_passes_is_advised_as_whole_lines() -> None:
    """Pasted over the old line, a change must not lose what else the line said: a key would be none."""
    year = {"kind": "continuous", "role": "keep", "key": True, "bottomcode": 1900}
    made = SETTINGS | {"variables": SETTINGS["variables"] | {"year": year}}

    def rule(config: Config) -> Verdict | None:
        return verdict(0.0 if config.variables["year"].role is Role.REPLACE else 1.0, "max_exposed", 0.0)

    advice = given(made, verdict(6.0, "max_exposed", 0.0), Trials(rule))
    assert advice.verdict is not None
    assert advice.verdict.passed
    line = yaml.safe_load(advice.change)["variables"]["year"]
    assert line == year | {"role": "replace"}
    never = advise(parse(made), records(made), verdict(6.0, "max_exposed", 0.0), Trials(rule), possible=lambda _: False)
    assert never is not None
    assert never.change == ""  # what the method cannot do is not advised


def test_a_column_that_the_method_cannot_replace_is_not_to_be_replaced() -> None:
    rng = np.random.default_rng(8)
    frame = people().assign(town=[f"t{number}" for number in rng.integers(0, 70, len(people()))])
    town = {"town": {"kind": "nominal", "role": "keep", "key": True}}
    config = parse(SETTINGS | {"variables": SETTINGS["variables"] | town})
    plan = plan_of(config, prepare(frame, config))
    judged = judge(Draws(config, plan, Streams(2)))
    advice = advise_on(Draws(config, plan, Streams(2)), judged, accepted={})
    assert yaml.safe_load(advice["change"]) == {"variables": {"town": {"role": "drop"}}}
    assert 0 < advice["trials"] <= 3


def test_undecided_columns_are_asked_about_first() -> None:
    variables = {name: value for name, value in SETTINGS["variables"].items() if name != "z"}
    made = SETTINGS | {"variables": variables}
    found = Verdict((undecided("z", "Decide."), *verdict(0.9).checks))
    advice = given(made, found, Trials(lambda _: None))
    assert (advice.trials, advice.verdict) == (1, None)
    assert advice.why.startswith("Nobody has said whether an intruder may know these kept columns.")
    pasted = records(merged(made, advice.change))
    assert pasted.schema["z"].key
    assert pasted.schema["z"].key_decided
    assert alone(pasted) == 0


def test_columns_of_the_design_stay_as_they_are() -> None:
    weighted = SETTINGS | {"data": {"path": "in memory", "weights": "z"}}
    weighted["variables"] = {name: value for name, value in SETTINGS["variables"].items() if name != "z"}
    frame = people().assign(z=lambda frame: frame["z"].abs() + 0.5)
    advice = advise(
        parse(weighted), prepare(frame, parse(weighted)), Verdict((undecided("z", "Decide."),)), Trials(lambda _: None)
    )
    assert advice is not None
    assert "z must stay as the survey's design has it: decide key: true or false." in advice.why
    assert advice.change == ""


def test_what_earlier_releases_used_up_no_setting_gives_back() -> None:
    beside = Verdict(()).beside(verdict(0.9), 2)
    advice = given(SETTINGS, beside, Trials(lambda _: None))
    assert advice.why.startswith("On its own this release would pass, but earlier releases of the same data")
    assert advice.change == ""


def test_what_could_not_be_measured_is_said() -> None:
    advice = given(SETTINGS, verdict(None), Trials(lambda _: verdict(None)))
    assert advice.why.startswith("max_individual could not be measured, and no mask changes that. Set key: true")
    assert advice.trials == 0


def test_nothing_is_advised_where_nothing_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = Trials(lambda _: None)
    assert advise(parse(SETTINGS), records(), verdict(0.1), trials) is None
    config = parse(SETTINGS)
    plan = plan_of(config, records())
    found = judge(Draws(parse(SETTINGS | {"release": UNGATED}), plan, Streams(1)))
    assert advise_on(Draws(config, plan, Streams(1)), found, accepted={}) == {}
    assert MOST_TRIED > 100_000


def test_the_largest_excess_over_a_limit() -> None:
    checks: tuple[Check, ...] = (
        *verdict(0.66).checks,
        *verdict(0.5, "max_excess_verbatim", 0.0).checks,
        *verdict(90.0, "max_exposed", 1.0).checks,  # which no mask changes
    )
    assert excess(Verdict(checks)) == pytest.approx(2.0)
    assert excess(Verdict(())) == 1.0
