"""The regressions' posteriors against integration on a grid."""

import numpy as np
import pytest
from scipy import stats

from synthdp.imputation.families.links import log_probability
from synthdp.imputation.families.normal import LinearPosterior
from synthdp.imputation.families.sampling import STEPS
from synthdp.imputation.families.unordered import binary_sampler

DRAWS = 4000


def small_design(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.column_stack([np.ones(n), rng.normal(size=n)])


def grid_moments(log_density, mode, width):
    axes = [np.linspace(m - w, m + w, 241) for m, w in zip(mode, width, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(mode))
    logs = log_density(points)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ points
    return mean, np.sqrt(weights @ (points - mean) ** 2)


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("case", ["ordinary", "separated", "few"])
def test_binary_draws_have_the_moments_of_the_posterior(link, case):
    rng = np.random.default_rng(1)
    design = small_design(12 if case == "few" else 60, rng)
    y = (design[:, 1] > 0).astype(float) if case == "separated" else (rng.random(len(design)) < 0.3).astype(float)
    y[0], y[1] = 0.0, 1.0
    if case == "separated":
        y[:2] = (design[:2, 1] > 0).astype(float)
    prior = np.array([10.0, 2.5])
    fitted = binary_sampler(design, y, prior, link=link, rng=rng)
    draws = np.array([fitted.draw(rng=rng) for _ in range(DRAWS)])

    def log_density(points):
        signed = design * (2 * y - 1)[:, None]
        return log_probability(points @ signed.T, link).sum(axis=1) - 0.5 * ((points / prior) ** 2).sum(axis=1)

    spread = draws.std(axis=0)
    mean, sd = grid_moments(log_density, draws.mean(axis=0), 8 * spread)
    assert (np.abs(draws.mean(axis=0) - mean) < 4.5 * sd / np.sqrt(DRAWS)).all()
    kurtosis = stats.kurtosis(draws, fisher=False)
    assert (np.abs(spread / sd - 1) < 4.5 * np.sqrt((kurtosis - 1) / (4 * DRAWS))).all()


def test_a_separated_design_keeps_a_finite_mode():
    x = np.linspace(-1, 1, 40)
    fitted = binary_sampler(
        np.column_stack([np.ones(40), x]),
        (x > 0).astype(float),
        np.array([np.inf, 2.5]),
        link="probit",
        rng=np.random.default_rng(2),
    )
    assert np.abs(fitted.mode).max() < 20
    assert STEPS[0] <= fitted.steps <= STEPS[1]


def test_log_posterior_is_relative_to_the_mode_in_every_chunk(monkeypatch):
    rng = np.random.default_rng(3)
    design = small_design(500, rng)
    y = (rng.random(500) < 0.4).astype(float)
    fitted = binary_sampler(design, y, np.array([10.0, 2.5]), link="logit", rng=rng)
    whole = fitted.log_posterior(np.array([fitted.mode, fitted.mode + 0.1]))
    monkeypatch.setattr("synthdp.seeding.BLOCK", 77)
    np.testing.assert_allclose(fitted.log_posterior(np.array([fitted.mode, fitted.mode + 0.1])), whole, atol=1e-9)
    assert whole[0] == pytest.approx(0, abs=1e-9)


def test_linear_draws_have_the_classical_moments_under_a_flat_prior():
    rng = np.random.default_rng(4)
    n = 30
    design = small_design(n, rng)
    y = design @ [1.0, 0.5] + rng.normal(size=n)
    fitted = LinearPosterior.fit(design, y, np.array([np.inf, 1e6]))
    draws = [fitted.draw(rng=rng) for _ in range(DRAWS)]
    beta = np.array([draw.beta[:, 0] for draw in draws])
    precision = np.array([1 / draw.variance for draw in draws])
    estimate, residual, *_ = np.linalg.lstsq(design, y)
    scale = residual[0] / (n - 2)
    covariance = np.linalg.inv(design.T @ design) * scale * (n - 2) / (n - 4)  # of a t with n - 2 df
    np.testing.assert_allclose(beta.mean(axis=0), estimate, atol=4 * np.sqrt(covariance.max() / DRAWS))
    assert (np.abs(beta.var(axis=0) / np.diag(covariance) - 1) < 4 * np.sqrt(3 / DRAWS)).all()
    # 1/σ² · residual is χ² with n - 2 df
    assert stats.kstest(precision * residual[0], stats.chi2(n - 2).cdf).pvalue > 1e-4


def test_linear_fit_survives_collinear_columns_and_a_perfect_fit():
    rng = np.random.default_rng(5)
    x = rng.normal(size=50)
    design = np.column_stack([np.ones(50), x, x])
    fitted = LinearPosterior.fit(design, 2 * x, np.array([np.inf, 10.0, 10.0]))
    drawn = fitted.draw(rng=rng)
    assert np.isfinite(drawn.beta).all()
    assert drawn.variance < 1e-3
    assert drawn.beta[1:].sum() == pytest.approx(2, abs=0.1)
