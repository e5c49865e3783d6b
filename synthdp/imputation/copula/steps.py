"""What the compiled loops of a joint draw read, lines through many knots, and the step of a masked number.

The range of the knots is cut into cells of equal width, and of each cell the first knot in it is noted: of a value only
the knots of its own cell are searched, a few steps instead of log₂(knots), each of which would wait for memory: at
200,000 knots 35 to 95 ns instead of 150. Knots far out would leave all others in one cell: cells cover the middle.

It runs over the records of a tile: their steps do not wait for each other, so the processor works at several at once (a
tenth to a quarter faster than one record after another). Double precision: the values are released. The numpy twin is
in the tests.

numba's cache does not notice a change in a function that another file's function calls: see ``loops``.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from synthdp.arrays import compiled
from synthdp.imputation.copula.normals import cumulative, quantile, truncated
from synthdp.table.microdata import Codes, Floats

MOST_CELLS = 1 << 18
OUTSIDE = 0.001


class Knots(NamedTuple):
    """Lines of several columns, one after another.

    Parameters
    ----------
    x, y
        The knots, in order; both may repeat.
    starts
        The first knot in or after each cell, counted from the line's first; one more than cells.
    first, last
        Of each line its first and last knot.
    first_cell, cells, origin, rate
        Of each line its first place in ``starts``, how many cells there are, where they begin, and how many to a unit.
    """

    x: Floats
    y: Floats
    starts: npt.NDArray[np.int32]
    first: Codes
    last: Codes
    first_cell: Codes
    cells: Codes
    origin: Floats
    rate: Floats

    @classmethod
    def of(cls, lines: list[tuple[Floats, Floats]]) -> "Knots":
        """Return the lines through these knots with their guides. O(knots)."""
        size = np.array([len(x) for x, _ in lines], dtype=np.int64)
        cells = np.clip(size // 2, 1, MOST_CELLS)
        ends = [x[[int(OUTSIDE * len(x)), -1 - int(OUTSIDE * len(x))]] for x, _ in lines]
        origin = np.array([low for low, _ in ends], dtype=np.float64)
        width = np.array([high - low for low, high in ends], dtype=np.float64)
        # all of it in one cell when the middle is one value
        rate = np.divide(cells, width, out=np.zeros(len(size)), where=width > 0)
        starts = [np.zeros(0, dtype=np.int32)]
        for number, (x, _) in enumerate(lines):
            # the same sums as in ``height``, which rise with x: rounding puts no knot into a cell too early or late
            cell = np.clip((x - origin[number]) * rate[number], 0.0, cells[number] - 1.0).astype(np.int64)
            starts.append(np.searchsorted(cell, np.arange(cells[number] + 1)).astype(np.int32))
        nothing = np.zeros(0)
        return cls(
            np.concatenate([nothing, *(x for x, _ in lines)]),
            np.concatenate([nothing, *(y for _, y in lines)]),
            np.concatenate(starts),
            np.cumsum(size) - size,
            np.cumsum(size) - 1,
            np.cumsum(cells + 1) - cells - 1,
            cells,
            origin,
            rate,
        )


@compiled
def height(
    at: float,
    x: Floats,
    y: Floats,
    starts: npt.NDArray[np.int32],
    first: int,
    last: int,
    first_cell: int,
    cells: int,
    origin: float,
    rate: float,
) -> float:
    """Return the height of a line at ``at``; beyond its ends, that of the end; as ``numpy.interp``.

    The arrays one by one: handing over the tuple would count references, which takes longer than the rest.
    """
    if at < x[first]:
        return float(y[first])
    if at >= x[last]:
        return float(y[last])
    cell = first_cell + int(min(max((at - origin) * rate, 0.0), cells - 1.0))
    low, high = first + max(starts[cell] - 1, 0), min(first + starts[cell + 1], last)
    while high - low > 1:
        middle = (low + high) >> 1
        if x[middle] <= at:
            low = middle
        else:
            high = middle
    return float(y[low] + (y[high] - y[low]) * ((at - x[low]) / (x[high] - x[low])))


@compiled
def heights(at: Floats, lines: Knots, number: int, found: Floats) -> None:
    """Write the heights of a line at several places."""
    x, y, starts, firsts, lasts, first_cells, cells, origins, rates = lines
    first, last, first_cell = firsts[number], lasts[number], first_cells[number]
    many, origin, rate = cells[number], origins[number], rates[number]
    for r in range(len(at)):
        found[r] = height(at[r], x, y, starts, first, last, first_cell, many, origin, rate)


INTERVAL, CHOICE, NUMBER, LEVELS, UTILITY = range(5)
FARTHEST_START = 3.0
SMALLEST = 2.0**-54  # a uniform is never zero: its normal quantile would be infinite


class Layout(NamedTuple):
    """What each coordinate is, in the order in which they are visited; the same for all records.

    Parameters
    ----------
    active
        How many take part in the chain; those after them have no evidence and are drawn once, at its end.
    kind
        Kept columns: ``INTERVAL``, or ``CHOICE`` (a utility); masked ones: ``NUMBER``, ``LEVELS``, ``UTILITY``.
    column
        ``CHOICE``: the column of the codes; ``NUMBER``: of w, and its line; ``LEVELS``, ``UTILITY``: the first weight.
    first, size
        The utilities of its column; ``LEVELS``: the first cut point, and how many there are.
    tally
        The position of a replaced column in the trace, at its last coordinate; -1 elsewhere.
    scale
        The sd of the coordinate's latents over all records.
    to_u, to_x
        F and its inverse, of all numbers.
    cuts
        The cut points of all ordered levels (times their scale), one column after another.
    weights, sd
        2 × q × q and 2 × q: coefficients of a coordinate (row) in the expectation of another (column) given those
        before that one, and utilities of its own column; second, given all other active ones; and the sds given them.
    """

    active: int
    kind: Codes
    column: Codes
    first: Codes
    size: Codes
    tally: Codes
    scale: Floats
    to_u: Knots
    to_x: Knots
    cuts: Floats
    weights: Floats
    sd: Floats


class Block(NamedTuple):
    """What is known of some records.

    Parameters
    ----------
    mean, lower, upper
        rows × q: the expectation of each latent and between what it lies, where its column is kept; equal when known.
    codes
        rows × kept nominal columns: the level, -1 when missing.
    w, precision
        rows × replaced numbers: where the mask points, and how surely.
    chances
        rows × levels of the replaced columns that have levels: weights, the largest of each column is one.
    """

    mean: Floats
    lower: Floats
    upper: Floats
    codes: Codes
    w: Floats
    precision: Floats
    chances: Floats


@compiled
def uniform(rng: np.random.Generator) -> float:
    """Draw from (0, 1)."""
    return max(rng.random(), SMALLEST)


@compiled
def move_number(
    j: int,
    y: Floats,
    t: Floats,
    center: Floats,
    sd: float,
    w: Floats,
    precision: Floats,
    scale: float,
    to_u: Knots,
    to_x: Knots,
    number: int,
    room: Floats,
    rng: np.random.Generator,
) -> None:
    """Draw the latent of a number: a slice of exp(−τ(t − w)²/2), then the normal inside it; t becomes its value.

    ``room`` (5 × tile) is to work in.
    """
    m = len(w)
    low, high, below, above, v2 = room[0, :m], room[1, :m], room[2, :m], room[3, :m], room[4, :m]
    for r in range(m):
        v, v2[r] = uniform(rng), uniform(rng)
        reach = math.sqrt((t[j, r] - w[r]) ** 2 - 2.0 * math.log(v) / precision[r]) if precision[r] > 0.0 else np.inf
        low[r], high[r] = w[r] - reach, w[r] + reach
    heights(low, to_u, number, below)
    heights(high, to_u, number, above)
    for r in range(m):
        mean = center[r]
        if precision[r] > 0.0:
            least, most = min(scale * quantile(below[r]), y[j, r]), max(scale * quantile(above[r]), y[j, r])
            y[j, r] = mean + sd * truncated((least - mean) / sd, (most - mean) / sd, v2[r])
        else:
            y[j, r] = mean + sd * quantile(v2[r])
        low[r] = cumulative(y[j, r] / scale)
    heights(low, to_x, number, t[j, :m])


@compiled
def choose(j: int, y: Floats, t: Floats, first: int, size: int) -> None:
    """Write which level has the largest utility."""
    for r in range(y.shape[1]):
        most, best = 0.0, 0
        for k in range(first, first + size):
            if y[k, r] > most:
                most, best = y[k, r], k - first + 1
        t[j, r] = best
