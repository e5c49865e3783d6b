r"""Choosing by score: one of several candidates, or those above a threshold.

* ``Exponential``: P(c) ∝ e^{εs(c)/2Δ}, the same as the largest score + Gumbel noise of scale 2Δ/ε.
* ``PermuteAndFlip``: score + exponential noise of the same scale; never worse in expectation.
* ``ReportNoisyMax``: score + Laplace noise of the same scale.

Δ is in ℓ∞: the largest change of any one score. When all scores can only move the same way (``monotonic``, as counts
under add_remove) half the noise is enough. The factor 2 pays for a normaliser that depends on the data.

The threshold gets noise Laplace(Δ/ε₁) once, each answer Laplace(2cΔ/ε₂) (cΔ/ε₂ when answers can only move the same
way); it stops after c answers above. ε = ε₁ + ε₂; the split ε₁ : ε₂ = 1 : (2c)^{2/3} has the least error.

References
----------
McSherry, Talwar (2007), FOCS, Theorem 6. McKenna, Sheldon (2020), NeurIPS (permute-and-flip). Ding et al. (2021).
Dwork, Roth (2014), Claim 3.9 (report noisy max). Cesar, Rogers (2021), ALT: an exponential mechanism is ε²/8-zCDP.
Lyu, Su, Li (2017), "Understanding the sparse vector technique for differential privacy", VLDB 10(6), Algorithm 7 and
section 4.2. They show that four of six published versions do not keep their claim: noise that does not grow
with c, noise on the threshold alone, answers released without new noise. Only above/below is released here.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy.guarantees import epsilon_of, positive
from synthdp.privacy.mechanisms.mechanism import Choice, Mechanism, Source, least_scale
from synthdp.privacy.mechanisms.sensitivity import Sensitivity
from synthdp.table.microdata import Floats


@dataclass(frozen=True)
class _Selection(Mechanism):
    """The candidate with the largest noisy score."""

    sensitivity: Sensitivity
    scale: float
    monotonic: bool = False

    noise: ClassVar[Choice]

    def __post_init__(self) -> None:
        self.sensitivity.within(("linf",), self.name)
        positive(self.scale, f"{self.name} scale")

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: float, monotonic: bool = False) -> Self:
        """Return the choice that is ε-DP; rounding goes to more noise."""
        return cls(sensitivity, least_scale(sensitivity.value * (1 if monotonic else 2), epsilon), monotonic)

    @property
    def epsilon(self) -> float:
        """The pure guarantee 2Δ/scale, or Δ/scale when monotonic."""
        return self.sensitivity.value * (1 if self.monotonic else 2) / self.scale

    def release(self, scores: Floats, *, source: Source) -> int:
        """Return the index of the chosen candidate."""
        values = np.asarray(scores, dtype=np.float64)
        if values.ndim != 1 or not values.size:
            raise InputError(f"{self.name}: needs one score per candidate and at least one candidate.")
        return source.largest(values, scale=self.scale, noise=self.noise)

    def caution(self, width: float) -> str | None:
        """Return a sentence when the noise is wider than the scores can differ; None when it is not."""
        if self.scale <= positive(width, f"{self.name}: width of possible scores"):
            return None
        return (
            f"{self.name}: the noise (scale {self.scale:.3g}) is wider than the scores can differ ({width:.3g}); "
            "the choice is close to a lottery. Raise epsilon or use more records."
        )

    def _noise(self) -> str:
        return f"{self.name.capitalize()}, noise scale {self.scale:g}"


@dataclass(frozen=True)
class Exponential(_Selection):
    """The exponential mechanism.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms.sensitivity import Sensitivity
    >>> mechanism = Exponential.calibrated(Sensitivity(1, "linf", "replace"), epsilon=2)
    >>> mechanism.probabilities(np.array([0.0, 1.0])).round(4)
    array([0.2689, 0.7311])
    """

    noise: ClassVar[Choice] = "gumbel"
    name: ClassVar[str] = "exponential mechanism"

    @property
    def rho(self) -> float:
        """The guarantee in zCDP, ε²/8."""
        return self.epsilon**2 / 8

    def probabilities(self, scores: Floats) -> Floats:
        """Return how likely each candidate is."""
        scaled = np.asarray(scores, dtype=np.float64) / self.scale
        weights = np.exp(scaled - scaled.max())
        return np.asarray(weights / weights.sum())


@dataclass(frozen=True)
class PermuteAndFlip(_Selection):
    """Permute-and-flip, drawn as report-noisy-max with exponential noise."""

    noise: ClassVar[Choice] = "exponential"
    name: ClassVar[str] = "permute-and-flip"


@dataclass(frozen=True)
class ReportNoisyMax(_Selection):
    """Report-noisy-max with Laplace noise."""

    noise: ClassVar[Choice] = "laplace"
    name: ClassVar[str] = "report noisy max"


@dataclass(frozen=True)
class SparseVector(Mechanism):
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

    name: ClassVar[str] = "sparse vector"

    def __post_init__(self) -> None:
        self.sensitivity.within(("linf",), self.name)
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
        """The pure guarantee, however many answers were below."""
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

    @property
    def sd(self) -> float:
        """Standard deviation of the noise on each answer."""
        return 2**0.5 * self.scale

    def _noise(self) -> str:
        return f"Sparse vector, at most {self.cutoff} above"
