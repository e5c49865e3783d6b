"""Masks that differ by a rule on replaced columns: when that is so, what the rule says of draws, and who refuses."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthdp.imputation.copula.model import Copula
from synthdp.imputation.pymc.program import Pymc
from synthdp.imputation.regression.association import Regression
from synthdp.imputation.trees.masked import MaskedCart
from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.stages.draws import part_of
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.making import make, visible
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.ruling import Ruling, cautions, problems, retagged, ruled, ruled_by
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, Rules, tag

N = 120
NARROW = {"x": Gaussian(sd=0.3), "age": Gaussian(sd=0.3), "b": ShiftedNormal(alpha=2)}
WIDE = {"high": {"x": Gaussian(sd=2)}}
TWO_SIDED = {"high": "x < -1 or x > 1"}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.integers(20, 90, N)
    b = rng.choice(["no", "yes"], N)
    return pd.DataFrame(
        {
            "z": rng.normal(size=N),
            "sex": rng.choice(["f", "m"], N),
            "x": np.round(rng.normal(size=N), 2),
            "age": age,
            "old": (age > 65).astype(int),
            "b": b,
            "region": rng.choice(["north", "east", "west"], N),
            "visits": rng.poisson(2, N),
            "wage": np.where(b == "yes", np.round(rng.normal(20, 4, N), 1), np.nan),
        }
    )


KINDS = {
    "x": Variable(role="replace"),
    "age": Variable(role="replace", key=True, bounds=(18, 99)),
    "old": Variable(derived="age > 65"),
    "b": Variable(role="replace"),
    "region": Variable(role="replace", kind="nominal"),
    "visits": Variable(role="replace", kind="count"),
    "wage": Variable(role="replace", applies_when="b == 'yes'"),
}


def plan_of(rules: dict[str, str], replaced: tuple[str, ...] = ("x", "age", "b"), **changed: object) -> Plan:
    needed = {name: KINDS[name] for name in (*replaced, *(["old"] if "age" in replaced else []))}
    frame = people() if "wage" in replaced else people().drop(columns="wage")
    data = resolve(frame, needed)
    masks = {name: mask for name, mask in NARROW.items() if name in replaced}
    seen = visible(data)
    plan = Plan(seen, tag(data, Rules(rules=rules)), masks, WIDE, whole=None if seen is data else data)
    return replace(plan, **changed)  # type: ignore[arg-type]


def ruling(plan: Plan) -> Ruling:
    task, masks = prepare(plan, Regression(), 5)
    return Ruling.of(plan, task, masks)


@pytest.mark.parametrize(
    ("rules", "names"),
    [
        (TWO_SIDED, ("x",)),
        ({"high": "z > 1"}, ()),
        ({"high": "z > 1 and age > 50"}, ("age",)),
        ({"high": "old == 1"}, ("age",)),
        ({"high": "sex == 'f'", "other": "b == 'no'"}, ("b",)),
        ({"other": "x > 1"}, ("x",)),
    ],
)
def test_what_the_strength_of_masks_depends_on(rules, names):
    plan = plan_of(rules, masks_by_group={"high": {"x": Gaussian(sd=2)}, "other": {"x": Gaussian(sd=1)}})
    assert ruled_by(plan) == names
    assert ruled(plan, Regression()) == bool(names)
    assert not ruled(plan, MaskedCart())
    task, _ = prepare(plan, Regression(), 5)
    assert any("risk group" in name for name in task.predictors.names) == (not names)
    task, _ = prepare(plan, MaskedCart(), 5)
    assert any("risk group" in name for name in task.predictors.names)


def test_a_value_that_is_there_only_under_another_brings_the_other():
    plan = plan_of({"high": "wage > 20"}, ("b", "wage", "x"))
    assert ruled_by(plan) == ("b", "wage")


def test_masks_that_do_not_differ_depend_on_nothing():
    assert ruled_by(plan_of(TWO_SIDED, masks_by_group={})) == ()
    assert ruled_by(plan_of(TWO_SIDED, masks_by_group={"high": {"x": Gaussian(sd=0.3)}})) == ()
    data = plan_of(TWO_SIDED).data
    assert ruled_by(Plan(data, tag(data, Neighbours()), NARROW, WIDE)) == ()


RULES = (
    TWO_SIDED,
    {"high": "old == 1 and x > 0"},
    {"high": "b == 'yes' and age > 40", "other": "sex == 'f' and abs(x) > 1"},
    {"high": "b in ['yes'] or z > 1 and x < 0"},
    {"high": "isnull(x) or cut(age, [30, 60]) == 1"},
)


@pytest.mark.parametrize("rules", RULES)
def test_of_the_records_themselves_the_rule_says_their_groups(rules):
    plan = plan_of(rules, masks_by_group={"high": {"x": Gaussian(sd=2)}, "other": {"x": Gaussian(sd=1)}})
    found = ruling(plan)
    task, _ = prepare(plan, Regression(), 5)
    rows = np.random.default_rng(2).integers(0, N, 300)
    decided = found.decide(rows, {name: x[rows] for name, x in task.working.items()})
    assert (decided == plan.tags.labels.cat.codes.to_numpy()[rows]).all()
    assert 0 < decided.mean() < len(rules)
    assert repr(found) == f"Ruling({len(rules) + 1} kinds of masks)"


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(
    "replaced", [("x", "age", "b"), ("x", "age", "b", "region", "visits"), ("age", "b", "wage", "x")]
)
def test_every_rule_and_family_makes_copies(rules, replaced):
    plan = plan_of(rules, replaced, constraints=("x < 2.5",))
    made = make(DaMi(copies=2, sweeps=3), plan, streams=Streams(1))
    again = make(DaMi(copies=1, sweeps=3), plan, streams=Streams(1))
    pd.testing.assert_frame_equal(made.copies[0], again.copies[0])
    for copy in made.copies:
        assert copy.dtypes.equals(plan.released.frame.dtypes)
        assert (copy["old"] == (copy["age"] > 65)).all()
        assert (copy["x"] < 2.5).all()


@pytest.mark.parametrize("mask_draw", ["once", "once_orthogonal"])
def test_masks_drawn_once(mask_draw):
    copies = DaMi(copies=2, mask_draw=mask_draw).synthesize(plan_of(TWO_SIDED), streams=Streams(1)).copies
    assert not copies[0]["x"].equals(copies[1]["x"])


def test_with_one_strength_in_all_groups_draws_are_those_without_groups():
    # the same law by another way: means of many draws agree
    same = {"high": {"x": Gaussian(sd=0.3), "age": Gaussian(sd=0.3000001)}}
    copies = [
        DaMi(copies=200).synthesize(plan_of(TWO_SIDED, masks_by_group=by), streams=Streams(seed)).copies
        for seed, by in ((1, same), (2, {}))
    ]
    values = [np.asarray([copy["x"].to_numpy() for copy in made]) for made in copies]
    spread = np.sqrt(values[0].var(axis=0) / 200 + values[1].var(axis=0) / 200)
    score = (values[0].mean(axis=0) - values[1].mean(axis=0)) / spread
    assert np.abs(score).max() < 4.5
    assert (score**2).mean() == pytest.approx(1, abs=4 * np.sqrt(2 / N))


def test_w_of_another_kind_tells_the_group():
    wide = {"high": {"b": Transition(keep=0.6)}}
    plan = plan_of({"high": "b == 'yes'"}, masks_by_group=wide)
    found, (_, masks) = ruling(plan), prepare(plan, Regression(), 5)
    task, _ = prepare(plan, Regression(), 5)
    rng = np.random.default_rng(1)
    about = found.about({name: mask.noisy(task.working[name], rng=rng) for name, mask in masks.items()})
    group = plan.tags.labels.cat.codes.to_numpy()
    assert np.isfinite(about.constants[np.arange(N), group]).all()
    assert (about.constants[np.arange(N), 1 - group] == -np.inf).all()
    for copy in DaMi(copies=2).synthesize(plan, streams=Streams(1)).copies:
        assert (copy["b"] == plan.data.frame["b"]).all()


def test_rubins_imputation_has_no_masks_and_no_groups():
    plan = plan_of(TWO_SIDED)
    bare = replace(plan, masks={}, masks_by_group={}, tags=tag(plan.data, None))
    for one, other in zip(*(Mi(copies=2).synthesize(p, streams=Streams(1)).copies for p in (plan, bare)), strict=True):
        pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize("model", [MaskedCart(), Copula(), Pymc()])
def test_other_models_take_a_threshold_only(model):
    def said(rule: str) -> list[str]:
        return problems(plan_of({"high": rule}), model)

    for rule in ("x > 1", "x <= -1.5", "40 < age", "z > 1 or z < -1", "sex == 'f'"):
        assert said(rule) == []
    for rule in ("x < -1 or x > 1", "abs(x) > 1", "0 < x < 1", "x > z", "b == 'yes'", "`x` > 1", "x == 1", "old == 1"):
        assert said(rule) == [
            f"groups.rules.high: model {model.method} carries a rule on replaced columns only where it is a threshold "
            "in one direction on one number (as x > 3); use model regression, such a rule, one mask for all, or a rule "
            "on kept columns."
        ]
    assert problems(plan_of(TWO_SIDED), Regression()) == []
    assert cautions(plan_of({"high": "x > 1"}), Regression()) == []
    (caution,) = cautions(plan_of({"high": "x > 1"}), model)
    assert caution.startswith(f"Masks differ by a rule on x, which copies replace: model {model.method} knows groups")
    assert cautions(plan_of({"high": "z > 1"}), model) == []


def test_two_rules_of_which_one_is_on_kept_columns():
    plan = plan_of({"high": "sex == 'f' or z > 2", "other": "x > 1"}, masks_by_group={**WIDE, "other": WIDE["high"]})
    assert problems(plan, MaskedCart()) == []


def test_half_of_the_records_keep_the_rules():
    plan = plan_of(TWO_SIDED)
    half = part_of(plan, np.arange(0, N, 2))
    assert half.tags.rules == TWO_SIDED
    assert ruled(half, Regression())
    assert len(DaMi(copies=1).synthesize(half, streams=Streams(1)).copies[0]) == N // 2


def test_rules_are_read_again_in_completed_records():
    frame = people()[["z", "sex", "x", "age"]]
    frame.loc[::5, "x"] = np.nan
    data = resolve(frame, {"x": Variable(role="replace"), "age": Variable(role="replace")})
    plan = Plan(data, tag(data, Rules(rules=TWO_SIDED)), {"x": Gaussian(sd=0.3), "age": Gaussian(sd=0.3)}, WIDE)
    assert (plan.tags.labels[::5] == "low").all()
    filled = retagged(
        replace(plan, data=resolve(frame.fillna({"x": 3.0}), dict.fromkeys(["x", "age"], Variable(role="replace"))))
    )
    assert (filled.tags.labels[::5] == "high").all()
    made = DaMi(copies=2, imputations=2, missing="impute").synthesize(plan, streams=Streams(1))
    assert all(copy["x"].notna().all() for copy in made.copies)
