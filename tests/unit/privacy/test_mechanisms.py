"""Mechanisms: noise follows its law, guarantees hold exactly, wrong input is told in one sentence."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from synthdp.errors import InputError, SynthdpError
from synthdp.privacy import events
from synthdp.privacy.mechanisms import (
    BoundedLaplace,
    Bounds,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    ReportNoisyMax,
    Secure,
    Sensitivity,
    Simulated,
    SparseVector,
    sensitivity,
)
from synthdp.privacy.mechanisms.additive import analytic_ratio, classical_ratio, discrete_gaussian_delta, exact_delta
from synthdp.privacy.mechanisms.shaped import bounded_scale

ONE = Sensitivity(1.0, "l1", "replace")
ONE_L2 = Sensitivity(1.0, "l2", "replace")
ONE_MAX = Sensitivity(1.0, "linf", "replace")
# a fixed seed makes these deterministic; the secure source has none, so its bound is wide
SEEDED_P, SECURE_P = 1e-3, 1e-7


def simulated(seed=1):
    return Simulated(np.random.default_rng(seed))


SOURCES = [pytest.param(simulated, SEEDED_P, id="simulated"), pytest.param(Secure, SECURE_P, id="secure")]
N = 3000


def chi_square(drawn, probability, least=-60, most=60):
    """p-value of integers against a law, rare values pooled."""
    values = np.arange(least, most + 1)
    p = probability(values)
    expected = len(drawn) * p
    keep = expected >= 5
    counts = np.array([np.count_nonzero(drawn == v) for v in values[keep]], dtype=float)
    wanted = expected[keep]
    rest, left = len(drawn) - counts.sum(), len(drawn) - wanted.sum()
    if left >= 5:
        return stats.chisquare([*counts, rest], [*wanted, left]).pvalue
    # a tail in which a hundredth of a draw is expected would refute any law with its first draw
    rarest = np.argmin(wanted)
    counts[rarest] += rest
    wanted[rarest] += left
    return stats.chisquare(counts, wanted).pvalue


# --- noise follows its law, from both sources ---


@pytest.mark.parametrize(("source", "bound"), SOURCES)
def test_laplace_law(source, bound):
    mechanism = Laplace.calibrated(sensitivity.table("replace"), epsilon=0.7)
    drawn = mechanism.release(np.full(N, 5.0), source=source()) - 5
    assert stats.kstest(drawn, stats.laplace(scale=2 / 0.7).cdf).pvalue > bound


@pytest.mark.parametrize(("source", "bound"), SOURCES)
def test_gaussian_law(source, bound):
    mechanism = Gaussian(Sensitivity(0.01, "l2", "replace"), 0.3)
    drawn = mechanism.release(np.full((N // 3, 3), -2.0), source=source())
    assert drawn.shape == (N // 3, 3)
    assert stats.kstest(drawn.ravel() + 2, stats.norm(scale=0.3).cdf).pvalue > bound


@pytest.mark.parametrize(("source", "bound"), SOURCES)
@pytest.mark.parametrize("scale", [0.4, 3.0])
def test_discrete_laplace_law(source, bound, scale):
    drawn = DiscreteLaplace(ONE, scale).release(np.full(N, 7), source=source()) - 7
    assert chi_square(drawn, lambda z: math.tanh(1 / (2 * scale)) * np.exp(-np.abs(z) / scale)) > bound


@pytest.mark.parametrize(("source", "bound"), SOURCES)
@pytest.mark.parametrize("sd", [0.6, 3.3])
def test_discrete_gaussian_law(source, bound, sd):
    norm = np.exp(-(np.arange(-200, 201) ** 2) / (2 * sd**2)).sum()
    drawn = DiscreteGaussian(ONE_L2, sd, coordinates=N).release(np.zeros(N, dtype=int), source=source())
    assert chi_square(drawn, lambda z: np.exp(-(z**2) / (2 * sd**2)) / norm) > bound


def permute_and_flip(scores, scale):
    """The published algorithm by enumeration of all orders (McKenna and Sheldon 2020)."""
    keep = np.exp((scores - scores.max()) / scale)
    p = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        alive = 1.0
        for c in order:
            p[c] += alive * keep[c] / len(orders)
            alive *= 1 - keep[c]
    return p


def noisy_max(scores, scale):
    """Report-noisy-max with Laplace noise by Simpson's rule; kinks lie on even nodes when scores are tenths."""
    v = np.linspace(-60, 60, 24_001)
    law = stats.laplace(scale=scale)
    below = [law.cdf(v - score) for score in scores]
    return np.array(
        [
            integrate.simpson(law.pdf(v - scores[c]) * np.prod(below[:c] + below[c + 1 :], axis=0), x=v)
            for c in range(len(scores))
        ]
    )


