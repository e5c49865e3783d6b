"""DP synthesizers: their laws, what they cost, what they refuse; and that maskings never show an epsilon."""

import itertools
import json
import math
import time

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from synthdp import config as configs
from synthdp.api import pool
from synthdp.config.settings import METHODS
from synthdp.dp.noise import projected
from synthdp.errors import InputError, Unfinished
from synthdp.evaluation.gate.limits import OFF
from synthdp.inference.combining import ALTERED
from synthdp.pipeline import check, run
from synthdp.privacy.accounting.accountants import cost
from synthdp.privacy.audit import epsilon_bound, repeated
from synthdp.privacy.mechanisms import Simulated
from synthdp.seeding import Streams
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.synthesis.maskings.masking import Masking
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private import histograms as fixed
from synthdp.synthesis.private.columnwise import DpMargins, LocalNoise, noisy_margins
from synthdp.synthesis.private.domain import Axis, Domain
from synthdp.synthesis.private.histograms import (
    DpExponential,
    DpHistogram,
    DpSparseHistogram,
    empty_cells,
    fixed_total,
    noisy_counts,
)
from synthdp.synthesis.private.synthesizer import Private
from synthdp.table.microdata import resolve
from synthdp.table.schema import Column, Variable
from synthdp.tagging.groups import Neighbours, tag

# dp_kde and dp_normal take numbers only, dp_da_mi few kinds and a δ: they have modules of their own
APART = ("dp_kde", "dp_da_mi", "dp_normal")
PRIVATE = {name: method for name, method in METHODS.items() if issubclass(method, Private) and name not in APART}
GAUSSIAN = ("dp_tables", "dp_aim")
"""Methods that have no δ = 0."""
MASKINGS = {name: method for name, method in METHODS.items() if issubclass(method, Masking)}
NEEDED = {
    # as few copies as other methods, so that contracts compare like with like
    "dp_tables": {"delta": 1e-6, "copies": 5, "workload": "pairs"},
    "dp_aim": {"delta": 1e-6},
}
ALL = {
    "age": Variable(role="replace", key=True, bounds=(18, 90), decimals=0, tolerance=2),
    "sex": Variable(role="replace", key=True, levels=("F", "M")),
    "income": Variable(role="replace", kind="semicontinuous", bounds=(0, 100), decimals=1),
    "region": Variable(role="replace", levels=("east", "north", "south")),
}


