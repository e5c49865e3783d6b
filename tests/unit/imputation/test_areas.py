"""Shares of values by area: against a table fitted by brute force, and the column that is taken for an area."""

import numpy as np
import pandas as pd
import pytest

from synthdp.imputation.trees import leaf as leaves_of
from synthdp.imputation.trees.areas import COMMON, FEW, ROUNDS, Areas, area_of, classes_of
from synthdp.imputation.trees.binning import Binned, Binning
from synthdp.imputation.trees.cart import Cart
from synthdp.imputation.trees.tree import Growth, Tree
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.sequential import Sequential
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag


def plan(frame: pd.DataFrame, kinds: dict[str, str], kept: tuple[str, ...] = ()) -> Plan:
    variables = {name: Variable(role="keep" if name in kept else "replace", kind=kind) for name, kind in kinds.items()}
    data = resolve(frame, variables)
    return Plan(data, tag(data, None))


def copy_of(given: Plan, seed: int = 1, **settings) -> pd.DataFrame:
    method = Sequential(model=Cart(**settings), copies=1)
    assert method.problems(given) == []
    return method.synthesize(given, streams=Streams(seed)).copies[0]


@pytest.fixture(scope="module")
def grown():
    """A tree on x of a column with four classes, which depend on the area as well."""
    rng = np.random.default_rng(1)
    n = 1_500
    x, area = rng.normal(size=n), rng.integers(0, 5, n)
    y = np.clip(np.floor(1.5 + x + 0.5 * (area - 2) + rng.normal(size=n)), 0, 3)
    binned = Binned.make({"x": Binning.of_numbers(x)}, {"x": x}, n)
    rows = np.flatnonzero(rng.random(n) < 0.8)
    weights = rng.standard_exponential(n)
    tree = Tree.grow(binned, ("x",), y, classes=4, rows=rows, weights=weights, growth=Growth(200)).sorted(y, weights)
    return tree, tree.apply(binned.codes[:, rows]), rows, y.astype(np.int64), area, weights


def by_hand(grown, *, weighted):
    """Return P(class | leaf, area) of every leaf and area, leaf by leaf and round by round."""
    tree, at, rows, y, area, weights = grown
    weights = weights if weighted else np.ones(len(y))
    share = np.zeros((tree.leaves, 4))
    here, table = np.zeros((tree.leaves, 5)), np.zeros((5, 4))
    for leaf, row in zip(at, rows, strict=True):
        share[leaf, y[row]] += weights[row]
        here[leaf, area[row]] += weights[row]
        table[area[row], y[row]] += weights[row]
    share /= share.sum(axis=1, keepdims=True)
    ratio, aim = np.ones((5, 4)), None
    for _ in range(ROUNDS):
        law = share[:, None, :] * ratio
        law /= law.sum(axis=2, keepdims=True)
        expected = (here[:, :, None] * law).sum(axis=0)
        if aim is None:
            aim = expected * (table + FEW) / (expected + FEW)
            aim *= table.sum(axis=1, keepdims=True) / aim.sum(axis=1, keepdims=True)
        ratio *= aim / expected
    law = share[:, None, :] * ratio
    law /= law.sum(axis=2, keepdims=True)
    return law, aim, (here[:, :, None] * law).sum(axis=0), table


