"""The best answer to a count: against other programmes, what it refuses, and that it keeps ε to the last digit."""

import math

import numpy as np
import pytest

from synthdp.errors import InputError, Unfinished
from synthdp.privacy.events import Pure
from synthdp.privacy.mechanisms import CountResponse, DiscreteLaplace, Simulated, optimal, optimal_count, sensitivity


def test_whole_numbers_keep_epsilon_exactly():
    for n, epsilon in ((1, 1e-3), (7, 0.1), (25, 3.0), (30, 8.0)):
        made = optimal_count(n, epsilon)
        assert made.epsilon <= epsilon
        assert made.epsilon == pytest.approx(epsilon, rel=1e-6)
        assert made.event() == Pure(made.epsilon)
        assert made.delta(epsilon) == pytest.approx(0, abs=1e-12)
        one, other = (np.array(rows, dtype=object) for rows in (made.shares[1:], made.shares[:-1]))
        assert max((one / other).max(), (other / one).max()) <= math.exp(epsilon) * (1 + 1e-12)
        # all counts together are told apart more easily than neighbours
        assert n == 1 or CountResponse.of(made.matrix).epsilon < super(CountResponse, made).epsilon


def test_no_rule_beats_it_and_geometric_noise_does_not():
    epsilon, n = 0.7, 12
    best = optimal_count(n, epsilon).risk()
    scale = DiscreteLaplace.calibrated(sensitivity.counting("replace"), epsilon=epsilon).scale
    z = np.arange(-400, 401)
    p = np.exp(-np.abs(z) / scale)
    clamped = [np.abs(np.clip(k + z, 0, n) - k) @ p / p.sum() for k in range(n + 1)]
    assert best.max() < max(clamped)
    prior = np.arange(1.0, n + 2) / np.arange(1.0, n + 2).sum()
    bayes = optimal_count(n, epsilon, "bayes", prior=prior)
    assert bayes.risk() @ prior <= min(best @ prior, np.array(clamped) @ prior) + 1e-9
    assert bayes.risk() @ prior < best @ prior
    # the best for squares is the best for squares only
    squares = optimal_count(n, epsilon, loss="squared")
    assert squares.risk("squared").max() < optimal_count(n, epsilon).risk("squared").max()
    matrix = np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
    assert optimal_count(n, epsilon, loss=matrix).risk().max() == pytest.approx(best.max(), abs=1e-7)


def test_duality_bounds_it_from_below():
    """A mean risk under any prior is at most the largest risk of the best answer: minimax is the worst Bayes risk."""
    n, epsilon = 3, 1.0
    value = optimal_count(n, epsilon).risk().max()
    rng = np.random.default_rng(1)
    priors = [*rng.dirichlet(np.ones(n + 1), 40), np.array([0.5, 0, 0, 0.5])]
    found = [optimal_count(n, epsilon, "bayes", prior=prior).risk() @ prior for prior in priors]
    assert max(found) <= value + 1e-9
    assert max(found) > 0.97 * value


def test_answers_follow_the_matrix():
    made = optimal_count(3, 1.0)
    answers = made.release(np.full(20_000, 2), source=Simulated(np.random.default_rng(2)))
    seen = np.bincount(answers, minlength=4) / 20_000
    p = made.matrix[2]
    assert (np.abs(seen - p) < 4 * np.sqrt(p * (1 - p) / 20_000)).all()
    assert made.describe().startswith("Answers to a count of 0 to 3 (")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, 1.0), "n: must be a whole number of at least 1, found 0."),
        ((500, 1.0), "n: at most 200, found 500; DiscreteLaplace errs by 1/sinh(ε), as good from there."),
        ((3, 0.0), "epsilon: must be a finite number above 0, found 0."),
        ((3, 1.0, "best"), "rule: must be one of minimax, bayes, equalizer, found 'best'."),
        ((3, 1.0, "minimax", "cubed"), "loss: must be absolute, squared or a matrix, found 'cubed'."),
        ((1, 1.0, "minimax", [[0, -1], [1, 0]]), "loss: must be 2 × 2 finite numbers, none below 0"),
        ((1, 1.0, "minimax", "absolute", [0.5, 0.5]), "prior: belongs to the rule bayes, found with minimax."),
        ((1, 1.0, "bayes", "absolute", [0.5, 0.6]), "prior: must be 2 probabilities that sum to 1."),
    ],
)
def test_refusals(arguments, sentence):
    with pytest.raises(InputError, match=r".") as error:
        optimal_count(*arguments)
    assert sentence in str(error.value)


def test_what_has_no_answer_says_so(monkeypatch):
    with pytest.raises(Unfinished, match="the linear programme has no solution under the rule equalizer; use minimax"):
        # an answer that costs nothing at 0 and always something at 1
        optimal_count(1, 1.0, "equalizer", [[0.0, 0.0], [1.0, 2.0]])
    monkeypatch.setattr(optimal, "MOST_MIXED", optimal.LEAST_MIXED)
    with pytest.raises(Unfinished, match="too far from private; ask for fewer records or another ε"):
        optimal_count(40, 1e-9)


@pytest.mark.parametrize(
    ("asked", "words"),
    [({"loss": [["a"]]}, "loss: must be numbers"), ({"rule": "bayes", "prior": ["a"] * 6}, "prior: must be numbers")],
)
def test_text_is_no_loss(asked, words):
    with pytest.raises(InputError, match=words):
        optimal_count(5, 1.0, **asked)
