"""Whom the intruders look for where a file is too large to look for everybody in every draw."""

import numpy as np

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate.tally import Booleans
from synthdp.microdata import Codes, Floats, codes, numbers

# up to this many records everybody is looked for; of more, as many as make so many pairs of a target and a row
MOST, FEWEST = 2500, 300
PAIRS = 5 * 10**6
# of those, a simple random sample, and the rest loners
TYPICAL = 0.7
EXTREMES = 3


def choose(
    comparison: Comparison, neighbours: Codes | None, *, rng: np.random.Generator
) -> tuple[Codes, Booleans] | None:
    """Return the records to attack and which of all records are a simple random sample; None for everybody.

    Rates are means over the random sample. The largest risk of a file is that of its loners, whom a sample would miss:
    those with the fewest neighbours on the keys, the most outlying ones, and the extremes of every numeric key are
    attacked too.

    Parameters
    ----------
    neighbours
        How many records are alike on all keys, where this has been counted.

    Notes
    -----
    O(n log n) for each key, once for all draws. Attacked are 5·10⁶/n records, but never fewer than 300: 500
    of 10,000, 300 of a million; a third of them are loners.
    """
    n = len(comparison.original)
    if n <= MOST or not comparison.schema.keys():
        return None
    size = int(np.clip(PAIRS // n, FEWEST, MOST))
    typical = np.zeros(n, dtype=np.bool_)
    typical[rng.choice(n, int(TYPICAL * size), replace=False)] = True
    isolated = (size - int(TYPICAL * size)) // 2
    outlying, extremes = _outlying(comparison)
    tie = rng.random(n)
    lonely = tie if neighbours is None else neighbours + tie
    chosen = typical.copy()
    chosen[np.argsort(lonely)[:isolated]] = True
    chosen[np.argsort(-outlying + 1e-9 * tie)[:isolated]] = True
    chosen[extremes] = True
    return np.flatnonzero(chosen), typical


def _outlying(comparison: Comparison) -> tuple[Floats, Codes]:
    """Return how far each record stands out over all keys (squared robust distance, or rarity), and the extremes."""
    n = len(comparison.original)
    found = np.zeros(n)
    extremes: list[Codes] = []
    for key in comparison.schema.keys():
        series = comparison.original[key.name]
        if key.kind.categorical:
            place = codes(series, key) + 1
            share = np.bincount(place) / n
            found += -2 * np.log(share[place])
            continue
        values = numbers(series, key)
        known = np.isfinite(values)
        if not known.any():
            continue
        low, middle, high = np.quantile(values[known], [0.05, 0.5, 0.95])
        spread = (high - low) / 3.29 or 1.0
        found += np.where(known, ((values - middle) / spread) ** 2, 0.0)
        order = np.argsort(np.where(known, values, middle), kind="stable")
        extremes += [order[:EXTREMES], order[-EXTREMES:]]
    return found, np.concatenate(extremes) if extremes else np.empty(0, dtype=np.int64)
