"""MST: the fit against its brute-force twins, what each step costs, which tree is chosen, and what is refused."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import nnls

from synthdp.config.settings import METHODS
from synthdp.privacy.accounting.accountants import cost, rho
from synthdp.privacy.accounting.closed_forms import rho_of_epsilon
from synthdp.privacy.audit import epsilon_bound, repeated
from synthdp.privacy.mechanisms import Simulated
from synthdp.seeding import Streams
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.mst import DpMst, Merged, budget, measured, tables_sensitivity
from synthdp.synthesis.private.tree import (
    Looks,
    Margins,
    TreeModel,
    consistent,
    fitted,
    nearest,
    pair_table,
    score_sensitivity,
    scores,
    spanning_tree,
)
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import Neighbours, tag

SIZES = (3, 2, 4, 2)
TREES = [((0, 1), (1, 2), (1, 3)), ((2, 3), (0, 3), (1, 0)), ((0, 1), (0, 2), (0, 3))]


def looks(edges=TREES[0], sd=6.0, total=40.0, seed=1, sizes=SIZES) -> Looks:
    """Return noisy margins of records that hang together."""
    rng = np.random.default_rng(seed)
    cells = np.column_stack([rng.integers(0, size, int(total)) for size in sizes])
    nodes = [np.bincount(cells[:, v], minlength=size) for v, size in enumerate(sizes)]
    tables = [pair_table(cells, edge, (sizes[edge[0]], sizes[edge[1]])) for edge in edges]
    return Looks(
        tuple(edges),
        Margins(
            tuple(node + rng.normal(0, sd, node.shape) for node in nodes),
            tuple(table + rng.normal(0, sd, table.shape) for table in tables),
        ),
        tuple(1 / (sd**2 * rng.integers(1, 4, size)) for size in sizes),
        tuple(float(w) / sd**2 for w in rng.uniform(0.5, 2, len(edges))),
        total,
    )


def queries(given: Looks, sizes=SIZES) -> np.ndarray:
    """Return the matrix that takes the whole joint table to all margins and tables: the brute-force way."""
    cells = np.array(list(itertools.product(*map(range, sizes))))
    rows = [(cells[:, v] == i) for v, size in enumerate(sizes) for i in range(size)]
    for a, b in given.edges:
        rows += [(cells[:, a] == i) & (cells[:, b] == j) for i in range(sizes[a]) for j in range(sizes[b])]
    return np.array(rows, dtype=float)


def all_weights(given: Looks) -> np.ndarray:
    tables = [np.full(t.size, w) for t, w in zip(given.noisy.tables, given.table_weights, strict=True)]
    return np.concatenate([*given.node_weights, *tables])


def joint(model: TreeModel, sizes=SIZES) -> np.ndarray:
    """Return the probability of every cell of the domain, one by one."""
    found = []
    for cell in itertools.product(*map(range, sizes)):
        chance = model.nodes[0][cell[0]] / model.nodes[0].sum()
        for parent, child, table in model.downwards():
            chance *= table[cell[parent], cell[child]] / max(table[cell[parent]].sum(), 1e-300)
        found.append(chance)
    return np.array(found)


class TestFit:
    @pytest.mark.parametrize("edges", TREES)
    def test_projection_by_brute_force(self, edges):
        """Least squares over all (signed) joint tables with the right total, by the normal equations."""
        given = looks(edges)
        matrix, root = queries(given), np.sqrt(all_weights(given))
        # the total, as a constraint, is put in by a Lagrange multiplier
        p = matrix.shape[1]
        gram = np.zeros((p + 1, p + 1))
        gram[:p, :p] = (matrix * root[:, None] ** 2).T @ matrix
        gram[:p, p] = gram[p, :p] = 1
        right = np.append((matrix * root[:, None] ** 2).T @ given.noisy.flat(), given.total)
        whole = np.linalg.lstsq(gram, right, rcond=None)[0][:p]
        np.testing.assert_allclose(consistent(given, given.noisy).flat(), matrix @ whole, atol=1e-8)

    @pytest.mark.parametrize("edges", TREES)
    @pytest.mark.parametrize("seed", [1, 3, 4])
    def test_nearest_by_brute_force(self, edges, seed):
        """Non-negative least squares over all joint tables: the objective's minimum, and its unique margins."""
        given = looks(edges, seed=seed)
        matrix, root = queries(given), np.sqrt(all_weights(given))
        heavy = 1e5  # the total as a measurement without noise
        rows = np.vstack([matrix * root[:, None], heavy * np.ones(matrix.shape[1])])
        whole, _ = nnls(rows, np.append(root * given.noisy.flat(), heavy * given.total), maxiter=10_000)
        found = nearest(given)
        assert whole.sum() == pytest.approx(given.total, abs=1e-6)
        np.testing.assert_allclose(found.flat(), matrix @ whole, atol=1e-3)
        assert (found.flat() == 0).any()  # the case is one in which the limits bind
        assert found.flat().min() >= 0

    def test_product_is_the_distribution_of_largest_entropy(self):
        """Iterative proportional fitting of the whole table to the same margins ends at it."""
        model = fitted(looks(sd=1.0, total=400.0))
        cells = np.array(list(itertools.product(*map(range, SIZES))))
        whole = np.full(len(cells), 1 / len(cells))
        for _ in range(200):
            for (a, b), table in zip(model.edges, model.tables, strict=True):
                at = cells[:, a] * SIZES[b] + cells[:, b]
                now = np.bincount(at, weights=whole, minlength=table.size)
                share = table.ravel() / table.sum()
                whole = whole * np.divide(share, now, out=np.zeros_like(share), where=now > 0)[at]
        np.testing.assert_allclose(joint(model), whole, atol=1e-7)

    def test_without_noise_nothing_moves(self):
        given = looks(sd=1e-9)
        np.testing.assert_allclose(nearest(given).flat(), given.noisy.flat(), atol=1e-6)

    def test_stops_unfinished_when_told_to(self):
        found = nearest(looks(), most_turns=1)
        assert found.flat().min() >= 0

    def test_draws_follow_the_joint(self):
        model = fitted(looks(TREES[1]))
        drawn = model.draw(20_000, rng=np.random.default_rng(3))
        place = np.ravel_multi_index(tuple(drawn.T), SIZES)
        expected = joint(model) * 20_000
        seen = np.bincount(place, minlength=len(expected))
        common = expected >= 5
        assert seen[expected < 1e-9].sum() == 0
        pooled = [np.append(x[common], x[~common].sum() + 1e-9) for x in (seen, expected)]
        assert stats.chisquare(pooled[0], pooled[1] * pooled[0].sum() / pooled[1].sum()).pvalue > 1e-4

    def test_a_row_without_mass_takes_the_childs_margin(self):
        model = TreeModel(
            (np.array([1.0, 1.0]), np.array([0.0, 3.0, 0.0])), ((0, 1),), (np.array([[1.0, 0, 0], [0, 0, 0]]),)
        )
        drawn = model.draw(200, rng=np.random.default_rng(1))
        assert set(map(tuple, drawn.tolist())) == {(0, 0), (1, 1)}


