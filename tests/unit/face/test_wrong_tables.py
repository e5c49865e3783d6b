"""Tables and arguments of kinds that nobody foresaw: what works keeps its kind, the rest is one sentence."""

import datetime as dt
import decimal
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import synthdp
from synthdp.errors import InputError

N = 40
SETTINGS = {
    "variables": {"age": {"role": "replace", "key": True, "tolerance": 2}},
    "masks": {"age": {"method": "gaussian", "sd": 1.0}},
    "synthesis": {"copies": 2, "sweeps": 2},
    "evaluation": {"utility": [], "risk": ["identity"]},
}
FRAME = pd.DataFrame(
    {"age": np.arange(20, 60), "sex": ["f", "m"] * 20, "y": np.random.default_rng(1).normal(size=N).round(3)}
)
OTHERS = FRAME.assign(age=FRAME["age"] + 1)
AGE = FRAME["age"]
BOUNDS = {"bounds": (0, 100), "epsilon": 1}
LISTS = pd.Series([[1]] * N, dtype=pd.ArrowDtype(pa.list_(pa.int64())))
DATES = pd.Series(pd.date_range("2020", periods=N))


def made(frame, **blocks):
    return synthdp.synthesize(frame, SETTINGS | blocks, seed=1)


def pooled():
    return synthdp.pool([OTHERS] * 2, model="ols", formula="y ~ age")


def compared(frame=FRAME, **more):
    return synthdp.compare(frame, ["mi"], SETTINGS, seeds=1, **more)


