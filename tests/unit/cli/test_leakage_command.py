"""``synthdp dp leakage``: what it finds, what it plans, and that it tells the curator alone."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp.cli import app
from synthdp.privacy.leakage import var_leakage
from synthdp.privacy.planning import plan
from synthdp.privacy.series import fit_var


@pytest.fixture
def monthly(tmp_path):
    rng = np.random.default_rng(1)
    x = np.zeros((60, 3))
    for t in range(1, 60):
        x[t] = 0.8 * x[t - 1] + rng.standard_normal(3) * 200
    frame = pd.DataFrame(2000 + x, columns=["a", "b", "c"]).round(2)
    frame.assign(month=[f"m{t}" for t in range(60)]).to_csv(tmp_path / "monthly.csv", index=False)
    return tmp_path / "monthly.csv"


PRICE = ("--bounds", "0,5000", "--epsilon", "0.5", "--delta", "1e-6")


def invoke(*args):
    return CliRunner().invoke(app, ["dp", "leakage", *map(str, args)])


@pytest.mark.parametrize("structure", ["full", "common"])
def test_the_command_says_what_the_python_calls_find(monthly, structure):
    out = monthly.with_name("found.json")
    said = invoke(monthly, *PRICE, "--structure", structure, "--releases", "6", "--out", out)
    assert said.exit_code == 0, said.stderr
    assert "confidential: fitted to the series without noise" in said.stderr
    assert "A2 with N1" not in said.stdout
    content = json.loads(out.read_text(encoding="utf-8"))
    frame = pd.read_csv(monthly)[["a", "b", "c"]]
    fitted = fit_var(frame, structure=structure)
    unit = int(np.abs(fitted.transition.sum(axis=0)).argmax())
    asked = {"epsilon": 0.5, "delta": 1e-6, "sensitivity": 5000 / 3, "unit": unit, "constant": None}
    one = var_leakage(fitted.transition, fitted.noise, **asked, attack="A1", knowledge="N3")
    (mine,) = [row for row in content["leakage"] if (row["attack"], row["knowledge"]) == ("A1", "N3")]
    assert mine["found"] == pytest.approx(one.found)
    told = " ".join(said.stdout.split())
    assert f"its first value from both means ε' = {one.found:.4g} (A1 with N3)" in told
    assert content["plan"] == plan(6, epsilon=0.5, delta=1e-6, sensitivity=5000 / 3).to_dict(orient="records")


def test_some_columns_can_be_asked_for(monthly):
    said = invoke(monthly, *PRICE, "--column", "a", "--column", "c")
    assert said.stdout.startswith("2 units, 60 periods")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--bounds", "0", *PRICE[2:]), "--bounds: must be two numbers, LOW,HIGH, found 1."),
        (("--bounds", "5,0", *PRICE[2:]), "bounds: must be finite and increasing"),
        (("--bounds", "5,0", *PRICE[2:], "--structure", "own"), "bounds: must be finite and increasing"),
        ((*PRICE[:2], "--epsilon", "0", "--delta", "1e-6"), "epsilon: must be a finite number above 0, found 0."),
        ((*PRICE[:4], "--delta", "0"), "delta: must lie strictly between 0 and 1, found 0."),
        ((*PRICE, "--structure", "own"), "structure: must be full or common, found 'own'."),
        ((*PRICE, "--column", "z"), "--column z: monthly.csv has no such column."),
        ((*PRICE, "--column", "month"), "series.month: must be numbers."),
        ((*PRICE, "--out", "found.csv"), ".json"),
    ],
)
def test_mistakes_are_said_in_a_sentence(monthly, args, words):
    said = invoke(monthly, *args)
    assert said.exit_code == 2
    assert words in said.stderr


def test_the_noise_is_told_and_values_outside_the_bounds_are_counted(monthly):
    said = invoke(monthly, *PRICE)
    assert "each mean: ε = 0.5, δ = 1e-06, noise of sd" in said.stdout
    # the noise is the least there is for this ε, so one release is learnt at its price
    assert "its first value from the first mean ε' = 0.5 (A1 with N1)" in " ".join(said.stdout.split())
    assert "outside" not in said.stderr
    narrow = invoke(monthly, "--bounds", "0,2000", "--epsilon", "0.5", "--delta", "1e-6")
    assert "values are outside the bounds: what follows is for means of values moved into them." in narrow.stderr


def test_a_file_without_units(tmp_path):
    file = tmp_path / "names.csv"
    pd.DataFrame({"month": range(5), "name": list("abcde")}).to_csv(file, index=False)
    said = invoke(file, *PRICE)
    assert said.exit_code == 2
    assert "names.csv: no column of numbers that could be a unit." in said.stderr


def test_a_column_that_counts_periods_is_no_unit(monthly):
    frame = pd.read_csv(monthly).assign(month=range(1, 61))
    frame.to_csv(monthly, index=False)
    said = invoke(monthly, *PRICE)
    assert "month: rises by the same step every period, so it is no unit; left out." in said.stderr
    assert said.stdout.startswith("3 units, 60 periods")
    named = invoke(monthly, *PRICE, "--column", "month")
    assert named.exit_code == 2
    assert "series: is not stationary as fitted" in named.stderr
