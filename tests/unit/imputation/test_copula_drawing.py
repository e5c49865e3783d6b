"""Draws of replaced columns given the masks: against quadrature, and ranks of the truth."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.imputation.copula.coding import Coding
from synthdp.imputation.copula.drawing import CopulaParameters, Walk
from synthdp.imputation.copula.margins import HEAP, LevelMargin, NumberMargin
from synthdp.imputation.copula.model import Copula
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sampler import prepare
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

N = 3000


def frame(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    z = rng.normal(size=n)
    income = np.where(rng.random(n) < 0.3, 0.0, np.exp(rng.normal(size=n)))
    return pd.DataFrame(
        {
            "z": z,
            "b": rng.integers(0, 2, n),
            "income": np.where(rng.random(n) < 0.1, np.round(income), income),
            "count": rng.poisson(1.5, n),
            "sex": rng.choice(["f", "m"], n, p=[0.4, 0.6]),
            "edu": rng.choice([1, 2, 3, 4], n, p=[0.1, 0.4, 0.3, 0.2]),
            "region": rng.choice(list("abcd"), n),
        }
    )


def coding_of(n: int) -> tuple[Coding, dict]:
    data = resolve(
        frame(n),
        {
            "income": Variable(kind="semicontinuous", role="replace", bounds=(0, 500)),
            "count": Variable(kind="count", role="replace"),
            "sex": Variable(role="replace"),
            "edu": Variable(kind="ordinal", role="replace"),
            "region": Variable(kind="nominal", role="replace"),
        },
    )
    task, _ = prepare(Plan(data, tag(data, Neighbours(k=5)), {}, {}), Copula(), 20)
    return Coding.of(task, (), 1.0), task.links


def relations(coding: Coding) -> np.ndarray:
    r = np.full((coding.shape().width,) * 2, 0.35)
    np.fill_diagonal(r, 1.0)
    fixed = coding.shape().fixed()
    return np.where(fixed, coding.shape().start(), r)


def value_of(coding: Coding, curves: list, number: int, y: np.ndarray) -> np.ndarray:
    """Return a column's values from latents n × q."""
    item, curve = coding.items[number], curves[number]
    if curve is not None:
        return curve.value(y[:, item.first])
    utilities = np.column_stack([np.zeros(len(y)), y[:, item.first : item.first + item.width]])
    return item.order[utilities.argmax(axis=1)].astype(float)


class TestMargins:
    def test_heaps_are_points_and_single_values_are_spread_between_their_neighbours(self):
        x = np.array([0.0] * 6 + [1.0, 2.0, 4.0, np.nan])
        curve = NumberMargin.of(x, (0.0, 4.5)).at(np.ones(10))
        low, high = curve.bounds()
        assert (low[0], high[0]) == (-np.inf, pytest.approx(stats.norm.ppf(6 / 9)))
        assert low[6] == high[6]
        assert (low[9], high[9]) == (-np.inf, np.inf)
        assert curve.value(np.array([stats.norm.ppf(0.3)])) == pytest.approx(0.0)
        assert curve.value(low[6:9]) == pytest.approx([1.0, 2.0, 4.0])
        assert curve.value(np.array([8.0])) == pytest.approx(4.5)

    def test_there_and_back(self):
        x = np.random.default_rng(2).gamma(2, size=400)
        margin = NumberMargin.of(x)
        for weights in (np.ones(400), np.random.default_rng(3).standard_exponential(400)):
            curve = margin.at(weights)
            low, _ = curve.bounds()
            np.testing.assert_allclose(curve.value(low), x, rtol=1e-6)
            np.testing.assert_allclose(curve.latent(x), low, rtol=1e-6, atol=1e-9)

    def test_no_extreme_is_released(self):
        x = np.random.default_rng(4).normal(size=200)
        curve = NumberMargin.of(x).at(np.ones(200))
        drawn = curve.value(np.random.default_rng(5).normal(size=5000))
        assert not np.isin(x, drawn).any()
        assert drawn.max() > x.max()

    def test_levels_that_nobody_has_get_nothing(self):
        curve = LevelMargin(*[np.array([1, 1, 2, -1, 2])] * 2, 4).at(np.ones(5))
        np.testing.assert_allclose(curve.cuts, [-np.inf, -np.inf, 0.0, np.inf, np.inf])


def test_one_number_with_a_point_mass_against_quadrature():
    coding, _ = coding_of(N)
    q = coding.shape().width
    parameters = CopulaParameters(coding, coding.shape().start(), np.zeros((1, q)), np.ones(N), sweeps=12)
    curves = coding.curves(np.ones(N))
    w, precision = 0.2, 4.0
    flat = {
        "income": GaussianEvidence.at(np.full(N, w), np.full(N, precision)),
        "count": GaussianEvidence.flat(N),
        "sex": LevelEvidence.flat(N, 2),
        "edu": LevelEvidence.flat(N, 4),
        "region": LevelEvidence.flat(N, 4),
    }
    drawn = parameters.draw(flat, rng=np.random.default_rng(6))["income"]
    y = np.linspace(-7, 7, 200_001)
    curve = curves[2]
    t = curve.value(y)
    density = stats.norm.pdf(y) * np.exp(-precision * (t - w) ** 2 / 2)
    density /= density.sum()
    mean = (density * t).sum()
    sd = np.sqrt((density * (t - mean) ** 2).sum())
    assert drawn.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(N))
    mass = density[t == t.min()].sum()
    assert 0.02 < mass < 0.98
    assert (drawn == t.min()).mean() == pytest.approx(mass, abs=4 * np.sqrt(mass * (1 - mass) / N))


