"""The regression families: densities against enumeration, draws against their densities, posteriors against grids."""

import numpy as np
import pytest
from scipy import integrate, special, stats

from synthdp.errors import Unfinished
from synthdp.imputation.families import counts, sampling
from synthdp.imputation.families import family as family_module
from synthdp.imputation.families.counts import CountTarget, NegativeBinomial, NegativeBinomialDraw
from synthdp.imputation.families.family import Enumerated
from synthdp.imputation.families.links import log_interval
from synthdp.imputation.families.normal import Normal, NormalDraw, Semicontinuous, SemicontinuousDraw
from synthdp.imputation.families.ordered import Ordered, OrderedDraw, OrderedTarget
from synthdp.imputation.families.sampling import HamiltonianSampler, IndependenceSampler, find_mode
from synthdp.imputation.families.unordered import Binary, BinaryDraw, Multinomial, MultinomialDraw, MultinomialTarget
from synthdp.masking.evidence import GaussianEvidence, LevelEvidence
from synthdp.table.links import Link

DRAWS = 3000
ENOUGH = 20_000
SMALLEST_P = 1e-4
ONE = np.ones((1, 1))

LEVEL_DRAWS = {
    "probit": BinaryDraw(ONE, "probit"),
    "logit": BinaryDraw(ONE, "logit"),
    "ordered probit": OrderedDraw(ONE, np.array([-1.0, -0.9, 0.4, 2.0]), "probit"),
    "ordered logit": OrderedDraw(ONE, np.array([-1.0, -0.9, 0.4, 2.0]), "logit"),
    "two ordered levels": OrderedDraw(ONE, np.array([0.3]), "probit"),
    "multinomial": MultinomialDraw(np.ones((1, 4))),
    "counts": NegativeBinomialDraw(ONE, 0.7, 200, Link(2.0, 1.5)),
    "counts with much mass beyond": NegativeBinomialDraw(ONE, 0.7, 6, Link(2.0, 1.5)),
    "Poisson": NegativeBinomialDraw(ONE, 0.0, 60, Link(2.0, 1.5)),
    "Poisson with much mass beyond": NegativeBinomialDraw(ONE, 0.0, 3, Link(2.0, 1.5)),
    "nearly Poisson": NegativeBinomialDraw(ONE, 1e-8, 4, Link(2.0, 1.5)),
}


def predictors(family, rng: np.random.Generator, n: int = 40) -> np.ndarray:
    return rng.normal(size=(n, family.beta.shape[1]))


def allowance(family) -> float:
    """How far from one the probabilities may sum: counts leave up to IMMATERIAL beyond the largest."""
    return 1.01 * counts.IMMATERIAL if isinstance(family, NegativeBinomialDraw) else 1e-12


def brute_force_levels(family, eta: np.ndarray) -> np.ndarray:
    """P(level | η) by the textbook's formula, without logs."""
    if isinstance(family, MultinomialDraw):
        weights = np.exp(np.column_stack([np.zeros(len(eta)), eta]))
        return weights / weights.sum(axis=1, keepdims=True)
    if isinstance(family, NegativeBinomialDraw):
        values, mean = np.arange(family.largest + 1), np.exp(eta)
        if family.dispersion < 1e-7:
            pmf = stats.poisson.pmf(values, mean)
        else:
            pmf = stats.nbinom.pmf(values, 1 / family.dispersion, 1 / (1 + family.dispersion * mean))
        return pmf / pmf.sum(axis=1, keepdims=True)
    cdf = stats.norm.cdf if family.link == "probit" else stats.logistic.cdf
    cutpoints = family.cutpoints if isinstance(family, OrderedDraw) else np.zeros(1)
    upto = np.column_stack([np.zeros(len(eta)), cdf(cutpoints - eta), np.ones(len(eta))])
    return np.diff(upto, axis=1)


@pytest.mark.parametrize("name", LEVEL_DRAWS)
def test_level_probabilities_sum_to_one_and_are_the_textbooks(name):
    family = LEVEL_DRAWS[name]
    eta = predictors(family, np.random.default_rng(1))
    log_p = family.log_levels(eta)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1, rtol=allowance(family))
    # near the Poisson the twin is the Poisson itself, which differs by αμ²/2
    np.testing.assert_allclose(np.exp(log_p), brute_force_levels(family, eta), rtol=2e-6, atol=1e-12)
    for level, value in enumerate(family.level_values()):
        np.testing.assert_allclose(family.log_density(np.full(len(eta), value), eta), log_p[:, level], rtol=1e-12)


