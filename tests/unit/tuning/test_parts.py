"""The parts of a search: strengths, budgets, limits, the journal, what holds, and what is proposed next."""

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t

import synthdp
from synthdp.config import Config, parse
from synthdp.errors import InputError, Unfinished
from synthdp.evaluation.gate import Check
from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.stages.intake import prepare
from synthdp.tuning.asking import Budget, check_askable, limited
from synthdp.tuning.confirming import Confirmed, begin, beyond, confirm, level_for, reach
from synthdp.tuning.journal import Journal
from synthdp.tuning.leaves import TREES, ladder, leaf_of, trees_of
from synthdp.tuning.result import Tuned
from synthdp.tuning.search import Point, Search
from synthdp.tuning.shapes import Tried, propose
from synthdp.tuning.space import Shape, Space, named, space_of, told
from synthdp.tuning.strengths import Masked
from synthdp.tuning.study import all_masked
from synthdp.tuning.trials import Laboratory, Trial, ratio_of
from synthdp.tuning.writing import _why, settings_text, write_refused

BARE = {"data": {"path": "in memory"}}


def people(n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "sex": rng.choice(["f", "m"], n),
            "area": rng.choice(list("abc"), n),
            "score": rng.normal(size=n).round(2),
        }
    )


def settings(**more: object) -> dict[str, object]:
    keys = {name: {"role": "replace", "key": True} for name in ("age", "sex", "area")}
    masks = {
        "age": {"method": "gaussian", "sd": 1.0},
        "sex": {"method": "shifted_normal", "alpha": 1.0},
        "area": {"method": "transition", "keep": 0.6},
    }
    return {**BARE, "variables": {**keys, "score": {"key": False}}, "masks": masks, **more}


def space(**more: object) -> Space:
    config = parse(settings(**more))
    return space_of(config, prepare(people(), config))


def check(name: str = "max_individual", value: float = 0.1, high: float = 0.2, limit: float = 0.33) -> Check:
    return Check(name, "identity_likelihood", value, limit, high <= limit, low=0.0, high=high)


def trial(*checks: Check, draws: int = 20, rung: int = 0) -> Trial:
    passed = all(one.passed for one in checks)
    return Trial("confirm", Shape((0, 0, 0)), rung, passed, 0.8, 0.01, {"panel": 0.8}, checks, draws, 1.0)


@pytest.mark.parametrize("strength", [0.2, 0.5, 1.0, 3.0])
def test_masks_of_equal_strength_are_equally_correlated_with_their_columns(strength: float) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, 400_000).astype(float)
    masked = Masked("sex", 2, True, 0.5, ShiftedNormal(alpha=1))
    w = masked.of(strength).alpha * x + rng.standard_normal(len(x))
    stays = Masked("area", 2, True, 0.5, Transition(keep=0.6)).of(strength).keep
    kept = np.where(rng.random(len(x)) < stays, x, 1 - x)
    expected = 1 / math.sqrt(1 + strength**2)
    for noisy in (w, kept):
        # 4 standard errors of a correlation, and the two digits to which strengths are rounded
        assert abs(np.corrcoef(x, noisy)[0, 1] - expected) < 4 / math.sqrt(len(x)) + 0.02


def test_the_strength_of_a_mask_is_that_it_was_made_with() -> None:
    for given, levels, spread in (
        (Gaussian(sd=1), 0, 1.0),
        (ShiftedNormal(alpha=1), 2, 0.5),
        (Transition(keep=0.6), 4, 1.0),
    ):
        made = Masked("x", levels, True, spread, given).of(0.5)
        assert replace(Masked("x", levels, True, spread, given), given=made).strength() == pytest.approx(0.5, rel=0.05)
    assert Masked("x", 0, True, 1.0, Gaussian(scale=3)).strength() == 1.0


def test_a_graded_mask_is_as_strong_for_those_with_few_neighbours() -> None:
    made = Masked("age", 0, True, 1.0, Gaussian(sd=1)).of(1.0, graded=True)
    assert made.graded is not None
    assert made.sd * math.sqrt(made.graded / made.fewest) == pytest.approx(1.0, rel=0.02)


def test_a_matrix_written_out_in_full_is_not_varied() -> None:
    third = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    masks = {"age": {"method": "gaussian", "sd": 1.0}, "area": {"method": "transition", "matrix": third}}
    found = space(masks=masks)
    assert [one.name for one in found.columns] == ["age"]
    assert found.config_of(found.shape(), 4).masks["area"].matrix is not None


