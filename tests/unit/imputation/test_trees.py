"""Binned trees against a plain recursive twin, scikit-learn, and every subset of the levels."""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from synthdp.imputation.trees import descending
from synthdp.imputation.trees.binning import MOST_LEVELS, Binned, Binning
from synthdp.imputation.trees.donors import Smoother, reflected
from synthdp.imputation.trees.tree import Growth, Tree


def binned(*columns, levels=()) -> Binned:
    """Bin columns; the last ones are levels without order, as many as ``levels`` says."""
    first = len(columns) - len(levels)
    binnings = [Binning.of_numbers(column) for column in columns[:first]]
    binnings += [Binning.of_levels(column, count) for column, count in zip(columns[first:], levels, strict=True)]
    names = tuple(f"c{j}" for j in range(len(columns)))
    codes = np.array([b.bins(c) for b, c in zip(binnings, columns, strict=True)]).reshape(len(columns), -1)
    return Binned(names, dict(zip(names, binnings, strict=True)), codes)


def impurity(y, w, classes) -> float:
    if classes > 2:
        return w.sum() - (np.bincount(y.astype(int), weights=w) ** 2).sum() / w.sum()
    return (w * (y - np.average(y, weights=w)) ** 2).sum()


def total(tree, codes, y, w, classes) -> float:
    leaves = tree.apply(codes)
    return sum(impurity(y[leaves == leaf], w[leaves == leaf], classes) for leaf in np.unique(leaves))


def cuts(codes, ordered, missing) -> Iterator[np.ndarray]:
    """Yield every way to split some codes in two."""
    present = np.unique(codes)
    if ordered:
        for threshold in present[present != missing]:
            for missing_left in (False, True):
                yield np.where(codes == missing, missing_left, codes <= threshold)
        return
    for subset in range(1, 2 ** (len(present) - 1)):
        yield np.isin(codes, present[[bool(subset >> j & 1) for j in range(len(present))]])


def twin(data: Binned, y, w, growth: Growth, classes=0) -> list[frozenset[int]]:
    """Return the leaves of a tree grown by trying everything."""
    ordered, missing = data.ordered(), data.missing()
    root = impurity(y, w, classes)
    leaves = []

    def split(rows, depth):
        best, sides = growth.complexity * root, None
        here = impurity(y[rows], w[rows], classes)
        if len(rows) >= 3 * growth.min_leaf and depth < growth.max_depth:
            for f, codes in enumerate(data.codes):
                for left in cuts(codes[rows], ordered[f], missing[f]):
                    if min(left.sum(), (~left).sum()) >= growth.min_leaf:
                        parts = [rows[left], rows[~left]]
                        gain = here - sum(impurity(y[part], w[part], classes) for part in parts)
                        if gain > best + 1e-9 * root:
                            best, sides = gain, parts
        if sides is None:
            leaves.append(frozenset(rows.tolist()))
            return
        for part in sides:
            split(part, depth + 1)

    split(np.arange(len(y)), 0)
    return leaves


def leaves_of(tree) -> list[frozenset[int]]:
    return [frozenset(part.tolist()) for part in np.split(tree.rows, tree.offsets[1:-1])]


