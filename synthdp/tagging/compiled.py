"""The compiled loops of counting and matching neighbours; each has a plain twin in the tests."""

import numpy as np
import numpy.typing as npt

from synthdp.arrays import Booleans, compiled, part
from synthdp.table.microdata import Codes, Floats

# probabilities are sums of 1/s over copies; equal ones may differ in the last digits
TIE = 1e-12


@part
def window(cells: Codes, lead: Floats, cell: int, value: float, tolerance: float) -> tuple[int, int]:
    """Return where the records of a cell begin and end whose first key is within the tolerance of a value."""
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


@part
def _close(a: Floats, b: Floats, tolerances: Floats) -> bool:
    # the first key has been dealt with by the window
    for key in range(1, len(tolerances)):  # noqa: SIM110 (numba compiles no generator expressions)
        if abs(a[key] - b[key]) > tolerances[key]:
            return False
    return True


@part
def _alike(cells: Codes, numbers: Floats, i: int, previous: int) -> bool:
    if previous < 0 or cells[i] != cells[previous]:
        return False
    for key in range(numbers.shape[1]):  # noqa: SIM110 (numba compiles no generator expressions)
        if numbers[i, key] != numbers[previous, key]:
            return False
    return True


def sum_sorted(
    order: Codes,
    target_cells: Codes,
    target_numbers: Floats,
    reach: int,
    cells: Codes,
    numbers: Floats,
    tolerances: Floats,
    weights: Floats,
) -> Floats:
    """Add up the weights of the records in each target's cell, or ``reach`` cells beside it, that are close.

    Close is within the tolerance on every numeric key. Without weights records are counted.
    """
    sums = np.zeros(len(order))
    _sum(order, target_cells, target_numbers, reach, cells, numbers, tolerances, weights, sums)
    return sums


@compiled
def _sum(
    order: Codes,
    target_cells: Codes,
    target_numbers: Floats,
    reach: int,
    cells: Codes,
    numbers: Floats,
    tolerances: Floats,
    weights: Floats,
    sums: Floats,
) -> None:
    """Write what :func:`sum_sorted` returns."""
    counted = len(weights) == 0
    # a literal would be a type of its own, for which _alike is compiled once more
    previous = int(-1.0)
    total = 0.0
    for i in order:
        if not _alike(target_cells, target_numbers, i, previous):
            total = 0.0
            for cell in range(target_cells[i] - reach, target_cells[i] + reach + 1):
                left, right = window(cells, numbers[:, 0], cell, target_numbers[i, 0], tolerances[0])
                if counted and len(tolerances) == 1:
                    total += right - left
                    continue
                for k in range(left, right):
                    if _close(numbers[k], target_numbers[i], tolerances):
                        total += 1.0 if counted else weights[k]
        sums[i] = total
        previous = i


@part
def _is_candidate(target_cell: int, target: Floats, reach: int, cell: int, row: Floats, tolerances: Floats) -> bool:
    # neighbours lie at most ``reach`` strips apart, and strips of different cells never touch
    if abs(target_cell - cell) > reach or abs(target[0] - row[0]) > tolerances[0]:
        return False
    return _close(row, target, tolerances)


@part
def _collect(
    cell: int,
    target: Floats,
    reach: int,
    rows: npt.NDArray[np.int32],
    cells: Codes,
    lead: Floats,
    second: Floats,
    row_numbers: Floats,
    tolerances: Floats,
    found: npt.NDArray[np.int32],
) -> int:
    """Write the candidates of a target in one copy to ``found`` and return how many there are."""
    size = 0
    for strip in range(cell - reach, cell + reach + 1):
        left, right = window(cells, lead, strip, target[0], tolerances[0])
        if len(tolerances) == 1:
            for k in range(left, right):
                found[size] = rows[k]
                size += 1
            continue
        value, tolerance = target[1], tolerances[1]
        for k in range(left, right):
            # written first and kept by moving on: a branch that is taken at random costs more than the write
            found[size] = rows[k]
            size += abs(second[k] - value) <= tolerance
    if len(tolerances) > 2:
        kept = 0
        for k in range(size):
            record = found[k]
            found[kept] = record
            kept += _close(row_numbers[record], target, tolerances)
        return kept
    return size


@part
def _ascending(sizes: Codes, order: Codes) -> None:
    """Write to ``order`` the places of some numbers, the smallest first (there are as many as copies: few)."""
    for j in range(len(sizes)):
        place = j
        while place > 0 and sizes[order[place - 1]] > sizes[j]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = j


