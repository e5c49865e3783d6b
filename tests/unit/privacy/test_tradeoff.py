"""Trade-off functions against Neyman–Pearson by brute force, against each other, and against published values."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from synthdp.errors import InputError, Unfinished
from synthdp.privacy.tradeoff import (
    Gaussian,
    Laplace,
    Pair,
    approximate,
    classical_gaussian,
    compose,
    discrete_gaussian,
    discrete_laplace,
    dp_tv,
    epsilon,
    exponential,
    from_deltas,
    gaussian_limit,
    group,
    intersect,
    pure,
    randomised_response,
    regret,
    total_variation,
    transition,
)
from synthdp.privacy.tradeoff.curves import largest_tv

ALPHA = np.linspace(0, 1, 501)
EPS = np.linspace(-3, 3, 25)


def neyman_pearson(p, q, alpha):
    """The twin: reject the outputs with the largest q/p, one by one, the last one at random."""
    p, q = np.asarray(p, float), np.asarray(q, float)
    order = sorted(range(len(p)), key=lambda i: -(math.inf if p[i] == 0 else q[i] / p[i]))
    result = []
    for a in alpha:
        left, power = a, 0.0
        for i in order:
            share = 1.0 if p[i] <= left else left / p[i]
            left, power = left - share * p[i], power + share * q[i]
            if share < 1:
                break
        result.append(1 - power)
    return np.asarray(result)


def discretised(density, shift, *, width=30.0, cells=60_001):
    """Two densities on a grid of outputs, as a pair of lists of masses."""
    x = np.linspace(-width, width, cells)
    p, q = density(x), density(x - shift)
    return p / p.sum(), q / q.sum()


def enumerated(p, q, k):
    """All k-fold products, outcome by outcome."""
    return (np.asarray([math.prod(c) for c in itertools.product(side, repeat=k)]) for side in (p, q))


FINITE = {
    "pure": pure(0.8),
    "approximate": approximate(0.6, 0.05),
    "tv": total_variation(0.2),
    "dp_tv": dp_tv(0.6, 0.15, 0.25),
    "rr": randomised_response(1.2, 5),
    "discrete_laplace": discrete_laplace(1.5, 3),
    "discrete_gaussian": discrete_gaussian(2.0, 2),
    "exponential": exponential([0, 1, 2, 1], [1, 0, 2, 2], epsilon=1.0, sensitivity=1.0),
    "transition": transition([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]),
    "random": Pair([0.1, 0.2, 0.3, 0.4], [0.25, 0.05, 0.6, 0.1]),
}
SMOOTH = {"gaussian": Gaussian(1.0), "laplace": Laplace(1.3), "both": intersect(Gaussian(1.0), pure(1.0))}
ALL = FINITE | SMOOTH


@pytest.mark.parametrize("name", FINITE)
def test_a_pair_follows_neyman_and_pearson(name):
    pair = FINITE[name]
    assert pair(ALPHA) == pytest.approx(neyman_pearson(pair.p, pair.q, ALPHA), abs=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_a_curve_is_convex_falling_and_below_the_diagonal(name):
    f = ALL[name](ALPHA)
    assert (np.diff(f) <= 1e-12).all()
    assert (np.diff(f, 2) >= -1e-12).all()
    assert (f <= 1 - ALPHA + 1e-12).all()
    assert f[-1] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_delta_and_f_are_dual_both_ways(name):
    curve = ALL[name]
    # δ from f, on a grid that can only miss the minimum
    assert (regret(curve, EPS) <= curve.delta(EPS) + 1e-9).all()
    assert regret(curve, EPS) == pytest.approx(curve.delta(EPS), abs=1e-4)
    # f from δ at many real ε, the corners among them
    corners = curve.losses[np.isfinite(curve.losses)] if isinstance(curve, Pair) else [-1.3, 1.3]
    eps = np.concatenate([np.linspace(-12, 12, 4801), corners])
    lines = 1 - curve.delta(eps)[:, None] - np.exp(eps)[:, None] * ALPHA[None, :]
    assert np.maximum(lines.max(axis=0), 0) == pytest.approx(curve(ALPHA), abs=1e-5)


@pytest.mark.parametrize(
    ("curve", "density", "shift"),
    [
        (Gaussian(1.0), stats.norm.pdf, 1.0),
        (Gaussian(2.5), stats.norm.pdf, 2.5),
        (Laplace(0.7), stats.laplace.pdf, 0.7),
        (Laplace(2.0), stats.laplace.pdf, 2.0),
    ],
)
def test_continuous_noise_against_its_outputs_on_a_grid(curve, density, shift):
    p, q = discretised(density, shift)
    twin = Pair(p, q)
    assert curve(ALPHA) == pytest.approx(twin(ALPHA), abs=2e-5)
    assert curve.delta(EPS) == pytest.approx(twin.delta(EPS), abs=2e-5)
    assert neyman_pearson(p[::40] / p[::40].sum(), q[::40] / q[::40].sum(), [0.05, 0.3]) == pytest.approx(
        curve([0.05, 0.3]), abs=2e-3
    )
    found, numeric = curve.moments(), twin.moments()
    assert (found.kl, found.second, found.third, found.third_central) == pytest.approx(
        (numeric.kl, numeric.second, numeric.third, numeric.third_central), rel=1e-4
    )


def test_laplace_is_the_shifted_distribution_function():
    inner = ALPHA[1:-1]
    twin = stats.laplace.cdf(stats.laplace.ppf(1 - inner) - 0.9)
    assert Laplace(0.9)(inner) == pytest.approx(twin, abs=1e-12)


@pytest.mark.parametrize("sd", [0.7, 2.0])
@pytest.mark.parametrize("shift", [1, 3])
def test_discrete_noise_against_all_integers(sd, shift):
    z = np.arange(-200, 201)
    for curve, mass in (
        (discrete_laplace(sd, shift), lambda x: np.exp(-np.abs(x) / sd)),
        (discrete_gaussian(sd, shift), lambda x: np.exp(-(x**2) / (2 * sd**2))),
    ):
        p, q = mass(z) / mass(z).sum(), mass(z - shift) / mass(z - shift).sum()
        assert curve(ALPHA) == pytest.approx(neyman_pearson(p, q, ALPHA), abs=1e-10)


def test_discrete_laplace_of_sensitivity_one_uses_its_epsilon_to_the_full():
    assert discrete_laplace(1 / 0.8)(ALPHA) == pytest.approx(pure(0.8)(ALPHA), abs=1e-14)


def test_formulas_of_the_regions():
    e, d = 0.6, 0.05
    direct = np.maximum(0, np.maximum(1 - d - np.exp(e) * ALPHA, np.exp(-e) * (1 - d - ALPHA)))
    assert approximate(e, d)(ALPHA) == pytest.approx(direct, abs=1e-14)
    assert total_variation(0.3)(ALPHA) == pytest.approx(np.maximum(0.7 - ALPHA, 0), abs=1e-14)
    both = np.maximum(approximate(0.6, 0.15)(ALPHA), total_variation(0.25)(ALPHA))
    assert dp_tv(0.6, 0.15, 0.25)(ALPHA) == pytest.approx(both, abs=1e-14)
    assert intersect(approximate(0.6, 0.15), total_variation(0.25))(ALPHA) == pytest.approx(both, abs=1e-14)
    # randomised response is (ε, 0)-DP and η-TV
    for m in (2, 3, 10):
        eta = (math.exp(1.1) - 1) / (math.exp(1.1) + m - 1)
        assert randomised_response(1.1, m)(ALPHA) == pytest.approx(dp_tv(1.1, 0.0, eta)(ALPHA), abs=1e-14)
    assert classical_gaussian(0.5, 1e-5).mu == pytest.approx(0.5 / math.sqrt(2 * math.log(1.25e5)), rel=1e-14)


def test_laplace_lies_above_its_dp_tv_bound():
    eta = float(Laplace(1.0).delta(0.0))
    assert eta == pytest.approx(1 - math.exp(-0.5))
    bound = dp_tv(1.0, 0.0, eta)(ALPHA)
    assert (Laplace(1.0)(ALPHA) >= bound - 1e-12).all()
    assert (bound > pure(1.0)(ALPHA) + 1e-3).any()


def test_the_binary_example_of_hall_saturates_its_delta():
    # digest 001, A12: P'(0) = (e^a + β)/(e^a + 1) meets (a, β)-DP with equality
    a, beta = 1.0, 0.05
    top = (math.exp(a) + beta) / (math.exp(a) + 1)
    assert top == pytest.approx(0.744506, abs=1e-6)
    pair = Pair([1 - top, top], [top, 1 - top])
    assert float(pair.delta(a)) == pytest.approx(0.05, abs=1e-15)


@pytest.mark.parametrize(
    ("beta", "a", "expected"),
    [(0.1, 1, 1.558e-3), (0.1, 5, 0.0381), (0.1, 8, 0.1414), (1e-5, 1, 2.4e-8), (1e-5, 10, 1.36e-5)],
)
def test_exact_delta_of_halls_gaussian(beta, a, expected):
    # digest 001, 2.3 and A2: sd = c/a with c = √(2 log(2/β)); above a = 1 the promise can fail
    c = math.sqrt(2 * math.log(2 / beta))
    assert float(Gaussian(a / c).delta(float(a))) == pytest.approx(expected, rel=0.02)


def test_constants_of_hall():
    # digest 001, A1 and A2
    assert math.exp(-2) == pytest.approx(0.135335, abs=5e-7)
    assert math.sqrt(2 * math.log(2 / 0.1)) == pytest.approx(2.447747, abs=5e-7)
    assert math.sqrt(2 * math.log(2 / 1e-5)) == pytest.approx(4.940865, abs=5e-7)


# composition


def optimal(e, d, k):
    """Kairouz, Oh, Viswanath (2017), Theorem 3.3."""
    found = []
    for i in range(k // 2 + 1):
        inner = sum(math.comb(k, j) * (math.exp((k - j) * e) - math.exp((k - 2 * i + j) * e)) for j in range(i))
        found.append(((k - 2 * i) * e, 1 - (1 - d) ** k * (1 - inner / (1 + math.exp(e)) ** k)))
    return found


def optimal_with_tv(e, d, eta, k):
    """Digest 002, section 2: the corrected composition of DP with total variation."""
    silent = 1 - (eta - d) / (1 - d) * (math.exp(e) + 1) / (math.exp(e) - 1)
    found = []
    for j in range(k + 1):
        total = 0.0
        for i in range(k - j):
            weight = math.comb(k, i) * silent**i * ((1 - silent) / (1 + math.exp(e))) ** (k - i)
            total += weight * sum(
                math.comb(k - i, m) * (math.exp((k - i - m) * e) - math.exp((m + j) * e))
                for m in range(math.ceil((k - j - i) / 2))
            )
        found.append((j * e, 1 - (1 - d) ** k * (1 - total)))
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 5, 6])
def test_optimal_composition_by_formula_by_lattice_and_by_enumeration(k):
    pair = approximate(0.6, 0.05)
    lattice = compose(pair, times=k)
    assert lattice.exact
    formula = from_deltas(*zip(*optimal(0.6, 0.05, k), strict=True))
    twin = Pair(*enumerated(pair.p, pair.q, k))
    assert lattice(ALPHA) == pytest.approx(twin(ALPHA), abs=1e-13)
    assert formula(ALPHA) == pytest.approx(twin(ALPHA), abs=1e-13)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 6])
@pytest.mark.parametrize(("e", "d", "eta"), [(0.6, 0.05, 0.2), (0.6, 0.05, 0.15), (1.5, 0.0, 0.3)])
def test_dp_tv_composition_by_formula_by_lattice_and_by_enumeration(e, d, eta, k):
    pair = dp_tv(e, d, eta)
    lattice = compose(pair, times=k)
    assert lattice.exact
    formula = optimal_with_tv(e, d, eta, k)
    twin = Pair(*enumerated(pair.p, pair.q, k))
    assert lattice(ALPHA) == pytest.approx(twin(ALPHA), abs=1e-13)
    assert [float(lattice.delta(eps)) for eps, _ in formula] == pytest.approx([dlt for _, dlt in formula], abs=1e-13)
    assert from_deltas(*zip(*formula, strict=True))(ALPHA) == pytest.approx(twin(ALPHA), abs=1e-13)


def test_the_region_shrinks_from_basic_to_optimal_to_dp_tv():
    basic = approximate(3.0, 0.25)(ALPHA)
    best = compose(approximate(0.6, 0.05), times=5)(ALPHA)
    with_tv = compose(dp_tv(0.6, 0.05, 0.15), times=5)(ALPHA)
    assert (basic <= best + 1e-12).all()
    assert (best <= with_tv + 1e-12).all()
    assert (with_tv - best).max() > 0.1


def test_gaussians_compose_to_a_gaussian():
    assert compose(Gaussian(0.6), Gaussian(0.8)).curve == Gaussian(1.0)
    assert compose(Gaussian(0.5), times=4).curve.mu == pytest.approx(1.0)


@pytest.mark.parametrize("curve", [Gaussian(0.5), Laplace(0.5)])
def test_the_lattice_brackets_the_truth(curve):
    # a Gaussian beside an (ε, 0) pair goes through the lattice, and the twin is its outputs on a grid
    both = compose(curve, pure(0.4), slack=1e-3)
    assert not both.exact
    p, q = discretised(stats.norm.pdf if isinstance(curve, Gaussian) else stats.laplace.pdf, 0.5)
    twin = Pair(p, q).product(pure(0.4))
    assert (both(ALPHA) <= twin(ALPHA) + 1e-6).all()
    assert (both.upper(ALPHA) >= twin(ALPHA) - 1e-6).all()
    assert both(ALPHA) == pytest.approx(twin(ALPHA), abs=1e-6)
    assert (both.delta(EPS) >= twin.delta(EPS) - 1e-6).all()
    assert (both.delta_lower(EPS) <= twin.delta(EPS) + 1e-6).all()


def test_the_lattice_gives_back_the_gaussian():
    almost = compose(Gaussian(1.0), discrete_laplace(1e6), slack=0.002)
    assert almost(ALPHA) == pytest.approx(Gaussian(1.0)(ALPHA), abs=5e-6)
    assert almost.delta(4.0) == pytest.approx(Gaussian(1.0).delta(4.0), rel=1e-3)


def test_pairs_on_no_common_lattice_are_multiplied_out():
    one, two = FINITE["random"], FINITE["exponential"]
    both = compose(one, two)
    assert both.exact
    assert both(ALPHA) == pytest.approx(
        neyman_pearson(np.outer(one.p, two.p).ravel(), np.outer(one.q, two.q).ravel(), ALPHA), abs=1e-12
    )
    many = compose(one, times=16, slack=1e-3)
    assert not many.exact
    twin = compose(compose(one, times=8).curve, compose(one, times=8).curve).curve
    assert (many(ALPHA) <= twin(ALPHA) + 1e-12).all()
    assert (many.upper(ALPHA) >= twin(ALPHA) - 1e-12).all()


def test_compositions_can_be_composed():
    exact = compose(compose(pure(0.3), times=2), compose(pure(0.3), times=3))
    assert exact.exact
    assert exact(ALPHA) == pytest.approx(compose(pure(0.3), times=5)(ALPHA), abs=1e-13)
    rough = compose(compose(Laplace(0.3), times=2, slack=0.002), times=2, slack=0.004)
    # the second step is exact on the lattice of the first
    assert rough.slack == pytest.approx(0.004)
    fine = compose(Laplace(0.3), times=4, slack=0.001)
    assert (rough(ALPHA) <= fine.upper(ALPHA) + 1e-12).all()
    assert (rough.upper(ALPHA) >= fine(ALPHA) - 1e-12).all()


def test_small_deltas_keep_their_digits():
    mpmath = pytest.importorskip("mpmath")
    for eps in (0.5, 3.0, 8.0):
        with mpmath.workdps(50):
            high, low = mpmath.mpf(-eps) / 0.5 + 0.25, mpmath.mpf(-eps) / 0.5 - 0.25
            twin = float(mpmath.ncdf(high) - mpmath.exp(eps) * mpmath.ncdf(low))
        assert float(Gaussian(0.5).delta(eps)) == pytest.approx(twin, rel=1e-10)


def test_different_pairs_on_one_lattice_compose_exactly():
    both = compose(pure(0.5), approximate(1.0, 0.01), times=(2, 3))
    assert both.exact
    pieces = [pure(0.5)] * 2 + [approximate(1.0, 0.01)] * 3
    twin = pieces[0]
    for piece in pieces[1:]:
        twin = twin.product(piece)
    assert both(ALPHA) == pytest.approx(twin(ALPHA), abs=1e-13)


def test_composition_agrees_with_dp_accounting():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    theirs = pld.from_laplace_mechanism(10.0, value_discretization_interval=1e-4).self_compose(50)
    mine = compose(Laplace(0.1), times=50)
    for eps in (0.5, 1.0, 2.0):
        assert mine.delta_lower(eps) - 1e-9 <= theirs.get_delta_for_epsilon(eps) <= mine.delta(eps) + 1e-4
        assert theirs.get_delta_for_epsilon(eps) == pytest.approx(float(mine.delta(eps)), rel=1e-3)


@pytest.mark.parametrize("curve", [pure(0.1), Laplace(0.1), randomised_response(0.2, 3)])
def test_the_limit_theorem_holds_within_its_band(curve):
    limit, true = gaussian_limit(curve, times=100), compose(curve, times=100)
    assert limit.gamma < 0.2
    assert (limit.lower(ALPHA) <= true.upper(ALPHA) + 1e-12).all()
    assert (limit.upper(ALPHA) >= true(ALPHA) - 1e-12).all()
    assert np.abs(limit(ALPHA) - true(ALPHA)).max() < limit.gamma


def test_pure_mechanisms_tend_to_the_gaussian():
    # Dong, Roth, Su (2022), Theorem 3.6: k mechanisms with ε = 1/√k
    gaps = [np.abs(compose(pure(1 / math.sqrt(k)), times=k)(ALPHA) - Gaussian(1.0)(ALPHA)).max() for k in (4, 16, 64)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.04


def test_limit_of_gaussians_is_exact_in_mu():
    assert gaussian_limit(Gaussian(0.1), times=100).mu == pytest.approx(1.0)


# groups and conversions


def test_groups():
    assert group(Gaussian(0.25), 4)(ALPHA) == pytest.approx(Gaussian(1.0)(ALPHA), abs=2e-6)
    assert group(pure(0.3), 3).delta(0.9) == pytest.approx(0, abs=1e-12)
    found = group(approximate(0.6, 0.01), 3)
    # the δ of a group: at most k e^((k−1)ε) δ; the printed k e^(k−1) δ has lost its ε
    assert 0.03 < float(found.delta(1.8)) <= 3 * math.exp(2 * 0.6) * 0.01
    nested = ALPHA
    for _ in range(3):
        nested = 1 - approximate(0.6, 0.01)(nested)
    assert found(ALPHA) == pytest.approx(1 - nested, abs=1e-12)


def test_epsilon_is_the_inverse_of_delta():
    assert epsilon(approximate(0.6, 0.05), 0.05) == pytest.approx(0.6, abs=1e-12)
    assert epsilon(Gaussian(1.0), 1e-5) == pytest.approx(4.377178, abs=1e-6)
    assert epsilon(Gaussian(1.0), float(Gaussian(1.0).delta(2.5))) == pytest.approx(2.5)
    assert epsilon(Laplace(0.4), 0.5) == 0
    assert epsilon(total_variation(0.2), 0.1) == math.inf


def test_many_deltas_give_the_curve_back():
    eps = np.linspace(0, 4, 401)
    found = from_deltas(eps, Laplace(1.0).delta(eps))
    assert (found(ALPHA) <= Laplace(1.0)(ALPHA) + 1e-12).all()
    assert found(ALPHA) == pytest.approx(Laplace(1.0)(ALPHA), abs=1e-5)


def test_transition_matrix_is_the_hull_of_all_pairs_of_rows():
    matrix = np.asarray([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    curve = transition(matrix)
    all_pairs = [neyman_pearson(matrix[i], matrix[j], ALPHA) for i in range(3) for j in range(3) if i != j]
    lowest = np.min(all_pairs, axis=0)
    assert (curve(ALPHA) <= lowest + 1e-12).all()
    worst = max(float(np.maximum(matrix[i] - math.e**0.5 * matrix[j], 0).sum()) for i in range(3) for j in range(3))
    assert float(curve.delta(0.5)) == pytest.approx(worst, abs=1e-12)
    levels = 4
    response = np.full((levels, levels), 1 / (math.e + levels - 1))
    np.fill_diagonal(response, math.e / (math.e + levels - 1))
    assert transition(response)(ALPHA) == pytest.approx(randomised_response(1.0, levels)(ALPHA), abs=1e-12)


def test_a_pair_and_its_reverse_are_inverse_functions():
    pair = FINITE["random"]
    inner = ALPHA[5:-5]
    assert pair.reversed()(pair(inner)) == pytest.approx(inner, abs=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gaussian(0), "mu: must be a finite number above 0, found 0"),
        (lambda: Laplace(math.nan), "epsilon: must be a finite number above 0, found nan"),
        (lambda: approximate(-1, 0), "epsilon: must be a finite number of at least 0"),
        (lambda: approximate(1, 1.5), "delta: must lie in [0, 1], found 1.5"),
        (lambda: dp_tv(0.6, 0.05, 0.9), "eta: must lie in [0.05"),
        (lambda: classical_gaussian(1, 0), "delta: must lie strictly between 0 and 1, found 0"),
        (lambda: randomised_response(1, 1), "levels: must be a whole number of at least 2, found 1"),
        (lambda: discrete_gaussian(1, 30), "the noise hides nothing"),
        (lambda: transition([1.0]), "matrix: must have two dimensions"),
        (lambda: Pair([0.5, 0.5], [1.0]), "p and q: must be of one length, found 2 and 1"),
        (lambda: Pair([0.5, 0.6], [0.5, 0.5]), "p: probabilities must sum to 1, found 1.1"),
        (lambda: Pair([1.5, -0.5], [0.5, 0.5]), "p: probabilities must not be negative, found -0.5"),
        (lambda: Pair([0.5, 0.5], [math.nan, 1]), "q: probabilities must be finite numbers"),
        (lambda: compose(), "compose: needs at least one curve"),
        (lambda: compose(pure(1), times=(1, 2)), "times: must be one number or one for each of 1 curves, found 2"),
        (lambda: intersect(), "intersect: needs at least one curve"),
        (lambda: gaussian_limit(), "gaussian_limit: needs at least one curve"),
        (lambda: gaussian_limit(approximate(1, 0.1)), "gives the data set away"),
        (lambda: SMOOTH["both"].moments(), "intersection: has no privacy loss of its own"),
        (lambda: from_deltas([1, 2], [0.1]), "epsilons and deltas: must be of one length, found 2 and 1"),
    ],
)
def test_nonsense_is_refused(make, words):
    with pytest.raises(InputError) as error:
        make()
    assert words in str(error.value)


def test_a_lattice_too_large_is_refused():
    with pytest.raises(Unfinished, match="allow a larger slack"):
        compose(Laplace(3.0), times=1000, slack=1e-4)


def test_largest_total_variation():
    assert largest_tv(0.6, 0.05) == pytest.approx(0.05 + 0.95 * (math.exp(0.6) - 1) / (math.exp(0.6) + 1))