def test_candidates_are_counted_and_told_in_bits() -> None:
    found = space(tuning={"vary": ["masks"]})
    choices = math.prod(len(values) for values in found.choices().values())
    assert found.size() == 37 * choices
    assert found.bits == pytest.approx(math.log2(37 * choices))
    assert space(tuning={"vary": ["copies"]}).size() == 4, "3, 5, 10 and 20 copies"


def test_shapes_begin_with_masks_equally_strong() -> None:
    found = space()
    first, *others = found.starts()
    assert first.relative == (0, 0, 0)
    assert not first.graded
    assert any(one.graded for one in others)
    assert len(set(others)) == len(others)


def test_another_model_copies_and_w_are_moves_from_the_best() -> None:
    masks = {"age": {"method": "gaussian", "sd": 1.0}, "sex": {"method": "shifted_normal", "alpha": 1.0}}
    found = space(masks=masks)
    assert found.models[0] == "regression"
    moves = found.moves(found.shape())
    assert {"auto", 10, "once_orthogonal"} <= {
        value for one in moves for value in (one.model, one.copies, one.mask_draw)
    }
    changed = found.config_of(replace(found.shape(), model="auto", copies=10), 0)
    assert (changed.synthesis.association, changed.synthesis.copies) == ("auto", 10)


def test_risky_groups_have_stronger_masks() -> None:
    found = space()
    made = found.config_of(replace(found.shape(), groups=2), 0)
    assert set(made.masks_by_group) <= {"medium", "high"}
    assert all(block["age"].sd > made.masks["age"].sd for block in made.masks_by_group.values())


def test_kept_keys_with_which_people_are_alone_are_made_coarser() -> None:
    variables = {
        "age": {"role": "replace", "key": True},
        "score": {"key": True},
        "sex": {"key": False},
        "area": {"key": False},
    }
    found = space(variables=variables, masks={"age": {"method": "gaussian", "sd": 1.0}})
    assert found.only_coarser == (found.coarser is not None)
    if found.coarser is not None:
        assert found.config_of(found.shape(), 0).variables["score"].round is not None


@pytest.mark.parametrize(("text", "seconds", "trials"), [("90s", 90.0, None), ("1.5h", 5400.0, None), ("40", None, 40)])
def test_budgets(text: str, seconds: float | None, trials: int | None) -> None:
    assert Budget.of(text) == Budget(seconds, trials)


@pytest.mark.parametrize(
    "text", ["", " ", "soon", "0", "00", "0m", "-1", "-5m", "1y", "20 years", "nan", "1e3", "9" * 5000, "٣", "²"]
)
def test_a_budget_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match=r"must be a time such as 90s, 20m or 1h, or a number of trials such as 40"):
        Budget.of(text)


def test_a_budget_is_spent() -> None:
    assert Budget(100.0).left(49.0, 10**6, 0.5)
    assert not Budget(100.0).left(51.0, 0, 0.5)
    assert not Budget(None, 10).left(0.0, 5, 0.5)


def test_limits_of_the_command_line() -> None:
    config = limited(parse(settings()), ["max_individual=0.2", "max_mean_individual = 0.01"])
    assert (config.release.max_individual, config.release.max_mean_individual) == (0.2, 0.01)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_individual", "must have the form NAME=VALUE"),
        ("max_indvidual=0.2", "did you mean 'max_individual'"),
        ("min_overlap=0.2", "no limit on a risk has this name"),
        ("max_individual=little", "must be a number of 0 or more"),
        ("max_individual=-1", "must be a number of 0 or more"),
        ("max_individual=nan", "must be a number of 0 or more"),
        ("max_individual=inf", "must be a number of 0 or more"),
        ("max_individual=2", "is a share, so at most 1; for 20% write max_individual=0.2"),
    ],
)
def test_limits_that_are_none(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        limited(parse(settings()), [text])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"synthesis": {"method": "dp_histogram", "epsilon": 1}}, "which the guarantee of dp_histogram does not cover"),
        ({"synthesis": {"method": "mi"}}, "varies masks, and method mi has none"),
        ({"tuning": {"goal": "analyses"}}, "analyses needs analyses in the config"),
    ],
)
def test_what_cannot_be_tuned_is_refused_in_a_sentence(more: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_askable(parse(settings(**more)))


def test_without_limits_there_is_nothing_to_tune() -> None:
    off = {name: None for name in parse(BARE).release.model_dump() if name.startswith("max_")}
    with pytest.raises(InputError, match="no risk has a limit, so the best mask is none"):
        check_askable(parse(settings(release=off)))


def test_a_journal_answers_what_was_tried(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "trials.sqlite")
    seed = journal.begin({"a": 1}, None)
    assert seed >= 2**64
    journal.keep(["explore", 1], {"use": 0.5})
    journal.close()
    again = Journal(tmp_path / "trials.sqlite")
    assert again.begin({"a": 1}, None) == seed
    assert again.find(["explore", 1]) == {"use": 0.5}
    assert again.find(["explore", 2]) is None
    assert (tmp_path / "trials.sqlite").stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match=r"another a, the seed; choose another --out"):
        again.begin({"a": 2}, seed + 1)