def match_sorted(
    wanted: Codes,
    target_cells: Codes,
    target_numbers: Floats,
    reach: int,
    rows: npt.NDArray[np.int32],
    cells: Codes,
    lead: Floats,
    second: Floats,
    row_cells: Codes,
    row_numbers: Floats,
    tolerances: Floats,
) -> tuple[Floats, Floats, Floats, Codes, Booleans, Codes, Codes]:
    """Return individual, unconditional, top, best, hit, winner and alone as ``Matches`` defines them.

    Records are numbered so that equal keys follow each other and candidates of one target lie close together in
    memory; ``wanted`` says, in ascending order, which of them are targets. ``rows``, ``cells`` and the first and
    second numeric key hold one sorted copy per first index, ``row_cells`` and ``row_numbers`` the same copy in the
    order of the records.

    Copies are visited by ascending number of candidates s. Once the remaining Σ 1/s is less than what the best record
    leads by, no further record is taken up: the few that can still win are looked up one by one.
    """
    n, copies, count = rows.shape[1], rows.shape[0], len(wanted)
    individual, unconditional, top = np.zeros(count), np.zeros(count), np.zeros(count)
    best, winner = np.zeros(count, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    hit, alone = np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.int64)
    _match(
        wanted,
        target_cells,
        target_numbers,
        reach,
        rows,
        cells,
        lead,
        second,
        row_cells,
        row_numbers,
        tolerances,
        np.zeros(n),
        np.empty(n, dtype=np.int32),
        # one place more: a candidate is written before it is known to be one
        np.empty((copies, n + 1), dtype=np.int32),
        np.zeros(copies, dtype=np.int64),
        np.zeros(copies, dtype=np.int64),
        individual,
        unconditional,
        top,
        best,
        hit,
        winner,
        alone,
    )
    return individual, unconditional, top, best, hit, winner, alone


@compiled
def _match(
    wanted: Codes,
    target_cells: Codes,
    target_numbers: Floats,
    reach: int,
    rows: npt.NDArray[np.int32],
    cells: Codes,
    lead: Floats,
    second: Floats,
    row_cells: Codes,
    row_numbers: Floats,
    tolerances: Floats,
    score: Floats,
    touched: npt.NDArray[np.int32],
    found: npt.NDArray[np.int32],
    sizes: Codes,
    order: Codes,
    individual: Floats,
    unconditional: Floats,
    top: Floats,
    best: Codes,
    hit: Booleans,
    winner: Codes,
    alone: Codes,
) -> None:
    """Write what :func:`match_sorted` returns; ``score`` to ``order`` are overwritten."""
    copies = rows.shape[0]
    reached, ties, pointed, previous = 0, 0, -1, int(-1.0)
    total, threshold, largest = 0.0, 0.0, 0.0
    for place in range(len(wanted)):
        i = wanted[place]
        cell, target = target_cells[i], target_numbers[i]
        if not _alike(target_cells, target_numbers, i, previous):
            for k in range(reached):
                score[touched[k]] = 0.0
            reached, total, largest = 0, 0.0, 0.0
            for j in range(copies):
                size = _collect(
                    cell, target, reach, rows[j], cells[j], lead[j], second[j], row_numbers[j], tolerances, found[j]
                )
                sizes[j] = size
                if size > 0:
                    total += 1.0 / size
            remaining = total
            _ascending(sizes, order)
            for j in order:
                if sizes[j] == 0:
                    continue
                share = 1.0 / sizes[j]
                if remaining >= largest - TIE * copies:
                    for k in range(sizes[j]):
                        record = found[j, k]
                        if score[record] == 0.0:
                            touched[reached] = record
                            reached += 1
                        score[record] += share
                        largest = max(largest, score[record])
                else:
                    floor = largest - remaining - TIE * copies
                    for k in range(reached):
                        record = touched[k]
                        if score[record] >= floor and _is_candidate(
                            cell, target, reach, row_cells[j, record], row_numbers[j, record], tolerances
                        ):
                            score[record] += share
                            largest = max(largest, score[record])
                remaining -= share
            threshold = largest - TIE * copies
            ties, pointed = 0, -1
            for k in range(reached):
                if score[touched[k]] >= threshold:
                    ties += 1
                    pointed = touched[k]
        for j in range(copies):
            if sizes[j] > 0 and _is_candidate(cell, target, reach, row_cells[j, i], row_numbers[j, i], tolerances):
                individual[place] += 1.0 / sizes[j] / copies
                alone[place] += sizes[j] == 1
        unconditional[place] = total / copies
        top[place] = largest / copies
        best[place] = ties
        hit[place] = ties > 0 and score[i] >= threshold
        winner[place] = pointed if ties == 1 else -1
        previous = i
