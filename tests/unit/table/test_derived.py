"""Derived columns: equal to their formula in every copy, by every method, and never in a model's hands."""

import json
from dataclasses import replace
from importlib import resources

import numpy as np
import pandas as pd
import pytest
import yaml
from pydantic import ValidationError

from synthdp import api
from synthdp.config import parse
from synthdp.datasets import anes96
from synthdp.errors import InputError
from synthdp.evaluation.gate.limits import OFF
from synthdp.pipeline import check, plan_of, run
from synthdp.seeding import Streams
from synthdp.stages.intake import prepare
from synthdp.synthesis.making import complete, make
from synthdp.table import derived, io
from synthdp.table.expressions import evaluate
from synthdp.table.microdata import resolve
from synthdp.table.schema import Role, Variable

SECRET = 2**100 + 7
FORMULA = "log(popul + 0.1)"
METHODS = {
    "da_mi": {"method": "da_mi"},
    "da_mi cart": {"method": "da_mi", "model": {"method": "cart"}},
    "mi": {"method": "mi"},
    "sequential": {"method": "sequential"},
    "sequential regression": {"method": "sequential", "model": {"method": "regression"}},
}


def demo(logpopul: dict, **more) -> dict:
    """Return the demo's config with another treatment of ``logpopul``, and few copies."""
    raw = yaml.safe_load((resources.files("synthdp.datasets") / "demo.yaml").read_text(encoding="utf-8"))
    raw["variables"]["logpopul"] = logpopul
    raw["synthesis"]["copies"] = 2
    return raw | {"evaluation": {"risk": ["identity"]}} | more


