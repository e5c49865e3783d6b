"""Values dealt evenly by leaves, times with their events, nested columns, and the leaf that is chosen."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from statsmodels.datasets import heart
from statsmodels.duration.survfunc import SurvfuncRight, survdiff

from synthdp.imputation.trees import growing
from synthdp.imputation.trees.binning import Binned, Binning, Records
from synthdp.imputation.trees.cart import Cart
from synthdp.imputation.trees.dealing import chances
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


def problems(given: Plan, **settings) -> list[str]:
    return Sequential(model=Cart(**settings), copies=1).problems(given)


class TestChances:
    @pytest.mark.parametrize("dealt_by", [False, True])
    def test_one_number_in_each_step_of_a_leaf(self, dealt_by):
        rng = np.random.default_rng(1)
        leaves = rng.integers(0, 7, 500)
        u = chances(leaves, rng=rng, by=rng.integers(0, 3, 500) if dealt_by else None)
        assert (u >= 0).all()
        assert (u < 1).all()
        for leaf in range(7):
            own = np.sort(u[leaves == leaf])
            steps = np.diff(own)
            assert np.allclose(steps, 1 / len(own))
            assert own[0] < 1 / len(own) + 1e-12

    @pytest.mark.parametrize("dealt_by", [False, True])
    def test_each_number_by_itself_is_uniform(self, dealt_by):
        rng = np.random.default_rng(2)
        leaves, by = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 0]) if dealt_by else None
        u = np.array([chances(leaves, rng=rng, by=by) for _ in range(4_000)])
        assert (np.abs(u.mean(axis=0) - 0.5) < 4 * np.sqrt(1 / 12 / 4_000)).all()
        assert (np.abs((u < 0.2).mean(axis=0) - 0.2) < 4 * np.sqrt(0.16 / 4_000)).all()

    def test_levels_are_dealt_as_evenly_as_the_leaf(self):
        """Of the 50 records of a level, 25 get the lower half of the values, to within 3."""
        rng = np.random.default_rng(3)
        leaves, by = np.zeros(1_000, dtype=np.int64), rng.permutation(np.repeat(np.arange(20), 50))
        off = {}
        for name, column in (("by", by), ("alone", None)):
            u = np.array([chances(leaves, rng=rng, by=column) for _ in range(50)])
            low = np.array([[(draw[by == level] < 0.5).sum() for level in range(20)] for draw in u])
            off[name] = np.abs(low - 25).max()
        assert off["by"] <= 3 < off["alone"]

    def test_independent_numbers_are_those_of_the_generator(self):
        leaves = np.zeros(5, dtype=np.int64)
        drawn = chances(leaves, rng=np.random.default_rng(4), dealing="independent")
        assert drawn.tolist() == np.random.default_rng(4).random(5).tolist()
        assert len(chances(leaves[:0], rng=np.random.default_rng(4))) == 0


class TestDealing:
    def test_the_first_columns_are_those_of_the_file(self):
        """A root of n donors and n records deals every value as often as it stands there; so do its children."""
        rng = np.random.default_rng(1)
        frame = pd.DataFrame({"a": rng.integers(0, 4, 300)})
        frame["b"] = (frame["a"] + rng.integers(0, 2, 300)) % 4
        given = plan(frame, {"a": "nominal", "b": "nominal"})
        copy = copy_of(given, min_leaf=5)
        assert copy.groupby(["a", "b"]).size().equals(frame.groupby(["a", "b"]).size())
        drawn = copy_of(given, min_leaf=5, dealing="independent")
        assert not drawn["a"].value_counts().sort_index().equals(frame["a"].value_counts().sort_index())

    def test_proper_deals_as_the_donors_weigh(self):
        frame = pd.DataFrame({"a": np.arange(400) % 4, "b": 0})
        given = plan(frame, {"a": "nominal"}, kept=("b",))
        method = Sequential(model=Cart(min_leaf=5), copies=1, proper=True)
        weights = Streams(3).generator("fit", "a", 1).standard_exponential(400)
        wanted = 400 * np.bincount(frame["a"], weights=weights) / weights.sum()
        counts = method.synthesize(given, streams=Streams(3)).copies[0]["a"].value_counts().sort_index()
        assert (np.abs(counts.to_numpy() - wanted) < 1).all()

    def test_it_is_told_where_the_rule_does_not_see_it(self):
        frame = pd.DataFrame({"a": np.arange(40) % 2, "b": np.arange(40) % 3})
        part = plan(frame, {"a": "binary"}, kept=("b",))
        whole = plan(frame, {"a": "binary", "b": "nominal"})
        assert Sequential(model=Cart()).notes(whole)[0].startswith("Leaves dealt their values evenly")
        assert Sequential(model=Cart(dealing="independent")).notes(whole) == []
        assert Sequential(model=Cart()).notes(part) == []

    def test_a_column_to_deal_by_must_be_seen(self):
        given = plan(pd.DataFrame({"a": np.arange(40) % 2, "b": 0}), {"a": "binary"}, kept=("b",))
        assert problems(given, by="c") == [
            "synthesis.model.by: 'c' is not a kept or replaced column that the trees see."
        ]
        assert problems(given, by="b") == []


def observed_less_expected(time, event, group, weights=None):
    """Return the log-rank test's numerator and its hypergeometric variance, one event time after the other."""
    weights = np.ones(len(time)) if weights is None else weights
    numerator, variance = 0.0, 0.0
    for t in np.unique(time[event]):
        risk, died = time >= t, (time == t) & event
        n, d, n1 = weights[risk].sum(), weights[died].sum(), weights[risk & group].sum()
        numerator += weights[died & group].sum() - d * n1 / n
        variance += d * (n1 / n) * (1 - n1 / n) * (n - d) / (n - 1) if n > 1 else 0.0
    return numerator, variance


