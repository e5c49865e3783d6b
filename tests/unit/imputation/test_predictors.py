"""What the association model sees of the kept columns and of the mask's strength."""

import numpy as np
import pandas as pd
import pytest

from synthdp.imputation.predictors import MOST_LEVELS, REGULARISING_SD, build
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable


def predictors(columns, variables=None, **settings):
    return build(resolve(pd.DataFrame(columns), variables or {}), **settings)


def column(found, name):
    return found.matrix[:, found.names.index(name)]


def test_numbers_are_standardised_beside_the_constant():
    values = np.array([3.0, 5.0, 10.0, 14.0])
    found = predictors({"a": values})
    assert found.names == ("constant", "a")
    assert (column(found, "constant") == 1).all()
    np.testing.assert_allclose(column(found, "a"), (values - values.mean()) / values.std(), rtol=1e-12)


def test_a_missing_number_is_its_mean_and_an_indicator():
    found = predictors({"a": [3.0, np.nan, 10.0, 14.0]})
    assert found.names == ("constant", "a", "a is missing")
    assert column(found, "a")[1] == 0
    assert column(found, "a is missing").tolist() == [0, 1, 0, 0]
    present = column(found, "a")[[0, 2, 3]]
    assert present.mean() == pytest.approx(0, abs=1e-12)
    assert present.std() == pytest.approx(1, rel=1e-12)


def test_dates_are_numbers():
    found = predictors({"day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-04"])})
    assert found.names == ("constant", "day")


def test_levels_are_indicators_against_the_most_frequent():
    found = predictors({"race": ["b", "a", "b", "c", None, "b"]})
    assert found.names == ("constant", "race is missing", "race[0]", "race[2]")
    assert column(found, "race[0]").tolist() == [0, 1, 0, 0, 0, 0]
    assert column(found, "race[2]").tolist() == [0, 0, 0, 1, 0, 0]
    assert column(found, "race is missing").tolist() == [0, 0, 0, 0, 1, 0]


def test_nothing_is_learnt_from_constants():
    gone = {"one": [7, 7, 7], "none": [np.nan] * 3, "text": ["x", "x", "x"], "nothing": [None] * 3}
    assert predictors(gone).names == ("constant",)
    # the value is constant, but who has it may tell something
    assert predictors({"some": [7, None, 7]}).names == ("constant", "some is missing")
    assert predictors({"some": ["x", None, "x"]}).names == ("constant", "some is missing")


def test_replaced_dropped_and_excluded_columns_are_not_seen():
    columns = {name: [1.0, 2.0, 4.0] for name in ("x", "gone", "secret", "z")}
    variables = {"x": Variable(role="replace"), "gone": Variable(role="drop")}
    assert predictors(columns, variables, exclude=("secret",)).names == ("constant", "z")


@pytest.mark.parametrize("levels", [MOST_LEVELS, MOST_LEVELS + 1, MOST_LEVELS + 30])
def test_rare_levels_beyond_the_limit_join_the_most_frequent(levels):
    # level i occurs once more than level i + 1
    values = np.repeat([f"{i:03d}" for i in range(levels)], np.arange(levels, 0, -1))
    found = predictors({"town": values})
    kept = min(levels - 1, MOST_LEVELS)
    assert found.names == ("constant", *(f"town[{i}]" for i in range(1, kept + 1)))
    assert found.matrix[:, 1:].sum() == sum(levels - i for i in range(1, kept + 1))


def test_the_masks_strength_gets_the_tighter_prior():
    groups, neighbours = np.array([0, 0, 1, 2]), np.array([9, 3, 1, 0])
    found = predictors({"z": [1.0, 2.0, 4.0, 5.0]}, groups=groups, neighbours=neighbours)
    assert found.names == ("constant", "z", "risk group[1]", "risk group[2]", "log neighbours")
    assert found.regularised == 3
    assert found.prior_sd(10.0).tolist() == [np.inf, 10.0, *[REGULARISING_SD] * 3]
    assert found.prior_sd(0.5).tolist() == [np.inf, *[0.5] * 4]
    assert REGULARISING_SD == 1
    logs = np.log([9, 3, 1, 1])
    np.testing.assert_allclose(column(found, "log neighbours"), (logs - logs.mean()) / logs.std(), rtol=1e-12)
    plain = predictors({"z": [1.0, 2.0, 4.0, 5.0]})
    assert plain.prior_sd(10.0).tolist() == [np.inf, 10.0]


def test_one_group_and_equal_neighbours_say_nothing():
    alike = predictors({"z": [1.0, 2.0, 4.0]}, groups=np.zeros(3, dtype=np.int64), neighbours=np.full(3, 4))
    assert alike.names == ("constant", "z")
    assert alike.regularised == 0


def test_no_values_are_shown():
    assert repr(predictors({"z": [1.0, 2.0, 4.0]})) == "Predictors(2 columns)"
