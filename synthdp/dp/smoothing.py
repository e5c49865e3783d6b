"""What a private density is smoothed by and shown on, and how loud its noise will be: from public numbers alone."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from synthdp.dp.declarations import Bounded, Budget
from synthdp.dp.fourier import MARGIN, Circle, Coefficients
from synthdp.dp.functions import mechanism_of
from synthdp.dp.kernels import Kernel, damping, gaussian_sensitivity, least_decay, sobolev_sensitivity
from synthdp.errors import InputError
from synthdp.privacy.guarantees import floats, positive
from synthdp.table.microdata import Floats

NODES = {1: 2**14, 2: 2**10, 3: 2**8}
CELLS = {1: 256, 2: 48, 3: 16}
MOST_CELLS = 10**6
NARROWEST = 4
QUARTER = 0.25


def from_size(n: int, columns: int) -> float:
    """Return the bandwidth as a share of the bounds' width that goes with n records: ¼ n^(−1/(4+d)).

    Examples
    --------
    >>> round(from_size(100, 1), 4)
    0.0995
    """
    wide: float = QUARTER * float(n) ** (-1 / (4 + columns))
    return max(wide, least_bandwidth(columns))


def least_bandwidth(columns: int) -> float:
    """Return the least bandwidth, as a share of the bounds' width, that the public table resolves."""
    return NARROWEST / (NODES[columns] - 1)


def bandwidths(bandwidth: Any, n: int, widths: Sequence[float]) -> list[float]:
    """Return the bandwidth of each column as a share of its width: the declared ones, or those of n records."""
    d = len(widths)
    if bandwidth is None:
        return [from_size(n, d)] * d
    if isinstance(bandwidth, str):
        raise InputError(
            f"bandwidth: must be a number known without the data, or be left out, found {bandwidth!r}; one that is "
            "read off the data would void ε."
        )
    given = [bandwidth] * d if np.ndim(bandwidth) == 0 else list(bandwidth)
    if len(given) != d:
        raise InputError(f"bandwidth: must be one for each of {d} columns, found {len(given)}.")
    found = []
    for value, width in zip(given, widths, strict=True):
        unit = positive(value, "bandwidth") / width
        if unit < (least := least_bandwidth(d)) * (1 - 1e-9):
            raise InputError(f"bandwidth: must be at least {least * width:.3g} for these bounds, found {value:g}.")
        found.append(unit)
    return found


def expected_noise(
    n: int, widths: Sequence[float], budget: Budget, bandwidth: Sequence[float] | None, kernel: Kernel | None = None
) -> float:
    """Return about what sd the noise of a density will have where an even density is 1: from public numbers alone."""
    units = bandwidths(bandwidth, n, widths)
    chosen = kernel or ("fourier" if budget.pure else "gaussian")
    if chosen == "fourier":
        circle = Circle.of(units, None)
        lengths = [1 + 2 * MARGIN * h for h in units]
        damped = math.prod(
            float((damping(m, h / length) ** 2).sum())
            for m, h, length in zip(circle.frequencies, units, lengths, strict=True)
        )
        return Coefficients.of(budget, n, circle, "laplace", 1.0).sd * math.sqrt(damped - 1) / math.prod(lengths)
    moved = sobolev_sensitivity(n, units, least_decay(units)) if chosen == "sobolev" else gaussian_sensitivity(n, units)
    return mechanism_of(budget, moved, "density").sd


def grid_of(grid: Any, inside: Sequence[Bounded]) -> tuple[list[Floats], list[Floats]]:
    """Return edges and points of the cells of each column."""
    d = len(inside)
    given: Any = CELLS[d] if grid is None else grid
    if isinstance(given, str | dict) or not hasattr(given, "__len__"):
        each = [given] * d
    else:
        # of one column, its points may be given as they are
        each = [given] if d == 1 and np.ndim(next(iter(given), 0)) == 0 else list(given)
    if len(each) != d:
        raise InputError(f"grid: must be one for each of {d} columns, found {len(each)}.")
    edges, points = [], []
    for asked, column in zip(each, inside, strict=True):
        if np.ndim(asked) == 0:
            edge = np.linspace(column.low, column.high, _cells(asked) + 1)
            at = (edge[1:] + edge[:-1]) / 2
        else:
            at = floats(asked, "grid")
            if at.ndim != 1 or len(at) < 2 or not np.isfinite(at).all() or not (np.diff(at) > 0).all():
                raise InputError("grid: must be a number of cells, or two or more increasing finite points.")
            if at[0] < column.low or at[-1] > column.high:
                raise InputError(f"grid: must lie within the bounds [{column.low:g}, {column.high:g}].")
            edge = np.concatenate([[column.low], (at[1:] + at[:-1]) / 2, [column.high]])
        edges.append(edge)
        points.append(at)
    if (cells := math.prod(len(at) for at in points)) > MOST_CELLS:
        raise InputError(f"grid: at most {MOST_CELLS:,} cells, found {cells:,}.")
    return edges, points


def _cells(asked: Any) -> int:
    if isinstance(asked, str) or not hasattr(asked, "__float__") or asked != asked or asked < 2 or asked % 1:
        raise InputError(f"grid: must be a whole number of at least 2 cells, found {asked!r}.")
    if asked > MOST_CELLS:
        raise InputError(f"grid: at most {MOST_CELLS:,} cells, found {asked:,}.")
    return int(asked)
