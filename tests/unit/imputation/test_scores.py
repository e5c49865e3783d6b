"""Normal scores: heaps come back to the digit, means and bounds are kept, and no rare value is a point of the map."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from synthdp.imputation.auto.scores import HEAP, Scores


def heaped(n=600):
    """Return incomes: a third is zero, a third rounded to tens, the rest of any size."""
    rng = np.random.default_rng(2)
    x = np.exp(rng.normal(4, 1, n))
    x[: n // 3] = 0.0
    x[n // 3 : 2 * n // 3] = np.round(x[n // 3 : 2 * n // 3], -1)
    return rng.permutation(x)


SHAPES = {
    "normal": np.random.default_rng(0).normal(size=300),
    "skewed": np.exp(2 * np.random.default_rng(1).normal(size=301)),
    "heaped": heaped(),
    "whole": np.random.default_rng(3).poisson(7, 250).astype(float),
    "constant": np.full(20, 3.25),
    "few": np.array([1.5, 2.5, 4.0, 8.0, 16.0]),
}


def shared(x):
    values, counts = np.unique(x, return_counts=True)
    return values[counts >= HEAP], values[counts < HEAP]


@pytest.mark.parametrize("shape", SHAPES)
def test_heaps_come_back_to_the_digit(shape):
    x = SHAPES[shape]
    scores = Scores.of_values(x)
    heap = np.isin(x, shared(x)[0])
    assert np.array_equal(scores.inverse(scores.forward(x))[heap], x[heap])


@pytest.mark.parametrize("shape", ["normal", "skewed", "heaped"])
def test_no_value_of_fewer_than_five_is_a_knot(shape):
    x = SHAPES[shape]
    scores = Scores.of_values(x)
    rare = shared(x)[1]
    assert len(rare) > 50
    assert not np.isin(scores.values, rare).any()
    assert not np.isin(scores.inverse(scores.forward(x)), rare).any()


@pytest.mark.parametrize("shape", ["normal", "skewed", "few"])
def test_the_mean_of_the_map_is_the_mean_of_the_file(shape):
    x = SHAPES[shape]
    scores = Scores.of_values(x)
    area = (np.diff(scores.chances) * (scores.values[1:] + scores.values[:-1]) / 2).sum()
    assert area == pytest.approx(x.mean(), rel=1e-12)


def test_blocks_keep_their_means_by_hand():
    x = np.array([0.0, 1, 2, 3, 4, 10, 11, 12, 13, 14])
    scores = Scores.of_values(x)
    # means 2 and 12, half of their distance both ways
    assert scores.chances.tolist() == [0.0, 0.5, 0.5, 1.0]
    assert scores.values.tolist() == [-3.0, 7.0, 7.0, 17.0]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_map_is_monotone_both_ways(shape):
    x = SHAPES[shape]
    scores = Scores.of_values(x)
    s = np.linspace(-6, 6, 2001)
    assert (np.diff(scores.inverse(s)) >= 0).all()
    order = np.argsort(x, kind="stable")
    forward = scores.forward(x)[order]
    later = np.diff(x[order]) > 0
    assert (np.maximum.accumulate(forward)[:-1][later] <= forward[1:][later]).all()


def test_values_the_file_does_not_have_lie_between_their_neighbours():
    scores = Scores.of_values(SHAPES["normal"])
    ends = np.array([SHAPES["normal"].min(), SHAPES["normal"].max()])
    inner, outer = scores.forward(ends), scores.forward(ends + np.array([-1, 1]))
    assert outer[0] <= inner[0]
    assert outer[1] >= inner[1]
    assert inner[0] < scores.forward(np.array([0.0123456]))[0] < inner[1]


def test_a_score_does_not_depend_on_who_else_is_asked():
    x = SHAPES["normal"]
    scores = Scores.of_values(x)
    alone = np.concatenate([scores.forward(x[i : i + 1]) for i in range(len(x))])
    assert np.array_equal(alone, scores.forward(x))


def test_scores_are_standard_normal_whatever_the_margin():
    for x in (SHAPES["normal"], SHAPES["skewed"], SHAPES["heaped"]):
        s = np.sort(Scores.of_values(x).forward(x))
        expected = ndtri((np.arange(len(x)) + 0.5) / len(x))
        # within a heap the golden ratio spreads n records with gaps of at most about 3/n
        assert np.abs(ndtr(s) - ndtr(expected)).max() < 3 / len(x)


def test_bounds_hold_and_missing_values_stay_missing():
    rng = np.random.default_rng(5)
    x = np.where(rng.random(200) < 0.2, np.nan, rng.uniform(0, 1, 200))
    scores = Scores.of_values(x, (0.0, 1.0))
    assert np.array_equal(np.isnan(scores.forward(x)), np.isnan(x))
    drawn = scores.inverse(np.array([-np.inf, -9.0, 0.0, 9.0, np.inf]))
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    assert scores.limits() == (-np.inf, np.inf)


def test_of_a_few_beyond_a_heap_nothing_is_told():
    x = np.array([0.0] * 50 + [7.0, 9.0, 123.456])
    scores = Scores.of_values(x)
    assert set(scores.inverse(np.linspace(-8, 8, 99))) == {0.0}
    assert "123" not in repr(scores)
