"""The quick estimators of the studies give the same numbers as the analyses a user runs."""

import numpy as np
import pandas as pd
import pytest

from reports.estimators import design, least_squares, logistic, ordered_probit, probit
from synthdp.inference.analyses import Analysis

RNG = np.random.default_rng(7)
N = 400
FRAME = pd.DataFrame({"x": RNG.normal(size=N), "b": RNG.integers(0, 2, N)})
FRAME["y"] = 1 + 0.5 * FRAME["x"] - FRAME["b"] + RNG.normal(size=N)
FRAME["z"] = (FRAME["y"] + RNG.normal(size=N) > 1).astype(int)
NAMES = ("Intercept", "x", "b")


@pytest.mark.parametrize(
    ("estimate", "response", "model"),
    [(least_squares, "y", "ols"), (logistic, "z", "logit"), (probit, "z", "probit")],
)
def test_the_same_numbers(estimate, response, model):
    found = estimate(FRAME[response].to_numpy(float), design(FRAME, "x", "b"), NAMES)
    expected = Analysis(name="a", model=model, formula=f"{response} ~ x + b").estimate(FRAME)
    assert found.names == expected.names == NAMES
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-7)
    np.testing.assert_allclose(found.covariance, expected.covariance, rtol=1e-6)
    assert found.df_residual == expected.df_residual


def test_the_design_begins_with_a_constant():
    matrix = design(FRAME, "b", "x")
    assert matrix.shape == (N, 3)
    assert (matrix[:, 0] == 1).all()
    assert (matrix[:, 1] == FRAME["b"]).all()
    assert (design(FRAME) == 1).all()


def test_the_ordered_probit_equals_that_of_statsmodels():
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    levels = np.digitize(FRAME["y"] + RNG.normal(size=N), [-0.5, 0.4, 1.2, 2.0])
    found = ordered_probit(levels.astype(float), FRAME[["x", "b"]].to_numpy(float), ("x", "b"))
    expected = OrderedModel(levels, FRAME[["x", "b"]], distr="probit").fit(method="bfgs", disp=0, gtol=1e-9)
    np.testing.assert_allclose(found.values, expected.params[:2], rtol=1e-5)
    # Fisher information here, observed information there: equal for large n only
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), expected.bse[:2], rtol=0.03)
