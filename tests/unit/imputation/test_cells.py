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
