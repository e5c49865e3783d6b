"""What every mask must be: a density in w, draws that follow it, evidence that is its log likelihood in x."""

import numpy as np
from scipy import integrate, stats

from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.masking.mask import AdditiveMask, Mask, MaskSettings, Target
from synthdp.table.links import Link
from synthdp.table.microdata import Floats
from synthdp.table.schema import Column, Kind, Role

NUMBER = Column(name="x", kind=Kind.CONTINUOUS, role=Role.REPLACE, key=True, bounds=(0, 100), bounds_public=True)
BINARY = Column(name="x", kind=Kind.BINARY, role=Role.REPLACE, key=True, levels=("no", "yes"))
N = 40_000


def target(column: Column, n: int = N) -> Target:
    """Return a column with seven neighbours for every record."""
    link = None if column.kind.categorical else Link(center=50.0, spread=12.0, bounds=column.bounds)
    return Target(column, link, np.full(n, 7))


def density_integrates_to_one(settings: MaskSettings, column: Column) -> None:
    """Check that p(w | x) is a density in w, or probabilities of levels."""
    mask = settings.bind(target(column, 1))
    for x in (0.0, 1.0):
        if _discrete(settings, column):
            total = sum(_density(mask, float(w), x) for w in range(len(column.levels)))
        else:
            total, _ = integrate.quad(lambda w, x=x: _density(mask, w, x), x - 50, x + 50, points=[x], limit=200)
        np.testing.assert_allclose(total, 1, atol=1e-8)


def draws_follow_the_density(settings: MaskSettings, column: Column) -> None:
    """Check draws against the density; by chance it fails once in ten thousand, and always with the same verdict."""
    x = np.ones(N)
    w = settings.bind(target(column)).draw(x, rng=np.random.default_rng(1))
    one = settings.bind(target(column, 1))
    if _discrete(settings, column):
        expected = _density(one, 1.0, 1.0)
        assert abs(w.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / N)
        return
    grid = np.linspace(-50, 50, 5001)
    cdf = integrate.cumulative_trapezoid([_density(one, g, 1.0) for g in grid], grid, initial=0)
    assert stats.kstest(w, lambda q: np.interp(q, grid, cdf)).pvalue > 1e-4


def evidence_is_the_log_likelihood(settings: MaskSettings, column: Column) -> None:
    """Check that evidence and log likelihood differ, as functions of x, by a constant."""
    mask = settings.bind(target(column, 3))
    w = np.array([0.0, 1.0, 1.0])
    evidence = mask.evidence(w)
    at = np.arange(float(len(column.levels))) if column.kind.categorical else np.array([-1.0, 0.3, 2.0])
    likelihood = np.column_stack([mask.log_likelihood(w, np.full(3, x)) for x in at])
    if isinstance(evidence, LevelEvidence):
        says = evidence.log_weights
    else:
        assert isinstance(evidence, GaussianEvidence), "evidence about numbers is Gaussian, about levels LevelEvidence"
        says = np.column_stack([evidence.linear * x - 0.5 * evidence.precision * x**2 for x in at])
    difference = says - likelihood
    np.testing.assert_allclose(difference - difference[:, :1], 0, atol=1e-9)


def missing_w_says_nothing(settings: MaskSettings, column: Column) -> None:
    """Check that evidence is flat where x was missing."""
    evidence = settings.bind(target(column, 2)).evidence(np.array([np.nan, 1.0]))
    if isinstance(evidence, LevelEvidence):
        assert (evidence.log_weights[0] == 0).all()
    else:
        assert isinstance(evidence, GaussianEvidence)
        assert evidence.precision[0] == evidence.linear[0] == 0


def additive_is_shift_plus_noise(settings: MaskSettings, column: Column) -> None:
    """Check W = shift(x) + noise_sd · u of masks that say so."""
    mask = settings.bind(target(column))
    if not isinstance(mask, AdditiveMask):
        return
    x: Floats = np.ones(N)
    w = settings.bind(target(column)).draw(x, rng=np.random.default_rng(2))
    standard = (w - mask.shift(x)) / mask.noise_sd(N)
    assert abs(standard.mean()) < 4 / np.sqrt(N)
    assert abs(standard.var() - 1) < 4 * np.sqrt(2 / N)


def refuses_the_other_kind(settings: MaskSettings, column: Column) -> None:
    """Check that a mask of numbers does not take levels, nor the other way round, and that the sentence says why."""
    other = NUMBER if column.kind.categorical else BINARY
    assert settings.suits(column) is None
    assert str(other.kind) in (settings.suits(other) or "")


def wider_tells_less(settings: MaskSettings, column: Column) -> None:
    """Check that a wider mask of the same kind can be had; one that tells nothing stays as it is."""
    wide = settings.wider(2.0, max(len(column.levels), 2))
    assert type(wide) is type(settings)
    assert _told(wide, column) <= _told(settings, column) + 1e-12


def _told(settings: MaskSettings, column: Column) -> float:
    """Return how far apart two values of x are in the log likelihood, on average over W."""
    mask, n = settings.bind(target(column, 2000)), 2000
    w = mask.draw(np.ones(n), rng=np.random.default_rng(3))
    with np.errstate(invalid="ignore"):
        return float(np.nanmean(mask.log_likelihood(w, np.ones(n)) - mask.log_likelihood(w, np.zeros(n))))


def _density(mask: Mask, w: float, x: float) -> float:
    return float(np.exp(mask.log_likelihood(np.array([w]), np.array([x]))[0]))


def _discrete(settings: MaskSettings, column: Column) -> bool:
    """Return whether W takes the levels of the column."""
    if not column.kind.categorical:
        return False
    w = settings.bind(target(column, 200)).draw(np.ones(200), rng=np.random.default_rng(4))
    return bool(np.isin(w, np.arange(len(column.levels))).all())


MASK = (
    density_integrates_to_one,
    draws_follow_the_density,
    evidence_is_the_log_likelihood,
    missing_w_says_nothing,
    additive_is_shift_plus_noise,
    refuses_the_other_kind,
    wider_tells_less,
)
