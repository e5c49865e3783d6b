"""Simulation-based calibration of what dp_da_mi draws its moments from: ranks of the truth among draws are even.

Moments from the prior (even on the set of moments that records can have), records from the moments, W from the records,
draws given W; the sampler is shown W only.
"""

import numpy as np
import pytest
from scipy import stats

from synthdp.synthesis.private.masked import posterior
from synthdp.synthesis.private.masked.channel import Channel, Masked
from synthdp.synthesis.private.masked.moments import Estimated, Shape, estimated
from synthdp.synthesis.private.masked.posterior import Posterior, centre, within_cells

DRAWS = 19


class Fixed(Channel):
    """A channel of one column with levels and some numbers, of given strength."""

    def matrices(self):
        return [np.array([[0.75, 0.25], [0.25, 0.75]])]

    @property
    def sd(self):
        return 0.4


def ranks(shape, sims, n, seed):
    """Return the rank of each true moment among the draws, a row for each simulation."""
    rng = np.random.default_rng(seed)
    channel = Fixed(1.0, (), ())
    even = Posterior(Estimated(shape, centre(shape), np.eye(shape.size) * 1e6))
    truths = even.draws(sims, rng=rng)
    found = []
    for truth in truths:
        shares, sums, squares = shape.split(truth)
        cells = (rng.random(n) > shares[0]).astype(int)
        numbers = (sums / shares[:, None])[cells]
        if shape.numbers:
            root = np.linalg.cholesky(within_cells(shares, sums, squares))
            numbers = numbers + rng.standard_normal(numbers.shape) @ root.T
        answers = np.where(rng.random(n) < 0.75, cells, 1 - cells)[:, None]
        w = Masked(answers, numbers + channel.sd * rng.standard_normal(numbers.shape))
        drawn = Posterior(estimated(w, channel)).draws(DRAWS, rng=rng)
        found.append((drawn < truth).sum(axis=0))
    return np.asarray(found)


def even(found):
    """Return the smallest p-value of a χ² test of even ranks, over moments."""
    bins = np.stack([np.bincount(column * 5 // (DRAWS + 1), minlength=5) for column in found.T])
    return min(stats.chisquare(row).pvalue for row in bins)


def test_ranks_of_a_share_are_even():
    assert even(ranks(Shape(2, 0), 300, 200, 1)) > 1e-3


@pytest.mark.slow
def test_ranks_of_all_moments_are_even():
    found = ranks(Shape(2, 1), 150, 800, 2)
    assert found.shape[1] == 4
    assert even(found) > 1e-3 / 4


@pytest.mark.slow
def test_a_posterior_that_forgets_the_noise_is_caught(monkeypatch):
    """The test has teeth: half of the error left out."""
    whole = Posterior.draws

    def certain(self, count, *, rng):
        given = self.estimated
        if given.covariance[0, 0] > 1e5:
            return whole(self, count, rng=rng)
        return whole(Posterior(Estimated(given.shape, given.value, given.covariance / 4)), count, rng=rng)

    monkeypatch.setattr(posterior.Posterior, "draws", certain)
    assert even(ranks(Shape(2, 0), 300, 200, 1)) < 1e-6