def test_a_journal_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "trials.sqlite"
    path.write_text("no database, but long enough to be taken for something else " * 40)
    with pytest.raises(InputError, match="the journal of the trials is damaged"):
        Journal(path)


def test_a_damaged_line_of_a_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "trials.sqlite")
    journal.begin({}, 1)
    journal._held.execute("update search set value = 'x' where name = 'seed'")
    with pytest.raises(InputError, match="is damaged"):
        journal.begin({}, 1)
    journal.keep("k", {})
    journal._held.execute("update trials set found = '{'")
    with pytest.raises(InputError, match="is damaged"):
        journal.find("k")
    journal._held.execute("drop table trials")
    with pytest.raises(InputError, match="is damaged"):
        journal.find("k")
    with pytest.raises(InputError, match="is damaged"):
        journal.keep("k", {})


@pytest.mark.parametrize("asked", ["[]", "7", "null", "{"])
def test_a_question_that_was_damaged(tmp_path: Path, asked: str) -> None:
    journal = Journal(tmp_path / "trials.sqlite")
    journal.begin({}, 1)
    journal._held.execute("update search set value = ? where name = 'asked'", (asked,))
    with pytest.raises(InputError, match="is damaged"):
        journal.begin({}, 1)


def test_a_journal_on_a_full_disk_and_one_that_may_not_be_written(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "trials.sqlite")
    journal.begin({}, 1)
    pages = journal._held.execute("pragma page_count").fetchone()[0]
    journal._held.execute(f"pragma max_page_count = {pages}")  # what a full disk does
    with pytest.raises(Unfinished, match="could not be written"):
        journal.keep("k", {"long": "x" * 20_000})
    assert journal.find("k") is None
    journal._held.execute("pragma query_only = 1")
    with pytest.raises(InputError, match="no permission to write"):
        journal.keep("k", {})


def test_a_trial_that_was_damaged(tmp_path: Path) -> None:
    found = space()
    journal = Journal(tmp_path / "trials.sqlite")
    lab = Laboratory(found, people(), (), prepare(people(), found.config), None, Streams(1), journal)  # type: ignore[arg-type]
    lab.journal.keep(["explore", asdict(found.shape()), 0, 6, 1, 0, True, [], None], {"shape": {}})
    with pytest.raises(InputError, match="is damaged"):
        lab.try_out("explore", found.shape(), 0, draws=6)


def test_masks_of_groups_that_are_not_tuned_stay() -> None:
    matrix = {"method": "transition", "matrix": [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]}
    masks = {"age": {"method": "gaussian", "sd": 1.0}}
    by_group = {"low": {"area": matrix}, "medium": {"area": matrix}, "high": {"area": matrix, "age": masks["age"]}}
    found = space(masks=masks, masks_by_group=by_group)
    even = found.config_of(found.shape(), 4)
    assert {tag: list(block) for tag, block in even.masks_by_group.items()} == {tag: ["area"] for tag in by_group}
    strong = found.config_of(replace(found.shape(), groups=2), 4)
    assert list(strong.masks_by_group[found.tags[-1]]) == ["area", "age"]
    assert strong.masks_by_group[found.tags[-1]]["area"] == found.config.masks_by_group["high"]["area"]