class TestSensitivity:
    """By enumeration: all files of three records on a small domain, and all their neighbours."""

    SIZES = (2, 3)
    RECORDS = tuple(itertools.product(range(2), range(3)))

    def files(self, n):
        return [np.array(chosen) for chosen in itertools.combinations_with_replacement(self.RECORDS, n)]

    def neighbours(self, adjacency):
        for one in self.files(3):
            for record in self.RECORDS:
                if adjacency == "add_remove":
                    yield one, np.vstack([one, record])
                else:
                    for i in range(3):
                        other = one.copy()
                        other[i] = record
                        yield one, other

    def tables(self, cells):
        both = [np.bincount(cells[:, v], minlength=size) for v, size in enumerate(self.SIZES)]
        return np.concatenate([*both, pair_table(cells, (0, 1), self.SIZES).ravel()])

    @pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
    def test_tables_together(self, adjacency):
        moved = np.array([self.tables(two) - self.tables(one) for one, two in self.neighbours(adjacency)])
        assert np.abs(moved).sum(axis=1).max() == tables_sensitivity(3, adjacency, "l1").value
        assert np.linalg.norm(moved, axis=1).max() == pytest.approx(tables_sensitivity(3, adjacency, "l2").value)

    @pytest.mark.parametrize("sd", [None, 0.7])
    @pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
    def test_scores(self, adjacency, sd):
        """Never further for any margins that may have been released, and as far for some."""
        rng, worst = np.random.default_rng(1), 0.0
        for _ in range(20):
            margins = [rng.dirichlet(np.full(size, 0.3)) * 3 for size in self.SIZES]
            moved = [
                abs(scores(two, margins, sd=sd)[0, 1] - scores(one, margins, sd=sd)[0, 1])
                for one, two in self.neighbours(adjacency)
            ]
            worst = max(worst, *moved)
        claimed = score_sensitivity(adjacency).value
        assert claimed == {"replace": 2.0, "add_remove": 1.0}[adjacency]
        assert 0.9 * claimed < worst <= claimed + 1e-12