SCORES = np.array([0.0, 1.0, 2.5, 2.0])


def exponential(scores, scale):
    weights = np.exp(scores / scale)
    return weights / weights.sum()


SELECTIONS = [(Exponential, exponential), (PermuteAndFlip, permute_and_flip), (ReportNoisyMax, noisy_max)]


@pytest.mark.parametrize(("source", "bound"), SOURCES)
@pytest.mark.parametrize(("kind", "law"), SELECTIONS)
def test_selection_law(source, bound, kind, law):
    mechanism = kind.calibrated(ONE_MAX, epsilon=1.3)
    given, size = source(), 2000
    counts = np.bincount([mechanism.release(SCORES, source=given) for _ in range(size)], minlength=4)
    assert stats.chisquare(counts, size * law(SCORES, mechanism.scale)).pvalue > bound


@pytest.mark.parametrize(("kind", "law"), SELECTIONS)
@pytest.mark.parametrize("monotonic", [False, True])
def test_selection_is_private_at_its_epsilon(kind, law, monotonic):
    mechanism = kind.calibrated(ONE_MAX, epsilon=0.8, monotonic=monotonic)
    worst = 0.0
    for step in itertools.product([0, 1] if monotonic else [-1, 0, 1], repeat=3):
        base = np.array([0.0, 0.3, 1.2])
        ratio = np.log(law(base + np.array(step), mechanism.scale) / law(base, mechanism.scale))
        worst = max(worst, np.abs(ratio).max())
    assert 0.4 < worst <= 0.8 + 1e-9
    assert mechanism.event() == events.Pure(mechanism.epsilon)


def test_permute_and_flip_is_never_worse():
    mechanism = Exponential.calibrated(ONE_MAX, epsilon=1.0)
    assert permute_and_flip(SCORES, mechanism.scale) @ SCORES > mechanism.probabilities(SCORES) @ SCORES
    assert mechanism.rho == 0.125


# --- guarantees: published and derived numbers ---


def test_laplace_log_ratio_is_epsilon():
    mechanism = Laplace.calibrated(sensitivity.mean(Bounds(0, 10), 50, "replace"), epsilon=0.3)
    x = np.linspace(-20, 20, 4001)
    law = stats.laplace(scale=mechanism.scale)
    assert np.abs(law.logpdf(x) - law.logpdf(x - 0.2)).max() == pytest.approx(0.3)
    assert mechanism.epsilon <= 0.3


def test_concentrated_shift_dominates_a_spread_one():
    # a vector that moves by Δ in ℓ1 is no worse than one number that moves by Δ: its event is the one-number event
    from synthdp.privacy.accounting.accountants import delta

    for share in (0.1, 0.5):
        spread = events.Composed((events.Laplace(share), events.Laplace(1 - share)))
        for epsilon in (0.0, 0.2, 0.5, 0.9):
            assert delta(spread, epsilon) <= delta(events.Laplace(1.0), epsilon) + 1e-7


@pytest.mark.parametrize(
    ("epsilon", "delta", "analytic", "classical"),
    [(0.1, 1e-5, 945.54, 2347.21), (0.3, 1e-5, 126.29, 260.80), (0.5, 1e-5, 49.447, 93.889)],
)
def test_gaussian_variance_table(epsilon, delta, analytic, classical):
    assert analytic_ratio(epsilon, delta) ** 2 == pytest.approx(analytic, rel=1e-4)
    assert classical_ratio(epsilon, delta) ** 2 == pytest.approx(classical, rel=1e-4)
    assert exact_delta(classical_ratio(epsilon, delta), epsilon) <= delta


@pytest.mark.parametrize(("delta", "variance"), [(1e-5, 13.918), (1e-2, 3.526)])
def test_analytic_gaussian_at_one(delta, variance):
    assert analytic_ratio(1.0, delta) ** 2 == pytest.approx(variance, abs=5e-4)