def test_settings_that_are_tuned_again_were_chosen_twice() -> None:
    once = Tuned(space(), (trial(check()),) * 3, trial(check())).promise()
    again = Tuned(space(tuned=once.model_dump()), (trial(check()),) * 4, trial(check())).promise()
    assert (once.trials, again.trials) == (3, 7)
    assert again.bits == pytest.approx(2 * once.bits, abs=0.1)


def test_settings_for_a_table_in_memory_ask_for_its_file(tmp_path: Path) -> None:
    found = Tuned(space(), (trial(check()),), trial(check()))
    assert "the table was in memory: name its file" in settings_text(found, tmp_path, Path("in memory"))
    (tmp_path / "people.csv").touch()
    text = settings_text(found, tmp_path / "tuned", tmp_path / "people.csv")
    assert "runs as it is" in text
    assert "path: ../people.csv" in text


def test_a_search_that_finds_nothing_leaves_no_settings(tmp_path: Path) -> None:
    (tmp_path / "tuned.yaml").write_text("of a search with a smaller budget")
    write_refused(space(), (trial(check()),), ["nothing"], "", tmp_path)
    assert not (tmp_path / "tuned.yaml").exists()
    assert "Nothing satisfies the limits" in (tmp_path / "report.html").read_text()


def test_names_are_escaped_on_the_page(tmp_path: Path) -> None:
    write_refused(space(), (replace(trial(check()), problem="<script>x</script>"),), ["<b>"], "<i>", tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert not any(word in page for word in ("<script>x", "<p><b>", "<i>"))


def test_what_reaches_the_limit_in_five_of_a_hundred_judgements() -> None:
    """Simulated judgements of a normal figure: the upper end stays under ``reach`` about as often as it says."""
    rng, draws, holds = np.random.default_rng(3), 20, 0.95
    inside = []
    for _ in range(4000):
        first, second = rng.normal(0.0, 1.0, (2, draws))
        ends = [x.mean() + t.ppf(0.975, draws - 1) * x.std(ddof=1) / math.sqrt(draws) for x in (first, second)]
        far = reach(Check("max_individual", "a", first.mean(), 9.0, True, low=-9.0, high=ends[0]), draws, holds)
        inside.append(ends[1] <= far)
    # the sd of the second half is estimated too, so a little less than 95%
    assert 0.90 < np.mean(inside) < 0.97
    assert reach(replace(check(), high=None), draws, holds) == 0.1


def test_what_reaches_the_limit_where_a_judgement_in_doubt_has_more_draws() -> None:
    rng, draws, final, holds = np.random.default_rng(4), 20, 60, 0.95
    inside = []
    for _ in range(4000):
        first, second = rng.normal(0.0, 1.0, draws), rng.normal(0.0, 1.0, final)
        ends = [x.mean() + t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x)) for x in (first, second)]
        now = Check("max_individual", "a", first.mean(), 9.0, True, low=-9.0, high=ends[0])
        far, narrow = reach(now, draws, holds, final=final), reach(now, draws, holds)
        inside.append(ends[1] <= far)
        assert far < narrow
    assert 0.92 < np.mean(inside) < 0.97


def test_a_mean_over_all_records_rests_on_a_few_draws_whatever_their_number() -> None:
    gain = Check("max_attribute_gain", "attribute", 0.05, 0.1, True, low=0.03, high=0.07)
    error = 0.02 / t.ppf(0.975, 4)
    expected = 0.07 + norm.ppf(0.95) * math.sqrt(2) * error
    assert reach(gain, 20, 0.95, final=60) == pytest.approx(expected)
    assert reach(gain, 60, 0.95) == pytest.approx(expected)


def test_the_level_of_few_draws_ends_where_many_would_with_their_margin() -> None:
    level = level_for(12, 0.95, final=60)
    quantile = t.ppf((1 + level) / 2, 11) / math.sqrt(12)
    assert quantile == pytest.approx((t.ppf(0.975, 59) + norm.ppf(0.95) * math.sqrt(2)) / math.sqrt(60))


def test_what_was_not_measured_does_not_hold() -> None:
    missing = Check("max_individual", "identity", None, 0.33, False)
    assert beyond(trial(missing), 0.95) == (missing,)
    assert math.isinf(ratio_of(missing))
    assert ratio_of(check("max_exposed", 2.0, 2.0, 0.0)) == 3.0