class TestBinning:
    def test_few_values_have_a_bin_each(self):
        values = np.array([3.0, 1.0, np.nan, 2.0, 1.0])
        assert Binning.of_numbers(values).bins(values).tolist() == [2, 0, 3, 1, 0]

    def test_a_value_between_two_goes_to_the_nearer(self):
        assert Binning.of_numbers(np.array([1.0, 2.0])).bins(np.array([-9.0, 1.4, 1.6, 9.0])).tolist() == [0, 0, 1, 1]

    def test_many_values_share_bins_of_about_equal_size(self):
        values = np.random.default_rng(1).normal(size=20_000)
        found = Binning.of_numbers(values)
        sizes = np.bincount(found.bins(values))
        assert len(sizes) == 255
        assert found.missing == 255
        assert sizes.min() > 0.5 * sizes.max()

    def test_a_heap_has_a_bin_of_its_own(self):
        values = np.concatenate([np.zeros(5_000), np.random.default_rng(1).random(5_000)])
        codes = Binning.of_numbers(values).bins(values)
        assert set(codes[values == 0]) == {0}
        assert (codes[values > 0] > 0).mean() > 0.99

    def test_extremes(self):
        assert Binning.of_numbers(np.array([7.0, 7.0])).bins(np.array([7.0, np.nan])).tolist() == [0, 1]
        huge = np.array([-1.7e308, 1.7e308])
        assert Binning.of_numbers(huge).bins(huge).tolist() == [0, 1]

    def test_levels_and_their_gaps(self):
        assert Binning.of_levels(np.array([1.0, np.nan]), 3).bins(np.array([0, 2, np.nan])).tolist() == [0, 2, 3]

    def test_a_million_levels_share_the_last_code(self):
        positions = np.concatenate([np.arange(1_000_000.0), [999_999.0, 999_999.0]])
        found = Binning.of_levels(positions, 1_000_000)
        codes = found.bins(positions)
        assert found.missing == MOST_LEVELS + 1
        assert codes[-1] == 0
        assert codes.max() == MOST_LEVELS


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", [1, 3, 30])
def test_the_same_tree_as_the_twin(seed, depth):
    rng = np.random.default_rng(seed)
    n = 160
    number = np.where(rng.random(n) < 0.15, np.nan, rng.integers(0, 30, n))
    level = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 6, n))
    data = binned(number, rng.normal(size=n), level, levels=(6,))
    y = np.nan_to_num(number, nan=40) / 10 + np.isin(level, [1, 4]) + rng.normal(size=n)
    growth = Growth(min_leaf=5, max_depth=depth)
    plain = Tree.grow(data, data.names, y, growth=growth)
    assert set(leaves_of(plain)) == set(twin(data, y, np.ones(n), growth))
    w = rng.standard_exponential(n)
    weighted = Tree.grow(data, data.names, y, weights=w, growth=growth)
    assert set(leaves_of(weighted)) == set(twin(data, y, w, growth))


@pytest.mark.parametrize("seed", range(3))
def test_the_same_classes_as_the_twin(seed):
    rng = np.random.default_rng(seed)
    n = 300
    number = np.where(rng.random(n) < 0.15, np.nan, rng.normal(size=n))
    data = binned(number, rng.normal(size=n), rng.normal(size=n))
    y = np.clip(np.round(np.nan_to_num(number, nan=2) + rng.normal(size=n)), -1, 2) + 1
    w = rng.standard_exponential(n)
    growth = Growth(max_depth=4)
    tree = Tree.grow(data, data.names, y, classes=4, weights=w, growth=growth)
    assert set(leaves_of(tree)) == set(twin(data, y, w, growth, classes=4))


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_impurity_as_in_scikit_learn(depth):
    rng = np.random.default_rng(depth)
    n = 250  # at most 255 distinct values: binning is exact
    x = rng.normal(size=(n, 4))
    data = binned(*x.T)
    ones = np.ones(n)
    numeric = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * rng.normal(size=n)
    theirs = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=5, min_samples_split=15).fit(x, numeric)
    ours = Tree.grow(data, data.names, numeric, growth=Growth(max_depth=depth))
    at = theirs.apply(x)
    expected = sum(impurity(numeric[at == leaf], ones[at == leaf], 0) for leaf in np.unique(at))
    assert total(ours, data.codes, numeric, ones, 0) == pytest.approx(expected, rel=1e-9)
    labels = np.digitize(numeric, [-0.5, 0.5]).astype(float)
    theirs = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=5, min_samples_split=15).fit(x, labels)
    ours = Tree.grow(data, data.names, labels, classes=3, growth=Growth(max_depth=depth))
    at = theirs.apply(x)
    expected = sum(impurity(labels[at == leaf], ones[at == leaf], 3) for leaf in np.unique(at))
    # equal gains may be broken differently further down
    assert total(ours, data.codes, labels, ones, 3) == pytest.approx(expected, rel=1e-9 if depth == 1 else 0.05)


