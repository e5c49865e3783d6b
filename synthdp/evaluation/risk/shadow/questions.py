"""Files as numbers that can be compared, and the questions that an intruder asks about a target."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats, compiled
from synthdp.evaluation.risk.nearest import span
from synthdp.table.coded import coded
from synthdp.table.schema import Column, Role

TILE = 1024
Masks = npt.NDArray[np.uint64]


@compiled
def _slot(held: int, size: int) -> int:
    """Return the first place to look for a set of bits in a table whose size is a power of two (Fibonacci hashing)."""
    mixed = np.uint64(held) * np.uint64(0x9E3779B97F4A7C15)
    return int((mixed ^ (mixed >> np.uint64(29))) >> np.uint64(20)) & (size - 1)


@compiled
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


@compiled
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


# a missing number is one more value, farther than 1 from all others
MISSING = 1e300
LARGEST = 1e299
ROUNDING = 1e-9
WIDE = 0.1
MOST_BITS = 62
QUERIES = 96
LARGEST_SUBSET = 4


@dataclass(frozen=True, repr=False)
class Coder:
    """How files are coded: levels by position, numbers in units of the middle 98% of the original.

    The differences |a − b| of coded values, cut off at 1, are then those of Gower's distance (see
    :class:`~synthdp.evaluation.risk.nearest.Records`), missing values included.
    """

    columns: tuple[Column, ...]
    spans: Floats

    @classmethod
    def of(cls, frame: pd.DataFrame, columns: Sequence[Column]) -> "Coder":
        """Return the coder whose scale this file, the original, sets."""
        spans = [1.0 if c.kind.categorical else span(coded(frame).finite(c)) for c in columns]
        return cls(tuple(columns), np.asarray(spans))

    def __repr__(self) -> str:
        return f"Coder({len(self.columns)} columns)"

    @property
    def replaced(self) -> Booleans:
        """Which columns are not released as they are."""
        return np.asarray([column.role is not Role.KEEP for column in self.columns], dtype=np.bool_)

    def code(self, frame: pd.DataFrame) -> Floats:
        """Return a file as numbers, shape (n, p). Cost O(n p)."""
        file, found = coded(frame), np.empty((len(frame), len(self.columns)))
        for j, column in enumerate(self.columns):
            if column.kind.categorical:
                found[:, j] = file.codes(column)
            else:
                values = file.finite(column) / self.spans[j]
                found[:, j] = np.where(np.isnan(values), MISSING, values)
        return found


@dataclass(frozen=True, repr=False)
class Questions:
    """Conditions on single columns, one bit each, and queries: sets of bits that a row must all answer with yes.

    Parameters
    ----------
    column_of
        The column of each bit.
    low, high
        Between what its value must lie, for each target, shape (targets, bits).
    queries
        Sets of bits.
    """

    column_of: Codes
    low: Floats
    high: Floats
    queries: Masks

    def __repr__(self) -> str:
        return f"Questions({len(self.queries)} about {len(self.low)} targets)"


def ask(coder: Coder, records: Floats, targets: Floats, *, rng: np.random.Generator) -> Questions:
    """Return the questions about the targets: how many rows are like them in random subsets of the columns.

    A kept or categorical column must be equal. A replaced number is asked about three times: within its tolerance,
    within a tenth of the middle 98%, and at least half as far from the median as the target, on its side. Asked are
    every bit alone, all kept columns with each bit of a replaced one, all columns at their closest, and random
    subsets of two to four columns; at most 62 bits and 96 queries.

    References
    ----------
    Houssiau et al. (2022), "TAPAS: a toolbox for adversarial privacy auditing of synthetic data", NeurIPS workshop on
    synthetic data, arXiv:2211.06550: counts of rows that agree with the target on random subsets of the columns.
    """
    replaced = coder.replaced
    exact: list[tuple[int, Floats, Floats]] = []
    tails: list[tuple[int, Floats, Floats]] = []
    wide: list[tuple[int, Floats, Floats]] = []
    for j, column in enumerate(coder.columns):
        value = targets[:, j]
        tolerance = column.tolerance / coder.spans[j] if replaced[j] and not column.kind.categorical else 0.0
        exact.append((j, value - tolerance - ROUNDING, value + tolerance + ROUNDING))
        if column.kind.categorical or not replaced[j]:
            continue
        known = records[records[:, j] < LARGEST, j]
        centre = float(np.median(known)) if len(known) else 0.0
        half = (value + centre) / 2
        missing, above = value >= LARGEST, value >= centre
        low, high = np.where(above, half, -LARGEST), np.where(above, LARGEST, half)
        tails.append((j, np.where(missing, MISSING, low), np.where(missing, MISSING, high)))
        wide.append((j, value - WIDE, value + WIDE))
    bits = [*exact, *tails, *wide][:MOST_BITS]
    column_of = np.asarray([j for j, _, _ in bits], dtype=np.int64)
    closest = min(len(exact), MOST_BITS)
    return Questions(
        column_of,
        np.ascontiguousarray(np.column_stack([low for _, low, _ in bits])),
        np.ascontiguousarray(np.column_stack([high for _, _, high in bits])),
        _queries(column_of, closest, replaced, rng),
    )


def _queries(column_of: Codes, closest: int, replaced: Booleans, rng: np.random.Generator) -> Masks:
    """Return the sets of bits, each once; the first ``closest`` bits are the closest ones of their columns."""
    kept = [b for b in range(closest) if not replaced[column_of[b]]]
    drawn = [b for b in range(len(column_of)) if replaced[column_of[b]]]
    sets = [frozenset([b]) for b in range(len(column_of))]
    sets += [frozenset(range(closest)), frozenset(b for b in range(closest) if replaced[column_of[b]])]
    sets += [frozenset([*kept, b]) for b in drawn] if kept else []
    found = dict.fromkeys(one for one in sets if one)
    for _ in range(20 * QUERIES):  # few columns have fewer subsets than are wanted
        if len(found) >= QUERIES:
            break
        size = int(rng.integers(2, LARGEST_SUBSET + 1))
        subset: dict[int, int] = {}
        for b in rng.permutation(len(column_of))[: 2 * size]:
            subset.setdefault(int(column_of[b]), int(b))
        found.setdefault(frozenset(list(subset.values())[:size]))
    return np.asarray([sum(1 << b for b in one) for one in list(found)[:QUERIES]], dtype=np.uint64)