def test_a_confirmation_that_fails_goes_to_the_next_safer_rung() -> None:
    asked: list[tuple[int, int]] = []

    def look(rung: int, times: int) -> Trial:
        asked.append((rung, times))
        high = {0: 0.5, 1: 0.40, 2: 0.31}.get(rung, 0.15)
        return trial(check(value=high - 0.05, high=high), rung=rung)

    found = confirm(look, 1, holds=0.95, final=60, more=lambda: True)
    assert found.trial is not None
    assert found.trial.rung == 3
    assert found.steps == (("max_individual",), ("max_individual",))
    # the second passed and left it open whether others would: three times as many draws were asked
    assert asked == [(1, 1), (2, 1), (2, 3), (3, 1)]


def test_a_confirmation_with_all_its_draws_is_not_repeated() -> None:
    asked: list[tuple[int, int]] = []

    def look(rung: int, times: int) -> Trial:
        asked.append((rung, times))
        return trial(check(value=0.26, high=0.31 if rung else 0.27), rung=rung, draws=60)

    found = confirm(look, 1, holds=0.95, final=60, more=lambda: len(asked) < 5)
    assert found.trial is None
    assert {times for _, times in asked} == {1}


def test_a_confirmation_begins_where_more_than_luck_may_be_expected() -> None:
    narrow, safe = check(value=0.28, high=0.32), check(value=0.1, high=0.12)
    refined = [trial(safe, rung=3), trial(narrow, rung=1), trial(narrow, rung=2)]
    assert begin(refined, 1, holds=0.95, final=60) == 3
    assert begin(refined[1:], 1, holds=0.95, final=60) == 3
    assert begin([], 1, holds=0.95, final=60) == 1


def test_where_nothing_holds_there_is_no_answer() -> None:
    found = confirm(lambda rung, times: trial(check(high=0.9), rung=rung), 15, holds=0.95, final=60, more=lambda: True)
    assert found.trial is None
    asked: list[int] = []

    def never(rung: int, times: int) -> Trial:
        asked.append(rung)
        return trial(check(high=0.35), rung=rung)

    assert confirm(never, -18, holds=0.95, final=60, more=lambda: False).trial is None
    assert len(asked) == 4


def test_the_same_seed_proposes_the_same_shapes() -> None:
    found = space()
    tried = [Tried(shape, 0.8 - 0.01 * place, 0.0) for place, shape in enumerate(found.starts())]
    tried.append(Tried(replace(found.shape(), copies=10), 0.7, 0.4))
    one, two = (propose(found, tried, seed=7) for _ in range(2))
    assert one == two
    assert one not in {each.shape for each in tried}
    assert propose(space(tuning={"vary": ["coarsening"]}), [], seed=1) is None


def test_a_replaced_column_without_a_mask_gets_one_where_masks_are_varied() -> None:
    masks = {"age": {"method": "gaussian", "sd": 0.5}}
    config = parse(settings(masks=masks))
    data = prepare(people(), config)
    found = all_masked(config, data)
    assert found.masks["age"] == config.masks["age"]
    assert {name: mask.method for name, mask in found.masks.items()} == {
        "age": "gaussian",
        "sex": "shifted_normal",
        "area": "transition",
    }
    fixed = parse(settings(masks=masks, tuning={"vary": ["model"]}))
    assert all_masked(fixed, data) == fixed
    matrix = {"area": {"method": "transition", "keep": 0.6}}
    by_group = parse(settings(masks=masks, masks_by_group={"high": matrix}))
    assert "area" not in all_masked(by_group, data).masks


def test_a_mask_that_the_design_does_not_allow_is_not_added() -> None:
    config = parse(
        settings(masks={"age": {"method": "gaussian", "sd": 0.5}}, synthesis={"mask_draw": "once_orthogonal"})
    )
    assert all_masked(config, prepare(people(), config)) == config


def test_a_file_that_is_tuned_for_in_python_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    asked: list[Config] = []
    monkeypatch.setattr("synthdp.api.tuned", lambda config, **more: asked.append(config))
    blocks = {name: block for name, block in settings().items() if name != "data"}
    synthdp.tune(str(tmp_path / "people.csv"), blocks)
    synthdp.tune(people(), blocks)
    assert [str(config.data.path) for config in asked] == [str(tmp_path / "people.csv"), "in memory"]


