"""How strong a mask is, in one unit for all kinds of columns, and the mask of a given strength.

The unit is u = sd of the noise over sd of the column. A Gaussian mask says it outright. A shifted normal with levels α
apart has noise of sd 1 on positions of sd α·s, so u = 1/(α·s), s being the sd of the positions of the levels. A
transition matrix that keeps a level with probability k has a second eigenvalue (L·k − 1)/(L − 1), which is the
correlation of W and X where levels are equally frequent; a Gaussian mask has the correlation 1/√(1 + u²), so that one
is set equal to the other.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from synthdp.config.settings import AnyMask
from synthdp.masking.categorical import ShiftedNormal, Transition
from synthdp.masking.gaussian import Gaussian
from synthdp.masking.mask import two_digits
from synthdp.table.coded import coded
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Column, Kind

# of a graded mask: sd·√(c / s_i), s_i from so many neighbours on (reports/registry: fewer matches at the same overlap)
GRADED, FEWEST = 30.0, 8


@dataclass(frozen=True)
class Masked:
    """A column whose mask is tuned.

    Parameters
    ----------
    name, levels
        The column, and how many levels it has; 0 for numbers.
    key
        Whether an intruder is taken to know it.
    spread
        Standard deviation of the positions of its levels; 1 for numbers, which have a working scale of their own.
    given
        The mask that the config has.
    """

    name: str
    levels: int
    key: bool
    spread: float
    given: AnyMask

    @property
    def gradable(self) -> bool:
        """Whether the noise may grow with the number of neighbours."""
        return isinstance(self.given, Gaussian)

    def of(self, strength: float, *, graded: bool = False) -> AnyMask:
        """Return the mask of a strength, its figure as a person would write it.

        Examples
        --------
        >>> Masked("age", 0, True, 1.0, Gaussian(sd=1)).of(0.5).sd
        0.5
        >>> Masked("sex", 2, True, 0.5, ShiftedNormal(alpha=1)).of(0.5).alpha
        4.0
        >>> Masked("area", 4, True, 1.0, Transition(keep=0.6)).of(1.0).keep
        0.78
        """
        given = self.given
        if isinstance(given, Gaussian):
            # that strength at as many neighbours as count at least, so that grading only takes noise off
            grown = math.sqrt(FEWEST / GRADED) if graded else 1.0
            more = {"graded": GRADED, "fewest": FEWEST} if graded else {}
            return Gaussian(method="gaussian", sd=two_digits(strength * grown), **more)
        if isinstance(given, ShiftedNormal):
            return ShiftedNormal(method="shifted_normal", alpha=two_digits(1.0 / (strength * self.spread)))
        if isinstance(given, Transition):
            correlation = 1.0 / math.sqrt(1.0 + strength**2)
            kept = (1 + correlation * (self.levels - 1)) / self.levels
            return Transition(method="transition", keep=two_digits(min(kept, 0.99)))
        return given.wider(strength, max(2, self.levels))

    def strength(self) -> float:
        """Return how strong the config's own mask is; 1 where it has no figure that says so."""
        given = self.given
        if isinstance(given, Gaussian) and given.sd is not None:
            return given.sd / math.sqrt(given.copies)
        if isinstance(given, ShiftedNormal) and given.alpha > 0:
            return 1.0 / (given.alpha * self.spread)
        if isinstance(given, Transition) and given.keep is not None and given.keep * self.levels > 1:
            correlation = (self.levels * given.keep - 1) / (self.levels - 1)
            return math.sqrt(1.0 / min(correlation, 0.999) ** 2 - 1)
        return 1.0


def masked_columns(data: Microdata, masks: Mapping[str, AnyMask]) -> tuple[Masked, ...]:
    """Return the columns whose masks are tuned: those that are masked.

    A transition matrix that is written out in full has no strength, and stays as it is.
    """
    replaced = {column.name: column for column in data.schema.replaced()}
    found = []
    for name, mask in masks.items():
        if name not in replaced or (isinstance(mask, Transition) and mask.keep is None):
            continue
        column = replaced[name]
        found.append(Masked(name, len(column.levels), column.key, _spread(data, column), mask))
    return tuple(found)


def usual_masks(data: Microdata, but: Collection[str] = ()) -> dict[str, AnyMask]:
    """Return masks for the replaced columns to which a config gives none: ``but`` names those that have one."""
    return {column.name: _usual(column) for column in data.schema.replaced() if column.name not in but}


def _usual(column: Column) -> AnyMask:
    if not column.kind.categorical:
        return Gaussian(method="gaussian", sd=1.0)
    # the method is written out: what a config says of itself leaves out what nobody wrote
    if column.kind is Kind.NOMINAL:
        return Transition(method="transition", keep=0.6)
    return ShiftedNormal(method="shifted_normal", alpha=1.0)


def _spread(data: Microdata, column: Column) -> float:
    if not column.kind.categorical:
        return 1.0
    place = coded(data.frame).codes(column)
    known = place[place >= 0]
    return float(np.std(known)) or 1.0 if len(known) else 1.0
