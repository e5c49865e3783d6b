"""Sequential regressions under constraints: the chain of ``truncation`` for regressions that are drawn forward.

    θ | records and rejected          every column's regression, of the longer table
    rejected | θ                      for each record: forward draws up to the first that keeps the constraints

θ is a draw for every copy, never an estimate: the regressions are proper, whatever ``proper`` says.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np
import pandas as pd

from synthdp.imputation.forward import ColumnModel, Regressions
from synthdp.microdata import Codes, Floats
from synthdp.synthesis.pace import Pace, settle
from synthdp.synthesis.trying import MOST_REJECTED, Tried, Tries, believed, breaking, tries

Theta = dict[str, ColumnModel]


@dataclass(frozen=True, repr=False)
class TruncatedSequence:
    """The posterior of all regressions given records that all keep the constraints.

    Parameters
    ----------
    regressions
        Fitted to the records alone.
    rejected, pace
        As :class:`~synthdp.synthesis.truncation.Truncated` has them.
    """

    regressions: Regressions
    constraints: tuple[str, ...]
    rejected: Tried
    pace: Pace = field(default_factory=Pace)

    @classmethod
    def of(cls, regressions: Regressions, constraints: tuple[str, ...], *, rng: np.random.Generator) -> Self:
        """Return the posterior, its chain run until it has settled.

        Raises
        ------
        Seldom
            When the model hardly ever draws what is asked for.
        """
        nothing = Tried(np.empty(0, dtype=np.int64), {}, regressions.data.frame.head(0))
        found = cls(regressions, constraints, nothing)

        def turn(rejected: Tried) -> tuple[Tried, Floats]:
            theta, new = found.turn(rejected, rng=rng)
            return new, np.concatenate([column.numbers() for column in theta.values()])

        first = believed(lambda: _drawn(regressions, rng=rng), partial(found.reject, rng=rng))[1]
        rejected, pace = settle(first, turn)
        return replace(found, rejected=rejected, pace=pace)

    def __repr__(self) -> str:
        return f"TruncatedSequence({self.rejected})"

    def draw(self, *, rng: np.random.Generator) -> pd.DataFrame:
        """Return a copy: θ drawn some turns further along the chain, then the records until they keep them."""
        rejected = self.rejected
        for _ in range(self.pace.apart):
            theta, rejected = self.turn(rejected, rng=rng)
        last = self._tried(theta, rng=rng).last()
        return last.table().take(np.argsort(last.rows)).set_axis(self.regressions.data.frame.index)

    def turn(self, rejected: Tried, *, rng: np.random.Generator) -> tuple[Theta, Tried]:
        """Return θ drawn given what was rejected, and what θ rejects."""
        longer = self.regressions.longer(rejected.rows, rejected.table())
        return believed(lambda: _drawn(longer, rng=rng), partial(self.reject, rng=rng))

    def reject(self, theta: Theta, *, rng: np.random.Generator) -> Tried:
        """Draw every record until the constraints hold, and return the draws before that one."""
        return self._tried(theta, rng=rng, most=MOST_REJECTED).vain()

    def _tried(self, theta: Theta, *, rng: np.random.Generator, most: float = np.inf) -> Tries:
        def draw(rows: Codes) -> Tried:
            copy = self.regressions.some(rows)
            for column in theta.values():
                column.draw(copy, rng=rng)
            return Tried(rows, {}, copy.frame)

        return tries(np.arange(len(self.regressions.data)), draw, breaking(self.constraints), most=most)


def _drawn(regressions: Regressions, *, rng: np.random.Generator) -> Theta:
    return {name: regressions.fit(name, rng=rng) for name in regressions.visits}
