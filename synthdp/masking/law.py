"""A mask of levels given by its law alone: how W is drawn, and how likely it is. The rest follows.

p(x | w)  ∝  p(x) · p(w | x, λ),        so what W says of x is  log p(w | x, λ)  at every level x.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from synthdp.masking.evidence import LevelEvidence
from synthdp.masking.mask import Target
from synthdp.privacy import events
from synthdp.table.microdata import Floats
from synthdp.table.schema import Column, Settings


class LevelMask(Settings):
    """A mask of a column with levels, whose author writes ``draw`` and ``log_likelihood``; nothing formal is claimed.

    A subclass names itself in ``method: Literal[…]`` and has its strength as fields. It may override ``event``, where
    something can be proved of one draw, and ``suits``.

    Examples
    --------
    >>> from typing import Literal
    >>> class Coin(LevelMask):
    ...     method: Literal["coin"] = "coin"
    ...     truth: float
    ...     def draw(self, x, levels, *, rng):
    ...         return np.where(rng.random(len(x)) < self.truth, x, rng.integers(levels, size=len(x)))
    ...     def log_likelihood(self, w, x, levels):
    ...         return np.log((1 - self.truth) / levels + self.truth * (w == x))
    >>> Coin(truth=0.5).describe()
    'coin, truth 0.5'
    """

    if TYPE_CHECKING:
        method: str

    def draw(self, x: Floats, levels: int, *, rng: np.random.Generator) -> Floats:
        """Draw W ~ p(w | x, λ), x a position among so many levels."""
        raise NotImplementedError

    def log_likelihood(self, w: Floats, x: Floats, levels: int) -> Floats:
        """Return log p(w | x, λ) up to nothing: it integrates, or sums, to one over w."""
        raise NotImplementedError

    def event(self, target: Target) -> events.MaskEvent:
        """Return what one draw is, formally."""
        return events.NonPrivate(f"nothing was shown of the mask {self.method}")

    def bind(self, target: Target) -> "BoundLevelMask":
        """Return the mask for a column's levels."""
        return BoundLevelMask(self, len(target.column.levels))

    def describe(self) -> str:
        """Return the mask in plain words."""
        strength = {name: value for name, value in self.model_dump().items() if name != "method"}
        return ", ".join([self.method.replace("_", " "), *(f"{name} {value}" for name, value in strength.items())])

    def suits(self, column: Column) -> str | None:
        """Return why this mask does not fit the column, or None if it does."""
        return (
            None if column.kind.categorical else f"{self.method} masks columns with levels, this one is {column.kind}"
        )

    def depends_on_neighbours(self) -> bool:
        """Return whether the strength differs with the number of neighbours."""
        return False

    def wider(self, factor: float, levels: int) -> Self:
        """Return the mask as it is: what makes it wider is known to its author only."""
        return self


@dataclass(frozen=True, repr=False)
class BoundLevelMask:
    """The law at a column with so many levels."""

    law: LevelMask
    levels: int

    def draw(self, x: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw W."""
        return np.asarray(self.law.draw(x, self.levels, rng=rng), dtype=np.float64)

    def log_likelihood(self, w: Floats, x: Floats) -> Floats:
        """Return log p(w | x, λ)."""
        return np.asarray(self.law.log_likelihood(w, x, self.levels), dtype=np.float64)

    def evidence(self, w: Floats) -> LevelEvidence:
        """Return the log likelihood of every level; missing W says nothing."""
        known = np.isfinite(w)
        filled = np.where(known, w, 0.0)
        each = [self.log_likelihood(filled, np.full(len(w), float(level))) for level in range(self.levels)]
        return LevelEvidence(np.where(known[:, None], np.column_stack(each), 0.0))
