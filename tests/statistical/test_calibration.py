"""Simulation-based calibration: parameters from the prior, data from the parameters, ranks must be uniform.

Talts, Betancourt, Simpson, Vehtari, Gelman (2018), arXiv:1804.06788.
"""

import numpy as np
import pytest
from scipy import stats

from synthdp.imputation.families.normal import LinearPosterior
from synthdp.imputation.families.unordered import binary_sampler
from synthdp.imputation.regression.joint import JointModel

pytestmark = pytest.mark.slow

REPLICATIONS = 1500
POSTERIOR_DRAWS = 19
SMALLEST_P = 1e-3


def uniform_p(ranks: np.ndarray) -> float:
    counts = np.bincount(ranks, minlength=POSTERIOR_DRAWS + 1)
    return float(stats.chisquare(counts).pvalue)


@pytest.mark.parametrize("link", ["probit", "logit"])
@pytest.mark.parametrize("n", [15, 80])
def test_binary_regression_is_calibrated(link, n):
    rng = np.random.default_rng(11)
    prior = np.array([1.0, 1.5, 1.5])
    ranks = np.empty((REPLICATIONS, 3), dtype=int)
    for r in range(REPLICATIONS):
        design = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
        beta = prior * rng.standard_normal(3)
        eta = design @ beta
        noise = rng.standard_normal(n) if link == "probit" else rng.logistic(size=n)
        fitted = binary_sampler(design, (eta + noise > 0).astype(float), prior, link=link, rng=rng)
        draws = np.array([fitted.draw(rng=rng) for _ in range(POSTERIOR_DRAWS)])
        ranks[r] = (draws < beta).sum(axis=0)
    assert min(uniform_p(ranks[:, j]) for j in range(3)) > SMALLEST_P


def test_linear_regression_is_calibrated():
    rng = np.random.default_rng(12)
    n, prior_sd, prior = 25, np.array([2.0, 1.0]), (4.0, 3.0)
    ranks = np.empty((REPLICATIONS, 3), dtype=int)
    for r in range(REPLICATIONS):
        design = np.column_stack([np.ones(n), rng.normal(size=n)])
        variance = prior[1] / rng.gamma(prior[0])
        beta = np.sqrt(variance) * prior_sd * rng.standard_normal(2)
        y = design @ beta + np.sqrt(variance) * rng.standard_normal(n)
        fitted = LinearPosterior.fit(design, y, prior_sd, prior=prior)
        draws = [fitted.draw(rng=rng) for _ in range(POSTERIOR_DRAWS)]
        ranks[r, :2] = (np.array([draw.beta[:, 0] for draw in draws]) < beta).sum(axis=0)
        ranks[r, 2] = sum(draw.variance < variance for draw in draws)
    assert min(uniform_p(ranks[:, j]) for j in range(3)) > SMALLEST_P


def test_the_joint_draw_is_calibrated_for_the_masked_values():
    """X from p(x | z, θ), W from p(w | x): draws of X given W must rank the true X uniformly."""
    rng = np.random.default_rng(13)
    theta = JointModel(
        binary_beta=np.array([[0.2], [0.6]]),
        binary_previous=np.zeros((1, 1)),
        number_beta=np.array([[0.1, -0.2], [0.7, 0.3]]),
        number_shift=np.array([[0.9, -0.4]]),
        root=np.array([[0.8, 0.0], [0.5, 0.6]]),
        limits=np.array([[-np.inf] * 2, [np.inf] * 2]),
        link="probit",
    )
    n = 20_000
    design = np.column_stack([np.ones(n), rng.normal(size=n)])
    nothing = (np.zeros((n, 1, 2)), np.zeros((n, 2)), np.zeros((n, 2)))
    flags, x = theta.draw(design, *nothing, rng=rng)
    sd = np.array([0.7, 1.4]) * np.exp(rng.normal(size=(n, 1)) / 2)
    w = x + sd * rng.standard_normal((n, 2))
    w_flag = 1.2 * flags + rng.standard_normal((n, 1))
    levels = -0.5 * (w_flag[:, :, None] - 1.2 * np.arange(2)) ** 2
    below, flag_draws = np.zeros((n, 2), dtype=int), np.zeros(n)
    for _ in range(POSTERIOR_DRAWS):
        drawn_flags, drawn = theta.draw(design, levels, w, sd**-2.0, rng=rng)
        below += drawn < x
        flag_draws += drawn_flags[:, 0]
    assert min(uniform_p(below[:, j]) for j in range(2)) > SMALLEST_P
    # the true flag is one more draw: same mean, same correlation with the other draws
    difference = flags[:, 0] - flag_draws / POSTERIOR_DRAWS
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(n)
    other, _ = theta.draw(design, levels, w, sd**-2.0, rng=rng)
    truth, drawn = (np.corrcoef(flag, flag_draws)[0, 1] for flag in (flags[:, 0], other[:, 0]))
    assert abs(truth - drawn) < 4 * np.sqrt(2 / n)