def people(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(16, 80, n)
    return pd.DataFrame(
        {
            "agegr": np.array(["16-24", "25-44", "45-64", "65+"])[np.searchsorted([25, 45, 65], age, side="right")],
            "age": age,
            "double": 2 * age,
            "old": np.where(age >= 65, "yes", "no"),
            "retired": age >= 65,
            "half": np.round(age / 7, 2),
            "w": rng.normal(size=n),
        }
    )


VARIABLES = {
    "age": {"kind": "continuous", "role": "replace", "key": True, "bounds": [16, 80], "decimals": 0},
    "agegr": {"derived": "cut(age, [25, 45, 65])", "key": True},
    "double": {"derived": "2 * age"},
    "old": {"derived": "where(age >= 65, 'yes', 'no')"},
    "retired": {"derived": "age >= 65"},
    "half": {"derived": "age / 7"},
}
SETTINGS = {"variables": VARIABLES, "masks": {"age": {"method": "gaussian", "sd": 0.5}}}


def problems(frame: pd.DataFrame, **variables) -> tuple[str, ...]:
    with pytest.raises(InputError) as caught:
        prepare(frame, parse({"data": {"path": "x.csv"}, "variables": variables}))
    return caught.value.problems


def test_the_demo_with_logpopul_kept_is_refused_by_name(tmp_path):
    io.write(anes96(), tmp_path / "anes96.csv", format="csv")
    raw = demo({"role": "keep"})
    raw["data"]["path"] = str(tmp_path / "anes96.csv")
    with pytest.raises(InputError) as caught:
        check(parse(raw))
    assert caught.value.problems == (
        "variables.logpopul: kept, but it is a function of popul, which is replaced: it would undo the mask; "
        "replace it too, set role: drop, or derived: with its formula.",
    )


def test_a_released_file_holds_the_formula_to_the_last_digit(tmp_path):
    io.write(anes96(), tmp_path / "anes96.csv", format="csv")
    raw = demo({"derived": FORMULA}, release=OFF.model_dump(), seed=SECRET)
    raw["data"]["path"] = str(tmp_path / "anes96.csv")
    outcome = run(parse(raw), out=tmp_path / "out")
    assert outcome.public is not None
    for number in (1, 2):
        copy = io.read(outcome.public / f"synthetic_{number:02d}.csv")
        assert list(copy.columns) == list(anes96().columns)
        assert (copy["logpopul"] == np.log(copy["popul"] + 0.1)).all()
        assert not (copy["popul"].sort_values().to_numpy() == anes96()["popul"].sort_values().to_numpy()).all()
    codebook = io.read(outcome.public / "codebook.csv").set_index("name")
    assert codebook.loc["logpopul", "role"] == "derived"
    columns = {
        column["name"]: column for column in json.loads((outcome.public / "release.json").read_text())["columns"]
    }
    assert columns["logpopul"] == {"name": "logpopul", "kind": "continuous", "role": "derived", "formula": FORMULA}
    assert f"- computed from the others: `logpopul` = `{FORMULA}`" in (outcome.public / "README.md").read_text()
    assert "Computed from the others in every copy: logpopul." in outcome.report.read_text()


def test_a_derived_column_changes_no_draw():
    with_it, without = (
        api.synthesize(anes96(), demo(how), seed=3).copies for how in ({"derived": FORMULA}, {"role": "drop"})
    )
    for one, other in zip(with_it, without, strict=True):
        pd.testing.assert_frame_equal(one.drop(columns="logpopul"), other)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_the_formulas(method):
    frame = people()
    for copy in api.synthesize(frame, SETTINGS | {"synthesis": METHODS[method] | {"copies": 2}}, seed=1).copies:
        assert list(copy.columns) == list(frame.columns)
        assert not copy["age"].equals(frame["age"])
        expected = np.searchsorted([25, 45, 65], copy["age"], side="right")
        assert copy["agegr"].tolist() == np.array(["16-24", "25-44", "45-64", "65+"])[expected].tolist()
        assert (copy["double"] == 2 * copy["age"]).all()
        assert copy["double"].dtype == frame["double"].dtype
        assert (copy["old"] == np.where(copy["age"] >= 65, "yes", "no")).all()
        assert (copy["retired"] == (copy["age"] >= 65)).all()
        assert (copy["half"] == np.round(copy["age"] / 7, 2)).all()


def test_no_synthesizer_holds_a_derived_column():
    config = parse({"data": {"path": "x.csv"}, **SETTINGS})
    data = prepare(people(), config)
    plan = plan_of(config, data)
    assert plan.data.schema.names() == ("age", "w")
    assert list(plan.data.frame.columns) == ["age", "w"]
    assert plan.released is data
    assert {column.name for column in data.schema.derived()} == set(VARIABLES) - {"age"}
    assert data.schema["agegr"].role is Role.DERIVED


def test_a_mask_or_a_model_cannot_name_a_derived_column():
    settings = SETTINGS | {
        "masks": {"double": {"method": "gaussian", "sd": 1}, **SETTINGS["masks"]},
        "synthesis": {"model": {"exclude": ["half"]}},
    }
    with pytest.raises(InputError) as caught:
        api.synthesize(people(), settings, seed=1)
    assert caught.value.problems == (
        "synthesis.model.exclude: 'half' is not a kept column.",
        "masks.double: only columns with role: replace are masked.",
    )


def test_copies_that_are_changed_afterwards_follow_their_formulas_again():
    """Repair changes keys after the copies are made."""
    config = parse({"data": {"path": "x.csv"}, **SETTINGS})
    plan = plan_of(config, prepare(people(), config))
    made = make(config.synthesis, plan, streams=Streams(1))
    changed = replace(made, copies=tuple(copy.assign(age=70) for copy in made.copies))
    for copy in complete(changed, plan).copies:
        assert set(copy["agegr"]) == {"65+"}
        assert set(copy["double"]) == {140}


def test_a_run_with_repair_goes_through(tmp_path):
    io.write(people(60), tmp_path / "people.csv", format="csv")
    settings = SETTINGS | {"synthesis": {"copies": 2, "repair": True}, "release": OFF.model_dump(), "seed": 1}
    settings["data"] = {"path": str(tmp_path / "people.csv")}
    outcome = run(parse(settings), out=tmp_path / "out", study=True)
    assert "repair" in outcome.metrics["risk"]


def test_formulas_may_use_each_other_in_any_order():
    frame = pd.DataFrame({"four": [4, 8, 12], "two": [2, 4, 6], "x": [1, 2, 3]})
    data = resolve(frame, {"four": Variable(derived="2 * two"), "two": Variable(derived="x + x")})
    assert derived.problems(data) == []
    assert derived.recompute(pd.DataFrame({"x": [5, 6]}), data).to_dict("list") == {
        "four": [20, 24],
        "two": [10, 12],
        "x": [5, 6],
    }


def test_a_missing_source_gives_a_missing_value():
    frame = pd.DataFrame({"x": [1.0, 2.0, np.nan] * 20, "g": ["a", "b", None] * 20, "y": [2.0, 4.0, np.nan] * 20})
    data = resolve(frame, {"y": Variable(derived="2 * x"), "g": Variable(derived="cut(x, [2], ['a', 'b'])")})
    assert derived.problems(data) == []
    pd.testing.assert_frame_equal(derived.recompute(frame[["x"]], data), frame, check_dtype=False)


def test_numeric_codes_are_taken_by_value():
    frame = pd.DataFrame({"x": [10, 30, 50] * 4, "code": [1, 2, 3] * 4})
    data = resolve(frame, {"code": Variable(kind="ordinal", derived="cut(x, [20, 40]) + 1")})
    assert derived.problems(data) == []
    assert derived.recompute(pd.DataFrame({"x": [50, 10]}), data)["code"].tolist() == [3, 1]


def test_columns_are_coarsened_first_and_formulas_checked_before():
    frame = pd.DataFrame({"x": [1, 2, 30] * 4, "y": [2, 4, 60] * 4})
    config = parse({"data": {"path": "x.csv"}, "variables": {"x": {"topcode": 10}, "y": {"derived": "2 * x"}}})
    assert prepare(frame, config).frame["y"].tolist() == [2, 4, 20] * 4


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        (
            "age2 + 1",
            "variables.double.derived: may name released columns only, found age2; "
            "a column that is dropped or absent cannot be used.",
        ),
        (
            "2 * agE",
            "variables.double.derived: may name released columns only, found agE; "
            "a column that is dropped or absent cannot be used.",
        ),
        (
            "age +",
            "variables.double.derived: expression 'age +': cannot be read; write for example age > 85 and sex == 'F'.",
        ),
        ("double", "variables: derived columns double depend on each other; break the cycle."),
        (
            "2 * agegr",
            "variables.double.derived: expression '2 * agegr': 'agegr' is text, and arithmetic needs a number.",
        ),
        (
            "where(age > 0, 'a', 'b')",
            "variables.double.derived: the formula must give numbers for a continuous column.",
        ),
        (
            "2 * age + where(age < 20, 1, 0)",
            "variables.double.derived: the formula differs from the column in {differ} records; first at row {first}. "
            "Correct the formula, or set role: drop.",
        ),
        (
            "2 * age + log(age - 40) - log(age - 40)",
            "variables.double.derived: in {alone} records only one of formula and column has a value; "
            "first at row {missing}. Correct the formula, or set role: drop.",
        ),
    ],
)
def test_a_formula_that_does_not_give_the_column(formula, sentence):
    frame = people()
    young, low = np.flatnonzero(frame["age"] < 20), np.flatnonzero(frame["age"] <= 40)
    counts = {"differ": len(young), "first": young[0] + 1, "alone": len(low), "missing": low[0] + 1}
    assert problems(frame, double={"derived": formula}) == (sentence.format(**counts),)


