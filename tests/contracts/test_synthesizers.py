"""What every synthesizer must do: keep the schema and the kept columns, repeat itself, and add copies at the end."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.imputation.copula.model import Copula
from synthdp.imputation.regression.association import Regression
from synthdp.imputation.regression.forward import NormLogit
from synthdp.imputation.trees.masked import MaskedCart
from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.maskings import KNoise, KPram
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, Rules, tag

MASKS = {"age": Gaussian(sd=0.7), "sex": ShiftedNormal(alpha=1.0), "smoker": Transition(keep=0.8)}
GRADED = {**MASKS, "age": Gaussian(sd=0.4, graded=10)}
BY_GROUP = {"medium": {"age": Gaussian(sd=2.0)}, "high": {"sex": Transition(keep=0.6)}}
QUICK = Copula(least_ess=2, most_r_hat=5)  # chains that have not settled keep the contract too
METHODS = [
    (Mi(copies=2), {}, {}),
    (DaMi(copies=2), MASKS, {}),
    (DaMi(copies=2), GRADED, {}),
    (DaMi(copies=2), MASKS, BY_GROUP),
    (DaMi(copies=2, mask_draw="once"), MASKS, {}),
    (DaMi(copies=2, mask_draw="once_orthogonal"), {k: MASKS[k] for k in ("age", "sex")}, {}),
    (DaMi(copies=2, model=MaskedCart()), MASKS, {}),
    (DaMi(copies=2, model=MaskedCart(proper=False, smoothing=False), mask_draw="once"), GRADED, BY_GROUP),
    (Mi(copies=2, model=MaskedCart()), {}, {}),
    (DaMi(copies=2, model=QUICK), GRADED, BY_GROUP),
    (Mi(copies=2, model=QUICK), {}, {}),
    (Sequential(copies=2), {}, {}),
    (Sequential(copies=2, proper=True), {}, {}),
    (Sequential(copies=2, model=NormLogit()), {}, {}),
    (Sequential(copies=2, model=NormLogit(), proper=True), {}, {}),
    # levels stay here: exchanging them moves the margins; DP methods keep no column and have a contract of their own
    (KPram(copies=2, keep=1.0), {}, {}),
    (KNoise(copies=2, keep=1.0), {}, {}),
]
CROWD = Neighbours(k=5)
IDS = [
    "mi",
    "per_copy",
    "graded",
    "by_group",
    "once",
    "orthogonal",
    "da_cart",
    "da_cart_once",
    "mi_cart",
    "da_copula",
    "mi_copula",
    "cart",
    "cart_proper",
    "norm_logit",
    "norm_logit_proper",
    "k_pram",
    "k_noise",
]


def survey(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    z = rng.normal(size=n)
    return pd.DataFrame(
        {
            "id": [f"person {i}" for i in range(n)],
            "âge <b>": rng.integers(0, 3, n),
            "sex": np.where(z + rng.normal(size=n) > 0, "männlich", "weiblich"),
            "smoker": rng.random(n) < 0.3,
            "age": np.clip(np.round(45 + 8 * z + 10 * rng.normal(size=n)), 18, 90).astype(int),
            "z": np.where(rng.random(n) < 0.1, np.nan, z),
            "region": rng.choice(["north", "south", None], n, p=[0.6, 0.35, 0.05]),
        }
    )


def plan(masks, by_group, groups=CROWD) -> Plan:
    data = resolve(
        survey(),
        {
            "id": Variable(role="drop"),
            "age": Variable(role="replace", key=True, bounds=(18, 90), tolerance=2),
            "sex": Variable(role="replace", key=True),
            "smoker": Variable(role="replace"),
        },
    )
    return Plan(data, tag(data, groups), masks, by_group)


@pytest.mark.parametrize(("method", "masks", "by_group"), METHODS, ids=IDS)
class TestSynthesizer:
    def test_nothing_is_wrong_with_the_plan(self, method, masks, by_group):
        assert method.problems(plan(masks, by_group)) == []

    def test_schema_is_kept(self, method, masks, by_group):
        given = plan(masks, by_group)
        release = method.synthesize(given, streams=Streams(1))
        assert len(release.copies) == method.copies
        for copy in release.copies:
            assert list(copy.columns) == list(given.data.frame.columns)
            assert "id" not in copy
            assert (copy.dtypes == given.data.frame.dtypes).all()
            assert copy["age"].between(18, 90).all()
            assert set(copy["sex"]) <= {"männlich", "weiblich"}

    def test_kept_columns_are_identical_and_replaced_ones_are_not(self, method, masks, by_group):
        given = plan(masks, by_group)
        copies = method.synthesize(given, streams=Streams(1)).copies
        kept = [column.name for column in given.data.schema.kept()]
        for copy in copies:
            pd.testing.assert_frame_equal(copy[kept], given.data.frame[kept])
            assert (copy["age"] != given.data.frame["age"]).mean() > 0.5
        assert not copies[0]["age"].equals(copies[1]["age"])

    def test_same_seed_same_release_for_any_number_of_jobs(self, method, masks, by_group):
        first = method.synthesize(plan(masks, by_group), streams=Streams(7)).copies
        second = method.synthesize(plan(masks, by_group), streams=Streams(7), jobs=2).copies
        for a, b in zip(first, second, strict=True):
            pd.testing.assert_frame_equal(a, b)
        other = method.synthesize(plan(masks, by_group), streams=Streams(8)).copies
        assert not other[0]["age"].equals(first[0]["age"])

    def test_the_first_copies_are_equal_for_more_copies(self, method, masks, by_group):
        few = method.synthesize(plan(masks, by_group), streams=Streams(7)).copies
        many = method.model_copy(update={"copies": 4}).synthesize(plan(masks, by_group), streams=Streams(7)).copies
        for a, b in zip(few, many[:2], strict=True):
            pd.testing.assert_frame_equal(a, b)

    def test_no_epsilon_and_no_values_in_what_is_said(self, method, masks, by_group):
        release = method.synthesize(plan(masks, by_group), streams=Streams(1))
        assert "epsilon of the release" not in repr(release)
        assert repr(release).startswith("Release(")
        for row in release.masking:
            assert set(row) == {"column", "group", "mask", "mu", "statement"}

    def test_margins_are_near_the_original(self, method, masks, by_group):
        given = plan(masks, by_group)
        copies = method.model_copy(update={"copies": 8}).synthesize(given, streams=Streams(3)).copies
        original = given.data.frame
        for name in ("age", "smoker"):
            se = original[name].astype(float).std() / np.sqrt(len(original))
            pooled = np.mean([copy[name].astype(float).mean() for copy in copies])
            assert abs(pooled - original[name].astype(float).mean()) < 4 * np.sqrt(2) * se


@pytest.mark.parametrize("model", [Regression(), Copula()], ids=["regression", "copula"])
def test_without_information_da_mi_is_mi(model):
    """The first end: a mask that says nothing gives Rubin's imputation, in distribution."""
    silent = {"age": Gaussian(sd=1e6), "sex": ShiftedNormal(alpha=0), "smoker": Transition(keep=0.5)}
    masked = DaMi(copies=40, model=model).synthesize(plan(silent, {}), streams=Streams(1)).copies
    rubin = Mi(copies=40, model=model).synthesize(plan({}, {}), streams=Streams(2)).copies
    for statistic in (
        lambda f: f["age"].mean(),
        lambda f: f["age"].std(),
        lambda f: f["smoker"].mean(),
        lambda f: (f["sex"] == "weiblich").mean(),
        lambda f: f["age"].corr(f["z"]),
        lambda f: f.loc[f["sex"] == "weiblich", "age"].mean(),
    ):
        assert stats.ks_2samp([statistic(f) for f in masked], [statistic(f) for f in rubin]).pvalue > 1e-4