def best_split(levels, y, classes) -> float:
    ones = np.ones(len(y))
    found = [
        impurity(y[left], ones[left], classes) + impurity(y[~left], ones[~left], classes)
        for left in cuts(levels, False, -1)
        if min(left.sum(), (~left).sum()) >= 5
    ]
    return impurity(y, ones, classes) - min(found)


def gain(levels, count, y, classes) -> float:
    data = binned(levels, levels=(count,))
    tree = Tree.grow(data, data.names, y, classes=classes, growth=Growth(max_depth=1))
    ones = np.ones(len(y))
    return impurity(y, ones, classes) - total(tree, data.codes, y, ones, classes)


@pytest.mark.parametrize("seed", range(10))
def test_ordered_levels_are_the_best_of_all_subsets(seed):
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 9, 120).astype(float)
    effects = rng.normal(size=9)[levels.astype(int)]
    number = effects + rng.normal(size=120)
    assert gain(levels, 9, number, 0) == pytest.approx(best_split(levels, number, 0))
    binary = (number > 0).astype(float)
    assert gain(levels, 9, binary, 2) == pytest.approx(best_split(levels, binary, 2))


def test_the_principal_direction_is_near_the_best_of_all_subsets():
    rng = np.random.default_rng(1)
    ratios = []
    for _ in range(60):
        count, classes = 8, int(rng.integers(3, 7))
        levels = rng.integers(0, count, 200)
        shares = rng.dirichlet(np.full(classes, rng.choice([0.5, 5.0])), count)
        y = np.array([rng.choice(classes, p=shares[level]) for level in levels], dtype=float)
        ratios.append(gain(levels.astype(float), count, y, classes) / best_split(levels, y, classes))
    assert max(ratios) <= 1 + 1e-9
    assert min(ratios) > 0.75
    assert np.mean(ratios) > 0.98


def test_two_levels_of_three_classes_are_split():
    levels = np.repeat([0.0, 1.0], 50)
    y = np.where(levels == 0, np.arange(100) % 2, 2.0)
    assert gain(levels, 2, y, 3) == pytest.approx(best_split(levels, y, 3))


class TestGrowth:
    def test_leaves_are_never_too_small(self):
        rng = np.random.default_rng(1)
        data = binned(rng.normal(size=1_000), rng.integers(0, 300, 1_000).astype(float), levels=(300,))
        for least in (1, 5, 40):
            growth = Growth(min_leaf=least, min_split=2 * least)
            tree = Tree.grow(data, data.names, rng.normal(size=1_000), growth=growth)
            assert np.diff(tree.offsets).min() >= least
            assert sorted(tree.rows) == list(range(1_000))

    def test_depth(self):
        rng = np.random.default_rng(1)
        data = binned(rng.normal(size=500))
        assert Tree.grow(data, data.names, rng.normal(size=500), growth=Growth(max_depth=3)).leaves <= 8

    def test_complexity_is_a_share_of_the_root(self):
        x = np.repeat([0.0, 1.0], 50)
        y = x + np.tile([-1.0, 1.0], 50)  # the split explains a fifth
        data = binned(x)
        for complexity, leaves in ((0.19, 2), (0.21, 1)):
            assert Tree.grow(data, data.names, y, growth=Growth(complexity=complexity)).leaves == leaves

    @pytest.mark.parametrize("y", [np.full(100, 1e6), np.full(100, 0.1)])
    def test_nothing_to_explain(self, y):
        data = binned(np.arange(100.0))
        assert Tree.grow(data, data.names, y).leaves == 1
        assert Tree.grow(data, data.names, np.full(100, 2.0), classes=5).leaves == 1

    def test_no_predictors_and_few_records(self):
        data = binned(np.arange(3.0))
        assert Tree.grow(data, (), np.arange(3.0)).leaves == 1
        assert Tree.grow(data, data.names, np.arange(3.0)).leaves == 1

    def test_some_rows_only(self):
        data = binned(np.arange(100.0))
        rows = np.arange(0, 100, 2)
        tree = Tree.grow(data, data.names, np.arange(100.0), rows=rows)
        assert sorted(tree.rows) == rows.tolist()

    def test_far_from_zero(self):
        """Responses near 1e9 lose no splits to rounding."""
        rng = np.random.default_rng(1)
        data = binned(rng.normal(size=200))
        y = rng.integers(0, 50, 200).astype(float)
        near, far = (Tree.grow(data, data.names, y + shift) for shift in (0.0, 1e9))
        assert leaves_of(near) == leaves_of(far)