def test_a_count_far_beyond_its_largest_value_keeps_proper_probabilities():
    for dispersion in (0.0, 0.01, 2.0):
        family = NegativeBinomialDraw(ONE, dispersion, 10)
        log_p = family.log_levels(np.array([[8.0], [60.0], [650.0]]))
        np.testing.assert_allclose(special.logsumexp(log_p, axis=1), 0, atol=1e-9)
        # with α above one the most likely count is zero at any mean
        assert (log_p.argmax(axis=1) == (10 if dispersion < 1 else 0)).all()
        assert family.log_density(np.array([11.0]), np.zeros((1, 1)))[0] == -np.inf


@pytest.mark.parametrize("bounds", [(-30.0, -29.0), (29.0, 30.0), (0.5, 0.5 + 1e-9), (-1.0, 2.0), (12.0, 12.0001)])
def test_intervals_keep_their_digits_in_the_tails_and_when_narrow(bounds):
    low, high = bounds
    for link, log_density in (("probit", stats.norm.logpdf), ("logit", stats.logistic.logpdf)):
        # the density relative to its height at the end nearer to zero is of order one and can be integrated
        near = min(bounds, key=abs)
        t = np.linspace(low, high, 200_001)
        relative = integrate.simpson(np.exp(log_density(t) - log_density(near)), x=t - low)
        found = log_interval(np.array([low]), np.array([high]), link)[0]
        assert found == pytest.approx(float(np.log(relative) + log_density(near)), rel=1e-7)


def test_densities_of_numbers_integrate_to_one():
    normal = NormalDraw(ONE, 0.3)
    eta = np.array([[0.4]])
    total, _ = integrate.quad(lambda y: np.exp(normal.log_density(np.array([y]), eta)[0]), -5, 5)
    assert total == pytest.approx(1)
    for link in ("probit", "logit"):
        two = SemicontinuousDraw(np.ones((1, 2)), 0.3, -1.2, link)
        eta = np.array([[0.4, 0.9]])
        rest, _ = integrate.quad(lambda y, two=two, eta=eta: np.exp(two.log_density(np.array([y]), eta)[0]), -5, 5)
        at_point = float(np.exp(two.log_density(np.array([-1.2]), eta)[0]))
        assert rest + at_point == pytest.approx(1)
        assert at_point == pytest.approx(stats.norm.sf(0.4) if link == "probit" else stats.logistic.sf(0.4))


def evidence_for(family, kind: str, n: int):
    if kind == "levels":
        size = len(family.level_values())
        return LevelEvidence(np.tile(np.sin(np.arange(size))[None, :] * 2, (n, 1)))
    if kind == "flat levels":
        return LevelEvidence.flat(n, len(family.level_values()))
    if kind == "flat":
        return GaussianEvidence.flat(n)
    return GaussianEvidence.at(np.full(n, 0.6), np.full(n, 1.7))


LEVEL_CASES = [(name, kind) for name in LEVEL_DRAWS for kind in ("levels", "flat levels")]
LEVEL_CASES += [
    (name, kind)
    for name, family in LEVEL_DRAWS.items()
    for kind in ("gaussian", "flat")
    if isinstance(family, NegativeBinomialDraw)
]


@pytest.mark.parametrize(("name", "kind"), LEVEL_CASES)
def test_draws_of_levels_follow_probability_times_evidence(name, kind):
    family = LEVEL_DRAWS[name]
    rng = np.random.default_rng(2)
    eta = np.tile(predictors(family, rng, 1), (ENOUGH, 1))
    evidence = evidence_for(family, kind, ENOUGH)
    drawn = family.draw(eta, evidence, rng=rng)
    weights = brute_force_levels(family, eta[:1])[0]
    if kind == "levels":
        weights = weights * np.exp(evidence.log_weights[0])
    if kind == "gaussian":
        working = (family.level_values() - 2.0) / 1.5
        weights = weights * np.exp(evidence.linear[0] * working - evidence.precision[0] * working**2 / 2)
    expected = ENOUGH * weights / weights.sum()
    seen = np.bincount(drawn.astype(int), minlength=len(expected))
    large = expected > 5
    observed, foreseen = (
        np.append(seen[large], seen[~large].sum()),
        np.append(expected[large], expected[~large].sum()),
    )
    if foreseen[-1] < 5:
        observed, foreseen = observed[:-1], foreseen[:-1] * observed[:-1].sum() / foreseen[:-1].sum()
    assert stats.chisquare(observed, foreseen).pvalue > SMALLEST_P


