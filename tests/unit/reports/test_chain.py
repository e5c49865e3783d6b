"""The world of the study of rules: its fits are the studies' own, its draws have the posterior's moments."""

import numpy as np
import pytest

from reports import estimators
from reports.rules import designs

N = 300


@pytest.fixture
def data():
    return designs.original(N, rng=np.random.default_rng(1))


def test_fits_of_many_copies_are_the_fits_of_one(data):
    rng = np.random.default_rng(2)
    copies = designs.draw_all(designs.fit(data).times(4), 150, proper=True, rng=rng)
    for found, z, x, y, d in zip(designs.estimates(copies), copies.z, copies.x, copies.y, copies.d, strict=True):
        design = np.column_stack([np.ones(150), x, z])
        ols = estimators.least_squares(y, design, ("1", "x", "z"))
        logit = estimators.logistic(d, design, ("1", "x", "z"))
        np.testing.assert_allclose(found.values, [y.mean(), ols.values[1], logit.values[1]], rtol=1e-8)
        np.testing.assert_allclose(found.se, [y.std(ddof=1) / np.sqrt(150), ols.se[1], logit.se[1]], rtol=1e-6)


def test_records_that_are_not_seen_do_not_count(data):
    seen = (np.arange(N) < 200).astype(float)[None, :]
    part, whole = (
        designs.fit(data, seen),
        designs.fit(designs.World(*(c[:, :200] for c in (data.z, data.x, data.y, data.d)))),
    )
    np.testing.assert_allclose(part.y.beta, whole.y.beta)
    np.testing.assert_allclose(part.y.variance, whole.y.variance)
    np.testing.assert_allclose(part.d.beta, whole.d.beta, rtol=1e-6)


def test_proper_draws_have_the_moments_of_the_posterior(data):
    draws = 20_000
    fitted = designs.fit(data).y
    beta, sd = fitted.times(draws).parameters(proper=True, rng=np.random.default_rng(3))
    # σ² is inverse χ²: its mean is s² df/(df − 2), and that is the scale of β's covariance
    mean = float(fitted.sum_of_squares[0] / (fitted.df[0] - 2))
    assert (sd**2).mean() == pytest.approx(mean, rel=4 * np.sqrt(2 / fitted.df[0] / draws))
    spread = np.sqrt(np.diag(fitted.unit[0]) * mean)
    np.testing.assert_allclose((beta.mean(axis=0) - fitted.beta[0]) / spread, 0, atol=4 / np.sqrt(draws))
    np.testing.assert_allclose(beta.std(axis=0) / spread, 1, atol=4 / np.sqrt(2 * draws))
    plain, same = fitted.times(2).parameters(proper=False, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(plain, np.repeat(fitted.beta, 2, axis=0))
    np.testing.assert_array_equal(same, np.sqrt(np.repeat(fitted.variance, 2)))


def test_a_mask_of_full_information_gives_the_original_back(data, monkeypatch):
    monkeypatch.setattr(designs, "MASK_SD", 1e-6)
    monkeypatch.setattr(designs, "MASK_SHIFT", 30.0)
    copies = designs.masked(data, np.random.default_rng(4), draws=2, copies=2)
    np.testing.assert_allclose(copies.y, np.repeat(data.y, 4, axis=0), atol=1e-4)
    np.testing.assert_array_equal(copies.d, np.repeat(data.d, 4, axis=0))


def test_a_mask_without_information_leaves_the_model(data, monkeypatch):
    monkeypatch.setattr(designs, "MASK_SD", 1e6)
    monkeypatch.setattr(designs, "MASK_SHIFT", 0.0)
    copies = designs.masked(data, np.random.default_rng(5), draws=2, copies=100)
    residual = data.y - np.einsum("cnp,cp->cn", data.design(), designs.fit(data).y.beta)
    drawn = copies.y - np.einsum("cnp,cp->cn", copies.design(), np.repeat(designs.fit(data).y.beta, 200, axis=0))
    # nothing of a record's own residual is in its copies
    share = (drawn.mean(axis=0) @ residual[0]) / (residual[0] @ residual[0])
    assert abs(share) < 4 / np.sqrt(200 * N)


@pytest.mark.parametrize("scheme", designs.SCHEMES, ids=lambda scheme: scheme.name)
def test_what_is_kept_is_kept(scheme, data):
    copies = scheme.make(data, np.random.default_rng(6))
    assert copies.y.shape[1] == scheme.ratio * N
    if scheme.name.startswith(("partial", "missing", "masked")):
        assert (copies.z == data.z).all()
    if scheme.name.startswith("missing data, m"):
        changed = (copies.y != data.y).mean()
        assert changed == pytest.approx(0.41, abs=0.12)
        assert (copies.x == data.x).all()
    if scheme.nests is not None:
        assert len(copies.y) % scheme.nests == 0
