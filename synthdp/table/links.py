"""The working scale of a numeric column: where masks add noise and models are linear.

    t = (g(x) - center) / spread,   g(x) = x,  log(1 + x - lower bound)  or  (x - lower bound)^p

Center and spread are the column's own mean and standard deviation of g(x), so that a mask's ``sd`` is in units of the
column's sd and priors mean the same for every column.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from synthdp.arrays import mean_and_sd
from synthdp.table.coded import Coded
from synthdp.table.microdata import Floats, Microdata
from synthdp.table.schema import Column, Transform


@dataclass(frozen=True, repr=False)
class Link:
    """A monotone map between a column's values and its working scale."""

    center: float
    spread: float
    transform: Transform = "none"
    bounds: tuple[float, float] | None = None

    @classmethod
    def of(cls, data: Microdata, name: str) -> Self:
        """Return the link of one column of the data."""
        column = data.schema[name]
        plain = cls(0.0, 1.0, column.transform, column.bounds)
        values = plain.forward(data.numbers(name))
        return cls(*mean_and_sd(values), column.transform, column.bounds)

    def __repr__(self) -> str:
        return f"Link({self.transform})"

    def forward(self, values: Floats) -> Floats:
        """Return values on the working scale."""
        if self.transform == "log":
            values = np.log1p(values - self._zero())
        elif not isinstance(self.transform, str):
            values = (values - self._zero()) ** self.transform
        return (values - self.center) / self.spread

    def inverse(self, working: Floats) -> Floats:
        """Return working values on the column's own scale."""
        values = working * self.spread + self.center
        if self.transform == "log":
            return np.asarray(np.expm1(values) + self._zero())
        if not isinstance(self.transform, str):
            return np.asarray(np.maximum(values, 0.0) ** (1 / self.transform) + self._zero())
        return values

    def _zero(self) -> float:
        return self.bounds[0] if self.bounds is not None else 0.0

    def limits(self) -> tuple[float, float]:
        """Return the column's bounds on the working scale; infinite where it has none."""
        if self.bounds is None:
            return (-np.inf, np.inf)
        low, high = self.forward(np.asarray(self.bounds))
        return (float(low), float(high))

    def width(self) -> float:
        """Return the width of the bounds on the working scale."""
        low, high = self.limits()
        return high - low


def working(file: Coded, column: Column, link: Link | None) -> Floats:
    """Return a column on its working scale, positions in the levels where it has no link; missing is NaN."""
    return file.values(column) if link is None else link.forward(file.numbers(column))