class TestApply:
    def test_donors_are_where_they_end(self):
        rng = np.random.default_rng(2)
        number = np.where(rng.random(2_000) < 0.1, np.nan, rng.normal(size=2_000))
        level = np.where(rng.random(2_000) < 0.1, np.nan, rng.integers(0, 200, 2_000))
        data = binned(number, level, levels=(200,))
        for classes in (0, 7):
            tree = Tree.grow(data, data.names, rng.integers(0, 7, 2_000).astype(float), classes=classes)
            leaves = tree.apply(data.codes)
            np.testing.assert_array_equal(np.repeat(np.arange(tree.leaves), np.diff(tree.offsets)), leaves[tree.rows])

    def test_a_level_never_seen_goes_the_way_most_go(self):
        level = np.repeat([0.0, 1.0], [60, 20])
        data = binned(level, levels=(3,))
        tree = Tree.grow(data, data.names, level)
        unseen = data.binnings["c0"].bins(np.array([0.0, 1.0, 2.0, np.nan]))[None]
        found = tree.apply(unseen)
        assert found[0] != found[1]
        assert found[2] == found[3] == found[0]

    def test_a_gap_never_seen_goes_the_way_most_go(self):
        data = binned(np.repeat([0.0, 1.0], [20, 60]))
        tree = Tree.grow(data, data.names, np.repeat([0.0, 1.0], [20, 60]))
        low, high, gap = tree.apply(data.binnings["c0"].bins(np.array([0.0, 1.0, np.nan]))[None])
        assert gap == high != low

    @pytest.mark.parametrize("shift", [-5.0, 5.0])
    def test_gaps_alone(self, shift):
        number = np.concatenate([np.arange(50.0), np.full(20, np.nan)])
        y = np.where(np.isnan(number), shift, 0.0)
        data = binned(number)
        tree = Tree.grow(data, data.names, y)
        assert sorted(map(len, leaves_of(tree))) == [20, 50]


class TestDraw:
    def test_every_donor_of_the_leaf_is_as_likely(self):
        data = binned(np.repeat([0.0, 1.0], [40, 10]))
        tree = Tree.grow(data, data.names, np.repeat([0.0, 1.0], [40, 10]))
        donors = tree.take(tree.apply(data.codes).repeat(200), np.random.default_rng(1).random(10_000))
        counts = np.bincount(donors, minlength=50)
        assert set(donors[:8_000]) == set(range(40))
        assert stats.chisquare(counts[:40]).pvalue > 1e-4
        assert stats.chisquare(counts[40:]).pvalue > 1e-4

    def test_as_likely_as_they_weigh(self):
        weights = np.random.default_rng(1).standard_exponential(50)
        data = binned(np.repeat([0.0, 1.0], [40, 10]))
        tree = Tree.grow(data, data.names, np.repeat([0.0, 1.0], [40, 10]), weights=weights)
        leaf = tree.apply(data.codes)[0]
        donors = tree.take(np.full(20_000, leaf), np.random.default_rng(2).random(20_000))
        expected = 20_000 * weights[:40] / weights[:40].sum()
        enough = expected > 5
        counts = np.bincount(donors, minlength=40)
        assert len(counts) == 40
        assert (np.abs(counts - expected)[enough] < 4.5 * np.sqrt(expected[enough])).all()

    def test_repr_shows_no_values(self):
        data = binned(np.repeat([0.0, 1.0], 50))
        tree = Tree.grow(data, data.names, np.repeat([0.0, 1.0], 50))
        assert repr(tree) == "Tree(2 leaves, 100 donors)"
        assert repr(data) == "Binned(100 records x 1 columns)"
        assert repr(Smoother.of(tree, np.arange(100.0), (0, 99), 5)) == "Smoother(2 leaves)"


