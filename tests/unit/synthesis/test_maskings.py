"""The maskings: what they keep, what they move, their twins, and what they refuse."""

import itertools
import math
import time

import numpy as np
import pandas as pd
import pytest

from synthdp import config as configs
from synthdp.config.settings import METHODS
from synthdp.errors import InputError
from synthdp.seeding import Streams
from synthdp.synthesis.maskings.classes import KAnonymity, classes
from synthdp.synthesis.maskings.exchange import (
    estimated_shares,
    exchanged,
    invariant,
    posterior,
    shares,
    truth_odds,
    uniform_matrix,
)
from synthdp.synthesis.maskings.grouped import KNoise, KPram, expected_group_size, group_edges, moving_widths
from synthdp.synthesis.maskings.masking import UNAWARE, Masking
from synthdp.synthesis.maskings.microaggregation import Microaggregation, averaged, mdav
from synthdp.synthesis.maskings.noise import Noise
from synthdp.synthesis.maskings.pram import Pram, binned
from synthdp.synthesis.maskings.ranks import RankSwap, TopBottom, partners
from synthdp.synthesis.maskings.suppression import LocalSuppression, suppressed
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column, Variable
from synthdp.tagging.groups import Neighbours, tag

MASKINGS = {name: method for name, method in METHODS.items() if issubclass(method, Masking)}
NUMBER = Column(name="x", kind="continuous", role="replace", key=True)
MIXED = {"age": Variable(role="replace", key=True, bounds=(18, 90)), "sex": Variable(role="replace", key=True)}
BINARY = {"sex": Variable(role="replace", key=True)}


