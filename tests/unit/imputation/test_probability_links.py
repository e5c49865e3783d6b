"""log Φ by polynomials against scipy's, and the sum over levels against one level at a time."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_ndtr

from synthdp.imputation.families.counts import NegativeBinomialDraw
from synthdp.imputation.families.links import HIGH, LOW, add_probit, log_normal_cdf


def test_log_normal_cdf_is_scipys() -> None:
    x = np.concatenate([np.linspace(-60, 12, 200_001), -np.logspace(1, 8, 50), [LOW, HIGH]])
    assert_allclose(log_normal_cdf(x), log_ndtr(x), rtol=1e-13, atol=1e-13)


def test_log_normal_cdf_at_the_ends_and_of_any_shape() -> None:
    assert_array_equal(log_normal_cdf(np.array([[np.inf, -np.inf, np.nan]])), [[0.0, -np.inf, np.nan]])
    assert log_normal_cdf(np.zeros((3, 2))[:, ::-1]).shape == (3, 2)


def test_add_probit_adds_one_level_after_the_other() -> None:
    rng = np.random.default_rng(1)
    found, rest, shifts, up = rng.normal(size=(4, 30)), rng.normal(size=30), rng.normal(size=4), rng.random(30) < 0.5
    eta = rest + shifts[:, None]
    wanted = found + log_ndtr(np.where(up, eta, -eta))
    add_probit(found, shifts, rest, up)
    assert_allclose(found, wanted, rtol=1e-12)


def test_log_weights_of_counts_are_their_levels_up_to_a_constant() -> None:
    eta = np.random.default_rng(1).normal(size=(20, 1))
    for dispersion in (0.0, 0.7):
        drawn = NegativeBinomialDraw(np.zeros((1, 1)), dispersion, 12)
        gap = drawn.log_weights(eta).T - drawn.log_levels(eta)
        assert_allclose(gap, np.broadcast_to(gap[:, :1], gap.shape), atol=1e-12)