@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 0.5, 1, 4, 30])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1, 0.9])
def test_analytic_gaussian_is_tight_and_private(epsilon, delta):
    ratio = analytic_ratio(epsilon, delta)
    assert exact_delta(ratio, epsilon) <= delta < exact_delta(ratio * (1 - 1e-6), epsilon)


def test_exact_delta_by_quadrature():
    r, epsilon = 1.7, 0.4
    loss = lambda x: max(stats.norm.pdf(x, 1, r) - math.exp(epsilon) * stats.norm.pdf(x, 0, r), 0.0)  # noqa: E731
    value, _ = integrate.quad(loss, -30, 30, points=[0.5 + epsilon * r**2], limit=200)
    assert exact_delta(r, epsilon) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.1, 0.002640), (0.5, 0.015954), (1, 0.039633), (2, 0.114525), (4, 0.372302)]
)
def test_mixed_noise_mechanism_breaks_its_claim(epsilon, delta):
    # Biswal (2024), Theorem 5.3.2: σ = √2·Δ/ε whatever Δ; claimed δ = 1/500 at ε = 1
    assert exact_delta(math.sqrt(2) / epsilon, epsilon) == pytest.approx(delta, abs=6e-7)


def test_hall_constant_and_where_it_fails():
    c = lambda beta: math.sqrt(2 * math.log(2 / beta))  # noqa: E731
    assert (c(0.1), c(1e-5)) == pytest.approx((2.447747, 4.940865), abs=1e-6)
    assert exact_delta(c(0.1), 1.0) == pytest.approx(1.558e-3, rel=1e-3)
    assert exact_delta(c(0.1) / 8, 8.0) == pytest.approx(0.1414, abs=1e-4)
    assert exact_delta(c(1e-5) / 10, 10.0) > 1e-5


def test_count_risk_beats_the_lower_bound():
    # Hall (2012), Proposition 2.3.1: no ε-DP count has absolute risk under e⁻²/ε; Laplace has 1/ε
    assert math.exp(-2) == pytest.approx(0.135335, abs=1e-6)
    for epsilon in (0.1, 0.5, 1.0):
        assert math.exp(-2) / epsilon < Laplace.calibrated(sensitivity.counting("replace"), epsilon=epsilon).scale


def test_margins_have_l1_error_k_squared_over_epsilon():
    k, epsilon = 6, 0.5
    mechanism = Laplace.calibrated(Sensitivity(k, "l1", "replace"), epsilon=epsilon)
    assert k * mechanism.scale == pytest.approx(k**2 / epsilon)
    drawn = np.abs(mechanism.release(np.zeros((4000, k)), source=simulated())).sum(axis=1)
    assert drawn.mean() == pytest.approx(k**2 / epsilon, abs=4 * drawn.std() / math.sqrt(len(drawn)))


def test_two_laplace_noises_are_private_after_all():
    # Biswal (2024), Example 4.5.7, says the ratio is unbounded
    q = np.linspace(-200, 200, 200_001)
    density = lambda v: np.log1p(np.abs(v)) - np.abs(v)  # noqa: E731
    ratio = np.abs(density(q) - density(q - 1))
    assert 0.99 < ratio.max() < 1


def test_noise_on_records_against_noise_on_the_mean():
    n, width, epsilon, runs = 20, 10.0, 1.0, 20_000
    b = width / epsilon
    x = np.linspace(0, width, n)
    drawn = Laplace.calibrated(sensitivity.identity(Bounds(0, width)), epsilon=epsilon).release(
        np.tile(x, (runs, 1)), source=simulated()
    )
    after = Laplace.calibrated(sensitivity.mean(Bounds(0, width), n, "replace"), epsilon=epsilon)
    assert 2 * b**2 / n == pytest.approx(n * after.sd**2)
    s2, made = x.var(ddof=1), drawn.var(axis=1, ddof=1)
    spread = 4 * b**4 * (5 * n - 3) / (n * (n - 1)) + 8 * b**2 * s2 / (n - 1)
    assert made.mean() == pytest.approx(s2 + 2 * b**2, abs=4 * math.sqrt(spread / runs))
    mc = math.sqrt(((made - made.mean()) ** 2).var() / runs)
    assert made.var() == pytest.approx(spread, abs=4 * mc)


