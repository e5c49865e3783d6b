r"""The mask of every record's columns: a budget of μ, and W.

Each of k columns gets μ_j = μ/√k, where μ-GDP is what (ε, δ) buys:

* a number, on the unit scale of its declared bounds, gets normal noise of sd 1/μ_j, which is μ_j-GDP;
* levels are exchanged by k-ary response with odds e^{ε_j}, ε_j = ln Φ(μ_j/2)/Φ(−μ_j/2).

Any ε-DP release is μ-GDP with μ = 2Φ⁻¹(e^ε/(1 + e^ε)): its trade-off function lies above the two straight lines that
meet at 1/(1 + e^ε), where G_μ touches them, and G_μ is convex. So all columns together are √Σμ_j² = μ-GDP.

References
----------
Dong, Roth, Su (2022), JRSS B 84(1), Corollary 3.3 (composition) and Proposition 2.4 (the trade-off function of ε-DP).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from synthdp.privacy.accounting.closed_forms import analytic_ratio
from synthdp.privacy.events import Composed, Event
from synthdp.privacy.mechanisms import Gaussian, Kary, Sensitivity, Source
from synthdp.synthesis.private.domain import Axis
from synthdp.table.microdata import Codes, Floats, Microdata

SHY = 1 - 1e-9
"""Budgets are divided and put together again; this keeps what rounding did below the claim."""


@dataclass(frozen=True)
class Channel:
    """What every record's values pass through, fixed by ε, δ and the declared domain alone.

    Parameters
    ----------
    mu
        What all columns together are, in Gaussian DP.
    levels, numbers
        The columns with levels, and those with numbers.
    """

    mu: float
    levels: tuple[Axis, ...]
    numbers: tuple[Axis, ...]

    @classmethod
    def of(cls, axes: Sequence[Axis], *, epsilon: float, delta: float) -> "Channel":
        """Return the channel that is (ε, δ)-DP."""
        return cls(
            SHY / analytic_ratio(epsilon, delta),
            tuple(axis for axis in axes if axis.column.kind.categorical),
            tuple(axis for axis in axes if not axis.column.kind.categorical),
        )

    @property
    def each(self) -> float:
        """The μ of one column."""
        return self.mu / math.sqrt(max(len(self.levels) + len(self.numbers), 1))

    @property
    def sd(self) -> float:
        """The sd of the noise of a number, in widths of its bounds."""
        return 1 / self.each

    @property
    def epsilon(self) -> float:
        """The ε of one column of levels."""
        return float(log_ndtr(self.each / 2) - log_ndtr(-self.each / 2))

    def matrices(self) -> list[Floats]:
        """Return the law of the answer given the level, for each column of levels."""
        return [self._kary(axis).matrix for axis in self.levels]

    def event(self) -> Event:
        """Return what was done, for the accountants."""
        done: list[Event] = [self._kary(axis).event() for axis in self.levels]
        if self.numbers:
            done.append(self._noise().event())
        return Composed(tuple(done))

    def masked(self, data: Microdata, *, source: Source) -> "Masked":
        """Return W: all that anything after it may look at. Cost O(nk)."""
        answers = [self._kary(axis).release(axis.encode(data), source=source) for axis in self.levels]
        shape = (len(data), len(self.numbers))
        unit = np.empty(shape)
        for j, axis in enumerate(self.numbers):
            low, high = axis.column.bounds or (0.0, 1.0)
            unit[:, j] = (np.clip(data.numbers(axis.column.name), low, high) - low) / (high - low)
        noisy = self._noise().release(unit, source=source) if self.numbers else unit
        return Masked(np.column_stack(answers) if answers else np.zeros((len(data), 0), dtype=np.int64), noisy)

    def _kary(self, axis: Axis) -> Kary:
        return Kary.calibrated(axis.size, epsilon=self.epsilon)

    def _noise(self) -> Gaussian:
        return Gaussian(Sensitivity(math.sqrt(len(self.numbers)), "l2", "replace"), self.sd)


@dataclass(frozen=True, repr=False)
class Masked:
    """W: answers of the columns with levels, and noisy numbers on the unit scale; a row for each record."""

    answers: Codes
    numbers: Floats

    def __len__(self) -> int:
        return len(self.answers)
