"""Copies that know of the noise: posteriors against enumeration, the rule they are combined by, and what is refused."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
import yaml

from synthdp import config as configs
from synthdp.api import pool
from synthdp.config.settings import METHODS
from synthdp.evaluation.gate.limits import OFF
from synthdp.inference.rules import RULES
from synthdp.inference.rules.rule import Replicates
from synthdp.pipeline import run
from synthdp.privacy.accounting.accountants import cost
from synthdp.privacy.audit import epsilon_bound, repeated
from synthdp.privacy.mechanisms import Simulated
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private import aim
from synthdp.synthesis.private.aim import Choosing
from synthdp.synthesis.private.fitting import Noisy, nearest
from synthdp.synthesis.private.junction import blocks_of, cells_of, pairs, table_of
from synthdp.synthesis.private.measured import DpTables, looked
from synthdp.synthesis.private.mst import DpMst
from synthdp.synthesis.private.normal import DpNormal, Sums, drawn, law_of, moments, place_of, places_of
from synthdp.synthesis.private.posterior import ByBlocks, Enumerated, draws, posterior_of
from synthdp.synthesis.private.prepared import SHY
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

SIZES = (3, 2, 2)
ALL_PAIRS = pairs(3)
RNG = np.random.default_rng


def records(n=600, seed=1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = (rng.random(n) < 0.2 + 0.25 * a).astype(int)
    c = (rng.random(n) < 1 / (1 + np.exp(0.5 - 0.6 * a + 0.8 * b))).astype(int)
    return np.column_stack([a, b, c])


def noisy(sd, tables=ALL_PAIRS, n=600, seed=1) -> Noisy:
    rng, cells = np.random.default_rng(seed + 100), records(n, seed)
    found = Noisy(SIZES, {}, n)
    for table in tables:
        counts = table_of(cells, table, SIZES)
        found = found.joined(table, counts + rng.normal(0, sd, counts.shape), sd**2)
    return found


class TestPosterior:
    def test_both_ways_to_margins_agree(self):
        given, rng = noisy(5.0), np.random.default_rng(1)
        one, two = Enumerated(given), ByBlocks(given)
        theta, toward = rng.normal(size=given.cells), rng.normal(size=given.cells)
        for a, b in zip(one.pushed(theta, lambda mu: toward), two.pushed(theta, lambda mu: toward), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)
        exact, simulated = (way.covariance(theta, rng=rng) for way in (one, two))
        np.testing.assert_allclose(simulated, exact, atol=4 * 0.5 / math.sqrt(100_000))
        np.testing.assert_allclose(exact @ toward, one.pushed(theta, lambda mu: toward)[1], atol=1e-12)

    def test_large_domains_keep_their_zeros_out(self):
        rng = np.random.default_rng(2)
        given = Noisy((12, 12, 12), {}, 100)
        for table in pairs(3):
            given = given.joined(table, np.full((12, 12), 100 / 144), 4.0)
        theta, toward = rng.normal(size=given.cells), rng.normal(size=given.cells)
        one, two = Enumerated(given), ByBlocks(given)
        np.testing.assert_allclose(
            one.pushed(theta, lambda mu: toward)[1], two.pushed(theta, lambda mu: toward)[1], atol=1e-12
        )
        np.testing.assert_allclose(
            one.covariance(theta, rng=rng) @ toward, two.pushed(theta, lambda mu: toward)[1], atol=1e-12
        )

    def test_gradient_by_differences(self):
        found = posterior_of(noisy(10.0), rng=np.random.default_rng(1))
        rng = np.random.default_rng(3)
        z, step = rng.normal(size=len(found.mode)), rng.normal(size=len(found.mode))
        ends = [found.energy(z + h * step)[0] for h in (1e-5, -1e-5)]
        assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(found.energy(z)[1] @ step, rel=1e-5)

    @pytest.mark.parametrize("sd", [2.0, 60.0])
    def test_by_enumeration(self, sd):
        """One binary column and one table: the posterior of its share on a grid, by the same density."""
        given = Noisy((2,), {(0,): (np.array([70.0 + 0.3 * sd, 130.0 - 0.1 * sd]), sd**2)}, 200)
        found = posterior_of(given, rng=np.random.default_rng(1))
        chain, accepted = draws(found, 800, rng=np.random.default_rng(2))
        shares = np.array([found.means.means(theta)[0] for theta in chain])
        # what the two parameters add is in no probability: their difference is normal with variance 2·6²
        odds = np.linspace(-25, 25, 20_001)
        grid = 1 / (1 + np.exp(-odds))
        gap = given.flat()[:, None] - 200 * np.vstack([grid, 1 - grid])
        density = np.exp(-0.5 * (gap * (found.precision @ gap)).sum(axis=0) - odds**2 / (4 * 6.0**2))
        density /= density.sum()
        mean = (density * grid).sum()
        spread = math.sqrt((density * (grid - mean) ** 2).sum())
        assert accepted > 0.6
        # 800 kept steps are worth several hundred independent draws
        assert shares.mean() == pytest.approx(mean, abs=4 * spread / math.sqrt(300))
        assert shares.std() == pytest.approx(spread, rel=4 / math.sqrt(2 * 300))

    def test_little_noise_gives_the_posterior_of_the_data(self):
        """With next to no noise the share of a level has the sampling variance p(1 − p)/n."""
        found = posterior_of(noisy(0.1), rng=np.random.default_rng(1))
        chain, _ = draws(found, 400, rng=np.random.default_rng(2))
        shares = np.array([found.means.means(theta)[:6].reshape(3, 2).sum(axis=1) for theta in chain])
        p = np.bincount(records()[:, 0]) / 600
        np.testing.assert_allclose(shares.mean(axis=0), p, atol=4 * math.sqrt(0.25 / 600 / 100))
        np.testing.assert_allclose(shares.std(axis=0), np.sqrt(p * (1 - p) / 600), rtol=4 / math.sqrt(2 * 150))

    def test_first_draws_do_not_depend_on_how_many(self):
        found = posterior_of(noisy(10.0), rng=np.random.default_rng(1))
        few, many = (draws(found, count, rng=np.random.default_rng(5))[0] for count in (2, 4))
        np.testing.assert_array_equal(few, many[:2])

    def test_laplace_is_near_where_noise_is_small(self):
        found = posterior_of(noisy(1.0), rng=np.random.default_rng(1))
        chain, _ = draws(found, 300, rng=np.random.default_rng(2))
        normal, _ = draws(found, 300, rng=np.random.default_rng(3), laplace=True)
        one, two = (np.array([found.means.means(theta) for theta in given]) for given in (chain, normal))
        common = one.mean(axis=0) > 0.05
        np.testing.assert_allclose(one.std(axis=0)[common], two.std(axis=0)[common], rtol=0.35)


class TestRule:
    @pytest.mark.parametrize(("noise", "expected"), [(0.0, 0.971), (0.25, 0.964), (1.0, 0.954), (49.0, 0.950)])
    def test_coverage_for_normal_estimates(self, noise, expected):
        """Posterior variance 1 + noise in units of the sampling variance: what the docstring says."""
        rng, runs, m = np.random.default_rng(1), 40_000, 20
        spread = 1 + noise
        centre = rng.normal(0, math.sqrt(spread), runs)
        q = centre + rng.normal(0, math.sqrt(spread + 1), (m, runs))
        found = RULES["noise_aware"].spread(Replicates(q, np.ones((m, runs))))
        from scipy.special import stdtrit

        covered = (np.abs(q.mean(axis=0)) <= stdtrit(found.df, 0.975) * np.sqrt(found.variance)).mean()
        assert covered == pytest.approx(expected, abs=4 * math.sqrt(0.05 * 0.95 / runs))

    def test_never_below_what_it_is_without_noise(self):
        rng = np.random.default_rng(2)
        replicates = Replicates(rng.normal(0, 0.01, (5, 50)), np.ones((5, 50)))
        floor = RULES["raab2016_proper"].spread(replicates).variance
        found = RULES["noise_aware"].spread(replicates)
        np.testing.assert_allclose(found.variance, floor)
        assert np.isinf(found.df).all()


LEVELS = {"a": Variable(role="replace", levels=("0", "1", "2")), **dict.fromkeys(
    "bc", Variable(role="replace", levels=("0", "1")))}  # fmt: skip


def frame_of(cells) -> pd.DataFrame:
    return pd.DataFrame(cells, columns=list("abc")).astype(str)


def plan(frame=None, variables=None, **more) -> Plan:
    data = resolve(frame_of(records()) if frame is None else frame, variables or LEVELS)
    return Plan(data, tag(data, Neighbours()), **more)


class TestTables:
    def test_tables_of_a_workload(self):
        given = plan(analyses=(("c", "a"), ("b",)))
        domain = DpTables(delta=1e-6).domain(given)
        for workload, tables in (
            ("pairs", {(0, 1), (0, 2), (1, 2)}),
            ("triples", {(0, 1, 2)}),
            ("analyses", {(0, 2), (1,)}),
            ((("b", "a"), ("a",)), {(0, 1), (2,)}),
        ):
            assert set(DpTables(delta=1e-6, workload=workload).tables(given, domain)) == tables

    def test_cost_is_the_claim(self):
        made = DpTables(epsilon=1.0, delta=1e-6, source="simulated", copies=2).synthesize(plan(), streams=Streams(1))
        assert 0.999 < cost(made.privacy.event, 1e-6).epsilon <= 1.0 + 1e-9
        assert made.rule == "noise_aware"
        assert made.design.facts()["noise_aware"] is True

    def test_copies_are_twenty_unless_somebody_says(self):
        assert (DpTables().copies, DpTables(copies=3).copies, DpTables(inference="plug_in").copies) == (20, 3, 5)
        assert (DpMst().copies, DpMst(inference="noise_aware").copies) == (5, 20)

    @pytest.mark.parametrize("method", ["dp_tables", "dp_mst", "dp_aim"])
    def test_intervals_know_of_the_noise(self, method):
        """With much noise they are as wide as the noise of a share; plug-in ones as if there were none."""
        widths = {}
        for inference in ("plug_in", "noise_aware"):
            made = METHODS[method](
                epsilon=0.3, delta=1e-6, source="simulated", inference=inference, copies=20
            ).synthesize(plan(), streams=Streams(1))
            found = RULES[made.rule].spread(
                Replicates(
                    np.array([[(copy["c"] == "1").mean()] for copy in made]),
                    np.array([[(copy["c"] == "1").var() / 600] for copy in made]),
                )
            )
            widths[inference] = math.sqrt(found.variance[0])
        assert widths["noise_aware"] > 1.5 * widths["plug_in"]

    def test_what_does_not_fit_is_refused(self):
        given = plan()

        def problems(**settings):
            return DpTables(**settings).problems(given)

        assert problems() == [
            "synthesis.delta: noise_aware knows of Gaussian noise only, which needs one above 0, as 1e-6."
        ]
        assert problems(inference="plug_in") == [
            "synthesis.delta: dp_tables adds Gaussian noise, which needs one above 0, such as 1e-6."
        ]
        assert problems(delta=1e-6, copies=1) == [
            "synthesis.copies: noise_aware intervals come from how copies differ; make at least 2."
        ]
        assert problems(delta=1e-6, workload="analyses") == [
            "synthesis.workload: analyses, but the config has none; name columns, or use pairs."
        ]
        assert problems(delta=1e-6, workload=(("a", "aa"), ())) == [
            "synthesis.workload: no column named 'aa'.",
            "synthesis.workload: every table needs a column at least.",
        ]
        assert problems(delta=1e-6, model_cells=10) == [
            "synthesis.workload: its tables hang together in a model of 12 cells, and model_cells is 10; use fewer "
            "bins, a smaller workload, or dp_aim, which chooses tables."
        ]
        wide = {name: Variable(role="replace", kind="count", bounds=(0, 99)) for name in "xyz"}
        numbers = plan(pd.DataFrame(dict.fromkeys("xyz", np.arange(100))), wide)
        assert DpTables(delta=1e-6, bins=40, workload=(("x", "y"), ("y", "z"), ("x",))).problems(numbers) == []
        assert DpTables(delta=1e-6, bins=50, workload=(("x", "y"), ("y", "z"))).problems(numbers) == [
            "synthesis.workload: its tables have 5,000 cells, noise_aware takes at most 4,000; use fewer bins, a "
            "smaller workload, or inference plug_in."
        ]
        assert DpMst(delta=1e-6, bins=50, inference="noise_aware").problems(numbers) == [
            "synthesis.bins: margins and a tree of pairs may have 5,150 cells, noise_aware takes at most 4,000; use "
            "fewer bins, or inference plug_in."
        ]

    def test_sparse_tables_are_said(self):
        """From public numbers: noise that is not small beside a mean cell of the widest table."""
        given, other = plan(), plan(frame_of(records(seed=2)))
        assert DpTables(epsilon=20.0, delta=1e-6).notes(given) == []
        (said,) = DpTables(epsilon=0.5, delta=1e-6).notes(given)
        assert "in each cell of a and b, of which a mean one holds 100 records" in said
        assert DpTables(epsilon=0.5, delta=1e-6).notes(other) == [said]
        assert DpTables(epsilon=0.5, delta=1e-6, inference="plug_in").notes(given) == []

    def test_through_run_and_analyse(self, tmp_path):
        frame_of(records()).assign(c=records()[:, 2]).to_csv(tmp_path / "people.csv", index=False)
        raw = {
            "data": {"path": "people.csv"},
            "variables": {
                "a": {"role": "replace", "kind": "nominal", "levels": [0, 1, 2]},
                "b": {"role": "replace", "kind": "binary", "levels": [0, 1]},
                "c": {"role": "replace", "kind": "binary", "levels": [0, 1]},
            },
            "synthesis": {"method": "dp_tables", "epsilon": 2.0, "delta": 1e-6, "workload": "analyses", "copies": 6},
            "analyses": [{"name": "c", "model": "logit", "formula": "c ~ C(a) + b"}],
            "release": {"recorded_in": "none", **OFF.model_dump()},
        }
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(raw))
        outcome = run(configs.load(tmp_path / "config.yaml"), out=tmp_path / "out")
        described = json.loads((outcome.public / "release.json").read_text())
        assert described["rule"] == "noise_aware"
        assert described["design"]["noise_aware"] is True
        assert described["privacy"]["epsilon"] == 2.0
        pooled = pool(outcome.public, model="logit", formula="c ~ C(a) + b")
        assert pooled.rule == "noise_aware"
        assert "Raisa" in (outcome.public / "README.md").read_text(encoding="utf-8")


class TestAudit:
    """All that is released of two files that differ in one record, told apart by one number."""

    FILES = tuple(
        pd.DataFrame({"a": list("00000011111" + a), "b": list("00011100011" + b), "c": list("0" * 6 + "1" * 6)})
        for a, b in ("11", "00")
    )

    def bound(self, method, epsilon):
        made = METHODS[method](epsilon=epsilon, delta=1e-3, workload=(("a", "b"),), inference="plug_in")
        given = [plan(frame) for frame in self.FILES]
        domain = made.domain(given[0])
        rounds = Choosing(made, given[0], domain) if method == "dp_aim" else None

        def told(one, rng):
            cells = domain.encode(one.data)
            if rounds is not None:
                noisy, _ = rounds.run(cells, Simulated(rng))
            else:
                noisy = looked(cells, made.tables(one, domain), (3, 2, 2), made.noise_of(2), Simulated(rng))
            known = [counts for table, (counts, _) in noisy.tables.items() if table in ((0,), (0, 1))]
            return [float(sum(counts[0].sum() - counts[1].sum() for counts in known))]

        found = epsilon_bound(repeated(told), *given, runs=250, delta=1e-3, rng=np.random.default_rng(5))
        return found.epsilon

    @pytest.mark.parametrize("method", ["dp_aim", "dp_tables"])
    def test_never_above_the_claim_and_would_notice(self, method, monkeypatch):
        # how well the model fits is post-processing, but for what is chosen next
        monkeypatch.setattr(aim, "TURNS", 2)
        monkeypatch.setattr(aim, "ROUNDS_PER_COLUMN", 3)
        assert self.bound(method, 0.5) <= 0.5 < self.bound(method, 60.0)

    def test_paid_in_full_and_not_more(self, monkeypatch):
        """What the rounds spend, counted from the noise they used, is the budget."""
        monkeypatch.setattr(aim, "TURNS", 2)
        spent = []
        release, choice = aim.Gaussian.release, aim.Exponential.release

        def counted(self, value, *, source):
            spent.append(self.rho)
            return release(self, value, source=source)

        def chosen(self, scores, *, source):
            spent.append(self.epsilon**2 / 8)
            return choice(self, scores, source=source)

        monkeypatch.setattr(aim.Gaussian, "release", counted)
        monkeypatch.setattr(aim.Exponential, "release", chosen)
        method, given = METHODS["dp_aim"](epsilon=1.0, delta=1e-6), plan()
        Choosing(method, given, method.domain(given)).run(method.domain(given).encode(given.data), Simulated(RNG(1)))
        assert len(spent) > 5
        assert method.rho * (1 - 1e-6) < sum(spent) <= method.rho / SHY

    def test_scores_move_no_further_than_claimed(self):
        """By enumeration over pairs of files of three records; the weight of a pair is 2, so Δ = 4."""
        method = METHODS["dp_aim"](epsilon=1.0, delta=1e-6, workload=(("a", "b"),))
        given = plan()
        rounds = Choosing(method, given, method.domain(given))
        fit = nearest(noisy(5.0, tables=[(0, 1), (2,)], n=3))
        seen, every = [], list(itertools.product(range(3), range(2)))

        class Watched(aim.Exponential):
            def release(self, scores, *, source):
                seen.append((scores.copy(), self.sensitivity.value))
                return 0

        for one, two, three, other in itertools.product(every[:3], every[:3], every, every):
            for last in (three, other):
                cells = np.array([(*one, 0), (*two, 0), (*last, 0)])
                now = aim.Round(1.0, 1.0)
                object.__setattr__(now, "choice", lambda heaviest: Watched.calibrated(
                    aim.Sensitivity(2 * heaviest, "linf", "replace"), epsilon=1.0))  # fmt: skip
                rounds._chosen([(0,), (0, 1)], cells, {}, fit, now, Simulated(RNG(1)))
            (before, claimed), (after, _) = seen[-2:]
            assert np.abs(before - after).max() <= claimed + 1e-9
        assert claimed == 4.0


class TestAim:
    def test_much_budget_gives_every_table(self):
        made = METHODS["dp_aim"](epsilon=200.0, delta=1e-6, source="simulated", copies=1).synthesize(
            plan(), streams=Streams(1)
        )
        copy, original = made.copies[0].astype(int).to_numpy(), records()
        for table in ALL_PAIRS:
            one, two = (table_of(cells, table, SIZES) / 600 for cells in (copy, original))
            assert np.abs(one - two).max() < 5 * math.sqrt(2 * 0.25 * 0.75 / 600)

    def test_model_stays_within_its_cells(self, monkeypatch):
        monkeypatch.setattr(aim, "TURNS", 2)
        given = plan()
        for limit, most in ((7, 0), (10, 1), (12, 3)):
            method = METHODS["dp_aim"](epsilon=50.0, delta=1e-6, model_cells=limit)
            assert method.problems(given) == []
            noisy, _ = Choosing(method, given, method.domain(given)).run(
                method.domain(given).encode(given.data), Simulated(RNG(1))
            )
            assert cells_of(SIZES, blocks_of(SIZES, noisy.columns)) <= limit
            assert sum(len(table) == 2 for table in noisy.columns) <= most
        assert METHODS["dp_aim"](delta=1e-6, model_cells=6).problems(given) == [
            "synthesis.bins: the columns alone have 7 cells, at most 6; use fewer bins."
        ]

    def test_says_how_the_budget_is_divided(self):
        section = METHODS["dp_aim"](epsilon=1.0, delta=1e-6, source="simulated", copies=1).synthesize(
            plan(), streams=Streams(1)
        ).privacy.section()  # fmt: skip
        assert list(section["shares"]) == ["preprocessing", "margins", "choosing", "tables"]
        assert sum(section["shares"].values()) == pytest.approx(1.0)
        assert section["shares"]["preprocessing"] == 0.0

    def test_neighbouring_files_take_the_same_shape(self):
        """Types, levels, rows, notes and what is said of privacy do not depend on a record."""
        frame = frame_of(records())
        other = frame.copy()
        other.loc[0] = ["2", "1", "1"] if tuple(frame.loc[0]) != ("2", "1", "1") else ["0", "0", "0"]
        for name in ("dp_aim", "dp_tables"):
            method = METHODS[name](epsilon=1.0, delta=1e-6, source="simulated", copies=2)
            one, two = (method.synthesize(plan(given), streams=Streams(1)) for given in (frame, other))
            assert method.notes(plan(frame)) == method.notes(plan(other))
            assert one.privacy.section() == two.privacy.section()
            assert (one.rule, one.design) == (two.rule, two.design)
            for first, second in zip(one.copies, two.copies, strict=True):
                assert first.shape == second.shape
                assert (first.dtypes == second.dtypes).all()


class TestNormal:
    def test_moments_by_simulation(self):
        mean, root = np.array([0.2, -0.4]), np.array([[0.5, 0.0], [0.3, 0.2]])
        x = mean + np.random.default_rng(1).standard_normal((400_000, 2)) @ root.T
        a, b = places_of(2)
        products = np.column_stack([np.ones(len(x)), x])
        products = products[:, a] * products[:, b]
        expected, covariance = moments(mean, root)
        np.testing.assert_allclose(products.mean(axis=0), expected, atol=4 * 0.6 / math.sqrt(400_000))
        np.testing.assert_allclose(np.cov(products.T), covariance, atol=4 * 0.7 / math.sqrt(400_000))

    def test_parameters_and_back(self):
        root = np.linalg.cholesky(np.array([[0.2, 0.05, -0.1], [0.05, 0.1, 0.02], [-0.1, 0.02, 0.3]]))
        (mean, again), prior = law_of(place_of((np.array([0.1, -0.2, 0.3]), root)), 3)
        np.testing.assert_allclose(mean, [0.1, -0.2, 0.3])
        np.testing.assert_allclose(again, root, atol=1e-12)
        assert math.isfinite(prior)
        assert law_of(np.array([0.0, 0.0, 0.1, -1.0, 0.0]), 2)[1] == -math.inf

    def test_correlations_are_uniform_beforehand(self):
        """LKJ(1): every correlation of a 3 × 3 matrix has density ∝ (1 − r²)^{1/2}; by Metropolis on the prior."""
        rng, z, kept = np.random.default_rng(3), np.zeros(9), []
        value = law_of(z, 3)[1]
        for turn in range(40_000):
            offered = z + np.concatenate([np.zeros(6), rng.normal(0, 0.9, 3)])
            new = law_of(offered, 3)[1]
            if math.log(rng.random()) < new - value:
                z, value = offered, new
            if turn % 10 == 0:
                root = law_of(z, 3)[0][1]
                kept.append([root[1] @ root[0], root[2] @ root[0], root[2] @ root[1]])
        # variance of (1 − r²)^{1/2} on (−1, 1) is 1/4
        np.testing.assert_allclose(np.var(kept, axis=0), 0.25, atol=0.03)

    def test_sensitivity_by_search(self):
        """No two records within the bounds move the matrix by more, and some by nearly as much."""
        rng, worst = np.random.default_rng(1), 0.0
        for x, z in itertools.product(itertools.product((-1, 0, 1), repeat=3), repeat=2):
            one, two = (np.outer((1, *u), (1, *u)) for u in (x, z))
            worst = max(worst, np.linalg.norm(one - two))
        for _ in range(2000):
            one, two = (np.outer(u, u) for u in np.column_stack([np.ones(2), rng.uniform(-1, 1, (2, 3))]))
            worst = max(worst, np.linalg.norm(one - two))
        claimed = DpNormal(delta=1e-6).noise_of(3).sensitivity.value
        assert claimed == pytest.approx(math.sqrt(2) * 4)
        assert 0.9 * claimed < worst <= claimed + 1e-12

    def test_little_noise_gives_the_posterior_of_the_data(self):
        rng = np.random.default_rng(1)
        x = rng.multivariate_normal([0.1, -0.1], [[0.04, 0.02], [0.02, 0.05]], 2000)
        method = DpNormal(epsilon=1e4, delta=1e-6)
        laws = drawn(Sums.released(x, method.noise_of(2), Simulated(rng)), 150, rng=rng)
        means = np.array([law[0] for law in laws])
        np.testing.assert_allclose(means.mean(axis=0), x.mean(axis=0), atol=4 * 0.005 / math.sqrt(100))
        np.testing.assert_allclose(means.std(axis=0), np.sqrt([0.04 / 2000, 0.05 / 2000]), rtol=4 / math.sqrt(2 * 100))
        slopes = np.array([(law[1] @ law[1].T)[0, 1] / (law[1] @ law[1].T)[0, 0] for law in laws])
        assert slopes.std() == pytest.approx(math.sqrt(0.04 / 0.04 / 2000), rel=4 / math.sqrt(2 * 100))

    def numbers(self, n=400):
        rng = np.random.default_rng(2)
        frame = pd.DataFrame({"x": rng.normal(50, 10, n).round(), "y": rng.normal(0, 1, n).round(2)})
        return plan(
            frame,
            {
                "x": Variable(role="replace", bounds=(0, 100), decimals=0),
                "y": Variable(role="replace", bounds=(-5, 5), decimals=2),
            },
        )

    @pytest.mark.parametrize("inference", ["plug_in", "noise_aware"])
    def test_contract(self, inference):
        given = self.numbers()
        method = DpNormal(delta=1e-6, source="simulated", copies=3, inference=inference)
        assert method.problems(given) == []
        first, second = (method.synthesize(given, streams=Streams(7)) for _ in range(2))
        more = method.model_copy(update={"copies": 4}).synthesize(given, streams=Streams(7)).copies
        for one, two, three in zip(first.copies, second.copies, more, strict=False):
            pd.testing.assert_frame_equal(one, two)
            pd.testing.assert_frame_equal(one, three)
            assert one["x"].between(0, 100).all()
            assert (one["x"] % 1 == 0).all()
        assert first.rule == ("noise_aware" if inference == "noise_aware" else "raab2016")
        assert 0.99 < cost(first.privacy.event, 1e-6).epsilon <= 1.0 + 1e-9

    def test_what_does_not_fit_is_refused(self):
        frame = pd.DataFrame({"x": np.arange(30.0), "g": ["a", "b"] * 15})
        given = plan(
            frame,
            {
                "x": Variable(role="replace", bounds=(0, 30), decimals=0),
                "g": Variable(levels=("a", "b"), role="replace"),
            },
        )
        assert DpNormal(delta=1e-6).problems(given) == [
            "variables.g: dp_normal takes numbers without a heap at 0, not binary; use dp_tables."
        ]
        assert DpNormal(inference="plug_in").problems(self.numbers()) == [
            "synthesis.delta: dp_normal adds Gaussian noise, which needs one above 0, such as 1e-6."
        ]
        assert DpNormal(delta=1e-6, missing=("x",)).problems(self.numbers()) == [
            "synthesis.missing: a normal distribution has no place for missing values of x; use dp_tables."
        ]
        many = {f"x{j}": Variable(role="replace", bounds=(0, 30), decimals=0) for j in range(9)}
        wide = plan(pd.DataFrame({name: np.arange(30.0) for name in many}), many)
        assert DpNormal(delta=1e-6).problems(wide) == [
            "synthesis: dp_normal takes at most 8 columns, found 9; drop some, or use dp_aim."
        ]

    def test_so_little_budget_is_said(self):
        assert DpNormal(delta=1e-6).notes(self.numbers()) == []
        (said,) = DpNormal(epsilon=1e-3, delta=1e-6).notes(self.numbers())
        assert "mostly noise. Raise epsilon" in said
