"""What every regression family can do: fit, draw parameters, and weigh or draw the outcome.

    y_i | x_i, θ  ~  p(y | η_i, φ),    η_i = x_i' B,    θ = (B, φ)

B has one column per linear predictor; φ is whatever else the family needs (a variance, cutpoints, a dispersion). The
outcome is a working value for numbers, a position in the levels for levels, the count itself for counts.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from synthdp.evidence import Evidence
from synthdp.microdata import Floats

LOCATION_SD = 10.0


class FamilyDraw(Protocol):
    """One draw of a family's parameters θ."""

    @property
    def beta(self) -> Floats:
        """Coefficients of the design's d columns in each of r linear predictors, d × r."""
        ...

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return log p(y | η) of each record.

        Parameters
        ----------
        y
            n outcomes.
        eta
            n × r linear predictors.
        """
        ...

    def draw(self, eta: Floats, evidence: Evidence, *, rng: np.random.Generator) -> Floats:
        """Draw y of each record from the density proportional to p(y | η) · exp(evidence(y)), exactly."""
        ...

    def log_norm(self, eta: Floats, evidence: Evidence) -> Floats:
        """Return log ∫ p(y | η) exp(evidence(y)) dy of each record; evidence about a number is zero at its peak."""
        ...


@runtime_checkable
class LevelDraw(FamilyDraw, Protocol):
    """One draw of the parameters of a family whose outcome has finitely many values."""

    def log_levels(self, eta: Floats) -> Floats:
        """Return log p(level | η), n × levels."""
        ...

    def level_values(self) -> Floats:
        """Return the outcome's values, one per level."""
        ...

    def level_weights(self, evidence: Evidence) -> Floats:
        """Return what evidence says about each level, up to a constant per record, n × levels."""
        ...


@runtime_checkable
class NormalLike(FamilyDraw, Protocol):
    """One draw of the parameters of a regression y = η + e with normal e: Gaussian in y and in everything in η."""

    @property
    def variance(self) -> float:
        """The variance of e. No other family has a field of this name."""
        ...


class FamilyPosterior(Protocol):
    """p(θ | X, Z) of one regression."""

    def draw(self, *, rng: np.random.Generator) -> FamilyDraw:
        """Draw θ."""
        ...


class Family(Protocol):
    """A regression family as the model names it."""

    def fit(self, design: Floats, y: Floats, prior_sd: Floats, *, rng: np.random.Generator) -> FamilyPosterior:
        """Return the posterior of the parameters.

        Parameters
        ----------
        design
            n × d; the first column is the constant.
        y
            n outcomes.
        prior_sd
            Prior sd of each column's coefficient; infinite for the constant.
        """
        ...


def proper(prior_sd: Floats, location_sd: float = LOCATION_SD) -> Floats:
    """Return the prior sds with the infinite ones made finite.

    A level that nobody has, or an outcome that is always zero, would send a constant with a flat prior to infinity.
    """
    return np.where(np.isinf(prior_sd), location_sd, prior_sd)
