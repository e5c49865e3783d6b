"""Five distances of two laws, against closed forms and sums by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from synthdp.errors import InputError
from synthdp.privacy import divergences
from synthdp.privacy.tradeoff import Gaussian, Laplace


def test_normal_laws():
    found = divergences(stats.norm(0, 1), stats.norm(1, 1), order=3.0, epsilon=0.5)
    assert found.total_variation == pytest.approx(0.38292, abs=5e-6)
    assert found.kl == pytest.approx(0.5)
    assert found.renyi == pytest.approx(1.5)
    assert found.maximum == math.inf
    assert found.hockey_stick == pytest.approx(float(Gaussian(1.0).delta(0.5)))
    wide = divergences(stats.norm(0, 2), stats.norm(0, 1))
    assert wide.kl == pytest.approx((4 - 1 - math.log(4)) / 2)
    assert wide.renyi == math.inf
    assert divergences(stats.norm(0, 1), stats.norm(0, 2)).maximum == pytest.approx(math.log(2))


def test_laplace_laws():
    found = divergences(stats.laplace(0, 2), stats.laplace(1, 2), epsilon=0.2)
    assert found.maximum == pytest.approx(0.5)
    assert found.total_variation == pytest.approx(1 - math.exp(-1 / 4))
    assert found.kl == pytest.approx(0.5 + math.exp(-0.5) - 1)
    assert found.hockey_stick == pytest.approx(float(Laplace(0.5).delta(0.2)))


def test_uniform_laws_have_ends():
    inside, outside = stats.uniform(0, 1), stats.uniform(0, 2)
    assert divergences(inside, outside).maximum == pytest.approx(math.log(2))
    assert divergences(outside, inside).kl == math.inf
    assert divergences(outside, inside).total_variation == pytest.approx(0.5)


def test_probabilities_by_hand():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    found = divergences(p, q, order=0.5, epsilon=0.1)
    assert found.total_variation == pytest.approx(np.abs(p - q).sum() / 2)
    assert found.kl == pytest.approx(p @ np.log(p / q))
    assert found.renyi == pytest.approx(-2 * math.log(np.sqrt(p * q).sum()))
    assert found.maximum == pytest.approx(math.log(2.5))
    assert found.hockey_stick == pytest.approx(np.maximum(p - math.exp(0.1) * q, 0).sum())
    apart = divergences([1, 0], [0, 1])
    assert (apart.total_variation, apart.kl, apart.renyi, apart.maximum) == (1, math.inf, math.inf, math.inf)


@pytest.mark.parametrize(
    ("arguments", "more", "sentence"),
    [
        (([1.0], [1.0]), {"order": 1}, "order: Rényi's divergence of order 1 is KL; give another order."),
        (([1.0], stats.norm()), {}, "p and q: must both be probabilities, or both continuous laws of scipy.stats."),
        (([0.5, 0.5], [1.0]), {}, "p and q: must be of one length, found 2 and 1."),
        (([1.0], [1.0]), {"epsilon": -1}, "epsilon: must be a finite number of at least 0, found -1."),
    ],
)
def test_refusals(arguments, more, sentence):
    with pytest.raises(InputError) as error:
        divergences(*arguments, **more)
    assert str(error.value) == sentence


def test_laws_far_apart_have_a_finite_renyi_divergence():
    """a·d²/2 for two normal laws d apart, whose integral is beyond a float."""
    assert divergences(stats.norm(0, 1), stats.norm(30, 1), order=2).renyi == pytest.approx(900, rel=1e-3)
    assert divergences([0.5, 0.5], [1 - 1e-12, 1e-12], order=80).renyi == pytest.approx(
        (80 * math.log(0.5) + 79 * math.log(1e12)) / 79, rel=1e-9
    )


@pytest.mark.parametrize("laws", [(stats.poisson(3), stats.poisson(4)), ([0.5, 0.5], stats.norm())])
def test_laws_of_another_kind_are_refused(laws):
    with pytest.raises(InputError, match="p and q: must both be probabilities, or both continuous laws"):
        divergences(*laws)


def test_text_is_no_probability():
    with pytest.raises(InputError, match="p: must be numbers"):
        divergences("a", "b")