def people(n: int = 500, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = np.clip(np.round(rng.normal(50, 12, n)), 18, 90).astype(int)
    return pd.DataFrame(
        {
            "age": age,
            "sex": np.where(rng.random(n) < 0.4 + 0.004 * (age - 50), "F", "M"),
            "income": np.where(rng.random(n) < 0.3, 0.0, np.round(rng.uniform(5, 95, n), 1)),
            "region": rng.choice(["east", "north", "south"], n, p=[0.6, 0.3, 0.1]),
        }
    )


def plan(frame=None, variables=None, **more) -> Plan:
    data = resolve(people() if frame is None else frame, ALL if variables is None else variables)
    return Plan(data, tag(data, Neighbours()), **more)


def settings(name, **more):
    return PRIVATE[name](source="simulated", **(NEEDED.get(name, {}) | more))


class TestDomain:
    def test_cells_and_back(self):
        given = plan()
        domain = DpHistogram(bins=6).domain(given)
        assert [axis.size for axis in domain.axes] == [6, 2, 7, 3]
        assert domain.size == 6 * 2 * 7 * 3
        cells = domain.encode(given.data)
        np.testing.assert_array_equal(domain.unflat(domain.flat(cells)), cells)
        shown = domain.frame(cells, given.data.frame, rng=np.random.default_rng(0))
        assert (shown.dtypes == given.data.frame.dtypes).all()
        again = domain.encode(resolve(shown, ALL))
        np.testing.assert_array_equal(again, cells)
        assert ((shown["income"] == 0) == (given.data.frame["income"] == 0)).all()

    def test_as_many_bins_as_values_give_the_values_back(self):
        given = plan()
        domain = DpHistogram(bins=10**6).domain(given)
        assert [axis.plain for axis in domain.axes] == [73, 2, 1001, 3]
        shown = domain.frame(domain.encode(given.data), given.data.frame, rng=np.random.default_rng(0))
        pd.testing.assert_frame_equal(shown, given.data.frame)

    @pytest.mark.parametrize(("steps", "bins"), [(73, 10), (7, 3), (10, 10), (11, 4)])
    def test_bins_hold_every_value_once_and_differ_by_one(self, steps, bins):
        column = Column(name="x", kind="count", role="replace", key=False, bounds=(0, steps - 1), decimals=0)
        axis = Axis(column, bins, steps)
        data = resolve(pd.DataFrame({"x": np.arange(steps)}), {"x": Variable(bounds=(0, steps - 1))})
        held = np.bincount(axis.encode(data), minlength=bins)
        assert held.max() - held.min() <= 1

    def test_bounds_off_the_grid_are_never_left(self):
        variables = {"x": Variable(role="replace", bounds=(0.5, 9.5), decimals=0)}
        given = plan(pd.DataFrame({"x": np.arange(1, 10).repeat(5)}), variables)
        copy = settings("dp_histogram", copies=1).synthesize(given, streams=Streams(1)).copies[0]
        assert copy["x"].between(1, 9).all()

    def test_missing_has_a_cell_of_its_own(self):
        frame = people()
        frame["income"] = frame["income"].where(np.arange(500) % 4 > 0)
        frame["region"] = frame["region"].where(np.arange(500) % 5 > 0)
        given = plan(frame)
        assert (
            "variables.income: 125 values are missing and the domain has no cell for it; name the column in "
            "synthesis.missing." in settings("dp_margins").problems(given)
        )
        method = settings("dp_margins", epsilon=50, missing=("income", "region"))
        assert method.problems(given) == []
        copy = method.synthesize(given, streams=Streams(1)).copies[0]
        assert abs(copy["income"].isna().mean() - 0.25) < 4 * math.sqrt(0.25 * 0.75 / 500)
        assert abs(copy["region"].isna().mean() - 0.2) < 4 * math.sqrt(0.2 * 0.8 / 500)

    def test_dates_are_binned(self):
        dates = pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(300) % 200, unit="D")
        variables = {"day": Variable(role="replace", bounds=(18262, 18627), decimals=0)}
        given = plan(pd.DataFrame({"day": dates}), variables)
        copy = settings("dp_margins", copies=1).synthesize(given, streams=Streams(1)).copies[0]
        assert copy["day"].dtype == given.data.frame["day"].dtype
        assert copy["day"].between("2020-01-01", "2020-12-31").all()


class TestCost:
    """What the accountants find of the events is what is claimed."""

    @pytest.mark.parametrize("name", [name for name in PRIVATE if name not in GAUSSIAN])
    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
    def test_pure(self, name, epsilon):
        made = settings(name, epsilon=epsilon).synthesize(plan(), streams=Streams(1)).privacy
        spent = cost(made.event).epsilon
        assert epsilon * (1 - 1e-9) <= spent <= epsilon * (1 + 1e-12)
        assert (made.epsilon, made.delta, made.adjacency) == (epsilon, 0.0, "replace")

    @pytest.mark.parametrize(
        "name", ["dp_histogram", "dp_sparse_histogram", "dp_margins", "dp_mst", "local_noise", *GAUSSIAN]
    )
    def test_approximate(self, name):
        made = settings(name, epsilon=1.0, delta=1e-5).synthesize(plan(), streams=Streams(1)).privacy
        # loss distributions on a grid round up
        assert cost(made.event, 1e-5).epsilon <= 1.0 * (1 + 1e-3)
        assert made.section()["delta"] == 1e-5

    def test_noise_has_the_scale_of_the_sensitivity(self):
        """E|Z| = 1/sinh(ε/2) for a table under replace, 1/sinh(ε/2k) for each of k margins."""
        zeros = np.zeros(40_000, dtype=np.int64)
        found, _ = noisy_counts(zeros, 1.0, 0.0, Simulated(np.random.default_rng(1)))
        assert abs(np.abs(found).mean() - 1 / math.sinh(0.5)) < 4 * np.abs(found).std() / 200
        margins, _ = noisy_margins([zeros, zeros], 1.0, 0.0, Simulated(np.random.default_rng(2)))
        assert abs(np.abs(margins[1]).mean() - 1 / math.sinh(0.25)) < 4 * np.abs(margins[1]).std() / 200
        joint, event = noisy_margins([zeros, zeros], 1.0, 1e-5, Simulated(np.random.default_rng(3)))
        assert joint[0].std() == pytest.approx(2.0 / event.mu, rel=4 / math.sqrt(2 * 40_000))


