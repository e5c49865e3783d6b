"""Every mask keeps the contract of masks, and what is particular to ours."""

import numpy as np
import pytest

from synthdp.config.settings import MASKS
from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.mask import Target
from synthdp.table.links import Link
from synthdp.testing import BINARY, MASK, NUMBER
from synthdp.testing.masks import target

CASES = [
    (Gaussian(sd=0.5), NUMBER),
    (Gaussian(scale=6.0, copies=4), NUMBER),
    (Gaussian(sd=0.4, graded=30), NUMBER),
    (ShiftedNormal(alpha=0), BINARY),
    (ShiftedNormal(alpha=1.5), BINARY),
    (Transition(keep=0.8), BINARY),
    (Transition(matrix=((0.9, 0.1), (0.4, 0.6))), BINARY),
]


def test_every_mask_is_covered():
    assert {type(mask) for mask, _ in CASES} == set(MASKS.values())


@pytest.mark.parametrize(("settings", "column"), CASES)
@pytest.mark.parametrize("check", MASK)
def test_mask(check, settings, column):
    check(settings, column)


def test_noise_grows_where_neighbours_are_few():
    mask = Gaussian(sd=0.4, graded=30).bind(Target(NUMBER, Link(0, 1), np.array([30, 1, 0])))
    np.testing.assert_allclose(mask.sd, [0.4, 0.4 * np.sqrt(30), 0.4 * np.sqrt(30)])


def test_noise_stops_growing_at_the_fewest_neighbours_that_count():
    mask = Gaussian(sd=0.4, graded=30, fewest=8).bind(Target(NUMBER, Link(0, 1), np.array([30, 8, 7, 1])))
    np.testing.assert_allclose(mask.sd, 0.4 * np.sqrt([1, 30 / 8, 30 / 8, 30 / 8]))


def test_copies_divide_the_variance():
    one, many = (Gaussian(sd=1, copies=k).bind(target(NUMBER, 1)) for k in (1, 20))
    assert many.sd[0] == pytest.approx(one.sd[0] / np.sqrt(20))
