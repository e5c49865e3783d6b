"""What a mechanism did, as frozen facts that every accountant can read.

The events of the mask channel (``Gaussian`` with μ = Δ/σ, ``Pure``, ``NonPrivate``) are the same ones; here are the
others that mechanisms report, and how events are put together. Events hold ratios of sensitivity to noise, so the
adjacency is in them already.
"""

from dataclasses import dataclass

from synthdp.privacy.events import Gaussian, NonPrivate, Pure

__all__ = [
    "Approximate",
    "Composed",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Event",
    "Gaussian",
    "Laplace",
    "NonPrivate",
    "Parallel",
    "Pure",
    "RandomisedResponse",
    "Repeated",
    "TotalVariation",
    "ZeroConcentrated",
]


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