class TestExponential:
    @pytest.mark.parametrize(
        ("rate", "counts"), [(0.05, (4, 0, 1)), (0.5, (0, 0, 6)), (0.5, (4, 0, 1)), (2.0, (2, 2, 2))]
    )
    def test_law_by_enumeration(self, rate, counts):
        """Every table with the right total, against exp(−rate·‖w − θ‖₁) normalised."""
        theta, n = np.array(counts), sum(counts)
        tables = [w for w in itertools.product(range(n + 1), repeat=3) if sum(w) == n]
        weights = np.exp([-rate * np.abs(np.array(w) - theta).sum() for w in tables])
        expected = weights / weights.sum() * 400
        rng = np.random.default_rng(7)
        drawn = [tuple(fixed_total(theta, rate, rng=rng).tolist()) for _ in range(400)]
        seen = np.array([drawn.count(w) for w in tables])
        common = expected >= 5
        pooled = [np.append(x[common], x[~common].sum() + 1e-9) for x in (seen, expected)]
        assert seen.sum() == 400
        assert stats.chisquare(pooled[0], pooled[1] * pooled[0].sum() / pooled[1].sum()).pvalue > 1e-4

    @pytest.mark.parametrize("epsilon", [0.01, 0.5, 4.0])
    def test_ratio_of_neighbours_stays_within_epsilon(self, epsilon):
        """Two tables that differ by one replaced record, all outputs."""
        tables = [w for w in itertools.product(range(6), repeat=3) if sum(w) == 5]

        def law(theta):
            weights = np.exp([-epsilon / 4 * np.abs(np.subtract(w, theta)).sum() for w in tables])
            return weights / weights.sum()

        assert np.abs(np.log(law((3, 1, 1)) / law((2, 2, 1)))).max() <= epsilon

    def test_total_is_right_in_large_tables(self):
        counts = np.zeros(20_000, dtype=np.int64)
        counts[:50] = 40
        for rate in (0.025, 0.25, 1.25):
            found = fixed_total(counts, rate, rng=np.random.default_rng(1))
            assert found.sum() == 2000
            assert found.min() >= 0

    def test_gives_up_with_a_sentence(self, monkeypatch):
        monkeypatch.setattr(fixed, "MOST_DRAWS", 0)
        with pytest.raises(Unfinished, match="no table with the right total was drawn; use fewer bins"):
            fixed_total(np.array([500, 300, 100]), 0.001, rng=np.random.default_rng(1))


