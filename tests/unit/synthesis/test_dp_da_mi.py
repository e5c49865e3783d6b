"""DA-MI with a finite ε: what the mask costs, what W says, and that nothing but W goes any further."""

import inspect
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthdp.api import pool
from synthdp.config import parse
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import combine
from synthdp.pipeline import run
from synthdp.privacy.accounting.accountants import cost
from synthdp.privacy.accounting.closed_forms import analytic_ratio
from synthdp.privacy.mechanisms import Simulated
from synthdp.privacy.tradeoff.curves import Gaussian, pure
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.masked import DpDaMi, channel, method, posterior
from synthdp.synthesis.private.masked.channel import Channel, Masked
from synthdp.synthesis.private.masked.method import completed, completing
from synthdp.synthesis.private.masked.moments import Estimated, Shape, estimated
from synthdp.synthesis.private.masked.posterior import Posterior, centre, feasible, within_cells
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

COLUMNS = {
    "x": Variable(role="replace", kind="continuous", bounds=(-5, 5), decimals=3),
    "sex": Variable(role="replace", levels=("F", "M")),
    "y": Variable(role="replace", kind="continuous", bounds=(-6, 6), decimals=3),
    "region": Variable(role="replace", kind="nominal", levels=("east", "north", "south")),
}


def people(n=400, seed=1):
    rng = np.random.default_rng(seed)
    sex, region = rng.random(n) < 0.4, rng.choice(3, n, p=[0.5, 0.3, 0.2])
    x = 0.5 * sex + 0.3 * (region == 1) + rng.normal(0, 1, n)
    y = 0.5 * x - 0.4 * sex + rng.normal(0, 1, n)
    names = np.array(["east", "north", "south"])[region]
    frame = pd.DataFrame({"x": x, "sex": np.where(sex, "M", "F"), "y": y, "region": names})
    return frame.round(3).assign(x=lambda f: f.x.clip(-5, 5), y=lambda f: f.y.clip(-6, 6))


def plan(frame=None, columns=COLUMNS, **more):
    data = resolve(people() if frame is None else frame, columns)
    return Plan(data, tag(data, Neighbours()), **more)


def channel_of(given, **budget):
    return DpDaMi(**budget).channel(given)


class TestChannel:
    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 20.0])
    @pytest.mark.parametrize("names", [["x"], ["sex"], ["x", "y"], ["sex", "region"], list(COLUMNS)], ids=str)
    def test_it_costs_what_is_claimed_at_most(self, epsilon, names):
        given = plan(people()[names], {name: COLUMNS[name] for name in names})
        found = channel_of(given, epsilon=epsilon, delta=1e-6)
        spent = cost(found.event(), 1e-6).epsilon
        assert spent <= epsilon * (1 + 1e-3)  # loss distributions on a grid round up
        if set(names) <= {"x", "y"}:
            assert spent > epsilon * (1 - 1e-3)
        assert found.mu == pytest.approx(1 / analytic_ratio(epsilon, 1e-6), rel=1e-6)

    def test_a_response_is_gaussian_private_as_it_is_counted(self):
        """The trade-off function of ε-DP lies above that of N(0, 1) against N(μ, 1), and touches it in one point."""
        alpha = np.linspace(1e-6, 1 - 1e-6, 20_001)
        for mu in (0.1, 1.0, 3.0):
            epsilon = Channel(mu, (), ()).epsilon
            gap = pure(epsilon)(alpha) - Gaussian(mu)(alpha)
            assert gap.min() > -1e-9
            assert gap.min() < 1e-3

    def test_w_follows_the_law_that_is_inverted(self):
        given = plan(people(4000))
        found = channel_of(given, epsilon=20.0)
        w = found.masked(given.data, source=Simulated(np.random.default_rng(11)))
        truth = given.data.codes("region")
        matrix = found.matrices()[1]
        for level in range(3):
            seen = np.bincount(w.answers[truth == level, 1], minlength=3)
            assert stats.chisquare(seen, matrix[level] * seen.sum()).pvalue > 1e-4
        noise = w.numbers[:, 0] - (given.data.numbers("x") + 5) / 10
        assert stats.kstest(noise / found.sd, "norm").pvalue > 1e-4
        assert abs(np.corrcoef(w.numbers[:, 0] - given.data.numbers("x") / 10, w.numbers[:, 1])[0, 1]) < 0.1


