"""The noise of one release: its law, chosen by the budget, so that intervals can count it in.

δ = 0 gives Laplace noise of scale Δ₁/ε; δ > 0 gives Gaussian noise by the analytic calibration (Balle & Wang 2018,
Theorem 8), which holds for every ε.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from synthdp.dp.budgets import Budget
from synthdp.dp.laws import laplace_normal_quantile
from synthdp.microdata import Floats
from synthdp.privacy.mechanisms import Gaussian, Laplace, Sensitivity, Source


@dataclass(frozen=True)
class Noise:
    """Laplace(scale) or N(0, scale²) on every number of a release of this sensitivity.

    Examples
    --------
    >>> Noise.for_budget(Budget(0.5), l1=2.0, l2=2.0)
    Noise(kind='laplace', scale=4.0, sensitivity=2.0)
    """

    kind: Literal["laplace", "gaussian"]
    scale: float
    sensitivity: float

    @classmethod
    def for_budget(cls, budget: Budget, *, l1: float, l2: float) -> "Noise":
        """Return the noise that pays for these sensitivities out of this budget."""
        if budget.pure:
            return cls("laplace", Laplace.calibrated(_sensitivity(l1, "l1", budget), epsilon=budget.epsilon).scale, l1)
        return cls("gaussian", gaussian_sd(l2, budget), l2)

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return self.scale * (float(np.sqrt(2)) if self.kind == "laplace" else 1.0)

    def add(self, centre: Floats, source: Source) -> Floats:
        """Return the numbers with noise from the source: the release."""
        if self.kind == "laplace":
            return source.laplace(centre, scale=self.scale, sensitivity=self.sensitivity)
        return source.gaussian(centre, sd=self.scale, sensitivity=self.sensitivity)

    def draw(self, size: int | tuple[int, ...], *, rng: np.random.Generator) -> Floats:
        """Return draws of the same law, to find out what it does to an interval; never part of a release."""
        if self.kind == "laplace":
            return rng.laplace(scale=self.scale, size=size)
        return rng.normal(scale=self.scale, size=size)

    def quantile(self, probability: float, *, sd: float) -> float:
        """Return the quantile of N(0, sd²) plus this noise: exact."""
        if self.kind == "laplace":
            return laplace_normal_quantile(probability, sd, self.scale)
        return laplace_normal_quantile(probability, float(np.hypot(sd, self.scale)), 0.0)


def gaussian_sd(l2: float, budget: Budget) -> float:
    """Return the sd of the analytic Gaussian mechanism for this ℓ2 sensitivity."""
    return Gaussian.calibrated(_sensitivity(l2, "l2", budget), epsilon=budget.epsilon, delta=budget.delta).sd


def _sensitivity(value: float, norm: Literal["l1", "l2"], budget: Budget) -> Sensitivity:
    return Sensitivity(value, norm, budget.adjacency)


def bootstrap_generator(source: Source) -> np.random.Generator:
    """Return a generator for simulating intervals: post-processing, which needs no safe noise."""
    return np.random.default_rng([int(word) for word in source.words(2)])
