"""The nearest rows of another file when columns are mixed: levels differ or not, numbers differ by more or less."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.arrays import Codes, Floats, compiled
from synthdp.evaluation.combinations import classes
from synthdp.table.coded import coded, merge
from synthdp.table.schema import Column

# distances are sums of rounded quotients: closer than this they are equal
TIE = 1e-12


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
    found, best = np.full((len(labels), k), -1, dtype=np.int64), np.full((len(labels), k), np.inf)
    differ = np.empty(len(cell_labels), dtype=np.int64)
    _search(labels, values, cell_labels, starts, rows, order, rank, skip, differ, found, best)
    return found, best


@compiled
def _search(
    labels: Codes,
    values: Floats,
    cell_labels: Codes,
    starts: Codes,
    rows: Floats,
    order: Codes,
    rank: Codes,
    skip: Codes,
    differ: Codes,
    found: Codes,
    best: Floats,
) -> None:
    """Write what :func:`search` returns; ``differ`` is overwritten."""
    q, c, p, cells = labels.shape[0], labels.shape[1], values.shape[1], cell_labels.shape[0]
    k = found.shape[1]
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
                right = left = start
                if not counted:
                    # the first row that is not below the target
                    right = stop
                    while left < right:
                        middle = (left + right) // 2
                        if rows[middle, 0] < x:
                            left = middle + 1
                        else:
                            right = middle
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


MIDDLE = (0.01, 0.99)


@dataclass(frozen=True, repr=False)
class Records:
    """Records of one file, coded for distances.

    The distance of two records is the mean over columns of: 0 or 1 for equal or different levels; min(1, |a − b|/r)
    for numbers, where r is the span of the middle 98% of the original; 0 where both are missing, 1 where one is. It is
    Gower's (1971, Biometrics 27, 857-871) with a range that one outlier does not stretch.

    Parameters
    ----------
    labels
        Levels as codes, shape (n, c); the last column says whether the first number is missing.
    values
        Numbers in units of r, shape (n, p), NaN where missing; the first column is 0 where missing.
    width
        The number of columns p + c − 1 by which the sum is divided.
    """

    labels: Codes
    values: Floats
    width: int

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"Records({len(self)} records, {self.width} columns)"

    def take(self, rows: Codes) -> "Records":
        """Return some of the records."""
        return Records(self.labels[rows], self.values[rows], self.width)


def stack(parts: Sequence[Records]) -> Records:
    """Return the records of several files as one."""
    return Records(
        np.concatenate([part.labels for part in parts]), np.concatenate([part.values for part in parts]), parts[0].width
    )


def encode_records(frames: Sequence[pd.DataFrame], columns: Sequence[Column]) -> tuple[Records, ...]:
    """Code several files alike; the first one (the original) sets the scale of numbers. Cost O(p n log n)."""
    sizes = [len(frame) for frame in frames]
    labels: list[Codes] = []
    values: list[Floats] = []
    for column in columns:
        if column.kind.categorical:
            labels.append(np.concatenate(classes(frames, column)))
            continue
        found = [coded(frame).finite(column) for frame in frames]
        values.append(np.concatenate(found) / span(found[0]))
    # the widest first: it rules out most rows
    values.sort(key=lambda one: -float(np.nanstd(one)) if np.isfinite(one).any() else 0.0)
    first = values[0] if values else np.zeros(sum(sizes))
    absent = np.isnan(first)
    numeric = np.column_stack([np.where(absent, 0.0, first), *values[1:]])
    levels = np.column_stack([*labels, absent.astype(np.int64)])
    cuts = np.cumsum(sizes)[:-1]
    pairs = zip(np.split(levels, cuts), np.split(numeric, cuts), strict=True)
    return tuple(Records(one, np.ascontiguousarray(other), len(columns)) for one, other in pairs)


def nearest(
    targets: Records, rows: Records, *, k: int = 1, skip: Codes | None = None, rng: np.random.Generator
) -> tuple[Codes, Floats]:
    """Return for every target the k nearest rows and their distances, nearest first.

    Parameters
    ----------
    targets, rows
        Coded together by :func:`encode_records`.
    k
        How many; -1 (at distance ∞) fills the places where there are fewer rows.
    skip
        For each target a row that does not count (itself), or -1.
    rng
        Ties (up to rounding) go to the row that comes first in a random order of all rows, so nothing is said by where
        a row stands in its file.

    Notes
    -----
    Rows are sorted by cell (combination of levels) and by the widest number. Cells are visited by the number of levels
    that differ and dropped when that alone is too far; inside a cell the search goes outwards from the target's number
    until it alone is too far. The worst case is q · n for q targets (many numbers, no levels); with levels it is
    q times the number of cells plus the rows of a few cells. Callers bound q.
    """
    if len(targets) == 0 or len(rows) == 0:
        return np.full((len(targets), k), -1, dtype=np.int64), np.full((len(targets), k), np.inf)
    cell = np.zeros(len(rows), dtype=np.int64)
    for column in rows.labels.T:
        cell = merge(cell, column)
    shuffled = rng.permutation(len(rows))
    rank = np.empty(len(rows), dtype=np.int64)
    rank[shuffled] = np.arange(len(rows))
    order = shuffled[np.lexsort((rows.values[shuffled, 0], cell[shuffled]))]
    starts = np.searchsorted(cell[order], np.arange(cell.max() + 2)).astype(np.int64)
    found, distance = search(
        np.ascontiguousarray(targets.labels),
        np.ascontiguousarray(targets.values),
        np.ascontiguousarray(rows.labels[order[starts[:-1]]]),
        starts,
        np.ascontiguousarray(rows.values[order]),
        order.astype(np.int64),
        rank,
        np.full(len(targets), -1, dtype=np.int64) if skip is None else skip,
        k,
    )
    return found, distance / max(1, rows.width)


def span(values: Floats) -> float:
    """Return the width of the middle 98% of the known values, or of all of them, or 1."""
    known = values[np.isfinite(values)]
    if not len(known):
        return 1.0
    low, high = np.quantile(known, MIDDLE)
    return float(high - low) or float(known.max() - known.min()) or 1.0
