from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from synthdp.masking.evidence import LevelEvidence
from synthdp.masking.mask import Target
from synthdp.privacy import events
from synthdp.table.microdata import Floats
from synthdp.table.schema import Column, Kind, Settings


@dataclass(frozen=True, repr=False)
class ShiftedLaplaceMask:
    alpha: float
    levels: int

    def draw(self, x: Floats, *, rng: np.random.Generator) -> Floats:
        return self.alpha * x + rng.laplace(size=len(x))

    def log_likelihood(self, w: Floats, x: Floats) -> Floats:
        return np.asarray(-np.abs(w - self.alpha * x) - np.log(2))

    def evidence(self, w: Floats) -> LevelEvidence:
        weights = -np.abs(w[:, None] - self.alpha * np.arange(self.levels))
        return LevelEvidence(np.where(np.isfinite(w)[:, None], weights, 0.0))


class ShiftedLaplace(Settings):
    method: Literal["shifted_laplace"] = "shifted_laplace"
    alpha: float = Field(ge=0)

    def bind(self, target: Target) -> ShiftedLaplaceMask:
        return ShiftedLaplaceMask(self.alpha, len(target.column.levels))

    def event(self, target: Target) -> events.MaskEvent:
        return events.Pure((len(target.column.levels) - 1) * self.alpha)

    def describe(self) -> str:
        return f"shifted Laplace, alpha {self.alpha:g}"

    def suits(self, column: Column) -> str | None:
        return None if column.kind is Kind.BINARY else f"shifted_laplace is for binary columns, not {column.kind}"

    def depends_on_neighbours(self) -> bool:
        return False

    def wider(self, factor: float, levels: int) -> "ShiftedLaplace":
        return ShiftedLaplace(alpha=self.alpha / factor)
