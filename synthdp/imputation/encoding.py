"""How a replaced column enters the regressions of the columns after it."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from synthdp.microdata import Floats


class Encoding(Protocol):
    """A map from a column's working value to the columns of a design matrix."""

    @property
    def width(self) -> int:
        """How many columns."""
        ...

    def columns(self, x: Floats) -> Floats:
        """Return n × width."""
        ...


@dataclass(frozen=True)
class AsNumber:
    """The value itself, standardised: numbers, counts and binary columns."""

    center: float = 0.0
    spread: float = 1.0

    @property
    def width(self) -> int:
        """One column."""
        return 1

    def columns(self, x: Floats) -> Floats:
        """Return the value as one column."""
        return (x[:, None] - self.center) / self.spread


@dataclass(frozen=True)
class AsIndicators:
    """An indicator for every level but the first: nominal and ordinal columns."""

    levels: int

    @property
    def width(self) -> int:
        """One column per level but the first."""
        return self.levels - 1

    def columns(self, x: Floats) -> Floats:
        """Return the indicators."""
        return np.asarray(x[:, None] == np.arange(1, self.levels), dtype=np.float64)


@dataclass(frozen=True)
class AsTwoParts:
    """Whether the value is off its point mass, and how large it then is: semicontinuous columns."""

    point: float

    @property
    def width(self) -> int:
        """Two columns."""
        return 2

    def columns(self, x: Floats) -> Floats:
        """Return the indicator and the value where it applies."""
        off = x != self.point
        return np.column_stack([off.astype(np.float64), np.where(off, x, 0.0)])