class TestAreas:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_shares_of_a_leaf_in_an_area(self, grown, weighted):
        """Chances at even steps give every class its share of the leaf and area, to within a step."""
        tree, at, rows, y, area, weights = grown
        if not weighted:
            tree = Tree(tree.nodes, tree.words, tree.leaf, tree.ordered, tree.missing, tree.offsets, tree.rows, None)
        areas = Areas.of(tree, at, rows, y, area, weights if weighted else None)
        law, aim, expected, table = by_hand(grown, weighted=weighted)
        steps = (np.arange(2_000) + 0.5) / 2_000
        for leaf in range(tree.leaves):
            for one in range(5):
                moved = areas.moved(steps, np.full(2_000, leaf), np.full(2_000, one))
                assert (np.diff(moved) >= 0).all()
                drawn = y[tree.take(np.full(2_000, leaf), moved)]
                found = np.bincount(drawn, minlength=4) / 2_000
                # a step at either end, and the leaf's donors are whole people
                assert np.abs(found - law[leaf, one]).max() < 2 / 2_000 + 1 / np.diff(tree.offsets)[leaf]
        assert np.abs(expected - aim).max() < 0.02 * table.sum() / 20
        assert np.abs(expected - table).sum() < 0.2 * np.abs(table - by_hand_without(grown, weighted=weighted)).sum()

    def test_one_area_is_the_leaf(self, grown):
        """Where all are of one area nothing moves but what the pseudo-counts leave of chance."""
        tree, at, rows, y, _, weights = grown
        areas = Areas.of(tree, at, rows, y, np.zeros(len(y), dtype=np.int64), weights)
        chance = np.linspace(0, 0.999, 500)
        for leaf in range(tree.leaves):
            at_leaf = np.full(500, leaf)
            assert areas.moved(chance, at_leaf, np.zeros(500, dtype=np.int64)) == pytest.approx(chance)

    def test_repr_shows_no_record(self, grown):
        tree, at, rows, y, area, _ = grown
        assert repr(Areas.of(tree, at, rows, y, area, None)) == "Areas(5 areas, 4 classes)"

    def test_classes_of_numbers_are_tenths_and_heaps(self):
        values = np.concatenate([np.zeros(400), np.arange(1, 601.0), [np.nan]])
        found = classes_of(values, np.arange(1_000), levels=0)
        assert len(set(found[:400])) == 1
        assert found[400] > found[0]
        assert (np.diff(found[400:1_000]) >= 0).all()
        assert found[1_000] == 0
        assert classes_of(np.array([2.0, np.nan, 0.0]), np.array([0, 2]), levels=3).tolist() == [2, 0, 0]


def by_hand_without(grown, *, weighted):
    """Return the table that leaves alone expect."""
    tree, at, rows, y, area, weights = grown
    weights = weights if weighted else np.ones(len(y))
    found = np.zeros((5, 4))
    for leaf in range(tree.leaves):
        own = rows[at == leaf]
        share = np.bincount(y[own], weights=weights[own], minlength=4) / weights[own].sum()
        found += np.bincount(area[own], weights=weights[own], minlength=5)[:, None] * share
    return found


class TestDealtByArea:
    @pytest.fixture(scope="class")
    @classmethod
    def given(cls):
        rng = np.random.default_rng(2)
        n = 3_000
        area = rng.integers(0, 8, n)
        frame = pd.DataFrame({"area": [f"a{one}" for one in area], "z": rng.integers(0, 3, n)})
        frame["level"] = (rng.random(n) < 0.2 + 0.08 * area).astype(int) + frame["z"]
        frame["pay"] = np.round(rng.normal(2 * area, 4.0), 1)
        frame.loc[rng.random(n) < 0.04 * area, "pay"] = np.nan
        return plan(frame, {"area": "nominal", "z": "nominal", "level": "nominal", "pay": "continuous"}, ("area",))

    @pytest.mark.parametrize("proper", [False, True])
    def test_tables_by_area_are_kept_by_large_leaves(self, given, proper):
        """Levels, means and gaps by area: with leaves of 1,000 that mix them, most of the difference is made up."""
        off = {}
        for by in (None, False):
            method = Sequential(model=Cart(min_leaf=1_000, by=by), copies=1, proper=proper)
            copy = method.synthesize(given, streams=Streams(3)).copies[0]
            found = [
                frame.groupby("area").agg(
                    level=("level", "mean"), pay=("pay", "mean"), gap=("pay", lambda x: x.isna().mean())
                )
                for frame in (given.data.frame, copy)
            ]
            off[by] = (found[0] - found[1]).abs().mean()
        assert (off[None] < 0.5 * off[False]).all()

    def test_what_was_chosen_is_told(self, given):
        chain = Sequential(model=Cart(min_leaf=100), copies=1).synthesize(given, streams=Streams(1)).chain
        assert chain == ({"column": "every tree", "by": "area"},)
        stated = Cart(min_leaf=100, by=False)
        assert stated.chosen(given.data, rng=np.random.default_rng(1)) is stated
        assert Cart(min_leaf=100, dealing="independent").chosen(given.data, rng=np.random.default_rng(1)).by is None

    def test_a_number_to_deal_by_has_no_shares(self, given):
        copy = copy_of(given, min_leaf=100, by="pay", order=("pay", "z", "level"))
        assert copy["level"].isin(given.data.frame["level"]).all()


