"""Acceptance values of digest 001, section 13: Hall (2012), "New statistical applications for DP", PhD thesis, CMU.

A test carries the name of its value, and calls what a user can call. Where more is tested elsewhere:

====  ======================================================  =====================================================
A2    the δ that the constant really gives                    tests/unit/privacy/test_tradeoff.py, test_mechanisms.py
A10   second moment, other dimensions                         tests/unit/privacy/test_responses.py
A11   all three balls, by distribution                        tests/unit/privacy/test_responses.py
A12   as a mechanism that draws                               tests/unit/privacy/test_responses.py
A13   the empty cells of the sparse table against all cells   tests/unit/synthesis/test_private_synthesis.py
A15   the studies of methods that are not private             reports/random_privacy
A18   A19, A22: the body that nothing is released with        reports/functions
====  ======================================================  =====================================================
"""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from reports.functions import orbitope
from reports.random_privacy import methods as random_methods
from synthdp.datasets import edwards
from synthdp.dp import OnlineRelease, release_function
from synthdp.dp.density import density
from synthdp.dp.functions import Basis
from synthdp.dp.kernels import (
    damping,
    fourier_basis,
    fourier_l1,
    fourier_l2,
    gaussian_gram,
    gaussian_sensitivity,
    sobolev_gram,
    sobolev_sensitivity,
    wrapped_kernel,
)
from synthdp.dp.margins import minimise
from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import hall_ratio
from synthdp.privacy.mechanisms import (
    DiscreteLaplace,
    KNorm,
    Laplace,
    Sensitivity,
    Simulated,
    gamma,
    optimal_count,
    sensitivity,
)
from synthdp.privacy.mechanisms.additive import analytic_ratio, exact_delta
from synthdp.privacy.mechanisms.optimal import risk_body
from synthdp.privacy.mechanisms.shaped import gauge
from synthdp.privacy.tradeoff import Pair, pure
from synthdp.privacy.tradeoff.figures import area
from synthdp.privacy.tradeoff.utility import (
    count_lower_bound,
    fano_bound,
    histogram_lower_bound,
    margins_error,
    margins_lower_bound,
    sparse_table_bound,
    sparse_table_error,
    sparse_table_lower_bound,
    table_error,
)
from synthdp.synthesis.private.histograms import DpSparseHistogram

EDWARDS = edwards()


def source(seed):
    return Simulated(np.random.default_rng(seed))


def test_A1_lower_bound_of_a_count():
    assert count_lower_bound(1.0) == pytest.approx(0.135335, abs=5e-7)
    for epsilon in (0.1, 0.5, 1.0, 1.9):
        made = Laplace.calibrated(sensitivity.counting("replace"), epsilon=epsilon)
        best = DiscreteLaplace.calibrated(sensitivity.counting("replace"), epsilon=epsilon)
        z = np.arange(-2000, 2001)
        risk = np.abs(z) @ np.exp(-np.abs(z) / best.scale) / np.exp(-np.abs(z) / best.scale).sum()
        assert count_lower_bound(epsilon) < risk < made.scale


def test_A2_constants_of_the_gaussian_mechanism():
    printed = {0.1: 2.447747, 0.05: 2.716203, 0.01: 3.255247, 1e-3: 3.898949, 1e-5: 4.940865, 1e-6: 5.386772}
    for beta, value in printed.items():
        assert hall_ratio(1.0, beta) == pytest.approx(value, abs=5e-7)
        # enough noise at α = 1, and more than is needed
        assert exact_delta(hall_ratio(1.0, beta), 1.0) <= beta
        assert analytic_ratio(1.0, beta) < hall_ratio(1.0, beta)


