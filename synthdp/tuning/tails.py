"""Where the ends of a key give people away: whoever stands far out is told by kept columns, whatever the mask hides.

The heaviest of 240 men has the highest blood pressure as well. That column is kept, the model learns from it, and his
copies are the heaviest under any mask. Cutting the ends off, so that some others share his value, is what helps.
"""

import math
from typing import Any

import numpy as np

from synthdp.table.coded import numbers
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Column, Kind

# so many records share what is cut off, or this share of all if that is more
FEWEST, SHARE = 5, 0.005
# who stands out lies beyond the quartiles by so many times their distance (Tukey 1977)
FENCE = 1.5


def cut_ends(data: Microdata) -> dict[str, dict[str, Any]]:
    """Return by replaced numeric key where ends that reach far out are cut off, as ``variables`` words it.

    A cut is a round number, not a person's value.
    """
    found = {}
    for column in data.schema.replaced():
        if column.key and not column.kind.categorical and column.kind is not Kind.DATE:
            cuts = _cuts(data, column)
            if cuts:
                found[column.name] = cuts
    return found


def _cuts(data: Microdata, column: Column) -> dict[str, Any]:
    values = np.sort(numbers(data.frame[column.name], column))
    values = values[np.isfinite(values)]
    few = max(FEWEST, math.ceil(SHARE * len(values)))
    if len(values) < 4 * few:
        return {}
    # numbers are replaced only where they differ
    unit = 10.0 ** math.floor(math.log10(float(values.std())))
    low = math.ceil(round(values[few - 1] / unit, 6)) * unit
    high = math.floor(round(values[-few] / unit, 6)) * unit
    if low >= high:
        return {}
    first, third = np.quantile(values, [0.25, 0.75])
    far = FENCE * (third - first)
    cuts = {}
    if values[0] < first - far:
        cuts["bottomcode"] = _plain(low, unit)
    if values[-1] > third + far:
        cuts["topcode"] = _plain(high, unit)
    return cuts


def _plain(value: float, unit: float) -> float:
    """Return a cut with as many decimals as its unit has."""
    return round(value, max(0, -math.floor(math.log10(unit)))) + 0.0
