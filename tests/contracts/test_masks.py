"""What every mask must be: a density in w, draws that follow it, evidence that is its log likelihood in x."""

import numpy as np
import pytest
from scipy import integrate, stats

from synthdp.config.settings import MASKS
from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.mask import AdditiveMask, Target
from synthdp.table.links import Link
from synthdp.table.schema import Column, Kind, Role

N = 40_000

NUMBER = Column(name="x", kind=Kind.CONTINUOUS, role=Role.REPLACE, key=True, bounds=(0, 100), bounds_public=True)
BINARY = Column(name="x", kind=Kind.BINARY, role=Role.REPLACE, key=True, levels=("no", "yes"))
CASES = [
    (Gaussian(sd=0.5), NUMBER),
    (Gaussian(scale=6.0, copies=4), NUMBER),
    (Gaussian(sd=0.4, graded=30), NUMBER),
    (ShiftedNormal(alpha=0), BINARY),
    (ShiftedNormal(alpha=1.5), BINARY),
    (Transition(keep=0.8), BINARY),
    (Transition(matrix=((0.9, 0.1), (0.4, 0.6))), BINARY),
]


def target(column: Column, n: int = N) -> Target:
    link = None if column.kind.categorical else Link(center=50.0, spread=12.0, bounds=column.bounds)
    return Target(column, link, np.full(n, 7))


def test_every_mask_is_covered():
    assert {type(mask) for mask, _ in CASES} == set(MASKS.values())


@pytest.mark.parametrize(("settings", "column"), CASES)
def test_density_integrates_to_one(settings, column):
    mask = settings.bind(target(column, 1))
    for x in (0.0, 1.0):
        if settings.method == "transition":
            total = sum(np.exp(mask.log_likelihood(np.array([w]), np.array([x]))[0]) for w in (0.0, 1.0))
        else:
            total, _ = integrate.quad(
                lambda w, x=x: np.exp(mask.log_likelihood(np.array([w]), np.array([x]))[0]), x - 25, x + 25, points=[x]
            )
        assert total == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(("settings", "column"), CASES)
def test_draws_follow_the_density(settings, column):
    mask = settings.bind(target(column))
    x = np.ones(N)
    w = mask.draw(x, rng=np.random.default_rng(1))
    if settings.method == "transition":
        expected = np.exp(mask.log_likelihood(np.array([1.0]), np.array([1.0]))[0])
        assert abs(w.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / N)
    else:
        grid = np.linspace(-30, 30, 60_001)
        one = settings.bind(target(column, 1))
        density = np.exp([one.log_likelihood(np.array([g]), np.array([1.0]))[0] for g in grid[::20]])
        cdf = integrate.cumulative_trapezoid(density, grid[::20], initial=0)
        assert stats.kstest(w, lambda q: np.interp(q, grid[::20], cdf)).pvalue > 1e-4


@pytest.mark.parametrize(("settings", "column"), CASES)
def test_evidence_is_the_log_likelihood_up_to_a_constant(settings, column):
    mask = settings.bind(target(column, 3))
    w = np.array([0.0, 1.0, 1.0])
    evidence = mask.evidence(w)
    levels = np.array([0.0, 1.0]) if column.kind.categorical else np.array([-1.0, 0.3, 2.0])
    likelihood = np.column_stack([mask.log_likelihood(w, np.full(3, x)) for x in levels])
    if isinstance(evidence, LevelEvidence):
        says = evidence.log_weights
    else:
        assert isinstance(evidence, GaussianEvidence)
        says = np.column_stack([evidence.linear * x - 0.5 * evidence.precision * x**2 for x in levels])
    difference = says - likelihood
    np.testing.assert_allclose(difference - difference[:, :1], 0, atol=1e-9)


@pytest.mark.parametrize(("settings", "column"), CASES)
def test_missing_w_says_nothing(settings, column):
    evidence = settings.bind(target(column, 2)).evidence(np.array([np.nan, 1.0]))
    if isinstance(evidence, LevelEvidence):
        assert (evidence.log_weights[0] == 0).all()
    else:
        assert evidence.precision[0] == 0
        assert evidence.linear[0] == 0


@pytest.mark.parametrize(("settings", "column"), CASES)
def test_additive_masks_are_their_shift_plus_noise(settings, column):
    mask = settings.bind(target(column))
    if not isinstance(mask, AdditiveMask):
        return
    x = np.ones(N)
    w = mask.draw(x, rng=np.random.default_rng(2))
    standard = (w - mask.shift(x)) / mask.noise_sd(N)
    assert abs(standard.mean()) < 4 / np.sqrt(N)
    assert abs(standard.var() - 1) < 4 * np.sqrt(2 / N)


@pytest.mark.parametrize(("settings", "column"), CASES)
def test_a_mask_refuses_the_other_kind_of_column(settings, column):
    other = NUMBER if column is BINARY else BINARY
    assert settings.suits(column) is None
    assert str(other.kind) in settings.suits(other)


def test_noise_grows_where_neighbours_are_few():
    mask = Gaussian(sd=0.4, graded=30).bind(Target(NUMBER, Link(0, 1), np.array([30, 1, 0])))
    np.testing.assert_allclose(mask.sd, [0.4, 0.4 * np.sqrt(30), 0.4 * np.sqrt(30)])


def test_noise_stops_growing_at_the_fewest_neighbours_that_count():
    mask = Gaussian(sd=0.4, graded=30, fewest=8).bind(Target(NUMBER, Link(0, 1), np.array([30, 8, 7, 1])))
    np.testing.assert_allclose(mask.sd, 0.4 * np.sqrt([1, 30 / 8, 30 / 8, 30 / 8]))


def test_copies_divide_the_variance():
    one, many = (Gaussian(sd=1, copies=k).bind(target(NUMBER, 1)) for k in (1, 20))
    assert many.sd[0] == pytest.approx(one.sd[0] / np.sqrt(20))
