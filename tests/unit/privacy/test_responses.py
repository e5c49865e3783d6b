"""Randomised response and noise in the shape of a body: exact matrices, laws of the noise, wrong input."""

import math

import numpy as np
import pytest
from scipy import stats

from synthdp.errors import InputError
from synthdp.privacy import events
from synthdp.privacy.mechanisms import Kary, KNorm, Secure, Sensitivity, Simulated, Transition, binary, gamma
from synthdp.privacy.mechanisms.responses import UNITS
from synthdp.privacy.mechanisms.shaped import gauge, uniform


def simulated(seed=1):
    return Simulated(np.random.default_rng(seed))


@pytest.mark.parametrize("epsilon", [1e-12, 1e-6, 0.1, math.log(3), 5.0, 40.0, 800.0])
@pytest.mark.parametrize("levels", [2, 3, 17])
def test_kary_keeps_epsilon(epsilon, levels):
    made = Kary.calibrated(levels, epsilon=epsilon)
    assert made.epsilon <= epsilon
    assert all(sum(row) == UNITS for row in made.shares)
    lie = 1 / (math.exp(min(epsilon, 700)) + levels - 1)
    assert made.matrix[0, 1] == pytest.approx(lie, rel=1e-9, abs=2 / UNITS)
    assert made.event() == events.RandomisedResponse(made.epsilon, levels)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (0.3, 0.2), (math.log(3), 0.1)])
@pytest.mark.parametrize("levels", [2, 4])
def test_approximate_response_is_tight(epsilon, delta, levels):
    made = Kary.calibrated(levels, epsilon=epsilon, delta=delta)
    assert made.delta(epsilon) == pytest.approx(delta, abs=1e-12)
    assert made.event() == events.Approximate(epsilon, delta)
    # two levels: a lie with (1 − δ)/(1 + e^ε) (Biswal 2024, section 4.5.1; Hall 2012, the example after Prop. 1.2.3)
    if levels == 2:
        assert made.matrix[0, 1] == pytest.approx((1 - delta) / (1 + math.exp(epsilon)))


def test_hall_binary_example_saturates():
    made = binary(epsilon=1.0, delta=0.05)
    assert made.matrix[0, 0] == pytest.approx(0.744506, abs=1e-6)
    assert made.delta(1.0) == pytest.approx(0.05)


def test_two_answers_cost_more_than_one():
    # Biswal (2024), Example 4.5.3: p = 1/4, ε = ln 3, δ = 0.1
    p = np.array([0.75, 0.25])
    q = p[::-1]
    assert np.maximum(p - 3 * q, 0).sum() <= 0.1
    assert np.maximum(np.outer(p, p) - 3 * np.outer(q, q), 0).sum() > 0.1


def test_pram_example():
    # Biswal (2024), Example 3.2.1: diagonal 0.8
    made = Transition.of(np.array([[0.8, 0.2], [0.2, 0.8]]))
    assert made.epsilon == pytest.approx(math.log(4))
    assert made.delta(made.epsilon) == pytest.approx(0, abs=1e-12)
    assert made.estimate(np.array([560.0, 440.0])) == pytest.approx([600, 400])


MATRIX = np.array([[0.7, 0.2, 0.1], [0.25, 0.5, 0.25], [0.05, 0.3, 0.65]])


@pytest.mark.parametrize(("source", "bound"), [(simulated, 1e-3), (Secure, 1e-7)])
def test_answers_follow_the_matrix(source, bound):
    made = Transition.of(MATRIX)
    codes = np.repeat([0, 1, 2], 4000).reshape(3, 4000)
    answers = made.release(codes, source=source())
    assert answers.shape == codes.shape
    for level in range(3):
        assert stats.chisquare(np.bincount(answers[level], minlength=3), 4000 * MATRIX[level]).pvalue > bound


def test_rectangular_matrix_and_impossible_answers():
    made = Transition.of(np.array([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25]]))
    assert math.isinf(made.epsilon)
    assert made.event() == events.NonPrivate("an answer is impossible for some levels and possible for others")
    assert set(np.unique(made.release(np.zeros(500, dtype=int), source=simulated()))) == {0, 1}
    with pytest.raises(InputError, match="as many answers as levels"):
        made.estimate(np.ones(3))
    assert Transition.of(np.array([[1.0, 0.0], [1.0, 0.0]])).epsilon == 0


def test_a_matrix_from_the_data_proves_nothing():
    made = Transition.of(MATRIX, origin="data")
    assert isinstance(made.event(), events.NonPrivate)
    assert "3 levels (discrete sensitivity 1 under replace)" in made.describe()


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], "sum to 1"),
        ([[1.5, -0.5], [0.5, 0.5]], "none below 0"),
        ([[np.nan, 1], [0.5, 0.5]], "finite probabilities"),
        ([0.5, 0.5], "needs a matrix"),
        ([[1.0], [1.0]], "at least two levels"),
    ],
)
def test_bad_matrices(matrix, words):
    with pytest.raises(InputError, match=words):
        Transition.of(np.array(matrix))


