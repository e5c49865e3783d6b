"""The compiled loops that compare every target with every row of the copies; their numpy twins are in the tests."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from synthdp.evaluation.combinations import Booleans
from synthdp.microdata import Codes, Floats

TILE = 1024
Masks = npt.NDArray[np.uint64]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _compiled(function: Kernel) -> Kernel:
    return cast(Kernel, njit(cache=True, nogil=True)(function))


@_compiled
def _slot(held: int, size: int) -> int:
    """Return the first place to look for a set of bits in a table whose size is a power of two (Fibonacci hashing)."""
    mixed = np.uint64(held) * np.uint64(0x9E3779B97F4A7C15)
    return int((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(20)) & (size - 1)


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
    bits, n = low.shape[1], rows.shape[0]
    closest = np.full(count, np.inf)
    within = np.zeros((count, radii.shape[1]), dtype=np.int64)
    seen = np.zeros((count, p), dtype=np.bool_)
    answers = np.zeros((count, len(queries)), dtype=np.int64)
    # column after column, a tile of rows at a time: plain loops over neighbours in memory, which become vector code
    columns = rows.T.copy()
    total, part, held = np.empty(TILE), np.empty(TILE), np.empty(TILE, dtype=np.uint64)
    size = 64
    while size < 2 * n:
        size *= 2
    slots, times, used = np.empty(size, dtype=np.uint64), np.zeros(size, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(count):
        met = 0
        for start in range(0, n, TILE):
            many = min(TILE, n - start)
            total[:many] = 0.0
            part[:many] = 0.0
            held[:many] = 0
            for j in range(p):
                value, tile, exact = targets[i, j], columns[j, start : start + many], False
                for r in range(many):
                    gap = abs(value - tile[r])
                    exact |= gap == 0.0
                    total[r] += min(1.0, gap)
                seen[i, j] |= exact
                if replaced[j]:
                    for r in range(many):
                        part[r] += min(1.0, abs(value - tile[r]))
            for r in range(many):
                closest[i] = min(closest[i], part[r])
            for c in range(radii.shape[1]):
                inside = 0
                for r in range(many):
                    inside += total[r] <= radii[i, c]
                within[i, c] += inside
            for b in range(bits):
                least, most, tile = low[i, b], high[i, b], columns[column_of[b], start : start + many]
                bit = np.uint64(1) << np.uint64(b)
                for r in range(many):
                    held[r] |= bit if (tile[r] >= least) & (tile[r] <= most) else np.uint64(0)
            # few sets of answers are met by many rows: count each, and put the queries to every set once
            for r in range(many):
                slot = _slot(held[r], size)
                while times[slot] > 0 and slots[slot] != held[r]:
                    slot = (slot + 1) & (size - 1)
                if times[slot] == 0:
                    slots[slot] = held[r]
                    used[met] = slot
                    met += 1
                times[slot] += 1
        for u in range(met):
            slot = used[u]
            for q in range(len(queries)):
                if slots[slot] & queries[q] == queries[q]:
                    answers[i, q] += times[slot]
            times[slot] = 0
    return closest, within, seen, answers