def test_discrete_laplace_risk_is_the_optimal_one():
    scale = 1 / 1.0
    z = np.arange(-400, 401)
    p = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(z) / scale)
    assert (p * np.abs(z)).sum() == pytest.approx(1 / math.sinh(1.0)) == pytest.approx(0.850918, abs=1e-6)
    assert DiscreteLaplace(ONE, 2.0).sd == pytest.approx(
        math.sqrt((math.tanh(0.25) * np.exp(-np.abs(z) / 2) * z**2).sum())
    )


@pytest.mark.parametrize(("sd", "step", "epsilon"), [(0.7, 1, 0.5), (2.0, 1, 0.3), (5.0, 3, 1.0), (12.0, 2, 0.1)])
def test_discrete_gaussian_delta_by_enumeration(sd, step, epsilon):
    z = np.arange(-1500, 1501)
    p = np.exp(-(z**2) / (2 * sd**2))
    q = np.exp(-((z - step) ** 2) / (2 * sd**2))
    twin = np.maximum(p / p.sum() - math.exp(epsilon) * q / q.sum(), 0).sum()
    assert discrete_gaussian_delta(sd, step, epsilon) == pytest.approx(twin, rel=1e-9)


def test_discrete_gaussian_calibration():
    made = DiscreteGaussian.calibrated(Sensitivity(1, "l2", "add_remove"), epsilon=0.5, delta=1e-5)
    assert made.delta(0.5) <= 1e-5
    assert made.sd == pytest.approx(analytic_ratio(0.5, 1e-5), rel=0.01)
    many = DiscreteGaussian.calibrated(sensitivity.table("replace", norm="l2"), epsilon=0.5, delta=1e-5, coordinates=9)
    assert isinstance(many.event(), events.ZeroConcentrated)
    assert many.sd > math.sqrt(2) * made.sd
    assert discrete_gaussian_delta(1.0, 1, 60.0) == 0.0
    with pytest.raises(InputError, match="known for one number"):
        many.delta(1.0)
    with pytest.raises(InputError, match="calibrated for 9 numbers in a release, found 10"):
        many.release(np.zeros(10, dtype=int), source=simulated())


@pytest.mark.parametrize(
    ("high", "step", "epsilon", "delta", "scale"),
    [
        (1, 1, 1, 0, 1.0),
        (1, 0.1, 1, 0, 0.161156),
        (1, 0.1, 0.5, 0, 0.352787),
        (1, 0.1, 1, 0.01, 0.159273),
        (1, 0.01, 1, 0, 0.0161261),
        (110, 1, 1, 0, 1.612605),
        (110, 110, 1, 0, 110.0),
    ],
)
def test_bounded_laplace(high, step, epsilon, delta, scale):
    assert bounded_scale(Bounds(0, high), step, epsilon, delta) == pytest.approx(scale, rel=4e-6)
    made = BoundedLaplace.calibrated(Sensitivity(step, "l1", "replace"), Bounds(0, high), epsilon=epsilon, delta=delta)
    grid = np.linspace(0, high, 2001)
    worst = max(
        np.abs(made.log_density(grid, q) - made.log_density(grid, min(q + step, high))).max()
        for q in np.linspace(0, high, 101)
    )
    assert worst == pytest.approx(epsilon - math.log1p(-delta), rel=1e-3)
    assert worst <= (epsilon - math.log1p(-delta)) * (1 + 1e-9)
    assert np.exp(made.log_density(grid, high / 3)).mean() * high == pytest.approx(1, abs=2e-3 + step / high * 1e-2)


@pytest.mark.parametrize(("source", "bound"), SOURCES)
def test_bounded_laplace_law(source, bound):
    made = BoundedLaplace.calibrated(Sensitivity(20.0, "l1", "replace"), Bounds(0, 110), epsilon=1)
    drawn = made.release(np.full(1500, 10.0), source=source())
    assert drawn.min() >= 0
    assert drawn.max() <= 110
    law = stats.laplace(10, made.scale)
    cdf = lambda v: (law.cdf(v) - law.cdf(0)) / (law.cdf(110) - law.cdf(0))  # noqa: E731
    assert stats.kstest(drawn, cdf).pvalue > bound