def test_a_dropped_column_cannot_be_used():
    assert problems(people(), age={"role": "drop"}, double={"derived": "2 * age"}) == (
        "variables.double.derived: may name released columns only, found age; "
        "a column that is dropped or absent cannot be used.",
    )


def test_a_wrong_level_counts_as_a_difference():
    frame = people()
    (found,) = problems(frame, agegr={"derived": "cut(age, [26, 45, 65])"})
    wrong = np.flatnonzero(frame["age"] == 25)
    assert f"differs from the column in {len(wrong)} records; first at row {wrong[0] + 1}." in found


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"role": "derived"}, "role: derived needs a formula; write derived: with one"),
        (
            {"derived": "x", "role": "replace"},
            "a derived column is recomputed, it cannot be role: replace; leave out one",
        ),
        ({"derived": "x", "bounds": (0, 1)}, "bounds is not for derived columns; they follow from their formula"),
        ({"derived": "x", "topcode": 3}, "topcode is not for derived columns; they follow from their formula"),
        ({"derived": "x", "transform": "log"}, "transform is not for derived columns; they follow from their formula"),
        ({"derived": "x", "kind": "date"}, "a derived column has numbers or levels, not dates"),
    ],
)
def test_settings_that_a_derived_column_cannot_have(settings, sentence):
    with pytest.raises(ValidationError, match=sentence):
        Variable(**settings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cut(x, [0, 2.5])", [0.0, 1.0, 1.0, 2.0, np.nan]),
        ("round(x)", [-2.0, 0.0, 2.0, 3.0, np.nan]),
        ("round(x, 1)", [-1.5, 0.0, 2.2, 3.2, np.nan]),
        ("floor(x)", [-2.0, 0.0, 2.0, 3.0, np.nan]),
        ("ceil(x)", [-1.0, 0.0, 3.0, 4.0, np.nan]),
        ("where(x > 1, x > 2, 7)", [7.0, 7.0, 1.0, 1.0, 7.0]),
        ("cut(-x, [-2, 0])", [2.0, 2.0, 0.0, 0.0, np.nan]),
    ],
)
def test_the_functions_of_formulas(text, expected):
    found = evaluate(text, pd.DataFrame({"x": [-1.5, 0.0, 2.23, 3.21, np.nan]}))
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("cut(x, 3)", "cut takes a list of increasing numbers, as in cut(x, [25, 35])."),
        ("cut(x, [3, 3])", "cut takes a list of increasing numbers, as in cut(x, [25, 35])."),
        ("cut(x, [])", "cut takes a list of increasing numbers, as in cut(x, [25, 35])."),
        ("cut(x, ['a'])", "cut takes a list of increasing numbers, as in cut(x, [25, 35])."),
        ("cut(x, [1], ['a'])", "cut takes one label in quotes more than breaks."),
        ("cut(x, [1], [1, 2])", "cut takes one label in quotes more than breaks."),
        ("cut(x)", "cut takes 2 or 3 values in parentheses."),
        ("round(x, 1.5)", "round takes a whole number of digits, as in round(x, 2)."),
        ("round(x, x)", "round takes a whole number of digits, as in round(x, 2)."),
        ("where(x > 1, 2)", "where takes 3 values in parentheses."),
        ("where(x > 1, 'a', 2)", "where gives number or text; both values must be of one sort."),
        ("where(x, 1, 2)", "'x' is neither true nor false; compare it with something."),
    ],
)
def test_functions_used_wrongly(text, sentence):
    with pytest.raises(InputError) as caught:
        evaluate(text, pd.DataFrame({"x": [1.0, 2.0]}))
    assert str(caught.value) == f"expression {text!r}: {sentence}"