def test_A3_noise_of_a_private_density_estimate():
    """n = 100, h = 0.1, α = 1, β = 0.1."""
    moved = gaussian_sensitivity(100, [0.1])
    assert moved == pytest.approx(0.0564190, abs=5e-8)
    sd = hall_ratio(1.0, 0.1) * moved
    assert sd == pytest.approx(0.1380993, abs=5e-8)
    assert sd**2 == pytest.approx(0.0190714, abs=5e-8)
    # what is released has less noise, the same everywhere, and covers the curve without noise as often as it says
    x = np.random.default_rng(3).uniform(0, 1, 100)
    price = {"bounds": (0, 1), "bandwidth": 0.1, "epsilon": 1, "delta": 0.1, "grid": 40}
    runs = [density(x, **price, source=source(seed)) for seed in range(200)]
    assert np.ptp(runs[0].noise_sd) < 1e-6
    assert runs[0].noise_sd[0] == pytest.approx(analytic_ratio(1.0, 0.1) * moved, rel=1e-6)
    assert runs[0].noise_sd[0] < sd
    plain = np.exp(-((runs[0].axes[0][:, None] - x) ** 2) / 0.02).mean(axis=1) / math.sqrt(0.02 * math.pi)
    # records are moved to the nearest of 2¹⁴ places
    errors = np.array([run.estimate for run in runs]) - plain
    ise = (errors**2).mean(axis=1)
    assert ise.mean() == pytest.approx(runs[0].noise_sd[0] ** 2, abs=4 * ise.std() / math.sqrt(200) + 1e-5)
    assert ise.mean() < 0.0190714
    covered = (np.abs(errors) <= runs[0].half).mean(axis=1)
    assert covered.mean() == pytest.approx(0.95, abs=4 * covered.std() / math.sqrt(200))


@pytest.mark.parametrize(("d", "sd"), [(1, 0.02788), (2, 0.11121), (3, 0.4437)])
def test_A3_by_dimension(d, sd):
    assert hall_ratio(1.0, 1e-5) * gaussian_sensitivity(1000, [0.1] * d) == pytest.approx(sd, rel=2e-4)


@pytest.mark.parametrize(("decay", "value"), [(1.0, 0.143563), (10.0, 0.066802)])
def test_A3_sobolev(decay, value):
    """The largest norm on [0, 1] over a grid of neighbours, by quadrature; the proved bound is just above."""
    h, n = 0.1, 100
    grid = np.linspace(0, 1, 4001)
    weights = np.full(4001, 1 / 4000)
    weights[[0, -1]] /= 2

    def parts(x):
        f = np.exp(-((grid - x) ** 2) / (2 * h**2)) / (h * math.sqrt(2 * math.pi))
        return f, f * (x - grid) / h**2

    def norm(x, y):
        (f, df), (g, dg) = parts(x), parts(y)
        f, df = f - g, df - dg
        return (f[0] ** 2 + f[-1] ** 2) / 2 + weights @ (df**2 + decay**2 * f**2) / (2 * decay)

    places = np.linspace(0, 1, 41)
    largest = max(norm(x, y) for x in places for y in np.linspace(x, min(x + 0.4, 1), 41))
    found = sobolev_sensitivity(n, [h], decay)
    assert math.sqrt(largest) / n == pytest.approx(value, rel=2e-3)
    assert max(value, math.sqrt(largest) / n) < found < value * 1.001


def test_A4_edwards_threshold_and_bound():
    tau = DpSparseHistogram(epsilon=1.0).threshold_for(64)
    assert tau == pytest.approx(8.3178, abs=5e-5)
    bound = sparse_table_bound(22, 64, 1.0)
    assert bound == pytest.approx(232.15, abs=5e-3)
    unclipped = table_error(EDWARDS, 1.0, clipped=False)
    assert unclipped == 128 == 64 * Laplace.calibrated(sensitivity.table("replace"), epsilon=1.0).scale
    assert bound > unclipped
    assert (EDWARDS.sum(), (EDWARDS > 0).sum(), len(EDWARDS)) == (70, 22, 64)


@pytest.mark.parametrize(
    ("alpha", "tau", "clipped", "sparse", "bound"),
    [
        (0.1, 83.178, 669.531, 123.406, 2321.5),
        (0.5, 16.636, 146.751, 76.070, 464.3),
        (1.0, 8.318, 77.332, 52.584, 232.15),
        (2.0, 4.159, 40.638, 36.547, 116.07),
        (5.0, 1.664, 17.001, 17.074, 46.43),
    ],
)
def test_A5_edwards_expected_errors(alpha, tau, clipped, sparse, bound):
    found = DpSparseHistogram(epsilon=alpha).threshold_for(64)
    assert found == pytest.approx(tau, abs=5e-4)
    assert table_error(EDWARDS, alpha) == pytest.approx(clipped, abs=5e-4)
    assert sparse_table_error(EDWARDS, alpha) == pytest.approx(sparse, abs=5e-4)
    assert sparse_table_error(EDWARDS[:22], alpha, cells=64, threshold=found) == pytest.approx(sparse, abs=5e-4)
    assert sparse_table_bound(22, 64, alpha) == pytest.approx(bound, rel=1e-4)
    assert sparse_table_error(EDWARDS, alpha) < sparse_table_bound(22, 64, alpha)


