r"""Noise that is added to every coordinate: Laplace for an ℓ1 sensitivity, Gaussian for an ℓ2 sensitivity.

On real numbers, or on whole ones: then counts stay counts, and nothing leaks through floating point.

Laplace: the log density ratio of two neighbours is at most ‖Δ‖₁/scale, and reaches it. E|noise| = scale, variance
2·scale². Discrete (two-sided geometric): P(z) = tanh(1/2s)·e^{−|z|/s}, s = Δ₁/ε; E|z| = 1/sinh(1/s), the least possible
for a count.

Gaussian: exact for every ε, with r = σ/Δ:  δ(ε) = Φ(1/(2r) − εr) − e^ε Φ(−1/(2r) − εr). ``analytic`` solves it for σ;
``classical`` is σ = Δ√(2 ln(1.25/δ))/ε and holds for ε < 1 only. Discrete: P(z) ∝ e^{−z²/2σ²}; ρ-zCDP with ρ = Δ²/2σ²
in any dimension, and in one dimension δ(ε) = P(z > εσ²/Δ − Δ/2) − e^ε P(z > εσ²/Δ + Δ/2) exactly.

References
----------
Dwork, McSherry, Nissim, Smith (2006), "Calibrating noise to sensitivity in private data analysis", TCC, Proposition 1.
Biswal (2024), Example 4.5.7, says that the sum of two Laplace noises violates DP; it does not: further independent
noise is post-processing. The test evaluates its log density ratio.
Ghosh, Roughgarden, Sundararajan (2012), SIAM J. Comput. 41(6) (geometric mechanism).
Canonne, Kamath, Steinke (2020), "The discrete Gaussian for differential privacy", NeurIPS, Theorems 4 and 7.
Biswal (2024), sections 5.1 and 5.3, prints the classical variance as 2Δ ln(1.25/δ)/ε; it is 2Δ² ln(1.25/δ)/ε².
Hall (2012, PhD thesis, CMU), Proposition 1.3.3, uses √(2 ln(2/δ)) and states no limit on ε; its proof needs ε ≤ 1, and
the exact δ exceeds the claim at ε = 8 (δ = 0.1). Equation 3.5 there has Δ/ε inside the root.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy import events
from synthdp.privacy.accounting.closed_forms import (
    analytic_ratio,
    bisected,
    classical_ratio,
    exact_delta,
    rho_of_epsilon,
)
from synthdp.privacy.guarantees import delta_of, epsilon_of, positive
from synthdp.privacy.mechanisms.mechanism import Integers, Mechanism, Source, least_scale
from synthdp.privacy.mechanisms.sensitivity import Sensitivity
from synthdp.table.microdata import Floats

Calibration = Literal["analytic", "classical"]
TAILS = 40.0


@dataclass(frozen=True)
class _Scaled(Mechanism):
    """Noise of a fixed scale on a vector of known ℓ1 sensitivity: (Δ₁/scale)-DP."""

    sensitivity: Sensitivity
    scale: float

    def __post_init__(self) -> None:
        self.sensitivity.within(("l1",), self.name)
        positive(self.scale, f"{self.name} scale")

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: float) -> Self:
        """Return the least noise that is ε-DP; rounding goes to more noise."""
        return cls(sensitivity, least_scale(sensitivity.value, epsilon))

    @property
    def epsilon(self) -> float:
        """The pure guarantee Δ₁/scale."""
        return self.sensitivity.value / self.scale

    def _noise(self) -> str:
        return f"{self.name.capitalize().replace(' laplace', ' Laplace')} noise of scale {self.scale:g}"


@dataclass(frozen=True)
class Laplace(_Scaled):
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

    def _cost(self) -> events.Event:
        return events.Laplace(self.epsilon)


@dataclass(frozen=True)
class DiscreteLaplace(_Scaled):
    """Geometric noise on integers of known ℓ1 sensitivity.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms.sensitivity import table
    >>> DiscreteLaplace.calibrated(table("replace"), epsilon=1).scale
    2.0
    """

    name: ClassVar[str] = "discrete laplace"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.sensitivity.whole(self.name)

    @property
    def sd(self) -> float:
        """Standard deviation of the noise, 1/(√2 sinh(1/2s))."""
        # √2 e^{−x}/(1 − e^{−2x}) with x = 1/2s, which goes to 0 where sinh would run over
        return math.sqrt(2) * math.exp(-1 / (2 * self.scale)) / -math.expm1(-1 / self.scale)

    def release(self, value: Integers | int, *, source: Source) -> Integers:
        """Return the integers with noise, in one batch."""
        return source.discrete_laplace(np.asarray(value), scale=self.scale)

    def _cost(self) -> events.Event:
        return events.DiscreteLaplace(self.scale, round(self.sensitivity.value))


@dataclass(frozen=True)
class _Normal(Mechanism):
    """Noise of a fixed sd on a vector of known ℓ2 sensitivity."""

    sensitivity: Sensitivity
    sd: float

    def __post_init__(self) -> None:
        self.sensitivity.within(("l2",), self.name)
        positive(self.sd, f"{self.name} sd")

    @property
    def mu(self) -> float:
        """Δ/σ: the guarantee in Gaussian DP, for noise that is Gaussian."""
        return self.sensitivity.value / self.sd

    def _noise(self) -> str:
        return f"{self.name.capitalize().replace(' gaussian', ' Gaussian')} noise of sd {self.sd:g}"


@dataclass(frozen=True)
class Gaussian(_Normal):
    """Gaussian noise of a fixed sd on a vector of known ℓ2 sensitivity.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms.sensitivity import counting
    >>> round(Gaussian.calibrated(counting("replace", norm="l2"), epsilon=1, delta=1e-5).sd ** 2, 3)
    13.918
    """

    name: ClassVar[str] = "gaussian"

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
    def rho(self) -> float:
        """The guarantee in zCDP, Δ²/(2σ²)."""
        return self.mu**2 / 2

    def delta(self, epsilon: float) -> float:
        """Return the exact δ(ε) of a release."""
        return exact_delta(1 / self.mu, epsilon)

    def release(self, value: Floats | float, *, source: Source) -> Floats:
        """Return the value with noise, in one batch."""
        return source.gaussian(np.asarray(value, dtype=np.float64), sd=self.sd, sensitivity=self.sensitivity.value)

    def _cost(self) -> events.Event:
        return events.Gaussian(self.mu)

    def _claim(self) -> str:
        return f"{self.mu:.4g}-GDP"


def discrete_gaussian_delta(sd: float, sensitivity: int, epsilon: float) -> float:
    """Return the exact δ(ε) of discrete Gaussian noise on one integer (Canonne et al. 2020, Theorem 7). Cost O(sd)."""
    centre = epsilon * sd**2 / sensitivity
    first, second = math.floor(centre - sensitivity / 2) + 1, math.floor(centre + sensitivity / 2) + 1
    reach = math.ceil(TAILS * sd) + sensitivity
    if first > reach:
        return 0.0
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-(z**2) / (2 * sd**2))
    above = float(weights[z >= first].sum())
    farther = float(weights[z >= second].sum())
    shrunk = math.exp(epsilon + math.log(farther)) if farther > 0 else 0.0
    return max(0.0, (above - shrunk) / float(weights.sum()))


@dataclass(frozen=True)
class DiscreteGaussian(_Normal):
    """Discrete Gaussian noise on integers of known ℓ2 sensitivity.

    Parameters
    ----------
    sensitivity
        In ℓ2. For one number it must be whole; for vectors the zCDP guarantee is used, which needs no whole number.
    sd
        σ of the weights e^{−z²/2σ²}; the true sd is at most this.
    coordinates
        How many numbers one release holds.
    """

    coordinates: int = 1

    name: ClassVar[str] = "discrete gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.coordinates == 1:
            self.sensitivity.whole(self.name)

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: float, delta: float, coordinates: int = 1) -> Self:
        """Return noise that is (ε, δ)-DP: by the exact δ for one number, through zCDP for more."""
        epsilon, delta = epsilon_of(epsilon), delta_of(delta)
        if coordinates > 1:
            sd = sensitivity.value / math.sqrt(2 * rho_of_epsilon(epsilon, delta, method="tight"))
            return cls(sensitivity, math.nextafter(sd, math.inf), coordinates)
        step = sensitivity.whole(cls.name)

        def private(sd: float) -> bool:
            return discrete_gaussian_delta(sd, step, epsilon) <= delta

        high = step * analytic_ratio(epsilon, delta)
        while not private(high):
            high *= 1.1
        return cls(sensitivity, bisected(private, high=high, precision=1e-9)[1], 1)

    @property
    def rho(self) -> float:
        """The guarantee in zCDP, Δ²/(2σ²)."""
        return self.sensitivity.value**2 / (2 * self.sd**2)

    def delta(self, epsilon: float) -> float:
        """Return the exact δ(ε) of a release of one number."""
        if self.coordinates > 1:
            raise InputError("discrete gaussian: the exact delta is known for one number; use its rho for vectors.")
        return discrete_gaussian_delta(self.sd, round(self.sensitivity.value), epsilon)

    def release(self, value: Integers | int, *, source: Source) -> Integers:
        """Return the integers with noise, in one batch."""
        values = np.asarray(value)
        if values.size > self.coordinates:
            raise InputError(
                f"discrete gaussian: calibrated for {self.coordinates} numbers in a release, found {values.size}."
            )
        return source.discrete_gaussian(values, sd=self.sd)

    def _cost(self) -> events.Event:
        if self.coordinates > 1:
            return events.ZeroConcentrated(self.rho)
        return events.DiscreteGaussian(self.sd, round(self.sensitivity.value))

    def _claim(self) -> str:
        return f"{self.rho:.4g}-zCDP"
