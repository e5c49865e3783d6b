"""What was done to the data, as frozen facts; what it proves is worked out from them.

Only the mask channel is described here: given the model's parameters, how much one record's W can tell. A statement
about it is never the ε of the release.

References
----------
Dong, Roth, Su (2022), "Gaussian differential privacy", JRSS B 84(1): Definition 2.6 (μ-GDP), Theorem 2.7
(Gaussian mechanism, μ = Δ/σ), Corollary 3.3 (composition, μ = √Σμ²).
"""

import math
from dataclasses import dataclass

LARGEST_USEFUL_MU = 3.0


@dataclass(frozen=True)
class Gaussian:
    """Noise of fixed sd on fixed bounds: the mask is μ-GDP."""

    mu: float


@dataclass(frozen=True)
class Pure:
    """Randomised levels with fixed probabilities: the mask is ε-DP."""

    epsilon: float


@dataclass(frozen=True)
class NonPrivate:
    """No formal statement can be made, and why."""

    reason: str


Event = Gaussian | Pure | NonPrivate


def compose_copies(event: Event, times: int) -> Event:
    """Return the event of drawing the mask ``times`` times."""
    if isinstance(event, Gaussian):
        return Gaussian(event.mu * math.sqrt(times))
    if isinstance(event, Pure):
        return Pure(event.epsilon * times)
    return event


def compose_columns(events: tuple[Event, ...]) -> Event:
    """Return the event of all columns' masks together, where it can be given as one number."""
    for event in events:
        if isinstance(event, NonPrivate):
            return event
    if all(isinstance(event, Gaussian) for event in events):
        return Gaussian(math.sqrt(math.fsum(event.mu**2 for event in events if isinstance(event, Gaussian))))
    if all(isinstance(event, Pure) for event in events):
        return Pure(math.fsum(event.epsilon for event in events if isinstance(event, Pure)))
    return NonPrivate("Gaussian and randomised-level masks together have no one-number bound here")


def statement(event: Event) -> str:
    """Return the event as a sentence for a privacy officer."""
    if isinstance(event, NonPrivate):
        return f"Nothing formal is claimed: {event.reason}."
    scope = "a bound on the mask channel given the model's parameters, not the epsilon of the release"
    if isinstance(event, Pure):
        return f"The mask is {event.epsilon:.3g}-DP for one record's value: {scope}."
    if event.mu > LARGEST_USEFUL_MU:
        return f"No useful bound: the mask is {event.mu:.3g}-GDP, above {LARGEST_USEFUL_MU:g}."
    return f"The mask is {event.mu:.3g}-GDP for one record's value: {scope}."
