"""Structural skips: a column has a value only where it applies, in the data, in every copy, by every method."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shared_data import SHARED

from synthdp import api
from synthdp.cli.starting import write_config
from synthdp.config import json_schema, parse
from synthdp.errors import InputError, Unfinished
from synthdp.evaluation.gate.limits import OFF
from synthdp.evaluation.leaks import Kind, scan
from synthdp.imputation.regression.association import RegressionParameters, RegressionPosterior
from synthdp.masking.gaussian import Gaussian
from synthdp.pipeline import check, plan_of, run
from synthdp.seeding import Streams
from synthdp.stages.intake import prepare
from synthdp.synthesis.imputed import DaMi, Mi
from synthdp.synthesis.making import make
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare as prepare_task
from synthdp.table import applies as applicability
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

SECRET = 2**100 + 7
WORKS = "employed == 'YES'"
METHODS = {
    "da_mi": {"method": "da_mi"},
    "da_mi once": {"method": "da_mi", "mask_draw": "once"},
    "da_mi orthogonal": {"method": "da_mi", "mask_draw": "once_orthogonal"},
    "da_mi cart": {"method": "da_mi", "model": {"method": "cart"}},
    "da_mi cart fixed": {"method": "da_mi", "model": {"method": "cart", "proper": False}, "mask_draw": "once"},
    "mi": {"method": "mi"},
    "mi cart": {"method": "mi", "model": {"method": "cart"}},
    "sequential": {"method": "sequential"},
    "sequential proper": {"method": "sequential", "proper": True},
    "sequential regression": {"method": "sequential", "model": {"method": "regression"}},
    "sequential regression proper": {"method": "sequential", "model": {"method": "regression"}, "proper": True},
}
MASKS = {
    "employed": {"method": "shifted_normal", "alpha": 1.0},
    "income": {"method": "gaussian", "sd": 0.5},
    "age": {"method": "gaussian", "sd": 0.7},
    "manager": {"method": "shifted_normal", "alpha": 1.0},
}


def people(n: int = 300, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = np.round(rng.uniform(16, 80, n))
    works = (rng.random(n) < 0.7) & (age < 70)
    manager = np.where(rng.random(n) < 0.4, "yes", "no")
    return pd.DataFrame(
        {
            "manager": np.where(works, manager, None),
            "income": np.where(works, np.round(np.exp(6 + 0.02 * age + 0.3 * rng.normal(size=n))), np.nan),
            "bonus": np.where(works & (manager == "yes"), np.round(rng.exponential(500, n)), np.nan),
            "age": age,
            "employed": np.where(works, "YES", "NO"),
            "region": rng.choice(["north", "south"], n),
            "z": rng.normal(size=n),
        }
    )


def raw(synthesis: dict | None = None, **variables: dict) -> dict:
    declared = {
        "income": {"role": "replace", "applies_when": WORKS},
        "manager": {"role": "replace", "applies_when": WORKS},
        "bonus": {"role": "replace", "applies_when": "manager == 'yes'"},
        "age": {"role": "replace", "key": True, "bounds": [16, 80], "tolerance": 2},
        "employed": {"role": "replace", "key": True},
    } | variables
    synthesis = {"method": "da_mi"} if synthesis is None else synthesis
    masked = synthesis["method"] == "da_mi"
    return {
        "data": {"path": "people.csv"},
        "variables": declared,
        "masks": MASKS if masked else {},
        "synthesis": {"copies": 2, **synthesis},
        "release": OFF.model_dump(),
    }


def copies_of(config: dict, frame: pd.DataFrame):
    parsed = parse(config)
    plan = plan_of(parsed, prepare(frame, parsed))
    return make(parsed.synthesis, plan, streams=Streams(SECRET)), plan


def problem(frame: pd.DataFrame, **variables: dict) -> str:
    with pytest.raises(InputError) as error:
        prepare(frame, parse(raw({"method": "sequential"}, **variables)))
    return "\n".join(error.value.problems)


# the condition itself


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("employed == ", "variables.income.applies_when: expression"),
        ("job == 'YES'", "may name released columns only, found job; a column that is dropped or absent"),
        ("income > 3", "names income itself; a column cannot decide whether it applies"),
        ("age + 1", "must be a condition, true or false for each record"),
        ("employed > 3", "compares number with text"),
        ("z > 1e9", "records have a value where the condition is false; first at row"),
    ],
)
def test_what_is_wrong_with_a_condition(condition, words):
    assert words in problem(people(), income={"role": "replace", "applies_when": condition})


def test_values_where_nothing_applies_are_counted_not_shown():
    frame = people()
    rows = np.flatnonzero(frame["employed"] == "NO")[:3]
    frame.loc[rows, "income"] = 98765.0
    told = problem(frame)
    assert told == (
        "variables.income.applies_when: 3 records have a value where the condition is false; first at row "
        f"{rows[0] + 1}. Correct the condition, or the data."
    )


def test_a_dropped_column_decides_nothing():
    assert "found employed" in problem(people(), employed={"role": "drop"})


def test_columns_that_need_each_other():
    told = problem(
        people(),
        income={"role": "replace", "applies_when": "not isnull(manager)"},
        manager={"role": "replace", "applies_when": "not isnull(income)"},
    )
    assert told == "variables: whether income, manager apply is circular; break the cycle of applies_when."


def test_a_kept_column_cannot_depend_on_a_replaced_one():
    told = problem(people(), bonus={}, income={"applies_when": WORKS})
    assert told == (
        "variables.income.applies_when: income is kept and employed replaced, so a copy would have values where they "
        "do not apply, or the gaps would reveal the true employed; replace income too, or keep employed."
    )


def test_nor_through_a_derived_one():
    frame = people().assign(young=lambda f: f["age"] < 30)
    frame["school"] = np.where(frame["young"], 1.0, np.nan) * np.arange(300)
    told = problem(frame, young={"derived": "age < 30"}, school={"applies_when": "young"})
    assert "school is kept and age replaced" in told


def test_too_few_to_learn_from():
    frame = people().assign(rare=np.where(np.arange(300) < 4, np.arange(300.0), np.nan), first=np.arange(300) < 4)
    told = problem(frame, rare={"role": "replace", "applies_when": "first"}, first={"kind": "binary"})
    assert "at least 10 records with a value are required to learn from, found 4" in told


def test_the_cluster_decides_nothing():
    config = raw(income={"role": "replace", "applies_when": "home > 0"})
    config["data"]["cluster"] = "home"
    with pytest.raises(InputError, match="home is the survey's cluster, which no model sees"):
        prepare(people().assign(home=np.arange(300)), parse(config))


def test_a_derived_column_follows_from_its_formula_only():
    with pytest.raises(InputError, match="applies_when is not for derived columns"):
        parse(raw(twice={"derived": "2 * age", "applies_when": WORKS}))


def test_the_nearest_key_is_named():
    with pytest.raises(InputError, match="did you mean 'applies_when'"):
        parse(raw(income={"applies_wen": WORKS}))
    assert "applies_when" in json_schema()["$defs"]["Variable"]["properties"]


def test_conditions_are_about_columns_after_coarsening():
    frame = people()
    config = raw({"method": "sequential"}, employed={"recode": {"YES": "Y"}})
    with pytest.raises(InputError, match="records have a value where the condition is false"):
        prepare(frame, parse(config))
    config["variables"] |= {
        name: {"role": "replace", "applies_when": "employed == 'Y'"} for name in ("income", "manager")
    }
    assert prepare(frame, parse(config)).schema["income"].applies_when == "employed == 'Y'"


def test_repair_and_order_know_of_it():
    with pytest.raises(InputError, match=r"synthesis.repair: may change bonus, employed, income, manager against"):
        copies_of(raw({"method": "da_mi", "repair": True}), people())
    order = ["income", "employed", "age", "manager", "bonus"]
    for model in ("cart", "regression"):
        with pytest.raises(
            InputError, match="order: income does not apply to everyone and must come after employed, age"
        ):
            copies_of(raw({"method": "da_mi", "model": {"method": model, "order": order}}), people())
        with pytest.raises(InputError, match=r"must come after employed\."):
            copies_of(raw({"method": "sequential", "model": {"method": model, "order": order}}), people())


def test_gaps_where_a_column_applies_are_gaps_as_any_other():
    frame = people()
    frame.loc[np.flatnonzero(frame["income"].notna())[:7], "income"] = np.nan
    with pytest.raises(InputError, match=r"variables.income: regression needs complete .* found 7 missing values"):
        copies_of(raw(), frame)
    for model in ("cart", "regression"):
        made, _ = copies_of(raw({"method": "sequential", "model": {"method": model}}), frame)
        gaps = [int((copy["income"].isna() & (copy["employed"] == "YES")).sum()) for copy in made.copies]
        assert 0 < sum(gaps) < 60


def test_a_method_that_does_not_keep_it_is_noticed():
    class Careless(DaMi):
        def synthesize(self, plan, *, streams, jobs=1, advance=None):
            made = super().synthesize(plan, streams=streams)
            return replace(made, copies=tuple(copy.assign(income=1.0) for copy in made.copies))

    config = parse(raw())
    plan = plan_of(config, prepare(people(), config))
    with pytest.raises(
        Unfinished, match=r"variables.income.applies_when: method da_mi does not keep it \(\d+ records of"
    ):
        make(Careless(), plan, streams=Streams(SECRET))


# every copy of every method


def assert_kept(copies, schema, original):
    for copy in copies:
        assert applicability.broken(copy, schema) == {}
        for column in applicability.conditional(schema):
            applies = applicability.holds(column, copy)
            known = original.loc[applicability.holds(column, original), column.name]
            if known.notna().all():  # then missing exactly where the condition is false
                assert (copy[column.name].notna().to_numpy() == applies).all()


@pytest.mark.parametrize("synthesis", METHODS.values(), ids=METHODS)
def test_missing_exactly_where_it_does_not_apply(synthesis):
    made, plan = copies_of(raw(synthesis), people())
    assert_kept(made.copies, plan.data.schema, plan.data.frame)
    for copy in made.copies:
        changed = (copy["employed"] != plan.data.frame["employed"]).to_numpy()
        assert changed.any()
        assert (copy["bonus"].notna() == (copy["manager"] == "yes")).all()
        assert copy.loc[copy["income"].notna(), "income"].nunique() > 20


@pytest.mark.parametrize("synthesis", [{"method": "da_mi"}, {"method": "sequential"}], ids=["da_mi", "sequential"])
def test_derived_columns_before_and_after(synthesis):
    frame = people().assign(
        agegr=lambda f: np.where(f["age"] < 40, "young", "old"), rich=lambda f: (f["income"] > 900).astype(float)
    )
    frame["school"] = np.where(frame["agegr"] == "young", np.arange(300) % 11 + 0.5, np.nan)
    variables = {
        "agegr": {"derived": "cut(age, [40], ['young', 'old'])"},
        "school": {"role": "replace", "applies_when": "agegr == 'young'"},
        "rich": {"derived": "income > 900"},
    }
    made, plan = copies_of(raw(synthesis, **variables), frame)
    for copy in made.copies:
        assert (copy["school"].notna() == (copy["age"] < 40)).all()
        assert ((copy["agegr"] == "young") == (copy["age"] < 40)).all()
        assert (copy["rich"] == (copy["income"] > 900)).all()
    assert "agegr" not in plan.data.schema


def test_a_column_that_applies_to_all_records_of_the_data():
    frame = people()
    working = frame[frame["employed"] == "YES"].reset_index(drop=True)
    frame = working.assign(hours=np.arange(len(working)) % 60, ok=np.arange(len(working)) % 3 == 0).drop(
        columns=["income", "manager", "bonus", "employed"]
    )
    for synthesis in ({"method": "sequential"}, METHODS["sequential regression"], {"method": "mi"}):
        config = raw(synthesis)
        config["variables"] = {
            "age": {"role": "replace", "kind": "continuous"},
            "hours": {"role": "replace", "kind": "continuous", "applies_when": "age < 69.5"},
            "ok": {"role": "replace", "applies_when": "age < 69.5"},
        }
        made, _ = copies_of(config, frame.assign(age=np.minimum(frame["age"], 69)))
        for copy in made.copies:
            assert (copy["hours"].notna() == (copy["age"] < 69.5)).all()
            assert (copy["ok"].notna() == (copy["age"] < 69.5)).all()


CONDITIONS = {
    "a == 'x'": lambda f: f["a"] == "x",
    "a != 'x' and b > 0": lambda f: (f["a"] != "x") & (f["b"] > 0),
    "b <= 0.5 or a in ['x', 'y']": lambda f: (f["b"] <= 0.5) | f["a"].isin(["x", "y"]),
    "k == 1": lambda f: f["k"] == 1,
    "not (k == 1) and a != 'y'": lambda f: (f["k"] != 1) & (f["a"] != "y"),
}


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    method=st.sampled_from(sorted(METHODS)),
    first=st.sampled_from(sorted(CONDITIONS)),
    second=st.sampled_from(sorted(CONDITIONS)),
    kinds=st.tuples(*[st.sampled_from(["continuous", "semicontinuous", "count", "binary", "ordinal", "nominal"])] * 2),
    seed=st.integers(0, 2**32),
)
def test_value_present_implies_condition(method, first, second, kinds, seed):
    rng = np.random.default_rng(seed)
    n = 120
    frame = pd.DataFrame({"a": rng.choice(["x", "y", "w"], n), "b": rng.normal(size=n), "k": rng.integers(0, 2, n)})
    synthesis = METHODS[method]
    if "regression" in str(synthesis) and synthesis["method"] == "sequential":
        kinds = tuple("binary" if kind in ("ordinal", "nominal") else kind for kind in kinds)
        frame["a"] = np.where(frame["a"] == "w", "y", frame["a"])
    variables: dict = {"a": {"role": "replace"}, "b": {"role": "replace"}, "k": {}}
    for name, condition, kind in zip(("d", "e"), (first, second), kinds, strict=True):
        frame[name] = some_values(kind, n, rng).where(CONDITIONS[condition](frame))
        variables[name] = {"role": "replace", "kind": kind, "applies_when": condition}
    config = raw(synthesis) | {"variables": variables}
    if synthesis["method"] == "da_mi":
        numbers = [n for n, kind in zip(("d", "e"), kinds, strict=True) if kind not in ("binary", "ordinal", "nominal")]
        config["masks"] = {name: {"method": "gaussian", "sd": 0.5} for name in ("b", *numbers)}
    made, plan = copies_of(config, frame)
    assert_kept(made.copies, plan.data.schema, plan.data.frame)


def some_values(kind: str, n: int, rng: np.random.Generator) -> pd.Series:
    match kind:
        case "continuous":
            return pd.Series(rng.normal(size=n).round(2))
        case "semicontinuous":
            return pd.Series(np.where(rng.random(n) < 0.4, 0.0, rng.exponential(size=n).round(2)))
        case "count":
            return pd.Series(rng.poisson(2, n).astype(float))
    return pd.Series(
        np.array(["p", "q", "r"][: 2 if kind == "binary" else 3], dtype=object)[np.arange(n) % (2 + (kind != "binary"))]
    )


# the joint draw


def fitted(n: int, seed: int, **masks: float) -> tuple[Plan, DaMi]:
    """Return a plan whose truth is a linear model: income on age where employed, employed on age."""
    rng = np.random.default_rng(seed)
    age = rng.normal(size=n)
    works = age + rng.normal(size=n) > 0
    income = np.where(works, 2 + 0.8 * age + 0.6 * rng.normal(size=n), np.nan)
    frame = pd.DataFrame({"works": works, "age": age, "income": income, "z": rng.normal(size=n)})
    data = resolve(
        frame,
        {
            "works": Variable(role="replace", key=True),
            "age": Variable(role="replace", decimals=6),
            "income": Variable(role="replace", decimals=6, applies_when="works"),
        },
    )
    settings = {name: Gaussian(sd=sd) for name, sd in masks.items()}
    return Plan(data=data, tags=tag(data, Neighbours(k=5)), masks=settings), DaMi(copies=20)


def test_what_does_not_apply_is_drawn_from_its_regression():
    plan, method = fitted(400, 1, income=0.5)
    task, _ = prepare_task(plan, method.model, 20)
    posterior = method.model.fit(task, rng=np.random.default_rng(2))
    assert isinstance(posterior, RegressionPosterior)
    assert posterior.numbers == ("age", "income")
    parameters = posterior.draw(rng=np.random.default_rng(3))
    assert isinstance(parameters, RegressionParameters)
    # the twin: income given the true others, from the equation before it is solved for the joint distribution
    beta, previous = _raw(parameters)
    missing = np.isnan(task.working["income"])
    expected = task.predictors.matrix @ beta + previous * task.working["age"]
    rng = np.random.default_rng(4)
    draws = np.stack([parameters.complete(task, rng=rng)["income"] for _ in range(200)])
    known = task.working["income"][~missing]
    assert (draws[:, ~missing] == known).all()
    sd = parameters.model.root[1, 1]
    error = (draws[:, missing].mean(axis=0) - expected[missing]) / (sd / np.sqrt(200))
    assert abs(error.mean()) < 4 / np.sqrt(missing.sum())
    assert abs(error.var() - 1) < 4 * np.sqrt(2 / missing.sum())
    assert abs(draws[:, missing].std(axis=0).mean() / sd - 1) < 4 / np.sqrt(2 * 200 * missing.sum()) + 1 / 400
    # whether one works is constant among those who do: its effect is unknown, and taken to be none
    assert abs(parameters.model.number_shift[0, 1] - previous * parameters.model.number_shift[0, 0]) < 1e-4


def _raw(parameters: RegressionParameters) -> tuple[np.ndarray, float]:
    previous = parameters.model.root[1, 0] / parameters.model.root[0, 0]
    return parameters.model.number_beta[:, 1] - previous * parameters.model.number_beta[:, 0], previous


def estimates(frame: pd.DataFrame) -> np.ndarray:
    working = frame[frame["works"].astype(bool)]
    slope, constant = np.polyfit(working["age"], working["income"], 1)
    return np.array([frame["works"].mean(), working["income"].mean(), slope, constant, working["age"].mean()])


@pytest.mark.parametrize(
    "model", [{"method": "regression"}, {"method": "regression", "order": ["age", "works", "income"]}]
)
def test_associations_with_the_condition_are_not_attenuated(model):
    # a close mask of income and no other: measured instead of 0.786, the slope of income on age was 0.129 when income
    # was drawn forward given its own W; without a W where income does not apply, 0.520 worked instead of 0.481
    plan, method = fitted(1500, 7, income=0.3)
    method = DaMi.model_validate(method.model_dump() | {"model": model})
    made = make(method, plan, streams=Streams(SECRET))
    found = np.stack([estimates(copy) for copy in made.copies])
    error = np.sqrt(found.var(axis=0, ddof=1) / len(found))
    assert (np.abs(found.mean(axis=0) - estimates(plan.data.frame)) < 4 * error).all()


def test_a_mask_of_income_does_not_tell_who_has_one():
    rng = np.random.default_rng(11)
    n = 2000
    works = rng.random(n) < 0.5
    income = np.where(works, rng.normal(size=n), np.nan)
    frame = pd.DataFrame({"works": works, "income": income, "z": rng.normal(size=n)})
    data = resolve(
        frame, {"works": Variable(role="replace", key=True), "income": Variable(role="replace", applies_when="works")}
    )
    plan = Plan(data=data, tags=tag(data, Neighbours(k=5)), masks={"income": Gaussian(sd=0.1)})
    for model in ({"method": "regression"}, {"method": "cart"}):
        made = make(DaMi.model_validate({"copies": 2, "model": model}), plan, streams=Streams(SECRET))
        silent = make(Mi.model_validate({"copies": 2, "model": model}), plan, streams=Streams(SECRET + 1))
        agree, chance = (
            np.mean([(copy["works"] == frame["works"]).mean() for copy in some.copies]) for some in (made, silent)
        )
        # works is masked by nothing and goes with nothing: a close mask of income adds nothing to what trees remember
        assert abs(agree - chance) < 4 * 0.5 * np.sqrt(2 / (2 * n))


# what is told of it


def test_codebook_release_and_scanner(tmp_path):
    people(400).to_csv(tmp_path / "people.csv", index=False)
    config = parse(raw({"method": "sequential"}) | {"seed": SECRET})
    config = config.model_copy(update={"data": config.data.model_copy(update={"path": tmp_path / "people.csv"})})
    assert check(config).messages
    outcome = run(config, out=tmp_path / "out")  # scanned on the way, see conftest
    public = outcome.public
    assert public is not None
    codebook = pd.read_csv(public / "codebook.csv").set_index("name")
    assert codebook.loc["income", "applies_when"] == WORKS
    assert pd.isna(codebook.loc["age", "applies_when"])
    described = {column["name"]: column for column in json.loads((public / "release.json").read_text())["columns"]}
    assert described["bonus"]["applies_when"] == "manager == 'yes'"
    assert "applies_when" not in described["age"]
    assert f"`income` when `{WORKS}`" in (public / "README.md").read_text()
    data = prepare(people(400), config)
    file = public / "synthetic_01.csv"
    copy = pd.read_csv(file)

    def found(changed: pd.DataFrame) -> list[str]:
        changed.to_csv(file, index=False)
        leaks = scan(public, data.frame, data.schema, rng=np.random.default_rng(1))
        return [leak.sentence for leak in leaks if leak.kind is Kind.SKIP]

    assert found(copy) == []
    idle = copy["employed"] == "NO"
    assert found(copy.assign(income=copy["income"].mask(idle, 1234.0))) == [
        f"income has a value in {idle.sum()} of 400 rows where it does not apply."
    ]
    assert found(copy.assign(income=copy["income"].mask(copy.index < 50))) == [
        f"income has gaps in {int((~idle)[:50].sum())} of 400 rows where it applies."
    ]
    assert found(copy.drop(columns="employed")) == []


def test_init_writes_what_runs(tmp_path):
    frame = people(600).drop(columns="bonus").assign(sex=np.where(np.arange(600) % 2, "F", "M"), income2=1.0)
    frame = frame.drop(columns="income2").rename(columns={"employed": "job"})
    frame.to_csv(tmp_path / "people.csv", index=False)
    for method in ("regression", "cart"):
        out = tmp_path / f"{method}.yaml"
        lines = list(write_config(tmp_path / "people.csv", out, method))
        assert any("accepts it as it is" in line for line in lines), lines
        written = yaml.safe_load(out.read_text())["variables"]
        wanted = {name: variable.get("applies_when") for name, variable in written.items()}
        if written["job"]["role"] == "keep":
            assert wanted["manager"] == "job != 'NO'"
        api.synthesize(frame, parse(yaml.safe_load(out.read_text()) | {"seed": SECRET}))


# with columns as coarse as these, small leaves give whole records back, and the scanner says so
TREES = {"method": "cart", "min_leaf": 100}


@pytest.mark.parametrize(
    "synthesis",
    [{"method": "da_mi"}, {"method": "da_mi", "model": TREES}, {"method": "sequential", "model": TREES}],
    ids=["da_mi", "da_mi cart", "sequential"],
)
def test_a_slice_of_sd2011(synthesis, tmp_path):
    path = SHARED / "sd2011.csv"
    if not path.exists():
        pytest.skip(f"needs {path.name}, which is not here")
    frame = pd.read_csv(path, usecols=["sex", "age", "smoke", "nociga", "wkabint", "wkabintdur", "depress"])
    frame = frame.dropna(subset=["smoke", "depress"])
    # 2 records of the file smoke nothing and say how much
    frame = frame[~((frame["smoke"] == "NO") & (frame["nociga"] > 0))]
    frame = frame[~((frame["smoke"] == "YES") & ~(frame["nociga"] > 0))].head(1200)
    frame.to_csv(tmp_path / "slice.csv", index=False)
    config = raw(synthesis) | {
        "data": {"path": str(tmp_path / "slice.csv"), "missing_codes": {"nociga": [-8]}},
        "variables": {
            "sex": {"role": "replace", "key": True},
            "age": {"role": "replace", "key": True, "bounds": [16, 97], "tolerance": 2},
            "smoke": {"role": "replace"},
            "nociga": {"role": "replace", "kind": "count", "applies_when": "smoke == 'YES'"},
            "wkabintdur": {"applies_when": "wkabint != 'NO' or isnull(wkabint)"},
        },
        "masks": {"age": MASKS["age"], "nociga": MASKS["income"]} if synthesis["method"] == "da_mi" else {},
        "seed": SECRET,
    }
    outcome = run(parse(config), out=tmp_path / "out")
    assert outcome.public is not None
    for file in sorted(outcome.public.glob("synthetic_*.csv")):
        copy = pd.read_csv(file)
        assert (copy["nociga"].notna() == (copy["smoke"] == "YES")).all()
        original, drawn = frame.loc[frame["smoke"] == "YES", "nociga"], copy["nociga"].dropna()
        assert abs(drawn.mean() - original.mean()) < 4 * np.hypot(drawn.sem(), original.sem())


def slipped(n: int = 600, slips: int = 2) -> pd.DataFrame:
    """Return people whose hours and income apply only to those who work, but for a few slips of the pen."""
    rng = np.random.default_rng(3)
    job = np.where(np.arange(n) % 10 < 7, "NO", "YES")
    works = job == "YES"
    works[np.flatnonzero(~works)[:slips]] = True
    frame = pd.DataFrame({"age": rng.integers(18, 80, n), "sex": rng.choice(["F", "M"], n), "job_now": job})
    frame["income"] = np.where(works, np.round(rng.gamma(4, 500, n)), np.nan)
    return frame.assign(weeks=np.where(works, rng.integers(1, 53, n), np.nan))


@pytest.mark.parametrize("slips", [0, 2])
def test_what_init_writes_of_a_skip_never_draws_an_impossible_combination(tmp_path, slips):
    frame = slipped(slips=slips)
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert any("accepts it as it is" in line for line in write_config(tmp_path / "x.csv", tmp_path / "x.yaml"))
    written = yaml.safe_load((tmp_path / "x.yaml").read_text())
    conditions = {name: one["applies_when"] for name, one in written["variables"].items() if "applies_when" in one}
    assert "income" in conditions
    release = api.synthesize(frame, {key: value for key, value in written.items() if key != "data"}, seed=SECRET)
    for copy in release:
        for name, condition in conditions.items():
            because = condition.split()[0]
            assert not (copy[name].notna() & (copy[because] == "NO")).any()
            assert (copy[name].notna() & (copy[because] == "YES")).any()


def test_exceptions_beyond_their_share_are_an_error():
    frame = slipped(slips=30)
    given = {"applies_when": "job_now == 'YES'", "applies_exceptions": 0.05}
    with pytest.raises(InputError, match=r"30 records have a value .*, more than applies_exceptions: 0.05 takes for"):
        prepare(frame, parse({"data": {"path": "x.csv"}, "variables": {"income": given}}))
    slips = int(np.sum(frame["job_now"] == "NO") * 0.05)
    blank = prepare(slipped(slips=slips), parse({"data": {"path": "x.csv"}, "variables": {"income": given}}))
    assert not (blank.frame["income"].notna() & (blank.frame["job_now"] == "NO")).any()
    assert blank.frame["weeks"].notna().sum() == blank.frame["income"].notna().sum() + slips


def test_exceptions_need_a_condition_to_be_exceptions_to():
    with pytest.raises(InputError, match="applies_exceptions are those to applies_when; write that too"):
        parse({"data": {"path": "x.csv"}, "variables": {"income": {"applies_exceptions": 0.01}}})


def test_exceptions_to_a_condition_that_is_wrong_leave_the_error_as_it_was():
    frame = slipped()
    for condition, message in (("nobody == 1", "nobody"), ("job_now + 1", "applies_when")):
        given = {"applies_when": condition, "applies_exceptions": 0.01}
        with pytest.raises(InputError, match=message):
            prepare(frame, parse({"data": {"path": "x.csv"}, "variables": {"income": given}}))
