"""Masks that differ by a rule on the values: draws against quadrature, at both ends of strength, and against truth."""

import numpy as np
import pytest

from synthdp.imputation.families.normal import NormalDraw, SemicontinuousDraw
from synthdp.imputation.families.unordered import BinaryDraw, Multinomial
from synthdp.imputation.predictors import AsIndicators, AsNumber, AsTwoParts
from synthdp.imputation.regression import grouped
from synthdp.imputation.regression.association import RegressionParameters
from synthdp.imputation.regression.gibbs import GibbsParameters, Node
from synthdp.imputation.regression.grouped import Grouped, draw_consistent
from synthdp.imputation.regression.grouped_chain import GroupedChain
from synthdp.imputation.regression.joint import JointModel
from synthdp.masking.evidence import Evidence, GaussianEvidence, LevelEvidence, draw_levels, log_sum

N = 20_000
MEAN, SD = 0.3, 1.0


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def one_number(n: int = N) -> RegressionParameters:
    model = JointModel(
        binary_beta=np.zeros((1, 0)),
        binary_previous=np.zeros((0, 0)),
        number_beta=np.array([[MEAN]]),
        number_shift=np.zeros((0, 1)),
        root=np.array([[SD]]),
        limits=np.array([[-np.inf], [np.inf]]),
        link="probit",
    )
    return RegressionParameters(np.ones((n, 1)), (), ("x",), model)


def two_ends(rows, values):
    return (np.abs(values["x"]) > 1.5).astype(np.int64)


def one_end(rows, values):
    return (values["x"] < -1).astype(np.int64)


def told(w: np.ndarray, sds: tuple[float, ...], decide=two_ends) -> Grouped:
    """Return what W ~ N(x, sd²) says, the sd being the group's."""
    parts = tuple({"x": GaussianEvidence.at(w, np.full(len(w), sd**-2.0))} for sd in sds)
    constants = np.tile(-np.log(sds), (len(w), 1))
    return Grouped(parts, constants, decide, frozenset({"x"}), np.arange(len(w)))


def target(w: float, sds: tuple[float, ...], decide=two_ends) -> tuple[np.ndarray, np.ndarray]:
    """Return a grid and the target's distribution function on it."""
    grid = np.linspace(-12, 12, 240_001)
    sd = np.asarray(sds)[decide(None, {"x": grid})]
    log_density = -0.5 * ((grid - MEAN) / SD) ** 2 - 0.5 * ((w - grid) / sd) ** 2 - np.log(sd)
    weights = np.exp(log_density - log_density.max())
    return grid, weights.cumsum() / weights.sum()


def farthest(x: np.ndarray, grid: np.ndarray, cumulative: np.ndarray) -> float:
    """Return the Kolmogorov-Smirnov distance, in units of its own scale."""
    level = np.interp(np.sort(x), grid, cumulative)
    return float(np.abs(level - (np.arange(len(x)) + 0.5) / len(x)).max() * np.sqrt(len(x)))


def chained(sweeps: int) -> GibbsParameters:
    return GibbsParameters(np.ones((N, 1)), (Node("x", NormalDraw(np.array([[MEAN]]), SD**2), AsNumber()),), sweeps)


CASES = [(1.6, (0.3, 2.0)), (0.2, (0.3, 2.0)), (-3.5, (0.3, 2.0)), (1.4, (2.0, 0.1)), (2.5, (1.0, 1.0))]


@pytest.mark.parametrize(("w", "sds"), CASES)
def test_exact_draws_agree_with_quadrature(w, sds):
    drawn, trace = one_number().draw_grouped(told(np.full(N, w), sds), rng=rng())
    assert trace is None
    assert farthest(drawn["x"], *target(w, sds)) < 1.95  # 1 in 1000


@pytest.mark.parametrize(("w", "sds"), CASES)
def test_chains_agree_with_quadrature(w, sds):
    # far out (w = -3.5) twenty sweeps still leave .013 of the distribution function, which 20,000 draws can see
    drawn, trace = GroupedChain(chained(60), told(np.full(N, w), sds), {}).run(rng=rng(1))
    assert farthest(drawn["x"], *target(w, sds)) < 1.95
    assert len(trace) == 60