class TestSmoothing:
    @pytest.mark.parametrize("draw", ["normal", "exponential"])
    def test_mean_and_spread_are_kept(self, draw):
        rng = np.random.default_rng(1)
        values = getattr(rng, draw)(size=2_000)
        data = binned(rng.normal(size=2_000))
        tree = Tree.grow(data, data.names, values)
        smoother = Smoother.of(tree, values, (values.min(), values.max()), 5)
        leaves = np.repeat(np.arange(tree.leaves), np.diff(tree.offsets)).repeat(20)
        donors = tree.rows.repeat(20)
        assert smoother.rare.all()
        moved = smoother.smooth(values[donors], leaves, rng=rng)
        assert values.min() <= moved.min()
        assert moved.max() <= values.max()
        assert not np.isin(moved, values).any()
        # 40,000 draws: 4 standard errors are 0.03 of the variance and 0.02 of the sd, beside what reflection takes
        assert 0.97 - 0.03 < moved.var() / values.var() < 1 + 0.03
        assert abs(moved.mean() - values.mean()) < (0.006 + 0.02) * values.std()

    def test_heaps_stay(self):
        values = np.concatenate([np.zeros(50), np.arange(1.0, 51.0)])
        data = binned(values)
        tree = Tree.grow(data, (), values)
        assert Smoother.of(tree, values, (0, 50), 5).rare.tolist() == [False] * 50 + [True] * 50

    def test_one_value_stays_where_it_is(self):
        data = binned(np.zeros(3))
        tree = Tree.grow(data, (), np.full(3, 4.0))
        smoother = Smoother.of(tree, np.full(3, 4.0), (4.0, 4.0), 5)
        drawn = smoother.smooth(np.full(3, 4.0), np.zeros(3, dtype=int), rng=np.random.default_rng(1))
        assert drawn.tolist() == [4, 4, 4]

    def test_reflection_folds_until_inside(self):
        x = np.linspace(-30, 30, 601)
        found = reflected(x, np.full(601, -1.0), np.full(601, 2.0))
        assert found.min() >= -1
        assert found.max() <= 2
        inside = (x >= -1) & (x <= 2)
        np.testing.assert_allclose(found[inside], x[inside], atol=1e-12)
        assert reflected(np.array([2.5]), np.array([-1.0]), np.array([2.0]))[0] == pytest.approx(1.5)


def test_records_go_down_side_by_side_to_where_they_go_one_by_one(monkeypatch):
    rng = np.random.default_rng(4)
    n = 3_000
    number = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    level = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 90, n).astype(float))
    data = binned(number, np.round(rng.normal(size=n), 1), level, levels=(90,))
    y = np.nan_to_num(number) + np.nan_to_num(level) % 7 + rng.normal(size=n)
    tree = Tree.grow(data, data.names, y, growth=Growth(min_leaf=10))
    together = tree.apply(data.codes)
    monkeypatch.setattr(descending, "MOST_CELLS", 0)
    assert len(np.unique(together)) == tree.leaves > 50
    assert np.array_equal(together, tree.apply(data.codes))
    leaf = np.repeat(np.arange(tree.leaves), np.diff(tree.offsets))
    assert np.array_equal(together[tree.rows], leaf)