@pytest.mark.parametrize("name", LEVEL_DRAWS)
def test_evidence_without_doubt_is_obeyed(name):
    family = LEVEL_DRAWS[name]
    rng = np.random.default_rng(3)
    eta = predictors(family, rng, 50)
    size = min(len(family.level_values()), 8)
    truth = rng.integers(size, size=50)
    weights = np.full((50, len(family.level_values())), -1e6)
    weights[np.arange(50), truth] = 0
    assert (family.draw(eta, LevelEvidence(weights), rng=rng) == truth).all()
    if isinstance(family, NegativeBinomialDraw):
        working = (truth - 2.0) / 1.5
        exact = GaussianEvidence.at(working, np.full(50, 1e12))
        assert (family.draw(eta, exact, rng=rng) == truth).all()


def tilted_cdf(family, eta: np.ndarray, linear: float, precision: float):
    """The distribution function of p(y | η) · exp(linear y - precision y²/2), numbers only, by quadrature."""
    y = np.linspace(-8, 8, 20_001)
    log_p = family.log_density(y, np.tile(eta, (len(y), 1))) + linear * y - precision * y**2 / 2
    density = np.exp(log_p)
    total = integrate.cumulative_simpson(density, x=y, initial=0)
    return lambda x: np.interp(x, y, total / total[-1]), float(total[-1])


@pytest.mark.parametrize(("center", "precision"), [(0.0, 0.0), (0.6, 1.7), (-2.0, 0.4), (1.0, 400.0)])
def test_draws_of_numbers_follow_density_times_evidence(center, precision):
    rng = np.random.default_rng(4)
    evidence = GaussianEvidence.at(np.full(ENOUGH, center), np.full(ENOUGH, precision))
    normal = NormalDraw(ONE, 0.5)
    drawn = normal.draw(np.full((ENOUGH, 1), 0.3), evidence, rng=rng)
    cdf, _ = tilted_cdf(normal, np.array([[0.3]]), center * precision, precision)
    assert stats.kstest(drawn, cdf).pvalue > SMALLEST_P
    for link in ("probit", "logit"):
        atom = 0.95
        two = SemicontinuousDraw(np.ones((1, 2)), 0.5, atom, link)
        eta = np.array([[0.2, 0.3]])
        drawn = two.draw(np.tile(eta, (ENOUGH, 1)), evidence, rng=rng)
        cdf, rest = tilted_cdf(two, eta, center * precision, precision)
        at_point = float(np.exp(two.log_density(np.array([atom]), eta)[0] + center * precision * atom))
        at_point *= np.exp(-precision * atom**2 / 2)
        share = at_point / (at_point + rest)
        assert stats.binomtest(int((drawn == atom).sum()), ENOUGH, share).pvalue > SMALLEST_P
        assert stats.kstest(drawn[drawn != atom], cdf).pvalue > SMALLEST_P


@pytest.mark.parametrize("precision", [1e14, np.finfo(float).max / 1e10])
def test_numbers_known_without_doubt_come_back(precision):
    rng = np.random.default_rng(5)
    truth = rng.normal(size=30)
    truth[::3] = 0.25
    evidence = GaussianEvidence.at(truth, np.full(30, precision))
    np.testing.assert_allclose(NormalDraw(ONE, 0.5).draw(np.zeros((30, 1)), evidence, rng=rng), truth, atol=1e-6)
    two = SemicontinuousDraw(np.ones((1, 2)), 0.5, 0.25, "probit")
    drawn = two.draw(np.zeros((30, 2)), evidence, rng=rng)
    np.testing.assert_allclose(drawn, truth, atol=1e-6)
    assert (drawn[::3] == 0.25).all()