@pytest.mark.parametrize("t", [0, 1, 7, 16])
def test_A5_the_errors_are_those_of_the_noise(t):
    b, tau = 2.0, 8.3178
    law = stats.laplace(scale=b)
    for formula, error, ends in (
        (table_error([t], 2 / b), lambda z: abs(max(t + z, 0) - t), (-t, 0)),
        (sparse_table_error([t], 2 / b, threshold=tau), lambda z: abs((t + z if t + z > tau else 0) - t), (tau - t, 0)),
    ):
        value, _ = integrate.quad(lambda z, e=error: e(z) * law.pdf(z), -80, 80, points=sorted(ends), limit=400)
        assert float(formula) == pytest.approx(value, rel=1e-7)


def test_A5_whole_numbers_as_noise_do_no_worse():
    """What is shipped draws whole numbers; the digest's 52.584 is for real ones."""
    scale = DiscreteLaplace.calibrated(sensitivity.table("replace"), epsilon=1.0).scale
    z = np.arange(-400, 401)
    p = np.exp(-np.abs(z) / scale)
    noisy = EDWARDS[:, None] + z[None, :]
    kept = np.where(noisy > math.floor(DpSparseHistogram(epsilon=1.0).threshold_for(64)), noisy, 0)
    assert (np.abs(kept - EDWARDS[:, None]) @ p / p.sum()).sum() == pytest.approx(52.584, rel=0.02)
    assert (np.abs(np.maximum(noisy, 0) - EDWARDS[:, None]) @ p / p.sum()).sum() < 77.332


def test_A6_nltcs_threshold_bound_and_error():
    p, q = 2**16, 3152
    assert DpSparseHistogram(epsilon=1.0).threshold_for(p) == pytest.approx(22.1807, abs=5e-5)
    assert sparse_table_bound(q, p, 1.0) == pytest.approx(76229.69, abs=5e-3)
    assert table_error([], 1.0, cells=p, clipped=False) == 131072
    # the empty cells alone
    assert table_error([], 1.0, cells=p - q) == pytest.approx(62384)
    threshold = DpSparseHistogram(epsilon=1.0).threshold_for(p)
    assert sparse_table_error([], 1.0, cells=p - q, threshold=threshold) == pytest.approx(11.509, abs=5e-4)


MINIMAX = {
    1: (0.437823, 0.377541, 0.268941, 0.119203),
    2: (0.798332, 0.657421, 0.459728, 0.216129),
    5: (1.552826, 1.126084, 0.683710, 0.266230),
    10: (2.286646, 1.478986, 0.803027, 0.275442),
    20: (3.003120, 1.743536, 0.845744, 0.275720),
}


@pytest.mark.parametrize("n", MINIMAX)
def test_A7_minimax_counts(n):
    for epsilon, value in zip((0.25, 0.5, 1.0, 2.0), MINIMAX[n], strict=True):
        made = optimal_count(n, epsilon)
        assert made.risk().max() == pytest.approx(value, abs=6e-7)
        assert made.epsilon <= epsilon
        assert optimal_count(n, epsilon, "equalizer").risk() == pytest.approx(np.full(n + 1, value), abs=6e-7)


@pytest.mark.slow
def test_A7_minimax_of_seventy():
    for epsilon, value in ((0.5, 1.912643), (1.0, 0.850918), (2.0, 0.275721)):
        made = optimal_count(70, epsilon)
        assert made.risk().max() == pytest.approx(value, abs=1.1e-6)
        assert made.risk().max() < min(1 / epsilon, 1 / math.sinh(epsilon) + 1e-9)
        assert made.epsilon <= epsilon
        assert count_lower_bound(min(epsilon, 1.99)) < made.risk().max()


