"""Drawn numbers as cells: what does not fit into the column's own dtype is not turned into another number."""

import numpy as np
import pandas as pd
import pytest

import synthdp
from synthdp.imputation.cells import write
from synthdp.table.schema import Column

COLUMN = Column(name="age", kind="continuous", role="replace", key=True)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "Int8", "UInt8", "int8[pyarrow]", "Sparse[int8]"])
def test_whole_numbers_beyond_their_dtype_are_kept(dtype):
    like = pd.Series([20, 90, 3], name="age").astype(dtype)
    inside, beyond = (write(np.array(drawn), COLUMN, like) for drawn in ([18.0, 41.2, 7.0], [18.0, 300.4, -7.0]))
    assert inside.dtype == like.dtype
    assert inside.tolist() == [18, 41, 7]
    assert beyond.tolist() == [18, 300, -7]


def test_ages_in_eight_bits_come_back_as_ages():
    rng = np.random.default_rng(1)
    ages = rng.integers(0, 100, 200)
    frame = pd.DataFrame({"age": ages.astype("uint8"), "pay": ages + rng.normal(0, 30, 200)})
    settings = {"variables": {"age": {"role": "replace"}}, "synthesis": {"method": "mi", "copies": 1}}
    (copy,) = synthdp.synthesize(frame, settings, seed=1).copies
    (same,) = synthdp.synthesize(frame.astype({"age": "int64"}), settings, seed=1).copies
    assert copy["age"].min() < 0
    assert copy["age"].tolist() == same["age"].tolist()


OPEN = pd.Series(pd.date_range("2001-01-01", periods=120)).where(np.arange(120) % 3 > 0, pd.Timestamp("9999-12-31"))


@pytest.mark.parametrize("like", [OPEN, OPEN - pd.DateOffset(years=500)], ids=["no end yet", "of 1501"])
def test_dates_beyond_those_that_nanoseconds_hold_are_replaced_and_analysed(like):
    frame = pd.DataFrame({"until": like, "pay": np.random.default_rng(1).normal(size=120)})
    settings = {
        "variables": {"until": {"role": "replace", "key": True}},
        "masks": {"until": {"method": "gaussian", "sd": 1.0}},
        "synthesis": {"copies": 2, "model": {"method": "auto"}},
        "evaluation": {"utility": ["analyses"], "risk": []},
        "analyses": [{"name": "pay", "model": "ols", "formula": "pay ~ until"}],
    }
    release = synthdp.synthesize(frame, settings, seed=1)
    assert release[0]["until"].dtype == like.dtype
    assert release[0]["until"].between(like.min(), like.max()).all()
    (analysis,) = synthdp.evaluate(frame, release, settings)["utility"]["analyses"]
    assert 0 < analysis["mean_ci_overlap"] <= 1


def test_drawn_dates_are_those_of_pandas_where_it_has_them():
    column = Column(name="day", kind="date", role="replace", key=True)
    drawn = np.append(np.random.default_rng(1).normal(0, 20_000, 1_000), [0.0, -0.25, 1e-9])
    here = write(drawn, column, pd.Series(pd.date_range("2020", periods=len(drawn))))
    there = pd.Series(pd.Timestamp(0) + pd.to_timedelta(drawn, unit="D")).astype(here.dtype)
    assert here.tolist() == there.tolist()