def people(n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = np.clip(np.round(rng.normal(50, 12, n)), 18, 90).astype(int)
    return pd.DataFrame(
        {
            "age": age,
            "sex": np.where(rng.random(n) < 0.4, "F", "M"),
            "income": np.where(rng.random(n) < 0.3, 0.0, np.round(rng.uniform(5, 95, n), 1)),
            "region": rng.choice(["east", "north", "south"], n, p=[0.6, 0.3, 0.1]),
        }
    )


def plan(frame=None, variables=None, **more) -> Plan:
    data = resolve(people() if frame is None else frame, MIXED if variables is None else variables)
    return Plan(data, tag(data, Neighbours()), **more)


def only_copy(method, given, seed=1):
    return method.synthesize(given, streams=Streams(seed)).copies[0]


class TestEveryMasking:
    @pytest.mark.parametrize("name", MASKINGS)
    def test_keeps_the_schema_and_claims_nothing(self, name):
        frame = people().astype({"age": float})
        frame.loc[::11, "age"] = np.nan
        frame["sex"] = frame["sex"].where(np.arange(500) % 9 > 0)
        given, method = plan(frame), MASKINGS[name]()
        assert method.problems(given) == []
        assert method.notes(given)[0] == UNAWARE
        one, two = (method.synthesize(given, streams=Streams(3)) for _ in range(2))
        copy = one.copies[0]
        assert one.privacy is None
        assert method.budget is None
        pd.testing.assert_frame_equal(copy, two.copies[0])
        pd.testing.assert_frame_equal(copy[["income", "region"]], frame[["income", "region"]])
        assert (copy.dtypes == frame.dtypes).all()
        assert not copy["age"].equals(frame["age"])
        assert copy["age"].dropna().between(18, 90).all()
        if name != "k_anonymity":  # all of a class show one value
            assert copy.loc[frame["age"].isna(), "age"].isna().all()
            assert copy.loc[frame["sex"].isna(), "sex"].isna().all()

    @pytest.mark.parametrize("name", MASKINGS)
    def test_refuses_what_it_cannot_do(self, name):
        method = MASKINGS[name]()
        assert "variables: no column has role: replace; nothing would be masked." in method.problems(plan(variables={}))
        assert (f"constraints: method {name} does not keep them; use da_mi, mi or sequential.") in method.problems(
            plan(constraints=("age > 17",))
        )

    @pytest.mark.parametrize("name", MASKINGS)
    def test_takes_columns_of_two_values_with_hardly_anybody(self, name):
        frame = pd.DataFrame({"age": [40.0, 41.0] * 30, "sex": ["F", "M"] * 30, "gap": [np.nan] * 58 + [0.2, 0.7]})
        keys = {**MIXED, "gap": Variable(role="replace", kind="continuous", bounds=(0, 1))}
        copy = only_copy(MASKINGS[name](), plan(frame, keys))
        assert copy["gap"].dropna().between(0, 1).all()
        assert copy["age"].dropna().between(18, 90).all()
        assert set(copy["sex"].dropna()) <= {"F", "M"}


class TestClasses:
    def test_classes_hold_k_and_show_one_value(self):
        copy = only_copy(KAnonymity(k=7), plan())
        assert copy.groupby(["age", "sex"]).size().min() >= 7

    def test_joint_classes_of_the_seeds_example(self):
        """Biswal (2024), Table 3.3: two classes of three by age; by age and amount jointly only one of six at k = 3."""
        age, amount = [32, 45, 27, 19, 31, 25], [75.5, 120, 16.75, 85, 50, 40.5]
        assert sorted(map(len, classes(np.array([age], dtype=float).T, 3))) == [3, 3]
        assert all(len(members) >= 3 for members in classes(np.array([age, amount]).T, 3))


class TestPram:
    def test_keeps_as_often_as_asked(self):
        given = plan(people(5000), {"region": Variable(role="replace")})
        copy = only_copy(Pram(keep=0.8), given)
        kept = (copy["region"] == given.data.frame["region"]).mean()
        assert abs(kept - 0.8) < 4 * math.sqrt(0.16 / 5000)

    def test_follows_its_matrix(self):
        given = plan(people(20_000), {"region": Variable(role="replace")})
        matrix = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.5, 0.25, 0.25]])
        copy = only_copy(Pram(matrix={"region": tuple(map(tuple, matrix))}), given)
        found = pd.crosstab(given.data.frame["region"], copy["region"], normalize="index").to_numpy()
        counts = given.data.frame["region"].value_counts().sort_index().to_numpy()[:, None]
        assert (np.abs(found - matrix) <= 4 * np.sqrt(matrix * (1 - matrix) / counts)).all()

    @pytest.mark.parametrize("keep", [0.0, 0.4, 0.9])
    def test_invariant_keeps_shares_and_unbiased_estimates_undo_a_matrix(self, keep):
        prior = np.array([0.7, 0.2, 0.09, 0.01])
        matrix = uniform_matrix(keep, 4)
        assert prior @ invariant(prior, matrix) == pytest.approx(prior)
        assert invariant(prior, matrix).sum(axis=1) == pytest.approx(np.ones(4))
        assert estimated_shares(prior @ matrix, matrix) == pytest.approx(prior)

    def test_posterior_and_odds_are_bayes_by_enumeration(self):
        prior, matrix = np.array([0.7, 0.25, 0.05]), np.array([[0.8, 0.1, 0.1], [0.3, 0.7, 0.0], [0.2, 0.2, 0.6]])
        for shown in range(3):
            joint = [prior[true] * matrix[true, shown] for true in range(3)]
            assert posterior(prior, matrix)[shown] == pytest.approx(np.array(joint) / sum(joint))
            assert truth_odds(prior, matrix)[shown] == pytest.approx(joint[shown] / (sum(joint) - joint[shown]))
        certain = np.eye(2)
        assert truth_odds(np.array([0.5, 0.5]), certain).tolist() == [np.inf, np.inf]
        assert posterior(np.array([0.5, 0.5]), np.array([[1.0, 0.0], [1.0, 0.0]]))[1].tolist() == [0.5, 0.5]

    def test_its_odds_are_told_beforehand(self):
        (_, sentence) = Pram(keep=0.8).notes(plan(pd.DataFrame({"sex": ["F", "M"] * 50}), BINARY))
        assert sentence == (
            "pram: the odds that a level shown in sex is the record's own are 4 for the rarest level (small is safe) "
            "and "
            "4 at most."
        )

    def test_numbers_by_bins_keep_their_heap_and_their_margin(self):
        values = np.concatenate([np.zeros(3000), np.random.default_rng(1).gamma(2, 10, 7000)])
        codes, count = binned(values, 10)
        assert count == 8  # three tenths are one heap
        assert np.bincount(codes)[0] == 3000
        given = plan(pd.DataFrame({"x": values}), {"x": Variable(role="replace")})
        shown = only_copy(Pram(keep=0.6, invariant=True), given)["x"].to_numpy()
        assert np.isin(shown, values).all()
        assert abs((shown == 0).mean() - 0.3) < 4 * math.sqrt(0.21 / 10_000)
        matrix = invariant(shares(codes, count), uniform_matrix(0.6, count))
        bin_of = dict(zip(values, codes, strict=True))
        kept = np.mean([bin_of[value] == code for value, code in zip(shown, codes, strict=True)])
        expected = (shares(codes, count) * np.diag(matrix)).sum()
        assert abs(kept - expected) < 4 * math.sqrt(expected * (1 - expected) / 10_000)

    def test_exchange_is_the_law_of_one_row(self):
        row = np.array([[0.2, 0.5, 0.3]] * 3)
        found = np.bincount(exchanged(np.zeros(30_000, dtype=np.int64), row, np.random.default_rng(1))) / 30_000
        assert (np.abs(found - row[0]) < 4 * np.sqrt(row[0] * (1 - row[0]) / 30_000)).all()

    def test_what_is_refused(self):
        half = ((0.5, 0.5), (0.5, 0.5))
        assert Pram(matrix={"age": half}).problems(plan()) == [
            "synthesis.matrix.age: no replaced column of that name has levels; correct the name, or leave it out."
        ]
        assert Pram(matrix={"region": half}).problems(plan(variables={"region": Variable(role="replace")})) == [
            "synthesis.matrix.region: has 2 rows, the column 3 levels; give a row for each level, in the order of the "
            "levels."
        ]
        with pytest.raises(ValueError, match=r"matrix.sex: row 2 must hold 2 probabilities that sum to 1; correct it"):
            Pram(matrix={"sex": ((0.5, 0.5), (0.9, 0.2))})