def test_A8_one_record_and_its_risk_body():
    for epsilon, value in ((0.05, 0.024995), (0.5, 0.244919), (1.0, 0.462117), (5.0, 0.986614)):
        assert optimal_count(1, epsilon).risk().max() == pytest.approx(1 / (1 + math.exp(epsilon)), abs=1e-7)
        x, y = risk_body(epsilon).T
        enclosed = abs(x @ np.roll(y, 1) - y @ np.roll(x, 1)) / 2
        assert enclosed == pytest.approx(value, abs=5e-7)
        # the body is the region of tests, and its mirror image
        assert enclosed == pytest.approx(2 * area(pure(epsilon)), rel=1e-6)
        # no rule does better than the corner that a prior points at
        for prior in ((0.5, 0.5), (0.1, 0.9)):
            best = optimal_count(1, epsilon, "bayes", prior=prior).risk() @ prior
            assert best == pytest.approx((risk_body(epsilon) @ prior).min(), abs=1e-7)


def test_A9_an_answer_that_does_not_look():
    """Half the time 0 and half the time n: private at any ε, and n/2 everywhere; the best one tends to it."""
    for n in (4, 10):
        ends = np.zeros((n + 1, n + 1))
        ends[:, [0, n]] = 0.5
        assert type(optimal_count(n, 1.0)).of(ends).risk().tolist() == [n / 2] * (n + 1)
        assert optimal_count(n, 1e-4, "equalizer").risk().max() == pytest.approx(n / 2, rel=1e-3)
        assert optimal_count(n, 1e-4, "equalizer").risk().max() < n / 2


def test_A10_radius_of_the_gamma_mechanism():
    d, step, epsilon, n = 4, 0.6, 1.5, 20_000
    noise = gamma(Sensitivity(step, "l2", "replace"), epsilon=epsilon).release(np.zeros((n, d)), source=source(10))
    radius = np.linalg.norm(noise, axis=1)
    assert stats.kstest(radius, stats.gamma(d, scale=step / epsilon).cdf).pvalue > 1e-3
    assert radius.mean() == pytest.approx(d * step / epsilon, abs=4 * radius.std() / math.sqrt(n))
    assert (radius**2).mean() == pytest.approx(d * (d + 1) * (step / epsilon) ** 2, rel=0.05)


@pytest.mark.parametrize("ball", ["l1", "l2", "linf"])
def test_A11_gauge_of_the_k_norm_noise(ball):
    d, step, epsilon, n = 3, 2.0, 0.5, 20_000
    made = KNorm.calibrated(Sensitivity(step, ball, "replace"), epsilon=epsilon, ball=ball)
    lengths = gauge(made.release(np.zeros((n, d)), source=source(11)), ball)
    assert stats.kstest(lengths, stats.gamma(d, scale=step / epsilon).cdf).pvalue > 1e-3
    assert lengths.mean() == pytest.approx(d * step / epsilon, abs=4 * lengths.std() / math.sqrt(n))


@pytest.mark.parametrize(("a", "beta"), [(1.0, 0.05), (0.3, 0.2), (3.0, 1e-4)])
def test_A12_the_binary_example_saturates(a, beta):
    top = (math.exp(a) + beta) / (math.exp(a) + 1)
    assert float(Pair([1 - top, top], [top, 1 - top]).delta(a)) == pytest.approx(beta, abs=1e-14)


@pytest.mark.parametrize("p", [64, 2**16, 10**12])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_A13_an_empty_cell_is_released_with_1_in_2p(p, epsilon):
    tau, b = DpSparseHistogram(epsilon=epsilon).threshold_for(p), 2 / epsilon
    assert stats.laplace.sf(tau, scale=b) == pytest.approx(1 / (2 * p), rel=1e-9)
    # noise in whole numbers: above τ is at least ⌊τ⌋ + 1, which is as likely up to the step of one
    r = math.exp(-1 / b)
    whole = r ** (math.floor(tau) + 1) / (1 + r)
    assert 2 * r / (1 + r) <= whole * 2 * p * (1 + 1e-9)
    assert whole * 2 * p <= 2 / (1 + r)


def test_A14_margins_with_laplace_noise():
    for k, epsilon in ((3, 1.0), (16, 0.5)):
        scale = Laplace.calibrated(Sensitivity(k, "l1", "replace"), epsilon=epsilon).scale
        assert k * scale == pytest.approx(margins_error(k, epsilon))
        # whole numbers, ε/k each: k/sinh(ε/k), a little less
        whole = k / math.sinh(epsilon / k)
        z = np.arange(-6000, 6001)
        p = np.exp(-np.abs(z) * epsilon / k)
        assert k * (np.abs(z) @ p) / p.sum() == pytest.approx(whole, rel=1e-9)
        assert whole < margins_error(k, epsilon)


