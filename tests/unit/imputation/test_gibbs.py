"""The Gibbs chain against the exact joint draw and against enumeration by hand."""

import numpy as np
import pandas as pd
import pytest

from synthdp.imputation.families.normal import NormalDraw
from synthdp.imputation.families.unordered import BinaryDraw, MultinomialDraw
from synthdp.imputation.predictors import AsIndicators, AsNumber, AsTwoParts, basis, knots_of
from synthdp.imputation.regression import association as regression_module
from synthdp.imputation.regression.association import Regression
from synthdp.imputation.regression.gibbs import GibbsParameters, Node, State, drift
from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.masking.gaussian import Gaussian
from synthdp.seeding import Streams
from synthdp.synthesis.imputed import DaMi
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import resolve
from synthdp.table.schema import Variable
from synthdp.tagging.groups import tag

N = 40_000


def test_encodings():
    np.testing.assert_array_equal(AsNumber(1.0, 2.0).columns(np.array([3.0])), [[1.0]])
    np.testing.assert_array_equal(AsIndicators(3).columns(np.array([0.0, 1.0, 2.0])), [[0, 0], [1, 0], [0, 1]])
    np.testing.assert_array_equal(AsTwoParts(-0.5).columns(np.array([-0.5, 2.0])), [[0, 0], [1, 2.0]])
    for encoding in (AsNumber(), AsIndicators(4), AsTwoParts(0.0)):
        assert encoding.columns(np.zeros(2)).shape == (2, encoding.width)


def test_a_number_before_a_binary_column_has_the_posterior_of_quadrature():
    """x ~ N(0.3, 0.8²), then b | x ~ Bernoulli(Φ(-0.2 + 1.1 x)), W about both: no conjugacy, so Metropolis."""
    variance, slope, level, precision, w = 0.64, 1.1, -0.2, 0.7, 1.4
    says = np.log([0.7, 0.3])
    nodes = (
        Node("x", NormalDraw(np.array([[0.3]]), variance), AsNumber()),
        Node("b", BinaryDraw(np.array([[level], [slope]]), "probit"), AsNumber()),
    )
    chain = GibbsParameters(np.ones((N, 1)), nodes, sweeps=25)
    evidence = {
        "x": GaussianEvidence.at(np.full(N, w), np.full(N, precision)),
        "b": LevelEvidence(np.tile(says, (N, 1))),
    }
    values, trace = chain.chain(evidence, rng=np.random.default_rng(1))
    grid = np.linspace(-6, 7, 4001)
    from scipy.stats import norm

    density = norm.pdf(grid, 0.3, np.sqrt(variance)) * np.exp(-0.5 * precision * (w - grid) ** 2)
    up = norm.cdf(level + slope * grid)
    both = np.stack([density * (1 - up) * 0.7, density * up * 0.3])
    both /= both.sum()
    mean, share = (both.sum(axis=0) * grid).sum(), both[1].sum()
    sd = np.sqrt((both.sum(axis=0) * (grid - mean) ** 2).sum())
    cross = (both[1] * grid).sum()
    assert abs(values["x"].mean() - mean) < 4 * sd / np.sqrt(N)
    assert abs(values["b"].mean() - share) < 4 * 0.5 / np.sqrt(N)
    assert abs((values["x"] * values["b"]).mean() - cross) < 4 * sd / np.sqrt(N)
    assert trace[trace["column"] == "x"]["moved"].mean() > 0.5
    assert (drift(trace)["drift"] < 4).all()


