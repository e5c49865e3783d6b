"""Constraints hold in every copy, and models that cannot be learnt under them are refused or say so."""

import numpy as np
import pandas as pd
import pytest

from synthdp import api
from synthdp.errors import InputError, Unfinished
from synthdp.synthesis import constraints, rejection
from synthdp.synthesis.constraints import MOST_ROUNDS, constrained, violated
from synthdp.synthesis.imputed import Mi
from synthdp.synthesis.making import make
from synthdp.synthesis.plan import Plan, Release
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

RULE = "yrs_married <= age - 18"
VARIABLES = {name: Variable(role="replace") for name in ("age", "yrs_married")}
METHODS = {
    "da_mi": {"method": "da_mi"},
    "da_mi cart": {"method": "da_mi", "model": {"method": "cart"}},
    "mi": {"method": "mi"},
    "sequential": {"method": "sequential"},
    "sequential proper": {"method": "sequential", "proper": True},
    "sequential regression": {"method": "sequential", "model": {"method": "regression"}},
}


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    """How well θ is drawn does not matter here: ``tests/statistical/test_truncation.py`` looks at that."""
    monkeypatch.setattr(rejection, "LENGTHS", (6,))


def couples(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    age = rng.integers(20, 80, n)
    return pd.DataFrame(
        {"age": age, "yrs_married": np.round((age - 18) * rng.random(n)).astype(int), "z": rng.normal(size=n)}
    )


def settings(method: str, *rules: str, **more) -> dict:
    return {
        "variables": {
            "age": {"kind": "continuous", "role": "replace", "key": True, "bounds": [18, 90], "decimals": 0},
            "yrs_married": {"kind": "continuous", "role": "replace", "bounds": [0, 70], "decimals": 0},
        },
        "constraints": list(rules),
        "masks": {name: {"method": "gaussian", "sd": 1} for name in ("age", "yrs_married")},
        "synthesis": METHODS[method] | {"copies": 3} | more,
    }


@pytest.mark.parametrize("method", METHODS)
def test_constraints_hold_in_every_copy(method):
    frame = couples()
    free = api.synthesize(frame, settings(method), seed=4).copies
    held = api.synthesize(frame, settings(method, RULE), seed=4).copies
    assert sum(violated(copy, [RULE]).sum() for copy in free) > 0
    for before, after in zip(free, held, strict=True):
        assert (after["yrs_married"] <= after["age"] - 18).all()
        assert before.dtypes.equals(after.dtypes)
        pd.testing.assert_series_equal(after["z"], frame["z"])


@pytest.mark.parametrize("method", ["da_mi cart", "sequential", "sequential proper"])
def test_of_copies_by_trees_only_broken_records_change(method):
    frame = couples()
    free = api.synthesize(frame, settings(method), seed=4).copies
    held = api.synthesize(frame, settings(method, RULE), seed=4).copies
    for before, after in zip(free, held, strict=True):
        rows = violated(before, [RULE])
        pd.testing.assert_frame_equal(before[~rows], after[~rows])


@pytest.mark.parametrize("method", METHODS)
def test_a_constraint_that_no_draw_can_break_changes_nothing(method):
    frame = couples(80)
    free = api.synthesize(frame, settings(method), seed=4).copies
    held = api.synthesize(frame, settings(method, "z < 100"), seed=4).copies
    for before, after in zip(free, held, strict=True):
        pd.testing.assert_frame_equal(before, after)


@pytest.mark.parametrize("method", ["da_mi", "sequential"])
def test_the_same_copies_for_any_number_of_jobs_and_more_copies(method):
    frame = couples()
    one = api.synthesize(frame, settings(method, RULE), seed=4).copies
    three = api.synthesize(frame, settings(method, RULE, copies=4), seed=4, jobs=3).copies
    for left, right in zip(one, three, strict=False):
        pd.testing.assert_frame_equal(left, right)


def test_redrawing_gives_the_distribution_where_the_constraint_holds():
    """A coin pair drawn until x <= y has three equally likely outcomes."""
    rng = np.random.default_rng(1)
    n = 40_000
    copy = constrained(
        lambda: pd.DataFrame({"x": rng.integers(0, 2, n), "y": rng.integers(0, 2, n)}), ["x <= y"], copy=1
    )
    shares = copy.value_counts(normalize=True)
    assert set(shares.index) == {(0, 0), (0, 1), (1, 1)}
    assert np.abs(shares - 1 / 3).max() < 4 * np.sqrt(2 / 9 / n)


def test_a_constraint_that_is_hardly_ever_met_stops_the_run():
    draws = []

    def draw() -> pd.DataFrame:
        draws.append(1)
        return pd.DataFrame({"x": [0, 5, 9]})

    with pytest.raises(Unfinished) as caught:
        constrained(draw, ["x < 3"], copy=2)
    assert str(caught.value) == (
        "constraints: 2 records of copy 2 still break one after 100 further draws; the model hardly ever draws what is "
        "asked for. Loosen the constraint, give its columns bounds or a transform that suit it, or replace only one of "
        "them."
    )
    assert len(draws) == MOST_ROUNDS + 1


def test_the_last_draw_counts():
    draws = iter([9] * MOST_ROUNDS + [1])
    assert constrained(lambda: pd.DataFrame({"x": [next(draws)]}), ["x < 3"], copy=1)["x"].tolist() == [1]


def test_missing_values_break_nothing_unless_the_constraint_speaks_of_them():
    frame = pd.DataFrame({"x": [1.0, np.nan, 5.0], "y": [2.0, 2.0, 2.0]})
    assert violated(frame, ["x < y"]).tolist() == [False, False, True]
    assert violated(frame, ["not isnull(x)"]).tolist() == [False, True, False]
    assert violated(frame, []).tolist() == [False, False, False]


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            "yrs_married <= age - 30",
            "constraints, number 1: {broken} records of the data break it; first at row {first}. "
            "Correct the data, or loosen the constraint.",
        ),
        ("yrs_married <= salary", "constraints, number 1: may name kept and replaced columns only, found salary."),
        (
            "yrs_married <=",
            "constraints, number 1: expression 'yrs_married <=': cannot be read; "
            "write for example age > 85 and sex == 'F'.",
        ),
        ("age + 1", "constraints, number 1: must be a condition, true or false for each record."),
        (
            "age < 'x'",
            "constraints, number 1: expression \"age < 'x'\": compares number with text; "
            "both sides must be of one sort.",
        ),
    ],
)
def test_a_constraint_that_cannot_be_asked_for(rule, sentence):
    frame = couples()
    broken = np.flatnonzero(frame["yrs_married"] > frame["age"] - 30)
    data = resolve(frame, {})
    assert constraints.problems(data, [rule]) == [sentence.format(broken=len(broken), first=broken[0] + 1)]
    with pytest.raises(InputError):
        api.synthesize(frame, settings("mi", rule), seed=1)