def test_bounded_laplace_refuses():
    with pytest.raises(InputError, match="larger than the width"):
        bounded_scale(Bounds(0, 1), 2.0, 1.0)
    made = BoundedLaplace.calibrated(ONE, Bounds(0, 10), epsilon=1)
    with pytest.raises(InputError, match="2 of 3 values are outside the bounds; clip them"):
        made.release(np.array([-1.0, np.nan, 3.0]), source=simulated())
    with pytest.raises(InputError, match="no draw stays inside"):
        BoundedLaplace(ONE, Bounds(0, 1e-12), 1.0, 0.0, 1e6).release(5e-13, source=simulated())
    derived = BoundedLaplace.calibrated(ONE, Bounds(0, 10, "data"), epsilon=1)
    assert isinstance(derived.event(), events.NonPrivate)
    assert isinstance(BoundedLaplace.calibrated(ONE, Bounds(0, 10), epsilon=1, delta=0.1).event(), events.Approximate)


def sparse_vector_probability(answers, threshold, mechanism, outcome):
    """P(outcome) by integration over the noisy threshold."""
    law = stats.laplace(scale=mechanism.scale)
    limit = stats.laplace(threshold, mechanism.sensitivity.value / mechanism.for_threshold)

    def density(t):
        above = law.sf(t - np.asarray(answers[: len(outcome)]))
        return limit.pdf(t) * np.prod(np.where(outcome, above, 1 - above))

    return integrate.quad(density, -80, 80, points=[threshold, *answers], limit=400)[0]


@pytest.mark.parametrize(("cutoff", "monotonic"), [(1, False), (2, False), (2, True)])
def test_sparse_vector_is_private(cutoff, monotonic):
    made = SparseVector.calibrated(ONE_MAX, epsilon=1.0, cutoff=cutoff, monotonic=monotonic)
    assert made.epsilon <= 1.0
    base = np.array([0.0, 1.0, -0.5])
    moves = [(1, 1, 1), (1, 0, 1)] if monotonic else [(1, -1, 1), (-1, 1, -1), (1, 1, 1)]
    worst = 0.0
    for outcome in itertools.product([False, True], repeat=3):
        if sum(outcome) < cutoff or (sum(outcome) == cutoff and outcome[-1]):
            p = sparse_vector_probability(base, 0.5, made, outcome)
            for move in moves:
                q = sparse_vector_probability(base + np.array(move), 0.5, made, outcome)
                worst = max(worst, abs(math.log(p / q)))
    assert 0.2 < worst <= 1.0


@pytest.mark.parametrize("source", [simulated, Secure])
def test_sparse_vector_stops(source):
    made = SparseVector.calibrated(ONE_MAX, epsilon=50.0, cutoff=2)
    answered = made.release(np.array([-90.0, 90, -90, 90, 90]), 0.0, source=source())
    assert answered.tolist() == [False, True, False, True]
    assert made.release(np.full(3, -90.0), 0.0, source=source()).tolist() == [False] * 3


# --- adjacency and sensitivities ---


def test_sensitivities_follow_the_adjacency():
    bounds = Bounds(-2, 6)
    assert sensitivity.table("replace").value == 2
    assert sensitivity.table("add_remove").value == 1
    assert sensitivity.table("replace", norm="l2").value == math.sqrt(2)
    assert sensitivity.counting("replace").value == sensitivity.counting("add_remove").value == 1
    assert sensitivity.total(bounds, "replace").value == 8
    assert sensitivity.total(bounds, "add_remove").value == 6
    assert sensitivity.order_statistic(bounds, "add_remove").value == 8
    assert str(sensitivity.mean(bounds, 4, "replace")) == "l1 sensitivity 2 under replace"


@pytest.mark.parametrize("n", [2, 5])
def test_mean_and_variance_sensitivity_by_search(n):
    # extremes of convex functions of one value are at the bounds: two-point data are enough
    bounds = Bounds(0, 3)
    worst_mean = worst_variance = 0.0
    for x in itertools.product([0.0, 3.0], repeat=n):
        for i, other in itertools.product(range(n), [0.0, 1.0, 3.0]):
            y = np.array(x)
            y[i] = other
            worst_mean = max(worst_mean, abs(np.mean(x) - y.mean()))
            worst_variance = max(worst_variance, abs(np.var(x, ddof=1) - y.var(ddof=1)))
    assert sensitivity.mean(bounds, n, "replace").value == pytest.approx(worst_mean)
    assert sensitivity.variance(bounds, n, "replace").value == pytest.approx(worst_variance)


