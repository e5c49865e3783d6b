"""What an event costs.

The least ε at a δ, by the best accountant that applies; and the least noise that keeps a budget.

* ``loss``: privacy loss distributions (dp-accounting), near exact, for everything but zCDP-only events
* ``concentrated``: zCDP; ε-DP counts as ε²/2, and δ's of approximate events add
* ``basic``: ε and δ add; the only one for δ = 0

Every one of them is an upper bound, so the least is one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from synthdp.errors import InputError
from synthdp.privacy import events
from synthdp.privacy.accounting.closed_forms import delta_of_mu, epsilon_of_mu, epsilon_of_rho
from synthdp.privacy.accounting.losses import grid_for
from synthdp.privacy.guarantees import epsilon_of, slack_of

Method = Literal["basic", "gaussian", "concentrated", "loss"]
SMALLEST_DELTA = 1e-10
"""Below this the rounding of the transforms inside the loss distributions is no longer small beside δ."""


@dataclass(frozen=True)
class Cost:
    """(ε, δ) and the accountant that found it; infinite when nothing can be claimed."""

    epsilon: float
    delta: float
    method: Method


def cost(event: events.Event, delta: float = 0.0) -> Cost:
    """Return the least ε of the event at δ.

    Examples
    --------
    >>> cost(events.Repeated(events.Laplace(0.1), 3)).epsilon
    0.30000000000000004
    >>> round(cost(events.Repeated(events.Gaussian(0.1), 100), 1e-5).epsilon, 3)
    4.377
    """
    delta = slack_of(delta)
    found = event.bags()
    if found is None:
        return Cost(math.inf, delta, "basic")
    found = [bag for bag in found if bag]
    if not found:
        return Cost(0.0, delta, "basic")
    return max((_cheapest(bag, delta) for bag in found), key=lambda spent: spent.epsilon)


def delta(event: events.Event, epsilon: float) -> float:
    """Return δ(ε) of the event from its loss distribution; exact for Gaussian events alone, 1 when not private."""
    found = event.bags()
    if found is None:
        return 1.0
    return max((_delta(bag, epsilon) for bag in found), default=0.0)


def epsilon(event: events.Event, delta: float) -> float:
    """Return the least ε at δ, by whatever accountant is best."""
    return cost(event, delta).epsilon


def rho(event: events.Event) -> float | None:
    """Return ρ such that the event is ρ-zCDP; None when a δ or a ξ stands in the way, or nothing is private."""
    found = event.bags()
    if found is None:
        return None
    sums = []
    for bag in found:
        parts = [(times, *leaf.concentrated()) for leaf, times in bag.items()]
        if any(xi > 0 or delta > 0 for _, _, xi, delta in parts):
            return None
        sums.append(math.fsum(times * rho for times, rho, _, _ in parts))
    return max(sums, default=0.0)


def _cheapest(bag: events.Bag, delta: float) -> Cost:
    options = [Cost(_basic(bag, delta), delta, "basic")]
    if delta > 0:
        if (mu := _gaussian(bag)) is not None:
            return Cost(epsilon_of_mu(mu, delta), delta, "gaussian")
        options.append(Cost(_concentrated(bag, delta), delta, "concentrated"))
        if delta >= SMALLEST_DELTA:
            options.append(Cost(_loss(bag, delta), delta, "loss"))
    return min(options, key=lambda spent: spent.epsilon)


def _gaussian(bag: events.Bag) -> float | None:
    """Return μ of Gaussian releases; None where another is among them."""
    mus = [(leaf.gaussian(), times) for leaf, times in bag.items()]
    squares = [times * mu**2 for mu, times in mus if mu is not None]
    return math.sqrt(math.fsum(squares)) if len(squares) == len(mus) else None


def _basic(bag: events.Bag, delta: float) -> float:
    total, used = [], 0.0
    for leaf, times in bag.items():
        if (pair := leaf.basic()) is None:
            return math.inf
        total += [pair[0]] * times
        used += times * pair[1]
    return math.fsum(total) if used <= delta else math.inf


def _concentrated(bag: events.Bag, delta: float) -> float:
    sums, xi, used = [], 0.0, 0.0
    for leaf, times in bag.items():
        rho, constant, slack = leaf.concentrated()
        sums.append(times * rho)
        xi += times * constant
        used += times * slack
    left = delta - used
    total = math.fsum(sums)
    if left <= 0:
        return math.inf
    return epsilon_of_rho(total, left, xi=xi, method="tight") if total > 0 else xi


def _composed(bag: events.Bag) -> Any | None:
    # near 0 the loss of ρ-zCDP has sd √2ρ: that of a Gaussian is μ, and that of ε-DP is at most ε
    sizes = [(times, math.sqrt(2 * leaf.concentrated()[0])) for leaf, times in bag.items()]
    grid = grid_for(math.sqrt(math.fsum(times * size**2 for times, size in sizes)))
    joined = None
    for leaf, times in bag.items():
        one = leaf.loss(times, grid)
        if one is None:
            return None
        joined = one if joined is None else joined.compose(one)
    return joined


def _loss(bag: events.Bag, delta: float) -> float:
    joined = _composed(bag)
    return math.inf if joined is None else float(joined.get_epsilon_for_delta(delta))


def _delta(bag: events.Bag, epsilon: float) -> float:
    if not bag:
        return 0.0
    if (mu := _gaussian(bag)) is not None:
        return delta_of_mu(mu, epsilon)
    joined = _composed(bag)
    if joined is None:
        raise InputError("delta: only zCDP is known of an event; ask for epsilon at a delta instead.")
    return float(joined.get_delta_for_epsilon(epsilon))


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
        return _epsilon(release(noise), slack) <= target

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


_epsilon = epsilon