class TestGroups:
    def test_groups_hold_k(self):
        values = np.random.default_rng(1).normal(size=400)
        edges = group_edges(values, 12, 20)
        assert np.histogram(values, edges)[0].min() >= 12
        for variant in ("uniform", "shuffle", "matrix"):
            moved = KPram(k=12, variant=variant).move(values, NUMBER, np.random.default_rng(2))
            np.testing.assert_array_equal(np.histogram(values, edges)[0], np.histogram(moved, edges)[0])
        assert len(group_edges(values, 300, 20)) == 2

    def test_variants_of_k_pram(self):
        values, edges = np.random.default_rng(1).uniform(0, 3, 6000), (0.0, 1.0, 2.0, 3.0)
        own = np.floor(values)
        dealt = KPram(variant="shuffle", edges={"x": edges}).move(values, NUMBER, np.random.default_rng(2))
        for j in range(3):
            np.testing.assert_array_equal(np.sort(values[own == j]), np.sort(dealt[own == j]))
        assert (dealt != values).mean() > 0.99
        kept = KPram(variant="matrix", keep=0.7, edges={"x": edges}).move(values, NUMBER, np.random.default_rng(2))
        assert abs((kept == values).mean() - (0.7 + 0.3 * 3 / 6000)) < 4 * math.sqrt(0.21 / 6000)
        assert np.isin(kept, values).all()

    def test_mean_squares_of_the_published_experiment(self):
        """Biswal (2024), Table 3.4: groups of 5 years; k-noise δ²/3 = 2.0833, k-PRAM w²/6 = 4.1667 for even ages."""
        values = np.random.default_rng(3).uniform(20, 80, 20_000)
        values[:2] = 20, 80
        for method, expected in ((KNoise(most_groups=12), 25 / 12), (KPram(most_groups=12), 25 / 6)):
            squares = (method.move(values, NUMBER, np.random.default_rng(4)) - values) ** 2
            assert abs(squares.mean() - expected) < 4 * squares.std() / math.sqrt(20_000)

    def test_moving_noise_is_wider_where_few_are(self):
        values = np.concatenate([np.random.default_rng(1).normal(50, 3, 500), [90.0]])
        widths = moving_widths(values, 2.0)
        near = expected_group_size(values, values, half=2.0, radius=2.0)
        assert widths[-1] == 4.0
        np.testing.assert_allclose(widths, np.minimum(2.0 * near.mean() / near, 4.0))
        moved = KNoise(moving=True, k=1, edges={"x": tuple(np.arange(30.0, 95.0, 4.0))})
        draws = np.array([moved.move(values, NUMBER, np.random.default_rng(s)) - values for s in range(400)])
        assert (np.abs(draws) <= widths).all()
        assert abs((draws**2).mean(axis=0) / (widths**2 / 3) - 1).max() < 4.5 * math.sqrt(4 / 5 / 400)

    @pytest.mark.parametrize("variant", ["uniform", "shuffle", "matrix"])
    def test_whole_numbers_that_cannot_move_are_told_of(self, variant):
        """Twenty groups between 9 and 18 hold one whole number each, or none: nothing is masked."""
        years = pd.DataFrame({"years": np.repeat(np.arange(9, 19), 30)})
        given = plan(years, {"years": Variable(kind="count", role="replace", bounds=(0, 30))})
        method = KPram(variant=variant)
        (_, sentence) = method.notes(given)
        copy = only_copy(method, given)["years"]
        if variant == "uniform":
            # a group that ends beyond a half rounds to the next number
            told = float(sentence.split("%")[0].split()[-1]) / 100
            assert (copy == years["years"]).mean() >= told - 0.005
        else:
            assert sentence == (
                "k_pram: 100% of the values of years stay as they are, as nothing else lies in their groups; lower "
                "most_groups, or give wider edges."
            )
            assert copy.equals(years["years"])
        (_, kept, _) = KNoise(most_groups=30).notes(given)
        assert kept.startswith(
            "k_noise: 100% of the values of years stay as they are, as rounding takes the noise away"
        )
        assert only_copy(KNoise(most_groups=30), given)["years"].equals(years["years"])
        wide = KPram(variant=variant, most_groups=3)
        assert wide.notes(given) == [UNAWARE]

    def test_the_expected_group_is_told_beforehand(self):
        values = people()["age"].to_numpy(dtype=float)
        half = KNoise().half(values, NUMBER)
        expected = expected_group_size(values, values, half=half, radius=2 * half)
        (_, sentence) = KNoise().notes(plan())
        assert sentence == (
            f"k_noise: within two half-widths (±{2 * half:.3g}) of a value of age stand {expected.mean():.1f} masked "
            f"records on average and {expected.min():.1f} at the least, in expectation."
        )

    def test_what_is_refused(self):
        given = plan()
        outside = KPram(edges={"age": (40, 60)}).problems(given)
        count = int((~given.data.frame["age"].between(40, 60)).sum())
        assert outside == [f"synthesis.edges.age: {count} values lie outside the edges; widen the first or last group."]
        assert KPram(k=499, edges={"age": (0, 50, 100)}).problems(given) == [
            "synthesis.edges.age: 2 of 2 groups hold fewer than k = 499 records; widen them, or lower synthesis.k."
        ]
        for method in (KPram(k=501), KNoise(k=501)):
            assert method.problems(given) == ["synthesis.k: 501 records are needed for one group, found 500."]
        assert KPram(edges={"sex": (0, 1)}).problems(given) == [
            "synthesis.edges.sex: no replaced column of that name has numbers; correct the name, or leave it out."
        ]
        assert KNoise(k=1, edges={"age": (0, 50, 120)}).problems(given) == [
            "synthesis.edges.age: groups must have one length for k_noise, found 50 to 70; space them evenly."
        ]
        with pytest.raises(ValueError, match=r"edges.age: must be increasing; sort them and leave out repeated ones"):
            KPram(edges={"age": (1, 1)})