def test_what_later_columns_say_about_levels_is_what_their_densities_say():
    """All levels at once by matrix products, against the later regressions' own densities level by level."""
    rng = np.random.default_rng(11)
    n, design = 50, np.column_stack([np.ones(50), rng.normal(size=50)])
    beta = lambda d, r: rng.normal(size=(d, r))  # noqa: E731
    nodes = (
        Node("g", MultinomialDraw(beta(2, 3)), AsIndicators(4)),
        Node("h", MultinomialDraw(beta(5, 2)), AsIndicators(3)),
        Node("b", BinaryDraw(beta(7, 1), "probit"), AsNumber()),
        Node("x", NormalDraw(beta(8, 1), 0.7), AsNumber()),
        Node("y", NormalDraw(beta(9, 1), 1.9), AsNumber()),
    )
    for large in (1.0, 400.0):  # coefficients whose exponentials overflow go the plain way
        nodes[1].regression.beta[2, 0] = large
        state = State(design, nodes)
        flat = {"g": LevelEvidence.flat(n, 4), "h": LevelEvidence.flat(n, 3), "b": LevelEvidence.flat(n, 2)}
        for j, node in enumerate(nodes):
            about = flat.get(node.name, GaussianEvidence.flat(n))
            state.begin(j, node.regression.draw(state.eta[j].T, about, rng=rng))
        found = state.level_weights(0, state.without(0), slice(None))
        expected = np.empty((n, 4))
        for level in range(4):
            values = [np.full(n, float(level)), *state.values[1:]]
            expected[:, level] = nodes[0].regression.log_density(values[0], design @ nodes[0].regression.beta)
            for k in range(1, 5):
                before = [nodes[j].encoding.columns(values[j]) for j in range(k)]
                eta = np.column_stack([design, *before]) @ nodes[k].regression.beta
                expected[:, level] += nodes[k].regression.log_density(values[k], eta)
        np.testing.assert_allclose(found.T - found.T[:, :1], expected - expected[:, :1], atol=1e-9)


def frame_of(n: int, rng: np.random.Generator) -> pd.DataFrame:
    z = rng.normal(size=n)
    b = (z + rng.normal(size=n) > 0).astype(int)
    x1 = 0.5 * z + 0.8 * b + rng.normal(size=n)
    return pd.DataFrame({"z": z, "b": b, "x1": x1, "x2": 0.6 * x1 - 0.5 * b + rng.normal(size=n)})


def test_the_chain_agrees_with_the_exact_draw(monkeypatch):
    """The same model both ways: enumeration with conjugate normals, and the chain that needs neither."""
    rng = np.random.default_rng(2)
    data = resolve(frame_of(3000, rng), {name: Variable(role="replace") for name in ("b", "x1", "x2")})
    masks = {"b": ShiftedNormal(alpha=1.0), "x1": Gaussian(sd=1.0), "x2": Gaussian(sd=0.7)}
    plan = Plan(data, tag(data, None), masks)
    method = DaMi(copies=12, sweeps=15)
    exact = method.synthesize(plan, streams=Streams(5))
    monkeypatch.setattr(regression_module, "MOST_BINARY", 0)
    chained = method.synthesize(plan, streams=Streams(6))
    assert exact.chain == ()
    assert {row["column"] for row in chained.chain} == {"b", "x1", "x2"}
    for statistic in (
        lambda f: f["b"].mean(),
        lambda f: f["x1"].mean(),
        lambda f: f["x2"].std(),
        lambda f: f["x1"].corr(f["x2"]),
        lambda f: f.loc[f["b"] == 1, "x1"].mean(),
        lambda f: f["x2"].corr(f["z"]),
    ):
        a, b = ([statistic(copy) for copy in made.copies] for made in (exact, chained))
        error = np.sqrt((np.var(a, ddof=1) + np.var(b, ddof=1)) / len(a))
        assert abs(np.mean(a) - np.mean(b)) < 4 * error


def mixed(n: int, rng: np.random.Generator) -> pd.DataFrame:
    z = rng.normal(size=n)
    o = np.digitize(0.6 * z + rng.normal(size=n), [-1, -0.3, 0.4, 1.2])
    g = (np.column_stack([0 * z, 0.5 * z, 0.2 * o - 0.3]) + rng.gumbel(size=(n, 3))).argmax(axis=1)
    c = rng.poisson(np.exp(0.2 + 0.3 * z + 0.1 * o))
    s = np.where(rng.random(n) < 0.4, 0.0, np.exp(0.5 * z + 0.4 * rng.normal(size=n)))
    x = 0.5 * z + 0.3 * o - 0.4 * (g == 2) + 0.1 * c + rng.normal(size=n)
    return pd.DataFrame({"z": z, "o": o, "g": np.array(list("abc"))[g], "c": c, "s": s, "x": x})


