"""A relation as it is told, and a column as it is looked at."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from synthdp.microdata import Codes, Floats, Microdata
from synthdp.schema import Column

RelationKind = Literal["monotone", "coarsening", "function", "determines", "formula", "near-copy"]

FEWEST_RECORDS = 30
NEAR_R2 = 0.99


@dataclass(frozen=True)
class Relation:
    """A kept column, what it gives away, and how.

    Parameters
    ----------
    kind
        ``monotone`` (the same order), ``coarsening`` (ranges of it), ``function`` (any function of it),
        ``determines`` (the replaced column is a function of the kept one), ``formula`` (a product, ratio or sum of
        several columns) or ``near-copy``.
    kept, replaced
        The columns; ``replaced`` may name two, of which one at least is replaced.
    """

    kind: RelationKind
    kept: str
    replaced: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Whether no record contradicts it."""
        return self.kind != "near-copy"

    @property
    def sentence(self) -> str:
        """What is the matter, and what to do."""
        names = " and ".join(self.replaced)
        what = {
            "monotone": f"it is a function of {names}",
            "coarsening": f"it is a coarsening (a function) of {names}",
            "function": f"it is a function of {names}",
            "determines": f"it determines {names}",
            "formula": f"it is a function of {names}",
            "near-copy": f"it is nearly a copy of {names}",
        }[self.kind]
        which = "which is replaced" if len(self.replaced) == 1 else "of which one at least is replaced"
        cure = "replace it too, set role: drop"
        cure += ", or derived: with its formula." if self.kind not in ("determines", "near-copy") else "."
        return f"variables.{self.kept}: kept, but {what}, {which}: it would undo the mask; {cure}"


@dataclass(frozen=True, repr=False)
class Values:
    """A column as ranks of its distinct values (-1 for missing) and, where it has numbers, as those."""

    ranks: Codes
    numbers: Floats | None
    ordered: bool
    decimals: int | None

    @classmethod
    def of(cls, data: Microdata, column: Column) -> "Values":
        """Return a column of the data as its ranks and numbers."""
        if column.kind.categorical:
            numeric = pd.api.types.is_numeric_dtype(data.frame[column.name])
            return cls(data.codes(column.name), None, numeric or len(column.levels) == 2, None)
        numbers = data.numbers(column.name)
        ranks, _ = pd.factorize(pd.Series(numbers), sort=True)
        return cls(np.asarray(ranks, dtype=np.int64), numbers, True, column.decimals)

    def distinct(self) -> int:
        """Return how many values there are."""
        return len(np.unique(self.ranks))


def correlation(x: Floats, y: Floats) -> float:
    """Return Pearson's correlation, 0 for a constant."""
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale > 0 else 0.0
