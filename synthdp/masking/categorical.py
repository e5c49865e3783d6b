"""Masks of columns with levels: the shifted normal, and the transition matrix (PRAM).

References
----------
Jiang, Raftery, Steele, Wang (2022), JASA 117(537), section 3 (masking model for categorical quasi-identifiers).
Gouweleeuw, Kooiman, Willenborg, de Wolf (1998), J. Official Statistics 14(4), section 2.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from synthdp.masking.evidence import LevelEvidence, draw_levels
from synthdp.masking.mask import Target, two_digits
from synthdp.privacy import events
from synthdp.table.microdata import Floats
from synthdp.table.schema import Column, Kind, Settings


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

    def event(self, target: Target) -> events.MaskEvent:
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

    def wider(self, factor: float, levels: int) -> Self:
        """Return the mask with levels closer to each other."""
        return self.model_copy(update={"alpha": two_digits(self.alpha / factor)}) if self.alpha else self


@dataclass(frozen=True, repr=False)
class TransitionMask:
    """W is a level drawn from the row of the true level."""

    log_matrix: Floats

    def draw(self, x: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw the masked level."""
        return draw_levels(self.log_matrix[x.astype(np.int64)], rng=rng).astype(np.float64)

    def log_likelihood(self, w: Floats, x: Floats) -> Floats:
        """Return log π_xw."""
        return self.log_matrix[x.astype(np.int64), w.astype(np.int64)]

    def evidence(self, w: Floats) -> LevelEvidence:
        """Return the log likelihood of every level; missing W says nothing."""
        known = np.isfinite(w)
        weights = self.log_matrix[:, np.where(known, w, 0.0).astype(np.int64)].T
        return LevelEvidence(np.where(known[:, None], weights, 0.0))


class Transition(Settings):
    """A transition matrix for a categorical column.

    Parameters
    ----------
    keep
        Probability that the level stays; the others share the rest equally.
    matrix
        Row u holds P(W = v | X = u) over the levels v, in schema order.

    Examples
    --------
    >>> Transition(keep=0.8).describe()
    'transition matrix, level kept with probability 0.8'
    """

    method: Literal["transition"] = "transition"
    keep: float | None = Field(default=None, gt=0, lt=1)
    matrix: tuple[tuple[float, ...], ...] | None = None

    @model_validator(mode="after")
    def _valid(self) -> Self:
        if (self.keep is None) == (self.matrix is None):
            raise ValueError("give either keep or matrix")
        if self.matrix is not None:
            size = len(self.matrix)
            for u, row in enumerate(self.matrix):
                if len(row) != size or min(row) < 0 or abs(sum(row) - 1) > 1e-9:
                    raise ValueError(f"matrix row {u + 1} must hold {size} probabilities that sum to 1")
        return self

    def probabilities(self, levels: int) -> Floats:
        """Return the matrix for a number of levels."""
        if self.matrix is not None:
            return np.asarray(self.matrix, dtype=np.float64)
        keep = self.keep or 0.0
        matrix = np.full((levels, levels), (1 - keep) / (levels - 1))
        np.fill_diagonal(matrix, keep)
        return matrix

    def bind(self, target: Target) -> TransitionMask:
        """Return the mask for a column's levels."""
        with np.errstate(divide="ignore"):
            return TransitionMask(np.log(self.probabilities(len(target.column.levels))))

    def event(self, target: Target) -> events.MaskEvent:
        """Return ε-DP with ε = ln max_v max_{u,u'} π_uv / π_u'v."""
        matrix = self.probabilities(len(target.column.levels))
        high, low = matrix.max(axis=0), matrix.min(axis=0)
        if np.any((low == 0) & (high > 0)):
            return events.NonPrivate("some masked level rules out a true level")
        used = high > 0
        return events.Pure(float(np.log(np.max(high[used] / low[used]))))

    def describe(self) -> str:
        """Return the mask in plain words."""
        if self.keep is not None:
            return f"transition matrix, level kept with probability {self.keep:g}"
        return "transition matrix given in full"

    def suits(self, column: Column) -> str | None:
        """Return why this mask does not fit the column, or None if it does."""
        if not column.kind.categorical:
            return f"transition masks levels, this column is {column.kind}"
        if self.matrix is not None and len(self.matrix) != len(column.levels):
            return f"the matrix has {len(self.matrix)} rows, the column {len(column.levels)} levels"
        return None

    def depends_on_neighbours(self) -> bool:
        """Return whether the strength differs with the number of neighbours."""
        return False

    def wider(self, factor: float, levels: int) -> Self:
        """Return the mask that keeps fewer levels: towards the blind guess, which keeps one in as many as there are."""
        if self.keep is None:
            return self
        return self.model_copy(update={"keep": two_digits(1 / levels + (self.keep - 1 / levels) / factor)})