class TestSparse:
    def test_empty_cells_pass_as_in_the_full_table(self):
        """Brute force: noise on all 2,000 cells, against the binomial draw; numbers and heights."""
        size, occupied, scale, threshold = 2000, np.array([3, 70, 900]), 2.0, 6
        source = Simulated(np.random.default_rng(3))
        short, heights = [], []
        for _ in range(600):
            cells, values = empty_cells(occupied, size, scale, threshold, source)
            assert len(set(cells.tolist())) == len(cells)
            assert not set(cells.tolist()) & set(occupied.tolist())
            short.append(len(cells))
            heights += values.tolist()
        noise = source.discrete_laplace(np.zeros((600, size - 3), dtype=np.int64), scale=scale)
        full = (noise > threshold).sum(axis=1)
        assert stats.ks_2samp(short, full).pvalue > 1e-4
        assert stats.ks_2samp(heights, noise[noise > threshold]).pvalue > 1e-4

    def test_published_threshold(self):
        """Hall (2012), Edwards table: τ = (2/α) ln 64."""
        assert DpSparseHistogram(epsilon=0.1).threshold_for(64) == pytest.approx(83.178, abs=5e-4)
        assert DpSparseHistogram(epsilon=1.0).threshold_for(65536) == pytest.approx(22.1807, abs=5e-5)

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
    @pytest.mark.parametrize("delta", [1e-6, 1e-3])
    def test_a_single_record_passes_with_at_most_delta(self, epsilon, delta):
        tau = DpSparseHistogram(epsilon=epsilon, delta=delta).threshold_for(10**6)
        r = math.exp(-epsilon / 2)
        passes = r**tau / (1 + r)  # P(Z ≥ τ)
        assert passes <= delta < passes / r * (1 + 1e-9) or tau == 1

    def test_nothing_passes_and_copies_are_uniform(self):
        made = settings("dp_sparse_histogram", epsilon=0.001, bins=4, copies=1).synthesize(plan(), streams=Streams(4))
        assert len(made.copies[0]) == 500

    @pytest.mark.slow
    def test_a_million_million_cells(self):
        """10¹² cells, 10⁵ occupied, secure noise: under 10 seconds."""
        rng = np.random.default_rng(1)
        names = [f"x{j}" for j in range(6)]
        frame = pd.DataFrame(rng.integers(0, 100, (100_000, 6)), columns=names)
        variables = {name: Variable(role="replace", kind="count", bounds=(0, 99)) for name in names}
        data = resolve(frame, variables)
        given = Plan(data, tag(data, Neighbours()))
        method = DpSparseHistogram(epsilon=1.0, bins=100, copies=1)
        assert method.domain(given).size == 10**12
        started = time.perf_counter()
        made = method.synthesize(given, streams=Streams(1))
        assert time.perf_counter() - started < 10
        assert len(made.copies[0]) == 100_000


def test_projection_is_the_nearest_table():
    rng = np.random.default_rng(2)
    for _ in range(20):
        noisy = rng.normal(2, 5, 6)
        found = projected(noisy, 7.0)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(7.0)
        # optimality: no move of mass between two cells brings it nearer
        gradient = found - noisy
        assert gradient[found > 0].max() - gradient.min() < 1e-9


