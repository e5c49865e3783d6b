"""Acceptance values of digest 001, section 13: Hall (2012), "New statistical applications for DP", PhD thesis, CMU.

Every value of A1–A6 and A10–A14; a test carries the name of its value. Where more is tested elsewhere:

====  ======================================================  =====================================================
A2    the δ that the constant really gives                    tests/unit/privacy/test_tradeoff.py, test_mechanisms.py
A10   second moment, other dimensions                         tests/unit/privacy/test_responses.py
A11   all three balls, by distribution                        tests/unit/privacy/test_responses.py
A12   as a mechanism that draws                               tests/unit/privacy/test_responses.py
A13   the empty cells of the sparse table against all cells   tests/unit/synthesis/test_private_synthesis.py
====  ======================================================  =====================================================
"""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from synthdp.privacy.mechanisms import DiscreteLaplace, KNorm, Laplace, Sensitivity, Simulated, gamma, sensitivity
from synthdp.privacy.mechanisms.additive import analytic_ratio, exact_delta
from synthdp.privacy.mechanisms.shaped import gauge
from synthdp.privacy.tradeoff import Pair
from synthdp.synthesis.private.histograms import DpSparseHistogram

EDWARDS = np.array([16, 11, 7, 4, 4, 4, 4, 3, 3, 2, *[1] * 12, *[0] * 42])
"""The counts of the 2⁶ table (barley mildew; Edwards): 22 occupied cells of 64, 70 records."""


def source(seed):
    return Simulated(np.random.default_rng(seed))


def hall(beta):
    """Return c(β) = √(2 ln(2/β)) of Proposition 1.3.3, whose proof needs α ≤ 1."""
    return math.sqrt(2 * math.log(2 / beta))


def clipped_error(t, b):
    """Return E|max(t + Lap(b), 0) − t|."""
    return b - b / 2 * np.exp(-t / b)


def sparse_error(t, b, tau):
    """Return E|error| of a count whose noisy value is set to 0 unless it is above τ."""
    s = tau - t
    low = 0.5 * np.exp(-s / b) * (s + b) + t * (1 - 0.5 * np.exp(-s / b))
    high = b - 0.5 * np.exp(np.minimum(s, 0) / b) * (b - s) + t / 2 * np.exp(np.minimum(s, 0) / b)
    return np.where(s >= 0, low, high)


def test_A1_lower_bound_of_a_count():
    assert math.exp(-2) == pytest.approx(0.135335, abs=5e-7)
    for epsilon in (0.1, 0.5, 1.0, 1.9):
        made = Laplace.calibrated(sensitivity.counting("replace"), epsilon=epsilon)
        best = DiscreteLaplace.calibrated(sensitivity.counting("replace"), epsilon=epsilon)
        z = np.arange(-2000, 2001)
        risk = np.abs(z) @ np.exp(-np.abs(z) / best.scale) / np.exp(-np.abs(z) / best.scale).sum()
        assert math.exp(-2) / epsilon < risk < made.scale


def test_A2_constants_of_the_gaussian_mechanism():
    printed = {0.1: 2.447747, 0.05: 2.716203, 0.01: 3.255247, 1e-3: 3.898949, 1e-5: 4.940865, 1e-6: 5.386772}
    for beta, value in printed.items():
        assert hall(beta) == pytest.approx(value, abs=5e-7)
        # enough noise at α = 1, and more than is needed
        assert exact_delta(hall(beta), 1.0) <= beta
        assert analytic_ratio(1.0, beta) < hall(beta)


