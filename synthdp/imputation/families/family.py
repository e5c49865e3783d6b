"""What every regression family can do.

Fit, draw parameters, and weigh or draw the outcome; outcomes with finitely many values.

    y_i | x_i, θ  ~  p(y | η_i, φ),    η_i = x_i' B,    θ = (B, φ)

B has one column per linear predictor; φ is whatever else the family needs (a variance, cutpoints, a dispersion). The
outcome is a working value for numbers, a position in the levels for levels, the count itself for counts.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from synthdp.masking.evidence import Evidence, GaussianEvidence, LevelEvidence, draw_levels, log_sum
from synthdp.table.microdata import Floats

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

    def add_log_density(self, log_weights: Floats, added: Floats, rest: Floats, y: Floats) -> None:
        """Add log p(y | rest + added) for each column of ``added``, up to a constant per record.

        Parameters
        ----------
        log_weights
            levels × n; changed in place.
        added, rest
            What each level of another column adds to the linear predictors, r × levels, and what all else makes them,
            r × n.
        y
            n outcomes.
        """
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


CELLS_AT_ONCE = 2**18


def blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices of n rows that hold a bounded number of cells of ``width`` columns, few enough for the cache.

    >>> list(blocks(3, 2**17))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    rows = max(1, CELLS_AT_ONCE // max(width, 1))
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


class Regressed(ABC):
    """A drawn regression that is weighed level by level, where it knows no quicker way."""

    @abstractmethod
    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return log p(y | η) of each record."""

    def add_log_density(self, log_weights: Floats, added: Floats, rest: Floats, y: Floats) -> None:
        """Add log p(y | rest + added) for each column of ``added``, up to a constant per record."""
        for level, shift in enumerate(added.T):
            log_weights[level] += self.log_density(y, (rest + shift[:, None]).T)


class Enumerated(Regressed):
    """A drawn regression whose outcome can be enumerated: with ``log_levels`` everything else follows."""

    @abstractmethod
    def log_levels(self, eta: Floats) -> Floats:
        """Return log p(level | η), n × levels."""

    def log_weights(self, eta: Floats) -> Floats:
        """Return log p(level | η) up to a constant for each record, levels × n: a chain needs no more."""
        return np.ascontiguousarray(self.log_levels(eta).T)

    @abstractmethod
    def level_values(self) -> Floats:
        """Return the outcome's values, one per level."""

    def working_values(self) -> Floats | None:
        """Return the values on the working scale, for families that take Gaussian evidence."""
        return None

    def level_weights(self, evidence: Evidence) -> Floats:
        """Return what evidence says about each level, up to a constant per record, n × levels.

        Gaussian evidence gives the working value t the log weight -precision · (t - mean)² / 2, which stays exact at
        any precision.
        """
        if isinstance(evidence, LevelEvidence):
            return evidence.log_weights
        working = self.working_values()
        if isinstance(evidence, GaussianEvidence) and working is not None:
            return np.asarray(-0.5 * evidence.precision[:, None] * (working - evidence.mean()[:, None]) ** 2)
        raise TypeError(
            f"this family draws levels and needs evidence about a level, found evidence about a {evidence.axis}"
        )

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return log p(y | η) of each record."""
        own = y.astype(np.int64)[:, None]
        return np.asarray(np.take_along_axis(self.log_levels(eta), own, axis=1)[:, 0])

    def log_norm(self, eta: Floats, evidence: Evidence) -> Floats:
        """Return the log of the summed weights p(y | η) · exp(evidence(y)). Cost O(n · levels)."""
        found = np.empty(len(eta))
        for rows in blocks(len(eta), len(self.level_values())):
            log_weights = self.log_levels(eta[rows]) + self.level_weights(evidence[rows])
            found[rows] = log_sum(log_weights)
        return found

    def draw(self, eta: Floats, evidence: Evidence, *, rng: np.random.Generator) -> Floats:
        """Draw y with probability proportional to p(y | η) · exp(evidence(y)). Cost O(n · levels)."""
        drawn, values = np.empty(len(eta)), self.level_values()
        for rows in blocks(len(eta), len(values)):
            log_weights = self.log_levels(eta[rows]) + self.level_weights(evidence[rows])
            drawn[rows] = values[draw_levels(log_weights, rng=rng)]
        return drawn