@pytest.mark.parametrize("model", [Regression(), QUICK], ids=["regression", "copula"])
def test_full_information_gives_the_original_back(model):
    """The other end."""
    loud = {"age": Gaussian(sd=1e-7), "sex": ShiftedNormal(alpha=60), "smoker": Transition(keep=1 - 1e-15)}
    given = plan(loud, {})
    for copy in DaMi(copies=2, model=model).synthesize(given, streams=Streams(1)).copies:
        pd.testing.assert_frame_equal(copy, given.data.frame)


def test_a_wider_mask_moves_values_further():
    moved = []
    for sd in (0.05, 0.2, 0.5, 1.0, 3.0):
        given = plan({"age": Gaussian(sd=sd)}, {})
        copy = DaMi(copies=1).synthesize(given, streams=Streams(1)).copies[0]
        moved.append(np.abs(copy["age"] - given.data.frame["age"]).mean())
    assert moved == sorted(moved)


@pytest.mark.parametrize(
    ("method", "masks", "by_group", "sentence"),
    [
        (DaMi(), {}, {}, "masks: da_mi needs a mask on at least one replaced column; use method: mi for none."),
        (DaMi(), {"z": Gaussian(sd=1)}, {}, "masks.z: only columns with role: replace are masked."),
        (DaMi(), {"sex": Gaussian(sd=1)}, {}, "masks.sex: gaussian masks numbers, this column is binary."),
        (DaMi(), {"age": Transition(keep=0.5)}, {}, "masks.age: transition masks levels, this column is continuous."),
        (
            DaMi(),
            {"sex": Transition(matrix=((1.0,),))},
            {},
            "masks.sex: the matrix has 1 rows, the column 2 levels.",
        ),
        (DaMi(), MASKS, {"vip": MASKS}, "masks_by_group.vip: no such risk group; there are high, low, medium."),
        (
            DaMi(mask_draw="once_orthogonal"),
            MASKS,
            {},
            "masks.smoker: a transition mask has no noise to orthogonalise; use once.",
        ),
        (
            DaMi(),
            {},
            {"high": {"age": Gaussian(sd=1)}},
            "masks.age: some groups have a mask and others none; give a mask for all.",
        ),
    ],
)
def test_masks_that_do_not_fit_are_named(method, masks, by_group, sentence):
    assert sentence in method.problems(plan(masks, by_group))


