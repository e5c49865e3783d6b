"""The working scale of a numeric column: where masks add noise and models are linear.

    t = (g(x) - center) / spread,   g(x) = x   or   log(1 + x - lower bound)

Center and spread are the column's own mean and standard deviation of g(x), so that a mask's ``sd`` is in units of the
column's sd and priors mean the same for every column.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from synthdp.microdata import Floats, Microdata


@dataclass(frozen=True, repr=False)
class Link:
    """A monotone map between a column's values and its working scale."""

    center: float
    spread: float
    log_from: float | None = None
    bounds: tuple[float, float] | None = None

    @classmethod
    def of(cls, data: Microdata, name: str) -> Self:
        """Return the link of one column of the data."""
        column = data.schema[name]
        values = data.numbers(name)
        log_from = None
        if column.transform == "log" and column.bounds is not None:
            log_from = column.bounds[0]
            values = np.log1p(values - log_from)
        present = values[np.isfinite(values)]
        return cls(float(present.mean()), float(present.std()), log_from, column.bounds)

    def __repr__(self) -> str:
        return f"Link({'log' if self.log_from is not None else 'linear'})"

    def forward(self, values: Floats) -> Floats:
        """Return values on the working scale."""
        if self.log_from is not None:
            values = np.log1p(values - self.log_from)
        return (values - self.center) / self.spread

    def inverse(self, working: Floats) -> Floats:
        """Return working values on the column's own scale."""
        values = working * self.spread + self.center
        if self.log_from is not None:
            values = np.expm1(values) + self.log_from
        return values

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