class TestMoments:
    def test_a_vector_and_back(self):
        shape = Shape(3, 2)
        vector = np.random.default_rng(1).random(shape.size)
        np.testing.assert_allclose(shape.join(*shape.split(vector)), vector)
        shares, sums, squares = shape.split(np.stack([vector, vector]))
        assert (shares.shape, sums.shape, squares.shape) == ((2, 3), (2, 3, 2), (2, 2, 2))
        np.testing.assert_allclose(shares.sum(axis=1), 1)

    def test_they_are_unbiased_and_their_error_is_known(self):
        given = plan(people(600))
        found = channel_of(given, epsilon=10.0)
        codes = given.data.codes("sex") * 3 + given.data.codes("region")
        unit = np.column_stack([(given.data.numbers("x") + 5) / 10, (given.data.numbers("y") + 6) / 12])
        sums = np.array([unit[codes == c].sum(axis=0) for c in range(6)]) / 600
        truth = Shape(6, 2).join(np.bincount(codes, minlength=6) / 600, sums, unit.T @ unit / 600)
        rng = np.random.default_rng(2)
        draws = [estimated(found.masked(given.data, source=Simulated(rng)), found) for _ in range(300)]
        values = np.array([draw.value for draw in draws])
        errors = (values.mean(axis=0) - truth) / (values.std(axis=0) / math.sqrt(300))
        assert np.abs(errors).max() < 4.5
        # the covariance counts sampling of the records too, which is small beside the noise here
        ratio = values.var(axis=0) / np.mean([np.diag(draw.covariance) for draw in draws], axis=0)
        assert ratio.min() > 0.7
        assert ratio.max() < 1.3

    def test_batches_do_not_matter(self, monkeypatch):
        given = plan()
        found = channel_of(given, epsilon=5.0)
        w = found.masked(given.data, source=Simulated(np.random.default_rng(1)))
        whole = estimated(w, found)
        monkeypatch.setattr("synthdp.synthesis.private.masked.moments.ROWS", 37)
        pieces = estimated(w, found)
        np.testing.assert_allclose(whole.value, pieces.value)
        np.testing.assert_allclose(whole.covariance, pieces.covariance, atol=1e-12)


class TestPosterior:
    def test_moments_of_records_are_in_the_set_and_others_are_not(self):
        shape = Shape(2, 2)
        rng = np.random.default_rng(1)
        for _ in range(50):
            z, c = rng.random((30, 2)) ** 3, rng.integers(0, 2, 30)
            c[:2] = 0, 1
            sums = np.array([z[c == k].sum(axis=0) for k in (0, 1)]) / 30
            assert feasible(shape.join(np.bincount(c) / 30, sums, z.T @ z / 30), shape).all()
        inside = centre(shape)
        assert feasible(inside, shape).all()
        for wrong in ([1.2, *inside[1:]], [inside[0], 0.9, *inside[2:]], [*inside[:5], 0.1, *inside[6:]]):
            assert not feasible(np.asarray(wrong), shape).any()

    @pytest.mark.parametrize("shape", [Shape(2, 1), Shape(4, 2), Shape(1, 3), Shape(3, 0)], ids=str)
    def test_a_line_leaves_the_set_where_it_is_said_to(self, shape):
        rng, state = np.random.default_rng(1), centre(shape)
        for _ in range(60):
            direction = rng.normal(size=shape.size)
            ends = np.asarray(posterior._segment(state, direction, shape))
            assert ends[0] < 0 < ends[1]
            assert feasible(state + ends[:, None] * direction, shape).all()
            assert not feasible(state + 1.001 * ends[:, None] * direction, shape).any()
            state = state + 0.9 * rng.uniform(*ends) * direction

    @pytest.mark.parametrize("spread", [0.02, 0.2])
    def test_the_chain_draws_what_rejection_draws(self, spread, monkeypatch):
        """Where the border cuts much away, and where it cuts little."""
        shape = Shape(2, 1)
        root = np.linalg.cholesky(np.eye(4) * 0.5 + 0.5) * spread
        middle = shape.join(np.array([0.7, 0.3]), np.array([[0.3], [0.1]]), np.array([[0.25]]))
        found = Posterior(Estimated(shape, middle, root @ root.T))
        monkeypatch.setattr(posterior, "ENOUGH", 0)
        exact = found.draws(800, rng=np.random.default_rng(1))
        monkeypatch.setattr(posterior, "ENOUGH", 10**9)
        monkeypatch.setattr(posterior, "THINNED", 6)
        chain = found.draws(200, rng=np.random.default_rng(2))
        assert feasible(chain, shape).all()
        for j in range(shape.size):
            assert stats.ks_2samp(exact[:, j], chain[:, j]).pvalue > 1e-4

    def test_levels_alone_against_a_grid(self):
        """Two levels: the posterior is a normal law cut off at 0 and 1."""
        shape = Shape(2, 0)
        found = Posterior(Estimated(shape, np.array([-0.1]), np.array([[0.04]])))
        drawn = found.draws(2000, rng=np.random.default_rng(3))[:, 0]
        law = stats.truncnorm((0 + 0.1) / 0.2, (1 + 0.1) / 0.2, loc=-0.1, scale=0.2)
        assert stats.kstest(drawn, law.cdf).pvalue > 1e-4

    def test_a_cut_normal_keeps_to_its_law_far_out(self):
        rng = np.random.default_rng(4)
        for slope, low, high in ((0.0, 3.0, 9.0), (0.0, -9.0, -3.0), (40.0, -1.0, 1.0), (0.0, -0.5, 2.0)):
            drawn = [posterior._cut_normal(1.0, slope, low, high, rng) for _ in range(800)]
            law = stats.truncnorm(low - slope, high - slope, loc=slope)
            if slope == 40.0:  # scipy's own tail has no digits left there
                assert (np.asarray(drawn) > 0.7).all()
            else:
                assert stats.kstest(drawn, law.cdf).pvalue > 1e-4
        assert posterior._cut_normal(1.0, 0.0, 0.0, 0.0, rng) == 0.0


