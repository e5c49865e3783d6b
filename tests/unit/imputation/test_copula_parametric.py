"""Parametric margins: largest weighted likelihood against a general optimiser, latents against the family's own F."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from synthdp.imputation.copula.margins import FAMILIES, ParametricMargin, weighted_beta, weighted_gamma, weighted_normal

LIMITS = {"normal": (-np.inf, np.inf), "gamma": (2.0, np.inf), "beta": (-1.0, 3.0)}


def sample(family: str, n: int, rng: np.random.Generator) -> np.ndarray:
    low, high = LIMITS[family]
    if family == "normal":
        return rng.normal(1.0, 2.0, n)
    return low + rng.gamma(2.5, 1.5, n) if family == "gamma" else low + (high - low) * rng.beta(0.7, 2.0, n)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.floats(0.3, 8.0), st.floats(0.3, 8.0))
def test_the_fit_is_where_a_general_optimiser_ends(seed: int, a: float, b: float) -> None:
    rng = np.random.default_rng(seed)
    mass = rng.standard_exponential(60)
    x = np.clip(rng.beta(a, b, 60), 1e-6, 1 - 1e-6)
    y = rng.gamma(a, b, 60) + 1e-9

    def worst(law: stats.rv_continuous, values: np.ndarray, **scale: bool):
        def minus(theta: np.ndarray) -> float:
            first, second = np.exp(theta)
            density = law.logpdf(values, first, scale=second) if scale else law.logpdf(values, first, second)
            return -float(np.sum(mass * density))

        return minus

    for fit, values, minus in (
        (weighted_gamma, y, worst(stats.gamma, y, scale=True)),
        (weighted_beta, x, worst(stats.beta, x)),
    ):
        found = np.log(fit(values, mass))
        best = optimize.minimize(minus, found + 0.1, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10})
        assert minus(found) <= best.fun + 1e-6 * abs(best.fun)


def test_the_normal_is_fitted_by_weighted_moments() -> None:
    x = np.array([1.0, 2.0, 4.0])
    center, spread = weighted_normal(np.repeat(x, [1, 2, 3]), np.ones(6))
    assert weighted_normal(x, np.array([1.0, 2.0, 3.0])) == pytest.approx((center, spread))


@pytest.mark.parametrize("family", FAMILIES)
def test_values_and_latents_follow_the_family(family: str) -> None:
    rng = np.random.default_rng(5)
    x = sample(family, 4000, rng)
    x[::9] = np.nan
    curve = ParametricMargin.from_family(x, LIMITS[family], family).at(np.ones(len(x)))
    low, high = curve.bounds()
    known = np.isfinite(x)
    np.testing.assert_array_equal(low[known], high[known])
    assert np.isinf(low[~known]).all()
    # back and forth, and standard normal as the family is right
    np.testing.assert_allclose(curve.value(low[known]), x[known], atol=2e-3)
    np.testing.assert_allclose(curve.latent(x[known]), low[known], atol=2e-3)
    assert stats.kstest(low[known], "norm").pvalue > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_draws_stay_inside_the_bounds_and_are_no_original_values(family: str) -> None:
    rng = np.random.default_rng(6)
    x = sample(family, 300, rng)
    curve = ParametricMargin.from_family(x, LIMITS[family], family).at(rng.standard_exponential(300))
    drawn = curve.value(rng.standard_normal(20_000) * 3)
    assert (drawn >= LIMITS[family][0]).all()
    assert (drawn <= LIMITS[family][1]).all()
    assert not np.isin(drawn, x).any()


def test_missing_values_are_completed_by_the_nearest_value() -> None:
    x = np.array([0.0, 1.0, 2.0, 10.0, np.nan])
    curve = ParametricMargin.from_family(x, LIMITS["normal"], "normal").at(np.ones(5))
    np.testing.assert_array_equal(curve.cell(curve.latent(np.array([-3.0, 0.6, 5.0, 7.0]))), [0, 1, 2, 3])


@pytest.mark.parametrize("family", ["gamma", "beta"])
def test_values_at_the_bounds_have_finite_latents(family: str) -> None:
    low, high = LIMITS[family]
    x = np.array([low, low, low + 0.5, low + 1.0, min(high, low + 4.0)])
    low_at, _ = ParametricMargin.from_family(x, LIMITS[family], family).at(np.ones(5)).bounds()
    assert np.isfinite(low_at).all()
    assert (np.diff(low_at) >= 0).all()
