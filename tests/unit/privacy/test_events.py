"""What a mask proves, against the trade-off and the ratios it is computed from."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.gaussian import Gaussian as GaussianMask
from synthdp.masking.mask import Target
from synthdp.privacy.events import LARGEST_USEFUL_MU, Gaussian, NonPrivate, Pure
from synthdp.table.links import Link
from synthdp.table.schema import Column

positive = st.floats(0.01, 10)


def numeric(**settings):
    settings = {"bounds": (18, 90), "bounds_public": True} | settings
    column = Column(name="age", kind="continuous", role="replace", key=True, **settings)
    return Target(column, Link(50.0, 12.0, bounds=column.bounds), np.full(4, 3))


def levels(count):
    kind = "binary" if count == 2 else "ordinal"
    column = Column(name="sex", kind=kind, role="replace", key=True, levels=tuple(range(count)))
    return Target(column, None, np.full(4, 3))


@given(positive, st.integers(1, 50))
def test_copies_compose_as_independent_draws(size, times):
    gaussian = Gaussian(size).copies(times)
    assert isinstance(gaussian, Gaussian)
    assert gaussian.mu**2 == pytest.approx(times * size**2, rel=1e-12)
    pure = Pure(size).copies(times)
    assert isinstance(pure, Pure)
    assert pure.epsilon == pytest.approx(times * size, rel=1e-12)
    reason = NonPrivate("why")
    assert reason.copies(times) is reason


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (NonPrivate("the sky is blue"), "Nothing formal is claimed: the sky is blue."),
        (Gaussian(LARGEST_USEFUL_MU + 0.5), "No useful bound: the mask is 3.5-GDP, above 3."),
        (Gaussian(LARGEST_USEFUL_MU), "The mask is 3-GDP for one record's value: a bound on the mask channel"),
        (Gaussian(0.25), "The mask is 0.25-GDP for one record's value: a bound on the mask channel"),
        (Pure(1.386294), "The mask is 1.39-DP for one record's value: a bound on the mask channel"),
    ],
)
def test_sentences_claim_no_more_than_the_mask(event, words):
    sentence = event.statement()
    assert sentence.startswith(words)
    assert sentence.endswith(".")
    if words.startswith("The mask"):
        assert sentence.endswith("given the model's parameters, not the epsilon of the release.")


@pytest.mark.parametrize("copies", [1, 4])
def test_gaussian_mask_is_as_private_as_its_best_test_says(copies):
    event = GaussianMask(scale=36.0, copies=copies).event(numeric())
    assert isinstance(event, Gaussian)
    assert event.mu == pytest.approx(math.sqrt(copies) * 72 / 36, rel=1e-12)
    # the most powerful test between the two ends of the bounds, by the density ratio of all copies at once
    mask = GaussianMask(scale=36.0, copies=copies).bind(numeric())
    low, high = numeric().link.limits()
    w = np.linspace(low - 12, high + 12, 200_001)
    p, q = (stats.norm.pdf(w, x, mask.sd[0]) for x in (low, high))
    step = w[1] - w[0]
    for alpha in (0.01, 0.2, 0.6):
        rejected = np.cumsum(p[::-1])[::-1] * step <= alpha
        missed = 1 - (q[rejected] * step).sum()
        assert missed == pytest.approx(stats.norm.cdf(stats.norm.isf(alpha) - event.mu), abs=1e-3)


@pytest.mark.parametrize("count", [2, 4])
def test_shifted_normal(count):
    event = ShiftedNormal(alpha=0.7).event(levels(count))
    assert event == Gaussian(pytest.approx(0.7 * (count - 1), rel=1e-12))


def test_transition_matrix_against_all_pairs():
    matrix = ((0.7, 0.2, 0.1), (0.3, 0.4, 0.3), (0.1, 0.1, 0.8))
    event = Transition(matrix=matrix).event(levels(3))
    ratios = [matrix[u][v] / matrix[t][v] for u in range(3) for t in range(3) for v in range(3)]
    assert event == Pure(pytest.approx(math.log(max(ratios)), rel=1e-12))
    assert Transition(keep=0.8).event(levels(2)) == Pure(pytest.approx(math.log(4), rel=1e-12))
    unused = Transition(matrix=((0.5, 0.5, 0.0), (0.25, 0.75, 0.0), (0.5, 0.5, 0.0)))
    assert unused.event(levels(3)) == Pure(pytest.approx(math.log(2), rel=1e-12))


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (
            GaussianMask(sd=0.5).event(numeric()),
            "the noise is scaled by the column's own sd, which comes from the data",
        ),
        (
            GaussianMask(scale=5, graded=30).event(numeric()),
            "the noise grows with neighbour counts that come from the data",
        ),
        (GaussianMask(scale=5).event(numeric(bounds=None)), "the column has no bounds fixed beforehand"),
        (GaussianMask(scale=5).event(numeric(bounds_public=False)), "the column has no bounds fixed beforehand"),
        (
            Transition(matrix=((1.0, 0.0), (0.5, 0.5))).event(levels(2)),
            "some masked level rules out a true level",
        ),
    ],
)
def test_nothing_is_claimed_when_the_data_set_the_strength(event, reason):
    assert event == NonPrivate(reason)


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (GaussianMask(sd=0.5), "Gaussian noise, sd 0.5 of the column's own sd"),
        (GaussianMask(scale=6, copies=3), "Gaussian noise, sd 6, mean of 3 noisy copies"),
        (GaussianMask(scale=6, graded=30), "Gaussian noise, sd 6, times √(30/neighbours)"),
        (ShiftedNormal(alpha=1.5), "shifted normal, alpha 1.5"),
        (Transition(keep=0.8), "transition matrix, level kept with probability 0.8"),
        (Transition(matrix=((0.5, 0.5), (0.5, 0.5))), "transition matrix given in full"),
    ],
)
def test_masks_in_plain_words(mask, words):
    assert mask.describe() == words


def test_a_gaussian_mask_of_levels_is_a_bug():
    with pytest.raises(TypeError, match="needs a numeric column"):
        GaussianMask(sd=1).bind(levels(2))


def test_people_with_few_neighbours_are_masked_more():
    target = Target(numeric().column, numeric().link, np.array([0, 1, 4, 30]))
    bound = GaussianMask(scale=12.0, graded=4).bind(target)
    # the column's sd is 12, so a scale of 12 is 1 on the working scale
    np.testing.assert_allclose(bound.sd, [2.0, 2.0, 1.0, np.sqrt(4 / 30)], rtol=1e-12)
