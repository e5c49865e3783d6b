"""The joint draw of a program against quadrature: candidates, enumeration and closed forms target the same density."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from synthdp.errors import Unfinished
from synthdp.imputation.families.normal import NormalDraw
from synthdp.imputation.families.unordered import BinaryDraw
from synthdp.imputation.pymc import joint_draw
from synthdp.imputation.pymc.columns import Node
from synthdp.imputation.pymc.families import LogNormalDraw, StudentDraw
from synthdp.imputation.pymc.joint_draw import Chain, Mixture, choose, effective
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.table.links import Link
from synthdp.table.microdata import Floats

N = 4_000
GRID = np.linspace(-12, 60, 400_001)


@dataclass(frozen=True)
class Given:
    """A design of a constant and one function of a parent."""

    parent: str | None = None
    bend: str = "straight"

    @property
    def parents(self) -> tuple[str, ...]:
        return () if self.parent is None else (self.parent,)

    def matrix(self, values, rows) -> Floats:
        ones = np.ones((len(rows), 1))
        if self.parent is None:
            return ones
        x = values[self.parent][rows]
        return np.column_stack([ones, {"straight": x, "square": x**2}[self.bend]])

    def straight_in(self, name: str) -> bool:
        return self.bend == "straight"


def told(mean: float, precision: float) -> GaussianEvidence:
    return GaussianEvidence.at(np.full(N, mean), np.full(N, precision))


def drawn(*nodes: Node, sweeps: int = 12, **evidence) -> dict[str, Floats]:
    return Chain(nodes, sweeps).run(evidence, rng=np.random.default_rng(8))[0]


def follows(x: Floats, log_density: Floats) -> float:
    """Return the p-value of draws under a density given on the grid."""
    density = np.exp(log_density - log_density.max())
    cdf = np.cumsum(density)
    return float(stats.kstest(x, lambda at: np.interp(at, GRID, cdf / cdf[-1])).pvalue)


def column(y: Floats) -> Floats:
    return np.atleast_1d(y)[:, None]


STUDENT = StudentDraw(np.array([[0.3]]), 0.6, 4.0)
LOGS = LogNormalDraw(np.array([[0.2]]), 0.7, 10.0, 2.0, 0.8, Link(18.0, 6.0))
MASKS = [(0.0, 0.0), (1.0, 1.0), (0.4, 400.0), (6.0, 4.0), (-1.0, 1e6)]


class TestOneColumn:
    @pytest.mark.parametrize(("mean", "precision"), MASKS)
    def test_student_t_given_its_mask(self, mean, precision):
        x = drawn(Node("x", STUDENT, Given()), x=told(mean, precision))["x"]
        target = STUDENT.log_density(GRID, np.full((len(GRID), 1), 0.3)) - 0.5 * precision * (GRID - mean) ** 2
        if precision < 1e5:
            assert follows(x, target) > 1e-3
        else:  # narrower than the grid: the mask alone decides
            assert stats.kstest(x, stats.norm(mean, precision**-0.5).cdf).pvalue > 1e-3

    @pytest.mark.parametrize(("mean", "precision"), [(0.0, 0.0), (1.0, 1.0), (0.4, 400.0), (9.0, 4.0), (-3.0, 2.0)])
    def test_log_normal_given_its_mask(self, mean, precision):
        x = drawn(Node("x", LOGS, Given()), x=told(mean, precision))["x"]
        target = LOGS.log_density(GRID, np.full((len(GRID), 1), 0.2)) - 0.5 * precision * (GRID - mean) ** 2
        assert (LOGS.link.inverse(x) > LOGS.zero).all()
        assert follows(x, target) > 1e-3

    def test_densities_are_those_of_scipy(self):
        y, eta = np.linspace(-1, 4, 50), np.full((50, 1), 0.2)
        assert np.allclose(STUDENT.log_density(y, eta), stats.t.logpdf(y, 4.0, 0.2, 0.6))
        above = LOGS.link.inverse(y) - 10.0
        logs = stats.lognorm.logpdf(above, 0.8 * 0.7, scale=np.exp(2.0 + 0.8 * 0.2)) + np.log(6.0)
        assert np.allclose(LOGS.log_density(y, eta), logs)
        assert LOGS.log_density(np.array([-9.0]), eta[:1])[0] == -np.inf


class TestColumnsTogether:
    def test_a_normal_column_takes_a_normal_child_in_closed_form(self):
        x, y = NormalDraw(np.array([[0.2]]), 1.0), NormalDraw(np.array([[0.1], [2.0]]), 0.25)
        nodes = Node("x", x, Given()), Node("y", y, Given("x"))
        found = drawn(*nodes, x=told(1.0, 0.5), y=told(3.0, 4.0))
        precision = np.array([[1 + 0.5 + 4 / 0.25, -2 / 0.25], [-2 / 0.25, 1 / 0.25 + 4]])
        linear = np.array([0.2 + 0.5 - 2 * 0.1 / 0.25, 0.1 / 0.25 + 12])
        exact = stats.multivariate_normal(np.linalg.solve(precision, linear), np.linalg.inv(precision))
        for j, name in enumerate("xy"):
            marginal = stats.norm(exact.mean[j], np.sqrt(exact.cov[j, j]))
            assert stats.kstest(found[name], marginal.cdf).pvalue > 1e-3
        rho = exact.cov[0, 1] / np.sqrt(exact.cov[0, 0] * exact.cov[1, 1])
        assert abs(np.corrcoef(found["x"], found["y"])[0, 1] - rho) < 4 * (1 - rho**2) / np.sqrt(N)

    @pytest.mark.parametrize("parent", [STUDENT, NormalDraw(np.array([[0.3]]), 0.5)], ids=["student", "normal"])
    def test_a_number_with_children_that_bend_it(self, parent):
        y, s = NormalDraw(np.array([[0.1], [0.8]]), 0.3), BinaryDraw(np.array([[-0.5], [1.5]]), "logit")
        nodes = Node("x", parent, Given()), Node("y", y, Given("x", "square")), Node("s", s, Given("x"))
        says = LevelEvidence(np.log(np.tile([0.2, 0.8], (N, 1))))
        found = drawn(*nodes, sweeps=25, x=told(0.5, 0.7), y=told(1.0, 2.0), s=says)
        target = parent.log_density(GRID, np.full((len(GRID), 1), 0.3)) - 0.35 * (GRID - 0.5) ** 2
        target += stats.norm.logpdf(1.0, 0.1 + 0.8 * GRID**2, np.sqrt(0.3 + 0.5))
        p = stats.logistic.cdf(-0.5 + 1.5 * GRID)
        assert follows(found["x"], target + np.log(0.2 * (1 - p) + 0.8 * p)) > 1e-3

    def test_a_level_is_enumerated_against_a_student_t_child(self):
        s = BinaryDraw(np.array([[0.4]]), "logit")
        y = StudentDraw(np.array([[-0.5], [1.2]]), 0.6, 3.0)
        says = LevelEvidence(np.log(np.tile([0.7, 0.3], (N, 1))))
        found = drawn(Node("s", s, Given()), Node("y", y, Given("s")), s=says, y=told(0.2, 3.0), sweeps=25)
        mask = np.exp(-1.5 * (GRID - 0.2) ** 2)
        prior = np.exp(s.log_levels(np.array([[0.4]]))[0]) * [0.7, 0.3]
        weights = [
            prior[level] * (np.exp(y.log_density(GRID, np.full((len(GRID), 1), -0.5 + 1.2 * level))) * mask).sum()
            for level in (0, 1)
        ]
        share = weights[1] / sum(weights)
        assert abs(found["s"].mean() - share) < 4 * np.sqrt(share * (1 - share) / N)

    def test_the_first_state_knows_nothing_of_the_truth_and_the_draw_repeats(self):
        nodes = Node("x", STUDENT, Given()), Node("y", StudentDraw(np.ones((2, 1)), 0.5, 5.0), Given("x", "square"))
        first = drawn(*nodes, x=told(0.0, 1.0), y=told(0.0, 1.0), sweeps=3)
        again = drawn(*nodes, x=told(0.0, 1.0), y=told(0.0, 1.0), sweeps=3)
        assert all((first[name] == again[name]).all() for name in "xy")


class TestCandidates:
    def test_records_get_more_candidates_where_few_count(self):
        narrow = Node("y", NormalDraw(np.array([[0.0], [1.0]]), 1e-4), Given("x", "square"))
        node = Node("x", STUDENT, Given())
        values = {"x": np.full(N, 0.5), "y": np.full(N, 0.25)}
        target = joint_draw._Target(node, [narrow], values, told(0.5, 1.0))
        counts = target.candidates_needed(rng=np.random.default_rng(1))
        assert counts.max() > joint_draw.CANDIDATES
        assert set(np.unique(counts)) <= {joint_draw.CANDIDATES * 2**k for k in range(8)}

    def test_too_few_that_count_are_named_with_the_cure(self):
        impossible = Node("y", NormalDraw(np.array([[0.0], [1.0]]), 1e-12), Given("x", "square"))
        values = {"x": np.full(N, 0.5), "y": np.full(N, 3.0)}
        target = joint_draw._Target(Node("x", STUDENT, Given()), [impossible], values, told(0.5, 1.0))
        with pytest.raises(Unfinished, match=r"512 candidates for x are too few in 100\.0% of the records.*wider mask"):
            target.candidates_needed(rng=np.random.default_rng(1))

    def test_few_poor_records_are_let_be(self):
        hopeless = Node("y", NormalDraw(np.array([[0.0], [1.0]]), 0.5), Given("x", "square"))
        y = np.full(N, 0.3)
        y[:10] = 1e4
        target = joint_draw._Target(
            Node("x", STUDENT, Given()), [hopeless], {"x": np.full(N, 0.5), "y": y}, told(0.5, 1.0)
        )
        assert (target.candidates_needed(rng=np.random.default_rng(1))[:10] == joint_draw.MOST_CANDIDATES).all()

    def test_weights_are_even_at_both_ends(self):
        eta = np.full((N, 1), 0.3)
        for mean, precision in [(0.0, 0.0), (0.9, 1e8)]:
            proposal = Mixture(STUDENT, eta, told(mean, precision))
            rng = np.random.default_rng(3)
            weights = np.column_stack([proposal.log_weight(proposal.draw(rng=rng)) for _ in range(12)])
            assert effective(weights).mean() > 6

    def test_what_is_impossible_is_not_chosen(self):
        values = np.tile([1.0, 2.0, 3.0], (5, 1))
        weights = np.tile([-np.inf, 0.0, -np.inf], (5, 1))
        weights[4] = -np.inf
        assert choose(values, weights, rng=np.random.default_rng(1)).tolist() == [2.0, 2.0, 2.0, 2.0, 1.0]
        assert effective(weights).tolist() == [1.0, 1.0, 1.0, 1.0, 0.0]

    def test_numbers_cannot_be_enumerated(self):
        with pytest.raises(TypeError, match="numbers cannot be enumerated"):
            Node("x", STUDENT, Given()).log_levels({}, told(0.0, 1.0))
