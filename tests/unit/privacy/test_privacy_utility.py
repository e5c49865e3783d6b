"""What privacy costs in accuracy: the closed forms beside their brute-force twins."""

import math

import numpy as np
import pytest

from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import hall_ratio
from synthdp.privacy.tradeoff import Gaussian, approximate, utility


def test_histogram_error_is_that_of_the_noise():
    rng, runs = np.random.default_rng(5), 200_000
    noise = rng.laplace(0, 2 / 0.5, (runs, 6))
    errors = (noise**2).sum(axis=1)
    se = errors.std() / math.sqrt(runs)
    assert utility.histogram_error(0.5, 6) == pytest.approx(errors.mean(), abs=4 * se)
    assert utility.histogram_error(0.5, 6) == pytest.approx(8 * 6 / 0.25)
    # on proportions; the source prints the value for counts
    assert utility.histogram_error(0.5, 6, records=100) == pytest.approx(8 * 6 / (100 * 0.5) ** 2)


def test_mean_error():
    found = utility.mean_error(0.5, 1e-5, records=1000, diameter=10.0, dimension=3)
    assert found == pytest.approx(2 * 3 * math.log(1.25e5) * 100 / (1000**2 * 0.25))
    better = utility.mean_error_analytic(0.5, 1e-5, records=1000, diameter=10.0, dimension=3)
    assert better < found
    # the noise of the analytic version uses δ to the full
    sd = math.sqrt(better / 3) * 1000 / 10
    assert float(Gaussian(1 / sd).delta(0.5)) == pytest.approx(1e-5, rel=1e-6)


def test_median_bounds_hold_and_the_printed_one_is_loose():
    rng = np.random.default_rng(6)
    for n in (15, 60):
        x = rng.integers(1, 21, n)
        for t in (1, 3, 8, 15):
            exact = utility.median_probability(x, 1.0, 20, t)
            assert exact <= utility.median_bound(1.0, 20, t) + 1e-12
            assert utility.median_bound(1.0, 20, t) <= min(1.0, 20 * math.exp(-t / 4))
    # twin: one candidate at a time
    x = np.asarray([1, 2, 2, 5])
    weights = [math.exp(-abs(sum(np.sign(c - v) for v in x)) / 4) for c in range(1, 7)]
    wrong = [w for c, w in zip(range(1, 7), weights, strict=True) if abs(sum(np.sign(c - v) for v in x)) / 2 >= 1]
    assert utility.median_probability(x, 1.0, 6, 1) == pytest.approx(sum(wrong) / sum(weights))


def test_randomised_response():
    # truth with probability 1 − r + r/m must be e^ε times any other answer
    r = utility.random_answer(1.2, 5)
    assert (1 - r + r / 5) / (r / 5) == pytest.approx(math.exp(1.2))
    assert utility.biased_epsilon(0.25) == pytest.approx(math.log(3))


def test_chebyshev_bound_holds():
    rng = np.random.default_rng(7)
    n, bias, p = 200, 0.25, 0.3
    truth = rng.random((4000, n)) < p
    answers = np.where(rng.random((4000, n)) < 0.5 + bias, truth, ~truth)
    estimate = (answers.mean(axis=1) - 0.5 + bias) / (2 * bias)
    assert estimate.mean() == pytest.approx(p, abs=4 * estimate.std() / math.sqrt(4000))
    assert (np.abs(estimate - truth.mean(axis=1)) >= 0.15).mean() <= utility.proportion_bound(bias, n, 0.15)
    assert utility.proportion_bound(bias, n, 0.15) == pytest.approx(1 / (16 * bias**2 * 0.15**2 * n))


def test_power_bound_of_hall():
    assert utility.power_bound(0.05, 1.0) == pytest.approx(0.135914, abs=1e-6)
    assert utility.power_bound(0.05, 0.0, 0.02) == pytest.approx(0.07)
    size = np.linspace(0, 1, 101)
    assert (1 - approximate(0.7, 0.02)(size) <= utility.power_bound(size, 0.7, 0.02) + 1e-12).all()


