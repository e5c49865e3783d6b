"""The joint draw against enumeration and quadrature written out by hand."""

import numpy as np
import pytest
from scipy import stats

from synthdp.imputation.regression.joint import JointModel
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence, draw_levels

N = 60_000


def model(q: int = 2, limits: tuple[float, float] = (-np.inf, np.inf)) -> JointModel:
    root = np.array([[0.8, 0.0], [0.5, 0.6]])[:q, :q]
    return JointModel(
        binary_beta=np.array([[0.2, -0.3], [0.5, 0.4]]),
        binary_previous=np.array([[0.0, 0.0], [0.9, 0.0]]),
        number_beta=np.array([[0.1, -0.2], [0.7, 0.3]])[:, :q],
        number_shift=np.array([[0.6, -0.4], [0.2, 0.8]])[:, :q],
        root=root,
        limits=np.array([[limits[0]] * q, [limits[1]] * q]),
        link="probit",
    )


def posterior_by_hand(theta, z, levels, w, k):
    """Return cell probabilities, and mean and covariance of the numbers in each cell."""
    d = np.array([1.0, z])
    sigma = theta.root @ theta.root.T
    log_p, means, covariances = [], [], []
    for cell in theta.cells():
        b1, b2 = cell
        eta1 = d @ theta.binary_beta[:, 0]
        eta2 = d @ theta.binary_beta[:, 1] + theta.binary_previous[1, 0] * b1
        p = stats.norm.cdf(eta1 if b1 else -eta1) * stats.norm.cdf(eta2 if b2 else -eta2)
        mean = d @ theta.number_beta + cell @ theta.number_shift
        seen = k > 0
        log_w = (
            stats.multivariate_normal.logpdf(
                w[seen], mean[seen], (sigma + np.diag(1 / np.where(seen, k, 1)))[np.ix_(seen, seen)]
            )
            if seen.any()
            else 0.0
        )
        log_p.append(np.log(p) + levels[0, b1] + levels[1, b2] + log_w)
        precision = np.linalg.inv(sigma) + np.diag(k)
        covariance = np.linalg.inv(precision)
        means.append(covariance @ (np.linalg.solve(sigma, mean) + k * w))
        covariances.append(covariance)
    weights = np.exp(np.array(log_p) - max(log_p))
    return weights / weights.sum(), np.array(means), np.array(covariances)


@pytest.mark.parametrize(
    "k", [np.array([0.0, 0.0]), np.array([2.0, 0.5]), np.array([0.0, 4.0]), np.array([1e10, 1e10])]
)
@pytest.mark.parametrize("varying", [False, True])
def test_draws_follow_the_enumerated_posterior(k, varying):
    theta = model()
    rng = np.random.default_rng(3)
    z, w = 0.4, np.array([0.9, -0.1])
    levels = np.log(np.array([[0.3, 0.7], [0.6, 0.4]]))
    design = np.tile([1.0, z], (N, 1))
    precisions = np.tile(k, (N, 1))
    if varying:  # a last record with another precision takes the path of one matrix per record
        precisions[-1] += 1.0
    cells, x = theta.draw(design, np.tile(levels, (N, 1, 1)), np.tile(w, (N, 1)), precisions, rng=rng)
    probability, means, covariances = posterior_by_hand(theta, z, levels, w, k)
    position = cells[:, 0] + 2 * cells[:, 1]
    for c in range(4):
        here = position == c
        assert abs(here.mean() - probability[c]) < 4 * np.sqrt(probability[c] * (1 - probability[c]) / N) + 1e-9
        if here.sum() > 200:
            se = np.sqrt(np.diag(covariances[c]) / here.sum())
            assert (np.abs(x[here].mean(axis=0) - means[c]) < 4.5 * se + 1e-9).all()
            if k.max() < 1e5:
                standard = (x[here] - means[c]) @ np.linalg.inv(np.linalg.cholesky(covariances[c])).T
                assert np.abs(np.cov(standard.T) - np.eye(2)).max() < 4.5 * np.sqrt(2 / here.sum())


def test_precise_w_gives_the_value_back():
    theta = model()
    rng = np.random.default_rng(4)
    design = np.column_stack([np.ones(500), rng.normal(size=500)])
    truth = rng.normal(size=(500, 2))
    flags = rng.integers(0, 2, size=(500, 2))
    levels = np.where(flags[:, :, None] == np.arange(2), 0.0, -800.0)
    cells, x = theta.draw(design, levels, truth, np.full((500, 2), 1e14), rng=rng)
    np.testing.assert_array_equal(cells, flags)
    np.testing.assert_allclose(x, truth, atol=1e-5)


def test_a_later_w_says_something_about_an_earlier_column():
    theta = model()
    design = np.tile([1.0, 0.0], (N, 1))
    flat = np.zeros((N, 2, 2))
    none, much = np.zeros((N, 2)), np.tile([0.0, 50.0], (N, 1))
    rng = np.random.default_rng(5)
    cells, _ = theta.draw(design, flat, np.tile([0.0, 2.5], (N, 1)), none, rng=rng)
    informed, _ = theta.draw(design, flat, np.tile([0.0, 2.5], (N, 1)), much, rng=rng)
    assert informed[:, 1].mean() > cells[:, 1].mean() + 0.2


def test_bounds_censor_the_draw():
    theta, free = model(q=1, limits=(-0.5, 1.0)), model(q=1)
    inputs = (np.tile([1.0, 0.3], (N, 1)), np.zeros((N, 2, 2)), np.full((N, 1), 0.4), np.full((N, 1), 1.5))
    cells, x = theta.draw(*inputs, rng=np.random.default_rng(6))
    free_cells, free_x = free.draw(*inputs, rng=np.random.default_rng(6))
    np.testing.assert_array_equal(cells, free_cells)
    np.testing.assert_array_equal(x, np.clip(free_x, -0.5, 1.0))


def test_evidence_adds_on_one_axis_only():
    number, level = GaussianEvidence.flat(2), LevelEvidence.flat(2, 3)
    with pytest.raises(TypeError, match="value and about a level cannot be added"):
        number + level
    both = GaussianEvidence.at(np.array([1.0, 3.0]), np.array([1.0, 1.0])) + GaussianEvidence.at(
        np.array([3.0, 3.0]), np.array([1.0, 0.0])
    )
    np.testing.assert_allclose(both.mean(), [2.0, 3.0])


def test_log_norm_is_the_integral():
    evidence = GaussianEvidence.at(np.array([1.3]), np.array([2.0]))
    grid = np.linspace(-20, 20, 400_001)
    integral = np.trapezoid(np.exp(evidence.linear[0] * grid - evidence.precision[0] * grid**2 / 2), grid)
    assert evidence.log_norm()[0] == pytest.approx(np.log(integral), abs=1e-9)
    assert np.isposinf(GaussianEvidence.flat(1).log_norm()[0])


def test_draw_levels_handles_impossible_levels():
    weights = np.log(np.array([[0.2, 0.3, 0.5]]) + 0.0)
    weights = np.vstack([np.repeat(weights, N, axis=0), [[-np.inf, 0.0, -np.inf]] * 100])
    drawn = draw_levels(weights, rng=np.random.default_rng(8))
    shares = np.bincount(drawn[:N], minlength=3) / N
    np.testing.assert_allclose(shares, [0.2, 0.3, 0.5], atol=4 * 0.5 / np.sqrt(N))
    assert (drawn[N:] == 1).all()