def test_bad_responses():
    with pytest.raises(InputError, match="at least two levels, found 1"):
        Kary.calibrated(1, epsilon=1)
    with pytest.raises(InputError, match="epsilon: must be a finite number above 0"):
        binary(epsilon=0)
    with pytest.raises(InputError, match=r"epsilon: 1e-18 is too small for 17 levels; the answers would be noise"):
        Kary.calibrated(17, epsilon=1e-18)
    with pytest.raises(InputError, match="delta: must be 0 or more and below 1"):
        binary(epsilon=1, delta=1.0)
    with pytest.raises(InputError, match=r"2 codes are outside 0\.\.1"):
        binary(epsilon=1).release(np.array([0, 2, -1]), source=simulated())
    with pytest.raises(InputError, match="needs codes of levels, found float64"):
        binary(epsilon=1).release(np.array([0.0]), source=simulated())
    with pytest.raises(InputError, match="every row must hold probabilities that sum to 1"):
        Transition(((UNITS, 0), (UNITS, 1)))


# --- noise in the shape of a body ---


@pytest.mark.parametrize("ball", ["l1", "l2", "linf"])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_gauge_of_the_noise_is_gamma(ball, d):
    epsilon, step, n = 0.5, 2.0, 4000
    made = KNorm.calibrated(Sensitivity(step, ball, "replace"), epsilon=epsilon, ball=ball)
    noise = made.release(np.full((n, d), 3.0), source=simulated(d)) - 3
    lengths = gauge(noise, ball)
    assert stats.kstest(lengths, stats.gamma(d, scale=step / epsilon).cdf).pvalue > 1e-3
    assert made.mean_gauge(d) == d * step / epsilon
    mean = lengths.mean()
    assert mean == pytest.approx(made.mean_gauge(d), abs=4 * lengths.std() / math.sqrt(n))
    inside = gauge(uniform(ball, d, n, rng=np.random.default_rng(5)), ball)
    assert stats.kstest(inside, stats.beta(d, 1).cdf).pvalue > 1e-3


def test_l1_ball_is_laplace_noise():
    made = KNorm(Sensitivity(1.0, "l1", "replace"), 0.8, "l1")
    noise = made.release(np.zeros((4000, 3)), source=simulated())
    for column in noise.T:
        assert stats.kstest(column, stats.laplace(scale=1 / 0.8).cdf).pvalue > 1e-3


def test_gamma_mechanism():
    made = gamma(Sensitivity(0.3, "l2", "add_remove"), epsilon=2.0)
    d, n = 5, 6000
    noise = made.release(np.zeros((n, d)), source=simulated(4))
    squared = (noise**2).sum(axis=1)
    assert squared.mean() == pytest.approx(d * (d + 1) * 0.15**2, abs=4 * squared.std() / math.sqrt(n))
    assert made.event() == events.Pure(2.0)
    assert "under add_remove" in made.describe()
    assert made.release(np.zeros(d), source=simulated()).shape == (d,)


def test_shaped_noise():
    shape = ((4.0, 1.0), (1.0, 2.0))
    made = KNorm(Sensitivity(1.0, "gauge", "replace"), 1.0, "l2", shape)
    noise = made.release(np.zeros((5000, 2)), source=simulated())
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", noise, np.linalg.inv(np.array(shape)), noise))
    assert stats.kstest(lengths, stats.gamma(2).cdf).pvalue > 1e-3


def test_bad_bodies():
    one = Sensitivity(1.0, "l2", "replace")
    with pytest.raises(InputError, match="no sampler that is safe in floating point; use laplace or gaussian"):
        gamma(one, epsilon=1.0).release(np.zeros(2), source=Secure())
    with pytest.raises(InputError, match="k-norm: needs l2 sensitivity, found l1"):
        KNorm(Sensitivity(1.0, "l1", "replace"), 1.0)
    with pytest.raises(InputError, match="goes with the l2 ball only"):
        KNorm(one, 1.0, "l1", ((1.0,),))
    with pytest.raises(InputError, match="epsilon: must be"):
        gamma(one, epsilon=math.nan)
    with pytest.raises(InputError, match="values must be finite"):
        gamma(one, epsilon=1.0).release(np.array([np.inf]), source=simulated())
    shaped = Sensitivity(1.0, "gauge", "replace")
    with pytest.raises(InputError, match="symmetric matrix of 3 rows"):
        KNorm(shaped, 1.0, "l2", ((1.0, 0.0), (0.0, 1.0))).release(np.zeros(3), source=simulated())
    with pytest.raises(InputError, match="positive definite"):
        KNorm(shaped, 1.0, "l2", ((1.0, 2.0), (2.0, 1.0))).release(np.zeros(2), source=simulated())
    assert isinstance(KNorm(Sensitivity(1.0, "l2", "replace", "data"), 1.0).event(), events.NonPrivate)
    assert gamma(one, epsilon=1.0).caution(100.0) is None
    assert "Raise epsilon" in gamma(one, epsilon=1.0).caution(1.0, dimension=3)
