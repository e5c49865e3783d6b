"""The compiled loop behind :func:`synthdp.evaluation.risk.nearest.nearest`; its numpy twin is in the tests."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit

from synthdp.microdata import Codes, Floats

# distances are sums of rounded quotients: closer than this they are equal
TIE = 1e-12

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _compiled(function: Kernel) -> Kernel:
    return cast(Kernel, njit(cache=True, nogil=True)(function))


@_compiled
def search(
    labels: Codes,
    values: Floats,
    cell_labels: Codes,
    starts: Codes,
    rows: Floats,
    order: Codes,
    rank: Codes,
    skip: Codes,
    k: int,
) -> tuple[Codes, Floats]:
    """Return the k nearest rows of each target and the sums of their differences; equally near, the lowest rank."""
    q, c, p, cells = labels.shape[0], labels.shape[1], values.shape[1], cell_labels.shape[0]
    found = np.full((q, k), -1, dtype=np.int64)
    best = np.full((q, k), np.inf)
    differ = np.empty(cells, dtype=np.int64)
    for i in range(q):
        for cell in range(cells):
            count = 0
            for j in range(c):
                if labels[i, j] != cell_labels[cell, j]:
                    count += 1
            differ[cell] = count
        for count in range(c + 1):
            if count > best[i, k - 1] + TIE:
                break
            for cell in range(cells):
                if differ[cell] != count:
                    continue
                if count > best[i, k - 1] + TIE:
                    break
                start, stop = starts[cell], starts[cell + 1]
                # the last label says that the first number is missing: then it has been counted already
                counted = labels[i, c - 1] == 1 or cell_labels[cell, c - 1] == 1
                x = values[i, 0]
                right = start if counted else start + np.searchsorted(rows[start:stop, 0], x)
                left = right - 1
                while left >= start or right < stop:
                    if counted:
                        row, gap = right, 0.0
                        right += 1
                    else:
                        to_left = x - rows[left, 0] if left >= start else np.inf
                        to_right = rows[right, 0] - x if right < stop else np.inf
                        if to_left < to_right:
                            row, gap = left, min(1.0, to_left)
                            left -= 1
                        else:
                            row, gap = right, min(1.0, to_right)
                            right += 1
                    total = count + gap
                    if total > best[i, k - 1] + TIE:
                        break
                    if order[row] == skip[i]:
                        continue
                    for j in range(1, p):
                        a, b = values[i, j], rows[row, j]
                        if np.isnan(a) or np.isnan(b):
                            if np.isnan(a) != np.isnan(b):
                                total += 1.0
                        else:
                            total += min(1.0, abs(a - b))
                        if total > best[i, k - 1] + TIE:
                            break
                    place = k
                    while place > 0:
                        before = found[i, place - 1]
                        gain = best[i, place - 1] - total
                        if before >= 0 and (gain < -TIE or (gain <= TIE and rank[before] < rank[order[row]])):
                            break
                        place -= 1
                    if place < k:
                        for after in range(k - 1, place, -1):
                            best[i, after] = best[i, after - 1]
                            found[i, after] = found[i, after - 1]
                        best[i, place] = total
                        found[i, place] = order[row]
    return found, best