@pytest.mark.parametrize("name", PRIVATE)
class TestEveryPrivateMethod:
    def test_contract(self, name):
        given, method = plan(), settings(name)
        assert method.problems(given) == []
        first = method.synthesize(given, streams=Streams(7))
        second = method.synthesize(given, streams=Streams(7), jobs=2)
        assert len(first.copies) == method.copies
        assert first.rule == ("noise_aware" if name == "dp_tables" else "raab2016")
        for one, two in zip(first.copies, second.copies, strict=True):
            pd.testing.assert_frame_equal(one, two)
            assert list(one.columns) == list(given.data.frame.columns)
            assert (one.dtypes == given.data.frame.dtypes).all()
            assert one["age"].between(18, 90).all()
            assert len(one) == 500
        other = method.synthesize(given, streams=Streams(8)).copies
        assert not other[0].equals(first.copies[0])
        if name != "local_noise":
            more = method.model_copy(update={"copies": 7}).synthesize(given, streams=Streams(7)).copies
            pd.testing.assert_frame_equal(more[4], first.copies[4])
            assert not more[0].equals(more[1])

    def test_secure_noise_cannot_be_repeated(self, name):
        # with little budget one cell alone may pass the threshold, and one cell always looks the same
        more = {"epsilon": 8.0} if name == "dp_sparse_histogram" else {}
        method = PRIVATE[name](**(NEEDED.get(name, {}) | {"copies": 1} | more))
        assert method.source == "secure"
        one, two = (method.synthesize(plan(), streams=Streams(7)) for _ in range(2))
        assert not one.copies[0].equals(two.copies[0])
        assert one.privacy.source == "secure"

    def test_much_budget_gives_the_margins(self, name):
        given = plan(people(4000))
        copy = settings(name, epsilon=400.0, bins=8).synthesize(given, streams=Streams(3)).copies[0]
        original = given.data.frame
        share, found = (original["sex"] == "F").mean(), (copy["sex"] == "F").mean()
        assert abs(found - share) < 4 * math.sqrt(0.25 * 2 / 4000)
        assert abs(copy["age"].mean() - original["age"].mean()) < 4 * 12 * math.sqrt(2 / 4000) + 0.5

    def test_claim_is_withdrawn_when_a_gate_looks(self, name):
        made = settings(name).synthesize(plan(selection="the release gate looked"), streams=Streams(1)).privacy
        said = made.section()
        assert said["epsilon"] is None
        assert said["delta"] is None
        assert said["statement"].startswith("No epsilon is claimed for the release")
        assert "the release gate looked" in said["statement"]

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    def test_too_much_noise_is_said_from_public_numbers_alone(self, name, delta):
        if not delta and name in GAUSSIAN:
            pytest.skip(f"{name} has no δ = 0")
        if delta and name == "dp_exponential":
            pytest.skip("dp_exponential has no delta")
        small, large = (settings(name, epsilon=e, delta=delta, bins=4).notes(plan()) for e in (1e-3, 1e4))
        assert large == []
        assert any("noise" in sentence and "aise epsilon" in sentence for sentence in small)
        other = plan(people(seed=2))
        assert settings(name, epsilon=1e-3, delta=delta, bins=4).notes(other) == small

    def test_what_is_not_private_is_refused(self, name):
        method = settings(name)

        def problems(variables, frame=None, **more):
            return method.problems(plan(frame, variables, **more))

        kept = {**ALL, "region": Variable(levels=("east", "north", "south"))}
        assert problems(kept) == [
            "variables.region: a kept column is released as it is, which is not DP; replace or drop it."
        ]
        for wrong, sentence in (
            (
                {"region": Variable(role="replace")},
                "variables.region.levels: a DP method needs them declared, as levels read off the data are not "
                "private.",
            ),
            (
                {"age": Variable(role="replace", bounds_from="data")},
                "variables.age.bounds: a DP method needs them declared, as bounds read off the data are not private.",
            ),
            (
                {"age": Variable(role="replace")},
                "variables.age.bounds: a DP method needs them declared, as bounds read off the data are not private.",
            ),
            (
                {"income": Variable(role="replace", bounds=(0, 100))},
                "variables.income.decimals: a DP method needs them declared, as decimals read off the data are not "
                "private.",
            ),
            (
                {"region": Variable(role="replace", levels=("east", "north", "south"), rare=5)},
                "variables.region.rare: counts the data to group levels, which is not private; recode them by name.",
            ),
            (
                {"income": ALL["income"].model_copy(update={"applies_when": "sex == 'F'"})},
                "variables.income.applies_when: whoever it does not apply to needs a cell; name the column in "
                "synthesis.missing."
                if method.keeps_rules
                else f"variables.income.applies_when: method {name} does not keep it; use da_mi, mi or sequential.",
            ),
        ):
            assert problems({**ALL, **wrong}) == [sentence]
        if name == "dp_tables":
            assert problems(ALL, constraints=("age > 17",)) == [
                "synthesis.inference: noise_aware keeps no zeros, constraints or applies_when; use plug_in."
            ]
        elif method.keeps_rules:
            assert problems(ALL, constraints=("age > 17",)) == []
        else:
            assert problems(ALL, constraints=("age > 17",)) == [
                f"constraints: method {name} does not keep them; use da_mi, mi or sequential."
            ]

    def test_settings_that_do_not_fit(self, name):
        given = plan()
        assert settings(name, adjacency="add_remove").problems(given) == [
            "synthesis.adjacency: copies have as many records as the original, so their number is public; use replace."
        ]
        assert settings(name, bins_by={"agee": 3, "age": 0}).problems(given) == [
            "synthesis.bins_by: no column named 'agee'.",
            "synthesis.bins_by.age: must be at least 1, found 0.",
        ]
        for raw, sentence in (
            ({"epsilon": 0}, "synthesis.epsilon: must be greater than 0."),
            ({"epsilon": math.nan}, "synthesis.epsilon: must be a finite number."),
            ({"delta": 1}, "synthesis.delta: must be less than 1."),
            ({"repair": True}, "synthesis.repair: must be False."),
        ):
            with pytest.raises(InputError) as error:
                configs.parse({"data": {"path": "x.csv"}, "synthesis": {"method": name, **raw}})
            assert error.value.problems == (sentence,)


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (
            DpExponential(bins=5000),
            "synthesis: the declared domain has 438,876 cells, dp_exponential takes at most 100,000; use fewer bins, "
            "dp_mst, dp_sparse_histogram or dp_margins.",
        ),
        (DpExponential(delta=0.1), "synthesis.delta: dp_exponential has δ = 0; leave delta out."),
        (
            DpSparseHistogram(delta=0.1, threshold=3),
            "synthesis.threshold: with a delta it follows from epsilon and delta; leave out one of the two.",
        ),
        (
            LocalNoise(missing=("income",)),
            "synthesis.missing: local_noise cannot hide which values of income are missing; use another method.",
        ),
    ],
)
def test_other_refusals(method, sentence):
    assert sentence in method.problems(plan())