MECHANISMS = [
    lambda s: Laplace.calibrated(replaced(s, "l1"), epsilon=1.0),
    lambda s: DiscreteLaplace.calibrated(replaced(s, "l1"), epsilon=1.0),
    lambda s: Gaussian.calibrated(replaced(s, "l2"), epsilon=1.0, delta=1e-5),
    lambda s: Gaussian.concentrated(replaced(s, "l2"), rho=0.1),
    lambda s: DiscreteGaussian(replaced(s, "l2"), 2.0),
    lambda s: Exponential.calibrated(replaced(s, "linf"), epsilon=1.0),
    lambda s: PermuteAndFlip.calibrated(replaced(s, "linf"), epsilon=1.0),
    lambda s: ReportNoisyMax.calibrated(replaced(s, "linf"), epsilon=1.0),
    lambda s: SparseVector.calibrated(replaced(s, "linf"), epsilon=1.0),
    lambda s: BoundedLaplace.calibrated(replaced(s, "l1"), Bounds(0, 100), epsilon=1.0),
]


def replaced(given, norm):
    return Sensitivity(given.value, norm, given.adjacency, given.origin)


@pytest.mark.parametrize("make", MECHANISMS)
def test_contract(make):
    made = make(Sensitivity(1.0, "l1", "add_remove"))
    assert "under add_remove" in made.describe()
    assert not isinstance(made.event(), events.NonPrivate)
    assert made.caution(1e9) is None
    assert "Raise epsilon" in made.caution(1e-9)
    assert isinstance(make(Sensitivity(1.0, "l1", "replace", "data")).event(), events.NonPrivate)
    assert not isinstance(make(Sensitivity(1.0, "l1", "replace", "paid")).event(), events.NonPrivate)


@pytest.mark.parametrize("make", MECHANISMS)
def test_the_wrong_norm_is_refused(make):
    good = make(ONE).sensitivity.norm
    wrong = "l2" if good != "l2" else "l1"
    with pytest.raises(InputError, match=f"sensitivity, found {wrong}"):
        type(make(ONE))(Sensitivity(1.0, wrong, "replace"), *[2.0] * 1, **extra(make(ONE)))


def extra(mechanism):
    """Fields after the first two that have no default."""
    if isinstance(mechanism, SparseVector):
        return {"for_answers": 0.5, "cutoff": 1}
    if isinstance(mechanism, BoundedLaplace):
        return {"epsilon": 1.0, "delta": 0.0, "scale": 1.0}
    return {}


# --- wrong input ---


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize(
    "calibrate",
    [
        lambda e: Laplace.calibrated(ONE, epsilon=e),
        lambda e: DiscreteLaplace.calibrated(ONE, epsilon=e),
        lambda e: Gaussian.calibrated(ONE_L2, epsilon=e, delta=1e-5),
        lambda e: Gaussian.calibrated(ONE_L2, epsilon=e, delta=1e-5, method="classical"),
        lambda e: DiscreteGaussian.calibrated(ONE_L2, epsilon=e, delta=1e-5),
        lambda e: Exponential.calibrated(ONE_MAX, epsilon=e),
        lambda e: SparseVector.calibrated(ONE_MAX, epsilon=e),
        lambda e: BoundedLaplace.calibrated(ONE, Bounds(0, 9), epsilon=e),
    ],
)
def test_bad_epsilon(calibrate, epsilon):
    with pytest.raises(InputError, match="epsilon: must be a finite number above 0, found"):
        calibrate(epsilon)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_bad_delta(delta):
    with pytest.raises(InputError, match="delta: must lie strictly between 0 and 1"):
        Gaussian.calibrated(ONE_L2, epsilon=0.5, delta=delta)
    if delta != 0:
        with pytest.raises(InputError, match="delta: must be 0 or more and below 1"):
            BoundedLaplace.calibrated(ONE, Bounds(0, 9), epsilon=1, delta=delta)


def test_classical_gaussian_stops_at_one():
    with pytest.raises(InputError, match="holds below 1, found 1; use analytic"):
        Gaussian.calibrated(ONE_L2, epsilon=1.0, delta=1e-5, method="classical")