def test_the_protocols_tell_the_families_apart():
    normal, two = NormalDraw(ONE, 0.5), SemicontinuousDraw(np.ones((1, 2)), 0.5, 0.0, "probit")
    assert isinstance(normal, NormalDraw)
    assert not isinstance(two, NormalDraw)
    assert not isinstance(normal, Enumerated)
    assert not isinstance(two, Enumerated)
    for family in LEVEL_DRAWS.values():
        assert isinstance(family, Enumerated)
        assert not isinstance(family, NormalDraw)


def test_evidence_about_the_wrong_thing_is_refused():
    rng = np.random.default_rng(6)
    with pytest.raises(TypeError, match="draws levels and needs evidence about a level, found evidence about a value"):
        LEVEL_DRAWS["probit"].draw(np.zeros((2, 1)), GaussianEvidence.flat(2), rng=rng)
    with pytest.raises(
        TypeError, match="a column of numbers needs GaussianEvidence, and LevelEvidence is not understood"
    ):
        NormalDraw(ONE, 0.5).draw(np.zeros((2, 1)), LevelEvidence.flat(2, 2), rng=rng)


def test_blocks_change_memory_and_not_results(monkeypatch):
    rng = np.random.default_rng(7)
    design = np.column_stack([np.ones(300), rng.normal(size=300)])
    number = rng.poisson(3, size=300).astype(float)
    prior = np.array([np.inf, 2.5])

    def results():
        found = []
        for family, y in (
            (Ordered(4), number.clip(0, 3)),
            (Multinomial(4), number.clip(0, 3)),
            (NegativeBinomial(20), number),
        ):
            stream = np.random.default_rng(8)
            drawn = family.fit(design, y, prior, rng=stream).draw(rng=stream)
            size = len(drawn.level_values())
            found += [drawn.beta, drawn.draw(design @ drawn.beta, LevelEvidence.flat(300, size), rng=stream)]
        return found

    whole = results()
    monkeypatch.setattr(family_module, "CELLS_AT_ONCE", 777)
    for one, other in zip(whole, results(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8)


def targets():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(60, 2))
    design = np.column_stack([np.ones(60), x])
    prior = np.array([1.5, 0.8, 2.0])
    codes = rng.integers(4, size=60)
    codes[codes == 2] = 1  # an empty level
    for link in ("probit", "logit"):
        for anchor in (0, 1, 2):
            yield OrderedTarget(x, codes, prior[1:], Ordered(4, link, 1.2), anchor, -0.3), rng.normal(size=5) / 2
    chosen = np.stack([design[codes == level].sum(axis=0) for level in range(1, 4)])
    yield MultinomialTarget(design, chosen, prior), rng.normal(size=9)
    y = rng.poisson(2, size=60).astype(float)
    exceed = np.array([(y > j).sum() for j in range(int(y.max()))], dtype=float)
    yield CountTarget(design, y, exceed, prior, NegativeBinomial(30)), rng.normal(size=4) / 2


@pytest.mark.parametrize(("target", "theta"), list(targets()))
def test_derivatives_are_those_of_the_log_posterior(target, theta):
    step = 1e-5 * np.eye(len(theta))
    value, slope = target.gradient(theta)
    numeric = [(target.gradient(theta + e)[0] - target.gradient(theta - e)[0]) / 2e-5 for e in step]
    np.testing.assert_allclose(slope, numeric, rtol=1e-6, atol=1e-6)
    bends = [(target.gradient(theta - e)[1] - target.gradient(theta + e)[1]) / 2e-5 for e in step]
    np.testing.assert_allclose(target.curvature(theta), bends, rtol=1e-5, atol=1e-5)
    others = theta + np.random.default_rng(10).normal(size=(3, len(theta))) / 3
    np.testing.assert_allclose(
        target.relative(others, theta), [target.gradient(o)[0] - value for o in others], atol=1e-8
    )