def test_thresholds_and_margins_too_large():
    wide = {"x": Variable(role="replace", kind="count", bounds=(0, 10**8))}
    given = plan(pd.DataFrame({"x": np.arange(100)}), wide)
    assert DpSparseHistogram(bins=10**8, threshold=0).problems(given) == [
        "synthesis.threshold: 3.8e+07 empty cells would pass it; raise it, or leave it out for 36.8."
    ]
    assert DpMargins(bins=10**7).problems(given) == [
        "synthesis.bins_by.x: 10,000,000 cells in one margin, at most 1,000,000."
    ]


OPEN = OFF.model_dump()


class TestOnTheSameRoad:
    """Through ``run``: evaluated, reported, gated and described like every other method."""

    def config(self, folder, release, **synthesis):
        people(300).to_csv(folder / "people.csv", index=False)
        variables = {name: v.model_dump(mode="json", exclude_defaults=True) for name, v in ALL.items()}
        raw = {
            "data": {"path": "people.csv"},
            "variables": variables,
            "synthesis": {k: v for k, v in {"copies": 2, "bins": 4, **synthesis}.items() if v is not None},
            "analyses": [{"name": "age", "model": "ols", "formula": "age ~ sex"}],
            "release": {"recorded_in": "none", **release},
        }
        (folder / "config.yaml").write_text(yaml.safe_dump(raw))
        return configs.load(folder / "config.yaml")

    def test_published_with_its_epsilon(self, tmp_path):
        config = self.config(tmp_path, OPEN, method="dp_histogram", epsilon=2.0)
        outcome = run(config, out=tmp_path / "out")
        privacy = outcome.metrics["privacy"]
        assert privacy["epsilon"] == 2.0
        assert privacy["delta"] == 0.0
        assert privacy["adjacency"] == "replace"
        assert privacy["source"] == "secure"
        described = json.loads((outcome.public / "release.json").read_text())
        assert described["privacy"]["epsilon"] == 2.0
        assert described["rule"] == "raab2016"
        assert "ε = 2, adjacency replace" in outcome.report.read_text(encoding="utf-8")

    def test_limits_are_off_unless_written(self, tmp_path):
        config = self.config(tmp_path, {}, method="dp_margins", epsilon=1.0)
        assert not config.limits.judged()
        config = self.config(tmp_path, {"max_individual": 0.9}, method="dp_margins", epsilon=1.0)
        assert config.limits == OFF.model_copy(update={"max_individual": 0.9})

    def test_the_gate_withdraws_it(self, tmp_path):
        config = self.config(tmp_path, {"max_exposed": 300}, method="dp_margins", epsilon=1.0)
        outcome = run(config, out=tmp_path / "out")
        assert outcome.metrics["privacy"]["epsilon"] is None
        assert "No epsilon is claimed" in outcome.report.read_text(encoding="utf-8")

    @pytest.mark.parametrize("name", ["k_noise", "local_suppression"])
    def test_maskings_never_show_one(self, tmp_path, name):
        config = self.config(tmp_path, OPEN, method=name, bins=None, copies=1)
        outcome = run(config, out=tmp_path / "out", study=True)
        assert outcome.metrics["privacy"] == {"epsilon": None, "masking": []}
        # what is made for maskings is taken of them where nothing is asked for
        assert "moves" in outcome.metrics["utility"]
        assert {"odds", "group_size"} <= set(outcome.metrics["risk"])
        text = outcome.report.read_text(encoding="utf-8")
        assert "this masking has no guarantee" in text
        assert "ε = " not in text

    def test_the_files_of_a_masking_say_what_they_are(self, tmp_path):
        config = self.config(tmp_path, OPEN, method="noise", bins=None, copies=1, sd=1.0, keep=0.3)
        public = run(config.model_copy(update={"seed": 2**70}), out=tmp_path / "out").public
        sheet, readme = ((public / name).read_text(encoding="utf-8") for name in ("datasheet.md", "README.md"))
        assert "Every value of every record was drawn anew" not in sheet
        assert "Values of masked columns may be real answers, too" in sheet
        assert "**Intervals ignore the masking.**" in readme
        # of one masked file it is not what Rubin's rule gets wrong
        assert "Not Rubin's rule" not in readme
        for how in ({"model": "mean", "formula": "age"}, {"fit": lambda copy: (copy["age"].mean(), 1.0)}):
            pooled = pool(public, **how)
            assert pooled.notes == (ALTERED,)
            assert str(pooled).endswith(ALTERED)

    def test_noise_is_called_noise(self, tmp_path):
        """In ``check``, in the summary, in metrics.json and in the report; from ε, n and the domain alone."""
        config = self.config(tmp_path, OPEN, method="dp_histogram", epsilon=0.01)
        (sentence,) = config.synthesis.notes(plan_of(config, prepare(pd.read_csv(tmp_path / "people.csv"), config)))
        assert "the copies are mostly noise. Raise epsilon" in sentence
        assert sentence in check(config).messages
        outcome = run(config, out=tmp_path / "out")
        assert outcome.metrics["privacy"]["cautions"] == [sentence]
        assert ("caution", sentence) in outcome.summary
        assert "the copies are mostly noise" in outcome.report.read_text(encoding="utf-8")

    def test_simulated_noise_is_not_published(self, tmp_path):
        config = self.config(tmp_path, OPEN, method="dp_margins", source="simulated")
        with pytest.raises(InputError, match="simulated noise comes from a seed"):
            run(config, out=tmp_path / "out")
        outcome = run(config, out=tmp_path / "study", study=True)
        assert outcome.public is None
        assert outcome.metrics["privacy"]["statement"].endswith("so it must not be published.")


