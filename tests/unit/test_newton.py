"""The one Newton loop: it climbs, halves what overshoots, and says when it did not get there."""

import numpy as np
import pytest

from synthdp.newton import maximise


def root(theta):
    return float(-np.sqrt(1 + theta @ theta)), None


def uphill(theta, _):
    """Newton's step for −√(1 + θ²) in one dimension: from beyond 1 it lands farther away on the other side."""
    slope, curvature = -theta / np.sqrt(1 + theta**2), (1 + theta**2) ** -1.5
    return slope / curvature, float(slope @ (slope / curvature)), curvature


def climb(newton, start=(3.0,), at=root, **settings):
    return maximise(at, newton, np.array(start), **{"steps": 50, "near": 1e-20, "rounding": 0.0} | settings)


def test_a_step_that_overshoots_is_halved():
    assert abs(uphill(np.array([3.0]), None)[0][0]) > 6
    heights = []

    def watched(theta):
        heights.append(root(theta)[0])
        return root(theta)

    found = climb(uphill, at=watched)
    assert found.reached
    assert found.theta[0] == pytest.approx(0, abs=1e-9)
    assert min(np.diff(heights)) < 0


def test_the_last_step_is_taken_only_where_asked():
    start = (1e-3,)
    stays, goes = (climb(uphill, start, near=1.0, last=last) for last in (False, True))
    assert stays.reached
    assert goes.reached
    assert stays.theta[0] == 1e-3
    assert abs(goes.theta[0]) < 1e-8
    assert stays.curved == goes.curved  # of the point where the step was taken


@pytest.mark.parametrize("step", [np.nan, np.inf, -1.0])
def test_what_does_not_rise_is_not_the_top(step):
    # −1.0: always away from the maximum
    found = climb(lambda theta, _: (np.array([step]) * -theta, 1.0, None), at=lambda theta: root(theta))
    assert not found.reached
    assert found.theta[0] == 3.0


def test_too_few_steps_are_told():
    assert not climb(uphill, steps=1).reached


def test_what_was_computed_at_a_point_is_handed_to_its_step():
    seen = []

    def step(theta, known):
        seen.append((theta[0], known))
        return -theta, float(theta @ theta), None

    found = climb(step, at=lambda theta: (float(-theta @ theta), 10 * theta[0]))
    assert seen == [(3.0, 30.0), (0.0, 0.0)]
    assert found.known == 0.0


def test_a_top_that_rounding_hides_is_reached_all_the_same():
    start = (1e-6,)
    hidden = climb(uphill, start, near=1.0, last=True, at=lambda theta: (float(theta[0] == 1e-6), None))
    assert hidden.reached
    assert hidden.theta[0] == 1e-6