@pytest.mark.parametrize(
    ("given", "levels", "spread", "graded", "said"),
    [
        (Gaussian(sd=1), 0, 1.0, False, "noise of 0.5 times the column's own spread"),
        (
            Gaussian(sd=1),
            0,
            1.0,
            True,
            "noise of 0.5 times the column's own spread for people with few like them, less for others",
        ),
        # alpha 4 on levels with a spread of 0.5: the noise has sd 1 where the signal has sd 2
        (
            ShiftedNormal(alpha=1),
            2,
            0.5,
            False,
            "noise of sd 1 on levels 4 apart: 0.5 times the column's own spread",
        ),
        (
            Transition(keep=0.6),
            4,
            1.0,
            False,
            "says the true level with probability 0.92, else one of the other 3 by chance",
        ),
        (Transition(keep=0.6), 2, 0.5, False, "says the true level with probability 0.95, else the other"),
        (Gaussian(scale=3), 0, 1.0, False, "noise of 0.5 times the column's own spread"),
    ],
)
def test_the_reason_beside_a_mask_says_what_its_figure_means(given, levels, spread, graded, said) -> None:
    one = Masked("x", levels, True, spread, given)
    assert _why(one, one.of(0.5, graded=graded), 0.5, 0) == said
    weaker = _why(one, one.of(0.5, graded=graded), 1.0, -2)
    assert weaker == f"{said}; 2 times weaker than the common strength of 1"
    assert _why(one, one.of(0.5, graded=graded), 0.25, 2).endswith(
        "; 2 times stronger than the common strength of 0.25"
    )


def test_the_reason_is_true_of_what_a_mask_does() -> None:
    rng = np.random.default_rng(5)
    place = rng.integers(0, 4, size=200_000)
    spread = float(place.std())
    one = Masked("x", 4, True, spread, ShiftedNormal(alpha=1))
    made = one.of(0.5)
    noise = rng.standard_normal(len(place)) / made.alpha  # W / alpha is the position plus this
    assert f": {noise.std() / spread:.1g} times the column's own spread" in _why(one, made, 0.5, 0)
    other = Masked("x", 4, True, spread, Transition(keep=0.6))
    kept = other.of(0.5)
    drawn = np.where(rng.random(len(place)) < kept.keep, place, (place + rng.integers(1, 4, len(place))) % 4)
    assert (drawn == place).mean() == pytest.approx(kept.keep, abs=4 * math.sqrt(0.25 / len(place)))
    assert f"probability {kept.keep:.2g}, else one of the other 3" in _why(other, kept, 0.5, 0)


class Bench:
    """A laboratory whose trials follow a law instead of draws: law(shape, rung, stage) is (ratio, usefulness)."""

    def __init__(self, law: Callable[[Shape, int, str], tuple[float, float]], space: Space) -> None:
        self.law, self.space, self.rows, self.spent = law, space, None, 0.0
        self.data: list[int] = [0] * 300
        self.trials: list[Trial] = []

    def try_out(self, stage: str, shape: Shape, rung: int, **asked: Any) -> Trial:
        ratio, use = self.law(shape, rung, stage)
        found = Check("max_individual", "identity", ratio, 1.0, ratio <= 1, low=ratio, high=ratio)
        made = Trial(stage, shape, rung, ratio <= 1, use, 0.0, {}, (found,), 60, 0.0)
        self.trials.append(made)
        return made


def searched(law: Callable[[Shape, int, str], tuple[float, float]]) -> tuple[Bench, list[Point], Confirmed]:
    bench = Bench(law, space(synthesis={"copies": 3}))
    search = Search(cast(Any, bench), Budget.of("60"), 1, lambda _: None)
    explored = search.explore()
    refined = search.refine(explored)
    return bench, refined, search.confirm_first(refined, explored)


def test_what_a_few_draws_refuse_narrowly_under_the_strongest_masks_is_asked_again() -> None:
    """Ten copies are more useful; their few draws are over the limit by a tenth, and many draws are not."""

    def law(shape: Shape, rung: int, stage: str) -> tuple[float, float]:
        if shape.copies == 10:
            return (1.1 if stage == "explore" else 0.9), 0.9
        return (1.2 if rung < 10 else 0.8), 0.7

    _, points, found = searched(law)
    assert points[0].shape.copies == 10
    assert found.trial is not None
    assert found.trial.shape.copies == 10


