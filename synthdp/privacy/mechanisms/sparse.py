r"""Sparse vector: which of many answers are above a threshold, paying only for those that are.

The threshold gets noise Laplace(Δ/ε₁) once, each answer Laplace(2cΔ/ε₂) (cΔ/ε₂ when answers can only move the same
way); it stops after c answers above. ε = ε₁ + ε₂; the split ε₁ : ε₂ = 1 : (2c)^{2/3} has the least error.

References
----------
Lyu, Su, Li (2017), "Understanding the sparse vector technique for differential privacy", VLDB 10(6), Algorithm 7 and
section 4.2. They show that four of six published versions do not keep their claim: noise that does not grow
with c, noise on the threshold alone, answers released without new noise. Only above/below is released here.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.microdata import Floats
from synthdp.privacy.accounting.events import Event, Pure
from synthdp.privacy.mechanisms.protocol import Source
from synthdp.privacy.mechanisms.sensitivity import Sensitivity
from synthdp.privacy.mechanisms.strength import drowned
from synthdp.privacy.parameters import epsilon_of


@dataclass(frozen=True)
class SparseVector:
    """Above or below a threshold, at most ``cutoff`` times above.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms.sensitivity import Sensitivity
    >>> one = SparseVector.calibrated(Sensitivity(1, "linf", "replace"), epsilon=1, cutoff=1)
    >>> round(one.for_threshold, 3), round(one.for_answers, 3)
    (0.386, 0.614)
    """

    sensitivity: Sensitivity
    for_threshold: float
    for_answers: float
    cutoff: int
    monotonic: bool = False

    def __post_init__(self) -> None:
        self.sensitivity.within(("linf",), "sparse vector")
        epsilon_of(self.for_threshold, "sparse vector: epsilon for the threshold")
        epsilon_of(self.for_answers, "sparse vector: epsilon for the answers")
        if self.cutoff < 1:
            raise InputError(f"sparse vector: the cutoff must be at least 1, found {self.cutoff}.")

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: float, cutoff: int = 1, monotonic: bool = False) -> Self:
        """Return the mechanism that is ε-DP, the budget split for the least error."""
        share = (cutoff * (1 if monotonic else 2)) ** (2 / 3) if cutoff >= 1 else 1.0
        threshold = epsilon_of(epsilon) / (1 + share)
        answers = epsilon - threshold
        while threshold + answers > epsilon:
            answers = math.nextafter(answers, 0.0)
        return cls(sensitivity, threshold, answers, cutoff, monotonic)

    @property
    def epsilon(self) -> float:
        """The pure guarantee."""
        return self.for_threshold + self.for_answers

    @property
    def scale(self) -> float:
        """Scale of the noise on each answer."""
        return (1 if self.monotonic else 2) * self.cutoff * self.sensitivity.value / self.for_answers

    def release(self, answers: Floats, threshold: float, *, source: Source) -> npt.NDArray[np.bool_]:
        """Return above/below for the answers in their order, up to and with the last that was paid for."""
        values = np.asarray(answers, dtype=np.float64)
        if values.ndim != 1:
            raise InputError("sparse vector: needs a list of answers.")
        step = self.sensitivity.value
        limit = source.laplace(np.asarray(float(threshold)), scale=step / self.for_threshold, sensitivity=step)
        above = source.laplace(values, scale=self.scale, sensitivity=step) >= limit
        last = np.flatnonzero(np.cumsum(above) == self.cutoff)
        return np.asarray(above[: last[0] + 1] if last.size else above, dtype=np.bool_)

    def event(self) -> Event:
        """Return what the release costs, however many answers were below."""
        return self.sensitivity.guard(Pure(self.epsilon))

    def describe(self) -> str:
        """Return mechanism, noise and sensitivity in plain words."""
        return f"Sparse vector, at most {self.cutoff} above ({self.sensitivity}): {self.epsilon:.4g}-DP"

    def caution(self, width: float) -> str | None:
        """Return a sentence when the noise is wider than the answers can differ; None when it is not."""
        return drowned("sparse vector", 2**0.5 * self.scale, width)
