"""What is totalled of one replaced column: its value and square, its levels, its bins, and whether it is missing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from synthdp.arrays import Floats
from synthdp.imputation.model import Task
from synthdp.table.links import Link

# the fewest records that have a level, and of which a bin is made; the fewest equal records that make up a total
HAVE, EQUAL = 50, 5.0
# sds from the mean at which a number tells no more than that it is far
FAR = 20.0
# bins of a number, at most
BINS = 8


@dataclass(frozen=True, repr=False)
class Feature:
    """What is totalled of one replaced column.

    Parameters
    ----------
    link
        The scale it is drawn on; None for levels.
    center, spread, power
        Of a number: what is taken off, divided by, and raised to.
    level
        Of levels: which.
    low, high
        Of a number's bin: where it begins, and where the next one does.
    least, most
        What smaller and larger numbers count as.
    absent
        Whether it is missing values that are counted.
    """

    column: str
    link: Link | None = None
    center: float = 0.0
    spread: float = 1.0
    power: int = 1
    level: int = 0
    low: float | None = None
    high: float = np.inf
    least: float = -np.inf
    most: float = np.inf
    absent: bool = False

    def own(self, working: Floats) -> Floats:
        """Return drawn values on the scale that is totalled: a number's own, and levels as they are."""
        if self.link is None:
            return working
        missing = np.isnan(working)
        found = self.link.inverse(np.where(missing, 0.0, working).ravel()).reshape(working.shape)
        return np.where(missing, np.nan, found)

    def of(self, own: Floats) -> Floats:
        """Return the feature of values on that scale; of a missing one it is 0, unless missing ones are counted."""
        if self.absent:
            return np.asarray(np.isnan(own), dtype=np.float64)
        if self.link is None:
            return np.asarray(own == self.level, dtype=np.float64)
        if self.low is not None:
            return np.asarray((own >= self.low) & (own < self.high), dtype=np.float64)
        inner = (np.clip(own, self.least, self.most) - self.center) / self.spread
        return np.nan_to_num(inner if self.power == 1 else inner * inner, copy=False)


def features_of(task: Task, name: str) -> list[Feature]:
    """Return the features of a column, those that tell most first."""
    n = len(task.data)
    asked = task.applies[name][:n] if name in task.applies else np.ones(n, dtype=np.bool_)
    if name in task.links:
        own = task.data.numbers(name)[asked]
        known = own[np.isfinite(own)]
        if not len(known):
            return []
        least, most = _usual(known)
        inner = np.clip(known, least, most)
        usual = Feature(name, task.links[name], float(inner.mean()), float(inner.std()), least=least, most=most)
        powers = [replace(usual, power=power) for power in (1, 2) if usual.spread > 0]
        return [*powers, *_bins(name, task.links[name], known), *_absent(name, task.links[name], own)]
    codes = task.working[name][:n][asked]
    return [*(Feature(name, level=level) for level in frequent(codes)), *_absent(name, None, codes)]


def _absent(name: str, link: Link | None, own: Floats) -> list[Feature]:
    return [Feature(name, link, absent=True)] if np.isnan(own).sum() >= HAVE else []


def _usual(known: Floats) -> tuple[float, float]:
    """Return between which numbers somebody is not worth too many others."""
    place = min(int(EQUAL), len(known)) - 1
    ranked = np.sort(known)
    inner = np.clip(known, ranked[place], max(ranked[-1 - place], ranked[place]))
    return float(inner.mean() - FAR * inner.std()), float(inner.mean() + FAR * inner.std())


def _bins(name: str, link: Link, own: Floats) -> list[Feature]:
    """Return whether a number lies in one of a few bins that enough records share, but for the last."""
    cuts = np.unique(np.quantile(own, np.linspace(0, 1, min(len(own) // (2 * HAVE), BINS) + 1)))
    places = np.searchsorted(cuts, own, side="right") - 1
    return [
        Feature(name, link, low=float(low), high=float(high))
        for k, (low, high) in enumerate(pairwise(cuts[:-1]))
        if (places == k).sum() >= HAVE
    ]


def in_turn(features: Sequence[Feature]) -> list[int]:
    """Return the features, the first of every column, then the second of every column, and so on."""
    seen: dict[str, int] = {}
    turns = []
    for feature in features:
        turns.append(seen.get(feature.column, 0))
        seen[feature.column] = turns[-1] + 1
    return sorted(range(len(features)), key=lambda k: turns[k])


def frequent(codes: Floats) -> list[int]:
    """Return the levels that enough records have, but for the most frequent."""
    counts = np.bincount(codes[np.isfinite(codes) & (codes >= 0)].astype(np.int64))
    return [int(level) for level in np.argsort(-counts, kind="stable")[1:] if counts[level] >= HAVE]