def test_where_the_best_does_not_hold_the_next_best_is_confirmed() -> None:
    def law(shape: Shape, rung: int, stage: str) -> tuple[float, float]:
        if shape.copies == 10:
            return (1.1 if stage == "confirm" or rung < 10 else 0.9), 0.9
        return (1.2 if rung < 10 else 0.8), 0.7

    _, points, found = searched(law)
    assert points[0].shape.copies == 10
    assert found.trial is not None
    assert found.trial.shape.copies != 10
    assert found.steps


def test_changes_of_a_shape_that_no_masks_are_enough_for_are_dropped_once_something_passes() -> None:
    def law(shape: Shape, rung: int, stage: str) -> tuple[float, float]:
        return (0.8 if shape.copies == 5 and rung > 8 else 3.0), 0.5 + shape.copies / 100

    bench, points, _ = searched(law)
    assert {one.shape.copies for one in points} == {5}
    after = [one.shape for one in bench.trials if one.stage == "explore"]
    first = next(place for place, shape in enumerate(after) if shape.copies == 5)
    assert all(shape.copies >= 5 for shape in after[first:][:4]), "the better shape's own changes come next"


def test_many_copies_are_tried_of_small_files_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert max(space().copies) == 20
    monkeypatch.setattr("synthdp.tuning.space.SMALL", 100)
    assert max(space().copies) == 10


def test_where_the_most_copies_are_better_those_between_are_not_tried_first() -> None:
    def law(shape: Shape, rung: int, stage: str) -> tuple[float, float]:
        return (1.2 if rung < shape.copies / 2 else 0.8), 0.5 + shape.copies / 100

    bench, _, found = searched(law)
    assert found.trial is not None
    assert found.trial.shape.copies == 20
    tried = list(dict.fromkeys(one.shape.copies for one in bench.trials if one.stage == "explore"))
    assert tried[:2] == [3, 20]


def test_masks_equally_strong_are_among_the_finalists() -> None:
    """A few draws flatter shapes with unequal masks by .02; many draws say that equal ones are better by .01."""

    def law(shape: Shape, rung: int, stage: str) -> tuple[float, float]:
        unequal = any(shape.relative) or shape.graded or shape.groups > 0
        gained = (0.02 if stage == "explore" else -0.01) * unequal + 0.001 * sum(shape.relative) / 12
        return (1.2 if rung < 4 else 0.8), 0.7 + gained

    bench, refined, found = searched(law)
    assert len({one.shape for one in bench.trials if one.stage == "refine"}) == 3
    assert refined[0].shape.relative == (0, 0, 0)
    assert found.trial is not None
    assert found.trial.shape == bench.space.plain(found.trial.shape)


def test_the_best_is_refined_first_where_nothing_plain_passed() -> None:
    def law(shape: Shape, rung: int, stage: str) -> tuple[float, float]:
        return (0.8 if any(shape.relative) else 1.5), 0.7

    _, refined, _ = searched(law)
    assert refined
    assert all(any(one.shape.relative) for one in refined)


def test_leaves_of_trees_have_the_ladder_of_masks() -> None:
    low, high = ladder(TREES)
    sizes = [leaf_of(rung) for rung in range(low, high + 1)]
    assert sizes == sorted(set(sizes)), "every rung has leaves of its own size"
    assert (sizes[0], leaf_of(0), leaf_of(4)) == (5, 20, 40)
    assert ladder("auto") == (-18, 18)


def test_trees_take_the_place_of_masks_and_groups() -> None:
    found = space(masks_by_group={"high": {"age": {"method": "gaussian", "sd": 2.0}}})
    (trees, few) = found.trees(replace(found.shape(), copies=20, graded=True, relative=(1, 0, 0)))
    assert (trees.copies, few.copies) == (20, found.copies[0])
    config = found.config_of(trees, 4)
    assert (config.masks, config.masks_by_group) == ({}, {})
    assert (config.synthesis.method, config.synthesis.copies) == ("sequential", 20)
    assert config.synthesis.model.min_leaf == 40
    assert config.variables == found.config.variables
    assert found.shape({"model": TREES, "graded": True, "masks.age": 3}) == found.trees(found.shape())[0]
    assert TREES not in {one.model for one in found.starts(trees)}
    moves = found.moves(trees)
    assert all(one.mask_draw == trees.mask_draw for one in moves)
    assert {one.copies for one in moves if one.model == TREES} > {3, 10}
    assert told(found, trees) == "sequential cart, 20 copies"
    assert named(found, trees, 4) == "sequential cart, 20 copies, leaves of 40"


