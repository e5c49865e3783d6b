"""The chain of θ under constraints: what is stacked, for every family, with columns that do not apply to everyone."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synthdp.imputation.regression.association import Regression
from synthdp.imputation.regression.forward import NormLogit
from synthdp.imputation.regression.sequence import largest_count, steps_of
from synthdp.masking.evidence import GaussianEvidence
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis import rejection
from synthdp.synthesis.constraints import quick_check, violated
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.synthesis.sequential import Sequential
from synthdp.synthesis.truncation import Truncated, writer
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

N = 120
RULES = {
    "continuous": "x <= z + 1",
    "two numbers": "x <= y + 1",
    "binary": "b == 'no' or x > -0.5",
    "count": "visits <= 6 + z",
    "ordinal": "health != 'bad' or x < 1",
    "nominal": "region != 'south' or x > -1",
    "semicontinuous": "spent <= 15 + 5 * z",
    "conditional": "wage < 60 + 5 * x",
}


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    monkeypatch.setattr(rejection, "LENGTHS", (4,))
    monkeypatch.setattr(rejection, "FEWEST_APART", 2)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    n = 6 * N
    z, x = rng.normal(size=(2, n))
    spent = np.where(rng.random(n) < 0.4, 0.0, np.round(np.exp(2 + 0.3 * x + 0.5 * rng.normal(size=n)), 2))
    work = np.where(rng.random(n) < 0.6, "yes", "no")
    frame = pd.DataFrame(
        {
            "z": z,
            "x": x,
            "y": x + rng.normal(size=n),
            "b": np.where(rng.random(n) < 0.4, "yes", "no"),
            "visits": rng.poisson(np.exp(1 + 0.2 * x)),
            "health": rng.choice(["good", "fair", "bad"], n),
            "region": rng.choice(["north", "south", "west"], n),
            "spent": spent,
            "work": work,
            "wage": np.where(work == "yes", 50 + 5 * x + 5 * rng.normal(size=n), np.nan),
        }
    )
    return frame[~violated(frame, list(RULES.values()))].head(N).reset_index(drop=True)


KINDS = {
    "x": Variable(role="replace"),
    "y": Variable(role="replace"),
    "b": Variable(role="replace"),
    "visits": Variable(role="replace", kind="count"),
    "health": Variable(role="replace", kind="ordinal", levels=("bad", "fair", "good")),
    "region": Variable(role="replace", kind="nominal"),
    "spent": Variable(role="replace", kind="semicontinuous", bounds=(0, 200)),
    "work": Variable(role="replace"),
    "wage": Variable(role="replace", applies_when="work == 'yes'"),
}
ASKED = {
    "continuous": ("x",),
    "two numbers": ("x", "y"),
    "binary": ("b", "x"),
    "count": ("visits", "x"),
    "ordinal": ("health", "x"),
    "nominal": ("region", "x"),
    "semicontinuous": ("spent", "x"),
    "conditional": ("x", "work", "wage"),
}


def plan_of(kind: str) -> Plan:
    data = resolve(people(), {name: KINDS[name] for name in ASKED[kind]})
    return Plan(data, tag(data, None), constraints=(RULES[kind],))


def truncated(kind: str, seed: int = 1) -> Truncated:
    plan, model, rng = plan_of(kind), Regression(), np.random.default_rng(seed)
    task, _ = prepare(plan, model, 5)
    posterior = model.fit(task, rng=rng)
    return Truncated.of(model, task, posterior, plan.constraints, writer(task), rng=rng)


@pytest.mark.parametrize("kind", RULES)
def test_copies_of_every_family_keep_the_constraint(kind):
    made = Mi(copies=2, sweeps=3).synthesize(plan_of(kind), streams=Streams(1))
    for copy in made.copies:
        assert not violated(copy, [RULES[kind]]).any()
        assert copy.dtypes.equals(people().dtypes)
    assert made.chain[0]["column"] == "the parameters under constraints"


@pytest.mark.parametrize("kind", RULES)
def test_rejected_draws_break_the_constraint_and_stand_behind_the_records(kind):
    found = truncated(kind)
    rejected, task = found.rejected, found.longer(found.rejected)
    assert len(rejected) > 0
    assert violated(rejected.table(), [RULES[kind]]).all()
    assert len(task.predictors.matrix) == N + len(rejected)
    # what is kept is the record's own
    assert (task.predictors.matrix[N:] == found.task.predictors.matrix[rejected.rows]).all()
    for name, x in task.working.items():
        assert np.array_equal(x[:N], found.task.working[name], equal_nan=True)
        applies = task.applies.get(name, np.ones(len(x), dtype=bool))
        assert np.isfinite(x[applies]).all()
        assert np.isnan(x[~applies]).all()
    if kind == "conditional":
        assert (task.applies["wage"][N:] == rejected.table()["work"].eq("yes")).all()
    assert repr(found) == f"Truncated({N} records, Tried({len(rejected)} draws))"


def test_the_largest_count_stays_that_of_the_file():
    found = truncated("count")
    longer = found.longer(found.rejected)
    assert largest_count(longer, "visits") == largest_count(found.task, "visits")
    # the regression is of the counts themselves, in the records and in what was rejected
    counts = steps_of(longer, ("visits", "x"), "probit", 1.0, 1.0)[0].values
    assert counts.tolist() == [*people()["visits"], *found.rejected.table()["visits"]]


def test_draws_outside_the_bounds_teach_as_they_were_drawn():
    data = resolve(people()[["z", "x"]], {"x": Variable(role="replace", bounds=(-9, 9))})
    tight = resolve(people()[["z", "x"]].clip(-0.5, 0.5), {"x": Variable(role="replace", bounds=(-0.5, 0.5))})
    for one in (data, tight):
        plan, rng = Plan(one, tag(one, None), constraints=("x != 7",)), np.random.default_rng(2)
        task, _ = prepare(plan, Regression(), 5)
        theta = Regression().fit(task, rng=rng).draw(rng=rng)
        drawn = theta.unbounded(np.arange(N)).draw({"x": GaussianEvidence.flat(N)}, rng=rng)["x"]
        low, high = task.links["x"].limits()
        inside = (drawn >= low) & (drawn <= high)
        assert inside.all() == (one is data)
        held = writer(task)(np.arange(N), {"x": drawn})["x"]
        assert held.between(*one.schema["x"].bounds).all()


def test_the_same_parameters_for_other_records():
    plan, rng = plan_of("count"), np.random.default_rng(2)
    task, _ = prepare(plan, Regression(), 5)
    theta = Regression().fit(task, rng=rng).draw(rng=rng)
    some = theta.of(np.array([3, 3, 5]))
    assert (some.gibbs.design == task.predictors.matrix[[3, 3, 5]]).all()
    assert some.gibbs.nodes is theta.gibbs.nodes


def test_only_regressions_are_learnt_under_constraints():
    assert Regression().keeps_constraints == "learnt"
    assert Mi(model={"method": "cart"}).model.keeps_constraints == "drawn"
    found = truncated("continuous")
    with pytest.raises(TypeError, match="int cannot be learnt under constraints"):
        Truncated.of(found.model, found.task, Fixed(), RULES["continuous"], found.write, rng=np.random.default_rng(1))


class Fixed:
    def draw(self, *, rng):
        return 1


@pytest.mark.parametrize("kind", ["two numbers", "binary", "conditional"])
def test_sequential_regressions_of_every_sort(kind):
    method = Sequential(model=NormLogit(), copies=2)
    made = method.synthesize(plan_of(kind), streams=Streams(1))
    again = method.synthesize(plan_of(kind), streams=Streams(1), jobs=2)
    for copy, same in zip(made.copies, again.copies, strict=True):
        assert not violated(copy, [RULES[kind]]).any()
        pd.testing.assert_frame_equal(copy, same)
    assert made.design.proper
    assert made.chain[0]["column"] == "the parameters under constraints"


def test_masks_drawn_once_go_with_constraints():
    plan = replace(plan_of("conditional"), masks={name: Gaussian(sd=1) for name in ("x", "wage")})
    for copy in DaMi(copies=2, mask_draw="once", sweeps=3).synthesize(plan, streams=Streams(1)).copies:
        assert not violated(copy, plan.constraints).any()


QUICK = (
    "x <= z + 1",
    "abs(x - y) < 2 and not (x > 1 or y < -1)",
    "-1 < x <= y + 3",
    "log(x) < 1",
    "x / z > -4 or sqrt(y) < 2 or -x ** 3 > 2",
    "max(x, y) >= min(z, 0.5) - 1 and floor(x) != ceil(y)",
    "x != gap",
    "gap > x or x == x",
    "visits <= 6 + z and flag == 0",
    "word == 'aye' or x > 0",
    "word != 'nobody' and kept != 'b' or not kept in ['a', 'c']",
    "kept not in ['a'] or word in ['no', 'aye']",
)


@pytest.mark.parametrize("text", QUICK)
def test_constraints_between_numbers_are_looked_at_without_a_table(text):
    rng = np.random.default_rng(3)
    frame = people().assign(flag=rng.integers(0, 2, N), gap=np.where(rng.random(N) < 0.2, np.nan, rng.normal(size=N)))
    frame = frame.assign(word=rng.choice(["no", "aye", "perhaps"], N), kept=rng.choice(["a", "b", None], N))
    named = ("x", "y", "visits")
    data = resolve(
        frame,
        {name: KINDS[name] for name in named} | {"flag": Variable(role="replace"), "word": Variable(role="replace")},
    )
    task, _ = prepare(Plan(data, tag(data, None)), Regression(), 5)
    rows = rng.integers(0, N, 500)
    drawn = {name: rng.normal(size=500) for name in named} | {"flag": rng.integers(0, 2, 500).astype(float)}
    drawn["word"] = rng.integers(0, 3, 500).astype(float)
    check = quick_check(task, [text])
    assert check is not None
    assert (check(rows, drawn) == violated(writer(task)(rows, drawn), [text])).all()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("binary", "b > 'no' or x > 0"),
        ("binary", "b in ['no', 1] or x > 0"),
        ("two numbers", "isnull(x) or x < 1"),
        ("two numbers", "x in [1, 2]"),
        ("two numbers", "cut(x, [1]) < 1"),
        ("two numbers", "(x < 1) + y < 3"),
        ("two numbers", "`x` < 3"),
        ("two numbers", "(x < y) == True"),
        ("two numbers", "x and y > 1"),
        ("conditional", "x < 1"),
    ],
)
def test_all_others_take_one(kind, text):
    task, _ = prepare(plan_of(kind), Regression(), 5)
    assert quick_check(task, [text]) is None


def test_the_chain_is_the_same_with_a_table_and_without():
    plan, model = plan_of("two numbers"), Regression()
    task, _ = prepare(plan, model, 5)
    found = []
    for quick in (None, quick_check(task, plan.constraints)):
        rng = np.random.default_rng(1)
        posterior = model.fit(task, rng=rng)
        chain = Truncated.of(model, task, posterior, plan.constraints, writer(task), rng=rng, quick=quick)
        found.append(chain.rejected)
    assert (found[0].rows == found[1].rows).all()
    assert (found[0].drawn["x"] == found[1].drawn["x"]).all()
    assert found[1].frame is None
