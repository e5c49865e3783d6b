r"""Noise that is added to every coordinate: Laplace for an ℓ1 sensitivity, Gaussian for an ℓ2 sensitivity.

The log density ratio of two neighbours is at most ‖Δ‖₁/scale, and reaches it. E|noise| = scale, variance 2·scale².

Exact guarantee for every ε, with r = σ/Δ:  δ(ε) = Φ(1/(2r) − εr) − e^ε Φ(−1/(2r) − εr).
``analytic`` solves it for σ; ``classical`` is σ = Δ√(2 ln(1.25/δ))/ε and holds for ε < 1 only.

References
----------
Dwork, McSherry, Nissim, Smith (2006), "Calibrating noise to sensitivity in private data analysis", TCC, Proposition 1.
Biswal (2024), Example 4.5.7, says that the sum of two Laplace noises violates DP; it does not: further independent
noise is post-processing. The test evaluates its log density ratio.
Balle, Wang (2018), "Improving the Gaussian mechanism for differential privacy", ICML, Theorem 8, Algorithm 1.
Dwork, Roth (2014), Theorem A.1 (classical).
Biswal (2024), sections 5.1 and 5.3, prints the classical variance as 2Δ ln(1.25/δ)/ε; it is 2Δ² ln(1.25/δ)/ε².
Hall (2012, PhD thesis, CMU), Proposition 1.3.3, uses √(2 ln(2/δ)) and states no limit on ε; its proof needs ε ≤ 1, and
the exact δ exceeds the claim at ε = 8 (δ = 0.1). Equation 3.5 there has Δ/ε inside the root.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.special import log_ndtr

from synthdp.errors import InputError
from synthdp.privacy.events import Event
from synthdp.privacy.events import Gaussian as GaussianEvent
from synthdp.privacy.events import Laplace as LaplaceEvent
from synthdp.privacy.guarantees import delta_of, epsilon_of, positive
from synthdp.privacy.mechanisms.mechanism import Source, drowned
from synthdp.privacy.mechanisms.sensitivity import Sensitivity
from synthdp.table.microdata import Floats


@dataclass(frozen=True)
class Scaled:
    """Noise of a fixed scale on a vector of known ℓ1 sensitivity: (Δ₁/scale)-DP."""

    sensitivity: Sensitivity
    scale: float

    name: ClassVar[str]

    def __post_init__(self) -> None:
        self.sensitivity.within(("l1",), self.name)
        positive(self.scale, f"{self.name} scale")

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: float) -> Self:
        """Return the least noise that is ε-DP; rounding goes to more noise."""
        scale = sensitivity.value / epsilon_of(epsilon)
        while sensitivity.value / scale > epsilon:
            scale = math.nextafter(scale, math.inf)
        return cls(sensitivity, scale)

    @property
    def epsilon(self) -> float:
        """The pure guarantee Δ₁/scale."""
        return self.sensitivity.value / self.scale

    @property
    def sd(self) -> float:
        """Standard deviation of the noise."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return mechanism, noise and sensitivity in plain words."""
        noise = self.name.capitalize().replace(" laplace", " Laplace")
        return f"{noise} noise of scale {self.scale:g} ({self.sensitivity}): {self.epsilon:.4g}-DP"

    def caution(self, width: float) -> str | None:
        """Return a sentence when the noise is wider than the answers can differ; None when it is not."""
        return drowned(self.name, self.sd, width)


@dataclass(frozen=True)
class Laplace(Scaled):
    """Laplace noise of a fixed scale on a vector of known ℓ1 sensitivity.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms.sensitivity import counting
    >>> Laplace.calibrated(counting("replace"), epsilon=0.5).scale
    2.0
    """

    name: ClassVar[str] = "laplace"

    @property
    def sd(self) -> float:
        """Standard deviation of the noise, √2·scale."""
        return math.sqrt(2) * self.scale

    def release(self, value: Floats | float, *, source: Source) -> Floats:
        """Return the value with noise, in one batch."""
        return source.laplace(np.asarray(value, dtype=np.float64), scale=self.scale, sensitivity=self.sensitivity.value)

    def event(self) -> Event:
        """Return what the release costs."""
        return self.sensitivity.guard(LaplaceEvent(self.epsilon))


