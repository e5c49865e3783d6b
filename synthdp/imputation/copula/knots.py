"""Lines through many knots, looked up by a guide instead of a search through all of them.

The range of the knots is cut into cells of equal width, and of each cell the first knot in it is noted: of a value only
the knots of its own cell are searched, a few steps instead of log₂(knots), each of which would wait for memory: at
200,000 knots 35 to 95 ns instead of 150. Knots far out would leave all others in one cell: cells cover the middle.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from synthdp.imputation.copula.loops import compiled
from synthdp.microdata import Codes, Floats

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
