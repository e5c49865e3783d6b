"""What was done to the data, as frozen facts that every accountant can read; what it proves is worked out from them.

Only the mask channel is described here: given the model's parameters, how much one record's W can tell. A statement
about it is never the ε of the release.

References
----------
Dong, Roth, Su (2022), "Gaussian differential privacy", JRSS B 84(1): Definition 2.6 (μ-GDP), Theorem 2.7
(Gaussian mechanism, μ = Δ/σ), Corollary 3.3 (composition, μ = √Σμ²).

The events of the mask channel (``Gaussian`` with μ = Δ/σ, ``Pure``, ``NonPrivate``) are the same ones; here are the
others that mechanisms report, and how events are put together. Events hold ratios of sensitivity to noise, so the
adjacency is in them already.
"""

import math
from dataclasses import dataclass

__all__ = [
    "LARGEST_USEFUL_MU",
    "Approximate",
    "Composed",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Event",
    "Gaussian",
    "Laplace",
    "MaskEvent",
    "NonPrivate",
    "Parallel",
    "Pure",
    "RandomisedResponse",
    "Repeated",
    "TotalVariation",
    "ZeroConcentrated",
    "compose_columns",
    "compose_copies",
    "statement",
]

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


MaskEvent = Gaussian | Pure | NonPrivate


def compose_copies(event: MaskEvent, times: int) -> MaskEvent:
    """Return the event of drawing the mask ``times`` times."""
    if isinstance(event, Gaussian):
        return Gaussian(event.mu * math.sqrt(times))
    if isinstance(event, Pure):
        return Pure(event.epsilon * times)
    return event


def compose_columns(events: tuple[MaskEvent, ...]) -> MaskEvent:
    """Return the event of all columns' masks together, where it can be given as one number."""
    for event in events:
        if isinstance(event, NonPrivate):
            return event
    if all(isinstance(event, Gaussian) for event in events):
        return Gaussian(math.sqrt(math.fsum(event.mu**2 for event in events if isinstance(event, Gaussian))))
    if all(isinstance(event, Pure) for event in events):
        return Pure(math.fsum(event.epsilon for event in events if isinstance(event, Pure)))
    return NonPrivate("Gaussian and randomised-level masks together have no one-number bound here")


def statement(event: MaskEvent) -> str:
    """Return the event as a sentence for a privacy officer."""
    if isinstance(event, NonPrivate):
        return f"Nothing formal is claimed: {event.reason}."
    scope = "a bound on the mask channel given the model's parameters, not the epsilon of the release"
    if isinstance(event, Pure):
        return f"The mask is {event.epsilon:.3g}-DP for one record's value: {scope}."
    if event.mu > LARGEST_USEFUL_MU:
        return f"No useful bound: the mask is {event.mu:.3g}-GDP, above {LARGEST_USEFUL_MU:g}."
    return f"The mask is {event.mu:.3g}-GDP for one record's value: {scope}."


@dataclass(frozen=True)
class Laplace:
    """Laplace noise of scale Δ₁/ε: exactly ε-DP, and better than that in composition."""

    epsilon: float


@dataclass(frozen=True)
class DiscreteLaplace:
    """Integer noise with P(z) ∝ e^{−|z|/scale} on a query of integer ℓ1 sensitivity."""

    scale: float
    sensitivity: int

    @property
    def epsilon(self) -> float:
        """The pure guarantee, Δ/scale."""
        return self.sensitivity / self.scale


@dataclass(frozen=True)
class DiscreteGaussian:
    """Integer noise with P(z) ∝ e^{−z²/2sd²} on one number of integer sensitivity; for vectors use its ρ."""

    sd: float
    sensitivity: int

    @property
    def rho(self) -> float:
        """The zCDP guarantee, Δ²/(2sd²)."""
        return self.sensitivity**2 / (2 * self.sd**2)


@dataclass(frozen=True)
class Approximate:
    """Nothing is known but (ε, δ)-DP."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class TotalVariation:
    """(ε, δ)-DP and total variation at most η: the DP-TV region, η ∈ [δ, δ + (1−δ)·tanh(ε/2)]."""

    epsilon: float
    delta: float
    eta: float


@dataclass(frozen=True)
class RandomisedResponse:
    """k-ary response that keeps the truth with odds e^ε against each other level; replace adjacency only."""

    epsilon: float
    levels: int


@dataclass(frozen=True)
class ZeroConcentrated:
    """(ξ, ρ)-zCDP: Rényi divergence of every order α at most ξ + ρα."""

    rho: float
    xi: float = 0.0


@dataclass(frozen=True)
class Composed:
    """Several releases on the same records; later ones may have been chosen after seeing earlier ones."""

    events: "tuple[Event, ...]"


@dataclass(frozen=True)
class Repeated:
    """The same release ``times`` times."""

    event: "Event"
    times: int


@dataclass(frozen=True)
class Parallel:
    """One release on each part of a partition that was fixed without looking at the data.

    ``touched`` is how many parts one step of the adjacency changes: 1 when a record is added or removed, or replaced
    inside its part; 2 when a replaced record may leave one part and enter another.
    """

    events: "tuple[Event, ...]"
    touched: int


Event = (
    Laplace
    | DiscreteLaplace
    | Gaussian
    | DiscreteGaussian
    | Pure
    | Approximate
    | TotalVariation
    | RandomisedResponse
    | ZeroConcentrated
    | Composed
    | Repeated
    | Parallel
    | NonPrivate
)