def test_rules_of_the_users_own_carry_masks():
    given = plan(MASKS, {"old": {"age": Gaussian(sd=3.0)}}, Rules(rules={"old": "age > 60"}, public=True))
    release = DaMi(copies=1).synthesize(given, streams=Streams(1))
    assert {row["group"] for row in release.masking if row["column"] == "age"} == {"low", "old"}


def test_formal_statements_are_withdrawn_when_the_data_were_looked_at():
    fixed = {"age": Gaussian(scale=30.0)}
    data = plan(fixed, {})
    stated = DaMi(copies=4).synthesize(data, streams=Streams(1)).masking[1]
    assert stated["column"] == "smoker"
    stated = next(row for row in DaMi(copies=4).synthesize(data, streams=Streams(1)).masking if row["column"] == "age")
    # mu = sqrt(copies) * width / scale: W is drawn once per copy
    assert stated["mu"] == pytest.approx(np.sqrt(4) * (90 - 18) / 30)
    selected = Plan(data.data, data.tags, fixed, selection="the gate looked")
    for given, method in (
        (selected, DaMi(copies=1)),
        (data, DaMi(copies=1, mask_draw="once_orthogonal")),
        (plan({"age": Gaussian(sd=0.5)}, {}), DaMi(copies=1)),
        (plan(fixed, {"high": {"age": Gaussian(scale=40.0)}}), DaMi(copies=1)),
    ):
        rows = method.synthesize(given, streams=Streams(1)).masking
        assert all(row["mu"] is None for row in rows if row["column"] == "age")
        assert all(row["statement"].startswith("Nothing formal is claimed") for row in rows)