def test_both_ends_of_strength():
    w = rng().normal(size=N)
    narrow = told(w, (1e-6, 2e-6))
    wide = told(w, (1e6, 2e6))
    grid = np.linspace(-6, 6, 10_001)
    normal = np.exp(-0.5 * ((grid - MEAN) / SD) ** 2).cumsum()
    for drawn in (
        lambda about: one_number().draw_grouped(about, rng=rng(1))[0]["x"],
        lambda about: GroupedChain(chained(10), about, {}).run(rng=rng(1))[0]["x"],
    ):
        assert np.abs(drawn(narrow) - w).max() < 1e-4
        # W says nothing about x, but which group it came from: a wide mask twice as wide is half as likely anywhere
        odds = np.where(np.abs(grid) > 1.5, 0.5, 1.0) * np.diff(normal, prepend=0.0)
        assert farthest(drawn(wide), grid, odds.cumsum() / odds.sum()) < 1.95


@pytest.mark.parametrize(("w", "sds"), CASES)
def test_what_is_chosen_among_draws_agrees_with_quadrature(monkeypatch, w, sds):
    monkeypatch.setattr(grouped, "MOST_TRIES", 0)
    drawn = one_number(4000).draw_grouped(told(np.full(4000, w), sds), rng=rng())[0]["x"]
    assert farthest(drawn, *target(w, sds)) < 1.95


def test_an_outlier_under_a_narrow_mask_stays_near_its_w():
    drawn = one_number(200).draw_grouped(told(np.full(200, 11.0), (0.2, 2.0), one_end), rng=rng())[0]["x"]
    # a draw of the wide law lies on the other side once in 17,000: 1,000 tries and choices find it for 6% of records
    assert (drawn > 9).mean() > 0.94 - 4 * np.sqrt(0.06 * 0.94 / 200)


def test_a_record_takes_as_many_tries_as_there_are_groups():
    truth = MEAN + SD * rng(1).normal(size=N)
    sds = (0.1, 3.0)
    w = truth + np.asarray(sds)[two_ends(None, {"x": truth})] * rng(2).normal(size=N)
    about, theta = told(w, sds), one_number()
    laws = [theta.law(part) for part in about.parts]
    weights = np.column_stack([law.log_norm() for law in laws]) + about.constants
    rows = np.repeat(np.arange(N), 50)
    group = draw_levels(weights[rows], rng=rng(3))
    x = np.where(group == 0, laws[0].draw(rows, rng=rng(4))["x"], laws[1].draw(rows, rng=rng(5))["x"])
    taken = (two_ends(None, {"x": x}) == group).reshape(N, 50).mean(axis=1)
    tries = 1 / np.maximum(taken, 1 / 50)
    assert tries.mean() == pytest.approx(2, abs=4 * tries.std() / np.sqrt(N) + 0.1)  # a cut at 50 tries: a little less


# x is a number, c of three levels and b binary; both masks of x, and that of c, follow the rule
LEVELS, KEEP, SDS = 3, (0.9, 0.5), (0.2, 1.5)


def world(seed: int) -> tuple[GibbsParameters, Grouped, dict[str, np.ndarray]]:
    """Return a model of four columns, what W says, and the values W was made from: a draw of the model."""
    z = rng(seed).normal(size=N)
    beta = np.array([[0.2, 0.5, -0.4], [0.3, -0.5, 0.2]])
    level = Multinomial(LEVELS).fit(np.ones((9, 1)), np.arange(9.0) % 3, np.array([np.inf]), rng=rng()).draw(rng=rng())
    width = level.beta.shape[1]
    nodes = (
        Node("c", type(level)(**{**vars(level), "beta": beta[:, :width]}), AsIndicators(LEVELS)),
        Node("x", NormalDraw(np.array([[0.1], [0.5], [0.8], [-0.6]]), 1.0), AsNumber()),
        Node("y", NormalDraw(np.array([[0.0], [0.2], [0.3], [0.1], [0.7]]), 0.5), AsNumber()),
        Node("b", BinaryDraw(np.array([[-0.2], [0.4], [0.3], [-0.3], [0.5], [0.4]]), "probit"), AsNumber()),
        Node(
            "s",
            SemicontinuousDraw(np.array([[0.4, 0.2], [0.3, 0.5], *[[0.2, 0.1]] * 5])[:7], 0.6, 0.0, "probit"),
            AsTwoParts(0.0),
        ),
    )
    gibbs = GibbsParameters(np.column_stack([np.ones(N), z]), nodes, 0)
    silent: dict[str, Evidence] = {node.name: GaussianEvidence.flat(N) for node in nodes}
    silent |= {"c": LevelEvidence.flat(N, LEVELS), "b": LevelEvidence.flat(N, 2)}
    truth = gibbs.draw(silent, rng=rng(seed + 1))

    def decide(rows, values):
        wide = (np.abs(values["x"]) > 1.2) & (values["c"] != 1) | (values["s"] > 1.0)
        return wide.astype(np.int64)

    group = decide(None, truth)
    noise = rng(seed + 2)
    w = {name: truth[name] + np.asarray(SDS)[group] * noise.normal(size=N) for name in ("x", "y", "s")}
    stays = noise.random(N) < np.asarray(KEEP)[group]
    other = (truth["c"] + noise.integers(1, LEVELS, N)) % LEVELS
    shown = np.where(stays, truth["c"], other)
    parts, constants = [], np.zeros((N, 2))
    for g, (sd, keep) in enumerate(zip(SDS, KEEP, strict=True)):
        part: dict[str, Evidence] = {k: GaussianEvidence.at(v, np.full(N, sd**-2.0)) for k, v in w.items()}
        part["b"] = LevelEvidence.flat(N, 2)
        same = np.arange(LEVELS) == shown[:, None]
        part["c"] = LevelEvidence(np.where(same, np.log(keep), np.log((1 - keep) / (LEVELS - 1))))
        constants[:, g] = -3 * np.log(sd)
        parts.append(part)
    about = Grouped(tuple(parts), constants, decide, frozenset({"x", "c", "s"}), np.arange(N))
    return gibbs, about, truth | {f"w_{name}": v for name, v in w.items()} | {"group": group, "shown": shown}


