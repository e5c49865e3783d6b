"""Audits: their bounds are exact, they seldom accuse the innocent, and what they cannot use they refuse."""

import numpy as np
import pytest
from scipy import stats

from synthdp.errors import InputError
from synthdp.privacy import events
from synthdp.privacy.audit import check_curve, epsilon_bound, judge, repeated
from synthdp.privacy.audit.bounds import at_least, at_most
from synthdp.privacy.tradeoff import (
    Gaussian,
    Laplace,
    approximate,
    compose,
    discrete_gaussian,
    discrete_laplace,
    dp_tv,
    pure,
    randomised_response,
)
from synthdp.privacy.tradeoff.duality import promised

ALPHA = np.linspace(0, 1, 101)


def laplace(scale):
    return lambda data, runs, rng: data + rng.laplace(0, scale, runs)


def coin(data, runs, rng):
    return np.where(rng.random(runs) < np.e / (1 + np.e), data, 1 - data)


@pytest.mark.parametrize("k", [0, 1, 7, 50, 99, 100])
def test_bounds_are_those_of_clopper_and_pearson(k):
    exact = stats.binomtest(k, 100).proportion_ci(0.98, method="exact")
    assert float(at_least(k, 100, 0.01)) == pytest.approx(exact.low, abs=1e-10)
    assert float(at_most(k, 100, 0.01)) == pytest.approx(exact.high, abs=1e-10)


def test_the_bound_comes_close_to_the_truth_and_seldom_passes_it():
    found = [
        epsilon_bound(coin, 0, 1, runs=2000, rng=np.random.default_rng(r), confidence=0.9).epsilon for r in range(300)
    ]
    passed = sum(value > 1.0 for value in found)
    # at most one in ten may pass; four standard errors of 300 runs
    assert passed <= 30 + 4 * np.sqrt(27)
    assert np.mean(found) > 0.75


def test_the_bound_pays_for_delta():
    rng = np.random.default_rng(3)

    def leaky(data, runs, rng):
        return np.where(rng.random(runs) < 0.05, 10.0 + data, coin(data, runs, rng))

    plain = epsilon_bound(leaky, 0, 1, runs=40_000, rng=rng)
    allowed = epsilon_bound(leaky, 0, 1, runs=40_000, rng=rng, delta=0.05)
    assert plain.epsilon > 4
    assert 0.8 < allowed.epsilon < 1.0
    assert allowed.often > allowed.seldom


def test_a_kept_promise_is_seldom_refuted():
    wrong = sum(
        check_curve(coin, 0, 1, pure(1.0), runs=1000, rng=np.random.default_rng(r), level=0.1).broken
        for r in range(200)
    )
    assert wrong <= 20 + 4 * np.sqrt(18)


def test_the_p_value_is_where_the_band_leaves_the_region():
    check = check_curve(laplace(0.8), 0.0, 1.0, Laplace(1.0), runs=8000, rng=np.random.default_rng(4), level=0.05)
    at = check_curve(
        laplace(0.8), 0.0, 1.0, Laplace(1.0), runs=8000, rng=np.random.default_rng(4), level=check.p_value * 1.001
    )
    under = check_curve(
        laplace(0.8), 0.0, 1.0, Laplace(1.0), runs=8000, rng=np.random.default_rng(4), level=check.p_value * 0.999
    )
    assert at.broken
    assert not under.broken
    assert check.runs == 4000


def test_a_promise_that_is_kept_with_ease_has_p_one():
    check = check_curve(laplace(3.0), 0.0, 1.0, Laplace(1.0), runs=4000, rng=np.random.default_rng(5))
    assert check.p_value == 1.0
    assert all(point.fp_high >= point.fp and point.fn_high >= point.fn for point in check.points)


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
def test_outputs_of_any_width_are_told_apart(shape):
    def noisy(data, runs, rng):
        return data + rng.laplace(0, 0.5, (runs, *shape))

    check = check_curve(noisy, 0.0, 1.0, Laplace(1.0), runs=10_000, rng=np.random.default_rng(6))
    assert check.broken


def test_lists_of_few_values_and_missing_ones_are_told_apart():
    def once(data, rng):
        return [np.nan, 0.0] if rng.random() < 0.1 + 0.8 * data else [np.inf, 1.0]

    found = epsilon_bound(repeated(once), 0, 1, runs=4000, rng=np.random.default_rng(7))
    assert 1.5 < found.epsilon < np.log(9)


def test_a_score_of_the_auditors_own():
    found = epsilon_bound(
        laplace(1.0), 0.0, 1.0, runs=20_000, rng=np.random.default_rng(8), score=lambda rows: rows[:, 0]
    )
    assert 0.75 < found.epsilon < 1.0


@pytest.mark.parametrize(
    ("event", "curve"),
    [
        (events.Gaussian(0.7), Gaussian(0.7)),
        (events.Laplace(0.7), Laplace(0.7)),
        (events.DiscreteLaplace(2.0, 2), discrete_laplace(2.0, 2)),
        (events.DiscreteGaussian(2.0, 1), discrete_gaussian(2.0, 1)),
        (events.Pure(1.0), pure(1.0)),
        (events.Approximate(1.0, 0.1), approximate(1.0, 0.1)),
        (events.TotalVariation(1.0, 0.1, 0.3), dp_tv(1.0, 0.1, 0.3)),
        (events.RandomisedResponse(1.0, 4), randomised_response(1.0, 4)),
        (events.Composed((events.Gaussian(0.6), events.Gaussian(0.8))), Gaussian(1.0)),
        (events.Repeated(events.Pure(0.2), 5), compose(pure(0.2), times=5)),
        (events.Parallel((events.Laplace(1.0),) * 4, 1), Laplace(1.0)),
    ],
)
def test_promises_of_events(event, curve):
    assert promised(event)(ALPHA) == pytest.approx(curve(ALPHA), abs=1e-12)


def test_concentrated_privacy_promises_less_than_the_gaussian_that_has_it():
    found = promised(events.ZeroConcentrated(0.5))(ALPHA)
    assert (found <= Gaussian(1.0)(ALPHA) + 1e-12).all()
    assert found[10] > 0.3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda rng: epsilon_bound(coin, 0, 1, runs=10, rng=rng), "runs: at least 200 are needed, found 10"),
        (lambda rng: epsilon_bound(coin, 0, 1, runs=400, rng=rng, confidence=1.0), "confidence: must lie strictly"),
        (lambda rng: check_curve(coin, 0, 1, pure(1), runs=400, rng=rng, level=0.0), "level: must lie strictly"),
        (
            lambda rng: epsilon_bound(lambda d, r, g: np.zeros((r, d)), 1, 2, runs=400, rng=rng),
            "outputs of another length on the second data set",
        ),
        (
            lambda rng: epsilon_bound(repeated(lambda d, g: [0] * int(g.integers(1, 3))), 0, 1, runs=400, rng=rng),
            "mechanism: must give 400 outputs of one length, all numbers",
        ),
        (lambda rng: judge([], runs=400, rng=rng), "judge: needs at least one case"),
        (lambda rng: promised(events.NonPrivate("no")), "event: NonPrivate promises no trade-off function"),
        (
            lambda rng: promised(events.Parallel((events.Pure(1.0), events.Pure(2.0)), 1)),
            "event: Parallel promises no trade-off function",
        ),
    ],
)
def test_nonsense_is_refused(make, words):
    with pytest.raises(InputError) as error:
        make(np.random.default_rng(9))
    assert words in str(error.value)