def test_A15_occupied_cells_alone_are_noisy_under_random_privacy():
    """2r/(nα) for r occupied cells of d, where noise on all cells costs 2d/(nα); drawn, not only computed."""
    counts, alpha = np.array([40, 30, 20, 10, *[0] * 16]), 0.5
    n, d, r = counts.sum(), len(counts), 4
    rng = np.random.default_rng(15)
    errors = {
        name: [np.abs(release(counts, alpha, rng) - counts / n).sum() for _ in range(4000)]
        for name, release in (
            ("random", lambda c, a, g: random_methods.histogram_a(c, a, gamma=0.4, rng=g)),
            ("private", lambda c, a, g: random_methods.private_histogram(c, a, rng=g)),
        )
    }
    for name, cells in (("random", r), ("private", d)):
        se = np.std(errors[name]) / math.sqrt(4000)
        assert np.mean(errors[name]) == pytest.approx(random_methods.expected_error(cells, n, alpha), abs=4 * se)
    # too few records for the cells: noise on all of them
    assert (random_methods.histogram_a(counts, alpha, gamma=0.1, rng=rng)[4:] != 0).all()


@pytest.mark.parametrize(("n", "ones", "value"), [(3, 1, 0.5), (4, 2, 0.6)])
def test_A16_how_often_the_last_two_records_differ(n, ones, value):
    assert random_methods.mismatch(n, ones) == pytest.approx(value)
    orders = set(itertools.permutations([1] * ones + [0] * (n + 1 - ones)))
    assert np.mean([order[-2] != order[-1] for order in orders]) == pytest.approx(value)


def test_A17_the_wrapped_kernel():
    assert wrapped_kernel([1.0], 0.2, 0.1)[0] == pytest.approx(0.5399097, abs=5e-8)
    assert wrapped_kernel([1.0], 0.3, 0.1)[0] == pytest.approx(0.0443185, abs=5e-8)
    x = np.linspace(0, 1, 21)
    laps = [stats.norm(0.3 + k, 0.1).pdf(x) for k in range(-4, 5)]
    assert wrapped_kernel(x, 0.3, 0.1) == pytest.approx(np.sum(laps, axis=0), abs=1e-10)


@pytest.mark.parametrize("m", [1, 2, 3, 5])
def test_A17_how_far_one_record_moves_fourier_coefficients(m):
    x = np.linspace(0, 1, 601)
    apart = fourier_basis(x, m) - fourier_basis(np.array([0.0]), m)
    rotated = max(
        np.abs(fourier_basis(x + by, m) - fourier_basis(np.array([by]), m)).sum(axis=1).max()
        for by in np.linspace(0, 1, 121)
    )
    illustrated = {1: 4.0, 2: 6.837, 3: 9.639, 5: 15.217}[m]
    assert rotated == pytest.approx(illustrated, rel=2e-3)
    assert max(rotated, illustrated) <= fourier_l1(1, m) + 1e-9 == pytest.approx(4 * m)
    printed = {1: 2.8284, 2: 3.5355, 3: 4.1548, 5: 5.1880}[m]
    largest = np.sqrt((apart**2).sum(axis=1)).max()
    assert largest <= fourier_l2(1, m) == pytest.approx(printed, abs=5e-5)
    assert largest == pytest.approx(printed, rel=1e-4)
    # two columns: all products, against the bound and the coarser one of the digest
    grid = np.linspace(0, 1, 31)
    both = np.einsum("ia,jb->ijab", fourier_basis(grid, m), fourier_basis(grid, m)).reshape(31 * 31, -1)
    far = np.abs(both[::7, None, :] - both[None, ::5, :]).sum(axis=2).max()
    assert far <= fourier_l1(1, m, 2) <= ((2 * m + 1) ** 2 - 1) * 4
    assert np.sqrt(((both[::7, None, :] - both[None, ::5, :]) ** 2).sum(axis=2).max()) <= fourier_l2(1, m, 2)


def test_A17_damped_noise():
    assert fourier_l2(1, 10) == pytest.approx(7.1550, abs=5e-5)
    assert (damping(10, 0.1)[1:] ** 2).sum() == pytest.approx(1.820948, abs=5e-7)


