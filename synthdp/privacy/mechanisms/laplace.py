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
from typing import ClassVar

import numpy as np

from synthdp.microdata import Floats
from synthdp.privacy.accounting.events import Event
from synthdp.privacy.accounting.events import Laplace as LaplaceEvent
from synthdp.privacy.mechanisms.protocol import Source
from synthdp.privacy.mechanisms.scaled import Scaled


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
