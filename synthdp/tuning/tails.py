"""Where the ends of a key give people away: whoever stands far out is told by kept columns, whatever the mask hides.

The heaviest of 240 men has the highest blood pressure as well. That column is kept, the model learns from it, and his
copies are the heaviest under any mask. Cutting the ends off, so that some others share his value, is what helps.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from synthdp.table.coded import numbers
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Column, Kind

# what may be chosen, from the least cut to the most: who stands out lies beyond the quartiles by so many times their
# distance (Tukey's outer and inner fence, 1977), and so many records share what is cut off, or this share of all
CHOICES = ((3.0, 5, 0.005), (1.5, 5, 0.005), (1.5, 12, 0.012))
# a cut is a multiple of 1, 2 or 5 times a power of ten that is at most this share of the column's sd
FINE = 1 / 3

Cuts = Mapping[str, Mapping[str, Any]]


def cut_ends(data: Microdata) -> tuple[Cuts, ...]:
    """Return where ends of replaced numeric keys are cut off, as ``variables`` words it: what may be chosen.

    First only the ends beyond the outer fence, for every cut costs usefulness, then those beyond the inner one too,
    then more of each; what is the same is there once. A cut is a round number, not a person's value.
    """
    found = []
    keys = [column for column in data.schema.replaced() if _numeric_key(column)]
    for fence, fewest, share in CHOICES:
        every = {column.name: _cuts(data, column, fence, fewest, share) for column in keys}
        cuts = {name: some for name, some in every.items() if some}
        if cuts and cuts not in found:
            found.append(cuts)
    return tuple(found)


def _numeric_key(column: Column) -> bool:
    return column.key and not column.kind.categorical and column.kind is not Kind.DATE


def _cuts(data: Microdata, column: Column, fence: float, fewest: int, share: float) -> dict[str, Any]:
    values = np.sort(numbers(data.frame[column.name], column))
    values = values[np.isfinite(values)]
    few = max(fewest, math.ceil(share * len(values)))
    if len(values) < 4 * few:
        return {}
    # numbers are replaced only where they differ
    unit = _unit(FINE * float(values.std()))
    low = math.ceil(round(values[few - 1] / unit, 6)) * unit
    high = math.floor(round(values[-few] / unit, 6)) * unit
    if low >= high:
        return {}
    first, third = np.quantile(values, [0.25, 0.75])
    far = fence * (third - first)
    cuts = {}
    if values[0] < first - far:
        cuts["bottomcode"] = _plain(low, unit)
    if values[-1] > third + far:
        cuts["topcode"] = _plain(high, unit)
    return cuts


def _unit(most: float) -> float:
    """Return the largest of 1, 2 and 5 times a power of ten that is at most so large."""
    power = 10.0 ** math.floor(math.log10(most))
    return power * max(step for step in (1, 2, 5) if step * power <= most * (1 + 1e-9))


def _plain(value: float, unit: float) -> float:
    """Return a cut with as many decimals as its unit has."""
    return round(value, max(0, -math.floor(math.log10(unit)))) + 0.0