VARIABLES = {
    "o": Variable(kind="ordinal", role="replace"),
    "g": Variable(kind="nominal", role="replace"),
    "c": Variable(kind="count", role="replace"),
    "s": Variable(kind="semicontinuous", role="replace", bounds=(0, 50), transform="log"),
    "x": Variable(role="replace"),
}


def test_every_kind_in_one_draw_keeps_its_form_and_its_margins():
    data = resolve(mixed(1500, np.random.default_rng(3)), VARIABLES)
    masks = {
        "o": ShiftedNormal(alpha=1),
        "g": Transition(keep=0.6),
        "c": Gaussian(sd=0.7),
        "s": Gaussian(sd=0.7),
        "x": Gaussian(sd=0.7),
    }
    copies = DaMi(copies=4).synthesize(Plan(data, tag(data, None), masks), streams=Streams(1)).copies
    original = data.frame
    for copy in copies:
        assert (copy.dtypes == original.dtypes).all()
        assert set(copy["o"]) <= set(range(5))
        assert set(copy["g"]) <= set("abc")
        assert (copy["c"] >= 0).all()
        assert abs((copy["s"] == 0).mean() - (original["s"] == 0).mean()) < 0.08
    for name in ("o", "c", "x"):
        pooled = np.mean([copy[name].mean() for copy in copies])
        assert abs(pooled - original[name].mean()) < 4 * np.sqrt(2) * original[name].std() / np.sqrt(len(original))


def test_full_information_gives_every_kind_back():
    data = resolve(mixed(300, np.random.default_rng(4)), VARIABLES)
    loud = {
        "o": ShiftedNormal(alpha=60),
        "g": Transition(keep=1 - 1e-15),
        "c": Gaussian(sd=1e-6),
        "s": Gaussian(sd=1e-8),
        "x": Gaussian(sd=1e-8),
    }
    copy = DaMi(copies=1).synthesize(Plan(data, tag(data, None), loud), streams=Streams(1)).copies[0]
    pd.testing.assert_frame_equal(copy, data.frame, atol=1e-5)


def test_splines_bend_between_knots_and_are_straight_beyond():
    knots = knots_of(np.random.default_rng(5).normal(size=500), 5)
    x = np.linspace(knots[-1], knots[-1] + 5, 50)
    beyond = np.diff(basis(x, knots), n=2, axis=0)
    np.testing.assert_allclose(beyond, 0, atol=1e-9)
    assert basis(np.linspace(-9, knots[0], 9), knots).max() == 0
    assert basis(x, knots[:2]).shape == (50, 0)


def test_splines_catch_a_curved_association():
    rng = np.random.default_rng(6)
    z = rng.uniform(-2, 2, 1500)
    data = resolve(pd.DataFrame({"z": z, "x": z**2 + 0.5 * rng.normal(size=1500)}), {"x": Variable(role="replace")})
    plan = Plan(data, tag(data, None), {"x": Gaussian(sd=5.0)})
    fits = []
    for splines in (0, 5):
        method = DaMi(copies=1, model=Regression(splines=splines))
        copy = method.synthesize(plan, streams=Streams(1)).copies[0]
        fits.append(np.corrcoef(copy["x"], z**2)[0, 1])
    assert fits[0] < 0.4
    assert fits[1] > 0.85


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_a_power_transform_stays_inside_its_bounds(power):
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"z": rng.normal(size=400), "x": rng.gamma(2.0, size=400)})
    data = resolve(frame, {"x": Variable(role="replace", bounds=(0, 30), transform=power)})
    copy = DaMi(copies=1).synthesize(Plan(data, tag(data, None), {"x": Gaussian(sd=1.0)}), streams=Streams(1)).copies[0]
    assert copy["x"].between(0, 30).all()