class TestBudget:
    @pytest.mark.parametrize("columns", [1, 2, 3, 8, 40])
    @pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-9), (5.0, 1e-5), (1e-3, 0.0), (1.0, 0.0)])
    def test_adds_up_to_the_claim_and_not_beyond(self, columns, epsilon, delta):
        event = budget(epsilon, delta, columns, "replace").event()
        if delta:
            total = rho_of_epsilon(epsilon, delta, method="tight")
            assert total * (1 - 1e-9) <= rho(event) <= total
        # one column is one Gaussian release, whose exact cost is below what zCDP says of it
        spent = cost(event, delta).epsilon
        assert spent <= epsilon
        if columns > 2 or not delta:
            assert spent >= epsilon * (1 - 1e-6)

    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    def test_a_third_each(self, delta):
        """Noise and choices as the docstring has them."""
        spent = budget(1.0, delta, 5, "replace")
        if not delta:
            assert spent.margins.scale == pytest.approx(2 * 5 * 3)
            assert spent.tables.scale == pytest.approx(2 * 4 * 3)
            assert spent.choice.epsilon == pytest.approx(1 / 3 / 4)
        else:
            third = rho_of_epsilon(1.0, delta, method="tight") / 3
            assert spent.margins.sd == pytest.approx(math.sqrt(2 * 5 / (2 * third)))
            assert spent.tables.sd == pytest.approx(math.sqrt(2 * 4 / (2 * third)))
            assert 4 * spent.choice.rho == pytest.approx(third)
        assert spent.choice.scale == pytest.approx(2 * 2 / spent.choice.epsilon)

    def test_add_remove_needs_half_the_step(self):
        one, two = (budget(1.0, 1e-6, 5, adjacency) for adjacency in ("add_remove", "replace"))
        assert two.margins.sd == pytest.approx(math.sqrt(2) * one.margins.sd)
        assert two.choice.scale == pytest.approx(2 * one.choice.scale)

    def test_what_is_not_needed_goes_to_the_others(self):
        alone, pair = budget(1.0, 0.0, 1, "replace"), budget(1.0, 0.0, 2, "replace")
        assert alone.margins.scale == pytest.approx(2)
        assert (alone.choice, pair.choice) == (None, None)
        assert (pair.margins.scale, pair.tables.scale) == (pytest.approx(8), pytest.approx(4))

    def test_noise_has_that_sd(self):
        spent = budget(1.0, 1e-6, 3, "replace").margins
        zeros = [np.zeros(20_000, dtype=np.int64), np.zeros((100, 200), dtype=np.int64)]
        noisy = measured(zeros, spent, Simulated(np.random.default_rng(1)))
        assert [table.shape for table in noisy] == [(20_000,), (100, 200)]
        assert noisy[1].std() == pytest.approx(spent.sd, rel=4 / math.sqrt(2 * 20_000))


