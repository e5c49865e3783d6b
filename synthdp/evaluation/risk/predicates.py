"""Sentences about a record that can be true of one person only: drawn from a copy, counted in another file."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.evaluation.combinations import Booleans, classes
from synthdp.microdata import Codes, Floats, numbers
from synthdp.schema import Column

TRIES = 20
# what a condition says of a value
EQUAL, AT_MOST, AT_LEAST, ABSENT = range(4)
Condition = tuple[int, int, float]  # column, what it says, value
Predicate = tuple[Condition, ...]


@dataclass(frozen=True, repr=False)
class Table:
    """A file as numbers: levels by code, numbers as they are, NaN where missing."""

    values: tuple[Floats, ...]
    categorical: tuple[bool, ...]

    def __repr__(self) -> str:
        return f"Table({len(self.values[0])} records x {len(self.values)} columns)"

    def __len__(self) -> int:
        return len(self.values[0])

    def count(self, predicate: Predicate) -> int:
        """Return of how many records the predicate is true. O(n), and less for each further condition."""
        (column, says, value), *others = predicate
        rows = np.flatnonzero(_holds(self.values[column], says, value))
        for column, says, value in others:
            rows = rows[_holds(self.values[column][rows], says, value)]
        return len(rows)


def tabulate(frames: Sequence[pd.DataFrame], columns: Sequence[Column]) -> list[Table]:
    """Code several files alike."""
    coded: list[list[Floats]] = []
    for column in columns:
        series = [frame[column.name] for frame in frames]
        if column.kind.categorical:
            found = [one.astype(np.float64) for one in classes(series, column)]
        else:
            found = [numbers(one, column) for one in series]
        coded.append([np.where(one.isna().to_numpy(), np.nan, v) for one, v in zip(series, found, strict=True)])
    flags = tuple(column.kind.categorical for column in columns)
    return [Table(tuple(column[number] for column in coded), flags) for number in range(len(frames))]


def univariate(copy: Table) -> list[Predicate]:
    """Return every predicate on one column that isolates a row of the copy.

    The only missing value, a value that occurs once, or (numbers) being at or beyond the extreme. O(n log n) a column.
    """
    found: list[Predicate] = []
    for column, values in enumerate(copy.values):
        absent = np.isnan(values)
        if int(absent.sum()) == 1:
            found.append(((column, ABSENT, 0.0),))
        distinct, counts = np.unique(values[~absent], return_counts=True)
        found += [((column, EQUAL, float(value)),) for value in distinct[counts == 1]]
        if len(distinct) and not copy.categorical[column]:
            if counts[0] == 1:
                found.append(((column, AT_MOST, float(distinct[0])),))
            if counts[-1] == 1:
                found.append(((column, AT_LEAST, float(distinct[-1])),))
    return found


def multivariate(copy: Table, *, attacks: int, size: int, rng: np.random.Generator) -> list[Predicate]:
    """Return predicates on several columns that isolate a row of the copy.

    A row and ``size`` columns are drawn at random; levels and missing values must be equal, numbers on the same side
    of the row's number, outwards from the median. Draws that are true of other rows too are thrown away; after 20
    draws for each predicate asked for, there are fewer.

    Notes
    -----
    O(n · size) for each draw.
    """
    size = min(size, len(copy.values))
    medians = [float(np.nanmedian(one)) if np.isfinite(one).any() else 0.0 for one in copy.values]
    found: dict[Predicate, None] = {}
    for _ in range(TRIES * attacks):
        if len(found) >= attacks:
            break
        row = int(rng.integers(len(copy)))
        chosen = np.sort(rng.choice(len(copy.values), size, replace=False))
        predicate = tuple(_condition(copy, int(column), row, medians) for column in chosen)
        if predicate not in found and copy.count(predicate) == 1:
            found[predicate] = None
    return list(found)


def blind(copy: Table, *, attacks: int, size: int, rng: np.random.Generator) -> list[Predicate]:
    """Return predicates made without looking at rows: columns, values between the extremes and sides at random."""
    size = min(size, len(copy.values))
    made: list[Predicate] = []
    for _ in range(attacks):
        chosen = np.sort(rng.choice(len(copy.values), size, replace=False))
        made.append(tuple(_random_condition(copy, int(column), rng) for column in chosen))
    return made


def _condition(copy: Table, column: int, row: int, medians: Sequence[float]) -> Condition:
    value = float(copy.values[column][row])
    if np.isnan(value):
        return column, ABSENT, 0.0
    if copy.categorical[column]:
        return column, EQUAL, value
    return column, AT_LEAST if value >= medians[column] else AT_MOST, value


def _random_condition(copy: Table, column: int, rng: np.random.Generator) -> Condition:
    values = copy.values[column]
    known = values[np.isfinite(values)]
    if not len(known):
        return column, ABSENT, 0.0
    if copy.categorical[column]:
        return column, EQUAL, float(rng.choice(np.unique(known)))
    return column, int(rng.choice([AT_MOST, AT_LEAST])), float(rng.uniform(known.min(), known.max()))


def _holds(values: Floats, says: int, value: float) -> Booleans:
    if says == ABSENT:
        return np.isnan(values)
    if says == EQUAL:
        return np.asarray(values == value)
    return np.asarray(values <= value if says == AT_MOST else values >= value)


def isolating(counts: Codes, size: int, sample: int) -> Floats:
    """Return the probability that a predicate true of ``counts`` of ``size`` records is true of one in a sample.

    Hypergeometric: Pr(exactly one of the c records is among m drawn without replacement from n) =
    c · m/n · Π_{j=1}^{c−1} (n − m − j + 1)/(n − j). So files of unequal size are compared at the smaller size without
    drawing.
    """
    from scipy.stats import hypergeom

    if sample >= size:
        return np.asarray(counts == 1, dtype=np.float64)
    return np.asarray(hypergeom.pmf(1, size, counts, sample), dtype=np.float64)
