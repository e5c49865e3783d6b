"""Files as numbers that can be compared, and the questions that an intruder asks about a target."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.evaluation.combinations import Booleans
from synthdp.evaluation.risk.nearest import span
from synthdp.evaluation.risk.shadow.counting import Masks
from synthdp.microdata import Codes, Floats, codes, numbers
from synthdp.schema import Column, Role

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
        spans = [1.0 if c.kind.categorical else span(_numbers(frame[c.name], c)) for c in columns]
        return cls(tuple(columns), np.asarray(spans))

    def __repr__(self) -> str:
        return f"Coder({len(self.columns)} columns)"

    @property
    def replaced(self) -> Booleans:
        """Which columns are not released as they are."""
        return np.asarray([column.role is not Role.KEEP for column in self.columns], dtype=np.bool_)

    def code(self, frame: pd.DataFrame) -> Floats:
        """Return a file as numbers, shape (n, p). Cost O(n p)."""
        found = np.empty((len(frame), len(self.columns)))
        for j, column in enumerate(self.columns):
            series = frame[column.name]
            if column.kind.categorical:
                found[:, j] = codes(series, column)
            else:
                values = _numbers(series, column) / self.spans[j]
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


def _numbers(series: pd.Series, column: Column) -> Floats:
    values = numbers(series, column)
    return np.where(np.isfinite(values), values, np.nan)
