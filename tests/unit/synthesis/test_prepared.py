"""What DP methods of tables are told or find out beside their tables: even dealing, impossible cells, bins, levels."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from synthdp.config.settings import METHODS
from synthdp.errors import Unfinished
from synthdp.privacy.accounting.accountants import cost
from synthdp.privacy.audit import epsilon_bound, repeated
from synthdp.privacy.events import Approximate, Composed, ZeroConcentrated
from synthdp.privacy.mechanisms import Simulated
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private import preprocessing, zeros
from synthdp.synthesis.private.aim import DpAim
from synthdp.synthesis.private.dealing import dealt, dealt_tree
from synthdp.synthesis.private.fitting import Noisy, nearest
from synthdp.synthesis.private.junction import Junction, table_of
from synthdp.synthesis.private.measured import DpTables
from synthdp.synthesis.private.mst import DpMst
from synthdp.synthesis.private.preprocessing import threshold, with_levels, with_quantiles
from synthdp.synthesis.private.tree import TreeModel
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

NAMES = ("dp_mst", "dp_tables", "dp_aim")
COLUMNS = {
    "age": Variable(role="replace", bounds=(0, 99), decimals=0),
    "married": Variable(role="replace", levels=("no", "yes", "N")),
    "job": Variable(role="replace", levels=("none", "low", "high")),
}
ZEROS = ("age < 15 and married != 'N'", "age >= 15 and married == 'N'")


def people(n: int = 2000, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, n)
    married = np.where(age < 15, "N", np.where(rng.random(n) < age / 100, "yes", "no"))
    job = np.where(age < 16, "none", rng.choice(["none", "low", "high"], n))
    return pd.DataFrame({"age": age, "married": married, "job": job})


def plan(frame=None, variables=None, **more) -> Plan:
    data = resolve(people() if frame is None else frame, COLUMNS if variables is None else variables)
    return Plan(data, tag(data, Neighbours()), **more)


def made(name, given, seed=1, **settings):
    plain = {"inference": "plug_in"} if name == "dp_tables" else {}
    method = METHODS[name](source="simulated", copies=1, **({"delta": 1e-6} | plain | settings))
    assert method.problems(given) == []
    return method.synthesize(given, streams=Streams(seed))


class TestDealing:
    @pytest.mark.parametrize("deal", ["blocks", "tree"])
    def test_each_record_follows_the_model_and_tables_follow_it_closely(self, deal):
        rng = np.random.default_rng(1)
        joint = rng.dirichlet(np.ones(12)).reshape(3, 4)
        if deal == "blocks":
            model = Junction.of((3, 4), [(0, 1)])

            def draw(n):
                return dealt(model, [joint], n, rng=rng)
        else:
            tree = TreeModel((joint.sum(axis=1), joint.sum(axis=0)), ((0, 1),), (joint,))

            def draw(n):
                return dealt_tree(tree, n, rng=rng)

        n = 2000
        found = np.array([table_of(draw(n), (0, 1), (3, 4)) for _ in range(50)])
        # a sample would be off by √(n p(1 − p)), 11 in the mean here; a few records are what is left of that
        assert np.abs(found - n * joint).mean() < 2.0
        # and the first record by itself is a draw from the model
        first = np.array([draw(7)[0] for _ in range(3000)])
        share = table_of(first, (0, 1), (3, 4)) / 3000
        assert np.abs(share - joint).max() < 4 * math.sqrt(0.25 / 3000)

    def test_it_is_said(self):
        said = DpAim(delta=1e-6, epsilon=1e4, dealing="systematic").notes(plan())
        assert said == [
            "Records were dealt evenly, so copies differ less than the rule assumes: intervals are too wide."
        ]
        assert DpTables(delta=1e-6, inference="noise_aware", dealing="systematic").problems(plan()) == [
            "synthesis.dealing: noise_aware intervals count independent draws; leave dealing out."
        ]

    @pytest.mark.parametrize("name", NAMES)
    def test_all_methods_of_tables_deal(self, name):
        given = plan()
        one, two = (
            made(name, given, epsilon=1e4, bins=10, dealing=dealing).copies[0]
            for dealing in ("independent", "systematic")
        )

        def far(copy):
            return sum(abs((copy["job"] == job).mean() - (people()["job"] == job).mean()) for job in ("none", "low"))

        assert far(two) <= max(far(one), 0.004)


class TestWhatCannotBe:
    def test_by_enumeration(self):
        """The fitted model against one of all cells, fitted by its own gradient steps."""
        rng = np.random.default_rng(2)
        out = {(0, 1): np.array([[False, True], [False, False], [True, False]])}
        noisy = Noisy((3, 2, 2), {}, 100, out)
        counts = {columns: rng.uniform(5, 30, [noisy.sizes[v] for v in columns]) for columns in ((0, 1), (1, 2))}
        for columns, table in counts.items():
            noisy = noisy.joined(columns, table, 4.0)
        fit = nearest(noisy, turns=5000)
        cells = np.array(list(itertools.product(*map(range, noisy.sizes))))
        allowed = ~out[0, 1][cells[:, 0], cells[:, 1]]

        def loss(p):
            return sum(
                ((100 * np.bincount(flat, weights=p, minlength=table.size) - table.ravel()) ** 2).sum()
                for flat, table in flats
            )

        flats = [(np.ravel_multi_index(cells[:, list(c)].T, table.shape), table) for c, table in counts.items()]
        log = np.zeros(len(cells))
        for _ in range(20_000):
            p = np.where(allowed, np.exp(log), 0)
            p /= p.sum()
            slope = sum((100 * np.bincount(f, weights=p, minlength=t.size) - t.ravel())[f] for f, t in flats)
            log -= 2e-4 * slope
        joint = fit.margin((0, 1, 2))[tuple(cells.T)]
        assert joint[~allowed].max() == 0
        assert loss(joint) == pytest.approx(loss(p), rel=1e-3)
        np.testing.assert_allclose(joint, p, atol=2e-3)

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("dealing", ["independent", "systematic"])
    def test_no_copy_has_them(self, name, dealing):
        # little budget and wide bins: noise alone would fill every cell
        copy = made(name, plan(), epsilon=0.3, bins=7, zeros=ZEROS, dealing=dealing).copies[0]
        young = copy["age"] < 15
        assert (copy.loc[young, "married"] == "N").all()
        assert (copy.loc[~young, "married"] != "N").all()
        assert young.any()

    def test_constraints_of_two_numbers_and_who_is_asked(self):
        rng = np.random.default_rng(3)
        age = rng.integers(20, 60, 500)
        frame = pd.DataFrame({"age": age, "years": np.minimum(rng.integers(0, 40, 500), age - 18), "sex": "F"})
        frame["sex"] = np.where(rng.random(500) < 0.5, "F", "M")
        frame["births"] = np.where(frame["sex"] == "F", rng.integers(0, 5, 500), np.nan)
        variables = {
            "age": Variable(role="replace", bounds=(20, 60), decimals=0),
            "years": Variable(role="replace", bounds=(0, 42), decimals=0),
            "sex": Variable(role="replace", levels=("F", "M")),
            "births": Variable(role="replace", bounds=(0, 5), decimals=0, applies_when="sex == 'F'"),
        }
        given = plan(frame, variables, constraints=("years <= age - 18",))
        assert DpAim(delta=1e-6).problems(given)[0] == (
            "variables.births.applies_when: whoever it does not apply to needs a cell; name the column in "
            "synthesis.missing."
        )
        copy = made("dp_aim", given, epsilon=1.0, bins=5, missing=("births",)).copies[0]
        assert (copy["years"] <= copy["age"] - 18).all()
        assert copy.loc[copy["sex"] == "M", "births"].isna().all()
        assert copy.loc[copy["sex"] == "F", "births"].notna().any()

    def test_bins_begin_where_what_can_be_changes(self):
        found = DpAim(delta=1e-6, bins=4, zeros=ZEROS).domain(plan()).axes[0]
        assert found.starts == (0, 15, 25, 50, 75)
        whole = DpAim(delta=1e-6, bins=4).domain(plan()).axes[0]
        assert (whole.starts, whole.plain) == ((), 4)

    def test_open_cells_are_what_the_noise_is_counted_for(self):
        given = plan()
        method = DpAim(delta=1e-6, bins=4, zeros=ZEROS)
        domain = method.domain(given)
        ruled = method.ruled(given, domain)
        # five bins by three levels; one bin has N alone, four have the two others
        assert zeros.open_cells((0, 1), (5, 3, 3), ruled) == 1 + 4 * 2
        assert zeros.open_cells((1, 2), (5, 3, 3), ruled) == 9

    @pytest.mark.parametrize(
        ("settings", "more", "sentence"),
        [
            ({"zeros": ("agee > 3",)}, {}, "synthesis.zeros, number 1: may name replaced columns only, found agee."),
            ({"zeros": ("age +",)}, {}, "synthesis.zeros, number 1: "),
            ({"zeros": ("age",)}, {}, "synthesis.zeros, number 1: must be a condition, true or false for each record."),
            (
                {"zeros": ("age > 95",)},
                {},
                "records of the data are there; first at row ",
            ),
            (
                {"zeros": ZEROS, "inference": "noise_aware"},
                {},
                "synthesis.inference: noise_aware keeps no zeros, constraints or applies_when; use plug_in.",
            ),
            (
                {"zeros": ("job == 'x' or job != 'x' and age < -1",)},
                {},
                "",
            ),
        ],
    )
    def test_refused(self, settings, more, sentence):
        found = DpAim(delta=1e-6, **settings).problems(plan(**more))
        assert found == [] if not sentence else any(sentence in one for one in found)

    def test_refused_for_size(self, monkeypatch):
        given = plan()
        monkeypatch.setattr(zeros, "MOST_TRIED", 200)
        assert DpAim(delta=1e-6, zeros=ZEROS).problems(given) == [
            f"synthesis.zeros, number {number}: its columns have 300 combinations of values, at most 200 are gone "
            "through; write numbers with fewer decimals, or split the condition."
            for number in (1, 2)
        ]
        monkeypatch.setattr(zeros, "MOST_TRIED", 10**6)
        monkeypatch.setattr(zeros, "MOST_RULED", 20)
        assert DpAim(delta=1e-6, zeros=ZEROS).problems(given) == [
            "constraints: they hang together in a model of 36 cells, at most 20 can be held; use fewer bins, or leave "
            "some out."
        ]

    def test_nobody_left(self):
        given = plan(constraints=("married == 'no'", "married == 'yes'"))
        assert zeros.rule_problems(given, DpAim(delta=1e-6).domain(given), ()) == [
            "constraints: together with zeros and applies_when they leave no cell in which anybody could be."
        ]

    def test_computed_columns_are_refused(self):
        given = plan(variables={**COLUMNS, "job": COLUMNS["job"].model_copy(update={"role": "keep"})})
        domain = DpAim(delta=1e-6).domain(given)
        narrow = type(domain)(domain.axes[:2])
        assert zeros.rule_problems(given, narrow, ("job == 'x' and age < 3",)) == [
            "synthesis.zeros, number 1: DP methods keep conditions on replaced columns only, found job."
        ]

    def test_gives_up_with_a_sentence(self):
        frame = pd.DataFrame({"x": [1]})
        with pytest.raises(Unfinished) as error:
            zeros.settled(lambda: frame, lambda found: np.array([True]))
        assert str(error.value).startswith("synthesis.bins: some bins hold hardly any value that keeps all constraints")


class TestBins:
    def test_quantiles_hold_equal_shares(self):
        frame = people(20_000).assign(age=np.minimum(np.random.default_rng(5).geometric(0.06, 20_000), 99))
        given = plan(frame)
        axis = DpAim(delta=1e-6).domain(given).axes[0].begun(())
        axis = type(axis)(axis.column, 8, 100)
        found = with_quantiles(axis, given.data, 5.0, Simulated(np.random.default_rng(1)))
        counts = np.bincount(found.encode(given.data), minlength=found.plain)
        assert found.plain == 8
        # ages come in whole years, of which the first has 6% of all
        assert np.abs(counts / 20_000 - 1 / 8).max() < 0.06
        assert list(found.starts) == sorted(set(found.starts))
        back = found.values(np.arange(found.plain), rng=np.random.default_rng(1))
        np.testing.assert_array_equal(found.bin_of(back.astype(int)), np.arange(found.plain))
        np.testing.assert_allclose(found.centres()[0], (found.starts[1] - 1) / 2)

    def test_everybody_alike_leaves_few_bins_and_missing_and_zero_stay_out(self):
        frame = pd.DataFrame({"x": [0.0] * 300 + [7.0] * 300 + [np.nan] * 300, "g": list("ab") * 450})
        variables = {
            "x": Variable(role="replace", kind="semicontinuous", bounds=(0, 10), decimals=0),
            "g": Variable(role="replace", levels=("a", "b")),
        }
        method = DpAim(delta=1e-6, epsilon=1e3, bins="dp_quantiles", missing=("x",))
        given = plan(frame, variables)
        assert method.domain(given).axes[0].plain == 11
        domain, event = method.prepare(given, Simulated(np.random.default_rng(1)))
        axis = domain.axes[0]
        assert axis.plain <= 3
        assert {0.0, 7.0} < set(axis.listed()[0][~np.isnan(axis.listed()[0])])
        np.testing.assert_array_equal(np.bincount(axis.encode(given.data))[-2:], [300, 300])
        assert event is not None
        assert cost(event, 1e-6).epsilon <= 1e3

    @pytest.mark.parametrize("name", NAMES)
    def test_shares_add_up_and_the_cost_is_the_claim(self, name):
        given = plan()
        for more in ({"bins_by": {"age": "dp_quantiles"}}, {"bins": "dp_quantiles", "preprocessing": 0.3}):
            release = made(name, given, epsilon=1.0, **more)
            said = release.privacy.section()
            assert said["shares"]["preprocessing"] == pytest.approx(more.get("preprocessing", 0.1))
            assert sum(said["shares"].values()) == pytest.approx(1)
            spent = cost(release.privacy.event, 1e-6).epsilon
            assert 0.9 < spent <= 1.0

    def test_refused_elsewhere(self):
        found = METHODS["dp_histogram"](bins="dp_quantiles").problems(plan())
        assert found == [
            "synthesis.bins: dp_histogram does not find bins; write a number, or use dp_mst, dp_tables or dp_aim."
        ]
        assert DpMst(bins="dp_quantiles").problems(plan()) == [
            "synthesis.delta: bins and levels that are found need one above 0, such as 1e-6."
        ]


UNDECLARED = {**COLUMNS, "job": Variable(role="replace", kind="nominal")}


class TestLevels:
    @pytest.mark.parametrize(("sd", "delta"), [(40.0, 1e-6), (3.0, 1e-3), (0.5, 0.2)])
    def test_one_record_passes_with_at_most_delta(self, sd, delta):
        """By summing the discrete Gaussian distribution, whose tails are above those of the normal one."""
        least, at = threshold(sd, delta), np.arange(-2_000, 2_001)
        weights = np.exp(-(at**2) / (2 * sd**2))
        assert weights[at + 1 >= least].sum() / weights.sum() <= delta
        # and not much more than is needed
        assert weights[at + 3 >= least].sum() / weights.sum() > delta

    @pytest.mark.parametrize("name", NAMES)
    def test_common_levels_are_found_and_rare_ones_are_missing(self, name):
        frame = people(4000)
        frame.loc[0, "job"] = "astronaut"
        given = plan(frame, UNDECLARED)
        release = made(name, given, epsilon=4.0, bins=5, find_levels={"job": 10}, missing=("job",), preprocessing=0.3)
        assert set(release.copies[0]["job"].dropna()) == {"none", "low", "high"}
        assert "but for those that the share `preprocessing` was spent on" in release.privacy.section()["assumed"][1]
        assert cost(release.privacy.event, 1e-6).epsilon <= 4.0
        few = made(name, given, epsilon=4.0, bins=5, find_levels={"job": 1}, missing=("job",), preprocessing=0.3)
        assert set(few.copies[0]["job"].dropna()) == {"none"}

    def test_nothing_found_is_a_column_that_is_missing(self):
        given = plan(people(100), UNDECLARED)
        copy = made("dp_mst", given, epsilon=0.1, bins=5, find_levels={"job": 3}, missing=("job",)).copies[0]
        assert copy["job"].isna().all()

    def test_refused(self):
        method = DpAim(delta=1e-6, find_levels={"job": 3}, missing=("job",))
        assert method.problems(plan(variables=UNDECLARED)) == []
        assert method.problems(plan()) == ["synthesis.find_levels: the levels of job are declared; leave it out."]
        assert DpAim(delta=1e-6, find_levels={"job": 3, "jobb": 2}).problems(plan(variables=UNDECLARED)) == [
            "synthesis.missing: must name job, as whoever has a level that is not found counts as missing.",
            "synthesis.find_levels: no column named 'jobb'.",
        ]
        guessed = {**COLUMNS, "job": Variable(role="replace")}
        assert method.problems(plan(variables=guessed)) == [
            "variables.job.kind: write nominal where levels are to be found; else it is guessed."
        ]
        coded = plan(people().assign(job=np.arange(2000) % 5), UNDECLARED)
        assert method.problems(coded) == ["synthesis.find_levels: job is no text; declare its levels."]
        assert DpMst(find_levels={"job": 3}, missing=("job",)).problems(plan(variables=UNDECLARED)) == [
            "synthesis.delta: bins and levels that are found need one above 0, such as 1e-6."
        ]


class TestWorkloadOfTheTree:
    def test_weights_by_counting(self):
        given = plan()
        method = DpMst(delta=1e-6, by="job")
        domain = method.domain(given)
        # pairs crossed with job: {0,1,2}, {0,2}, {1,2}
        assert method.wanted(given, domain) == ((0, 1, 2), (0, 2), (1, 2))
        weights = method.asked_for(given, domain)
        assert {pair: weights[pair] for pair in ((0, 1), (0, 2), (1, 2))} == {(0, 1): 4, (0, 2): 5, (1, 2): 5}
        worth = {(0, 1): 10.0, (0, 2): 10.0, (1, 2): 10.0}
        assert method.weighed(worth, given, domain) == {(0, 1): 8.0, (0, 2): 10.0, (1, 2): 10.0}
        assert DpMst(delta=1e-6).weighed(worth, given, domain) == worth
        single = DpMst(delta=1e-6, workload=(("age",),))
        assert single.weighed(worth, given, domain) == worth
        one = DpMst(delta=1e-6, workload=(("age", "married"),))
        assert one.weighed(worth, given, domain) == {(0, 1): 10.0, (0, 2): 0.0, (1, 2): 0.0}

    def test_unknown_column(self):
        assert DpMst(by="jobb").problems(plan()) == ["synthesis.by: no column named 'jobb'."]


class TestAudit:
    """Found bins and levels from two files that differ in one record, and mistakes that must show."""

    def levels(self, broken=False):
        variables = {"g": Variable(role="replace", kind="nominal")}
        one, two = (plan(pd.DataFrame({"g": ["a"] * 30 + ["b"] * 29 + [last]}), variables) for last in "bc")
        method = DpAim(delta=1e-3, find_levels={"g": 3}, missing=("g",))

        def found(given, rng):
            axis = method.domain(given).axes[0]
            delta = 0.3 if broken else 1e-3
            levels = with_levels(axis, given.data, 3, 0.05, delta, Simulated(rng)).column.levels
            return [float("c" in levels), float(len(levels))]

        return epsilon_bound(repeated(found), two, one, runs=4000, rng=np.random.default_rng(5), delta=2e-3).epsilon

    def test_levels(self):
        claimed = cost(Composed((ZeroConcentrated(0.05), Approximate(0.0, 1e-3))), 2e-3).epsilon
        assert self.levels() <= claimed
        assert self.levels(broken=True) > claimed

    def quantiles(self, epsilon):
        variables = {"x": Variable(role="replace", bounds=(0, 9), decimals=0)}
        one, two = (plan(pd.DataFrame({"x": [0] * 3 + [4] * 2 + [9] * 4 + [last]}), variables) for last in (0, 9))
        axis = DpAim(delta=1e-6, bins=2).domain(one).axes[0]

        def found(given, rng):
            return [float(with_quantiles(axis, given.data, epsilon, Simulated(rng)).first_of(np.array([1]))[0])]

        return epsilon_bound(repeated(found), one, two, runs=4000, rng=np.random.default_rng(5)).epsilon

    def test_quantiles(self):
        assert self.quantiles(1.0) <= 1.0
        assert self.quantiles(4.0) > 1.0

    def test_the_whole_preparation_within_its_claim(self):
        given = plan(people(200), UNDECLARED)
        method = DpAim(delta=1e-5, epsilon=1.0, find_levels={"job": 3}, missing=("job",), bins="dp_quantiles")
        _, event = method.prepare(given, Simulated(np.random.default_rng(1)))
        assert cost(event, 1e-5).epsilon <= 1.0
        assert preprocessing.Preprocessing(frozenset(), {}, 1.0, 0.0).found(
            method.domain(given), given.data, Simulated(np.random.default_rng(1))
        )[0] == method.domain(given)
