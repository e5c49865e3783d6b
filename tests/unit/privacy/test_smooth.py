"""Local and smooth sensitivity: against every neighbour of small files, and the noise against its exact δ."""

import itertools
import time

import numpy as np
import pytest
from scipy import integrate, stats

from synthdp import dp
from synthdp.errors import InputError
from synthdp.privacy.events import Approximate, NonPrivate, Pure
from synthdp.privacy.mechanisms import Bounds, Secure, Simulated, SmoothNoise, local, smooth

GRID = np.arange(5.0)
WITHIN = Bounds(0, 4)
RULES = {"mean": np.mean, "median": np.median, "variance": lambda x: np.var(x, ddof=1)}


def neighbours(x):
    for j, value in itertools.product(range(len(x)), GRID):
        yield np.sort(np.r_[np.delete(x, j), value])


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_local_sensitivity_is_the_largest_move_to_a_neighbour(name, n):
    rng = np.random.default_rng(n)
    rule = RULES[name]
    for _ in range(25):
        x = np.sort(rng.choice(GRID, n))
        # the variance may be least between grid points, at the mean of the others
        others = [np.r_[np.delete(x, j), np.delete(x, j).mean()] for j in range(n)] if name == "variance" else []
        brute = max(abs(rule(y) - rule(x)) for y in [*neighbours(x), *others])
        assert getattr(local, name)(x, WITHIN) == pytest.approx(brute, abs=1e-12)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("n", [3, 4, 7, 50])
def test_T20_leaving_one_out_is_what_it_says(name, n):
    x = np.random.default_rng(n).uniform(0, 10, n)
    rule = RULES[name]
    brute = max(abs(rule(np.delete(x, j)) - rule(x)) for j in range(n))
    assert getattr(local, name)(x, neighbours="leave_one_out") == pytest.approx(brute, rel=1e-10)


def test_T20_identities_of_the_mean_and_the_median():
    x = np.random.default_rng(1).uniform(0, 10, 51)
    assert local.mean(x, neighbours="leave_one_out") == pytest.approx(np.abs(x - x.mean()).max() / 50)
    # the formula of the text is the gap, its code finds half of it
    gaps = np.diff(np.sort(x))[24:26]
    assert local.median(x, Bounds(0, 10)) == pytest.approx(gaps.max())
    assert local.median(x, neighbours="leave_one_out") == pytest.approx(gaps.max() / 2)


def brute_smooth(x, rule, beta):
    """Return max over all files y of the same size of e^{−βd(x, y)} times the local sensitivity of y."""
    worst = 0.0
    for y in itertools.product(GRID, repeat=len(x)):
        y = np.asarray(y)
        moved = max(abs(rule(z) - rule(y)) for z in neighbours(y))
        # the least number of records to exchange, whatever their order
        kept = sum(min((x == v).sum(), (y == v).sum()) for v in GRID)
        worst = max(worst, moved * np.exp(-beta * (len(x) - kept)))
    return worst


@pytest.mark.parametrize("beta", [0.05, 0.4, 1.5])
@pytest.mark.parametrize("values", [(0, 1, 1), (2, 2, 2), (0, 0, 4), (0, 1, 3), (4, 4, 4)])
def test_smooth_bounds_are_the_least_there_are(values, beta):
    x = np.asarray(values, dtype=float)
    assert smooth.smooth_median(x, WITHIN, beta) == pytest.approx(brute_smooth(x, np.median, beta), rel=1e-12)
    assert smooth.smooth_mean(x, WITHIN, beta) == pytest.approx(brute_smooth(x, np.mean, beta), rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 31])
def test_halving_finds_what_all_pairs_give(n):
    rng = np.random.default_rng(n)
    for beta in (0.01, 0.1, 0.7, 3.0):
        x = np.sort(rng.choice([0, 1, 2, 5, 7, 10.0], n) if rng.random() < 0.5 else rng.uniform(0, 10, n))
        padded = np.r_[0, x, 10]
        for rank in range(1, n + 1):
            brute = max(
                (padded[j] - padded[i]) * np.exp(-beta * (j - i - 1))
                for i in range(rank + 1)
                for j in range(rank, n + 2)
                if i < j
            )
            assert smooth.smooth_rank(padded, rank, beta) == pytest.approx(brute, rel=1e-12)


def test_the_bound_of_an_even_number_is_smooth_and_above_the_local_one():
    rng = np.random.default_rng(4)
    for _ in range(40):
        x = np.sort(rng.choice(GRID, 4))
        mine = smooth.smooth_median(x, WITHIN, 0.3)
        assert mine >= local.median(x, WITHIN) - 1e-12
        for y in neighbours(x):
            assert mine <= np.exp(0.3) * smooth.smooth_median(y, WITHIN, 0.3) * (1 + 1e-12)