def test_A3_noise_of_a_private_density_estimate():
    """n = 100, h = 0.1, α = 1, β = 0.1. The digest's formulas, and their sensitivity by the kernel's own norm."""
    n, h = 100, 0.1
    largest = math.sqrt(2) / (n * math.sqrt(2 * math.pi * h**2))
    assert largest == pytest.approx(0.0564190, abs=5e-8)
    sd = hall(0.1) * largest
    assert sd == pytest.approx(0.1380993, abs=5e-8)
    # the kernel is 1 at 0, so the integrated squared error on [0, 1] is sd²
    assert sd**2 == pytest.approx(0.0190714, abs=5e-8)

    def moved(x, y):  # ‖(k_x − k_y)‖ in the space of the kernel, by its reproducing property
        kernel = math.exp(-((x - y) ** 2) / (2 * h**2))
        return math.sqrt(2 - 2 * kernel) / (n * math.sqrt(2 * math.pi * h**2))

    distances = np.linspace(0, 3, 301)
    norms = [moved(0.0, d) for d in distances]
    assert max(norms) == pytest.approx(largest, rel=1e-12)
    assert all(np.diff(norms) >= 0)
    # on a grid of points the noise N(0, sd²·Gram) sees no more than that (Proposition 3.2.3)
    grid = np.linspace(0, 1, 6)
    gram = np.exp(-((grid[:, None] - grid[None, :]) ** 2) / (2 * h**2))
    shift = (np.exp(-((grid - 0.1) ** 2) / (2 * h**2)) - np.exp(-((grid - 0.9) ** 2) / (2 * h**2))) / (
        n * math.sqrt(2 * math.pi * h**2)
    )
    assert math.sqrt(shift @ np.linalg.solve(gram, shift)) <= largest
    assert analytic_ratio(1.0, 0.1) * largest < sd


def test_A4_edwards_threshold_and_bound():
    tau = DpSparseHistogram(epsilon=1.0).threshold_for(64)
    assert tau == pytest.approx(8.3178, abs=5e-5)
    bound = (2 * 22 + 1) * (math.log(64) + 1)
    assert bound == pytest.approx(232.15, abs=5e-3)
    unclipped = 64 * Laplace.calibrated(sensitivity.table("replace"), epsilon=1.0).scale
    assert unclipped == 128
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
    b = 2 / alpha
    found = DpSparseHistogram(epsilon=alpha).threshold_for(64)
    assert found == pytest.approx(tau, abs=5e-4)
    assert clipped_error(EDWARDS, b).sum() == pytest.approx(clipped, abs=5e-4)
    assert sparse_error(EDWARDS, b, found).sum() == pytest.approx(sparse, abs=5e-4)
    assert 45 / alpha * (math.log(64) + 1) == pytest.approx(bound, rel=1e-4)
    assert sparse_error(EDWARDS, b, found).sum() < bound


@pytest.mark.parametrize("t", [0, 1, 7, 16])
def test_A5_the_errors_are_those_of_the_noise(t):
    b, tau = 2.0, 8.3178
    law = stats.laplace(scale=b)
    for formula, error, ends in (
        (clipped_error(t, b), lambda z: abs(max(t + z, 0) - t), (-t, 0)),
        (sparse_error(t, b, tau), lambda z: abs((t + z if t + z > tau else 0) - t), (tau - t, 0)),
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
    assert (2 * q + 1) * (math.log(p) + 1) == pytest.approx(76229.69, abs=5e-3)
    assert p * Laplace.calibrated(sensitivity.table("replace"), epsilon=1.0).scale == 131072
    # the empty cells alone
    assert (p - q) * clipped_error(0, 2.0) == pytest.approx(62384)
    assert (p - q) * sparse_error(np.array(0), 2.0, 2 * math.log(p)) == pytest.approx(11.509, abs=5e-4)


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
        assert k * scale == pytest.approx(k**2 / epsilon)
        # whole numbers, ε/k each: k/sinh(ε/k), a little less
        whole = k / math.sinh(epsilon / k)
        z = np.arange(-6000, 6001)
        p = np.exp(-np.abs(z) * epsilon / k)
        assert k * (np.abs(z) @ p) / p.sum() == pytest.approx(whole, rel=1e-9)
        assert whole < k**2 / epsilon