def test_A18_inertia_and_volume_of_the_body():
    assert orbitope.inertia(2) == pytest.approx([0.125, 0.2])
    assert 2 * orbitope.inertia(2).sum() == pytest.approx(0.65)
    assert [orbitope.volume(m) for m in (1, 2)] == pytest.approx([math.pi, 3.2899], abs=5e-5)
    assert [2 * orbitope.inertia(m).sum() for m in (3, 5, 10, 50)] == pytest.approx(
        [0.723214, 0.795455, 0.860390, 0.920938], abs=5e-7
    )
    # by rejection from the cube
    rng = np.random.default_rng(18)
    offered = rng.uniform(-1, 1, (40_000, 4))
    inside = offered[orbitope.gauges(offered) <= 1]
    squares = (inside[:, :2] ** 2).sum(axis=1) / 2
    assert squares.mean() == pytest.approx(0.125, abs=4 * squares.std() / math.sqrt(len(inside)))
    share = 3.2899 / 16
    assert len(inside) / 40_000 == pytest.approx(share, abs=4 * math.sqrt(share / 40_000))


@pytest.mark.parametrize("m", [1, 2, 3, 5, 10])
def test_A19_the_gauge_of_two_records_reaches_m_plus_1(m):
    places = np.append(np.linspace(0, 1, 60), 1 / (m + 1))
    moved = orbitope.moments(places, m) - orbitope.moments(np.zeros(1), m)
    assert orbitope.gauges(moved).max() == pytest.approx(m + 1, rel=1e-9)


@pytest.mark.parametrize(("loss", "near"), [("hinge", 0.8), ("logistic", 0.4)])
def test_A20_a_support_vector_machine_and_its_neighbours(loss, near):
    """All neighbours of small files: the function never moves by more than 1/(λn), and comes near it."""
    rng = np.random.default_rng(20)
    farthest = 0.0
    for lam in (0.5, 0.05):
        n = 8
        root = np.linalg.cholesky(gaussian_gram(*[np.linspace(0, 1, 6)] * 2, 0.5) + 1e-9 * np.eye(6))
        place, sign = rng.integers(0, 6, n), rng.choice([-1.0, 1.0], n)
        fitted = minimise(root[place], sign, lam, 1e-6, loss)
        for k in range(6):
            for label in (-1.0, 1.0):
                place2, sign2 = np.append(place[:-1], k), np.append(sign[:-1], label)
                moved = np.linalg.norm(minimise(root[place2], sign2, lam, 1e-6, loss) - fitted)
                assert moved <= 1 / (lam * n) + 2e-6
                farthest = max(farthest, moved * lam * n)
    assert farthest > near


@pytest.mark.parametrize("kernel", [gaussian_gram, sobolev_gram])
def test_A21_gram_inequality(kernel):
    rng = np.random.default_rng(21)
    for _ in range(20):
        centres, eta, x = rng.uniform(0, 1, 4), rng.standard_normal(4), rng.uniform(0, 1, 6)
        norm = eta @ kernel(centres, centres, 0.3) @ eta

        def square(at, centres=centres, eta=eta):
            return np.sum((Basis.of(kernel(at, at, 0.3)).into @ (kernel(at, centres, 0.3) @ eta)) ** 2)

        assert square(x) <= norm * (1 + 1e-8)
        assert square(np.append(x, centres)) == pytest.approx(norm, rel=1e-4)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_A22_inertia_of_a_simplex(d):
    rng = np.random.default_rng(22)
    drawn = rng.dirichlet(np.ones(d + 1), 40_000)[:, :d]
    for products, value in (
        (drawn[:, 0] ** 2, orbitope.simplex_inertia(d)[0, 0]),
        (drawn[:, 0] * drawn[:, 1], orbitope.simplex_inertia(d)[0, 1]),
    ):
        assert products.mean() == pytest.approx(value, abs=4 * products.std() / 200)
    assert orbitope.simplex_inertia(3)[0].tolist() == [2 / 20, 1 / 20, 1 / 20]