Calibration = Literal["analytic", "classical"]


def exact_delta(ratio: float, epsilon: float) -> float:
    """Return δ(ε) of Gaussian noise whose sd is ``ratio`` times the sensitivity (Balle and Wang 2018, Theorem 8)."""
    first = log_ndtr(1 / (2 * ratio) - epsilon * ratio)
    second = epsilon + log_ndtr(-1 / (2 * ratio) - epsilon * ratio)
    # the difference of two nearly equal numbers keeps its digits only as e^a(1 − e^{b−a})
    return float(np.exp(first) * -np.expm1(min(second - first, 0.0)))


def analytic_ratio(epsilon: float, delta: float) -> float:
    """Return the smallest σ/Δ with δ(ε) ≤ δ, by bisection that ends on the private side."""
    epsilon, delta = epsilon_of(epsilon), delta_of(delta)
    low, high = 0.0, 1.0
    while exact_delta(high, epsilon) > delta:
        low, high = high, 2 * high
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        if exact_delta(middle, epsilon) <= delta:
            high = middle
        else:
            low = middle
    return high


def classical_ratio(epsilon: float, delta: float) -> float:
    """Return √(2 ln(1.25/δ))/ε, for ε below 1."""
    if epsilon_of(epsilon) >= 1:
        raise InputError(f"epsilon: the classical Gaussian holds below 1, found {epsilon:g}; use analytic.")
    return math.sqrt(2 * math.log(1.25 / delta_of(delta))) / epsilon


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise of a fixed sd on a vector of known ℓ2 sensitivity.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms.sensitivity import counting
    >>> round(Gaussian.calibrated(counting("replace", norm="l2"), epsilon=1, delta=1e-5).sd ** 2, 3)
    13.918
    """

    sensitivity: Sensitivity
    sd: float

    def __post_init__(self) -> None:
        self.sensitivity.within(("l2",), "gaussian")
        positive(self.sd, "gaussian sd")

    @classmethod
    def calibrated(
        cls, sensitivity: Sensitivity, *, epsilon: float, delta: float, method: Calibration = "analytic"
    ) -> Self:
        """Return the noise that is (ε, δ)-DP: the least (analytic), or the textbook's (classical, ε < 1)."""
        ratio = (analytic_ratio if method == "analytic" else classical_ratio)(epsilon, delta)
        return cls(sensitivity, math.nextafter(sensitivity.value * ratio, math.inf))

    @classmethod
    def concentrated(cls, sensitivity: Sensitivity, *, rho: float) -> Self:
        """Return the noise that is ρ-zCDP: σ = Δ/√(2ρ)."""
        sd = sensitivity.value / math.sqrt(2 * positive(rho, "rho"))
        return cls(sensitivity, math.nextafter(sd, math.inf))

    @property
    def mu(self) -> float:
        """The guarantee in Gaussian DP, Δ/σ."""
        return self.sensitivity.value / self.sd

    @property
    def rho(self) -> float:
        """The guarantee in zCDP, Δ²/(2σ²)."""
        return self.mu**2 / 2

    def delta(self, epsilon: float) -> float:
        """Return the exact δ(ε) of a release."""
        return exact_delta(1 / self.mu, epsilon)

    def release(self, value: Floats | float, *, source: Source) -> Floats:
        """Return the value with noise, in one batch."""
        return source.gaussian(np.asarray(value, dtype=np.float64), sd=self.sd, sensitivity=self.sensitivity.value)

    def event(self) -> Event:
        """Return what the release costs."""
        return self.sensitivity.guard(GaussianEvent(self.mu))

    def describe(self) -> str:
        """Return mechanism, noise and sensitivity in plain words."""
        return f"Gaussian noise of sd {self.sd:g} ({self.sensitivity}): {self.mu:.4g}-GDP"

    def caution(self, width: float) -> str | None:
        """Return a sentence when the noise is wider than the answers can differ; None when it is not."""
        return drowned("gaussian", self.sd, width)