def chain(n=3000, seed=1) -> pd.DataFrame:
    """Return records in which only a–b, b–c and c–d hang together directly."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, n)
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 3, n))
    c = np.where(rng.random(n) < 0.7, b, rng.integers(0, 3, n))
    d = np.where(rng.random(n) < 0.75, c, rng.integers(0, 3, n))
    return pd.DataFrame({"d": d, "a": a, "c": c, "b": b}).astype(str)


LEVELS = Variable(role="replace", levels=("0", "1", "2"))


def plan(frame=None, variables=None) -> Plan:
    frame = chain() if frame is None else frame
    data = resolve(frame, dict.fromkeys(frame.columns, LEVELS) if variables is None else variables)
    return Plan(data, tag(data, Neighbours()))


class TestTree:
    def chosen(self, epsilon, source):
        cells = chain().to_numpy(dtype=np.int64)
        worth = scores(cells, [np.bincount(cells[:, v], minlength=3).astype(float) for v in range(4)])
        return worth, spanning_tree(worth, 4, budget(epsilon, 1e-6, 4, "replace").choice, source)

    def test_much_budget_finds_the_true_tree(self):
        _, edges = self.chosen(50.0, Simulated(np.random.default_rng(1)))
        assert {frozenset(edge) for edge in edges} == {frozenset(pair) for pair in ((1, 3), (3, 2), (2, 0))}

    def test_pairs_with_many_cells_are_not_preferred(self):
        """Two binary columns that hang together beside two with 60 cells each that do not."""
        rng = np.random.default_rng(4)
        g = rng.integers(0, 2, 2000)
        cells = np.column_stack([g, (g + (rng.random(2000) < 0.3)) % 2, rng.integers(0, 60, (2000, 2))])
        margins = [np.bincount(cells[:, v], minlength=size).astype(float) for v, size in enumerate((2, 2, 60, 60))]
        plain, corrected = scores(cells, margins), scores(cells, margins, sd=5.0)
        assert max(plain, key=plain.get) == (2, 3)
        assert max(corrected, key=corrected.get) == (0, 1)
        # without noise the correction is the mean of the plain score of pairs that are independent
        assert abs(scores(cells, margins, sd=0.0)[2, 3]) < 0.1 * plain[2, 3]

    def test_always_a_tree(self):
        source = Simulated(np.random.default_rng(2))
        for _ in range(50):
            _, edges = self.chosen(1e-4, source)
            assert len(TreeModel((np.ones(3),) * 4, edges, (np.ones((3, 3)),) * 3).downwards()) == 3

    def test_law_by_enumeration(self):
        """Three columns: the chance of every ordered tree, round by round."""
        worth = {(0, 1): 30.0, (0, 2): 10.0, (1, 2): 0.0}
        choice = budget(3.0, 0.0, 3, "replace").choice
        first = choice.probabilities(np.array(list(worth.values())))
        expected = {}
        for i, one in enumerate(worth):
            others = [pair for pair in worth if pair != one]
            second = choice.probabilities(np.array([worth[pair] for pair in others]))
            expected |= {(one, two): first[i] * second[j] for j, two in enumerate(others)}
        source = Simulated(np.random.default_rng(3))
        drawn = [spanning_tree(worth, 3, choice, source) for _ in range(3000)]
        seen = [drawn.count(tree) for tree in expected]
        assert stats.chisquare(seen, 3000 * np.array(list(expected.values()))).pvalue > 1e-4

    def test_associations_come_back(self):
        """With much budget the pairs of the tree, and what follows from them, are within sampling error."""
        given = plan()
        copy = (
            DpMst(epsilon=100, delta=1e-6, source="simulated", copies=1).synthesize(given, streams=Streams(1)).copies[0]
        )
        for a, b in itertools.combinations("abcd", 2):
            tables = [pd.crosstab(frame[a], frame[b]).to_numpy() / 3000 for frame in (given.data.frame, copy)]
            assert np.abs(tables[0] - tables[1]).max() < 5 * math.sqrt(2 * 0.25 * 0.75 / 3000)

    def test_margins_alone_lose_them(self):
        """The same copies beside independent columns: total variation of the pairs."""
        given, far = plan(), {}
        for method in ("dp_margins", "dp_mst"):
            copy = (
                METHODS[method](epsilon=1, delta=1e-6, source="simulated", copies=1)
                .synthesize(given, streams=Streams(2))
                .copies[0]
            )
            pairs = [
                [pd.crosstab(f[a], f[b], normalize=True).to_numpy() for f in (given.data.frame, copy)]
                for a, b in itertools.combinations("abcd", 2)
            ]
            far[method] = np.mean([np.abs(x - y).sum() / 2 for x, y in pairs])
        assert far["dp_mst"] < far["dp_margins"] / 3


class TestMerging:
    def test_small_counts_are_one_group(self):
        noisy = np.array([50.0, 6.0, 40.0, 3.0, -1.0])
        groups = Merged.below(noisy, 10)
        assert groups.of(np.arange(5)).tolist() == [0, 2, 1, 2, 2]
        assert groups.summed(noisy).tolist() == [50, 40, 8]
        assert groups.held().tolist() == [1, 1, 3]
        drawn = groups.split(np.array([0] * 5 + [1] * 5 + [2] * 4000), rng=np.random.default_rng(1))
        assert drawn[:10].tolist() == [0] * 5 + [2] * 5
        # the nearest non-negative counts with the same sum: 6 and 3 less a half
        assert set(drawn[10:].tolist()) == {1, 3}
        assert abs((drawn[10:] == 1).mean() - 5.5 / 8) < 4 * math.sqrt(0.25 / 4000)

    def test_split_evenly_when_the_counts_say_nothing(self):
        groups = Merged.below(np.array([-4.0, 2.0]), 10)
        drawn = groups.split(np.zeros(4000, dtype=np.int64), rng=np.random.default_rng(1))
        assert abs(drawn.mean() - 0.5) < 4 * math.sqrt(0.25 / 4000)

    @pytest.mark.parametrize("margin", [[50.0, 60.0], [1.0, 2.0]])
    def test_all_or_nothing(self, margin):
        groups = Merged.below(np.array(margin), 10)
        assert groups.size == (2 if margin[0] > 10 else 1)
        assert len(groups.held()) == groups.size


class TestInputs:
    def test_one_column_and_two(self):
        for names in (["a"], ["a", "b"]):
            given = plan(chain()[names])
            method = DpMst(epsilon=5, delta=1e-6, source="simulated", copies=1)
            assert method.problems(given) == []
            copy = method.synthesize(given, streams=Streams(1)).copies[0]
            assert list(copy.columns) == names
            assert abs((copy["a"] == "0").mean() - (chain()["a"] == "0").mean()) < 4 * math.sqrt(2 * 0.22 / 3000)

    def test_a_pair_that_is_too_large(self):
        variables = {name: Variable(role="replace", kind="count", bounds=(0, 4999)) for name in ("x", "y")}
        given = plan(
            pd.DataFrame({"x": np.arange(300), "y": np.arange(300)[::-1], "g": ["a", "b"] * 150}),
            variables | {"g": Variable(role="replace", levels=("a", "b"))},
        )
        assert DpMst(bins=5000).problems(given) == [
            "synthesis.bins_by: the table of x and y has 25,000,000 cells, dp_mst takes at most 1,000,000 for a pair "
            "of columns; use fewer bins, or group levels."
        ]
        assert DpMst(bins=50).problems(given) == []

    def test_one_column_that_is_too_large(self):
        given = plan(
            pd.DataFrame({"x": np.arange(300)}), {"x": Variable(role="replace", kind="count", bounds=(0, 10**8))}
        )
        assert DpMst(bins=10**7).problems(given) == [
            "synthesis.bins_by: the table of x has 10,000,000 cells, dp_mst takes at most 1,000,000 for a pair of "
            "columns; use fewer bins, or group levels."
        ]

    def test_so_little_budget_is_said(self):
        given = plan()
        assert DpMst(epsilon=5, delta=1e-6).notes(given) == []
        (small,) = DpMst(epsilon=0.05, delta=1e-6).notes(given)
        assert small.startswith("synthesis.epsilon: cells with fewer than ")
        assert small.endswith(
            " are likely to be merged; on average those of d, a, c, b have fewer. Use fewer bins, or raise epsilon."
        )
        (nothing,) = DpMst(epsilon=0.001).notes(given)
        assert "3,000 records are fewer than 3 sd of the noise in a margin" in nothing
        made = DpMst(epsilon=1e-4, source="simulated", copies=1).synthesize(given, streams=Streams(1)).copies[0]
        assert len(made) == 3000

    def test_kinds_and_missing_values(self):
        frame = pd.DataFrame({"age": np.arange(400) % 60 + 20, "pay": np.where(np.arange(400) % 3, 0.0, 12.5)})
        frame["pay"] = frame["pay"].where(np.arange(400) % 7 > 0)
        frame["z"] = np.where(np.arange(400) % 5, "0", "1")
        given = plan(
            frame,
            {
                "age": Variable(role="replace", bounds=(18, 90), decimals=0),
                "pay": Variable(role="replace", kind="semicontinuous", bounds=(0, 50), decimals=1),
                "z": LEVELS,
            },
        )
        method = DpMst(epsilon=50, delta=1e-6, source="simulated", copies=1, missing=("pay",))
        assert method.problems(given) == []
        copy = method.synthesize(given, streams=Streams(1)).copies[0]
        assert copy["age"].between(18, 90).all()
        assert abs(copy["pay"].isna().mean() - 1 / 7) < 4 * math.sqrt(2 * 0.13 / 400)


class TestAudit:
    """Copies of two files that differ in one record, all steps together."""

    def bound(self, epsilon):
        frame = pd.DataFrame({"a": list("000011112222"), "b": list("000011112222"), "c": list("001100110022")})
        other = frame.copy()
        other.loc[11] = ["0", "1", "1"]
        method = DpMst(epsilon=epsilon)
        domain = method.domain(plan(frame))

        def counts(given, rng):
            draw, _ = method.pay(given, domain, Simulated(rng))
            cells = [draw(rng) for _ in range(3)]
            return [float(count) for copy in cells for v in range(3) for count in np.bincount(copy[:, v], minlength=3)]

        return epsilon_bound(repeated(counts), plan(frame), plan(other), runs=300, rng=np.random.default_rng(5)).epsilon

    def test_never_above_the_claim(self):
        assert self.bound(0.5) <= 0.5

    def test_would_notice(self):
        assert self.bound(60.0) > 0.5