def test_A23_questions_one_by_one_and_at_once():
    x = np.array([0.1, 0.25, 0.7])

    def f(at):
        return np.sin(5 * at)

    def kernel(a, b):
        return gaussian_gram(a, b, 0.3)

    price = {"sensitivity": 0.5, "epsilon": 1.0, "delta": 1e-3}
    rng = np.random.default_rng(23)
    one = OnlineRelease(f, kernel, **price, source=Simulated(rng))
    first = one.at([0.25, 0.1])
    assert one.at([0.1, 0.7, 0.25])[[2, 0]].tolist() == pytest.approx(first.tolist(), abs=1e-12)
    runs = 3000
    online = np.array([OnlineRelease(f, kernel, **price, source=Simulated(rng)).at(x[::-1])[::-1] for _ in range(runs)])
    batch = np.array(
        [release_function(f(x), kernel(x, x), **price, source=Simulated(rng)).estimate for _ in range(runs)]
    )
    law = one.noise_sd**2 * kernel(x, x)
    for drawn in (online, batch):
        assert np.abs(drawn.mean(axis=0) - f(x)).max() < 4 * one.noise_sd / math.sqrt(runs)
        # the sd of a normal covariance is √((σ_ii σ_jj + σ_ij²)/n), at most √2 σ²
        assert np.abs(np.cov(drawn.T) - law).max() < 4 * math.sqrt(2 / runs) * one.noise_sd**2


def test_fano_bound():
    # two files of 70 that differ in all records, at ε = 0.001
    assert fano_bound(10.0, 0.07, 64) == pytest.approx(5 * (1 - (0.07 + math.log(2)) / math.log(64)))
    assert fano_bound(1.0, 100.0, 2) == 0.0


@pytest.mark.parametrize("epsilon", [0.25, 0.5, 1.0, 2.0])
def test_lower_bound_of_a_table_holds_for_the_best_count(epsilon):
    """A count is a cell of two: with one record the bound is the best there is, with more below it."""
    assert histogram_lower_bound(1, 2, epsilon) == pytest.approx(optimal_count(1, epsilon).risk().max(), rel=1e-9)
    for n in (2, 5, 20):
        assert histogram_lower_bound(n, 2, epsilon) < optimal_count(n, epsilon).risk().max()


@pytest.mark.parametrize(("records", "cells"), [(2, 3), (3, 3), (2, 5)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_lower_bounds_of_tables_hold_for_the_best_mechanism(records, cells, epsilon):
    """All tables of few records, the best answers among them by a linear programme over all neighbours."""
    tables = [t for t in itertools.product(range(records + 1), repeat=cells) if sum(t) == records]
    size = len(tables)
    apart = np.abs(np.array(tables)[:, None, :] - np.array(tables)[None]).sum(axis=2)
    keep = [(i, j) for i in range(size) for j in range(size) if apart[i, j] == 2]
    private = np.zeros((len(keep) * size, size * size + 1))
    for row, ((i, j), out) in enumerate(itertools.product(keep, range(size))):
        private[row, i * size + out], private[row, j * size + out] = 1.0, -math.exp(epsilon)
    risk = np.zeros((size, size * size + 1))
    sums = np.zeros((size, size * size + 1))
    for i in range(size):
        risk[i, i * size : (i + 1) * size], risk[i, -1] = apart[i], -1.0
        sums[i, i * size : (i + 1) * size] = 1.0
    goal = np.append(np.zeros(size * size), 1.0)
    limits = np.zeros(len(private) + size)
    best = optimize.linprog(goal, np.vstack([private, risk]), limits, sums, np.ones(size), method="highs").fun
    assert 0 < histogram_lower_bound(records, cells, epsilon) <= best * (1 + 1e-9)
    if cells > 4:
        assert 0 < sparse_table_lower_bound(records, 2, cells, epsilon) <= best * (1 + 1e-9)


def test_lower_bounds_have_the_order_of_the_errors():
    for epsilon in (0.01, 0.1):
        many = histogram_lower_bound(10**6, 64, epsilon)
        assert 0.27 * 63 / epsilon < many < table_error(np.full(64, 10**4), epsilon, clipped=False)
        # which cells are occupied costs a logarithm
        found = sparse_table_lower_bound(10**7, 100, 10**6, epsilon)
        assert 0.65 * 99 * math.log(10**4) / epsilon < found < sparse_table_bound(100, 10**6, epsilon)
        for k in (16, 64, 256):
            assert 0.019 * k**2 / epsilon < margins_lower_bound(10**7, k, epsilon) < margins_error(k, epsilon)
    # fewer records than a cell's noise: errors are of the order of the records
    assert histogram_lower_bound(70, 64, 0.01) == pytest.approx(35, rel=0.01)
    with pytest.raises(InputError, match="cells: must be more than twice the occupied ones, found 30 for 22"):
        sparse_table_lower_bound(70, 22, 30, 1.0)
