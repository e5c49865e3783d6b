"""The copula as an association model: what it refuses, what it leaves out, missing values, both ends."""

import numpy as np
import pandas as pd
import pytest

from synthdp.errors import Unfinished
from synthdp.imputation.copula.coding import Coding
from synthdp.imputation.copula.model import Copula
from synthdp.imputation.regression.association import Regression
from synthdp.masking.categorical import Transition
from synthdp.masking.gaussian import Gaussian
from synthdp.report.summary import notes_on
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, Rules, tag

QUICK = Copula(least_ess=2, most_r_hat=5)
REPLACED = {
    "age": Variable(role="replace", key=True, bounds=(0, 100)),
    "sex": Variable(role="replace"),
    "region": Variable(role="replace", kind="nominal"),
}
MASKS = {"age": Gaussian(sd=0.5), "sex": Transition(keep=0.8), "region": Transition(keep=0.7)}


def people(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    z = rng.normal(size=n)
    return pd.DataFrame(
        {
            "z": z,
            "age": np.round(np.clip(45 + 9 * z + 9 * rng.normal(size=n), 1, 99), 1),
            "sex": np.where(z + rng.normal(size=n) > 0, "f", "m"),
            "region": rng.choice(list("abc"), n),
            "health": np.where(0.7 * z + rng.normal(size=n) > 0, "good", "bad"),
        }
    )


def plan_of(frame: pd.DataFrame, variables=None, masks=MASKS, by_group=None, groups=None) -> Plan:
    data = resolve(frame, REPLACED | (variables or {}))
    return Plan(data, tag(data, groups or Neighbours(k=3)), masks, by_group or {})


def problems(frame: pd.DataFrame, variables=None, method=None) -> list[str]:
    return (method or Mi(model=QUICK)).problems(plan_of(frame, variables))


class TestBadInput:
    def test_ordinary_columns_are_taken(self):
        assert problems(people()) == []

    def test_a_constant_kept_column_and_one_with_three_values_are_left_out_and_named(self):
        frame = people().assign(same=1.0, rare=np.nan)
        frame.loc[:2, "rare"] = [1.0, 2.0, 3.0]
        release = Mi(model=QUICK, copies=1).synthesize(plan_of(frame), streams=Streams(1))
        said = {row["column"]: row["left_out"] for row in release.chain if "left_out" in row}
        assert said == {"same": "all its values are the same", "rare": "it has fewer than 10 values"}

    def test_a_replaced_column_with_three_values_is_refused(self):
        frame = people()
        frame.loc[3:, "age"] = np.nan
        assert problems(frame) == [
            "variables.age: a copula needs at least 10 values, found 3; set role: drop.",
        ]

    def test_collinear_columns(self):
        frame = people().assign(twice=lambda f: 2 * f["z"])
        release = Mi(model=QUICK, copies=1).synthesize(plan_of(frame), streams=Streams(1))
        assert {"column": "twice", "left_out": "it follows from other columns"} in release.chain
        again = people().assign(months=lambda f: 12 * f["age"])
        found = problems(again)
        assert found == ["variables.age: follows from other columns; write it as derived:, or drop one of them."]

    def test_very_many_levels(self):
        frame = people(2000).assign(code=lambda f: [f"c{i}" for i in range(len(f))])
        assert problems(frame) == [
            "variables.code: a copula takes nominal columns of at most 25 levels, found 2000; set rare:, or add it to "
            "synthesis.model.exclude."
        ]
        assert problems(frame, method=Mi(model=Copula(exclude=("code",)))) == []
        found = problems(frame, {"code": Variable(role="replace", kind="nominal")})
        assert found[0].endswith("found 2000; set rare: to group rare levels.")

    def test_fewer_records_than_coordinates(self):
        rng = np.random.default_rng(3)
        wide = people(30).assign(**{f"x{i}": rng.normal(size=30) for i in range(40)})
        assert problems(wide) == [
            "data: a copula of 46 coordinates needs more records than that, found 30; list columns in "
            "synthesis.model.exclude."
        ]

    def test_dates_and_conditional_columns_are_refused(self):
        frame = people().assign(born=pd.Timestamp("2000-01-01"))
        frame["born"] += pd.to_timedelta(np.arange(300), unit="D")
        found = problems(frame, {"born": Variable(kind="date", role="replace")})
        assert "variables.born: a copula cannot replace dates; use trees, or set role: keep." in found

    def test_families_that_do_not_fit(self):
        frame = people()
        method = Mi(model=Copula(families={"nobody": "normal", "sex": "normal", "z": "gamma", "age": "beta"}))
        assert problems(frame, method=method) == [
            "synthesis.model.families.nobody: no such column in the data.",
            "synthesis.model.families.sex: only numbers have a family; leave it out.",
            "synthesis.model.families.z: a gamma margin needs bounds; write variables.z.bounds.",
        ]

    def test_all_of_a_group_missing(self):
        frame = people()
        frame.loc[frame["z"] > 1, "region"] = np.nan
        by_group = {"out": {"age": Gaussian(sd=1.5)}, "low": {}}
        plan = plan_of(frame, by_group=by_group, groups=Rules(rules={"out": "z > 1"}))
        release = DaMi(model=QUICK, copies=2).synthesize(plan, streams=Streams(1))
        assert all(copy["region"].notna().all() for copy in release.copies)

    def test_chains_that_do_not_agree(self):
        model = Copula(least_ess=1e6, most_sweeps=250, shortcut="never")
        said = (
            r"after 250 sweeps \(.*effective sample size \d+, at least 1e\+06 wanted; worst for \w+.*raise most_sweeps"
        )
        with pytest.raises(Unfinished, match=said):
            Mi(model=model).synthesize(plan_of(people()), streams=Streams(1))


class TestMissing:
    def gaps(self) -> pd.DataFrame:
        frame = people()
        rng = np.random.default_rng(4)
        for name in ("z", "age", "region", "health"):
            frame.loc[rng.random(len(frame)) < 0.15, name] = np.nan
        return frame

    def test_kept_cells_stay_missing_and_replaced_ones_are_filled(self):
        frame = self.gaps()
        release = DaMi(model=QUICK, copies=2).synthesize(plan_of(frame), streams=Streams(1))
        for copy in release.copies:
            pd.testing.assert_frame_equal(copy[["z", "health"]], frame[["z", "health"]])
            assert copy[["age", "sex", "region"]].notna().all().all()
        assert release.rule == "rubin1987"
        assert (release.design.imputations, release.design.copies, release.design.imputed) == (2, 1, True)

    def test_kept_cells_are_imputed_anew_in_every_copy(self):
        frame = self.gaps()
        first, second = (
            DaMi(model=QUICK, copies=2, missing="impute").synthesize(plan_of(frame), streams=Streams(1)).copies
        )
        for name in ("z", "health"):
            known = frame[name].notna()
            assert (first.loc[known, name] == frame.loc[known, name]).all()
            assert first[name].notna().all()
            assert (first.loc[~known, name] != second.loc[~known, name]).any()

    def test_imputed_values_go_with_the_others(self):
        frame = people(1500)
        frame.loc[np.random.default_rng(5).random(1500) < 0.3, "z"] = np.nan
        gone = frame["z"].isna()
        truth = people(1500).loc[gone, "z"]
        copy = (
            Mi(model=QUICK, copies=1, missing="impute")
            .synthesize(
                plan_of(frame, {"age": Variable(key=True), "region": Variable(kind="nominal")}), streams=Streams(2)
            )
            .copies[0]
        )
        found = np.corrcoef(copy.loc[gone, "z"], copy.loc[gone, "age"])[0, 1]
        expected = np.corrcoef(truth, frame.loc[gone, "age"])[0, 1]
        assert found == pytest.approx(expected, abs=4 * np.sqrt(2 / gone.sum()) * (1 - expected**2))

    def test_margins_are_right_when_missingness_depends_on_another_column(self):
        frame = people(2000)
        whole = frame["age"].copy()
        frame.loc[(frame["z"] > 0) & (np.random.default_rng(6).random(2000) < 0.6), "age"] = np.nan
        copies = Mi(model=QUICK, copies=4).synthesize(plan_of(frame), streams=Streams(5)).copies
        se = whole.std() / np.sqrt(len(frame))
        assert abs(frame["age"].mean() - whole.mean()) > 8 * se
        # the known half of the records alone gives it to within about 2 se; draws of four copies add to it
        assert np.mean([copy["age"].mean() for copy in copies]) == pytest.approx(whole.mean(), abs=4 * se)

    def test_what_cannot_be_done_is_said(self):
        plan = plan_of(self.gaps())
        found = DaMi(model=QUICK, mask_draw="once_orthogonal").problems(plan)
        assert "synthesis.mask_draw: noise cannot be orthogonal to values that are missing; use per_copy." in found
        found = Mi(model=Regression(), missing="impute").problems(plan_of(people()))
        assert found == [
            "synthesis.missing: model regression imputes before copies are made, not with them; set imputations: 5 "
            "(copies are then made of each), or use copula, or missing: keep."
        ]

    def test_complete_data_keep_the_usual_rule(self):
        release = DaMi(model=QUICK, copies=2).synthesize(plan_of(people()), streams=Streams(1))
        assert release.rule == "reiter2003"


def test_a_mask_of_full_information_gives_the_values_back():
    masks = {"age": Gaussian(sd=1e-4), "sex": Transition(keep=0.9999), "region": Transition(keep=0.9999)}
    frame = people()
    copy = DaMi(model=QUICK, copies=1).synthesize(plan_of(frame, masks=masks), streams=Streams(3)).copies[0]
    assert np.abs(copy["age"] - frame["age"]).max() <= 0.1 + 1e-9
    assert (copy["sex"] == frame["sex"]).mean() > 0.99
    assert (copy["region"] == frame["region"]).mean() > 0.99


@pytest.mark.parametrize("family", ["normal", "gamma", "beta"])
def test_margins_of_a_family(family):
    frame = people()
    frame.loc[::7, "age"] = np.nan
    plan = plan_of(frame, masks={}, variables={"age": Variable(role="replace", bounds=(0, 100), decimals=3)})
    model = Copula(least_ess=2, most_r_hat=5, families={"age": family, "z": "normal"})
    copies = Mi(model=model, copies=3).synthesize(plan, streams=Streams(5)).copies
    drawn = np.concatenate([copy["age"].to_numpy(float) for copy in copies])
    assert ((drawn >= 0) & (drawn <= 100)).all()
    assert abs(np.nanmean(frame["age"]) - drawn.mean()) < 4 * np.sqrt(2) * drawn.std() / np.sqrt(len(frame))
    assert np.corrcoef(np.tile(frame["z"], 3), drawn)[0, 1] > 0.5


def test_what_the_model_says_of_itself():
    release = DaMi(model=QUICK, copies=1).synthesize(plan_of(people()), streams=Streams(1))
    row = release.chain[0]
    assert row["model"] == "copula"
    assert row["sweeps"] == 250
    assert {"r_hat", "ess", "tail_ess"} <= set(row)
    statements = " ".join(str(entry["statement"]) for entry in release.masking)
    assert "the association model's margins follow the records' own values" in statements


def test_the_summary_names_what_was_left_out():
    chain = [
        {"model": "copula", "r_hat": 1.0, "ess": 99.0},
        {"column": "same", "left_out": "all its values are the same"},
    ]
    moved = {"column": "age", "moved": 1.0, "drift": 9.0}
    said = list(notes_on({"risk": {}, "chain": [*chain, moved]}))
    assert said == [
        "The chain had not settled for age: raise synthesis.sweeps.",
        "The model does not see same: all its values are the same.",
    ]


def test_coordinates_get_the_records_they_lack():
    rng = np.random.default_rng(9)
    n = 400
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "few": np.where(np.arange(n) < 30, rng.normal(size=n), np.nan),
            "b": (np.arange(n) < 60).astype(float),
            "g": np.repeat(["a", "b", "c"], [300, 90, 10]),
        }
    )
    data = resolve(frame, {"x": Variable(role="replace"), "b": Variable(kind="binary"), "g": Variable(kind="nominal")})
    task = prepare(Plan(data, tag(data, None), {"x": Gaussian(sd=1.0)}), QUICK, 5)[0]
    coding = Coding.of(task, (), 1.0)
    assert coding.lacking(0.0).tolist() == [0.0] * 5
    # x has them all; few, the rarer level of b, and the two rarer levels of g
    assert coding.lacking(100.0).tolist() == [0.0, 70.0, 40.0, 20.0, 90.0]


