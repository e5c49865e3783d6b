"""``synthdp dp``: releases by command, paid before they are made; what is refused costs nothing."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthdp import dp
from synthdp.cli import app
from synthdp.errors import InputError
from synthdp.privacy.ledger import Ledger, fingerprint
from synthdp.privacy.mechanisms import Simulated


def invoke(*args):
    return CliRunner().invoke(app, ["dp", *map(str, args)])


@pytest.fixture
def survey(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 100, 400),
            "income": rng.gamma(2, 20000, 400).round(),
            "sex": rng.choice(["F", "M"], 400),
        }
    )
    frame.to_csv(tmp_path / "survey.csv", index=False)
    return tmp_path / "survey.csv"


AGE = ("--column", "age", "--bounds", "18,90", "--epsilon", "2")


@pytest.mark.parametrize(
    "args",
    [
        ("mean", *AGE),
        ("mean", *AGE, "--delta", "1e-6", "--adjacency", "add_remove"),
        ("sum", *AGE),
        ("variance", *AGE),
        ("median", *AGE),
        ("quantile", *AGE, "--probability", "0.9"),
        ("count", "--column", "sex", "--equals", "F", "--epsilon", "2"),
        ("histogram", "--column", "sex", "--levels", "F,M", "--epsilon", "2"),
        ("histogram", "--column", "age", "--edges", "0,30,60,120", "--epsilon", "2"),
        ("cov", *AGE, "--column", "income", "--bounds", "0,200000"),
        ("ols", "--column", "income", "--bounds", "0,200000", *AGE),
        ("density", *AGE),
        (
            "density",
            *AGE,
            "--delta",
            "1e-6",
            "--kernel",
            "sobolev",
            "--decay",
            "5",
            "--bandwidth",
            "6",
            "--cells",
            "30",
        ),
        ("density", *AGE, "--column", "income", "--bounds", "0,200000", "--delta", "1e-6"),
    ],
)
def test_every_statistic_releases_with_safe_noise(survey, args):
    found = invoke(args[0], survey, *args[1:])
    assert found.exit_code == 0, found.stderr
    assert ("95% band" if args[0] == "density" else "95% interval") in found.stdout
    assert "ε = 2" in found.stdout
    assert "not charged to any ledger" in found.stderr


PAIR = ("--column", "income", "--bounds", "0,200000", *AGE)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("adassp", *PAIR, "--delta", "1e-6"), "AdaSSP analytic"),
        (("adassp", *PAIR, "--delta", "1e-6", "--calibration", "joint", "--adjacency", "add_remove"), "AdaSSP joint"),
        (("kmeans", *PAIR, "--clusters", "3"), "3 means"),
        (("kmeans", *AGE, "--clusters", "2", "--rounds", "2", "--adjacency", "add_remove"), "2 means"),
    ],
)
def test_what_has_no_interval_says_so_and_is_charged_once(survey, args, said):
    book, out = survey.with_name("survey.ledger"), survey.with_name("released.json")
    adjacency = args[args.index("--adjacency") + 1] if "--adjacency" in args else "replace"
    terms = ("--ledger", book, "--cap", "3", "--cap-delta", "1e-5", "--out", out)
    found = invoke(args[0], survey, *args[1:], *terms)
    assert found.exit_code == 0, found.stderr
    assert said in found.stdout.splitlines()[0]
    assert "no interval: " in found.stdout
    assert "% interval" not in found.stdout
    assert f"ε = 2{', δ = 1e-06' if args[0] == 'adassp' else ''}, adjacency {adjacency}" in found.stdout
    content = json.loads(out.read_text(encoding="utf-8"))
    assert content["statistic"].startswith(said)
    assert content["epsilon"] == 2
    assert content["no_interval"]
    assert "level" not in content
    (entry,) = Ledger(book, fingerprint(survey)).account().entries
    assert (entry.epsilon, entry.delta) == (2, 1e-6 if args[0] == "adassp" else 0)
    assert entry.what == ("AdaSSP of income, age" if args[0] == "adassp" else f"{said} of {content_columns(content)}")


def content_columns(content):
    return ", ".join(name for name in content["terms"][0] if name not in ("cluster", "size"))


def test_the_commands_give_what_the_python_calls_give(survey, monkeypatch):
    frame = pd.read_csv(survey)
    source = partial(Simulated, np.random.default_rng(5))
    monkeypatch.setattr("synthdp.dp.request.Secure", lambda: Simulated(np.random.default_rng(5)))
    common = {"bounds_x": [(18, 90)], "bounds_y": (0, 200000), "names": ["income", "age"], "adjacency": "replace"}
    fit = dp.adassp(frame[["age"]], frame["income"], **common, epsilon=2.0, delta=1e-6, source=source())
    assert invoke("adassp", survey, *PAIR, "--delta", "1e-6").stdout.strip() == fit.text()
    limits, names = [(0, 200000), (18, 90)], ["income", "age"]
    monkeypatch.setattr("synthdp.dp.request.Secure", lambda: Simulated(np.random.default_rng(5)))
    again = Simulated(np.random.default_rng(5))
    found = dp.kmeans([frame["income"], frame["age"]], 3, bounds=limits, names=names, epsilon=2.0, source=again)
    assert invoke("kmeans", survey, *PAIR, "--clusters", "3").stdout.strip() == found.text()


def test_a_density_is_charged_and_written_whole(survey, monkeypatch):
    frame = pd.read_csv(survey)
    monkeypatch.setattr("synthdp.dp.request.Secure", lambda: Simulated(np.random.default_rng(5)))
    book, out = survey.with_name("survey.ledger"), survey.with_name("curve.json")
    terms = ("--delta", "1e-6", "--ledger", book, "--cap", "3", "--cap-delta", "1e-5", "--out", out)
    found = invoke("density", survey, *AGE, *terms)
    assert found.exit_code == 0, found.stderr
    price = {"epsilon": 2.0, "delta": 1e-6, "source": Simulated(np.random.default_rng(5))}
    curve = dp.density(frame["age"], bounds=(18, 90), **price)
    assert found.stdout.strip() == repr(curve)
    content = json.loads(out.read_text(encoding="utf-8"))
    assert len(content["terms"]) == 256
    assert set(content["terms"][0]) == {"cell", "age", "density", "low", "high", "noise_sd", "sampling_sd"}
    (entry,) = Ledger(book, fingerprint(survey)).account().entries
    assert (entry.what, entry.epsilon, entry.delta) == ("density of age", 2, 1e-6)


def test_both_errors_are_written_apart(survey):
    out = survey.with_name("mean.json")
    found = invoke("mean", survey, *AGE, "--out", out)
    assert "standard deviations: privacy noise " in found.stdout
    (term,) = json.loads(out.read_text(encoding="utf-8"))["terms"]
    assert term["noise_sd"] > 0 < term["sampling_sd"]


def test_help_has_examples():
    for name in ("adassp", "density", "kmeans"):
        found = invoke(name, "--help")
        assert found.exit_code == 0
        assert f"synthdp dp {name} survey.csv" in found.stdout
        assert ("--level" in found.stdout) == (name == "density")


def test_noise_that_is_not_shown_to_be_enough_is_labelled_and_not_charged(survey):
    original = ("adassp", survey, *PAIR, "--delta", "1e-6", "--calibration", "original")
    found = invoke(*original)
    assert "NonPrivate: the noise of Wang (2018) is less" in found.stdout
    assert "ε = " not in found.stdout
    book = survey.with_name("survey.ledger")
    refused = invoke(*original, "--ledger", book, "--cap", "3", "--cap-delta", "1e-5")
    assert refused.exit_code == 2
    assert "cannot be charged to a ledger" in refused.stderr
    assert Ledger(book, fingerprint(survey)).account().entries == ()


def test_clipping_is_said_to_the_curator_only(survey):
    found = invoke("mean", survey, *AGE)
    outside = int((pd.read_csv(survey)["age"] > 90).sum())
    assert f"confidential, not covered by ε: age: {outside} of 400 values were outside" in found.stderr
    assert "outside" not in found.stdout


def test_data_bounds_are_labelled(survey):
    found = invoke("mean", survey, "--column", "age", "--bounds", "data", "--epsilon", "1")
    assert "NonPrivate: the bounds were taken from the data" in found.stdout
    assert "ε = " not in found.stdout


def test_ledger_pays_shows_and_refuses(survey):
    book = survey.with_name("survey.ledger")
    out = survey.with_name("mean.json")
    first = invoke("mean", survey, *AGE, "--ledger", book, "--cap", "3", "--out", out)
    assert first.exit_code == 0, first.stderr
    content = json.loads(out.read_text(encoding="utf-8"))
    assert content["epsilon"] == 2
    assert content["terms"][0]["term"] == "mean"
    again = invoke("mean", survey, *AGE, "--ledger", book)
    assert again.exit_code == 2
    assert "over the cap of (3, 0); (1, 0) is left. Nothing was released." in again.stderr
    assert "mean:" not in again.stdout
    shown = invoke("ledger", survey, "--ledger", book)
    assert "mean of age" in shown.stdout
    assert "spent: ε 2, δ 0 of ε 3, δ 0 (replace)" in shown.stdout
    assert "left:  ε 1, δ 0" in shown.stdout
    entries = Ledger(book, fingerprint(survey)).account().entries
    assert [entry.file for entry in entries] == [fingerprint(out)]


def test_bad_input_costs_nothing(survey):
    book = survey.with_name("survey.ledger")
    invoke("ledger", survey, "--ledger", book, "--cap", "3")
    for args in (
        ("mean", survey, "--column", "age", "--epsilon", "1"),
        ("mean", survey, "--column", "sex", "--bounds", "0,1", "--epsilon", "1"),
        ("mean", survey, "--column", "age", "--bounds", "data", "--epsilon", "1"),
        ("quantile", survey, *AGE, "--probability", "2"),
    ):
        assert invoke(*args, "--ledger", book).exit_code == 2
    assert Ledger(book, fingerprint(survey)).account().entries == ()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("mean", "--column", "age", "--epsilon", "1"), "age: bounds are missing. Give the lowest and highest value"),
        (("mean", "--column", "agee", "--bounds", "0,1", "--epsilon", "1"), "has no such column; did you mean age?"),
        (
            ("mean", "--column", "zzz", "--bounds", "0,1", "--epsilon", "1"),
            "--column zzz: survey.csv has no such column.",
        ),
        (("mean", "--column", "age", "--bounds", "a,b", "--epsilon", "1"), "--bounds: must be numbers separated by"),
        (
            ("mean", "--column", "age", "--bounds", "9,1", "--epsilon", "1"),
            "age: bounds must be increasing, found [9, 1]",
        ),
        (
            ("mean", "--column", "age", "--bounds", "0,1", "--epsilon", "0"),
            "epsilon: must be a number above 0, found 0",
        ),
        (("mean", "--column", "age", "--bounds", "0,1", "--epsilon", "nan"), "epsilon: must be a number above 0"),
        (("mean", *AGE, "--delta", "1"), "delta: must be at least 0 and under 1, found 1"),
        (("mean", *AGE, "--cap", "1"), "--cap: belongs to a ledger; add --ledger FILE."),
        (("mean", *AGE, "--out", "x.csv"), "--out x.csv: must be a .json file."),
        (("mean", *AGE, "--out", "no/folder/x.json"), "the file cannot be written."),
        (("mean", *AGE, "--ledger", "none.ledger"), "none.ledger: there is no ledger here; create one first."),
        (("cov", *AGE, "--column", "income"), "--bounds: give one LOW,HIGH for each of 2 columns, found 1."),
        (("histogram", "--column", "age", "--edges", "1,x", "--epsilon", "1"), "--edges: must be numbers separated"),
        (("mean", "--column", "sex", "--bounds", "0,1", "--epsilon", "1"), "sex: must be numbers."),
        (("adassp", *PAIR, "--delta", "0"), "delta: must be between 0 and 1 for Gaussian noise, found 0."),
        (("adassp", *AGE, "--delta", "1e-6"), "adassp: at least 1 predictor is needed, found 0."),
        (("adassp", *PAIR, "--delta", "1e-6", "--calibration", "own"), "calibration: must be one of original, fixed"),
        (("adassp", *AGE, "--column", "sex", "--bounds", "0,1", "--delta", "1e-6"), "sex: must be numbers."),
        (
            ("adassp", *AGE, "--column", "income", "--delta", "1e-6"),
            "--bounds: give one LOW,HIGH for each of 2 columns",
        ),
        (("kmeans", *AGE, *AGE[:4], "--clusters", "2"), "--column age: is given twice."),
        (("density", *AGE, *AGE[:4]), "--column age: is given twice."),
        (("density", *AGE, "--bandwidth", "0"), "bandwidth: must be a finite number above 0, found 0."),
        (("density", *AGE, "--kernel", "gaussian"), "delta: the kernel gaussian needs one above 0, such as 1e-6"),
        (("density", *AGE, "--cells", "1"), "grid: must be a whole number of at least 2 cells, found 1."),
        (("density", *AGE, "--adjacency", "add_remove"), "density: takes adjacency replace only, as bandwidth and"),
        (("density", "--column", "sex", "--bounds", "0,1", "--epsilon", "1"), "sex: must be numbers."),
        (("kmeans", *AGE, "--clusters", "0"), "kmeans: needs a column, a cluster and a round, found 1, 0, 5."),
        (("kmeans", *AGE, "--clusters", "2", "--rounds", "0"), "kmeans: needs a column, a cluster and a round"),
        (("kmeans", *AGE, "--column", "agee", "--bounds", "0,1", "--clusters", "2"), "did you mean age?"),
    ],
)
def test_refusals(survey, args, sentence):
    found = invoke(args[0], survey, *args[1:])
    assert found.exit_code == 2
    assert sentence in found.stderr
    assert len(found.stderr.splitlines()) <= 3


def test_ledger_of_another_file_is_refused(survey, tmp_path):
    book = tmp_path / "other.ledger"
    other = tmp_path / "other.csv"
    other.write_text("age\n1\n2\n")
    invoke("ledger", other, "--ledger", book, "--cap", "1")
    found = invoke("mean", survey, *AGE, "--ledger", book)
    assert found.exit_code == 2
    assert "this ledger belongs to another data set" in found.stderr
    missing = invoke("mean", tmp_path / "gone.csv", *AGE, "--ledger", book)
    assert "gone.csv: no such file." in missing.stderr


def test_damaged_ledger_is_refused(survey, tmp_path):
    book = tmp_path / "bad.ledger"
    book.write_text("{")
    found = invoke("mean", survey, *AGE, "--ledger", book)
    assert found.exit_code == 2
    assert "bad.ledger: the ledger is damaged" in found.stderr


class Book:
    """A ledger that remembers what it was asked."""

    def __init__(self):
        self.charges = []

    def charge(self, what, *, epsilon, delta, adjacency, source):
        self.charges.append((what, epsilon, delta, adjacency, source))


def test_a_release_is_charged_once_and_whole():
    book = Book()
    ages = pd.Series(np.random.default_rng(1).uniform(18, 90, 300), name="age")
    rows = np.random.default_rng(2).uniform(-0.5, 0.5, (50, 2))

    def source():
        return Simulated(np.random.default_rng(3))

    common = {"epsilon": 0.5, "ledger": book}
    dp.mean(ages, bounds=(18, 90), **common, source=source())
    dp.variance(ages, bounds=(18, 90), **common, adjacency="add_remove", source=source())
    dp.sum(ages, bounds=(18, 90), **common, delta=1e-6, source=source())
    dp.median(ages, bounds=(18, 90), **common, source=source())
    dp.count(ages, **common, source=source())
    dp.histogram(ages, edges=[0, 50, 100], **common, source=source())
    dp.cov([ages, ages], bounds=[(18, 90)] * 2, **common, source=source())
    dp.ols(ages, [ages], bounds_y=(18, 90), bounds_x=[(18, 90)], **common, source=source())
    dp.kmeans([ages], 2, bounds=[(18, 90)], **common, source=source())
    dp.adassp(rows, rows[:, 0], x_norm=1, y_bound=1, delta=1e-6, **common, source=source())
    dp.ssp(rows, rows[:, 0], x_norm=1, y_bound=1, delta=1e-6, **common, source=source())
    whats = [charge[0] for charge in book.charges]
    assert whats == [
        "mean of age",
        "variance of age",
        "sum of age",
        "quantile 0.5 of age",
        "count of age",
        "histogram of age",
        "covariance of x1, x2",
        "ols of y, x1",
        "2 means",
        "AdaSSP",
        "SSP",
    ]
    assert all(charge[1] == 0.5 and charge[4] == "simulated" for charge in book.charges)
    assert book.charges[1][3] == "add_remove"
    assert book.charges[2][2] == 1e-6


def test_what_is_not_private_cannot_be_charged():
    with pytest.raises(InputError, match="mean: cannot be charged to a ledger: the bounds were taken from the data"):
        dp.mean([1.0, 2.0], bounds="data", epsilon=1, ledger=Book())
