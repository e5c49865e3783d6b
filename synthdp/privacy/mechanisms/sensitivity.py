"""How far one record can move a statistic: from bounds that were fixed beforehand, never from the data.

Under ``replace`` one record is exchanged and n is public; under ``add_remove`` n differs by one. A count moves by 1
under both, a histogram by 2 (replace) or 1 (add_remove) in ℓ1.

Notes
-----
Two texts mix the notions. Biswal (2024, PhD thesis, U. Ottawa) defines neighbours by replacement but computes
sensitivities by deletion, in Example 2.1.3 and in all R code (Appendix A.0.1, whose loops also skip the first and the
last record); its Λ/n for a standard deviation (Example 5.5.2) is false, one changed record among equal ones moves it
by Λ/√n. Only sensitivities that follow from bounds are offered here.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy.events import Event, NonPrivate
from synthdp.privacy.guarantees import Adjacency, adjacency_of, positive
from synthdp.table.microdata import Floats

Norm = Literal["l1", "l2", "linf", "gauge", "discrete"]
"""``gauge``: the gauge of a convex body (K-norm); ``discrete``: 1 when two levels differ."""
Origin = Literal["config", "data", "paid"]
"""Where a bound comes from: fixed beforehand, read off the data, or released by a mechanism that was accounted for."""


@dataclass(frozen=True)
class Clipped:
    """Values moved into their bounds, and how many had to move."""

    values: Floats
    outside: int

    def sentence(self, where: str) -> str | None:
        """Return what was done, with the count and no value; None when nothing was."""
        if not self.outside:
            return None
        verb = "was" if self.outside == 1 else "were"
        return (
            f"{where}: {self.outside} of {len(self.values)} values {verb} outside the bounds and {verb} moved to them."
        )


@dataclass(frozen=True)
class Bounds:
    """The interval in which every value counts.

    Examples
    --------
    >>> Bounds(18, 90).clip(np.array([17.0, 40.0])).outside
    1
    """

    low: float
    high: float
    origin: Origin = "config"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InputError(f"bounds: must be finite and increasing, found [{self.low:g}, {self.high:g}].")

    @property
    def width(self) -> float:
        """The length of the interval."""
        return self.high - self.low

    @property
    def reach(self) -> float:
        """The largest absolute value."""
        return max(abs(self.low), abs(self.high))

    def clip(self, values: Floats) -> Clipped:
        """Move values into the bounds; missing values are refused because a mechanism cannot move them."""
        values = np.asarray(values, dtype=np.float64)
        missing = int(np.count_nonzero(np.isnan(values)))
        if missing:
            raise InputError(f"values: {missing} are missing; drop or fill them before the release.")
        inside = np.clip(values, self.low, self.high)
        return Clipped(inside, int(np.count_nonzero(inside != values)))


def required(bounds: Bounds | tuple[float, float] | None, where: str) -> Bounds:
    """Return the bounds, or say that they are missing."""
    if bounds is None:
        raise InputError(f"{where}: no bounds given; a DP release needs bounds fixed without looking at the data.")
    return bounds if isinstance(bounds, Bounds) else Bounds(*bounds)


@dataclass(frozen=True)
class Sensitivity:
    """How far one record can move the value.

    Parameters
    ----------
    value
        The largest distance between the values of two neighbouring data sets.
    norm
        The norm it is measured in.
    adjacency
        What neighbouring means.
    origin
        ``data`` makes every mechanism that uses it NonPrivate.
    """

    value: float
    norm: Norm
    adjacency: Adjacency
    origin: Origin = "config"

    def __post_init__(self) -> None:
        positive(self.value, "sensitivity")
        adjacency_of(self.adjacency)

    def __str__(self) -> str:
        return f"{self.norm} sensitivity {self.value:g} under {self.adjacency}"

    def within(self, norms: tuple[Norm, ...], where: str) -> None:
        """Refuse a sensitivity that is measured in another norm than the mechanism needs."""
        if self.norm not in norms:
            raise InputError(f"{where}: needs {' or '.join(norms)} sensitivity, found {self.norm}.")

    def whole(self, where: str) -> int:
        """Return the value as an integer, or refuse it."""
        if self.value != round(self.value):
            raise InputError(f"{where}: needs a whole-number sensitivity, found {self.value:g}.")
        return round(self.value)

    def guard(self, event: Event) -> Event:
        """Return the event, or NonPrivate when the sensitivity was read off the data."""
        if self.origin == "data":
            return NonPrivate("the sensitivity comes from the data and was not paid for")
        return event


def counting(adjacency: Adjacency, *, norm: Norm = "l1") -> Sensitivity:
    """Return the sensitivity of one count: 1 under both adjacencies."""
    return Sensitivity(1.0, norm, adjacency)


def table(adjacency: Adjacency, *, norm: Norm = "l1") -> Sensitivity:
    """Return the sensitivity of all counts of a fixed partition: ℓ1 2 or 1, ℓ2 √2 or 1, ℓ∞ 1."""
    cells = 2 if adjacency_of(adjacency) == "replace" else 1
    value = {"l1": float(cells), "l2": math.sqrt(cells), "linf": 1.0}.get(norm)
    if value is None:
        raise InputError(f"table: sensitivity is known in l1, l2 and linf, found {norm}.")
    return Sensitivity(value, norm, adjacency)


def total(bounds: Bounds | None, adjacency: Adjacency, *, norm: Norm = "l1") -> Sensitivity:
    """Return the sensitivity of a sum: the width of the bounds (replace) or their reach (add_remove)."""
    given = required(bounds, "sum")
    value = given.width if adjacency_of(adjacency) == "replace" else given.reach
    return Sensitivity(value, norm, adjacency, given.origin)


def mean(bounds: Bounds | None, n: int, adjacency: Adjacency, *, norm: Norm = "l1") -> Sensitivity:
    """Return width/n (replace, n public); under add_remove n is not public: release a sum and a count instead."""
    given = required(bounds, "mean")
    _size_public(adjacency, "mean")
    return Sensitivity(given.width / _records(n, 1), norm, adjacency, given.origin)


def variance(bounds: Bounds | None, n: int, adjacency: Adjacency, *, norm: Norm = "l1") -> Sensitivity:
    """Return width²/n for the sample variance with divisor n − 1 (replace): reached by one value unlike the others."""
    given = required(bounds, "variance")
    _size_public(adjacency, "variance")
    return Sensitivity(given.width**2 / _records(n, 2), norm, adjacency, given.origin)


def identity(bounds: Bounds | None, *, norm: Norm = "l1") -> Sensitivity:
    """Return the width of the bounds: one record's own value, released with noise (local model, replace)."""
    given = required(bounds, "identity")
    return Sensitivity(given.width, norm, "replace", given.origin)


def order_statistic(bounds: Bounds | None, adjacency: Adjacency, *, norm: Norm = "l1") -> Sensitivity:
    """Return the width of the bounds, the global sensitivity of a median or any quantile."""
    given = required(bounds, "quantile")
    return Sensitivity(given.width, norm, adjacency_of(adjacency), given.origin)


def _size_public(adjacency: Adjacency, where: str) -> None:
    if adjacency_of(adjacency) != "replace":
        raise InputError(
            f"{where}: under add_remove the number of records is itself secret; release a sum and a count, "
            "or use replace."
        )


def _records(n: int, least: int) -> int:
    if n < least:
        raise InputError(f"records: at least {least} needed, found {n}.")
    return n