def test_correlations_with_few_answers_are_drawn_to_zero():
    rng = np.random.default_rng(10)
    n = 300
    x = rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "z": x + rng.normal(size=n), "few": np.where(np.arange(n) < 25, x, np.nan)})
    found = []
    for records in (0.0, 200.0):
        data = resolve(frame, {"x": Variable(role="replace")})
        plan = Plan(data, tag(data, None), {"x": Gaussian(sd=1.0)})
        model = Copula(prior_records=records, least_ess=30)
        drawn = model.fit(prepare(plan, model, 5)[0], rng=np.random.default_rng(1)).r.mean(axis=0)
        found.append(drawn)
    (xz, xf, _), (xz_prior, xf_prior, _) = found
    assert abs(xz - xz_prior) < 0.03
    assert xf > 0.8
    assert 0 < xf_prior < 0.5


def test_margins_are_completed_anew_for_different_draws():
    frame = people()
    frame.loc[::3, "age"] = np.nan
    plan = plan_of(frame)
    task = prepare(plan, QUICK, 5)[0]
    posterior = QUICK.fit(task, rng=np.random.default_rng(2))
    ways = [next(item for item in coding.items if item.column.name == "age").margin for coding in posterior.codings]
    assert len(ways) == 6
    known = ways[0].rows >= 0
    assert not known.all()
    assert all((way.filled[known] == way.rows[known]).all() for way in ways)
    assert all((way.filled >= 0).all() for way in ways)
    assert len({way.filled.tobytes() for way in ways}) == 6
    rng = np.random.default_rng(3)
    assert len({id(posterior.draw(rng=rng).coding) for _ in range(60)}) == 6
    whole = prepare(plan_of(people()), QUICK, 5)[0]
    assert len(QUICK.fit(whole, rng=np.random.default_rng(2)).codings) == 1
