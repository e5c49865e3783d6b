r"""Noise on whole numbers: counts stay counts, and nothing leaks through floating point.

Discrete Laplace (two-sided geometric): P(z) = tanh(1/2s)·e^{−|z|/s}, s = Δ₁/ε; E|z| = 1/sinh(1/s), the least possible
for a count. Discrete Gaussian: P(z) ∝ e^{−z²/2σ²}; ρ-zCDP with ρ = Δ²/2σ² in any dimension, and in one dimension
δ(ε) = P(z > εσ²/Δ − Δ/2) − e^ε P(z > εσ²/Δ + Δ/2) exactly.

References
----------
Ghosh, Roughgarden, Sundararajan (2012), SIAM J. Comput. 41(6) (geometric mechanism).
Canonne, Kamath, Steinke (2020), "The discrete Gaussian for differential privacy", NeurIPS, Theorems 4 and 7.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import rho_of_epsilon
from synthdp.privacy.events import DiscreteGaussian as DiscreteGaussianEvent
from synthdp.privacy.events import DiscreteLaplace as DiscreteLaplaceEvent
from synthdp.privacy.events import Event, ZeroConcentrated
from synthdp.privacy.guarantees import delta_of, epsilon_of, positive
from synthdp.privacy.mechanisms.additive import Scaled, analytic_ratio
from synthdp.privacy.mechanisms.mechanism import Integers, Source, drowned
from synthdp.privacy.mechanisms.sensitivity import Sensitivity

TAILS = 40.0


def _whole(sensitivity: Sensitivity, where: str) -> int:
    if sensitivity.value != round(sensitivity.value):
        raise InputError(f"{where}: needs a whole-number sensitivity, found {sensitivity.value:g}.")
    return round(sensitivity.value)


@dataclass(frozen=True)
class DiscreteLaplace(Scaled):
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
        _whole(self.sensitivity, self.name)

    @property
    def sd(self) -> float:
        """Standard deviation of the noise, 1/(√2 sinh(1/2s))."""
        # √2 e^{−x}/(1 − e^{−2x}) with x = 1/2s, which goes to 0 where sinh would run over
        return math.sqrt(2) * math.exp(-1 / (2 * self.scale)) / -math.expm1(-1 / self.scale)

    def release(self, value: Integers | int, *, source: Source) -> Integers:
        """Return the integers with noise, in one batch."""
        return source.discrete_laplace(np.asarray(value), scale=self.scale)

    def event(self) -> Event:
        """Return what the release costs."""
        return self.sensitivity.guard(DiscreteLaplaceEvent(self.scale, round(self.sensitivity.value)))


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
class DiscreteGaussian:
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

    sensitivity: Sensitivity
    sd: float
    coordinates: int = 1

    def __post_init__(self) -> None:
        self.sensitivity.within(("l2",), "discrete gaussian")
        if self.coordinates == 1:
            _whole(self.sensitivity, "discrete gaussian")
        positive(self.sd, "discrete gaussian sd")

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: float, delta: float, coordinates: int = 1) -> Self:
        """Return noise that is (ε, δ)-DP: by the exact δ for one number, through zCDP for more."""
        epsilon, delta = epsilon_of(epsilon), delta_of(delta)
        if coordinates > 1:
            sd = sensitivity.value / math.sqrt(2 * rho_of_epsilon(epsilon, delta, method="tight"))
            return cls(sensitivity, math.nextafter(sd, math.inf), coordinates)
        step = _whole(sensitivity, "discrete gaussian")
        low, high = 0.0, step * analytic_ratio(epsilon, delta)
        while discrete_gaussian_delta(high, step, epsilon) > delta:
            high *= 1.1
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            if discrete_gaussian_delta(middle, step, epsilon) <= delta:
                high = middle
            else:
                low = middle
        return cls(sensitivity, high, 1)

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

    def event(self) -> Event:
        """Return what the release costs."""
        if self.coordinates > 1:
            return self.sensitivity.guard(ZeroConcentrated(self.rho))
        return self.sensitivity.guard(DiscreteGaussianEvent(self.sd, round(self.sensitivity.value)))

    def describe(self) -> str:
        """Return mechanism, noise and sensitivity in plain words."""
        return f"Discrete Gaussian noise of sd {self.sd:g} ({self.sensitivity}): {self.rho:.4g}-zCDP"

    def caution(self, width: float) -> str | None:
        """Return a sentence when the noise is wider than the answers can differ; None when it is not."""
        return drowned("discrete gaussian", self.sd, width)