class TestCompletion:
    def test_cells_and_numbers_by_bayes_rule(self):
        """One record many times: against enumeration of its cells, and the normal law in each."""
        matrices = [np.array([[0.7, 0.3], [0.3, 0.7]])]
        shares, means = np.array([0.6, 0.4]), np.array([[0.3], [0.6]])
        within, sd = np.array([[0.02]]), 0.2
        squares = within + sum(shares[c] * np.outer(means[c], means[c]) for c in range(2))
        w = Masked(np.ones((40_000, 1), dtype=np.int64), np.full((40_000, 1), 0.5))
        moments = shares, shares[:, None] * means, squares
        levels, numbers = completed(w, moments, matrices, sd, rng=np.random.default_rng(1))
        likely = shares * matrices[0][:, 1] * stats.norm.pdf(0.5, means[:, 0], math.sqrt(0.02 + 0.04))
        seen = np.bincount(levels[:, 0])
        assert stats.chisquare(seen, likely / likely.sum() * 40_000).pvalue > 1e-4
        for c in (0, 1):
            here = numbers[levels[:, 0] == c, 0]
            mean, variance = means[c, 0] + (0.5 - means[c, 0]) / 3, 0.04 / 3
            assert stats.kstest(here, "norm", args=(mean, math.sqrt(variance))).pvalue > 1e-4

    def test_the_moments_within_cells(self):
        frame = np.random.default_rng(1).random((50, 2))
        found = within_cells(np.ones(1), frame.mean(axis=0)[None, :], frame.T @ frame / 50)
        np.testing.assert_allclose(found, np.cov(frame.T, bias=True))