@pytest.mark.parametrize(("beta", "found"), [(0.1, 4.0656966), (0.5, 1.2130613), (2.0, 1.0)])
def test_T11_one_to_eleven(beta, found):
    assert smooth.smooth_median(np.arange(1.0, 12.0), Bounds(0, 12), beta) == pytest.approx(found, abs=1e-7)


def test_T11_the_counterexample_to_local_sensitivity():
    first, second = np.repeat([0.0, 100.0], [6, 5]), np.repeat([0.0, 100.0], [7, 4])
    within = Bounds(0, 100)
    assert local.median(first, within) == 100
    # the noise of a local mechanism on the second file is 0: its answer gives the file away
    assert local.median(second, within) == 0
    assert smooth.smooth_median(first, within, 0.1) == 100
    assert smooth.smooth_median(second, within, 0.1) == pytest.approx(90.48374, abs=1e-5)


def density(law, tail=4.0):
    if law == "laplace":
        return stats.laplace.pdf
    if law == "gaussian":
        return stats.norm.pdf
    whole = integrate.quad(lambda z: 1 / (1 + abs(z) ** tail), -np.inf, np.inf)[0]
    return lambda z: 1 / (1 + np.abs(z) ** tail) / whole


def test_noise_that_is_a_double_is_paid_for():
    """Ends of the narrowest cell are off by half a step of doubles each, for two files, wherever noise can be."""
    assert 2 * np.spacing(np.nextafter(64.0, 0)) / smooth.GRID <= smooth.ROUNDED
    assert np.exp(-64.0) < 1e-27
    for epsilon in (1e-5, 0.1, 2.0):
        noise = SmoothNoise.calibrated("laplace", epsilon=epsilon, delta=1e-6)
        # a shift and a stretch of half of the rest each
        assert 2 * noise.reach + smooth.ROUNDED == pytest.approx(epsilon, rel=1e-12)
        assert noise.beta <= noise.reach


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (1.0, 1e-2), (3.0, 1e-2)])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_exact_delta_of_shift_and_stretch_is_below_the_claim(law, epsilon, delta):
    noise = SmoothNoise.calibrated(law, epsilon=epsilon, delta=delta)
    pdf, z = density(law), np.linspace(-60, 60, 400_001)
    step = z[1] - z[0]
    for stretch in np.exp(noise.beta * np.array([-1, -0.5, 0.5, 1])):
        # scale 1 on one side and 1/stretch on the other; the smaller bound limits the distance of the answers
        p = pdf(z)
        for shift in noise.reach * min(1.0, 1 / stretch) * np.array([0, 0.5, 1]):
            q = pdf((z - shift) * stretch) * stretch
            assert np.maximum(p - np.exp(epsilon) * q, 0).sum() * step <= delta * (1 + 1e-4)


@pytest.mark.parametrize("tail", [2.0, 4.0, 6.0])
def test_the_heavy_tail_is_pure_and_its_constants_are_reached(tail):
    noise = SmoothNoise.calibrated("heavy_tail", epsilon=1.0, tail=tail)
    log_pdf = lambda z: -np.log1p(np.abs(z) ** tail)  # noqa: E731
    z = np.concatenate([-np.geomspace(1e-4, 1e6, 4000), np.geomspace(1e-4, 1e6, 4000)])
    stretch = np.exp(noise.beta)
    losses = [log_pdf(z) - log_pdf((z - noise.reach / stretch) * by) - np.log(by) for by in (stretch, 1 / stretch)]
    assert max(np.abs(loss).max() for loss in losses) <= 1.0
    # each half alone is used up, but for what the small steps leave
    assert np.abs(log_pdf(z) - log_pdf(z - noise.reach)).max() == pytest.approx(0.5, rel=0.12)
    assert np.abs(log_pdf(z) - log_pdf(z * stretch) - noise.beta).max() == pytest.approx(0.5, rel=0.01)


def test_stretching_leaves_over_what_quadrature_finds():
    z = np.linspace(-80, 80, 800_001)
    for law in ("laplace", "gaussian"):
        p = density(law)(z)
        q = density(law)(z * np.exp(0.2)) * np.exp(0.2)
        brute = np.maximum(p - np.exp(0.4) * q, 0).sum() * (z[1] - z[0])
        assert smooth.stretch_delta(law, 0.4, 0.2) == pytest.approx(brute, rel=1e-4)


