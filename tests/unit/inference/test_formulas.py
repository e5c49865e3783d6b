"""Matrices of a formula, worked out once for many copies."""

import numpy as np
import pandas as pd
import pytest

from synthdp.inference import formulas as module
from synthdp.inference.formulas import build


@pytest.mark.parametrize("formula", ["y ~ x + g", "y ~ np.log(x) * C(g)", "y ~ C(k) + x", "y ~ bs(x, df=4)", "b ~ x"])
def test_a_design_that_was_worked_out_before_is_what_patsy_makes_anew(formula):
    rng = np.random.default_rng(3)
    for n in (40, 30, 50):
        used = pd.DataFrame({"y": rng.normal(size=n), "x": rng.uniform(1, 9, n), "k": rng.integers(n // 10, 6, n)})
        used = used.assign(g=rng.choice(["a", "b", "c"], n), b=rng.random(n) < 0.5)
        found = build(formula, used)
        module._DESIGNS.clear()
        anew = build(formula, used)
        build(formula, used.iloc[::-1])
        again = build(formula, used)
        for other in (anew, again):
            assert other.names == found.names
            np.testing.assert_array_equal(other.matrix, found.matrix)
            np.testing.assert_array_equal(other.response, found.response)
    # a level of a number and the knots of a spline come from the values
    assert bool(module._DESIGNS) == (formula not in ("y ~ C(k) + x", "y ~ bs(x, df=4)"))