class TestNoise:
    @pytest.mark.parametrize("law", ["normal", "laplace", "uniform"])
    def test_every_law_has_the_sd(self, law):
        values = np.random.default_rng(1).normal(10, 3, 40_000)
        added = Noise(sd=0.5, law=law).move(values, NUMBER, np.random.default_rng(2)) - values
        sd = 0.5 * values.std(ddof=1)
        fourth = {"normal": 3, "laplace": 6, "uniform": 1.8}[law]
        assert abs(added.mean()) < 4 * sd / 200
        assert abs(added.var() / sd**2 - 1) < 4 * math.sqrt((fourth - 1) / 40_000)
        assert abs((added**4).mean() / sd**4 - fourth) < 0.1 * fourth * (3 if law == "laplace" else 1)


def plain_mdav(values, k):
    """Return MDAV as it is written down, with sorted lists."""
    left, groups = list(range(len(values))), []

    def far(point):
        return max(left, key=lambda i: (((values[i] - point) ** 2).sum(), -i))

    def take(i):
        nearest = sorted(left, key=lambda j: (((values[j] - values[i]) ** 2).sum(), j))[:k]
        groups.append(sorted(nearest))
        left[:] = [j for j in left if j not in nearest]

    while len(left) >= 2 * k:
        both = len(left) >= 3 * k
        first = far(values[left].mean(axis=0))
        second = far(values[first])
        take(first)
        if both:
            take(second)
    return [*groups, sorted(left)] if left else groups