@pytest.mark.parametrize(("law", "delta"), [("laplace", 1e-6), ("gaussian", 1e-6), ("heavy_tail", 0.0)])
def test_the_noise_has_its_law(law, delta):
    noise = SmoothNoise.calibrated(law, epsilon=1.0, delta=delta)
    source = Simulated(np.random.default_rng(3))
    drawn = np.array([noise.release(0.0, 1.0, bounds=Bounds(-1e6, 1e6), source=source) for _ in range(3000)])
    cdf = {"laplace": stats.laplace.cdf, "gaussian": stats.norm.cdf}.get(law)
    if cdf is None:
        grid = np.linspace(-2000, 2000, 2_000_001)
        sums = np.cumsum(density(law)(grid)) * (grid[1] - grid[0])
        cdf = lambda z: np.interp(z, grid, sums)  # noqa: E731
    assert stats.kstest(drawn / noise.factor, cdf).pvalue > 1e-4
    assert noise.event() == (Pure(1.0) if delta == 0 else Approximate(1.0, delta))
    assert "DP under replace" in noise.describe()


def test_bounds_from_the_data_claim_nothing():
    noise = SmoothNoise.calibrated("laplace", epsilon=1.0, delta=1e-6, origin="data")
    assert isinstance(noise.event(), NonPrivate)
    found = dp.smooth_median(
        np.arange(50.0), bounds="data", epsilon=1, delta=1e-6, source=Simulated(np.random.default_rng(1))
    )
    assert found.epsilon is None


def test_safe_noise_is_on_a_grid_that_does_not_depend_on_the_records():
    within = Bounds(0.0, 1.0)
    noise = SmoothNoise.calibrated("laplace", epsilon=1.0, delta=1e-6)
    step = smooth.GRID * noise.factor
    for spread in (1e-9, 1e-3, 1.0):
        found = noise.release(0.5, spread, bounds=within, source=Secure())
        assert found in (0.0, 1.0) or found / step == pytest.approx(round(found / step), abs=1e-6)


def test_a_smooth_median_of_a_million_takes_seconds():
    x = np.random.default_rng(1).random(1_000_000)
    began = time.process_time()
    found = dp.smooth_median(x, bounds=(0, 1), epsilon=1, delta=1e-6, source=Simulated(np.random.default_rng(1)))
    assert time.process_time() - began < 5
    assert abs(found.estimate - 0.5) < 0.01


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: smooth.smooth_median(np.array([]), WITHIN, 0.1), "smooth median: at least 1 record"),
        (lambda: smooth.smooth_median(np.ones(3), None, 0.1), "smooth median: no bounds given"),
        (lambda: smooth.smooth_median(np.ones(3), WITHIN, 0.0), "beta: must be a finite number above 0"),
        (lambda: smooth.smooth_mean(np.ones(3), None, 0.1), "smooth mean: no bounds given"),
        (lambda: local.mean(np.ones(3)), "mean: no bounds given"),
        (lambda: local.mean(np.ones(1), WITHIN), "mean: at least 2 records needed, found 1"),
        (lambda: local.variance(np.ones(2), neighbours="leave_one_out"), "at least 3 records needed to leave one"),
        (lambda: local.median(np.ones(3), WITHIN, neighbours="all"), "neighbours: must be replace or leave_one_out"),
        (lambda: SmoothNoise.calibrated("cauchy", epsilon=1), "noise: must be laplace, heavy_tail or gaussian"),
        (lambda: SmoothNoise.calibrated("laplace", epsilon=0, delta=1e-6), "epsilon: must be a finite number above 0"),
        (
            lambda: SmoothNoise.calibrated("laplace", epsilon=1e-7, delta=1e-6),
            "epsilon: must be at least 9.5e-07 for smoo",
        ),
        (lambda: SmoothNoise.calibrated("laplace", epsilon=1), "delta: smooth laplace noise needs one above 0"),
        (lambda: SmoothNoise.calibrated("heavy_tail", epsilon=1, delta=0.1), "delta: the heavy tail is pure"),
        (lambda: SmoothNoise.calibrated("heavy_tail", epsilon=1, tail=1.0), "tail: must be above 1, found 1"),
        (
            lambda: dp.smooth_median(np.ones(9), bounds=(0, 4), epsilon=-1, delta=1e-6),
            "epsilon: must be a number above",
        ),
        (lambda: dp.smooth_median(np.ones(9), bounds=None, epsilon=1, delta=1e-6), "bounds are missing"),
        (
            lambda: dp.smooth_median(np.ones(9), bounds=(0, 4), epsilon=1, delta=1e-6, adjacency="add_remove"),
            "smooth_median: is known under replace only",
        ),
        (
            lambda: dp.smooth_median(np.ones(9), bounds=(0, 4), epsilon=1, noise="heavy_tail"),
            "smooth noise, heavy tail: has no sampler that is safe",
        ),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize("statistic", [local.mean, local.median, local.variance])
def test_a_missing_value_has_no_local_sensitivity(statistic):
    with pytest.raises(InputError, match="values: 1 are missing; drop or fill them before the release"):
        statistic(np.array([np.nan, 1.0, 2.0]), neighbours="leave_one_out")
