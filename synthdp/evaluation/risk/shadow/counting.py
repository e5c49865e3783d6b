"""The compiled loops that compare every target with every row of the copies; their numpy twins are in the tests."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from synthdp.evaluation.combinations import Booleans
from synthdp.microdata import Codes, Floats

Masks = npt.NDArray[np.uint64]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _compiled(function: Kernel) -> Kernel:
    return cast(Kernel, njit(cache=True, nogil=True)(function))


@_compiled
def near(targets: Floats, rows: Floats, k: int) -> Floats:
    """Return the sums of differences, each at most 1, to the k nearest rows of each target, nearest first."""
    count, p = targets.shape
    best = np.full((count, k), np.inf)
    for i in range(count):
        for r in range(rows.shape[0]):
            total = 0.0
            for j in range(p):
                total += min(1.0, abs(targets[i, j] - rows[r, j]))
                if total >= best[i, k - 1]:
                    break
            if total < best[i, k - 1]:
                place = k - 1
                while place > 0 and best[i, place - 1] > total:
                    best[i, place] = best[i, place - 1]
                    place -= 1
                best[i, place] = total
    return best


@_compiled
def compare(
    targets: Floats,
    rows: Floats,
    replaced: Booleans,
    radii: Floats,
    column_of: Codes,
    low: Floats,
    high: Floats,
    queries: Masks,
) -> tuple[Floats, Codes, Booleans, Codes]:
    """Return what the rows say of each target.

    Returns
    -------
    tuple
        The distance to the nearest row on the replaced columns (a sum, as in :func:`near`); how many rows are within
        each radius of all columns; in which columns some row has exactly the target's value; and how many rows
        answer each query: a query is a set of bits, and bit b says low ≤ value of ``column_of[b]`` ≤ high.
    """
    count, p = targets.shape
    bits, asked = low.shape[1], len(queries)
    closest = np.full(count, np.inf)
    within = np.zeros((count, radii.shape[1]), dtype=np.int64)
    seen = np.zeros((count, p), dtype=np.bool_)
    answers = np.zeros((count, asked), dtype=np.int64)
    one = np.uint64(1)
    for i in range(count):
        for r in range(rows.shape[0]):
            total, part = 0.0, 0.0
            for j in range(p):
                gap = abs(targets[i, j] - rows[r, j])
                if gap == 0.0:
                    seen[i, j] = True
                gap = min(1.0, gap)
                total += gap
                if replaced[j]:
                    part += gap
            closest[i] = min(closest[i], part)
            for c in range(radii.shape[1]):
                if total <= radii[i, c]:
                    within[i, c] += 1
            held = np.uint64(0)
            for b in range(bits):
                value = rows[r, column_of[b]]
                if low[i, b] <= value <= high[i, b]:
                    held |= one << np.uint64(b)
            if held == 0:
                continue
            for q in range(asked):
                if held & queries[q] == queries[q]:
                    answers[i, q] += 1
    return closest, within, seen, answers
