"""Every synthesizer keeps the contract of synthesizers; and both ends of DA-MI, groups, and what is refused."""

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
from synthdp.synthesis.loglinear.catall import Catall
from synthdp.synthesis.loglinear.ipf import Ipf
from synthdp.synthesis.maskings.grouped import KNoise, KPram
from synthdp.synthesis.maskings.noise import Noise
from synthdp.synthesis.maskings.pram import Pram
from synthdp.synthesis.maskings.ranks import RankSwap
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import Sequential
from synthdp.tagging.groups import Rules
from synthdp.testing import SYNTHESIZER
from synthdp.testing import planned as plan

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
    (Ipf(copies=2, bins=4), {}, {}),
    (Ipf(copies=2, proper=True, prior=1, candidates=20_000), {}, {}),
    # kept numbers set nearly everybody apart, and a whole table would give their own values back
    (Catall(copies=2, exclude=("z",)), {}, {}),
    (Catall(copies=2, exclude=("z",), proper=True), {}, {}),
    # levels stay here: exchanging them moves the margins; DP methods keep no column and have a contract of their own
    (KPram(copies=2, keep=1.0), {}, {}),
    (KPram(copies=2, keep=1.0, variant="shuffle"), {}, {}),
    (KNoise(copies=2, keep=1.0), {}, {}),
    (KNoise(copies=2, keep=1.0, moving=True), {}, {}),
    (Noise(copies=2, keep=1.0), {}, {}),
    (RankSwap(copies=2, keep=1.0), {}, {}),
    # an invariant matrix moves levels and keeps their shares
    (Pram(copies=2, invariant=True), {}, {}),
]
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
    "ipf",
    "ipf_proper",
    "catall",
    "catall_proper",
    "k_pram",
    "k_pram_shuffle",
    "k_noise",
    "k_noise_moving",
    "noise",
    "rank_swap",
    "pram_invariant",
]


@pytest.mark.parametrize(("method", "masks", "by_group"), METHODS, ids=IDS)
@pytest.mark.parametrize("check", SYNTHESIZER)
def test_synthesizer(check, method, masks, by_group):
    check(method, plan(masks, by_group))


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
