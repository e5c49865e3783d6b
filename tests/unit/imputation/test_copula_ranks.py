"""The copula's chain given ranks: against simulation, quadrature, and what monotone changes must not change."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate

from synthdp.imputation.copula.latent import Latent, Shape
from synthdp.imputation.copula.model import Copula
from synthdp.imputation.copula.ranks import Order, RankSampler, stretch
from synthdp.imputation.copula.trust import bulk_ess
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

SHAPE = Shape.of(2)


def latent_of(values: np.ndarray, constants: int = 0) -> Latent:
    n = len(values)
    lower = np.full(values.shape, -np.inf)
    codes, covariates = np.zeros((n, 0), dtype=np.int64), np.ones((n, constants))
    return Latent(SHAPE, lower, -lower, codes, covariates, np.ones((constants, 2)))


def ordered_start(values: np.ndarray, sampler: RankSampler) -> None:
    """Put the latents into the order of the values."""
    for j in range(values.shape[1]):
        known = values[:, j] >= 0
        sampler.state.y[known, j] = (values[known, j] - values[:, j].mean()) / 2


def drawn(values: np.ndarray, constants: int, draws: int, seed: int) -> np.ndarray:
    orders = tuple(Order.of(j, values[:, j]) for j in range(values.shape[1]))
    sampler = RankSampler(latent_of(values, constants), orders, rng=np.random.default_rng(seed))
    ordered_start(values, sampler)
    sampler.run(1, every=200)
    return sampler.run(draws, every=5).r[:, 0, 1]


@pytest.mark.parametrize(
    ("values", "constants"),
    [
        (np.array([[0, 1], [1, 0], [2, 2], [3, 3]]), 0),
        (np.array([[0, 0], [0, 1], [1, 1], [1, 2], [2, 2]]), 0),
        (np.array([[0, 1], [1, 0], [2, 2], [-1, 3], [3, -1]]), 0),
        (np.array([[0, 1], [1, 0], [2, 2], [-1, 3], [3, -1]]), 1),
    ],
    ids=["numbers", "ties", "missing", "missing, unknown locations"],
)
def test_the_posterior_is_that_of_simulated_records_with_the_same_order(values, constants):
    """The twin: correlations from the uniform prior, kept when simulated latents are ordered as the values are.

    Ranks say nothing of locations and scales: given ranks, R has the prior of an inverse Wishart (q + 1, I) matrix's
    correlations, with q = 2 the uniform one, and the twin needs neither Σ nor constants.
    """
    rng = np.random.default_rng(1)
    kept = []
    for _ in range(12):
        r = rng.uniform(-1, 1, 50_000)
        u = rng.standard_normal((50_000, len(values), 2))
        u[:, :, 1] = r[:, None] * u[:, :, 0] + np.sqrt(1 - r**2)[:, None] * u[:, :, 1]
        fits = np.ones(len(r), dtype=bool)
        for j in range(2):
            for a in range(len(values)):
                for b in range(len(values)):
                    if 0 <= values[a, j] < values[b, j]:
                        fits &= u[:, a, j] < u[:, b, j]
        kept.append(r[fits])
    expected = np.concatenate(kept)
    found = drawn(values, constants, 1000, seed=2)
    assert len(expected) > 500
    for power in (1, 2):
        error = np.sqrt(np.var(expected**power) / len(expected) + 4 * np.var(found**power) / len(found))
        assert abs(np.mean(found**power) - np.mean(expected**power)) < 4 * error


def test_bounds_are_the_neighbours():
    order = Order.of(0, np.array([2, 0, 1, -1, 1]))
    y = np.array([-1.0, 0.2, 0.4, 1.5])
    low, high = order.bounds(y)
    assert order.rows.tolist() == [1, 2, 4, 0]
    assert low.tolist() == [-np.inf, -1.0, -1.0, 0.4]
    assert high.tolist() == [0.2, 1.5, 1.5, np.inf]


def test_latents_keep_the_order_of_the_values():
    rng = np.random.default_rng(3)
    values = np.column_stack([rng.permutation(60), rng.integers(0, 4, 60)])
    orders = tuple(Order.of(j, values[:, j]) for j in range(2))
    sampler = RankSampler(latent_of(values), orders, rng=rng)
    ordered_start(values, sampler)
    sampler.run(20)
    y = sampler.state.y
    # in single precision neighbours may change places by a rounding error
    assert np.diff(y[np.argsort(values[:, 0]), 0]).min() > -1e-5
    for level in range(3):
        assert y[values[:, 1] == level, 1].max() < y[values[:, 1] == level + 1, 1].min() + 1e-5


def test_the_stretch_has_its_distribution():
    k, square, cross = 7, 9.0, 2.0

    def density(b: float) -> float:
        return b ** (k - 1) * np.exp(-0.5 * square * b**2 + cross * b)

    total = integrate.quad(density, 0, 20)[0]
    expected = [integrate.quad(lambda b, p=p: b**p * density(b), 0, 20)[0] / total for p in (1, 2)]
    rng, b, kept = np.random.default_rng(4), 1.0, []
    for _ in range(20_000):
        # from where the last step ended: y is b times what it was
        b *= stretch(k, square * b**2, cross * b, rng=rng)
        kept.append(b)
    kept = np.asarray(kept[100:])
    for p, value in zip((1, 2), expected, strict=True):
        assert abs(np.mean(kept**p) - value) < 4 * np.std(kept**p) / np.sqrt(len(kept) / 4)


def numbers(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    z = rng.normal(size=n)
    x = 0.8 * z + 0.6 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": np.where(rng.random(n) < 0.1, np.nan, z)})


def fitted(frame: pd.DataFrame, *, least_ess: float = 200, **settings):
    data = resolve(frame, {"x": Variable(role="replace")})
    plan = Plan(data, tag(data, None), {"x": Gaussian(sd=0.5)})
    model = Copula(least_ess=least_ess, **settings)
    return model.fit(prepare(plan, model, 5)[0], rng=np.random.default_rng(7)).r[:, 0], plan, model


def test_plugged_in_margins_are_no_surer_of_a_strong_correlation_than_ranks():
    """Location and scale are learnt either way; were they taken as known, the ratio of sds would be √(1 + ρ²)."""
    plain = fitted(numbers(), margins="empirical", least_ess=5000)[0]
    ranked = fitted(numbers(), margins="rank", least_ess=600)[0]
    assert abs(plain.mean() - ranked.mean()) < 4 * np.sqrt(plain.var() / 5000 + ranked.var() / 600) + 0.01
    errors = []
    for drawn in (plain, ranked):
        squares = (drawn - drawn.mean()) ** 2
        # two chains; overrelaxed draws are farther apart than independent ones, their squares are not
        size = bulk_ess(squares.reshape(2, -1, 1))[0]
        errors.append(squares.std() / (2 * squares.mean() * np.sqrt(size)))
    error = 4 * float(np.hypot(*errors))
    assert abs(np.log(ranked.std() / plain.std())) < error
    assert error < np.log(np.sqrt(1 + plain.mean() ** 2))


def test_monotone_changes_of_a_column_change_nothing():
    frame = numbers()
    bent = frame.assign(z=np.exp(frame["z"]))
    first, second = (fitted(each, margins="rank")[0] for each in (frame, bent))
    assert abs(first.mean() - second.mean()) < 4 * np.sqrt(first.var() / 200 + second.var() / 200)


def test_columns_with_a_family_keep_it_and_copies_are_drawn():
    _, plan, model = fitted(numbers(), margins="rank", families={"z": "normal"})
    release = DaMi(model=model, copies=1).synthesize(plan, streams=Streams(1))
    assert release.copies[0]["x"].notna().all()
