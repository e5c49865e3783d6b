"""Junction trees against the whole table, fits against brute force, and the weighted mean of two looks."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import nnls

from synthdp.synthesis.private.fitting import Fit, Noisy, nearest
from synthdp.synthesis.private.junction import Junction, blocks_of, cells_of, pairs, table_of

SIZES = (2, 3, 4, 2, 3)
MODELS = [
    [(0, 1), (1, 2), (2, 3), (3, 4)],
    [(0, 1), (2, 3)],
    [(0, 1, 2), (1, 2, 3), (3, 4), (0, 4)],
    [(0,), (1,), (2, 3, 4)],
    [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)],
    [(0, 1), (1, 2), (2, 3), (0, 3)],
    [(0, 4), (1, 4), (2, 4), (0,)],
]


def whole(tables, theta) -> np.ndarray:
    """Return the probability of every cell of the domain, one by one."""
    height = np.zeros(SIZES)
    for table, values in zip(tables, theta, strict=True):
        height = height + values.reshape([SIZES[v] if v in table else 1 for v in range(5)])
    weights = np.exp(height)
    return weights / weights.sum()


def margin(p, columns) -> np.ndarray:
    return p.sum(axis=tuple(v for v in range(p.ndim) if v not in columns))


def random_theta(tables, rng):
    return [rng.normal(0, 1.5, [SIZES[v] for v in table]) for table in tables]


@pytest.mark.parametrize("tables", MODELS)
def test_margins_by_brute_force(tables):
    theta = random_theta(tables, np.random.default_rng(1))
    model, p = Junction.of(SIZES, tables), whole(tables, theta)
    beliefs = model.beliefs(theta)
    for order in (1, 2, 3, 4):
        for columns in itertools.combinations(range(5), order):
            np.testing.assert_allclose(model.margin(beliefs, columns), margin(p, columns), atol=1e-12)
    for table, found in zip(tables, model.margins(beliefs), strict=True):
        np.testing.assert_allclose(found, margin(p, table), atol=1e-12)


@pytest.mark.parametrize("tables", MODELS)
def test_complex_step_is_the_covariance(tables):
    """Σu by enumeration: E[a (a·u)] − E[a] E[a·u], a the indicators of all tables' cells."""
    rng = np.random.default_rng(2)
    theta, toward = random_theta(tables, rng), random_theta(tables, rng)
    model, p = Junction.of(SIZES, tables), whole(tables, theta)
    pushed = model.margins(model.beliefs([a + 1e-20j * b for a, b in zip(theta, toward, strict=True)]))
    pull = sum(
        b.reshape([SIZES[v] if v in table else 1 for v in range(5)]) for table, b in zip(tables, toward, strict=True)
    )
    for table, found in zip(tables, pushed, strict=True):
        expected = margin(p * pull, table) - margin(p, table) * (p * pull).sum()
        np.testing.assert_allclose(found.imag / 1e-20, expected, atol=1e-12)


@pytest.mark.parametrize("tables", MODELS)
def test_draws_follow_the_joint(tables):
    theta = random_theta(tables, np.random.default_rng(3))
    model, p, n = Junction.of(SIZES, tables), whole(tables, theta).ravel(), 40_000
    drawn = model.draw(model.beliefs(theta), n, rng=np.random.default_rng(4))
    seen = np.bincount(np.ravel_multi_index(tuple(drawn.T), SIZES), minlength=len(p))
    common = n * p >= 5
    both = [np.append(x[common], x[~common].sum() + 1e-9) for x in (seen, n * p)]
    assert stats.chisquare(both[0], both[1] * both[0].sum() / both[1].sum()).pvalue > 1e-4


def test_cells_that_cannot_be_stay_empty():
    theta = [np.array([[0.0, -1e9], [0.0, 0.0]]), np.zeros((2, 2))]
    model = Junction.of((2, 2, 2), [(0, 1), (1, 2)])
    beliefs = model.beliefs(theta)
    assert model.margin(beliefs, (0, 1))[0, 1] == 0
    drawn = model.draw(beliefs, 1000, rng=np.random.default_rng(1))
    assert not ((drawn[:, 0] == 0) & (drawn[:, 1] == 1)).any()


def test_sizes_are_exact_and_small_for_trees():
    sizes = (100,) * 30
    tree = [(v, v + 1) for v in range(29)]
    assert cells_of(sizes, blocks_of(sizes, tree)) == 29 * 100**2
    assert cells_of(sizes, blocks_of(sizes, pairs(30))) == 100**30
    assert pairs(3) == ((0, 1), (0, 2), (1, 2))
    assert pairs(2, 3) == ((0, 1),)


def test_many_columns_have_enough_letters():
    tables = [(v, v + 1) for v in range(69)]
    model = Junction.of((2,) * 70, tables)
    beliefs = model.beliefs([np.eye(2) * 50 for _ in tables])
    np.testing.assert_allclose(model.margin(beliefs, (0, 69)), np.eye(2) / 2, atol=1e-9)


class TestFit:
    def noisy(self, tables, sd, seed=1, n=400) -> Noisy:
        rng = np.random.default_rng(seed)
        cells = np.column_stack([rng.integers(0, size, n) for size in SIZES])
        cells[:, 1] = np.where(rng.random(n) < 0.6, cells[:, 0], cells[:, 1])
        found = Noisy(SIZES, {}, n)
        for table in tables:
            counts = table_of(cells, table, SIZES)
            found = found.joined(table, counts + rng.normal(0, sd, counts.shape), sd**2)
        return found

    @pytest.mark.parametrize("tables", MODELS)
    def test_nearest_by_brute_force(self, tables):
        """Non-negative least squares over all joint tables with the right total."""
        given = self.noisy(tables, 8.0)
        cells = np.array(list(itertools.product(*map(range, SIZES))))
        rows = np.vstack([
            (cells[:, list(table)] == place).all(axis=1) / 8.0
            for table in tables
            for place in itertools.product(*(range(SIZES[v]) for v in table))
        ])  # fmt: skip
        heavy = 1e4
        best, _ = nnls(
            np.vstack([rows, heavy * np.ones(len(cells))]), np.append(given.flat() / 8, heavy * 400), maxiter=20_000
        )
        aim = ((rows @ best - given.flat() / 8) ** 2).sum()
        fit = nearest(given, turns=4000)
        gaps = [400 * mu - counts for mu, (counts, _) in zip(fit.margins(), given.tables.values(), strict=True)]
        assert sum((gap**2).sum() for gap in gaps) / 64 < aim * 1.01 + 0.05

    def test_starts_where_it_was(self):
        given = self.noisy(MODELS[0], 3.0)
        first = nearest(given, turns=2000)
        again = nearest(given, start=dict(zip(first.model.tables, first.theta, strict=True)), turns=1)
        for one, two in zip(first.margins(), again.margins(), strict=True):
            np.testing.assert_allclose(one, two, atol=1e-3)

    def test_stops_where_no_step_helps(self):
        exact = Noisy((2,), {(0,): (np.array([5.0, 5.0]), 1.0)}, 10)
        np.testing.assert_allclose(nearest(exact).margins()[0], [0.5, 0.5])
        assert isinstance(nearest(exact, turns=0), Fit)

    def test_two_looks_are_one(self):
        one = Noisy((2,), {}, 10).joined((0,), np.array([4.0, 6.0]), 1.0).joined((0,), np.array([7.0, 3.0]), 2.0)
        counts, variance = one.tables[(0,)]
        np.testing.assert_allclose(counts, [5.0, 5.0])
        assert variance == pytest.approx(2 / 3)
        assert one.cells == 2
