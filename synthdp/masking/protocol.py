"""What every mask can do."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from synthdp.evidence import Evidence
from synthdp.links import Link
from synthdp.microdata import Codes, Floats
from synthdp.privacy.events import Event
from synthdp.schema import Column


@dataclass(frozen=True, repr=False)
class Target:
    """The column a mask is applied to, seen on its working scale.

    Parameters
    ----------
    column
        What the column is.
    link
        The working scale of a numeric column; None for levels.
    neighbours
        How many records share each record's key values, itself included.
    """

    column: Column
    link: Link | None
    neighbours: Codes


class Mask(Protocol):
    """W given X, with the strength of every record fixed: a known conditional distribution p(w | x, λ).

    ``x`` is the working value of a numeric column, or the position in the levels of a categorical one.
    """

    def draw(self, x: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw W ~ p(w | x, λ)."""
        ...

    def log_likelihood(self, w: Floats, x: Floats) -> Floats:
        """Return log p(w | x, λ)."""
        ...

    def evidence(self, w: Floats) -> Evidence:
        """Return what W says about X: the log likelihood as a function of x, up to a constant."""
        ...


@runtime_checkable
class AdditiveMask(Protocol):
    """A mask W = shift(x) + noise_sd · u with u standard normal, whose noise can be orthogonalised in sample."""

    def shift(self, x: Floats) -> Floats:
        """Return the expectation of W."""
        ...

    def noise_sd(self, n: int) -> Floats:
        """Return the sd of W for each of n records."""
        ...


class MaskSettings(Protocol):
    """A mask as the user writes it; bound to a column it becomes a Mask."""

    def bind(self, target: Target) -> Mask:
        """Return the mask with every record's strength fixed."""
        ...

    def event(self, target: Target) -> Event:
        """Return what one draw of this mask is, formally."""
        ...

    def describe(self) -> str:
        """Return the mask in plain words."""
        ...

    def suits(self, column: Column) -> str | None:
        """Return why this mask does not fit the column, or None if it does."""
        ...

    def depends_on_neighbours(self) -> bool:
        """Return whether the strength differs with the number of neighbours."""
        ...