class TestMicroaggregation:
    @pytest.mark.parametrize(("n", "k"), [(2, 2), (23, 3), (40, 4), (41, 7), (60, 2)])
    def test_mdav_is_its_definition(self, n, k):
        values = np.random.default_rng(n).normal(size=(n, 3))
        found = [sorted(group.tolist()) for group in mdav(values, k)]
        assert found == plain_mdav(values, k)
        assert all(k <= len(group) < 2 * k for group in found)

    def test_records_in_one_place(self):
        assert sorted(itertools.chain(*(group.tolist() for group in mdav(np.zeros((11, 2)), 3)))) == list(range(11))

    def test_means_stay_and_classes_hold_k(self):
        values = np.random.default_rng(1).normal(size=(3000, 2))
        for part in (5000, 500):
            shown = averaged(values, 4, part=part)
            assert shown.mean(axis=0) == pytest.approx(values.mean(axis=0))
            assert np.unique(shown.round(9), axis=0, return_counts=True)[1].min() >= 4

    def test_parts_cost_little_usefulness(self):
        values = np.random.default_rng(1).normal(size=(3000, 2))
        whole, parts = (((averaged(values, 4, part=part) - values) ** 2).sum() for part in (5000, 500))
        assert whole < parts < 1.15 * whole

    def test_missing_values_count_as_lowest_and_stay_missing(self):
        values = np.random.default_rng(1).normal(size=(100, 2))
        values[:7, 0] = np.nan
        for together in (averaged(values, 3), np.column_stack([averaged(values[:, [j]], 3) for j in range(2)])):
            assert np.isnan(together[:7, 0]).all()
            assert np.isfinite(together[7:]).all()

    def test_many_records(self):
        values = np.random.default_rng(1).normal(size=(40_000, 3))
        began = time.process_time()
        averaged(values, 5, part=1000)
        assert time.process_time() - began < 20

    def test_what_is_refused(self):
        assert Microaggregation().problems(plan(variables=BINARY)) == [
            "variables: microaggregation averages numbers, and no replaced column has any; use pram."
        ]
        assert Microaggregation(k=501, part=100).problems(plan()) == [
            "synthesis.k: 501 records are needed for one group, found 500.",
            "synthesis.part: must hold two groups of k = 501 records; use 1002 or more.",
        ]
        assert KAnonymity(k=501).problems(plan()) == ["synthesis.k: 501 records are needed for one class, found 500."]


def plain_partners(count, reach, rng):
    """Return rank swapping as it is written down."""
    free, partner = [True] * count, list(range(count))
    for own in range(count):
        if not free[own]:
            continue
        window = [place for place in range(own + 1, min(own + reach + 1, count)) if free[place]]
        if window:
            other = window[int(rng.random() * len(window))]
            free[own] = free[other] = False
            partner[own], partner[other] = other, own
    return np.array(partner)


