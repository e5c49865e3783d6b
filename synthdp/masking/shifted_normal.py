"""Shifted normal: W = α·X + u, u ~ N(0, 1), X the position in the levels.

References
----------
Jiang, Raftery, Steele, Wang (2022), JASA 117(537), section 3 (masking model for categorical quasi-identifiers).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from synthdp.evidence import LevelEvidence
from synthdp.masking.protocol import Target
from synthdp.microdata import Floats
from synthdp.privacy import events
from synthdp.schema import Column, Kind, Settings


@dataclass(frozen=True, repr=False)
class ShiftedNormalMask:
    """W ~ N(α·level, 1)."""

    alpha: float
    levels: int

    def draw(self, x: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw W."""
        return self.shift(x) + rng.standard_normal(len(x))

    def log_likelihood(self, w: Floats, x: Floats) -> Floats:
        """Return log N(w; αx, 1)."""
        return np.asarray(-0.5 * (w - self.alpha * x) ** 2 - 0.5 * np.log(2 * np.pi))

    def evidence(self, w: Floats) -> LevelEvidence:
        """Return the log likelihood of every level; missing W says nothing."""
        positions = self.alpha * np.arange(self.levels)
        weights = -0.5 * (np.where(np.isfinite(w), w, 0.0)[:, None] - positions) ** 2
        return LevelEvidence(np.where(np.isfinite(w)[:, None], weights, 0.0))

    def shift(self, x: Floats) -> Floats:
        """Return the expectation of W."""
        return self.alpha * x

    def noise_sd(self, n: int) -> Floats:
        """Return the sd of W for each of n records."""
        return np.ones(n)


class ShiftedNormal(Settings):
    """A shifted normal for a binary column; α = 0 says nothing, large α gives the value away.

    Examples
    --------
    >>> ShiftedNormal(alpha=1.5).describe()
    'shifted normal, alpha 1.5'
    """

    method: Literal["shifted_normal"] = "shifted_normal"
    alpha: float = Field(ge=0)

    def bind(self, target: Target) -> ShiftedNormalMask:
        """Return the mask for a column's levels."""
        return ShiftedNormalMask(self.alpha, len(target.column.levels))

    def event(self, target: Target) -> events.Event:
        """Return μ-GDP with μ = (levels − 1)·α: the largest shift between two levels over unit noise."""
        return events.Gaussian((len(target.column.levels) - 1) * self.alpha)

    def describe(self) -> str:
        """Return the mask in plain words."""
        return f"shifted normal, alpha {self.alpha:g}"

    def suits(self, column: Column) -> str | None:
        """Return why this mask does not fit the column, or None if it does."""
        if column.kind in (Kind.BINARY, Kind.ORDINAL):
            return None
        return f"shifted_normal masks binary columns, this one is {column.kind}"

    def depends_on_neighbours(self) -> bool:
        """Return whether the strength differs with the number of neighbours."""
        return False
