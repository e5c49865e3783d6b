"""Pairs known by products of scores: the model by enumeration, what a record moves by search, and copies that cover."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from synthdp.inference.rules import RULES
from synthdp.inference.rules.rule import Replicates
from synthdp.privacy.accounting.accountants import cost
from synthdp.privacy.audit import epsilon_bound, repeated
from synthdp.privacy.mechanisms import Simulated
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.encoding import MOST_CORNERS, encoded, grouped, joined, lowest, moved, ordered
from synthdp.synthesis.private.halves import Halves
from synthdp.synthesis.private.measured import DpTables
from synthdp.synthesis.private.shrinking import Shrunk, spread_of
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

LEVELS = {
    "a": Variable(role="replace", kind="ordinal", levels=tuple(range(7))),
    "b": Variable(role="replace", kind="ordinal", levels=tuple(range(7))),
    "c": Variable(role="replace", kind="nominal", levels=("x", "y", "z")),
    "d": Variable(role="replace", kind="binary", levels=(0, 1)),
}
SCORED = {"delta": 1e-6, "source": "simulated", "associations": "scores"}


def records(n=4000, seed=1) -> pd.DataFrame:
    """Return columns of which the first two correlate .93 and fill 19 of 49 cells."""
    rng = np.random.default_rng(seed)
    a = rng.choice(7, n, p=[0.05, 0.17, 0.26, 0.22, 0.14, 0.1, 0.06])
    b = np.clip(a + rng.choice([-1, 0, 1], n, p=[0.25, 0.5, 0.25]), 0, 6)
    c = rng.choice(["x", "y", "z"], n, p=[0.6, 0.35, 0.05])
    d = (rng.random(n) < 1 / (1 + np.exp(1.2 - 0.3 * a - 0.4 * (c == "z")))).astype(int)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d})


def plan(frame=None, variables=None, **more) -> Plan:
    data = resolve(records() if frame is None else frame, variables or LEVELS)
    return Plan(data, tag(data, Neighbours()), **more)


def small() -> Halves:
    rng = np.random.default_rng(1)
    vectors = [rng.normal(size=(3, 1)), rng.normal(size=(4, 2)), rng.normal(size=(2, 1)), rng.normal(size=(3, 3))]
    return Halves(vectors, [(0, 1), (0, 2), (1, 3), (2, 3)])


class TestHalves:
    def test_by_enumeration(self):
        model, rng = small(), np.random.default_rng(2)
        theta, toward = rng.normal(size=(2, model.parameters))
        cells = np.array(list(itertools.product(range(3), range(4), range(2), range(3))))
        rows = model.features(cells)
        assert rows[:, model.products[1, 3]].shape == (72, 6)
        weights = np.exp(rows @ theta)
        p = weights / weights.sum()
        mu = p @ rows
        sigma = (rows * p[:, None]).T @ rows - np.outer(mu, mu)
        np.testing.assert_allclose(model.means(theta), mu, atol=1e-12)
        for found, expected in zip(model.pushed(theta, lambda _: toward), (mu, sigma @ toward), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)
        drawn = model.draw(theta, 40_000, rng=rng)
        counts = np.bincount(np.ravel_multi_index(tuple(drawn.T), (3, 4, 2, 3)), minlength=72) / 40_000
        assert np.abs(counts - p).max() < 4 * math.sqrt(p.max() / 40_000)

    def test_covariance_is_that_of_records(self):
        model = small()
        theta = np.random.default_rng(3).normal(size=model.parameters) / 2
        found = model.covariance(theta, rng=np.random.default_rng(4))
        step = np.random.default_rng(5).normal(size=model.parameters)
        expected = model.pushed(theta, lambda _: step)[1]
        # a mean over 20,000 records of products whose own sd is a few times what they are
        np.testing.assert_allclose(found @ step, expected, atol=4 * 30 / math.sqrt(20_000))


class TestEncoding:
    def test_levels_are_corners(self):
        axis = DpTables().domain(plan()).axes[2]
        vectors = encoded(axis, np.array([5.0, 3.0, 1.0]), 9, 10, 1.0).vectors
        np.testing.assert_allclose(vectors @ vectors.T, 1.5 * np.eye(3) - 0.5, atol=1e-12)
        assert lowest(axis) == -0.5
        assert not ordered(axis)

    def test_scores_are_means_of_groups(self):
        axis = DpTables().domain(plan()).axes[0]
        found = encoded(axis, np.array([200.0, 300.0, 250.0, 100.0, 60.0, 2.0, 1.0]), 913, 10, 5.0)
        assert found.group.tolist() == [0, 1, 2, 3, 4, 4, 4]
        high = (4 * 60 + 5 * 2 + 6 * 1) / 63
        np.testing.assert_allclose(found.vectors[:, 0], np.array([0, 1, 2, 3, high]) / high * 2 - 1, atol=1e-9)

    def test_what_is_no_value_has_its_own_direction(self):
        frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, None] * 20, "y": [0, 1] * 40})
        given = plan(
            frame,
            {
                "x": Variable(role="replace", kind="semicontinuous", bounds=(0, 9), decimals=0),
                "y": Variable(role="replace", kind="binary", levels=(0, 1)),
            },
        )
        method = DpTables(**SCORED, epsilon=20.0, missing=("x",), bins=3, copies=2)
        axis = method.domain(given).axes[0]
        found = encoded(axis, np.full(5, 16.0), 80, 10, 1.0)
        np.testing.assert_array_equal(found.vectors[3:], [[0, 1, 0], [0, 0, 1]])
        assert (np.linalg.norm(found.vectors, axis=1) <= 1 + 1e-12).all()
        assert method.problems(given) == []
        for copy in method.synthesize(given, streams=Streams(1)):
            assert copy["x"].isna().mean() == pytest.approx(0.25, abs=0.25)

    def test_one_group(self):
        axis = DpTables().domain(plan()).axes[0]
        np.testing.assert_array_equal(encoded(axis, np.eye(7)[0], 1, 10, 1.0).vectors, [[0.0]])

    def test_groups(self):
        heap = np.array([1.0] * 40 + [47.0] + [1.0] * 58)
        found = grouped(heap, 10)
        assert found.max() < 10
        assert (np.diff(found) >= 0).all()
        assert (found == found[40]).sum() == 1
        np.testing.assert_array_equal(joined(np.arange(3), np.zeros(3), 1.0), [0, 0, 0])

    def test_names_of_levels_are_placed_in_their_order(self):
        frame = pd.DataFrame({"e": ["low", "high", "middle"] * 10})
        given = plan(frame, {"e": Variable(role="replace", kind="ordinal", levels=("low", "middle", "high"))})
        found = encoded(DpTables().domain(given).axes[0], np.full(3, 10.0), 30, 10, 1.0)
        np.testing.assert_allclose(found.vectors[:, 0], [-1, 0, 1], atol=1e-12)

    @pytest.mark.parametrize("looks", [(0.0,) * 4, (1.0, 0.0, 0.0, 0.5)])
    def test_no_record_moves_the_sums_further(self, looks):
        """By all pairs of records: two scores, three corners, two levels; the bound is met."""
        simplex = np.array([[0, 1], [math.sqrt(3) / 2, -0.5], [-math.sqrt(3) / 2, -0.5]])
        score = np.linspace(-1, 1, 3)[:, None]
        vectors, low = [score, score, simplex, np.array([[-1.0], [1.0]])], [-1.0, -1.0, -0.5, -1.0]
        weights = {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 0.3, (1, 3): 1.0, (2, 3): 0.3}

        def row(cells):
            said = [vectors[v][cell] for v, cell in enumerate(cells)]
            both = [w * np.outer(said[a], said[b]).ravel() for (a, b), w in weights.items()]
            return np.concatenate([*both, *(look * one for look, one in zip(looks, said, strict=True))])

        every = np.array([row(cells) for cells in itertools.product(range(3), range(3), range(3), range(2))])
        worst = max(np.linalg.norm(every - one, axis=1).max() for one in every)
        assert worst == pytest.approx(moved(low, weights, looks))

    def test_long_vectors_are_bounded_by_the_ball(self):
        rng, worst = np.random.default_rng(1), 0.0
        weights = {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 0.5}
        claimed = moved([-1.0] * 3, weights, [1.0, 0.0, 0.0])
        for _ in range(4000):
            drawn = rng.normal(size=(2, 3, 2))
            drawn *= rng.choice([1.0, 1.0, 0.7], size=(2, 3, 1)) / np.linalg.norm(drawn, axis=2, keepdims=True)
            one, two = (
                np.concatenate([*(w * np.outer(x[a], x[b]).ravel() for (a, b), w in weights.items()), x[0]])
                for x in drawn
            )
            worst = max(worst, float(np.linalg.norm(one - two)))
        assert 0.9 * claimed < worst <= claimed

    def test_many_columns_pay_a_little_more(self):
        k = MOST_CORNERS + 1
        weights = dict.fromkeys(itertools.combinations(range(k), 2), 1.0)
        # of scores at −1 or 1 the worst change turns half of them: 4·7·8
        assert 4 * 7 * 8 <= moved([-1.0] * k, weights, [0.0] * k) ** 2 == pytest.approx(4 * k * (k - 1) / 2)


class TestPrior:
    def test_gradient_by_differences(self):
        model = small()
        prior = Shrunk.of(model, [0.5, 0.3, None, None])
        rng = np.random.default_rng(2)
        theta, step = 3 * rng.normal(size=(2, model.parameters))
        ends = [prior(theta + h * step)[0] for h in (1e-6, -1e-6)]
        value, slope, precision = prior(theta)
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope @ step, rel=1e-5)
        np.testing.assert_allclose(precision * theta, slope)
        assert value > 0

    def test_two_scores_have_the_tail_of_a_uniform_correlation(self):
        """1/(4κ²) is what r = uniform gives κ = r/(1 − r²), and the Cauchy's tail is scale/(πκ²)."""
        found = Shrunk.of(Halves([np.array([[-1.0], [1.0]])] * 2, [(0, 1)]), [0.5, 0.4])
        assert found.scales[0] * 0.5 * 0.4 / math.pi == pytest.approx(0.25)
        uniform = np.random.default_rng(1).uniform(-1, 1, 400_000)
        far = (np.abs(uniform / (1 - uniform**2)) > 10).mean()
        assert far == pytest.approx(2 * 0.25 / 10, rel=0.06)

    def test_spread(self):
        assert spread_of(np.array([-1.0, 1.0]), np.array([3.0, 1.0])) == pytest.approx(math.sqrt(0.75))
        assert spread_of(np.array([-1.0, 1.0]), np.array([3.0, -1.0])) == 0.1


