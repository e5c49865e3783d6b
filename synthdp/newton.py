"""Newton's method, uphill: a step that does not rise is halved until it does."""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from synthdp.arrays import Floats

Known = TypeVar("Known")
Curved = TypeVar("Curved")

# the shortest step before giving up, as a share of a full one and of θ
SHORTEST = 1e-10


class Ascent(NamedTuple, Generic[Known, Curved]):
    """Where the climb ended: θ, what is known there, the curvature of the last step, and whether that is the top."""

    theta: Floats
    known: Known
    curved: Curved
    reached: bool


def maximise(
    at: Callable[[Floats], tuple[float, Known]],
    newton: Callable[[Floats, Known], tuple[Floats, float, Curved]],
    start: Floats,
    *,
    steps: int,
    near: float,
    rounding: float,
    last: bool = False,
) -> Ascent[Known, Curved]:
    """Climb to the maximum of a function of θ.

    Parameters
    ----------
    at
        The function at θ, and beside it whatever else was computed on the way and the step can use.
    newton
        The step from θ, the slope along it (twice what a quadratic would still gain), and the curvature behind it.
    near
        The top is reached where the slope along the step is smaller.
    rounding
        As a share of the function: what it may fall short of a rise, since sums over many records are not exact.
    last
        Whether the step that turns out to be near is taken too.
    """
    theta, (height, known) = start, at(start)
    for _ in range(steps):
        step, slope, curved = newton(theta, known)
        reached = slope < near
        if reached and not last:
            return Ascent(theta, known, curved, True)
        floor, size = height - rounding * abs(height), 1.0
        while not (trial := at(moved := theta + step))[0] >= floor:
            step, size = step / 2, size / 2
            long = size > SHORTEST or (np.abs(step) > SHORTEST * (1 + np.abs(theta))).any()
            if not (long and np.isfinite(step).all()):
                return Ascent(theta, known, curved, reached)
        theta, (height, known) = moved, trial
        if reached:
            break
    return Ascent(theta, known, curved, reached)