def test_domain_of_one_column_example():
    sex = Column(name="sex", kind="binary", role="replace", key=True, levels=("F", "M"))
    assert Domain((Axis(sex, 2, missing=True),)).size == 3


class TestAudit:
    """The copies themselves, from two files that differ in one record."""

    def bound(self, name, epsilon):
        variables = {"g": Variable(role="replace", levels=("a", "b", "c"))}
        one = plan(pd.DataFrame({"g": list("aaaaaaabbbbb")}), variables)
        two = plan(pd.DataFrame({"g": list("aaaaaaabbbbc")}), variables)
        method = (
            settings(name, epsilon=epsilon, copies=1)
            if name == "local_noise"
            # what a posterior makes of noisy tables is post-processing, and takes long
            else settings(name, epsilon=epsilon, copies=3, **({"inference": "plug_in"} if name == "dp_tables" else {}))
        )

        def counts(given, rng):
            copies = method.synthesize(given, streams=Streams(int(rng.integers(2**62)))).copies
            return [float((copy["g"] == level).sum()) for copy in copies for level in "abc"]

        return epsilon_bound(repeated(counts), one, two, runs=300, rng=np.random.default_rng(5)).epsilon

    @pytest.mark.parametrize("name", PRIVATE)
    def test_never_above_the_claim(self, name):
        assert self.bound(name, 0.5) <= 0.5

    def test_would_notice(self):
        """A table with sixteen times the budget is told from its claim."""
        assert self.bound("dp_exponential", 8.0) > 0.5