def test_the_exponential_mechanism_keeps_its_bound():
    # Proposition 24, by enumeration of the mechanism on random scores
    rng = np.random.default_rng(8)
    tight = 0.0
    for trial in range(300):
        many, eps, sensitivity = int(rng.integers(1, 40)), float(rng.uniform(0.1, 5)), float(rng.uniform(0.5, 3))
        scores = rng.integers(0, 12, many).astype(float) if trial % 2 else rng.normal(0, 4, many)
        weights = np.exp(eps * (scores - scores.max()) / (2 * sensitivity))
        best = int((scores == scores.max()).sum())
        for t in (0.0, 0.3, 1.0, 4.0):
            short = utility.exponential_bound(eps, sensitivity, many, t, best)
            assert short <= utility.exponential_bound(eps, sensitivity, many, t)
            wrong = weights[scores <= scores.max() - short].sum() / weights.sum()
            assert wrong <= math.exp(-t) + 1e-12
            tight = max(tight, wrong * math.exp(t))
    assert tight > 0.5  # so a bound that had lost its factor 2 would not pass
    # where one candidate is best and all others are equally bad, nothing is given away but the denominator
    worst = utility.exponential_bound(1.0, 1.0, 10**9, 2.0)
    weights = np.exp(-worst / 2) * (10**9 - 1)
    assert weights / (1 + weights) == pytest.approx(math.exp(-2) / (1 + math.exp(-2)), rel=1e-6)


def test_count_error_is_that_of_the_noise():
    for eps in (0.3, 1.0, 2.5):
        z = np.arange(-400, 401)
        noise = math.tanh(eps / 2) * np.exp(-eps * np.abs(z))
        assert utility.count_error(eps) == pytest.approx(noise @ np.abs(z), rel=1e-12)
        for n in (1, 2, 5, 20):
            errors = [noise @ np.abs(np.clip(i + z, 0, n) - i) for i in range(n + 1)]
            assert utility.count_error(eps, n) == pytest.approx(max(errors), rel=1e-12)


def test_density_error_is_that_of_the_noise():
    # digest 001, A3: n = 100, h = 0.1: √2/(n √(2π) h) = 0.0564190; by d at n = 1000 as in its section 3.3.1
    root = utility.density_error(1.0, 0.1, records=100, bandwidth=0.1, dimension=1) ** 0.5
    assert root / utility.analytic_ratio(1.0, 0.1) == pytest.approx(0.0564190, abs=5e-8)
    # the largest distance of two kernels in the kernel's own norm, over all pairs of points
    gap = np.linspace(0, 5, 2001)
    norm = np.sqrt(2 - 2 * np.exp(-(gap**2) / (2 * 0.1**2))) / (100 * math.sqrt(2 * math.pi) * 0.1)
    assert norm.max() == pytest.approx(0.0564190, abs=5e-8)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: utility.biased_epsilon(0.5), "bias: must lie strictly between 0 and 0.5, found 0.5"),
        (
            lambda: utility.mean_error(1, 0, records=9, diameter=1.0, dimension=1),
            "delta: must lie strictly between 0 and 1",
        ),
        (lambda: utility.histogram_error(0, 5), "must be a finite number above 0"),
        (lambda: utility.exponential_bound(1, 1, 5, 1.0, 6), "best: cannot be more than the 5 candidates, found 6"),
        (lambda: utility.random_answer(1, 1), "levels: must be a whole number of at least 2"),
    ],
)
def test_nonsense_is_refused(make, words):
    with pytest.raises(InputError) as error:
        make()
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: utility.table_error([-1.0], 1.0), "counts: must be finite numbers, none below 0."),
        (
            lambda: utility.table_error([1.0, 2.0], 1.0, cells=1),
            "cells: must be at least the 2 occupied ones, found 1.",
        ),
        (
            lambda: utility.sparse_table_error([1.0], 1.0, threshold=-1),
            "threshold: must be a finite number of at least",
        ),
        (lambda: utility.count_lower_bound(2.0), "epsilon: the lower bound of a count is proved below 2, found 2."),
        (lambda: utility.fano_bound(1.0, 1.0, 1), "hypotheses: must be a whole number of at least 2, found 1."),
        (
            lambda: hall_ratio(1.5, 0.1),
            "epsilon: the constant √(2 ln(2/δ)) is proved up to 1, found 1.5; use analytic.",
        ),
    ],
)
def test_what_utility_refuses(call, sentence):
    with pytest.raises(InputError) as error:
        call()
    assert str(error.value).startswith(sentence)


def test_cells_that_are_left_out_count_as_empty():
    full, short = [5, 2, 0, 0, 0], [5, 2]
    assert utility.table_error(full, 0.7) == pytest.approx(utility.table_error(short, 0.7, cells=5))
    assert utility.sparse_table_error(full, 0.7) == pytest.approx(utility.sparse_table_error(short, 0.7, cells=5))
    assert utility.table_error(full, 0.7) < utility.table_error(full, 0.7, clipped=False)