def lives(n=200, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, n)
    t, c = rng.exponential(np.where(x < 2, 4, 12)), rng.exponential(15, n)
    return x, np.ceil(np.minimum(t, c)), t <= c


def scores(time, event, weights=None):
    order = np.lexsort((event, time))
    clock = np.unique(time, return_inverse=True)[1]
    records = Records(order, np.empty(len(time)), np.ones(len(time)) if weights is None else weights[order])
    growing.log_rank(records, clock, event)
    found = np.empty(len(time))
    found[order] = records.y
    return found


class TestLogRank:
    def test_by_hand(self):
        """Times 1, 2+, 3: Λ = 1/3, 1/3, 4/3."""
        found = scores(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
        assert found == pytest.approx([2 / 3, -1 / 3, -1 / 3])

    @pytest.mark.parametrize("weighted", [False, True])
    def test_sums_are_observed_less_expected_events(self, weighted):
        x, time, event = lives()
        weights = np.random.default_rng(5).standard_exponential(200) if weighted else np.ones(200)
        numerator, variance = observed_less_expected(time, event, x < 2, weights)
        assert (weights * scores(time, event, weights))[x < 2].sum() == pytest.approx(numerator)
        if not weighted:
            assert survdiff(time, event, x < 2)[0] == pytest.approx(numerator**2 / variance)

    def test_the_split_has_the_largest_statistic(self):
        """Of all cuts of a number, by the permutation variance; the nodes below have scores of their own."""
        rng = np.random.default_rng(3)
        x = rng.normal(size=150)
        time = np.ceil(rng.exponential(np.where(x > 0.3, 9.0, 3.0)))
        event = rng.random(150) < 0.8
        data = Binned.make({"x": Binning.of_numbers(x)}, {"x": x}, 150)
        tree = Tree.grow(data, ("x",), time, event=event, growth=Growth(min_leaf=10, max_depth=2, min_split=20))

        def best(rows):
            found = []
            for cut in np.sort(x[rows])[9:-10]:
                left = x[rows] <= cut
                gap = observed_less_expected(time[rows], event[rows], left)[0]
                found.append((gap**2 * (1 / left.sum() + 1 / (~left).sum()), cut))
            return max(found)[1]

        first = best(np.arange(150))
        edges = [first]
        for side in (x <= first, x > first):
            rows = np.flatnonzero(side)
            if len(rows) >= 20:
                edges.append(best(rows))
        leaves = tree.apply(data.codes)
        expected = np.searchsorted(np.sort(edges), x, side="left")
        assert pd.Series(expected).groupby(leaves).nunique().eq(1).all()
        assert tree.leaves == len(edges) + 1

    def test_a_leaf_is_its_kaplan_meier_curves(self):
        """A time of the one curve and a censoring of the other: the smaller is distributed as the pairs of the leaf."""
        _, time, event = lives(60)
        time = time + np.where(event, 0.0, 0.5)
        alive, watched = (SurvfuncRight(time, status) for status in (event, ~event))

        def at(curve, t):
            before = curve.surv_times <= t
            return float(curve.surv_prob[before][-1]) if before.any() else 1.0

        for low, high in pairwise([0.0, *np.unique(time)]):
            assert at(alive, high) * at(watched, high) == pytest.approx((time > high).mean())
            died = (at(alive, low) - at(alive, high)) * at(watched, low)
            assert died == pytest.approx((event & (time == high)).mean())


class TestSurvival:
    @pytest.fixture(scope="class")
    @classmethod
    def given(cls):
        x, time, event = lives(600, 2)
        return plan(
            pd.DataFrame({"died": event.astype(int), "x": x, "time": time}),
            {"died": "binary", "x": "nominal", "time": "continuous"},
        )

    def test_pairs_stay_pairs_and_groups_keep_their_curves(self, given):
        frame = given.data.frame
        copy = copy_of(given, survival={"time": "died"}, smoothing=False, min_leaf=20)
        pairs = set(zip(frame["time"], frame["died"], strict=True))
        assert set(zip(copy["time"], copy["died"], strict=True)) <= pairs
        for level in range(4):
            curves = [
                SurvfuncRight(one["time"][one["x"] == level], one["died"][one["x"] == level]) for one in (frame, copy)
            ]
            medians = [curve.quantile(0.5) for curve in curves]
            assert medians[0] == pytest.approx(medians[1], abs=3)
        apart, same = ((one["x"] < 2) for one in (copy, frame))
        assert survdiff(copy["time"], copy["died"], apart)[0] > 0.5 * survdiff(frame["time"], frame["died"], same)[0]

    def test_the_event_comes_after_its_time(self, given):
        assert Cart(survival={"time": "died"}).visits(given.data) == ("x", "time", "died")

    def test_a_transplant_register(self):
        frame = heart.load_pandas().data.astype({"censors": int})
        given = plan(frame, {"survival": "continuous", "censors": "binary", "age": "continuous"}, kept=("age",))
        copy = copy_of(given, survival={"survival": "censors"}, min_leaf=10)
        curves = [SurvfuncRight(one["survival"], one["censors"]) for one in (frame, copy)]
        low, high = curves[0].quantile_ci(0.5)
        assert low <= curves[1].quantile(0.5) <= high
        assert abs(copy["censors"].mean() - frame["censors"].mean()) < 0.1

    def test_what_cannot_be_a_time_or_an_event(self, given):
        where = "synthesis.model.survival."
        assert problems(given, survival={"when": "died"}) == [f"{where}when: 'when' is not a replaced column."]
        assert problems(given, survival={"x": "died"}) == [f"{where}x: the time must be a number."]
        three = f"{where}time: the event x must have two levels, the second of which says that it happened, found 4."
        assert problems(given, survival={"time": "x"}) == [three]
        late = f"{where}time: the event died must come after its time in synthesis.model.order."
        assert problems(given, survival={"time": "died"}, order=("died", "time", "x")) == [late]
        gaps = given.data.frame.astype({"died": "Int64"})
        gaps.loc[:2, "died"] = pd.NA
        holed = plan(gaps, {"died": "binary", "x": "nominal", "time": "continuous"})
        unknown = "the event died must be known wherever the time is, found 3 records where it is missing"
        assert problems(holed, survival={"time": "died"}) == [f"{where}time: {unknown}."]
        frame = given.data.frame.assign(time=given.data.frame["time"].where(given.data.frame["x"] > 0, 0.0))
        ruled = problems(
            plan(frame, {"died": "binary", "x": "nominal", "time": "continuous"}),
            survival={"time": "died"},
            rules={"time": "x == 0"},
        )
        both = "a time and its event cannot have rules, as both come from one donor; found one of time"
        assert ruled == [f"{where}time: {both}."]


class TestNested:
    @pytest.fixture(scope="class")
    @classmethod
    def given(cls):
        rng = np.random.default_rng(1)
        group = rng.choice(list("abcdN"), 800, p=[0.4, 0.3, 0.2, 0.01, 0.09])
        job = np.where(group == "N", None, np.char.add(group.astype(str), rng.integers(0, 9, 800).astype(str)))
        frame = pd.DataFrame({"job": job, "group": group, "pay": rng.normal(size=800)})
        return plan(frame, {"job": "nominal", "group": "nominal", "pay": "continuous"})

    @pytest.mark.parametrize("proper", [False, True])
    def test_values_are_those_of_the_group(self, given, proper):
        method = Sequential(model=Cart(nested={"job": "group"}, min_leaf=100), copies=2, proper=proper)
        assert method.problems(given) == []
        for copy in method.synthesize(given, streams=Streams(1)).copies:
            assert (copy["job"].isna() == (copy["group"] == "N")).all()
            known = copy[copy["job"].notna()]
            assert (known["job"].str[0] == known["group"]).all()
        plain = copy_of(given, min_leaf=100, order=("group", "job", "pay"))
        assert (plain["job"].str[0] != plain["group"])[plain["job"].notna()].any()

    def test_a_group_is_split_by_other_columns(self):
        frame = pd.DataFrame({"z": np.arange(400) % 2, "group": np.arange(400) // 200})
        frame["job"] = 2 * frame["group"] + frame["z"]
        given = plan(frame, {"job": "nominal", "group": "nominal", "z": "binary"}, kept=("z",))
        copy = copy_of(given, nested={"job": "group"}, min_leaf=5)
        assert (copy["job"] == 2 * copy["group"] + copy["z"]).all()

    def test_it_comes_after_its_group(self, given):
        assert Cart(nested={"job": "group"}).visits(given.data) == ("group", "job", "pay")

    def test_a_group_of_few_would_be_released_as_it_is(self):
        group = np.repeat(["a", "b", "c", "d"], [50, 45, 4, 1])
        given = plan(pd.DataFrame({"pay": np.arange(100.0), "group": group}), {"pay": "continuous"}, kept=("group",))
        few = (
            "every group of group must have values of at least 5 records, found 2 with fewer, which would be released "
            "as they are; merge rare groups first (variables.group.rare), or set a smaller synthesis.model.min_leaf."
        )
        assert problems(given, nested={"pay": "group"}) == [f"synthesis.model.nested.pay: {few}"]
        assert problems(given, nested={"pay": "group"}, min_leaf=1) == []

    def test_what_cannot_be_nested(self, given):
        where = "synthesis.model.nested."
        assert problems(given, nested={"work": "group"}) == [f"{where}work: is not a replaced column."]
        unseen = f"{where}job: 'branch' is not a kept or replaced column that the trees see."
        assert problems(given, nested={"job": "branch"}) == [unseen]
        number = f"{where}job: the column it is nested in must have levels, pay is a number."
        assert problems(given, nested={"job": "pay"}) == [number]
        early = f"{where}job: must come after group, in which it is nested."
        assert problems(given, nested={"job": "group"}, order=("job", "group", "pay")) == [early]
        ring = problems(given, nested={"job": "group", "group": "job"}, min_leaf=1)
        assert len(ring) == 1
        assert "must come after" in ring[0]


class TestLeaf:
    def test_coarse_and_fine_columns(self):
        """Five columns of five levels make many unique and leaves grow; a fine number is smoothed."""
        rng = np.random.default_rng(1)
        first = rng.integers(0, 3, 2_000)
        frame = pd.DataFrame({f"c{j}": (first + rng.integers(0, 3, 2_000)) % 5 for j in range(5)})
        given = plan(frame, dict.fromkeys(frame.columns, "nominal"))
        coarse = Cart().chosen(given.data, rng=np.random.default_rng(2)).min_leaf
        fine = plan(
            frame.assign(x=rng.normal(size=2_000)), {**dict.fromkeys(frame.columns, "nominal"), "x": "continuous"}
        )
        assert coarse > 5 == Cart().chosen(fine.data, rng=np.random.default_rng(2)).min_leaf
        released = Sequential(copies=1).synthesize(given, streams=Streams(1))
        assert released.chain[0]["min_leaf"] in (10, 20, 50, 100)

    def test_what_is_stated_stays(self):
        given = plan(pd.DataFrame({"a": np.arange(10), "b": 0}), {"a": "continuous"}, kept=("b",))
        stated = Cart(min_leaf=7)
        assert stated.chosen(given.data, rng=np.random.default_rng(1)) is stated
        assert Cart().chosen(given.data, rng=np.random.default_rng(1)).min_leaf == 5