def test_bad_bounds_and_sensitivities():
    for low, high in [(1, 1), (2, 1), (0, math.inf), (math.nan, 1)]:
        with pytest.raises(InputError, match="bounds: must be finite and increasing"):
            Bounds(low, high)
    for ask in (
        lambda: sensitivity.total(None, "replace"),
        lambda: sensitivity.mean(None, 5, "replace"),
        lambda: sensitivity.variance(None, 5, "replace"),
        lambda: sensitivity.identity(None),
        lambda: sensitivity.order_statistic(None, "replace"),
    ):
        with pytest.raises(InputError, match="no bounds given; a DP release needs bounds"):
            ask()
    assert sensitivity.required((0, 1), "x") == Bounds(0, 1)
    with pytest.raises(InputError, match="number of records is itself secret"):
        sensitivity.mean(Bounds(0, 1), 5, "add_remove")
    with pytest.raises(InputError, match="records: at least 2 needed, found 1"):
        sensitivity.variance(Bounds(0, 1), 1, "replace")
    with pytest.raises(InputError, match="adjacency: must be replace or add_remove, found swap"):
        sensitivity.counting("swap")
    with pytest.raises(InputError, match="sensitivity: must be a finite number above 0"):
        Sensitivity(0.0, "l1", "replace")
    with pytest.raises(InputError, match="known in l1, l2 and linf, found gauge"):
        sensitivity.table("replace", norm="gauge")


def test_values_outside_are_moved_counted_and_said():
    moved = Bounds(0, 10).clip(np.array([-1.0, 5.0, 11.0]))
    assert moved.values.tolist() == [0, 5, 10]
    assert moved.sentence("age") == "age: 2 of 3 values were outside the bounds and were moved to them."
    assert Bounds(0, 10).clip(np.array([12.0, 3.0])).sentence("x").startswith("x: 1 of 2 values was")
    assert Bounds(0, 10).clip(np.array([3.0])).sentence("x") is None
    with pytest.raises(InputError, match="values: 1 are missing"):
        Bounds(0, 10).clip(np.array([np.nan, 1.0]))


@pytest.mark.parametrize("source", [simulated, Secure])
def test_values_that_cannot_be_released(source):
    with pytest.raises(InputError, match="1 of 2 are missing or infinite"):
        Laplace(ONE, 1.0).release(np.array([1.0, np.nan]), source=source())
    with pytest.raises(InputError, match="whole numbers needed by a discrete mechanism, found float64"):
        DiscreteLaplace(ONE, 1.0).release(np.array([1.5]), source=source())
    with pytest.raises(InputError, match="at least one candidate"):
        Exponential(ONE_MAX, 1.0).release(np.array([]), source=source())
    with pytest.raises(InputError, match="needs a list of answers"):
        SparseVector.calibrated(ONE_MAX, epsilon=1).release(np.zeros((2, 2)), 0.0, source=source())
    assert Laplace(ONE, 1.0).release(np.array([]), source=source()).size == 0


def test_whole_sensitivity_and_cutoff():
    with pytest.raises(InputError, match=r"whole-number sensitivity, found 0\.5"):
        DiscreteLaplace(Sensitivity(0.5, "l1", "replace"), 1.0)
    with pytest.raises(InputError, match="cutoff must be at least 1, found 0"):
        SparseVector.calibrated(ONE_MAX, epsilon=1, cutoff=0)


@pytest.mark.parametrize("value", [1e-300, 1e-12, 1.0, 1e12, 1e200])
def test_secure_noise_at_every_scale(value):
    made = Laplace.calibrated(Sensitivity(value, "l1", "replace"), epsilon=0.1)
    drawn = made.release(np.full(200, value), source=Secure())
    assert 0.5 < np.abs(drawn).mean() / made.scale < 2


def test_secure_noise_that_opendp_does_not_confirm_is_a_bug(monkeypatch):
    from synthdp.privacy.mechanisms import mechanism

    monkeypatch.setattr(mechanism, "WIDENED", 0.5)
    with pytest.raises(SynthdpError, match="does not confirm the noise"):
        Laplace(ONE, 1.0).release(1.0, source=Secure())


def test_sources_say_who_they_are():
    assert (Secure().name, simulated().name) == ("secure", "simulated")
    assert (repr(Secure()), repr(simulated())) == ("Secure()", "Simulated(<generator>)")
    first, again = simulated(3), simulated(3)
    assert Laplace(ONE, 1.0).release(0.0, source=first) == Laplace(ONE, 1.0).release(0.0, source=again)


def test_loss_of_gaussian_release():
    made = Gaussian.calibrated(ONE_L2, epsilon=2.0, delta=1e-6)
    assert made.delta(2.0) <= 1e-6
    assert made.rho == pytest.approx(made.mu**2 / 2)
    assert Gaussian.concentrated(ONE_L2, rho=0.5).sd == pytest.approx(1.0)
