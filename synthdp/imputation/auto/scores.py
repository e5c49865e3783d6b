"""Numbers through their own margin: normal scores, with heaps and bounds kept and no extreme released.

    s = Φ⁻¹(F(x)),      x = Q(Φ(s))

F is the column's distribution in the file. A value that at least five records share is a *heap*: on the scale of scores
it is an interval, in which its records are spread evenly, and every score of that interval is the heap again, to the
digit. Other records are taken in blocks of at least five neighbours, over which Q is a line through their mean. So the
copies' margin is the file's whatever its shape (rounded incomes, many zeros, ages within bounds), its mean too, and no
value that belongs to fewer than five people is a point of Q: the largest that can be released is a function of ten.

Notes
-----
Where in its heap's interval a record stands is arbitrary; the golden ratio's multiples, in file order, fill it evenly
whatever their number. The map is learnt from the data, so nothing formal can be said of masks on this scale.
"""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy.special import ndtr, ndtri

from synthdp.arrays import Codes, Floats
from synthdp.table.links import Link
from synthdp.table.microdata import Microdata

HEAP = 5
MOST_BLOCKS = 200
GOLDEN = 0.6180339887498949


def _nothing() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, repr=False)
class Scores(Link):
    """The normal scores of one column.

    Parameters
    ----------
    people
        How many records have a value.
    distinct, below, up_to
        The column's values in order, and the shares of records below each and up to each: F.
    chances, values
        Knots of Q; a heap has two with one value.

    Examples
    --------
    >>> scores = Scores.of_values(np.array([0.0] * 6 + [1.0] * 6))
    >>> scores.inverse(scores.forward(np.array([0.0, 1.0, 1.0]))).tolist()
    [0.0, 1.0, 1.0]
    """

    people: int = 0
    distinct: Floats = field(default_factory=_nothing)
    below: Floats = field(default_factory=_nothing)
    up_to: Floats = field(default_factory=_nothing)
    chances: Floats = field(default_factory=_nothing)
    values: Floats = field(default_factory=_nothing)

    @classmethod
    def of(cls, data: Microdata, name: str) -> Self:
        """Return the scores of one column of the data. Cost O(n log n)."""
        return cls.of_values(data.numbers(name), data.schema[name].bounds)

    @classmethod
    def of_values(cls, x: Floats, bounds: tuple[float, float] | None = None) -> Self:
        """Return the scores of numbers; missing ones are left out."""
        known = x[np.isfinite(x)]
        distinct, counts = np.unique(known, return_counts=True)
        ends = counts.cumsum()
        chances, values = _quantiles(distinct, counts, bounds)
        return cls(
            center=float(known.mean()),
            # a mask's scale in the column's units is divided by it
            spread=float(known.std()) or 1.0,
            bounds=bounds,
            people=len(known),
            distinct=distinct,
            below=(ends - counts) / ends[-1],
            up_to=ends / ends[-1],
            chances=chances / ends[-1],
            values=values,
        )

    def __repr__(self) -> str:
        return f"Scores({len(self.chances)} knots)"

    def forward(self, values: Floats) -> Floats:
        """Return the scores; records that share a value are spread over its interval."""
        found = np.searchsorted(self.distinct, values)
        place = np.minimum(found, len(self.distinct) - 1)
        exact = self.distinct[place] == values
        inside = np.where(exact, _spread(place), 0.5)
        # a value that the file does not have lies between its neighbours, or beyond all of them
        low = np.where(found < len(self.distinct), self.below[place], 1.0)
        high = np.where(exact, self.up_to[place], low)
        smallest = 0.25 / max(self.people, 4)
        chance = np.clip(low + inside * (high - low), smallest, 1.0 - smallest)
        return np.where(np.isfinite(values), ndtri(chance), np.nan)

    def inverse(self, working: Floats) -> Floats:
        """Return scores as values."""
        return np.asarray(np.interp(ndtr(working), self.chances, self.values))

    def limits(self) -> tuple[float, float]:
        """Scores have no ends: bounds are the margin's."""
        return (-np.inf, np.inf)


def _spread(place: Codes) -> Floats:
    """Return for each record a number in (0, 1), evenly spread among the records of one value."""
    order = np.argsort(place, kind="stable")
    sorted_places = place[order]
    first = np.searchsorted(sorted_places, sorted_places)
    number = np.empty(len(place))
    number[order] = np.arange(len(place)) - first
    counts = np.bincount(place)[place]
    return np.where(counts > 1, np.mod((number + 1) * GOLDEN, 1.0), 0.5)


def _quantiles(distinct: Floats, counts: Codes, bounds: tuple[float, float] | None) -> tuple[Floats, Floats]:
    """Return the knots of Q: numbers of records, and values."""
    chances: list[float] = []
    values: list[float] = []
    ends = counts.cumsum()
    heap = np.flatnonzero(counts >= HEAP)
    starts = np.concatenate([[0], heap + 1])
    stops = np.concatenate([heap, [len(distinct)]])
    for k, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        left = float(distinct[heap[k - 1]]) if k > 0 else None
        right = float(distinct[heap[k]]) if k < len(heap) else None
        if stop > start:
            base = int(ends[start - 1]) if start else 0
            rare = np.repeat(distinct[start:stop], counts[start:stop])
            at, knots = _between(rare, left, right)
            chances += [base + a for a in at]
            values += knots
        if right is not None:
            chances += [float(ends[heap[k]] - counts[heap[k]]), float(ends[heap[k]])]
            values += [right, right]
    found = np.maximum.accumulate(np.asarray(values))
    return np.asarray(chances), found if bounds is None else np.clip(found, *bounds)


def _between(rare: Floats, left: float | None, right: float | None) -> tuple[list[float], list[float]]:
    """Return the knots of values that few share, between two heaps or at an end of the file."""
    g = len(rare)
    if g < HEAP:
        # of so few nothing is told but that they lie beyond the heap, or between two
        beside = left if left is not None else right
        if beside is None:
            return [0.0, float(g)], [float(rare.mean())] * 2
        return [0.0, float(g)], [left if left is not None else beside, right if right is not None else beside]
    blocks = max(1, min(g // HEAP, MOST_BLOCKS))
    edges = np.linspace(0, g, blocks + 1).round().astype(np.int64)
    means = np.add.reduceat(rare, edges[:-1]) / np.diff(edges)
    alone = float(np.sqrt(3.0) * rare.std()) if blocks == 1 else np.inf
    down = np.diff(means, prepend=2 * left - means[0] if left is not None else -np.inf) / 2
    up = np.diff(means, append=2 * right - means[-1] if right is not None else np.inf) / 2
    # the same distance both ways keeps each block's mean, which is what skewed columns need
    half = np.minimum(np.minimum(down, up), alone)
    knots = np.column_stack([means - half, means + half]).ravel()
    return np.repeat(edges, 2)[1:-1].astype(float).tolist(), knots.tolist()
