"""Find the least noise that keeps a budget; where the search ends, it ends on the private side."""

import math
from collections.abc import Callable

from synthdp.errors import InputError
from synthdp.privacy.accounting import events
from synthdp.privacy.accounting.accountants import epsilon as epsilon_at
from synthdp.privacy.parameters import epsilon_of, slack_of

LARGEST = 1e12


def least_noise(
    release: Callable[[float], events.Event],
    *,
    epsilon: float,
    delta: float = 0.0,
    start: float = 1.0,
    precision: float = 1e-6,
) -> float:
    """Return the least noise whose event costs at most (ε, δ), to a relative precision, rounded to more noise.

    Parameters
    ----------
    release
        The event of a release with a given noise (a scale or sd); more noise must cost less.
    start
        A first guess.

    Examples
    --------
    >>> round(least_noise(lambda sd: events.Repeated(events.Gaussian(1 / sd), 4), epsilon=1, delta=1e-5), 3)
    7.461
    """
    target, slack = epsilon_of(epsilon), slack_of(delta)

    def private(noise: float) -> bool:
        return epsilon_at(release(noise), slack) <= target

    high = start
    while not private(high):
        high *= 2
        if high > LARGEST * start:
            raise InputError("calibration: no amount of noise keeps this budget; raise epsilon or delta.")
    low = high / 2
    while private(low):
        low, high = low / 2, low
        if low < start / LARGEST:
            raise InputError("calibration: the release keeps this budget without noise; check the event.")
    while high - low > precision * high:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if private(middle) else (middle, high)
    return high