class TestRanks:
    def test_partners_follow_the_law_of_the_rule(self):
        pairs = {}
        for name, rule in (("ours", partners), ("plain", plain_partners)):
            rng, counts = np.random.default_rng(1), np.zeros((9, 9))
            for _ in range(3000):
                counts[np.arange(9), rule(9, 3, rng)] += 1
            pairs[name] = counts / 3000
        pooled = (pairs["ours"] + pairs["plain"]) / 2
        assert (np.abs(pairs["ours"] - pairs["plain"]) <= 4.5 * np.sqrt(2 * pooled * (1 - pooled) / 3000)).all()

    def test_margins_stay_and_ranks_are_near(self):
        values = np.random.default_rng(1).normal(size=1000)
        shown = RankSwap(reach=0.03).move(values, NUMBER, np.random.default_rng(2))
        np.testing.assert_array_equal(np.sort(values), np.sort(shown))
        assert np.abs(values.argsort().argsort() - shown.argsort().argsort()).max() == 30
        ends = RankSwap(reach=0.03, ends=0.05).move(values, NUMBER, np.random.default_rng(2))
        low = np.argsort(values)[:50]
        assert ends[low] == pytest.approx(np.full(50, values[low].mean()))
        np.testing.assert_array_equal(np.sort(values)[50:-50], np.sort(ends)[50:-50])

    @pytest.mark.parametrize("show", ["edge", "mean"])
    def test_top_and_bottom(self, show):
        values = np.random.default_rng(1).permutation(100.0 + np.arange(200))
        shown = TopBottom(top=0.05, bottom=0.02, show=show).move(values, NUMBER, np.random.default_rng(1))
        inside = (values >= 104) & (values <= 289)
        np.testing.assert_array_equal(shown[inside], values[inside])
        low, high = (104, 289) if show == "edge" else (101.5, 294.5)
        assert set(shown[values < 104]) == {low}
        assert set(shown[values > 289]) == {high}
        with pytest.raises(InputError) as error:
            configs.parse({"data": {"path": "x.csv"}, "synthesis": {"method": "top_bottom", "top": 0, "bottom": 0}})
        assert "top and bottom are both 0, so no number would be coded" in str(error.value)


class TestSuppression:
    @pytest.mark.parametrize("k", [2, 3, 6])
    def test_every_record_has_its_look_alikes_and_none_loses_more_than_it_must(self, k):
        rng = np.random.default_rng(k)
        table = rng.integers(0, 4, (150, 4))
        table[rng.random(table.shape) < 0.05] = -1
        order = (2, 0, 1)
        gone = suppressed(table, k, order)
        left = np.where(gone, -1, table)
        assert not gone[:, 3].any()
        for place, row in enumerate(left):
            agree = ((left == row) | (left == -1) | (row == -1)).all(axis=1)
            assert agree.sum() >= k or gone[place, list(order)].all()
            # fewer columns never do, counting records that have all of the rest
            there = [j for j in range(4) if table[place, j] >= 0]
            fewer = int(gone[place].sum()) - 1
            for drop in itertools.combinations([j for j in there if j in order], fewer) if fewer >= 0 else ():
                rest = [j for j in there if j not in drop]
                assert (table[:, rest] == table[place, rest]).all(axis=1).sum() < k

    def test_kept_keys_and_other_columns_stay(self):
        frame = people().assign(age=lambda f: np.maximum(f["age"] // 10 * 10, 20).astype(float))
        variables = {**MIXED, "region": Variable(key=True), "income": Variable(role="replace")}
        method = LocalSuppression(k=4, importance=("sex",))
        given = plan(frame, variables)
        assert method.problems(given) == []
        copy = only_copy(method, given)
        pd.testing.assert_frame_equal(copy[["region", "income"]], frame[["region", "income"]])
        gone = copy.isna().sum()
        assert 0 < gone["age"] < 60
        assert gone["sex"] == 0
        sizes = copy.groupby(["sex", "region"], dropna=False).size()
        assert sizes.min() >= 4

    def test_what_is_refused(self):
        key = Variable(key=True)
        assert LocalSuppression().problems(plan(variables={"age": Variable(role="replace")})) == [
            "variables: local_suppression needs a replaced key; set role: replace and key: true."
        ]
        assert LocalSuppression(importance=("region",)).problems(plan()) == [
            "synthesis.importance: no replaced key named 'region'; name columns with role: replace and key: true."
        ]
        assert LocalSuppression(k=501).problems(plan()) == ["synthesis.k: 501 records are needed to agree, found 500."]
        lonely = people().assign(income=np.arange(500.0))
        assert LocalSuppression().problems(plan(lonely, {**MIXED, "income": key})) == [
            "synthesis.k: 500 records agree with fewer than 3 on kept keys, which stay as they are; replace or coarsen "
            "those."
        ]
        many = pd.DataFrame({f"k{j}": ["a", "b"] * 10 for j in range(13)})
        assert LocalSuppression().problems(plan(many, dict.fromkeys(many, Variable(role="replace", key=True)))) == [
            "variables: local_suppression takes 12 keys at most, found 13; drop some."
        ]
