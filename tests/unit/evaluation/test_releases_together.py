"""Several releases attacked together: each by its own scatter, against plain sums over all true values."""

import numpy as np
import pandas as pd
import pytest

from synthdp.evaluation.comparison import Comparison, Origin
from synthdp.evaluation.risk.likelihood import evaluate_likelihood
from synthdp.evaluation.risk.releases import level_marginal_of, number_marginal, shown_by_release, spread_out
from synthdp.evaluation.risk.scatter import FOLDS, numeric_law, transition
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable

N = 400


def test_the_marginal_of_numbers_is_the_integral_over_true_values() -> None:
    draw = np.random.default_rng(1)
    x, folds = draw.normal(0, 10, N), np.arange(N) % FOLDS
    sharp, wide = x + draw.normal(0, 1, (1, N)), x + draw.normal(0, 6, (3, N))
    sharp[:, 200:] = np.nan
    laws = [spread_out(numeric_law(x, y, folds), x) for y in (wide, sharp)]
    found = number_marginal(x, [wide, sharp], laws)
    # the same on a fine grid of true values, with the same histogram of them
    counts, edges = np.histogram(x, bins=20)
    grid = np.linspace(edges[0] - 5, edges[-1] + 5, 20_001)
    place = np.clip(np.searchsorted(edges, grid, side="right") - 1, 0, 19)
    prior = ((counts + 0.5) / (N + 10) / np.diff(edges))[place]
    rows = np.arange(0, N, 40)
    expected = []
    for i in rows:
        said = np.zeros(len(grid))
        for law, y in zip(laws, (wide, sharp), strict=True):
            for value in y[np.isfinite(y[:, i]), i]:
                said += law.log_density.mean(axis=0)[law.bins(value - law.intercept - law.slope * grid)]
        expected.append(np.log(np.sum(prior * np.exp(said)) * (grid[1] - grid[0])))
    # 128 nodes of quadrature against 20,001
    np.testing.assert_allclose(found[rows], expected, atol=0.2)


def test_the_marginal_of_levels_is_the_sum_over_true_levels() -> None:
    draw = np.random.default_rng(2)
    true, folds = draw.integers(0, 3, N), np.arange(N) % FOLDS
    shown = [np.where(draw.random((2, N)) < keep, true, draw.integers(0, 3, (2, N))) for keep in (0.9, 0.3)]
    shown[0][:, :100] = 3  # no row in the first release
    tables = [
        transition(true, y, folds, int(y.max()) + 1) if y.max() > 2 else transition(true, y, folds, 3) for y in shown
    ]
    found = level_marginal_of(true, shown, tables)
    prior = (np.bincount(true) + 0.5) / (N + 1.5)
    for i in (0, 99, 100, 250):
        terms = [
            prior[level] * np.exp(sum(t.mean(axis=0)[level][y[:, i]].sum() for t, y in zip(tables, shown, strict=True)))
            for level in range(3)
        ]
        assert found[i] == pytest.approx(np.log(sum(terms)), abs=1e-12)


def test_each_release_speaks_for_the_records_and_columns_it_holds() -> None:
    frame = pd.DataFrame({"x": np.zeros(4)})
    data = resolve(pd.DataFrame({"x": np.arange(4.0)}), {"x": Variable(role="replace", key=True)})
    covers = np.array([True, False, True, False])
    origins = (Origin(1, covers), Origin(2, None, frozenset({"other"})), Origin(1))
    files = Comparison(data.frame, (frame,) * 4, data.schema, aligned=True, origins=origins)
    first, last = shown_by_release(files, "x", np.arange(16.0).reshape(4, 4))
    np.testing.assert_array_equal(first, [[0, np.nan, 2, np.nan]])
    np.testing.assert_array_equal(last, [[12, 13, 14, 15]])
    levels = shown_by_release(files, "x", np.array([[0, 1, 1, 0]] * 4))
    assert [one.tolist() for one in levels] == [[[0, 2, 1, 2]], [[0, 1, 1, 0]]]


def test_a_sharp_release_is_not_blurred_by_a_wide_one() -> None:
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"x": draw.normal(size=N), "s": draw.choice(list("ab"), N)})
    data = resolve(frame, {name: Variable(role="replace", key=True) for name in frame})
    wide = [frame.assign(x=draw.normal(size=N), s=draw.choice(list("ab"), N)) for _ in range(5)]
    some = np.arange(N) % 4 == 0
    before = wide[0].mask(pd.Series(some), frame)
    files = Comparison(data.frame, (before, *wide), data.schema, aligned=True)
    apart = Comparison(
        data.frame, (before, *wide), data.schema, aligned=True, origins=(Origin(1, some), Origin(len(wide)))
    )
    blurred, found = (evaluate_likelihood(one, rng=np.random.default_rng(1)).individual for one in (files, apart))
    assert found[some].mean() > 0.9
    assert found[~some].mean() < 0.02
    assert blurred[some].mean() < 0.5


def test_one_error_for_everybody_is_no_error() -> None:
    draw = np.random.default_rng(4)
    x = draw.normal(size=N)
    law = numeric_law(x, (x + 0.3)[None], np.arange(N) % FOLDS)
    assert law.width < 1e-6
    assert law.bins(np.array([0.3, 0.31])).tolist() == [1, 2]