class TestCopies:
    def test_second_look_is_least_squares_of_both(self):
        frame = pd.DataFrame({"x": np.arange(600) % 50, "d": np.arange(600) % 2})
        given = plan(frame, {"x": Variable(role="replace", kind="count", bounds=(0, 49)), "d": LEVELS["d"]})
        method = DpTables(**SCORED, epsilon=30.0, bins=50)
        domain = method.domain(given)
        release = method.release(given, domain)
        assert release.looks == [1.0, 0.0]
        found = release.measured(domain.encode(given.data), Simulated(np.random.default_rng(1)))
        model = Halves([column.vectors for column in found.columns], [(0, 1)])
        known, column, span = found.known(model), found.columns[0], model.mains[0]
        first = np.bincount(column.group, found.margins[0])
        spread = release.margins.sd**2 * np.bincount(column.group)
        matrix = np.vstack([np.eye(column.size), column.vectors.T])
        weights = np.diag(1 / np.concatenate([spread, [release.products.sd**2]]))
        inverse = np.linalg.inv(matrix.T @ weights @ matrix)
        seen = np.concatenate([first, found.sums[1:]])
        np.testing.assert_allclose(known.y[span], inverse @ matrix.T @ weights @ seen, rtol=1e-8)
        np.testing.assert_allclose(known.noise[span, span], inverse, rtol=1e-8, atol=1e-9)

    @pytest.mark.parametrize("inference", ["plug_in", "noise_aware"])
    def test_contract(self, inference):
        given = plan()
        method = DpTables(**SCORED, epsilon=1.0, copies=3, inference=inference)
        assert method.problems(given) == []
        first, second = (method.synthesize(given, streams=Streams(7)) for _ in range(2))
        more = method.model_copy(update={"copies": 4}).synthesize(given, streams=Streams(7)).copies
        for one, two, three in zip(first.copies, second.copies, more, strict=False):
            pd.testing.assert_frame_equal(one, two)
            assert list(one.columns) == list("abcd")
            assert one.shape == three.shape
        assert first.rule == ("noise_aware" if inference == "noise_aware" else "raab2016")
        assert 0.999 < cost(first.privacy.event, 1e-6).epsilon <= 1.0 + 1e-9
        assert first.privacy.section()["shares"] == {"margins": 0.4, "products": 0.6}

    def test_correlations_are_not_pulled(self):
        """Tables of these columns at this budget pull .93 to about .87, with intervals that do not know."""
        frame, widths = records(), []
        true = float(np.corrcoef(frame["a"], frame["b"])[0, 1])
        for seed in (1, 2, 3):
            made = DpTables(**SCORED, epsilon=1.0).synthesize(plan(frame), streams=Streams(seed))
            found = np.arctanh([np.corrcoef(copy["a"], copy["b"])[0, 1] for copy in made])
            spread = (
                RULES["noise_aware"]
                .spread(Replicates(found[:, None], np.full((len(found), 1), 1 / len(frame))))
                .variance[0]
            )
            widths.append((found.mean() - math.atanh(true)) / math.sqrt(spread))
        assert np.abs(np.mean(widths)) < 4 / math.sqrt(3)

    def test_columns_outside_the_workload_follow_their_margin(self):
        given = plan(analyses=(("a", "d"),))
        method = DpTables(**SCORED, epsilon=3.0, workload="analyses", copies=2)
        domain = method.domain(given)
        assert method.weights(given, domain) == {(0, 3): 1.0}
        weighed = method.model_copy(update={"others": 0.5}).weights(given, domain)
        assert weighed == {pair: 1.0 if pair == (0, 3) else 0.5 for pair in itertools.combinations(range(4), 2)}
        for copy in method.synthesize(given, streams=Streams(1)):
            assert (copy["c"] == "x").mean() == pytest.approx(0.6, abs=0.05)
            assert abs(np.corrcoef(copy["a"], copy["b"])[0, 1]) < 0.1

    def test_what_does_not_fit_is_refused(self):
        given = plan()
        assert DpTables(delta=1e-6, others=0.5).problems(given) == [
            "synthesis.others: weighs pairs outside the workload, which associations: tables does not measure."
        ]
        unknown = ({"by": "c"}, {"bins": "dp_quantiles"}, {"zeros": ("a > 99",)}, {"dealing": "systematic"})
        for more in unknown:
            assert DpTables(**SCORED, epsilon=1.0, inference="plug_in", **more).problems(given) == [
                "synthesis.associations: scores know no by, dealing, zeros, constraints or applies_when, nor bins and "
                "levels that are found; leave these out, or use tables."
            ]
        pairs_only = ["synthesis.workload: associations: scores takes pairs of columns, and needs one at least."]
        assert DpTables(**SCORED, workload="triples").problems(given) == pairs_only
        assert DpTables(**SCORED, workload=(("a",),)).problems(given) == pairs_only
        assert DpTables(**SCORED, model_cells=53).problems(given) == [
            "synthesis.workload: its columns have more than 53 cells together (model_cells), even with ordered ones in "
            "3 groups; those without an order have 6. Use fewer columns, or group levels."
        ]
        assert DpTables(**SCORED, model_cells=54).problems(given) == []

    def test_so_little_budget_is_said(self):
        given = plan()
        assert DpTables(**SCORED, epsilon=1.0).notes(given) == []
        (said,) = DpTables(**SCORED, epsilon=1e-3).notes(given)
        assert "of the smallest margin" in said
        few = plan(records(60))
        found = [DpTables(**SCORED, epsilon=epsilon).notes(few) for epsilon in np.geomspace(0.01, 100, 60)]
        assert any("how columns hang together is mostly noise" in one for said in found for one in said)

    def test_audit(self):
        """Two files that differ in one record, told apart by margins and a product together."""
        files = []
        for last in ((6, 6, "z", 1), (0, 6, "x", 0)):
            frame = records(40)
            frame.loc[39] = last
            files.append(plan(frame))

        def bound(epsilon):
            method = DpTables(epsilon=epsilon, delta=1e-3, associations="scores")
            domain = method.domain(files[0])
            release = method.release(files[0], domain)

            def told(one, rng):
                found = release.measured(domain.encode(one.data), Simulated(rng))
                ends = found.margins[0][6] - found.margins[0][0] + found.margins[3][1] - found.margins[3][0]
                return [float(ends + found.sums[0])]

            return epsilon_bound(repeated(told), *files, runs=250, delta=1e-3, rng=np.random.default_rng(5)).epsilon

        assert bound(0.5) <= 0.5 < bound(60.0)
