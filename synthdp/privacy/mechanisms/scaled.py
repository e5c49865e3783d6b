"""What Laplace noise on numbers and on whole numbers share: a scale that is the ℓ1 sensitivity over ε."""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from synthdp.privacy.mechanisms.sensitivity import Sensitivity
from synthdp.privacy.mechanisms.strength import drowned
from synthdp.privacy.parameters import epsilon_of, positive


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
