"""The intruder who knows mask, model and parameters: the posterior's closed form, its ends, and the way to the gate."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from gaussian_channel import GaussianChannel
from typer.testing import CliRunner

from synthdp import pipeline
from synthdp.cli import app
from synthdp.config import Config, parse
from synthdp.datasets import registry
from synthdp.evaluation.assessment import assess
from synthdp.evaluation.comparison import Comparison, Making
from synthdp.evaluation.gate import Thresholds
from synthdp.evaluation.risk.bayes import evaluate_bayes
from synthdp.evaluation.risk.likelihood import LikelihoodRisk, evaluate_likelihood
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.stages.informed_intruder import Posterior, informed_intruder, learnt_intruder, make_again, teach
from synthdp.stages.intake import prepare
from synthdp.stages.learnt_laws import Key, Line, Logit, classes_of, lines, logits, told_apart
from synthdp.stages.planning import plan_of
from synthdp.synthesis.making import make
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Floats, resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Rules, tag

COPIES = 5
SLOPE = 0.7


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def regression(n: int, seed: int) -> pd.DataFrame:
    draw = rng(seed)
    z = draw.normal(size=n)
    return pd.DataFrame({"z": z, "x": SLOPE * z + draw.normal(size=n)})


def world(
    frame: pd.DataFrame, sd: float, mask_draw: str, *, seed: int = 7, **more: Any
) -> tuple[Plan, Comparison, Any]:
    settings = {
        "data": {"path": "in memory"},
        "variables": {"x": {"kind": "continuous", "role": "replace", "key": True}},
        "masks": {"x": {"method": "gaussian", "scale": sd}},
        "synthesis": {"copies": COPIES, "mask_draw": mask_draw},
    }
    return built(parse(settings | more), frame, seed)


def built(config: Config, frame: pd.DataFrame, seed: int = 7) -> tuple[Plan, Comparison, Any]:
    plan = plan_of(config, prepare(frame, config))

    def remake(streams: Streams) -> Any:
        return make(config.synthesis, plan, streams=streams).copies

    data = plan.released
    copies = remake(Streams(seed))
    return plan, Comparison(data.frame, copies, data.schema, aligned=True, groups=plan.tags.labels), remake


def learnt(plan: Plan, comparison: Comparison, remake: Any) -> Posterior:
    draw = rng()
    again = make_again(plan, remake, len(comparison.copies), rng=draw)
    return teach(plan, again, rng=draw).reading(plan, comparison.copies)


def closed_form(frame: pd.DataFrame, comparison: Comparison, sd: float, mask_draw: str) -> GaussianChannel:
    """The channel of one key under a linear regression and a Gaussian mask, parameters at their estimates."""
    design = np.column_stack([np.ones(len(frame)), frame["z"]])
    x = frame["x"].to_numpy()
    mean = design @ np.linalg.lstsq(design, x)[0]
    tau = float(np.sum((x - mean) ** 2) / (len(x) - 2))
    kappa = tau / (tau + sd**2)
    masks, draws = kappa**2 * sd**2, kappa * sd**2
    return GaussianChannel(
        x,
        np.stack([copy["x"].to_numpy() for copy in comparison.copies]),
        sd=np.sqrt(draws + (masks if mask_draw == "per_copy" else 0.0)),
        common=np.sqrt(masks) if mask_draw == "once" else 0.0,
        intercept=(1 - kappa) * mean,
        slope=kappa,
        prior_mean=mean,
        prior_sd=np.sqrt(tau),
    )


def line_of(posterior: Posterior, spread: float, fold: int) -> tuple[float, float, float]:
    """What was learnt, on the scale of x: slope on the mean of the copies, slope on z, sd."""
    law = posterior.laws[fold][0][0]
    assert isinstance(law, Line)
    return float(law.shown[2]), float(law.shown[1] * spread), law.sd * spread


@pytest.mark.parametrize("mask_draw", ["per_copy", "once"])
@pytest.mark.parametrize("sd", [0.3, 1.0, 3.0])
def test_the_learnt_posterior_is_the_closed_form(sd: float, mask_draw: str) -> None:
    # x given z and the mean of the copies: precision 1/τ² + κ²/s², with s² the variance of that mean given x
    n = 4000
    frame = regression(n, seed=1)
    plan, comparison, remake = world(frame, sd, mask_draw)
    posterior = learnt(plan, comparison, remake)
    exact = closed_form(frame, comparison, sd, mask_draw)
    told = exact.slope**2 / (exact.sd**2 / COPIES + exact.common**2)
    variance = 1 / (exact.prior_sd**-2 + told)
    on_mean = variance * told / exact.slope
    on_z = SLOPE * (variance * exact.prior_sd**-2 - on_mean * (1 - exact.slope))
    spread, centred = float(frame["x"].std(ddof=0)), float(frame["z"].std(ddof=0))
    # Monte Carlo error: x is learnt from 4 n/5 records; the mean of copies varies about what z says by `scatter`
    scatter = exact.slope * np.sqrt(exact.prior_sd**2 + 1 / told)
    error = np.sqrt(variance / (0.8 * n))
    for fold in range(5):
        slope, slope_z, found = line_of(posterior, spread, fold)
        assert slope == pytest.approx(on_mean, abs=4 * error / scatter)
        assert slope_z == pytest.approx(on_z * centred, abs=4 * error * (1 + SLOPE / scatter) + 4 * SLOPE / np.sqrt(n))
        assert found**2 == pytest.approx(variance, rel=4 * np.sqrt(2 / (0.8 * n)))


def test_large_files_are_learnt_by_halves_and_nobody_teaches_about_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 4000
    frame = regression(n, seed=1)
    plan, comparison, remake = world(frame, 1.0, "per_copy")
    attacked = []
    for many in (n + 1, n):
        monkeypatch.setattr("synthdp.stages.informed_intruder.MANY", many)
        posterior = learnt(plan, comparison, remake)
        attacked.append(evaluate_bayes(comparison, posterior, rng=rng()).predicted_links)
    assert sorted(np.unique(posterior.folds)) == [0, 1]
    assert len(posterior.laws) == 2
    exact = closed_form(frame, comparison, 1.0, "per_copy")
    variance = 1 / (exact.prior_sd**-2 + exact.slope**2 * COPIES / exact.sd**2)
    spread = float(frame["x"].std(ddof=0))
    for fold in range(2):
        assert line_of(posterior, spread, fold)[2] ** 2 == pytest.approx(variance, rel=4 * np.sqrt(2 / (0.5 * n)))
    # the same records, attacked by what four fifths and what a half taught
    assert attacked[1] == pytest.approx(attacked[0], rel=0.05)


def test_the_mask_is_told_from_the_draw() -> None:
    # W once: the mask's part stays however many copies there are, so the posterior is wider than with W per copy
    frame = regression(2000, seed=2)
    found = {}
    for mask_draw in ("per_copy", "once"):
        plan, comparison, remake = world(frame, 1.0, mask_draw)
        posterior = learnt(plan, comparison, remake)
        found[mask_draw] = line_of(posterior, 1.0, 0)[2]
    assert found["once"] > 1.1 * found["per_copy"]


@pytest.mark.parametrize("mask_draw", ["per_copy", "once"])
def test_the_attack_is_as_strong_as_the_exact_one_and_no_weaker_than_estimating(mask_draw: str) -> None:
    learnt, exact, estimated, claimed = [], [], [], []
    for seed in range(8):
        frame = regression(400, seed)
        plan, comparison, remake = world(frame, 0.3, mask_draw, seed=100 + seed)
        made = informed_intruder(plan, remake)(comparison, rng=rng(seed))
        learnt.append(made.expected_links)
        claimed.append(made.predicted_links)
        exact.append(
            evaluate_bayes(comparison, closed_form(frame, comparison, 0.3, mask_draw), rng=rng()).expected_links
        )
        estimated.append(evaluate_likelihood(comparison, rng=rng()).expected_links)
    # links are nearly Poisson; the same files, so differences vary less than this
    assert abs(sum(learnt) - sum(exact)) < 4 * np.sqrt(sum(exact))
    assert abs(sum(learnt) - sum(claimed)) < 4 * np.sqrt(sum(claimed))
    assert sum(learnt) > sum(estimated) - 4 * np.sqrt(sum(estimated))
    assert sum(exact) > 5 * 8  # the bar means something: chance gives one per file


def test_a_mask_that_hides_everything_leaves_chance_and_one_that_hides_nothing_the_ceiling() -> None:
    hidden = 0.0
    for seed in range(10):
        frame = regression(200, seed).assign(z=rng(50 + seed).normal(size=200))  # z says nothing of x
        plan, comparison, remake = world(frame, 1e4, "per_copy", seed=seed)
        hidden += informed_intruder(plan, remake)(comparison, rng=rng(seed)).expected_links
    assert hidden < 10 + 4 * np.sqrt(10)
    frame = regression(300, 1)
    plan, comparison, remake = world(frame, 1e-7, "per_copy")
    found = informed_intruder(plan, remake)(comparison, rng=rng())
    # values are released with 6 decimals at most: ties in the sixth are possible, none occurs here
    assert found.expected_links == pytest.approx(300, abs=3)
    assert found.predicted_links == pytest.approx(300, abs=3)


MIXED: dict[str, Any] = {
    "data": {"path": "in memory"},
    "variables": {
        "age": {"role": "replace", "key": True, "bounds": [18, 90], "tolerance": 3},
        "old": {"derived": "age > 70", "key": True},
        "sex": {"role": "replace", "key": True},
        "education": {"role": "replace", "key": True},
        "race": {"key": True},
        "vitality": {"kind": "continuous", "role": "replace", "key": True, "applies_when": "race == 'white'"},
    },
    "masks": {
        "vitality": {"method": "gaussian", "sd": 2.0},
        "age": {"method": "gaussian", "sd": 0.3},
        "sex": {"method": "shifted_normal", "alpha": 1.5},
        "education": {"method": "shifted_normal", "alpha": 1.5},
    },
    "synthesis": {"copies": 3},
}


def mixed(n: int = 600) -> pd.DataFrame:
    frame = registry(n, rng=rng(1))[["age", "sex", "race", "education", "vitality"]]
    vitality = frame["vitality"].fillna(50.0).where(frame["race"] == "white")
    return frame.assign(old=frame["age"] > 70, vitality=vitality)


def test_keys_of_every_kind_and_groups_with_masks_of_their_own() -> None:
    frame = mixed()
    groups = {
        "groups": {"rules": {"young": "age < 50"}},
        "masks_by_group": {"young": {"age": {"method": "gaussian", "sd": 0.05}}},
    }
    plan, comparison, remake = built(parse(MIXED | groups), frame)
    posterior = learnt(plan, comparison, remake)
    assert repr(posterior) == "Posterior(600 rows, 4 keys)"  # race is kept, and old follows from age
    assert repr(posterior.keys[0]) == "Key(600 records)"
    assert [key.levels > 0 for key in posterior.keys] == [True, True, False, False]
    assert len(np.unique(posterior.groups)) > 2  # by the mask a row got and by the group its copies lie in
    found = evaluate_bayes(comparison, posterior, rng=rng())
    by_race = frame["race"].value_counts()
    assert found.expected_links_kept == pytest.approx(len(by_race))
    assert found.expected_links > 4 * len(by_race)
    lines_ = {line["group"]: line for line in found.per_group}
    rates = {name: line["expected_links"] / line["records"] for name, line in lines_.items()}
    assert rates["young"] > rates["low"]  # where the mask is narrow
    # what a record does not have says nothing, and everybody else's posterior is finite
    assert np.isfinite(posterior(np.arange(50), np.arange(600))).all()


def test_several_releases_together_are_stronger() -> None:
    frame = regression(300, 4)
    plan, comparison, remake = world(frame, 0.5, "per_copy")
    more = Comparison(comparison.original, (*comparison.copies, *remake(Streams(8))), comparison.schema, aligned=True)
    found = [informed_intruder(plan, remake)(files, rng=rng()).predicted_links for files in (comparison, more)]
    assert found[1] > 1.2 * found[0]


def test_what_other_draws_taught_is_as_strong_as_making_the_copies_again() -> None:
    frame = regression(500, 6)
    plan, comparison, remake = world(frame, 0.2, "per_copy")
    draws = [remake(Streams(100 + number)) for number in range(6)]
    attack_ = learnt_intruder(plan, draws, counts=(COPIES, 2 * COPIES), rng=rng(1))
    before = informed_intruder(plan, remake)(comparison, rng=rng(1))
    after = attack_(comparison, rng=rng(1))
    # the same row posterior but for the error of learning it
    assert abs(after.expected_links - before.expected_links) < 4 * np.sqrt(before.expected_links)
    assert after.mean_posterior == pytest.approx(before.mean_posterior, rel=0.1)
    # what is learnt depends on neither the order of attacks nor their number
    files = [replace(comparison, copies=draw) for draw in draws[:2]]
    there = [attack_(file, rng=rng(2)) for file in files]
    other = learnt_intruder(plan, draws, counts=(COPIES,), rng=rng(1))
    back = [other(file, rng=rng(2)) for file in reversed(files)]
    for one, two in zip(there, reversed(back), strict=True):
        np.testing.assert_array_equal(one.individual, two.individual)
    # a draw that was learnt from is no easier than one that was not
    assert there[0].mean_posterior == pytest.approx(after.mean_posterior, rel=0.15)
    both = replace(comparison, copies=(*comparison.copies, *draws[0]))
    assert attack_(both, rng=rng()).predicted_links > 1.2 * after.predicted_links
    few = attack_(comparison, rng=rng(), targets=np.array([3, 1]))
    assert np.flatnonzero(np.isfinite(few.individual)).tolist() == [1, 3]
    np.testing.assert_allclose(few.individual[[1, 3]], after.individual[[1, 3]])
    assert repr(teach(plan, draws, rng=rng())) == "Learnt(500 records, 1 keys)"
    with pytest.raises(ValueError, match=r"^teach: needs at least one draw of the copies to learn from\.$"):
        teach(plan, [], rng=rng())


# the laws


def test_a_law_of_levels_is_a_distribution_and_follows_its_definition() -> None:
    draw = rng(5)
    n, levels = 300, 4
    shown = [np.column_stack([np.ones(n), draw.normal(size=(n, 2))]) for _ in range(2)]
    known = draw.integers(0, 2, (n, 1)).astype(np.float64)
    x = (draw.integers(0, 3, n)).astype(np.float64)
    x[:10] = -1
    laws = logits(x, levels, known, shown, np.arange(n) % 5, parts=5, rng=rng())
    law = laws[0]
    assert isinstance(law, Logit)
    assert repr(law) == "Logit(4 levels)"
    few, rows = known[10:14], shown[0][:6]
    total = np.zeros((4, 6))
    for level in range(levels):
        found = law.log_density(np.full(4, float(level)), few, law.read(rows))
        for i in range(4):
            for r in range(6):
                scores = law.constant + law.known @ few[i] + law.shown @ rows[r]
                chance = np.exp(scores[level]) / np.exp(scores).sum()
                mixture = (1 - law.share) * chance + law.share * law.frequency[level]
                assert found[i, r] == pytest.approx(np.log(mixture), abs=1e-12)
        total += np.exp(found)
    np.testing.assert_allclose(total, 1.0)
    assert np.all(law.log_density(np.full(4, -1.0), few, law.read(rows)) == 0)
    # one level only: nothing to tell apart
    only = logits(np.zeros(n), 2, known, shown, np.arange(n) % 5, parts=5, rng=rng())[0]
    same = only.log_density(np.zeros(4), few, only.read(rows))
    assert np.all(np.exp(same) > 0.99)


def test_levels_of_many_keys_are_multiplied_before_a_logarithm_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, n = rng(9), 400
    shown = np.column_stack([np.ones(n), draw.normal(size=(n, 2))])
    keys, laws, known = [], [], np.empty((n, 0))
    for _ in range(5):
        x = (shown[:, 1] + draw.normal(size=n) > 0).astype(np.float64)
        x[draw.random(n) < 0.05] = -1
        keys.append(Key(x, (x[:, None] == 1).astype(np.float64), 2))
        laws.append(logits(x, 2, known, [shown], np.arange(n) % 2, parts=2, rng=draw))
        known = np.hstack([known, keys[-1].columns])
    by_fold = tuple((tuple(law[fold] for law in laws),) for fold in range(2))
    posterior = Posterior(tuple(keys), shown, np.arange(n) % 2, np.zeros(n, dtype=np.int64), by_fold)
    targets, rows = np.arange(30), np.arange(n)
    found = posterior(targets, rows)
    twin = np.zeros((30, n))
    for fold in range(2):
        mine, before = targets[targets % 2 == fold], np.empty((15, 0))
        for key, law in zip(keys, by_fold[fold][0], strict=True):
            twin[mine] += law.log_density(key.values[mine], before, law.read(shown))
            before = np.hstack([before, key.columns[mine]])
    assert found == pytest.approx(twin, abs=1e-10)
    monkeypatch.setattr("synthdp.stages.informed_intruder.MULTIPLIED", 2)
    assert posterior(targets, rows) == pytest.approx(twin, abs=1e-10)


def test_a_law_of_numbers_is_least_squares_without_its_own_fold() -> None:
    draw = rng(6)
    n = 500
    folds = np.arange(n) % 5
    shown = np.column_stack([np.ones(n), draw.normal(size=n)])
    known = draw.normal(size=(n, 1))
    x: Floats = 1 + 2 * shown[:, 1] - known[:, 0] + 0.5 * draw.normal(size=n)
    x[7] = np.nan
    law = lines(x, known, [shown], folds, parts=5)[2]
    assert isinstance(law, Line)
    assert repr(law) == "Line(2 features)"
    others = np.isfinite(x) & (folds != 2)
    wanted = np.linalg.lstsq(np.hstack([known, shown])[others], x[others])[0]
    np.testing.assert_allclose(np.concatenate([law.known, law.shown]), wanted, atol=1e-6)
    found = law.log_density(x[6:8], known[6:8], law.read(shown[:3]))
    error = (x[6] - known[6] @ law.known - shown[:3] @ law.shown) / law.sd
    np.testing.assert_allclose(found[0], -0.5 * error**2 - np.log(law.sd))
    assert np.all(found[1] == 0)  # what is missing says nothing


# the way to the gate


def test_a_run_reports_and_judges_the_bayes_intruder(tmp_path: Any) -> None:
    frame = mixed(200).drop(columns=["old", "vitality"])
    frame.to_csv(tmp_path / "data.csv", index=False)
    settings = MIXED | {
        "data": {"path": str(tmp_path / "data.csv")},
        "variables": {name: value for name, value in MIXED["variables"].items() if name in frame},
        "masks": {name: value for name, value in MIXED["masks"].items() if name in frame},
        "evaluation": {"utility": [], "risk": ["identity", "identity_likelihood", "identity_bayes"]},
        "release": dict.fromkeys(Thresholds.model_fields) | {"max_expected_match_rate": 0.001, "draws": 12},
        "seed": 5,
    }
    outcome = pipeline.run(parse(settings), out=tmp_path / "out", study=True)
    section = outcome.metrics["risk"]["identity_bayes"]
    assert set(section) == set(outcome.metrics["risk"]["identity_likelihood"])
    assert section["expected_links_rate"] > 0.001
    reasons = outcome.metrics["gate"]["reasons"]
    assert any(reason.startswith("identity_bayes: expected match rate") for reason in reasons)
    assert outcome.metrics["gate"]["advice"]["trials"] <= 3
    json.dumps(dict(outcome.metrics), allow_nan=False)
    repaired = settings | {"synthesis": {"copies": 2, "repair": True}}
    before = pipeline.run(parse(repaired), out=tmp_path / "repaired", study=True).metrics["risk"]
    assert "expected_links" in before["identity_bayes"]
    assert "identity_bayes" not in before["repair"]["before"]


def test_files_made_elsewhere_cannot_be_made_again(tmp_path: Any) -> None:
    frame = regression(60, 1)
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.assign(x=frame["x"] + 1).to_csv(tmp_path / "copy.csv", index=False)
    (tmp_path / "config.yaml").write_text(
        "data: {path: data.csv}\nvariables: {x: {role: replace, key: true}}\n"
        "evaluation: {utility: [], risk: [identity, identity_bayes]}\n"
    )
    arguments = ["evaluate", tmp_path / "config.yaml", "--synthetic", tmp_path / "copy.csv", "--out", tmp_path / "out"]
    CliRunner().invoke(app, [str(argument) for argument in arguments])
    risk = json.loads((tmp_path / "out" / "metrics.json").read_text())["risk"]
    assert risk["identity_bayes"] == {
        "reason": "identity_bayes: knows how the copies are made, so it needs a run that makes them; files made "
        "elsewhere are attacked by identity_likelihood and identity_public."
    }
    assert "expected_match" in risk["identity"]


def test_an_informed_intruder_needs_keys_and_rows_like_the_others() -> None:
    frame = regression(60, 1)
    plan, comparison, remake = world(frame, 1.0, "per_copy")
    comparison = replace(comparison, making=Making(intruder=informed_intruder(plan, remake)))
    untraced = replace(comparison, aligned=False)
    found = assess(untraced, risk=["identity_bayes"], streams=Streams(1))
    assert found.risk["identity_bayes"]["reason"].startswith("rows of these files cannot be traced")
    assert found.findings == {}
    made = assess(comparison, risk=["identity_bayes"], streams=Streams(1)).findings["identity_bayes"]
    assert isinstance(made, LikelihoodRisk)


def test_sampled_targets_give_an_interval_around_the_whole() -> None:
    frame = regression(1500, 3)
    plan, comparison, remake = world(frame, 0.05, "per_copy")
    posterior = learnt(plan, comparison, remake)
    whole = evaluate_bayes(comparison, posterior, rng=rng())
    part = evaluate_bayes(comparison, posterior, rng=rng(), most_pairs=10**6)
    assert whole.sampled is None
    assert part.sampled is not None
    assert part.sampled["targets"] == 666
    low, high = part.sampled["expected_links"]["low"], part.sampled["expected_links"]["high"]
    assert 2 * low - high < whole.expected_links < 2 * high - low


def test_rows_are_told_apart_by_the_mask_they_got_and_by_what_they_show() -> None:
    frame = pd.DataFrame({"x": np.repeat([0.0, 2.0], 300), "z": np.arange(600.0)})
    data = resolve(frame, {"x": Variable(role="replace", key=True)})
    plan = Plan(data, tag(data, Rules(rules={"high": "x > 1"})), {"x": Gaussian(sd=1)}, {"high": {"x": Gaussian(sd=2)}})
    other = frame.assign(x=np.tile([0.0, 2.0, 2.0], 200))
    # low or high by its mask; both copies low, both high, or one of each
    found = classes_of(plan, [frame, other])
    assert found[:3].tolist() == [0, 2, 2]
    assert found[300:303].tolist() == [5, 4, 4]
    assert classes_of(plan, [frame, other], np.array([301, 0])).tolist() == [4, 0]
    places, teachers = told_apart(plan, [found, found])
    assert [int(here.sum()) for here in teachers] == [1200, 200, 200, 400, 400, 600, 400, 200]
    for place in (0, 2, 4, 5):
        assert (teachers[places[place]] == (np.tile(found, 2) == place)).all()
    assert places[[1, 3]].tolist() == [3, 1]  # nobody is of these: those that show the same teach
    few, all_of_them = told_apart(plan, [found[:100]])
    assert few.tolist() == [0] * 6
    assert len(all_of_them) == 1
