"""Latents that covariates move: margins read through their mixture keep the column's distribution."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import ndtr, ndtri

from synthdp.imputation.copula.coding import Coding, Item
from synthdp.imputation.copula.drawing import CopulaParameters
from synthdp.imputation.copula.latent import Mixture, first_shift
from synthdp.imputation.copula.margins import LevelMargin, NumberMargin
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.table.schema import Column, Kind, Role

NOTHING = np.zeros(0, dtype=np.int64)


@pytest.mark.parametrize("shift", [np.zeros(7), np.array([-2.0, 2.0, 2.0]), np.linspace(0, 5, 400) ** 2 / 5])
def test_latents_are_where_the_mixture_has_their_probability(shift):
    found = Mixture.of(shift)
    for z in (-6.0, -2.3, -0.4, 0.0, 1.1, 3.0, 6.0):

        def gap(y, z=z):
            return ndtr(y - shift).mean() - ndtr(z) if z < 0 else ndtr(-z) - ndtr(shift - y).mean()

        expected = optimize.brentq(gap, shift.min() - 9, shift.max() + 9)
        # many shifts are put into bins, 0.01 wide here
        assert found.latents(np.array([z]))[0] == pytest.approx(expected, abs=2e-3)
    assert np.isinf(found.latents(np.array([-np.inf, np.inf]))).all()
    if not shift.any():
        z = np.linspace(-7, 7, 50)
        np.testing.assert_allclose(found.latents(z), z, atol=1e-6)


def test_a_first_look_finds_the_shifts():
    rng = np.random.default_rng(1)
    moved = rng.integers(0, 2, (20_000, 1)) - 0.5
    y = 3 * moved[:, 0] + rng.standard_normal(len(moved))
    scores = ndtri((stats.rankdata(y) - 0.5) / len(y))
    known = rng.random(len(y)) < 0.8
    found = first_shift(np.where(known, scores, 0.0), known, moved)
    np.testing.assert_allclose(found, 3 * moved[:, 0], rtol=0.05)
    # nothing but covariates: the share they may have is bounded
    assert np.mean(first_shift(moved[:, 0], known, moved) ** 2) < 5


def test_copies_keep_their_margins_where_groups_lie_far_apart():
    rng = np.random.default_rng(2)
    n = 60_000
    group = (rng.random(n) < 0.1).astype(float)
    x = np.exp(0.5 * rng.standard_normal(n) + group)
    codes = (rng.random(n) < 0.03 + 0.2 * group).astype(np.int64)
    covariates = np.column_stack([np.ones(n), group - group.mean()])
    gamma = np.array([[0.0, 0.0], [2.5, 1.5]])
    columns = [
        Column(name="x", kind=Kind.CONTINUOUS, role=Role.REPLACE, levels=(), key=False),
        Column(name="b", kind=Kind.BINARY, role=Role.REPLACE, levels=(0, 1), key=False),
    ]
    margins = [NumberMargin.of(x), LevelMargin(codes, codes, 2)]
    items = [
        Item(columns[k], k, 1, margins[k], NOTHING, NOTHING, mixture=Mixture.of(covariates @ gamma[:, k]))
        for k in (0, 1)
    ]
    scale = np.sqrt(1 + np.mean((covariates @ gamma) ** 2, axis=0))
    coding = Coding(tuple(items), covariates, np.ones((2, 2)), scale, ())
    about = {"x": GaussianEvidence.at(np.zeros(n), np.zeros(n)), "b": LevelEvidence(np.zeros((n, 2)))}
    r = np.array([[1.0, 0.4], [0.4, 1.0]])
    drawn = CopulaParameters(coding, r, gamma, np.ones(n), 5).draw(about, rng=rng)
    assert stats.ks_2samp(drawn["x"], x).pvalue > 0.001
    assert drawn["b"].mean() == pytest.approx(codes.mean(), abs=4 * np.sqrt(2 * 0.05 / n))
    # one normal of the same sd does not
    plain = replace(coding, items=tuple(replace(item, mixture=None) for item in items))
    assert stats.ks_2samp(CopulaParameters(plain, r, gamma, np.ones(n), 5).draw(about, rng=rng)["x"], x).pvalue < 1e-9