def test_draws_given_w_have_the_law_of_what_w_was_made_from():
    # (x, w) and (x̃, w) have one law if x̃ is drawn from p(x | w): compared record by record
    gibbs, about, truth = world(10)
    gibbs = GibbsParameters(gibbs.design, gibbs.nodes, 20)
    drawn, trace = GroupedChain(gibbs, about, {}).run(rng=rng(20))
    group = about.groups(drawn)
    assert 0.2 < truth["group"].mean() < 0.6
    columns = {name: truth[name] for name in ("c", "x", "y", "b", "s", "group")}
    made = drawn | {"group": group}
    shown = {"1": np.ones(N), "w_x": truth["w_x"], "|w_x|": np.abs(truth["w_x"]), "w_s": truth["w_s"]}
    shown |= {"w_y": truth["w_y"], "level": truth["shown"] == 1}
    functions = {"": lambda v: v, "²": np.square, "zero": lambda v: v == 0, "out": lambda v: np.abs(v) > 1.2}
    found = []
    for name, true in columns.items():
        for label, f in functions.items():
            for what, by in shown.items():
                difference = (f(made[name]).astype(float) - f(true)) * by
                if difference.std() > 0:
                    score = difference.mean() / (difference.std() / np.sqrt(N))
                    found.append((abs(score), name, label, what))
    assert max(found)[0] < 4.3, sorted(found)[-5:]  # 4 standard errors, over a hundred comparisons
    assert (trace.groupby("column")["moved"].mean() > 0.1).all()


def test_some_records_are_some_records():
    about = told(np.arange(5.0), (0.5, 2.0))
    some = about[np.array([3, 3, 0])]
    assert len(some) == 3
    assert some.records.tolist() == [3, 3, 0]
    assert repr(some) == "Grouped(3 records, 2 groups)"
    values = {"x": np.array([0.0, 1.0, 2.0])}
    expected = [[-0.5 * ((w - x) / sd) ** 2 - np.log(sd) for sd in (0.5, 2.0)] for w, x in ((3, 0), (3, 1), (0, 2))]
    np.testing.assert_allclose(some.log_likelihoods(values), expected)


def test_w_of_a_kind_that_only_one_group_has():
    about = told(np.full(N, 1.0), (0.5, 2.0))
    known = Grouped(about.parts, about.constants + np.array([-np.inf, 0.0]), about.decide, about.names, about.records)
    drawn = one_number().draw_grouped(known, rng=rng())[0]["x"]
    assert (np.abs(drawn) > 1.5).all()
    moved = GroupedChain(chained(20), known, {}).run(rng=rng())[0]["x"]
    assert (np.abs(moved) > 1.5).all()


def test_what_the_model_never_draws_is_drawn_somewhere(monkeypatch):
    monkeypatch.setattr(grouped, "MOST_TRIES", 8)
    nowhere = told(np.zeros(20), (0.5, 2.0), lambda rows, values: np.ones(len(values["x"]), dtype=np.int64))
    known = Grouped(
        nowhere.parts, nowhere.constants + np.array([0.0, -np.inf]), nowhere.decide, nowhere.names, nowhere.records
    )
    laws = [one_number(20).law(part) for part in known.parts]
    assert np.isfinite(draw_consistent(laws, known, rng=rng())["x"]).all()


def test_log_sum():
    weights = rng().normal(size=(50, 4)) * 300
    weights[3] = -np.inf
    np.testing.assert_allclose(log_sum(weights), np.logaddexp.reduce(weights, axis=1))
