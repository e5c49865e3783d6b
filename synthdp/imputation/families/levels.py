"""Outcomes with finitely many values: evidence as one log weight per value, and the draw."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from synthdp.evidence import Evidence, GaussianEvidence, LevelEvidence, draw_levels, log_sum
from synthdp.microdata import Floats

CELLS_AT_ONCE = 2**18


def blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices of n rows that hold a bounded number of cells of ``width`` columns, few enough for the cache.

    >>> list(blocks(3, 2**17))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    rows = max(1, CELLS_AT_ONCE // max(width, 1))
    for start in range(0, n, rows):
        yield slice(start, min(start + rows, n))


class Enumerated(ABC):
    """A drawn regression whose outcome can be enumerated: with ``log_levels`` everything else follows."""

    @abstractmethod
    def log_levels(self, eta: Floats) -> Floats:
        """Return log p(level | η), n × levels."""

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