def test_no_rare_value_and_no_extreme_is_drawn_but_heaps_are():
    coding, links = coding_of(N)
    q = coding.shape().width
    rng = np.random.default_rng(12)
    margin = coding.items[2].margin
    heaped = margin.counts >= HEAP
    assert heaped.any()
    assert not heaped[-1]
    at = margin.values[margin.rows] + 0.01 * rng.standard_normal(N)
    # so strong evidence that most draws come back to where they were, and the extremes' own records to the extremes
    evidence = {
        "income": GaussianEvidence.at(at, np.full(N, 1e4)),
        "count": GaussianEvidence.flat(N),
        "sex": LevelEvidence.flat(N, 2),
        "edu": LevelEvidence.flat(N, 4),
        "region": LevelEvidence.flat(N, 4),
    }
    for seed in range(5):
        weights = rng.standard_exponential(N)
        parameters = CopulaParameters(coding, coding.shape().start(), np.zeros((1, q)), weights, sweeps=5)
        drawn = parameters.draw(evidence, rng=np.random.default_rng(seed))["income"]
        assert not np.isin(margin.values[~heaped], drawn).any()
        for value in margin.values[heaped]:
            assert (drawn == value).any()
        released = links["income"].inverse(drawn)
        assert released.min() >= 0
        assert released.max() <= 500


@pytest.mark.slow
def test_the_truth_ranks_uniformly_among_draws_of_every_kind():
    rng = np.random.default_rng(7)
    coding, _ = coding_of(N)
    r = relations(coding)
    q = len(r)
    gamma = np.zeros((1, q))
    gamma[0, 6:] = (0.2, -0.3, 0.1)
    parameters = CopulaParameters(coding, r, gamma, np.ones(N), sweeps=25)
    curves = coding.curves(np.ones(N))
    # latents of the first column are those of its records; all others are drawn given them
    known, _ = curves[0].bounds()
    slope = r[0, 1:]
    root = np.linalg.cholesky(r[1:, 1:] - np.outer(slope, slope))
    y = np.column_stack([known, known[:, None] * slope + gamma[:, 1:] + rng.standard_normal((N, q - 1)) @ root.T])
    values = [value_of(coding, curves, number, y) for number in range(7)]
    curves[1] = replace(curves[1], rows=values[1].astype(int))
    masked = {}
    for number in (2, 3):
        name = coding.items[number].column.name
        masked[name] = GaussianEvidence.at(values[number] + 0.5 * rng.standard_normal(N), np.full(N, 4.0))
    for number, levels in ((4, 2), (5, 4), (6, 4)):
        keep = np.full((levels, levels), 0.4 / (levels - 1)) + (0.6 - 0.4 / (levels - 1)) * np.eye(levels)
        w = np.array([rng.choice(levels, p=keep[int(x)]) for x in values[number]])
        masked[coding.items[number].column.name] = LevelEvidence(np.log(keep[:, w].T))
    walk = Walk(parameters, curves, masked)
    chains = [walk.run(rng=rng)[0] for _ in range(9)]
    for number in range(2, 7):
        name, true = coding.items[number].column.name, values[number]
        below = sum((chain[name] < true).astype(int) for chain in chains)
        ties = sum((chain[name] == true).astype(int) for chain in chains)
        rank = below + rng.integers(0, ties + 1)
        assert stats.chisquare(np.bincount(rank, minlength=10)).pvalue > 0.001, name
    # joint: what two columns have to do with each other in the draws is what it is in the truth
    for a, b in ((2, 5), (3, 4), (4, 6)):
        names = [coding.items[k].column.name for k in (a, b)]
        true = np.corrcoef(values[a], values[b])[0, 1]
        found = [np.corrcoef(chain[names[0]], chain[names[1]])[0, 1] for chain in chains]
        assert np.mean(found) == pytest.approx(true, abs=4 * np.sqrt(2 / N))


def test_the_wrong_kind_of_evidence_is_refused():
    coding, _ = coding_of(200)
    q = coding.shape().width
    parameters = CopulaParameters(coding, coding.shape().start(), np.zeros((1, q)), np.ones(200), sweeps=1)
    right = {"income": GaussianEvidence.flat(200), "count": GaussianEvidence.flat(200)}
    right |= {
        "sex": LevelEvidence.flat(200, 2),
        "edu": LevelEvidence.flat(200, 4),
        "region": LevelEvidence.flat(200, 4),
    }
    for name, wrong in (
        ("income", LevelEvidence.flat(200, 2)),
        ("edu", GaussianEvidence.flat(200)),
        ("region", GaussianEvidence.flat(200)),
    ):
        with pytest.raises(TypeError, match="cannot be taken for each other"):
            parameters.draw({**right, name: wrong}, rng=np.random.default_rng(1))
