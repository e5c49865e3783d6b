"""Log-linear synthesis: margins, a brute-force fit beside it, sampled cells beside listed ones, zeros, and refusals."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.errors import Unfinished
from synthdp.seeding import Streams
from synthdp.synthesis.loglinear import ipf, support
from synthdp.synthesis.loglinear.axes import Records, axis_of, cuts_of
from synthdp.synthesis.loglinear.catall import Catall
from synthdp.synthesis.loglinear.ipf import Ipf
from synthdp.synthesis.loglinear.raking import Margin, rake
from synthdp.synthesis.making import make
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

SIZES = {"a": 3, "b": 4, "c": 2}


def people(n=2000, seed=1):
    """Return three related columns of levels and one that is missing now and then."""
    rng = np.random.default_rng(seed)
    a = rng.choice(["x", "y", "z"], n, p=[0.5, 0.3, 0.2])
    b = np.where(rng.random(n) < 0.5, np.where(a == "x", "k", "l"), rng.choice(["k", "l", "m", "o"], n))
    c = np.where((a == "y") & (b == "l"), "yes", rng.choice(["no", "yes"], n, p=[0.7, 0.3]))
    d = pd.Series(rng.choice(["p", "q"], n)).mask(rng.random(n) < 0.1)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d})


def planned(frame, replaced=None, constraints=(), **variables):
    replaced = list(frame.columns) if replaced is None else replaced
    declared = {name: Variable(role="replace" if name in replaced else "keep") for name in frame.columns}
    data = resolve(frame, declared | {name: Variable.model_validate(v) for name, v in variables.items()})
    return Plan(data, tag(data, None), constraints=tuple(constraints))


def brute_force(table, turns=2000):
    """Return the table of shares with all two-way margins of another one, by scaling a dense array."""
    fitted = np.ones_like(table, dtype=float)
    for _ in range(turns):
        for axis in range(3):
            wanted, now = table.sum(axis=axis, keepdims=True), fitted.sum(axis=axis, keepdims=True)
            fitted *= np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
    return fitted / fitted.sum()


def three_way(frame):
    table = pd.crosstab([frame["a"], frame["b"]], frame["c"]).reindex(
        pd.MultiIndex.from_product([["x", "y", "z"], ["k", "l", "m", "o"]]), fill_value=0
    )
    return table.to_numpy(dtype=float).reshape(3, 4, 2)


def fitted(method, plan, streams=1):
    """Return records, support and weights of a fit."""
    records = method.records(plan)
    margins = method.tables(records)
    rows = (
        support.every_cell(records)
        if support.listed(records)
        else support.sampled(records, margins, method.candidates, rng=np.random.default_rng(streams))
    )
    return records, margins, rows, method._raked(records, rows, margins, None)


def test_the_fit_is_the_brute_force_one_and_has_the_margins():
    frame = people()[["a", "b", "c"]]
    plan = planned(frame)
    records, margins, rows, raked = fitted(Ipf(tolerance=1e-13, iterations=2000), plan)
    whole = np.zeros((3, 4, 2))
    np.add.at(whole, tuple(rows.cells[name] for name in "abc"), raked.weights)
    np.testing.assert_allclose(whole, brute_force(three_way(frame)), atol=1e-9)
    for margin in margins:
        np.testing.assert_allclose(margin.shares(rows.cells, raked.weights), margin.shares(records.cells()), atol=1e-9)


def test_the_fit_is_that_of_poisson_regression():
    import statsmodels.formula.api as smf

    frame = people()[["a", "b", "c"]]
    # a cell of a pair that nobody is in has no finite estimate
    counts = frame.value_counts().reindex(pd.MultiIndex.from_product([["x", "y", "z"], list("klmo"), ["no", "yes"]]))
    flat = counts.fillna(0).rename_axis(["a", "b", "c"]).reset_index(name="n")
    wanted = smf.poisson("n ~ (a + b + c) ** 2", flat).fit(disp=0, method="newton", maxiter=200).predict()
    _, _, _, raked = fitted(Ipf(tolerance=1e-13, iterations=2000), planned(frame))
    found = pd.Series(raked.weights * len(frame)).to_numpy()
    np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-4, atol=1e-3)


def test_sampled_cells_give_the_listed_fit(monkeypatch):
    """Raking a sample from a member of the family is the same fit, but for the chance in the sample."""
    frame = people(5000)[["a", "b", "c"]]
    monkeypatch.setattr(support, "LISTED", 1)
    records, margins, rows, raked = fitted(Ipf(candidates=200_000, tolerance=1e-10, iterations=500), planned(frame))
    whole = np.zeros((3, 4, 2))
    np.add.at(whole, tuple(rows.cells[name] for name in "abc"), raked.weights)
    np.testing.assert_allclose(whole, brute_force(three_way(frame)), atol=4 * np.sqrt(0.25 / 200_000))
    for margin in margins:
        np.testing.assert_allclose(margin.shares(rows.cells, raked.weights), margin.shares(records.cells()), atol=1e-8)
    assert raked.uncovered == 0


@pytest.mark.parametrize("most", [400_000, 1], ids=["listed", "sampled"])
def test_given_kept_columns_the_copies_follow_the_conditional_model(most, monkeypatch):
    monkeypatch.setattr(support, "LISTED", most)
    frame = people(3000)[["a", "b", "c"]]
    plan = planned(frame, replaced=["b", "c"])
    copies = Ipf(copies=20, candidates=100_000).synthesize(plan, streams=Streams(3)).copies
    expected = brute_force(three_way(frame))
    drawn = np.mean([three_way(copy) / len(copy) for copy in copies], axis=0)
    # with one kept column the conditional model is the joint one
    assert np.abs(drawn - expected).max() < 4 * np.sqrt(0.25 / (20 * 3000)) + 1 / 3000
    assert all(copy["a"].equals(frame["a"]) for copy in copies)


def test_a_pair_that_nobody_has_is_drawn_under_a_prior_only():
    frame = people()[["a", "b", "c"]]
    frame = frame[~((frame["a"] == "z") & (frame["b"] == "m"))].reset_index(drop=True)
    plan = planned(frame)
    for prior, some in ((0.0, False), (400.0, True)):
        copies = Ipf(copies=3, prior=prior).synthesize(plan, streams=Streams(2)).copies
        assert any(((copy["a"] == "z") & (copy["b"] == "m")).any() for copy in copies) is some


@pytest.mark.parametrize("method", [Ipf(copies=2, prior=200.0), Catall(copies=2, prior=2000.0)], ids=["ipf", "catall"])
def test_zeros_constraints_and_skips_are_kept(method):
    frame = people()
    frame = frame[~((frame["a"] == "z") & (frame["b"] == "m")) & ~((frame["a"] == "x") & (frame["b"] == "o"))]
    frame["d"] = frame["d"].where(frame["c"] == "yes")
    plan = planned(
        frame.reset_index(drop=True),
        constraints=["not (a == 'x' and b == 'o')"],
        d={"role": "replace", "applies_when": "c == 'yes'"},
    )
    asked = method.model_copy(update={"zeros": ("a == 'z' and b == 'm'",)})
    assert asked.problems(plan) == []
    for copy in make(asked, plan, streams=Streams(4)).copies:
        assert not ((copy["a"] == "z") & (copy["b"] == "m")).any()
        assert not ((copy["a"] == "x") & (copy["b"] == "o")).any()
        assert copy.loc[copy["c"] == "no", "d"].isna().all()
        assert copy["d"].notna().any()


def test_constraints_on_numbers_are_kept_by_drawing_again():
    rng = np.random.default_rng(1)
    age = rng.integers(18, 90, 800)
    frame = pd.DataFrame({"age": age, "years": rng.integers(0, age - 17), "sex": rng.choice(["F", "M"], 800)})
    plan = planned(frame, constraints=["years <= age - 18"], sex={"role": "keep"})
    for copy in make(Ipf(copies=2), plan, streams=Streams(1)).copies:
        assert (copy["years"] <= copy["age"] - 18).all()


def test_catall_draws_in_proportion_to_counts():
    frame = people()[["a", "b", "c"]]
    plan = planned(frame)
    copies = Catall(copies=30).synthesize(plan, streams=Streams(1)).copies
    drawn = sum(three_way(copy) for copy in copies)
    expected = (three_way(frame) + 1 / 24) / (len(frame) + 1) * drawn.sum()
    assert stats.chisquare(drawn.ravel(), expected.ravel()).pvalue > 1e-4


def test_proper_copies_vary_as_much_more_as_their_parameters_do():
    """Between copies a share varies by p(1 − p)/n from drawing, and as much again when parameters are drawn."""
    frame = people(400)[["a", "b", "c"]]
    plan = planned(frame)
    share = (frame["a"] == "x").mean()
    for kind in (Ipf, Catall):
        for proper, times in ((False, 1), (True, 2)):
            copies = kind(copies=150, proper=proper).synthesize(plan, streams=Streams(9)).copies
            between = np.var([(copy["a"] == "x").mean() for copy in copies], ddof=1)
            ratio = between / (times * share * (1 - share) / len(frame))
            low, high = stats.chi2.ppf([1e-4, 1 - 1e-4], 149) / 149
            assert low < ratio < high


def test_records_dealt_at_even_steps_repeat_the_tables_more_closely():
    frame = people()[["a", "b", "c"]]
    plan = planned(frame)
    off = {}
    for dealing in ("independent", "systematic"):
        copies = Ipf(copies=10, dealing=dealing).synthesize(plan, streams=Streams(1)).copies
        off[dealing] = np.mean([np.abs(three_way(c).sum(axis=2) - three_way(frame).sum(axis=2)).sum() for c in copies])
    assert off["systematic"] < off["independent"] / 3


def test_by_gives_every_level_tables_of_its_own():
    frame = people()[["a", "b", "c"]]
    plan = planned(frame)
    method = Ipf(by="a", tolerance=1e-12, iterations=500)
    records, margins, rows, raked = fitted(method, plan)
    assert [margin.names for margin in margins] == [("b", "c", "a")]
    np.testing.assert_allclose(
        margins[0].shares(rows.cells, raked.weights), margins[0].shares(records.cells()), atol=1e-9
    )


def test_numbers_stay_within_what_the_bins_hold():
    rng = np.random.default_rng(2)
    income = np.where(rng.random(1000) < 0.3, 0.0, np.round(np.exp(rng.normal(8, 1, 1000)), 2))
    frame = pd.DataFrame({"income": income, "sex": rng.choice(["F", "M"], 1000)})
    plan = planned(frame)
    copy = Ipf(copies=1, bins=10).synthesize(plan, streams=Streams(1)).copies[0]
    assert abs((copy["income"] == 0).mean() - 0.3) < 4 * np.sqrt(2 * 0.21 / 1000)
    own = set(income[income > 0])
    assert np.mean([value in own for value in copy["income"][copy["income"] > 0]]) < 0.02
    assert copy["income"].max() != income.max()


def test_cuts_set_heaps_apart():
    values = np.concatenate([np.zeros(50), np.arange(1.0, 51)])
    cuts = cuts_of(values, 4)
    assert {0.0, np.nextafter(0.0, 1.0)} <= set(cuts)
    data = resolve(pd.DataFrame({"x": values}), {"x": Variable(kind="continuous")})
    axis = axis_of(data, "x", bins=4)
    assert (np.bincount(axis.codes) > 0).all()
    assert axis.plain == axis.size == axis.inside.leaves


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"bins_by": {"e": 3}}, "synthesis.bins_by: no column named 'e'."),
        ({"exclude": ("a",)}, "synthesis.exclude: 'a' is not a kept column."),
        ({"margins": (("a", "e"),)}, "synthesis.margins: 'e' is not a kept or replaced column that is looked at."),
        ({"margins": (("a", "a"),)}, "synthesis.margins: each must name one column or more, and none twice."),
        ({"by": "e"}, "synthesis.by: 'e' is not a kept or replaced column that is looked at."),
        (
            {"dealing": "systematic"},
            "synthesis.dealing: systematic is for files of which no column is kept; use independent.",
        ),
        (
            {"zeros": ("e == 'x'",)},
            "synthesis.zeros, number 1: may name columns that are kept or replaced and not excluded, found e.",
        ),
        (
            {"zeros": ("n > 3",)},
            "synthesis.zeros, number 1: may name columns of levels only, found n; use constraints for numbers.",
        ),
        ({"zeros": ("a",)}, "synthesis.zeros, number 1: must be a condition, true or false for each record."),
        (
            {"zeros": ("a == 'x'",)},
            "synthesis.zeros, number 1: 1002 records of the data are there; first at row 3. Correct the data, or the "
            "condition.",
        ),
        ({"zeros": ("a ==",)}, "synthesis.zeros, number 1: "),
    ],
)
def test_refused(settings, sentence):
    frame = people().assign(n=np.arange(2000))
    found = Ipf(**settings).problems(planned(frame, replaced=["a", "b"]))
    assert any(one.startswith(sentence) for one in found), found


def test_nothing_to_replace():
    sentence = "variables: no column has role: replace; nothing would be synthesised."
    assert sentence in Catall().problems(planned(people(), replaced=[]))


def test_tables_that_do_not_fit_are_refused_with_their_memory(monkeypatch):
    plan = planned(people(), replaced=["a", "b"])
    monkeypatch.setattr(ipf, "MOST_MARGIN", 10)
    (found,) = Ipf().problems(plan)
    assert found.startswith("synthesis.margins: the table of c × b has 8") or "cells (0.0 GB), at most 10" in found
    monkeypatch.setattr(ipf, "MOST_MARGIN", 10**7)
    monkeypatch.setattr(ipf, "MOST_ROWS", 100)
    monkeypatch.setattr(support, "LISTED", 1)
    (found,) = Ipf(candidates=1000).problems(plan)
    assert found.startswith("synthesis: the kept columns make 6 combinations, for which 1,120 cells would be drawn (")


def test_records_for_whom_nothing_is_possible_are_counted():
    plan = planned(people(), replaced=["a", "b"], constraints=["a == 'x' or a == 'y' or a == 'z'"])
    impossible = Plan(plan.data, plan.tags, constraints=("a == 'w'",))
    with pytest.raises(Unfinished, match="for 2000 records no cell that the constraints allow"):
        Ipf(copies=1).synthesize(impossible, streams=Streams(1))
    with pytest.raises(Unfinished, match="found no cell that is possible in 1000 tries; set prior: 0"):
        Catall(copies=1, prior=1e6).synthesize(impossible, streams=Streams(1))


def test_a_fit_that_stops_early_is_called_an_approximation():
    release = Ipf(copies=1, iterations=1, tolerance=1e-9).synthesize(planned(people()), streams=Streams(1))
    assert "after 1 turns the shares of a margin still differed by" in release.chain[0]["approximation"]


def test_margins_that_no_weights_have_stop_the_fit():
    rows = {"a": np.array([0, 1]), "b": np.array([0, 1])}
    wanted = [(Margin((name,), (2,)), np.array(share)) for name, share in (("a", [0.3, 0.7]), ("b", [0.6, 0.4]))]
    raked = rake(rows, np.ones(2), wanted, iterations=1000, tolerance=1e-9)
    assert raked.iterations < 20
    assert raked.error == pytest.approx(0.6)


def test_rows_of_a_table_show_levels_and_gaps():
    plan = planned(people())
    records = Records.of(plan.data, bins=5)
    frame = records.table(records.cells(), ["a", "d"])
    pd.testing.assert_frame_equal(frame, plan.data.frame[["a", "d"]], check_dtype=False)
    assert repr(records) == "Records(2000 records in 1 groups)"


def test_many_columns_are_drawn_without_a_table():
    """Forty columns have 2^40 cells and more; none is listed."""
    rng = np.random.default_rng(1)
    hidden = rng.random(600)
    frame = pd.DataFrame({f"q{j}": np.where(rng.random(600) < hidden, "yes", "no") for j in range(70)})
    margins = tuple((f"q{j}", f"q{j + 1}") for j in range(69))
    copy = Ipf(copies=1, margins=margins, candidates=20_000).synthesize(planned(frame), streams=Streams(1)).copies[0]
    assert Catall(copies=1).synthesize(planned(frame), streams=Streams(1)).copies[0].isin(["yes", "no"]).all(axis=None)
    for one, other in itertools.pairwise(frame.columns[:5]):
        apart = pd.crosstab(frame[one], frame[other]) - pd.crosstab(copy[one], copy[other])
        assert np.abs(apart.to_numpy()).max() < 4 * np.sqrt(600 * 0.25 * 2)
