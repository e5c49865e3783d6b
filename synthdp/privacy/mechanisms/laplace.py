"""Laplace noise: value + Laplace(Δ₁/ε) in every coordinate is ε-DP.

The log density ratio of two neighbours is at most ‖Δ‖₁/scale, and reaches it. E|noise| = scale, variance 2·scale².

References
----------
Dwork, McSherry, Nissim, Smith (2006), "Calibrating noise to sensitivity in private data analysis", TCC, Proposition 1.
Biswal (2024), Example 4.5.7, says that the sum of two Laplace noises violates DP; it does not: further independent
noise is post-processing. The test evaluates its log density ratio.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from synthdp.microdata import Floats
from synthdp.privacy.accounting.events import Event
from synthdp.privacy.accounting.events import Laplace as LaplaceEvent
from synthdp.privacy.mechanisms.protocol import Source
from synthdp.privacy.mechanisms.sensitivity import Sensitivity
from synthdp.privacy.mechanisms.strength import drowned
from synthdp.privacy.parameters import epsilon_of, positive


@dataclass(frozen=True)
class Laplace:
    """Laplace noise of a fixed scale on a vector of known ℓ1 sensitivity.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms.sensitivity import counting
    >>> Laplace.calibrated(counting("replace"), epsilon=0.5).scale
    2.0
    """

    sensitivity: Sensitivity
    scale: float

    def __post_init__(self) -> None:
        self.sensitivity.within(("l1",), "laplace")
        positive(self.scale, "laplace scale")

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
        """Standard deviation of the noise, √2·scale."""
        return math.sqrt(2) * self.scale

    def release(self, value: Floats | float, *, source: Source) -> Floats:
        """Return the value with noise, in one batch."""
        return source.laplace(np.asarray(value, dtype=np.float64), scale=self.scale, sensitivity=self.sensitivity.value)

    def event(self) -> Event:
        """Return what the release costs."""
        return self.sensitivity.guard(LaplaceEvent(self.epsilon))

    def describe(self) -> str:
        """Return mechanism, noise and sensitivity in plain words."""
        return f"Laplace noise of scale {self.scale:g} ({self.sensitivity}): {self.epsilon:.4g}-DP"

    def caution(self, width: float) -> str | None:
        """Return a sentence when the noise is wider than the answers can differ; None when it is not."""
        return drowned("laplace", self.sd, width)
