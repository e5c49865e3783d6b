"""Maskings by rank: values exchanged between neighbours in rank, and the ends shown as one value.

References
----------
Moore (1996), Controlled data-swapping techniques, US Bureau of the Census RR 96-04 (rank swapping within a range p).
"""

import math
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from synthdp.synthesis.maskings.masking import Numeric
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column

TRIES = 32


class RankSwap(Numeric):
    """Every number exchanged with one whose rank is near; the column's distribution stays exactly.

    Parameters
    ----------
    reach
        How far apart two ranks may be, as a share of the records. sdcMicro's ``P``, in percent there.
    ends
        Share of the records at each end that show their mean and are not exchanged (sdcMicro: 5% at each end).

    Examples
    --------
    >>> RankSwap(reach=0.05).ends
    0.0
    """

    method: Literal["rank_swap"] = "rank_swap"
    reach: float = Field(default=0.05, gt=0, le=1)
    ends: float = Field(default=0.0, ge=0, lt=0.5)

    def move(self, values: Floats, column: Column, rng: np.random.Generator) -> Floats:
        """Return values exchanged; equal ones are ranked at random. Cost O(n log n)."""
        order = np.lexsort((rng.random(len(values)), values))
        cut = math.floor(self.ends * len(values))
        ranked = values[order]
        inner = np.arange(cut, len(values) - cut)
        if cut:
            ranked[:cut], ranked[-cut:] = ranked[:cut].mean(), ranked[-cut:].mean()
        ranked[inner] = ranked[inner][partners(len(inner), max(1, math.floor(self.reach * len(values))), rng)]
        found = np.empty_like(values)
        found[order] = ranked
        return found


def partners(count: int, reach: int, rng: np.random.Generator) -> Codes:
    """Return with which rank each one changes places: at most ``reach`` away, drawn evenly among those still free.

    Ranks are served from the lowest up. A rank all of whose neighbours are taken stays where it is.

    Examples
    --------
    >>> found = partners(6, 2, np.random.default_rng(1))
    >>> bool((found[found] == np.arange(6)).all())
    True
    """
    partner = np.arange(count)
    free = bytearray(b"\x01" * count)
    drawn = rng.random(count)
    for own in range(count - 1):
        if not free[own]:
            continue
        free[own] = 0
        width = min(reach, count - 1 - own)
        other = own + 1 + int(drawn[own] * width)
        for _ in range(TRIES):
            if free[other]:
                break
            other = own + 1 + int(rng.random() * width)
        else:
            # hardly any are free: look at all of them, and draw among these
            window = [place for place in range(own + 1, own + width + 1) if free[place]]
            if not window:
                continue
            other = window[int(rng.random() * len(window))]
        free[other] = 0
        partner[own], partner[other] = other, own
    return partner


class TopBottom(Numeric):
    """The largest and the smallest numbers of every column shown as one value each.

    Thresholds that are known beforehand are better declared as ``topcode`` and ``bottomcode`` of the variable, which
    coarsen the original too, whatever the method.

    Parameters
    ----------
    top, bottom
        Share of the records at each end.
    show
        What they show: the threshold (``edge``), or their own ``mean``.

    Examples
    --------
    >>> TopBottom(top=0.02, bottom=0).show
    'edge'
    """

    method: Literal["top_bottom"] = "top_bottom"
    top: float = Field(default=0.05, ge=0, lt=0.5)
    bottom: float = Field(default=0.05, ge=0, lt=0.5)
    show: Literal["edge", "mean"] = "edge"
    copies: Literal[1] = 1

    @model_validator(mode="after")
    def _something(self) -> "TopBottom":
        if self.top == self.bottom == 0:
            raise ValueError("top and bottom are both 0, so no number would be coded; give a share for one of them")
        return self

    def move(self, values: Floats, column: Column, rng: np.random.Generator) -> Floats:
        """Return values with their ends coded. Cost O(n log n)."""
        ordered, n = np.sort(values), len(values)
        low, high = math.floor(self.bottom * n), n - 1 - math.floor(self.top * n)
        return coded(values, ordered[low], ordered[high], show=self.show)


def coded(values: Floats, low: float, high: float, *, show: Literal["edge", "mean"] = "edge") -> Floats:
    """Return values below ``low`` and above ``high`` as one value each.

    Examples
    --------
    >>> coded(np.array([1.0, 2.0, 3.0, 9.0, 11.0]), 2.0, 8.0, show="mean").tolist()
    [1.0, 2.0, 3.0, 10.0, 10.0]
    >>> coded(np.array([1.0, 2.0, 3.0, 9.0, 11.0]), 2.0, 8.0).tolist()
    [2.0, 2.0, 3.0, 8.0, 8.0]
    """
    found = values.copy()
    for ends, edge in ((values < low, low), (values > high, high)):
        if ends.any():
            found[ends] = edge if show == "edge" else values[ends].mean()
    return found