class TestAreaOf:
    def found(self, kept=("area",), **columns) -> str | None:
        frame = pd.DataFrame(columns | {"z": np.arange(1_000) % 2})
        kinds = dict.fromkeys(frame.columns, "nominal")
        data = plan(frame, kinds, kept).data
        return area_of(data, kept, tuple(name for name in frame.columns if name not in kept))

    def test_even_levels_that_many_have(self):
        i = np.arange(1_000)
        assert self.found(area=i % 8) == "area"
        assert self.found(area=i % 5) is None
        # one level of most people and nine others
        assert self.found(area=np.where(i < 600, 0, i % 10)) is None
        # a level of few people is no matter, many such are
        assert self.found(area=np.where(i < 4, 99, i % 8)) == "area"
        assert self.found(area=i % (1_000 // COMMON + 5)) is None
        assert self.found(kept=(), area=np.where(i < 30, None, (i % 8).astype(str))) is None

    def test_the_most_even_and_the_first_of_equals(self):
        i = np.arange(1_000)
        assert self.found(kept=("area", "other"), area=i % 8, other=i % 10) == "other"
        assert self.found(kept=("area", "other"), area=i % 8, other=(i + 1) % 8) == "area"

    def test_it_is_kept_or_drawn_early(self):
        i = np.arange(1_000)
        columns = {"a": i % 2, "b": i % 2}
        assert self.found(kept=(), area=i % 8, **columns) == "area"
        assert self.found(kept=(), **columns, area=i % 8) is None


class TestLaw:
    def test_the_leaf_is_where_the_law_says(self):
        """Memorising c / leaf with c = 1.2: leaves of 160 at .75 in a hundred, from one measurement or several."""
        assert leaves_of._expected([(5, 0.24)], 200) == 160
        assert leaves_of._expected([(50, 0.024), (100, 0.012)], 200) == 160
        assert leaves_of._expected([(50, 0.0)], 200) == 5
        assert leaves_of._expected([(5, 0.9)], 200) == 200

    def test_least_squares(self):
        tried = [(40, 0.021), (90, 0.016)]
        leaf, memorised = np.asarray(tried).T
        c = np.linalg.lstsq((1 / leaf)[:, None], memorised, rcond=None)[0][0]
        assert leaves_of._expected(tried, 1_000) == int(np.ceil(c / leaves_of.MEMORISED))

    def test_what_is_memorised_falls_as_the_law_says(self):
        """Six columns of six levels, 3,000 records: c of leaves of 25 and 100 agree within four standard errors."""
        rng = np.random.default_rng(1)
        first = rng.integers(0, 3, 3_000)
        frame = pd.DataFrame({f"c{j}": (first + rng.integers(0, 4, 3_000)) % 6 for j in range(6)})
        data = plan(frame, dict.fromkeys(frame.columns, "nominal")).data
        found = {}
        for leaf in (25, 100):
            orchard = Cart(min_leaf=leaf).prepare(data)
            drawn = [leaf * leaves_of._memorised(orchard, leaves_of._sides(3_000, rng), rng) for _ in range(12)]
            found[leaf] = np.mean(drawn), np.std(drawn, ddof=1) / np.sqrt(12)
        gap = found[25][0] - found[100][0]
        assert abs(gap) < 4 * np.hypot(found[25][1], found[100][1])
        assert found[25][0] > 4 * found[25][1]

    def test_choices_by_other_seeds_are_near_each_other(self):
        """A choice from a list jumped by a factor of two."""
        rng = np.random.default_rng(1)
        first = rng.integers(0, 3, 4_000)
        frame = pd.DataFrame({f"c{j}": (first + rng.integers(0, 4, 4_000)) % 6 for j in range(6)})
        data = plan(frame, dict.fromkeys(frame.columns, "nominal")).data
        chosen = [Cart().chosen(data, rng=np.random.default_rng(seed)).min_leaf for seed in range(3)]
        assert max(chosen) < 1.5 * min(chosen)
        assert min(chosen) > 5