class TestMethod:
    def test_copies_depend_on_the_records_through_w_alone(self, monkeypatch):
        """The whole pipeline on two files that agree in nothing but W: the same copies."""
        first = plan(people(300, seed=1))
        w = channel_of(first, epsilon=5.0).masked(first.data, source=Simulated(np.random.default_rng(11)))
        monkeypatch.setattr(Channel, "masked", lambda self, data, *, source: w)
        made = [
            DpDaMi(epsilon=5.0, copies=2, source="simulated").synthesize(given, streams=Streams(1)).copies
            for given in (first, plan(people(300, seed=2)))
        ]
        for one, two in zip(*made, strict=True):
            pd.testing.assert_frame_equal(one, two)
        assert list(inspect.signature(completing).parameters) == ["masked", "channel", "copies", "rng"]

    def test_the_contract(self):
        given = plan()
        maker = DpDaMi(epsilon=5.0, copies=2, source="simulated")
        assert maker.problems(given) == []
        made = maker.synthesize(given, streams=Streams(7))
        again = maker.model_copy(update={"copies": 3}).synthesize(given, streams=Streams(7), jobs=2)
        for one, two in zip(made, again, strict=False):
            pd.testing.assert_frame_equal(one, two)
        for copy in made:
            assert list(copy.columns) == list(given.data.frame.columns)
            assert (copy.dtypes == given.data.frame.dtypes).all()
            assert copy["x"].between(-5, 5).all()
            assert set(copy["region"]) <= {"east", "north", "south"}
        assert not made[0].equals(made[1])
        assert (made.rule, made.design.completed, made.design.replaced) == ("rubin1987", True, "all")
        assert (made.privacy.epsilon, made.privacy.delta) == (5.0, 1e-6)
        assert made.privacy.section()["epsilon"] == 5.0
        (note, warning) = maker.notes(given)
        assert "W is 1.02-GDP, which is (5, 1e-06)-DP; every column is masked" in note
        assert "no column is public" in note
        assert "hardly better than the bounds say" in warning

    def test_an_enormous_budget_gives_the_file_back(self):
        given = plan()
        made = DpDaMi(epsilon=1e8, source="simulated", copies=1).synthesize(given, streams=Streams(1))[0]
        assert (made["region"] == given.data.frame["region"]).all()
        assert np.abs(made["x"] - given.data.frame["x"]).max() < 0.05

    def test_secure_noise_and_a_missing_cell(self):
        frame = people(300)
        frame.loc[::3, "sex"] = None
        given = plan(frame)
        made = DpDaMi(epsilon=50.0, copies=1, missing=("sex",)).synthesize(given, streams=Streams(1))
        assert made.privacy.source == "secure"
        assert 0 < made[0]["sex"].isna().sum() < 300

    def test_a_gate_that_looks_withdraws_the_claim(self):
        made = DpDaMi(epsilon=5.0, copies=1, source="simulated").synthesize(
            plan(selection="a gate chose"), streams=Streams(1)
        )
        assert made.privacy.section()["epsilon"] is None

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            (
                {"x": Variable(role="replace", kind="semicontinuous", bounds=(-5, 5), decimals=3)},
                "variables.x: dp_da_mi takes numbers (kind continuous) and levels (binary, nominal), not "
                "semicontinuous; use dp_mst.",
            ),
            (
                {"sex": Variable(role="keep")},
                "variables.sex: a kept column is released as it is, which is not DP; replace or drop it.",
            ),
            (
                {"x": Variable(role="replace", kind="continuous", bounds_from="data", decimals=3)},
                "variables.x.bounds: a DP method needs them declared, as bounds read off the data are not private.",
            ),
            (
                {
                    "region": Variable(
                        role="replace", kind="nominal", levels=("east", "north", "south", *"abcdefghijklmnop")
                    )
                },
                "synthesis: 38 combinations of levels and 2 numbers have 116 moments",
            ),
        ],
    )
    def test_what_is_refused(self, change, sentence, monkeypatch):
        monkeypatch.setattr(method, "MOST_MOMENTS", 100)
        found = DpDaMi().problems(plan(columns={**COLUMNS, **change}))
        assert any(problem.startswith(sentence) for problem in found), found

    def test_few_records_are_refused(self):
        assert DpDaMi().problems(plan(people(200))) == []
        (sentence,) = DpDaMi().problems(plan(people(199)))
        assert sentence.startswith("synthesis: 20 moments of levels and numbers need at least 200 records, found 199;")

    def test_neighbours_give_files_of_the_same_kind(self):
        """One record's decimals or level must not show in types, columns or notes."""
        whole = people(300).round(0)
        other = whole.copy()
        other.loc[7, ["x", "sex"]] = [0.125, "M"]
        plans = [plan(each) for each in (whole, other)]
        maker = DpDaMi(epsilon=5.0, copies=1, source="simulated")
        one, two = (maker.synthesize(each, streams=Streams(1))[0] for each in plans)
        assert (one.dtypes == two.dtypes).all()
        assert one.shape == two.shape
        assert maker.notes(plans[0]) == maker.notes(plans[1])

    def test_a_published_release_is_analysed_by_its_own_rule(self, tmp_path):
        people(300).to_csv(tmp_path / "people.csv", index=False)
        variables = {name: column.model_dump(exclude_unset=True, mode="json") for name, column in COLUMNS.items()}
        config = parse(
            {
                "data": {"path": str(tmp_path / "people.csv")},
                "variables": variables,
                "synthesis": {"method": "dp_da_mi", "epsilon": 5.0, "copies": 3},
                "evaluation": {"utility": [], "risk": []},
                "release": {"recorded_in": "none"},
            }
        )
        outcome = run(config, out=tmp_path / "out")
        told = json.loads((outcome.public / "release.json").read_text())
        assert told["design"]["completed"] is True
        assert (told["rule"], told["privacy"]["epsilon"]) == ("rubin1987", 5.0)
        assert pool(outcome.public, model="mean", formula="x").rule == "rubin1987"

    def test_missing_numbers_are_refused(self):
        frame = people()
        frame.loc[0, "x"] = np.nan
        found = DpDaMi(missing=("x",)).problems(plan(frame))
        assert found == ["synthesis.missing: dp_da_mi cannot hide which values of x are missing; use another method."]

    def test_rubins_rule_has_the_variance_of_the_mean_of_w(self):
        """The derivation by simulation: T is what the mean of W has, and the mean of the copies is where that is."""
        columns = {"x": COLUMNS["x"]}
        given = plan(people(2000)[["x"]], columns)
        maker = DpDaMi(epsilon=30.0, copies=40, source="simulated")
        made = maker.synthesize(given, streams=Streams(3))
        analysis = Analysis(name="a", model="mean", formula="x")
        pooled = combine([analysis.estimate(copy) for copy in made], rule=made.rule)
        sd = 10 * maker.channel(given).sd
        expected = math.sqrt((given.data.numbers("x").var() + sd**2) / 2000)
        assert pooled.se[0] == pytest.approx(expected, rel=4 / math.sqrt(2 * 40))
        assert channel.SHY < 1