def test_a_derived_column_cannot_be_constrained():
    frame = couples().assign(double=lambda f: 2 * f["age"])
    asked = settings("mi", "double < 1000")
    asked["variables"]["double"] = {"derived": "2 * age"}
    with pytest.raises(InputError, match="number 1: may name kept and replaced columns only, found double"):
        api.synthesize(frame, asked, seed=1)


def test_repair_and_constraints_exclude_each_other():
    with pytest.raises(InputError) as caught:
        api.synthesize(couples(), settings("da_mi", RULE, repair=True), seed=1)
    assert str(caught.value) == (
        "synthesis.repair: may break the constraints it does not know; leave out one of the two."
    )


def test_a_method_that_does_not_know_constraints_is_caught():
    class Careless:
        copies = 1

        def problems(self, plan):
            return []

        def synthesize(self, plan, *, streams, jobs=1, advance=None):
            return Release((plan.data.frame.assign(yrs_married=99),), "careless", "reiter2003", "none")

    data = resolve(couples(), {})
    with pytest.raises(Unfinished) as caught:
        make(Careless(), Plan(data, tags=None, constraints=(RULE,)), streams=None)
    assert str(caught.value) == (
        "constraints: method careless does not keep them (200 records of copy 1 break one); "
        "use da_mi, mi or sequential."
    )


@pytest.mark.parametrize("model", ["copula", "pymc"])
def test_a_model_that_is_learnt_as_if_there_were_no_constraints_is_refused(model):
    asked = settings("mi", RULE)
    asked["synthesis"]["model"] = {"method": model}
    with pytest.raises(InputError) as caught:
        api.synthesize(couples(), asked, seed=1)
    assert (
        f"constraints: model {model} is learnt as if there were none, so that copies are truncated twice, and "
        "intervals cover the truth in as few as half of all files; use model regression (or cart), or leave the "
        "constraints out."
    ) in caught.value.problems
    # no draw can break this one
    plan = Plan(resolve(couples(), VARIABLES), tags=None, constraints=("z < 100",))
    assert not [text for text in Mi(model={"method": model}).problems(plan) if text.startswith("constraints")]


def test_trees_under_constraints_say_what_they_cost():
    plan = Plan(resolve(couples(), VARIABLES), tags=None, constraints=(RULE,))
    free = Plan(resolve(couples(), VARIABLES), tags=None)
    for method in (Mi(model={"method": "cart"}), Sequential()):
        assert method.notes(plan) == [constraints.TREES]
        assert method.notes(free) == []
    assert Mi().notes(plan) == []


def test_sequential_regressions_under_constraints_are_proper():
    plan = Plan(resolve(couples(), VARIABLES), tags=None, constraints=(RULE,))
    method = Sequential(model={"method": "regression"})
    assert method.design(plan).proper
    assert method.notes(plan) == [
        "Under constraints the regressions' parameters are drawn for every copy, as proper: true asks."
    ]
    assert Sequential(model={"method": "regression"}, proper=True).notes(plan) == []
    assert not method.design(Plan(plan.data, tags=None)).proper
    assert not Sequential().design(plan).proper
