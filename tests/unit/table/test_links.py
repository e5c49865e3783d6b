"""The working scale: standard units there and the same values back."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthdp.table.links import Link
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

VALUES = np.array([18.0, 25.5, 31.0, 47.0, 60.5, 88.0, np.nan])


def link(**settings):
    data = resolve(pd.DataFrame({"age": VALUES}), {"age": Variable(role="replace", **settings)})
    return Link.of(data, "age")


@pytest.mark.parametrize(
    "settings",
    [{}, {"bounds": (18, 90)}, {"bounds": (10, 90), "transform": "log"}, {"bounds": (10, 90), "transform": 0.5}],
)
def test_working_values_have_mean_zero_and_unit_sd_and_come_back(settings):
    found = link(**settings)
    working = found.forward(VALUES)
    assert np.isnan(working[-1])
    assert working[:-1].mean() == pytest.approx(0, abs=1e-12)
    assert working[:-1].std() == pytest.approx(1, rel=1e-12)
    assert (np.diff(working[:-1]) > 0).all()
    np.testing.assert_allclose(found.inverse(working), VALUES, rtol=1e-12)


@given(st.floats(0, 1e6), st.floats(-50, 50), st.floats(0.01, 100), st.sampled_from(["none", "log", 0.5, 2.0]))
def test_the_inverse_undoes_the_map(above, center, spread, transform):
    found = Link(center, spread, transform, bounds=(3.0, 2e6))
    back = found.inverse(found.forward(np.array([3.0 + above])))
    # expm1 and log1p lose digits in proportion to what is added and taken away in between
    assert back[0] == pytest.approx(3.0 + above, rel=1e-9, abs=1e-9 * (1 + abs(center) + spread))


def test_limits_and_their_width():
    assert link().limits() == (-np.inf, np.inf)
    assert link().width() == np.inf
    found = link(bounds=(18, 90))
    assert found.limits() == tuple(found.forward(np.array([18.0, 90.0])))
    assert found.width() * found.spread == pytest.approx(72, rel=1e-12)
    logged = link(bounds=(18, 90), transform="log")
    assert logged.width() * logged.spread == pytest.approx(np.log1p(72), rel=1e-12)


def test_nothing_of_the_data_is_shown():
    assert repr(link()) == "Link(none)"
    assert repr(link(bounds=(18, 90), transform="log")) == "Link(log)"
