"""Rare levels of nominal columns, and columns that are nearly constant: found before any chain, named, still drawn."""

import numpy as np
import pandas as pd
import pytest

from synthdp.imputation.copula.coding import Coding
from synthdp.imputation.copula.model import Copula
from synthdp.imputation.copula.rare import Pool, drawn, fewest, rarest
from synthdp.masking.categorical import Transition
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

QUICK = Copula(least_ess=2, most_r_hat=5)


def records(n: int = 1500, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    level = np.where(x + rng.standard_normal(n) > 0.3, "a", "b").astype(object)
    level[: 6 + 3 + 1] = ["r"] * 6 + ["s"] * 3 + ["t"]
    return pd.DataFrame({"x": x, "g": level, "y": x + rng.standard_normal(n)})


def plan_of(frame: pd.DataFrame, role: str = "replace", keep: float | None = None) -> Plan:
    variables = {
        "g": Variable(kind="nominal", role=role),
        "x": Variable(role="keep" if role == "replace" else "replace"),
    }
    data = resolve(frame, variables)
    return Plan(data, tag(data, None), {} if keep is None else {"g": Transition(keep=keep)})


def coding_of(frame: pd.DataFrame) -> Coding:
    return Coding.of(prepare(plan_of(frame), Copula(), 20)[0], (), 1.0, {})


def test_how_many_a_level_needs():
    assert [fewest(n) for n in (50, 400, 5000)] == [3, 4, 10]


@pytest.mark.parametrize(
    ("counts", "pooled"),
    [
        ([800, 600, 6, 3, 1], [2, 3, 4]),
        ([800, 600, 4], [1, 2]),
        ([800, 600, 300, 4, 3], [2, 3, 4]),
        ([800, 4], [1]),
        ([1200, 1], [1]),
        ([40, 30, 20], [2]),
        ([20, 2, 2, 2], [1, 2, 3]),
    ],
)
def test_which_levels_are_pooled(counts, pooled):
    assert rarest(np.array(counts)).tolist() == pooled


def test_shares_are_those_of_weighted_records():
    codes = np.array([0, 0, 3, 1, 3, -1, 3])
    pool = Pool.of(codes, np.array([3, 1]))
    assert pool.shares(np.arange(7.0)) == pytest.approx([12 / 15, 3 / 15])


def test_levels_are_drawn_by_their_weights():
    chances = np.tile([0.2, 0.0, 0.6], (20_000, 1))
    found = np.bincount(drawn(chances, rng=np.random.default_rng(1)), minlength=3) / 20_000
    assert found == pytest.approx([0.25, 0, 0.75], abs=4 * np.sqrt(0.25 * 0.75 / 20_000))


def test_rare_levels_share_a_coordinate_and_are_named():
    item = next(item for item in coding_of(records()).items if item.column.name == "g")
    assert (item.width, len(item.order)) == (2, 3)
    assert np.bincount(item.codes)[2] == 10
    release = Mi(model=QUICK, copies=1).synthesize(plan_of(records()), streams=Streams(1))
    assert {"column": "g", "rare_levels": "drawn as one"} in release.chain


@pytest.mark.parametrize("shortcut", ["never", "always"])
def test_copies_have_each_rare_level_as_often_as_the_records(shortcut):
    model = Copula(least_ess=2, most_r_hat=5, shortcut=shortcut)
    release = Mi(model=model, copies=60).synthesize(plan_of(records()), streams=Streams(3))
    counts = np.array([[(copy["g"] == level).sum() for level in "rst"] for copy in release.copies])
    # counts of a copy vary as those of a posterior predictive: binomial twice
    error = np.sqrt(2 * np.array([6, 3, 1]) / 60)
    assert (np.abs(counts.mean(axis=0) - [6, 3, 1]) < 4 * error + 0.5).all()


def test_a_mask_says_which_of_the_rare_levels_it_is():
    frame = records()
    release = DaMi(model=QUICK, copies=10).synthesize(plan_of(frame, keep=0.9999), streams=Streams(2))
    own = frame["g"].isin(list("rst")).to_numpy()
    same = np.mean([(copy["g"].to_numpy() == frame["g"].to_numpy())[own] for copy in release.copies])
    assert same > 0.9


def test_kept_values_stay_and_missing_ones_may_become_rare():
    frame = records()
    frame.loc[20:400, "g"] = None
    release = Mi(model=QUICK, copies=2, missing="impute").synthesize(plan_of(frame, "keep"), streams=Streams(1))
    known = frame["g"].notna().to_numpy()
    for copy in release.copies:
        assert (copy["g"].to_numpy()[known] == frame["g"].to_numpy()[known]).all()
        assert copy["g"].isin(list("abrst")).all()


def test_a_column_that_hardly_varies_is_named_and_its_prior_is_worth_records():
    frame = records()
    frame["b"] = (np.arange(len(frame)) < 4).astype(int)
    data = resolve(frame, {"g": Variable(kind="nominal"), "b": Variable(kind="binary", role="replace")})
    plan = Plan(data, tag(data, None), {})
    coding = Coding.of(prepare(plan, Copula(), 20)[0], (), 1.0, {})
    at = next(item.first for item in coding.items if item.column.name == "b")
    assert coding.lacking(0.0)[at] == 6
    assert coding.lacking(0.0).sum() == 6
    release = Mi(model=QUICK, copies=1).synthesize(plan, streams=Streams(1))
    assert {"column": "b", "nearly_constant": True} in release.chain