@pytest.mark.parametrize(
    "more",
    [
        {"tuning": {"vary": ["model"]}},
        {"tuning": {"vary": ["masks"]}},
        {"synthesis": {"imputations": 2, "missing": "impute"}},
        {"masks": {"area": {"method": "transition", "matrix": [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]}}},
    ],
)
def test_trees_are_not_offered_where_masks_are_not_tunes_to_vary(more: dict[str, Any]) -> None:
    config = parse(settings(**more))
    assert TREES not in Space(config, (), (), ("regression",), (5,), ("per_copy",)).choices().get("model", ())
    try:
        found = space(**more)
    except InputError:
        assert trees_of(config, 5, 0) is None
        return
    assert TREES not in found.models
    assert found.trees(found.shape()) == []


def test_trees_that_are_more_useful_within_the_limits_are_found() -> None:
    """Trees keep the limit from leaves of 34 on; their own number of copies is as good as more."""

    def law(shape: Shape, rung: int, stage: str) -> tuple[float, float]:
        if shape.model == TREES:
            return (1.2 if rung < 3 else 0.8), 0.9 - 0.01 * rung
        return (1.2 if rung < 8 else 0.8), 0.92 - 0.01 * rung + shape.copies / 1000

    bench, refined, found = searched(law)
    assert found.trial is not None
    assert (found.trial.shape.model, found.trial.rung) == (TREES, 3)
    assert any(one.shape.model != TREES for one in refined), "the best masks are among the finalists"
    assert all(one.rung >= ladder(TREES)[0] for one in bench.trials if one.shape.model == TREES)


def test_what_is_far_less_useful_is_not_refined() -> None:
    def law(shape: Shape, rung: int, stage: str) -> tuple[float, float]:
        return (1.2 if rung < 3 else 0.8), 0.5 if shape.model == TREES else 0.8

    bench, _, _ = searched(law)
    assert {one.shape.model for one in bench.trials if one.stage == "explore"} >= {TREES}
    assert TREES not in {one.shape.model for one in bench.trials if one.stage == "refine"}


def test_where_confirming_takes_much_stronger_masks_the_next_best_is_confirmed_too() -> None:
    """Unequal masks need to be far stronger than few draws said, and are less useful then than equal ones."""

    def law(shape: Shape, rung: int, stage: str) -> tuple[float, float]:
        if any(shape.relative) or shape.graded or shape.groups:
            return (0.8 if rung > (10 if stage == "confirm" else 4) else 1.2), 0.81 if rung < 8 else 0.7
        return (0.8 if rung > 4 else 1.2), 0.8

    bench, refined, found = searched(law)
    assert refined[0].shape != bench.space.plain(refined[0].shape)
    assert found.trial is not None
    assert found.trial.use == 0.8
    assert found.steps


def test_where_masks_say_next_to_nothing_other_changes_come_before_unequal_masks() -> None:
    def law(shape: Shape, rung: int, stage: str) -> tuple[float, float]:
        return (0.8 if rung > 10 and shape.model != TREES else 1.2), 0.8

    bench, _, _ = searched(law)
    explored = list(dict.fromkeys(one.shape for one in bench.trials if one.stage == "explore"))
    equal = [one == bench.space.plain(one) for one in explored]
    assert {"auto", "copula"} <= {one.model for one in explored[: equal.index(False)]}


def test_masks_are_refined_beside_trees_whatever_is_left_of_the_budget() -> None:
    """Few draws say that leaves of 5 do; many say that it takes leaves of 113, which are less useful than masks."""

    def law(shape: Shape, rung: int, stage: str) -> tuple[float, float]:
        if shape.model == TREES:
            return (1.2 if rung < (10 if stage != "explore" else -8) else 0.8), 0.9 if rung < 0 else 0.7
        return (1.2 if rung < 4 else 0.8), 0.885

    bench = Bench(law, space(synthesis={"copies": 3}))
    search = Search(cast(Any, bench), Budget.of("4"), 1, lambda _: None)
    even = bench.space.shape()
    refined = search.refine([Point(bench.space.trees(even)[0], -8, 0.9), Point(even, 4, 0.885)])
    assert len(bench.trials) > 4, "the budget is spent on the trees alone"
    assert [one.shape.model for one in refined] == [even.model, TREES]