CALLS = {
    "an array for a frame": (lambda: made(FRAME.to_numpy()), r"frame: must be a pandas .*, found ndarray\."),
    "a generator for a frame": (lambda: made(frame for frame in [FRAME]), r"frame: .*, found generator\."),
    "paths for a frame": (lambda: made(["a.csv"]), r"frame: .*, found list\."),
    "bytes for a frame": (lambda: made(b"x.csv"), r"frame: .*, found bytes\."),
    "a column called NaN": (lambda: made(FRAME.rename(columns={"y": np.nan})), r"frame: columns must .*, found float"),
    "arrays in cells": (
        lambda: made(FRAME.assign(more=[np.arange(2)] * N)),
        r"frame: column 'more' holds lists or other containers; give each cell one value\.",
    ),
    "lists of Arrow in cells": (lambda: made(FRAME.assign(more=LISTS)), r"frame: column 'more' holds lists"),
    "intervals, as pandas cuts": (
        lambda: made(FRAME.assign(y=pd.cut(FRAME["age"], 3))),
        r"frame: column 'y' holds intervals, which no file holds; use \.astype\(str\)\.",
    ),
    "intervals": (
        lambda: made(FRAME.assign(y=pd.cut(FRAME["age"], 3).astype(object))),
        r"frame: column 'y' holds intervals, which no file holds; use \.astype\(str\)\.",
    ),
    "bytes": (
        lambda: made(FRAME.assign(y=[b"a", b"b"] * (N // 2))),
        r"frame: column 'y' holds bytes; use \.str\.decode\('utf-8'\)\.",
    ),
    "decimals": (
        lambda: made(FRAME.assign(y=[decimal.Decimal(k) for k in range(N)])),
        r"frame: column 'y' holds decimals, which would be taken for levels; use \.astype\(float\)\.",
    ),
    "infinity": (
        lambda: made(FRAME.assign(age=[np.inf, *map(float, range(N - 1))])),
        r"age: continuous needs finite numbers, found 1 other values; first at row 1\.",
    ),
    "a number near the largest there is": (
        lambda: made(FRAME.assign(y=[1e300, *map(float, range(N - 1))])),
        r"y: continuous needs numbers up to 1e\+75, found 1 beyond; first at row 1\. Where they stand for missing",
    ),
    "paths without end": (
        lambda: made(FRAME, synthesis={"model": {"method": "auto", "particles": 10**12}}),
        r"synthesis\.model\.particles: must be less than or equal to 10000\.",
    ),
    "months for a number": (
        lambda: made(FRAME.assign(age=pd.period_range("2020-01", periods=N, freq="M"))),
        r"variables\.age: continuous needs numbers, found values that are not\.",
    ),
    "dates in a form of their own": (
        lambda: made(FRAME.assign(sex=["03/02/2020"] * N), variables={"sex": {"role": "replace", "kind": "date"}}),
        r"variables\.sex: date needs dates, found values that are not; write them as 2020-01-31",
    ),
    "a column without values": (
        lambda: made(FRAME.assign(age=None)),
        r"variables\.age: the column is missing everywhere; set role: drop\.",
    ),
    "a seed that is a generator": (
        lambda: synthdp.synthesize(FRAME, SETTINGS, seed=np.random.default_rng(1)),
        r"seed: must be a whole number of 0 or more, found Generator\.",
    ),
    "a mask as wide as NaN": (
        lambda: made(FRAME, masks={"age": {"method": "gaussian", "sd": float("nan")}}),
        r"masks\.age\.sd: must be a finite number\.",
    ),
    "settings in a Series": (lambda: synthdp.synthesize(FRAME, pd.Series(SETTINGS)), r"settings: .*, found Series\."),
    "bytes for copies": (
        lambda: synthdp.evaluate(FRAME, b"x", SETTINGS),
        r"copies: must be a release, tables or files, found bytes\.",
    ),
    "a column for copies": (
        lambda: synthdp.evaluate(FRAME, AGE, SETTINGS),
        r"copies: must be a release, tables or files, found Series\.",
    ),
    "arguments swapped": (lambda: synthdp.evaluate(FRAME, SETTINGS, OTHERS), r"settings: .*, found DataFrame\."),
    "copies of another length": (
        lambda: synthdp.evaluate(FRAME, OTHERS.head(30), SETTINGS),
        r"copy 1: .* 40 rows are required, found 30; set evaluation\.rows: none \(aligned=False\) for files",
    ),
    "a section that is not there": (
        lambda: synthdp.evaluate(FRAME, OTHERS, SETTINGS)["risks"],
        r"evaluation: no section 'risks'; there are utility, risk and gate\.",
    ),
    "a term that is not there": (lambda: pooled().wald("agee"), r"wald: no term named 'agee'; there are Intercept"),
    "a number of terms": (lambda: pooled().wald(2), r"wald: terms must be a list of names, found int\."),
    "a fit that returns nothing": (
        lambda: synthdp.pool([OTHERS] * 2, fit=lambda frame: None),
        r"copy 1: must give a fitted model or an \(estimate, covariance\) pair\.",
    ),
    "a negative variance": (
        lambda: synthdp.pool([(1.0, -1.0), (1.0, 1.0)]),
        r"copy 1: 1 of 1 variances are negative\.",
    ),
    "nothing for a table to compare on": (lambda: compared(None), r"frame: must be a pandas .*, found None\."),
    "a column to compare on": (lambda: compared(AGE), r"frame: must be a table or a simulator .*, found Series\."),
    "a holdout nobody wrote": (lambda: compared(holdout="nowhere.csv"), r"nowhere\.csv: no such file\."),
    "a number for a folder": (lambda: compared(out=3), r"out: must be the name of a folder, found int\."),
    "a number for an axis": (
        lambda: compared().plot.map(3),
        r"risk: must be the name of a measure, found int\.",
    ),
    "limits in a list": (
        lambda: synthdp.tune(FRAME, SETTINGS, max_risk=[0.2]),
        r"max_risk: must be a mapping from limits to numbers, such as \{'max_individual': 0\.2\}, found list\.",
    ),
    "a number for a folder of trials": (
        lambda: synthdp.tune(FRAME, SETTINGS, out=3),
        r"out: must be the name of a folder, found int\.",
    ),
    "a number of columns to drop": (
        lambda: synthdp.read("x.csv", drop=3),
        r"drop: must be a list of columns, found int\.",
    ),
    "a table of columns to drop": (lambda: synthdp.read("x.csv", drop=FRAME), r"drop: .*, found DataFrame\."),
    "the mean of complex numbers": (lambda: synthdp.dp.mean(AGE + 1j, **BOUNDS), r"age: must be numbers\."),
    "the mean of dates": (lambda: synthdp.dp.mean(DATES, **BOUNDS), r"values: must be numbers\."),
    "the mean of a list of dates": (
        lambda: synthdp.dp.mean([dt.date(2020, 1, 1)] * 9, **BOUNDS),
        r"values: must be numbers\.",
    ),
    "a histogram of a table": (
        lambda: synthdp.dp.histogram(FRAME, levels=["f"], epsilon=1),
        r"values: must be one column, found 2 dimensions\.",
    ),
    "levels in a word": (
        lambda: synthdp.dp.histogram(FRAME["sex"], levels="fm", epsilon=1),
        r"levels: must be a list of levels, such as \['f', 'm'\]\.",
    ),
    "no levels": (
        lambda: synthdp.dp.histogram(FRAME["sex"], levels=[], epsilon=1),
        r"levels: must be a list of levels",
    ),
    "two clusters in words": (
        lambda: synthdp.dp.kmeans([AGE], "two", bounds=[(0, 100)], epsilon=1),
        r"kmeans: clusters and rounds must be whole numbers\.",
    ),
    "text in a regression": (
        lambda: synthdp.dp.adassp(FRAME, FRAME["y"], x_norm=1, y_bound=1, epsilon=1, delta=1e-6),
        r"x: must be numbers, and y as well\.",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_is_one_sentence(call):
    make, words = CALLS[call]
    with pytest.raises(InputError) as caught:
        make()
    said = str(caught.value)
    assert re.search(words, said), said
    assert "\n" not in said
    assert said[-1] in ".?"


KINDS = {
    "Int64": AGE.astype("Int64"),
    "int64[pyarrow]": AGE.astype("int64[pyarrow]"),
    "float64": AGE.astype("float32"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_any_kind_are_replaced(kind):
    assert str(made(FRAME.assign(age=KINDS[kind]))[0]["age"].dtype) == kind


KEPT = {
    "levels nobody has": pd.Categorical(FRAME["sex"], categories=["f", "m", "z"]),
    "text of Arrow": FRAME["sex"].astype("string[pyarrow]"),
    "true, false or missing": pd.array([True, False, None, True] * 10, dtype="boolean"),
    "months": pd.Series(pd.period_range("2020-01", periods=2, freq="M").repeat(N // 2))
    .sample(frac=1, random_state=1)
    .array,
    "spans of time": pd.to_timedelta(np.arange(N) % 2, unit="D"),
}


@pytest.mark.parametrize("kind", KEPT)
def test_columns_of_any_kind_are_kept_and_judged(kind):
    frame = FRAME.assign(sex=KEPT[kind])
    release = made(frame)
    pd.testing.assert_series_equal(release[0]["sex"], frame["sex"])
    assert not synthdp.evaluate(frame, release, SETTINGS).cautions


def test_clusters_of_a_table_bear_its_names():
    found = synthdp.dp.kmeans(FRAME[["age", "y"]], 2, bounds=[(0, 100), (-3, 3)], epsilon=1)
    assert list(found.table().columns) == ["age", "y", "size"]


def test_one_term_needs_no_list():
    one, other = pooled().wald("age"), pooled().wald(["age"])
    assert one == other


def test_a_section_that_is_not_there_is_missing_as_in_any_mapping():
    found = synthdp.evaluate(FRAME, OTHERS, SETTINGS)
    assert found.get("risks") is None
    assert "risks" not in found
