"""The compiled loops of counting and matching; each has a plain twin in the tests.

Files come sorted by cell and first numeric key, targets in an order that puts equal keys next to each other.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from synthdp.microdata import Codes, Floats

Booleans = npt.NDArray[np.bool_]

# probabilities are sums of 1/s over copies; equal ones may differ in the last digits
TIE = 1e-12

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _compiled(function: Kernel) -> Kernel:
    return cast(Kernel, njit(cache=True, nogil=True)(function))


@_compiled
def _window(cells: Codes, lead: Floats, cell: int, value: float, tolerance: float) -> tuple[int, int]:
    # bisects on the rounded difference itself, which is monotone, so the ends agree with |Δ| <= tolerance exactly
    left, right = 0, len(cells)
    while left < right:
        middle = (left + right) // 2
        if cells[middle] < cell or (cells[middle] == cell and value - lead[middle] > tolerance):
            left = middle + 1
        else:
            right = middle
    start, right = left, len(cells)
    while left < right:
        middle = (left + right) // 2
        if cells[middle] < cell or (cells[middle] == cell and lead[middle] - value <= tolerance):
            left = middle + 1
        else:
            right = middle
    return start, left


@_compiled
def _close(a: Floats, b: Floats, tolerances: Floats) -> bool:
    # the first key has been dealt with by the window
    for key in range(1, len(tolerances)):  # noqa: SIM110 (numba compiles no generator expressions)
        if abs(a[key] - b[key]) > tolerances[key]:
            return False
    return True


@_compiled
def _alike(cells: Codes, numbers: Floats, i: int, previous: int) -> bool:
    if previous < 0 or cells[i] != cells[previous]:
        return False
    for key in range(numbers.shape[1]):  # noqa: SIM110 (numba compiles no generator expressions)
        if numbers[i, key] != numbers[previous, key]:
            return False
    return True


@_compiled
def count_sorted(
    order: Codes,
    target_cells: Codes,
    target_numbers: Floats,
    reach: int,
    cells: Codes,
    numbers: Floats,
    tolerances: Floats,
) -> Codes:
    """Count the records in each target's cell, or ``reach`` cells beside it, that are close on every numeric key."""
    counts = np.zeros(len(order), dtype=np.int64)
    previous = -1
    size = 0
    for i in order:
        if not _alike(target_cells, target_numbers, i, previous):
            size = 0
            for cell in range(target_cells[i] - reach, target_cells[i] + reach + 1):
                left, right = _window(cells, numbers[:, 0], cell, target_numbers[i, 0], tolerances[0])
                if len(tolerances) == 1:
                    size += right - left
                    continue
                for k in range(left, right):
                    if _close(numbers[k], target_numbers[i], tolerances):
                        size += 1
        counts[i] = size
        previous = i
    return counts


@_compiled
def match_sorted(
    order: Codes,
    target_cells: Codes,
    target_numbers: Floats,
    reach: int,
    rows: Codes,
    cells: Codes,
    numbers: Floats,
    tolerances: Floats,
) -> tuple[Floats, Floats, Codes, Booleans, Codes]:
    """Return individual, unconditional, best, hit and winner as ``Matches`` defines them.

    ``rows``, ``cells`` and ``numbers`` hold one sorted copy per first index; ``rows`` says which record a row is.
    """
    n, copies = len(order), rows.shape[0]
    individual, unconditional = np.zeros(n), np.zeros(n)
    best, winner = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    hit = np.zeros(n, dtype=np.bool_)
    score = np.zeros(n)
    touched, found = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    reached, ties, pointed, previous = 0, 0, -1, -1
    total, threshold = 0.0, 0.0
    for i in order:
        if not _alike(target_cells, target_numbers, i, previous):
            for k in range(reached):
                score[touched[k]] = 0.0
            reached, total = 0, 0.0
            for j in range(copies):
                size = 0
                for cell in range(target_cells[i] - reach, target_cells[i] + reach + 1):
                    left, right = _window(cells[j], numbers[j, :, 0], cell, target_numbers[i, 0], tolerances[0])
                    for k in range(left, right):
                        if _close(numbers[j, k], target_numbers[i], tolerances):
                            found[size] = rows[j, k]
                            size += 1
                if size == 0:
                    continue
                total += 1.0 / size
                for k in range(size):
                    record = found[k]
                    if score[record] == 0.0:
                        touched[reached] = record
                        reached += 1
                    score[record] += 1.0 / size
            largest = 0.0
            for k in range(reached):
                largest = max(largest, score[touched[k]])
            threshold = largest - TIE * copies
            ties, pointed = 0, -1
            for k in range(reached):
                if score[touched[k]] >= threshold:
                    ties += 1
                    pointed = touched[k]
        individual[i] = score[i] / copies
        unconditional[i] = total / copies
        best[i] = ties
        hit[i] = ties > 0 and score[i] >= threshold
        winner[i] = pointed if ties == 1 else -1
        previous = i
    return individual, unconditional, best, hit, winner