def brute_force_posterior(family, design, y, prior, points):
    """The log posterior of (β, rest) on a grid, with the prior as documented."""
    result = np.empty(len(points))
    d = design.shape[1]
    if isinstance(family, NegativeBinomial):
        mean, size = np.exp(points[:, :-1] @ design.T), np.exp(-points[:, -1:])
        log_prior = stats.norm.logpdf(points[:, :-1], 0, prior).sum(axis=1)
        log_prior += stats.norm.logpdf(points[:, -1], *family.log_dispersion)
        return stats.nbinom.logpmf(y, size, size / (size + mean)).sum(axis=1) + log_prior
    for i, point in enumerate(points):
        if isinstance(family, Ordered):
            slopes, cutpoints = point[: d - 1], point[d - 1 :]
            spacing = np.diff(cutpoints)
            if (spacing <= 0).any():
                result[i] = -np.inf
                continue
            drawn = OrderedDraw(np.append(0.0, slopes)[:, None], cutpoints, family.link)
            log_prior = -0.5 * ((slopes / prior[1:]) ** 2).sum()
            log_prior += stats.norm.logpdf(cutpoints[(family.levels - 1) // 2], 0, family.location_sd)
            # the distances are log-normal: the density in the cutpoints has their Jacobian
            log_prior += stats.lognorm.logpdf(spacing, family.spacing_sd, scale=4 / family.levels).sum()
        else:
            drawn = MultinomialDraw(point.reshape(family.levels - 1, d).T)
            log_prior = -0.5 * ((drawn.beta / prior[:, None]) ** 2).sum()
        result[i] = drawn.log_density(y, design @ drawn.beta).sum() + log_prior
    return result


def flat(drawn) -> np.ndarray:
    if isinstance(drawn, OrderedDraw):
        return np.concatenate([drawn.beta[1:, 0], drawn.cutpoints])
    if isinstance(drawn, MultinomialDraw):
        return drawn.beta.T.ravel()
    return np.append(drawn.beta[:, 0], np.log(drawn.dispersion))


@pytest.mark.parametrize("sampler", ["independent", pytest.param("trajectories", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("family", "d", "y"),
    [
        (Ordered(2, "probit", location_sd=3.0), 2, "one in four"),
        (Ordered(2, "logit", location_sd=3.0), 2, "separated"),
        (Ordered(3, "probit", location_sd=3.0), 1, "empty level"),
        (Multinomial(2, location_sd=3.0), 2, "one in four"),
        (Multinomial(3, location_sd=3.0), 1, "empty level"),
        (NegativeBinomial(400), 1, "counts"),
    ],
    ids=str,
)
def test_posterior_draws_have_the_moments_of_the_grid(family, d, y, sampler, monkeypatch):
    rng = np.random.default_rng(11)
    n = 25
    design = np.column_stack([np.ones(n), rng.normal(size=n)])[:, :d]
    outcome = {
        "one in four": (np.arange(n) % 4 == 0).astype(float),
        "separated": (design[:, -1] > 0).astype(float),
        "empty level": 2.0 * (np.arange(n) % 3 == 0),
        "counts": rng.negative_binomial(1.5, 0.3, size=n).astype(float),
    }[y]
    prior = np.array([3.0, 2.0])[:d]
    if sampler == "trajectories":
        monkeypatch.setattr(sampling, "MOST_INDEPENDENT_STEPS", 0)
    fitted = family.fit(design, outcome, prior, rng=rng)
    assert isinstance(fitted.sampler, HamiltonianSampler if sampler == "trajectories" else IndependenceSampler)
    count = DRAWS if sampler == "independent" else 250
    draws = np.array([flat(fitted.draw(rng=rng)) for _ in range(count)])
    center, spread = draws.mean(axis=0), draws.std(axis=0)
    axes = [np.linspace(c - 8 * s, c + 8 * s, 101) for c, s in zip(center, spread, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    logs = brute_force_posterior(family, design, outcome, prior, points)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = weights @ points
    sd = np.sqrt(weights @ (points - mean) ** 2)
    assert (np.abs(center - mean) < 4.5 * sd / np.sqrt(count)).all()
    kurtosis = stats.kurtosis(draws, fisher=False)
    assert (np.abs(spread / sd - 1) < 4.5 * np.sqrt((kurtosis - 1) / (4 * count))).all()


def example(rng: np.random.Generator, n: int = 400):
    design = np.column_stack([np.ones(n), rng.normal(size=n), rng.random(n) < 0.4])
    return design, design @ np.array([0.1, 0.8, -0.5]), np.array([np.inf, 1e4, 1e4])


@pytest.mark.parametrize("link", ["probit", "logit"])
def test_the_ordered_mode_is_the_maximum_likelihood_under_a_flat_prior(link):
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    rng = np.random.default_rng(12)
    design, eta, prior = example(rng)
    y = np.digitize(eta + rng.logistic(size=len(eta)), [-1.0, 0.0, 1.5])
    found = Ordered(4, link, 1e4, 0.0, 1e4).fit(design, y.astype(float), prior, rng=rng).mode()
    model = OrderedModel(y, design[:, 1:], distr=link)
    theirs = model.fit(method="newton", disp=0, tol=1e-12)
    np.testing.assert_allclose(found.beta[:, 0], np.append(0, theirs.params[:2]), atol=1e-5)
    np.testing.assert_allclose(found.cutpoints, model.transform_threshold_params(theirs.params)[1:-1], atol=1e-5)


def test_the_multinomial_mode_is_the_maximum_likelihood_under_a_flat_prior():
    from statsmodels.discrete.discrete_model import MNLogit

    rng = np.random.default_rng(13)
    design, eta, prior = example(rng)
    utility = np.column_stack([np.zeros_like(eta), eta, -eta / 2, eta / 3 - 0.5])
    y = np.argmax(utility + rng.gumbel(size=utility.shape), axis=1)
    found = Multinomial(4, 1e4).fit(design, y.astype(float), prior, rng=rng).mode()
    theirs = MNLogit(y, design).fit(method="newton", disp=0, tol=1e-12)
    np.testing.assert_allclose(found.beta, theirs.params, atol=1e-5)


def test_the_negative_binomial_mode_is_the_maximum_likelihood_under_a_flat_prior():
    from statsmodels.discrete.discrete_model import NegativeBinomial as Theirs

    rng = np.random.default_rng(14)
    design, eta, prior = example(rng)
    y = rng.poisson(np.exp(1 + eta) * rng.gamma(1.4, 1 / 1.4, size=len(eta))).astype(float)
    found = NegativeBinomial(1000, None, 1e4, (0.0, 1e4)).fit(design, y, prior, rng=rng).mode()
    theirs = Theirs(y, design).fit(method="bfgs", disp=0, maxiter=1000, gtol=1e-10)
    np.testing.assert_allclose(np.append(found.beta[:, 0], found.dispersion), theirs.params, atol=1e-5)


def test_two_part_posteriors_are_those_of_the_parts():
    rng = np.random.default_rng(15)
    design, eta, prior = example(rng)
    y = np.where(rng.random(len(eta)) < 0.4, 0.0, 0.5 + eta + rng.normal(size=len(eta)))
    fitted = Semicontinuous(0.0, linear_widening=4.0).fit(design, y, prior, rng=rng)
    off = y != 0
    alone = Normal().fit(design[off], y[off], 4 * prior, rng=rng)
    np.testing.assert_array_equal(fitted.amount.mean, alone.mean)
    presence = Binary().fit(design, off.astype(float), prior, rng=rng)
    np.testing.assert_array_equal(fitted.presence.mode, presence.sampler.mode)


def rare_outcomes(n: int, size: int, design: np.ndarray) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(16)
    hole = rng.choice([level for level in range(size) if level != size // 2], size=n)
    lone = rng.integers(max(size - 1, 1), size=n)
    lone[0] = size - 1
    return {
        "all in the first": np.zeros(n),
        "all in the last": np.full(n, size - 1.0),
        "a hole": hole.astype(float),
        "a lone one": lone.astype(float),
        "first ones empty": np.full(n, size - 1.0) - (rng.random(n) < 0.3),
        "separated": (size - 1.0) * (design[:, 1] > 0),
    }


FAMILIES = {
    "probit": (Binary(), 2),
    "ordered probit": (Ordered(5), 5),
    "ordered logit": (Ordered(5, "logit"), 5),
    "multinomial": (Multinomial(5), 5),
    "counts": (NegativeBinomial(9), 5),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", list(rare_outcomes(9, 5, np.zeros((9, 2)))))
@pytest.mark.parametrize("name", FAMILIES)
def test_rare_and_empty_levels_do_not_break_the_fit(name, case):
    rng = np.random.default_rng(17)
    family, size = FAMILIES[name]
    design = np.column_stack([np.ones(80), rng.normal(size=(80, 2))])
    y = rare_outcomes(80, size, design)[case]
    drawn = family.fit(design, y, np.array([np.inf, 2.5, 2.5]), rng=rng).draw(rng=rng)
    eta = design @ drawn.beta
    log_p = drawn.log_levels(eta)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1, rtol=allowance(drawn))
    assert np.isfinite(drawn.log_density(y, eta)).all()
    again = drawn.draw(eta, LevelEvidence.flat(80, log_p.shape[1]), rng=rng)
    # a level that nobody has stays rare: the sum of 80 draws' probabilities is at most what a prior of 1.5 allows
    assert abs(again.mean() - y.mean()) < 1.5


@pytest.mark.parametrize("off", [0, 1, 2, 3, 79, 80])
def test_two_parts_survive_having_nobody_on_one_side(off):
    rng = np.random.default_rng(18)
    design = np.column_stack([np.ones(80), rng.normal(size=(80, 2))])
    y = np.where(np.arange(80) < off, 1.0 + rng.normal(size=80), -0.7)
    drawn = Semicontinuous(-0.7).fit(design, y, np.array([np.inf, 2.5, 2.5]), rng=rng).draw(rng=rng)
    eta = design @ drawn.beta
    assert np.isfinite(drawn.log_density(y, eta)).all()
    assert drawn.amount_variance > 1e-3
    assert abs((drawn.draw(eta, GaussianEvidence.flat(80), rng=rng) != -0.7).mean() - off / 80) < 0.3


def test_the_same_seed_gives_the_same_draws():
    for family, _ in FAMILIES.values():
        values = []
        for _ in range(2):
            rng = np.random.default_rng(19)
            design = np.column_stack([np.ones(50), rng.normal(size=50)])
            y = (design[:, 1] > 0.5).astype(float)
            values.append(family.fit(design, y, np.array([np.inf, 2.5]), rng=rng).draw(rng=rng).beta)
        np.testing.assert_array_equal(*values)


class Slope:
    """A log posterior without a mode."""

    def gradient(self, theta):
        return float(theta.sum()), np.ones_like(theta)

    def curvature(self, theta):
        return np.zeros((len(theta), len(theta))) + 1e-3 * np.eye(len(theta))

    def relative(self, thetas, reference):
        return (thetas - reference).sum(axis=1)


class Saddle(Slope):
    """log posterior -(x² - 1)² - y²: not concave at zero, modes at x = ±1."""

    def gradient(self, theta):
        x, y = theta
        return float(-((x * x - 1) ** 2) - y * y), np.array([-4 * x * (x * x - 1), -2 * y])

    def curvature(self, theta):
        return np.diag([12 * theta[0] ** 2 - 4, 2.0])


def test_a_posterior_without_a_mode_is_said_so():
    with pytest.raises(Unfinished, match="regression: a column's model has no stable mode; exclude kept columns"):
        find_mode(Slope(), np.zeros(2))


def test_the_mode_is_found_where_the_posterior_is_not_concave():
    mode, factor = find_mode(Saddle(), np.array([0.1, 1.0]))
    np.testing.assert_allclose(mode, [1, 0], atol=1e-5)
    np.testing.assert_allclose(factor @ factor.T, np.diag([8.0, 2.0]), rtol=1e-4)


def test_a_line_search_that_finds_no_rise_gives_up():
    class Cliff(Slope):
        def gradient(self, theta):
            return (0.0 if not theta.any() else -np.inf), np.ones_like(theta)

    with pytest.raises(Unfinished, match="no stable mode"):
        find_mode(Cliff(), np.zeros(2))


def test_many_rare_levels_are_drawn_by_trajectories():
    rng = np.random.default_rng(20)
    design = np.column_stack([np.ones(150), rng.normal(size=(150, 3))])
    y = np.minimum(rng.geometric(0.25, size=150) - 1, 14).astype(float)
    fitted = Multinomial(15).fit(design, y, np.array([np.inf, 2.5, 2.5, 2.5]), rng=rng)
    assert isinstance(fitted.sampler, HamiltonianSampler)
    drawn = fitted.draw(rng=rng)
    expected = np.exp(drawn.log_levels(design @ drawn.beta)).sum(axis=0)
    observed = np.bincount(y.astype(int), minlength=15)
    assert (np.abs(expected - observed) < 5 * np.sqrt(observed + 1)).all()
