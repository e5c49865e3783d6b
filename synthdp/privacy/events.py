"""What was done to the data, as frozen facts that say of themselves what every accountant asks.

A single release says what adds in basic composition, its zCDP, its μ and its privacy loss distribution, None where it
has none; releases put together say which of them can meet in one record. Events hold ratios of sensitivity to noise, so
the adjacency is in them already. The trade-off curve of an event is `synthdp.privacy.tradeoff.duality.promised`.

Masks report ``Gaussian``, ``Pure`` or ``NonPrivate``: what one record's W can tell, given the model's parameters. A
statement about that channel is never the ε of the release.

References
----------
Dong, Roth, Su (2022), "Gaussian differential privacy", JRSS B 84(1): Definition 2.6 (μ-GDP), Theorem 2.7
(Gaussian mechanism, μ = Δ/σ), Corollary 3.3 (composition, μ = √Σμ²).
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

from synthdp.errors import InputError
from synthdp.privacy.accounting import losses

LARGEST_USEFUL_MU = 3.0
MOST_BAGS = 256
ABOUT_THE_MASK = "a bound on the mask channel given the model's parameters, not the epsilon of the release"

Bag = Counter["Single"]
"""Single releases that meet in one record, and how often each."""


class Event(Protocol):
    """What was done: one release, or several together."""

    def bags(self) -> list[Bag] | None:
        """Return what can happen to one record; None when something was not private.

        Only parallel events give more than one bag; what holds for every bag holds for the release.
        """
        ...


class MaskEvent(Event, Protocol):
    """What a mask reports."""

    def copies(self, times: int) -> "MaskEvent":
        """Return the event of drawing the mask ``times`` times."""
        ...

    def statement(self) -> str:
        """Return the event as a sentence for a privacy officer."""
        ...


@dataclass(frozen=True)
class NonPrivate:
    """No formal statement can be made, and why."""

    reason: str

    def bags(self) -> None:
        """Return None: nothing is private."""

    def copies(self, times: int) -> "NonPrivate":
        """Return the same: more of nothing."""
        return self

    def statement(self) -> str:
        """Return the event as a sentence for a privacy officer."""
        return f"Nothing formal is claimed: {self.reason}."


class Single:
    """One release, and what each accountant reads off it."""

    def bags(self) -> list[Bag]:
        """Return the release itself, if its numbers prove something."""
        numbers = [value for value in vars(self).values() if isinstance(value, int | float)]
        if any(not math.isfinite(value) or value < 0 for value in numbers) or not any(value > 0 for value in numbers):
            raise InputError(f"{type(self).__name__}: numbers of an event must be finite and not below 0.")
        return [Counter({self: 1})]

    def basic(self) -> tuple[float, float] | None:
        """Return (ε, δ), which add; None where no δ is part of the event."""
        return None

    def concentrated(self) -> tuple[float, float, float]:
        """Return (ρ, ξ, δ): (ξ, ρ)-zCDP once δ was paid."""
        raise NotImplementedError

    def gaussian(self) -> float | None:
        """Return μ where the release is exactly μ-GDP."""
        return None

    def loss(self, times: int, grid: float) -> Any | None:
        """Return the loss distribution of so many equal releases; None when only its Rényi divergence is known."""
        one = self._loss(grid)
        return one.self_compose(times) if one is not None and times > 1 else one

    def _loss(self, grid: float) -> Any | None:
        return None


class _Bounded(Single):
    """A release that is (ε, δ)-DP, whatever else is known of it; ε-DP counts as ε²/2-zCDP."""

    epsilon: Any

    def basic(self) -> tuple[float, float]:
        return self.epsilon, 0.0

    def concentrated(self) -> tuple[float, float, float]:
        epsilon, delta = self.basic()
        return epsilon**2 / 2, 0.0, delta

    def _loss(self, grid: float) -> Any:
        epsilon, delta = self.basic()
        return losses.atoms(epsilon, delta, losses.widest_variation(epsilon, delta), grid)


@dataclass(frozen=True)
class Gaussian(Single):
    """Noise of fixed sd on fixed bounds: the release is μ-GDP."""

    mu: float

    def concentrated(self) -> tuple[float, float, float]:
        """Return ρ = μ²/2."""
        return self.mu**2 / 2, 0.0, 0.0

    def gaussian(self) -> float:
        """Return μ."""
        return self.mu

    def loss(self, times: int, grid: float) -> Any:
        """Return the loss distribution: k Gaussians are one, so no convolution and no error."""
        return losses.of_mechanism("gaussian", 1 / (self.mu * math.sqrt(times)), grid=grid)

    def copies(self, times: int) -> "Gaussian":
        """Return the event of drawing the mask ``times`` times."""
        return Gaussian(self.mu * math.sqrt(times))

    def statement(self) -> str:
        """Return the event as a sentence for a privacy officer."""
        if self.mu > LARGEST_USEFUL_MU:
            return f"No useful bound: the mask is {self.mu:.3g}-GDP, above {LARGEST_USEFUL_MU:g}."
        return f"The mask is {self.mu:.3g}-GDP for one record's value: {ABOUT_THE_MASK}."


@dataclass(frozen=True)
class Pure(_Bounded):
    """Randomised levels with fixed probabilities: the release is ε-DP."""

    epsilon: float

    def copies(self, times: int) -> "Pure":
        """Return the event of drawing the mask ``times`` times."""
        return Pure(self.epsilon * times)

    def statement(self) -> str:
        """Return the event as a sentence for a privacy officer."""
        return f"The mask is {self.epsilon:.3g}-DP for one record's value: {ABOUT_THE_MASK}."


@dataclass(frozen=True)
class Laplace(_Bounded):
    """Laplace noise of scale Δ₁/ε: exactly ε-DP, and better than that in composition."""

    epsilon: float

    def _loss(self, grid: float) -> Any:
        return losses.of_mechanism("laplace", 1 / self.epsilon, grid=grid)


@dataclass(frozen=True)
class DiscreteLaplace(_Bounded):
    """Integer noise with P(z) ∝ e^{−|z|/scale} on a query of integer ℓ1 sensitivity."""

    scale: float
    sensitivity: int

    @property
    def epsilon(self) -> float:
        """The pure guarantee, Δ/scale."""
        return self.sensitivity / self.scale

    def _loss(self, grid: float) -> Any:
        return losses.of_mechanism("discrete_laplace", 1 / self.scale, self.sensitivity, grid=grid)


@dataclass(frozen=True)
class DiscreteGaussian(Single):
    """Integer noise with P(z) ∝ e^{−z²/2sd²} on one number of integer sensitivity; for vectors use its ρ."""

    sd: float
    sensitivity: int

    @property
    def rho(self) -> float:
        """The zCDP guarantee, Δ²/(2sd²)."""
        return self.sensitivity**2 / (2 * self.sd**2)

    def concentrated(self) -> tuple[float, float, float]:
        """Return ρ."""
        return self.rho, 0.0, 0.0

    def _loss(self, grid: float) -> Any:
        return losses.of_mechanism("discrete_gaussian", self.sd, self.sensitivity, grid=grid)


@dataclass(frozen=True)
class Approximate(_Bounded):
    """Nothing is known but (ε, δ)-DP."""

    epsilon: float
    delta: float

    def basic(self) -> tuple[float, float]:
        """Return (ε, δ)."""
        return self.epsilon, self.delta


@dataclass(frozen=True)
class TotalVariation(Approximate):
    """(ε, δ)-DP and total variation at most η: the DP-TV region, η ∈ [δ, δ + (1−δ)·tanh(ε/2)]."""

    eta: float

    def _loss(self, grid: float) -> Any:
        return losses.atoms(self.epsilon, self.delta, self.eta, grid)


@dataclass(frozen=True)
class RandomisedResponse(_Bounded):
    """k-ary response that keeps the truth with odds e^ε against each other level; replace adjacency only."""

    epsilon: float
    levels: int

    def _loss(self, grid: float) -> Any:
        odds = math.expm1(self.epsilon)
        return losses.atoms(self.epsilon, 0.0, odds / (odds + self.levels), grid)


@dataclass(frozen=True)
class ZeroConcentrated(Single):
    """(ξ, ρ)-zCDP: Rényi divergence of every order α at most ξ + ρα; its loss distribution is not known."""

    rho: float
    xi: float = 0.0

    def concentrated(self) -> tuple[float, float, float]:
        """Return ρ and ξ."""
        return self.rho, self.xi, 0.0


@dataclass(frozen=True)
class Composed:
    """Several releases on the same records; later ones may have been chosen after seeing earlier ones."""

    events: tuple[Event, ...]

    def bags(self) -> list[Bag] | None:
        """Return every bag of one part joined with every bag of the others."""
        joined: list[Bag] = [Counter()]
        for part in self.events:
            inner = part.bags()
            if inner is None:
                return None
            joined = _distinct(one + other for one in joined for other in inner)
        return joined


@dataclass(frozen=True)
class Repeated:
    """The same release ``times`` times."""

    event: Event
    times: int

    def bags(self) -> list[Bag] | None:
        """Return the bags of the release, each so many times."""
        if self.times < 0:
            raise InputError(f"repeated event: times must not be below 0, found {self.times}.")
        inner = self.event.bags()
        if inner is None:
            return None
        return _distinct(Counter({one: k * self.times for one, k in bag.items()}) for bag in inner)


@dataclass(frozen=True)
class Parallel:
    """One release on each part of a partition that was fixed without looking at the data.

    ``touched`` is how many parts one step of the adjacency changes: 1 when a record is added or removed, or replaced
    inside its part; 2 when a replaced record may leave one part and enter another.
    """

    events: tuple[Event, ...]
    touched: int

    def bags(self) -> list[Bag] | None:
        """Return what each choice of ``touched`` parts can do."""
        if self.touched not in (1, 2):
            raise InputError(f"parallel composition: one step changes 1 or 2 parts, found {self.touched}.")
        # equal parts are one case, or two of the same
        times = Counter(self.events)
        parts = [part for part, count in times.items() for _ in range(min(count, self.touched))]
        found: list[Bag] = []
        for chosen in combinations(parts, min(self.touched, len(parts))):
            inner = Composed(chosen).bags()
            if inner is None:
                return None
            found = _distinct([*found, *inner])
        return found or [Counter()]


def _distinct(bags: Iterable[Bag]) -> list[Bag]:
    found = list({frozenset(bag.items()): bag for bag in bags}.values())
    if len(found) > MOST_BAGS:
        raise InputError(
            f"parallel composition: more than {MOST_BAGS} different combinations; give the parts equal budgets."
        )
    return found
