"""Every formula of digest 002, sections 1 to 3: Najib (2025), "Privacy visualisation through hypothesis testing", EPFL.

What is printed wrong there stands in its corrected form, beside enumeration. Where more is tested elsewhere: the
regions and their duality (test_tradeoff.py in tests/unit/privacy), composition against enumeration for k up to 6 and
against loss distributions (test_accounting.py and test_tradeoff.py), utility (test_privacy_utility.py).
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from synthdp.privacy import events
from synthdp.privacy.accounting import accountants, closed_forms
from synthdp.privacy.tradeoff import (
    Gaussian,
    Laplace,
    Pair,
    approximate,
    classical_gaussian,
    compose,
    dp_tv,
    exponential,
    gaussian_limit,
    intersect,
    pure,
    randomised_response,
    regret,
    total_variation,
    utility,
)
from synthdp.privacy.tradeoff.curves import largest_tv

ALPHA = np.linspace(0, 1, 401)


def dominating(e, d, eta):
    """Return the pair of distributions that is hardest to compose: δ, and atoms with ratios e^ε, 1, e^−ε."""
    silent = 1 - (eta - d) / (1 - d) * (math.exp(e) + 1) / (math.exp(e) - 1)
    p = [(1 - silent) * math.exp(e) / (1 + math.exp(e)), silent, (1 - silent) / (1 + math.exp(e))]
    return [d, *((1 - d) * v for v in p), 0.0], [0.0, *((1 - d) * v for v in p[::-1]), d]


def enumerated(pair, k, epsilon):
    """Return δ(ε) of k independent releases, all outcomes one by one."""
    total = 0.0
    for outcome in itertools.product(range(len(pair[0])), repeat=k):
        a, b = (math.prod(side[o] for o in outcome) for side in pair)
        total += max(a - math.exp(epsilon) * b, 0.0)
    return total


def test_1_region_of_epsilon_and_delta():
    e, d = 0.6, 0.05
    line = np.maximum(0, np.maximum(1 - d - math.exp(e) * ALPHA, math.exp(-e) * (1 - d - ALPHA)))
    curve = approximate(e, d)(ALPHA)
    assert curve == pytest.approx(line, abs=1e-13)
    assert (ALPHA + math.exp(e) * curve >= 1 - d - 1e-12).all()
    assert (math.exp(e) * ALPHA + curve >= 1 - d - 1e-12).all()


def test_1_total_variation_is_zero_epsilon():
    assert total_variation(0.3)(ALPHA) == pytest.approx(approximate(0.0, 0.3)(ALPHA), abs=1e-13)
    assert total_variation(0.3)(ALPHA) == pytest.approx(np.maximum(0.7 - ALPHA, 0), abs=1e-13)


def test_1_dp_tv_is_the_intersection_and_its_eta_has_ends():
    for e, d, eta in ((0.6, 0.15, 0.25), (0.6, 0.05, 0.2)):
        both = intersect(approximate(e, d), total_variation(eta))
        assert dp_tv(e, d, eta)(ALPHA) == pytest.approx(both(ALPHA), abs=1e-13)
        largest = d + (1 - d) * (math.exp(e) - 1) / (math.exp(e) + 1)
        assert largest_tv(e, d) == pytest.approx(largest)
        assert closed_forms.widest_variation(e, d) == pytest.approx(largest)
        assert dp_tv(e, d, largest)(ALPHA) == pytest.approx(approximate(e, d)(ALPHA), abs=1e-12)
        assert dp_tv(e, d, d)(ALPHA) == pytest.approx(total_variation(d)(ALPHA), abs=1e-12)


def test_1_gaussian_and_laplace_curves():
    inner = ALPHA[1:-1]
    assert Gaussian(1.3)(inner) == pytest.approx(stats.norm.cdf(stats.norm.ppf(1 - inner) - 1.3), abs=1e-12)
    assert Laplace(0.9)(inner) == pytest.approx(stats.laplace.cdf(stats.laplace.ppf(1 - inner) - 0.9), abs=1e-12)
    assert classical_gaussian(0.5, 1e-5).mu == pytest.approx(0.5 / math.sqrt(2 * math.log(1.25e5)))


@pytest.mark.parametrize("curve", [approximate(0.6, 0.05), Gaussian(1.0), Laplace(0.8), dp_tv(0.6, 0.15, 0.25)])
def test_1_curves_are_convex_falling_and_below_the_diagonal(curve):
    f = curve(ALPHA)
    assert (f <= 1 - ALPHA + 1e-12).all()
    assert (np.diff(f) <= 1e-12).all()
    assert (np.diff(f, 2) >= -1e-9).all()


@pytest.mark.parametrize("m", [2, 3, 10])
def test_1_randomised_response(m):
    e = 1.1
    eta = (math.exp(e) - 1) / (math.exp(e) + m - 1)
    # by Neyman and Pearson on the m answers themselves
    lie = 1 / (math.exp(e) + m - 1)
    p, q = np.full(m, lie), np.full(m, lie)
    p[0] = q[1] = math.exp(e) * lie
    assert randomised_response(e, m)(ALPHA) == pytest.approx(Pair(p, q)(ALPHA), abs=1e-13)
    assert randomised_response(e, m)(ALPHA) == pytest.approx(dp_tv(e, 0.0, eta)(ALPHA), abs=1e-13)


def test_1_exponential_mechanism_by_neyman_and_pearson():
    e, s0, s1 = 1.2, np.array([0.0, 1, 2, 1]), np.array([1.0, 0, 2, 2])
    p, q = (np.exp(e * s / 2) / np.exp(e * s / 2).sum() for s in (s0, s1))
    order = np.argsort(-(s1 - s0), kind="stable")
    fp, fn = np.concatenate([[0], np.cumsum(p[order])]), 1 - np.concatenate([[0], np.cumsum(q[order])])
    assert exponential(s0, s1, epsilon=e, sensitivity=1.0)(ALPHA) == pytest.approx(np.interp(ALPHA, fp, fn), abs=1e-12)


def test_1_dual_view():
    """δ(ε) = 1 − min_α (e^ε α + f(α))."""
    for curve in (Gaussian(0.8), Laplace(1.0), approximate(0.6, 0.05)):
        for e in (0.0, 0.4, 1.0):
            fine = np.linspace(0, 1, 200_001)
            twin = 1 - (math.exp(e) * fine + curve(fine)).min()
            # between two points of the grid the line e^ε α + f(α) falls by less than its slope times the step
            assert twin - 1e-12 <= float(curve.delta(e)) <= twin + math.exp(e) * 5e-6
            assert float(regret(curve, [e])[0]) == pytest.approx(twin, abs=1e-4)


def test_2_basic():
    assert closed_forms.basic([(0.6, 0.05)] * 5) == pytest.approx((3.0, 0.25))


@pytest.mark.parametrize("k", range(1, 7))
def test_2_optimal_composition_by_formula_by_enumeration_and_by_pld(k):
    e, d = 0.6, 0.05
    pair = dominating(e, d, closed_forms.widest_variation(e, d))
    region = closed_forms.optimal(e, d, k)
    for i, (at, found) in enumerate(region.pairs):
        inner = sum(math.comb(k, m) * (math.exp((k - m) * e) - math.exp((k - 2 * i + m) * e)) for m in range(i))
        assert at == pytest.approx((k - 2 * i) * e)
        assert found == pytest.approx(1 - (1 - d) ** k * (1 - inner / (1 + math.exp(e)) ** k), abs=1e-13)
        assert found == pytest.approx(enumerated(pair, k, at), abs=1e-13)
        loss = accountants.delta(events.Repeated(events.Approximate(e, d), k), at)
        assert found - 1e-12 <= loss <= found + 3e-4


@pytest.mark.parametrize("k", range(1, 7))
def test_2_dp_tv_composition_by_formula_by_enumeration_and_by_pld(k):
    """The corrected Theorem 29; its two printed forms disagree with each other and with the enumeration."""
    e, d, eta = 0.6, 0.05, 0.2
    pair, region = dominating(e, d, eta), closed_forms.total_variation(e, d, eta, k)
    silent = 1 - (eta - d) / (1 - d) * (math.exp(e) + 1) / (math.exp(e) - 1)
    assert len(region.pairs) == k + 1
    for at, found in region.pairs:
        j = round(at / e)
        inner = sum(
            math.comb(k, i)
            * silent**i
            * ((1 - silent) / (1 + math.exp(e))) ** (k - i)
            * sum(
                math.comb(k - i, m) * (math.exp((k - i - m) * e) - math.exp((m + j) * e))
                for m in range(math.ceil((k - j - i) / 2))
            )
            for i in range(k - j)
        )
        assert found == pytest.approx(1 - (1 - d) ** k * (1 - inner), abs=1e-13)
        assert found == pytest.approx(enumerated(pair, k, at), abs=1e-13)
        loss = accountants.delta(events.Repeated(events.TotalVariation(e, d, eta), k), at)
        assert found - 1e-12 <= loss <= found + 3e-4
    # total variation of the composition is δ at ε = 0
    assert dict(region.pairs)[0.0] == pytest.approx(enumerated(pair, k, 0.0), abs=1e-13)


def test_2_simplified_composition_of_unequal_releases():
    given, slack = [(0.1, 0.0), (0.5, 1e-3), (0.3, 1e-4), (0.2, 0.0)], 0.01
    e = np.array([v for v, _ in given])
    drift, spread = (e * (np.exp(e) - 1) / (np.exp(e) + 1)).sum(), (e**2).sum()
    least = min(
        e.sum(),
        drift + math.sqrt(2 * spread * math.log(1 / slack)),
        drift + math.sqrt(2 * spread * math.log(math.e + math.sqrt(spread) / slack)),
    )
    found = closed_forms.simplified(given, slack)
    assert found == pytest.approx((least, 1 - (1 - slack) * (1 - 1e-3) * (1 - 1e-4)))


def test_2_gdp_and_tensor_products():
    assert closed_forms.gaussian([0.6, 0.8]) == pytest.approx(1.0)
    assert compose(Gaussian(0.6), Gaussian(0.8))(ALPHA) == pytest.approx(Gaussian(1.0)(ALPHA), abs=1e-6)
    one, two = randomised_response(0.7, 3), approximate(0.4, 0.02)
    twin = Pair(np.outer(one.p, two.p).ravel(), np.outer(one.q, two.q).ravel())
    assert compose(one, two)(ALPHA) == pytest.approx(twin(ALPHA), abs=1e-12)


def test_2_central_limit_with_its_band():
    limit, true = gaussian_limit(pure(0.1), times=100), compose(pure(0.1), times=100)
    assert np.abs(limit(ALPHA) - true(ALPHA)).max() < limit.gamma
    # Corollary 42: (1/√k, 0) k times tends to 1-GDP; with δ/k in each, the losses of sure failure add (no square)
    k, d = 400, 0.05
    many = compose(pure(1 / math.sqrt(k)), times=k)
    assert np.abs(many(ALPHA) - Gaussian(1.0)(ALPHA)).max() < 0.02
    failing = compose(approximate(1 / math.sqrt(k), d / k), times=k)
    kept = math.exp(-d)
    shrunk = kept * Gaussian(1.0)(np.minimum(ALPHA / kept, 1.0))
    assert np.abs(failing(ALPHA) - shrunk).max() < 0.02
    assert float(failing.delta(8.0)) == pytest.approx(1 - (1 - d / k) ** k, abs=1e-6)


def test_2_groups():
    """k e^{(k−1)ε} δ; k e^{k−1} δ is printed."""
    for e, d, k in ((0.6, 0.01, 3), (1.0, 1e-5, 2), (0.1, 1e-3, 5)):
        total, slack = closed_forms.group(e, d, k)
        assert total == pytest.approx(k * e)
        assert slack == pytest.approx(d * sum(math.exp(j * e) for j in range(k)))
        assert slack <= k * math.exp((k - 1) * e) * d


def test_3_histogram():
    for k, e, n in ((10, 1.0, 50), (64, 0.3, 1000)):
        assert utility.histogram_error(e, k) == pytest.approx(8 * k / e**2)
        assert utility.histogram_error(e, k, records=n) == pytest.approx(8 * k / (n * e) ** 2)
    noise = np.random.default_rng(3).laplace(scale=2 / 0.5, size=(100_000, 4))
    squares = (noise**2).sum(axis=1)
    assert utility.histogram_error(0.5, 4) == pytest.approx(squares.mean(), abs=4 * squares.std() / math.sqrt(100_000))


def test_3_mean():
    found = utility.mean_error(0.5, 1e-5, records=200, diameter=3.0, dimension=4)
    assert found == pytest.approx(2 * 4 * math.log(1.25e5) * 9 / (200**2 * 0.25))
    assert utility.mean_error_analytic(0.5, 1e-5, records=200, diameter=3.0, dimension=4) < found


def test_3_median():
    """The rank error is half of |Σ sign|, so the bound is m e^{−εt/2}; e^{−εt/4} is printed, and loose."""
    x, m, e = np.random.default_rng(4).integers(1, 31, 51), 30, 1.5
    weights = np.array([math.exp(-e * abs(np.sign(c - x).sum()) / 4) for c in range(1, m + 1)])
    ranks = np.array([abs(np.sign(c - x).sum()) / 2 for c in range(1, m + 1)])
    for t in (1, 4, 10, 20):
        exact = weights[ranks >= t].sum() / weights.sum()
        assert utility.median_probability(x, e, m, t) == pytest.approx(exact)
        assert exact <= utility.median_bound(e, m, t)
        assert utility.median_bound(e, m, t) == pytest.approx(min(1, m * math.exp(-e * t / 2)))


def test_3_randomised_response():
    for e, m in ((1.0, 2), (2.0, 7)):
        assert utility.random_answer(e, m) == pytest.approx(m / (math.exp(e) + m - 1))
    for bias in (0.1, 0.25, 0.49):
        assert utility.biased_epsilon(bias) == pytest.approx(math.log((0.5 + bias) / (0.5 - bias)))
        for n, t in ((1000, 0.05), (10**5, 0.1)):
            assert utility.proportion_bound(bias, n, t) == pytest.approx(min(1, 1 / (16 * bias**2 * t**2 * n)))
