"""What privacy costs in accuracy: the closed forms beside their brute-force twins."""

import math

import numpy as np
import pytest

from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import hall_ratio
from synthdp.privacy.tradeoff import Gaussian, approximate, gallery, utility


def test_histogram_error_is_that_of_the_noise():
    rng, runs = np.random.default_rng(5), 200_000
    noise = rng.laplace(0, 2 / 0.5, (runs, 6))
    errors = (noise**2).sum(axis=1)
    se = errors.std() / math.sqrt(runs)
    assert gallery.histogram_error(0.5, 6) == pytest.approx(errors.mean(), abs=4 * se)
    assert gallery.histogram_error(0.5, 6) == pytest.approx(8 * 6 / 0.25)
    # on proportions; the source prints the value for counts
    assert gallery.histogram_error(0.5, 6, records=100) == pytest.approx(8 * 6 / (100 * 0.5) ** 2)


def test_mean_error():
    found = gallery.mean_error(0.5, 1e-5, records=1000, diameter=10.0, dimension=3)
    assert found == pytest.approx(2 * 3 * math.log(1.25e5) * 100 / (1000**2 * 0.25))
    better = gallery.mean_error_analytic(0.5, 1e-5, records=1000, diameter=10.0, dimension=3)
    assert better < found
    # the noise of the analytic version uses δ to the full
    sd = math.sqrt(better / 3) * 1000 / 10
    assert float(Gaussian(1 / sd).delta(0.5)) == pytest.approx(1e-5, rel=1e-6)


def test_median_bounds_hold_and_the_printed_one_is_loose():
    rng = np.random.default_rng(6)
    for n in (15, 60):
        x = rng.integers(1, 21, n)
        for t in (1, 3, 8, 15):
            exact = gallery.median_probability(x, 1.0, 20, t)
            assert exact <= gallery.median_bound(1.0, 20, t) + 1e-12
            assert gallery.median_bound(1.0, 20, t) <= min(1.0, 20 * math.exp(-t / 4))
    # twin: one candidate at a time
    x = np.asarray([1, 2, 2, 5])
    weights = [math.exp(-abs(sum(np.sign(c - v) for v in x)) / 4) for c in range(1, 7)]
    wrong = [w for c, w in zip(range(1, 7), weights, strict=True) if abs(sum(np.sign(c - v) for v in x)) / 2 >= 1]
    assert gallery.median_probability(x, 1.0, 6, 1) == pytest.approx(sum(wrong) / sum(weights))


def test_randomised_response():
    # truth with probability 1 − r + r/m must be e^ε times any other answer
    r = gallery.random_answer(1.2, 5)
    assert (1 - r + r / 5) / (r / 5) == pytest.approx(math.exp(1.2))
    assert gallery.biased_epsilon(0.25) == pytest.approx(math.log(3))


def test_chebyshev_bound_holds():
    rng = np.random.default_rng(7)
    n, bias, p = 200, 0.25, 0.3
    truth = rng.random((4000, n)) < p
    answers = np.where(rng.random((4000, n)) < 0.5 + bias, truth, ~truth)
    estimate = (answers.mean(axis=1) - 0.5 + bias) / (2 * bias)
    assert estimate.mean() == pytest.approx(p, abs=4 * estimate.std() / math.sqrt(4000))
    assert (np.abs(estimate - truth.mean(axis=1)) >= 0.15).mean() <= gallery.proportion_bound(bias, n, 0.15)
    assert gallery.proportion_bound(bias, n, 0.15) == pytest.approx(1 / (16 * bias**2 * 0.15**2 * n))


def test_power_bound_of_hall():
    assert gallery.power_bound(0.05, 1.0) == pytest.approx(0.135914, abs=1e-6)
    assert gallery.power_bound(0.05, 0.0, 0.02) == pytest.approx(0.07)
    size = np.linspace(0, 1, 101)
    assert (1 - approximate(0.7, 0.02)(size) <= gallery.power_bound(size, 0.7, 0.02) + 1e-12).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gallery.biased_epsilon(0.5), "bias: must lie strictly between 0 and 0.5, found 0.5"),
        (
            lambda: gallery.mean_error(1, 0, records=9, diameter=1.0, dimension=1),
            "delta: must lie strictly between 0 and 1",
        ),
        (lambda: gallery.histogram_error(0, 5), "must be a finite number above 0"),
        (lambda: gallery.random_answer(1, 1), "levels: must be a whole number of at least 2"),
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
