"""Columns as a regression reads them: replaced ones as a vector of numbers and indicators, kept ones beside it.

Everything here is worked out from the copies, as an intruder with the public files would. Rows are coded a stretch at
a time, so that a file of a million rows never stands in memory as indicators.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthdp.arrays import Codes, Floats
from synthdp.table.coded import Coded
from synthdp.table.links import Link
from synthdp.table.schema import Column

# levels beyond the most frequent ones are one
MOST_LEVELS = 20
# a kept level is told apart when this many rows have it
FEWEST_ROWS = 10
# rows per kept predictor, so that the regression does not follow the noise
ROWS_EACH = 10


@dataclass(frozen=True, repr=False)
class Place:
    """Where a column stands in the vector: one number (``levels`` 0), or one indicator for each level."""

    column: Column
    first: int
    levels: int
    rank: Codes
    gaps: bool = False

    def __repr__(self) -> str:
        return f"Place({self.levels} levels)"

    @property
    def stop(self) -> int:
        """The first position after it."""
        return self.first + max(1, self.levels)

    def level(self, file: Coded) -> Codes:
        """Return which indicator is one, row by row."""
        if self.gaps:
            return np.isfinite(_number(file, self.column)).astype(np.int64)
        return self.rank[file.codes(self.column)]

    def write(self, file: Coded, into: Floats) -> None:
        """Write the column's part of the vector: a number on its working scale (NaN: missing), or indicators."""
        if self.levels:
            into[np.arange(len(file)), self.level(file)] = 1.0
        else:
            into[:, 0] = _number(file, self.column)


@dataclass(frozen=True, repr=False)
class Coding:
    """The vector u of replaced columns: numbers, indicators of levels, and indicators of gaps that copies may move."""

    places: tuple[Place, ...]

    def __repr__(self) -> str:
        return f"Coding({len(self.places)} columns)"

    def matrix(self, file: Coded) -> Floats:
        """Return u for every row: the columns one after another in the order of ``places``; NaN for missing numbers."""
        ends = np.cumsum([0, *(place.stop - place.first for place in self.places)])
        found = np.zeros((len(file), ends[-1]))
        for begin, end, place in zip(ends[:-1], ends[1:], self.places, strict=True):
            place.write(file, found[:, begin:end])
        return found


def code_columns(copies: Sequence[Coded], columns: Sequence[Column], gaps: Sequence[str]) -> Coding:
    """Return how columns are coded, levels ranked by how often copies show them.

    Parameters
    ----------
    gaps
        Numbers whose missing values are not where they were in the original: being missing is then a level too.
    """
    places: list[Place] = []
    first = 0
    for column in columns:
        if column.kind.categorical:
            counts = np.zeros(len(column.levels) + 1, dtype=np.int64)
            for copy in copies:
                counts += np.bincount(copy.codes(column) + 1, minlength=len(counts))
            # the last entry is that of position -1
            counts = np.append(counts[1:], counts[0])
            rank = np.empty(len(counts), dtype=np.int64)
            rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
            levels = int(np.clip((counts > 0).sum(), 1, MOST_LEVELS))
            places.append(Place(column, first, levels, np.minimum(rank, levels - 1)))
        else:
            places.append(Place(column, first, 0, np.empty(0, dtype=np.int64)))
            if column.name in gaps:
                places.append(Place(column, first + 1, 2, np.empty(0, dtype=np.int64), gaps=True))
        first = places[-1].stop
    return Coding(tuple(places))


@dataclass(frozen=True, repr=False)
class _Part:
    column: Column
    center: float
    spread: float
    gaps: bool
    wanted: Codes


@dataclass(frozen=True, repr=False)
class Kept:
    """What a regression sees of the kept columns: a constant, numbers and their squares, gaps, frequent levels."""

    parts: tuple[_Part, ...]

    def __repr__(self) -> str:
        return f"Kept({len(self.parts)} columns)"

    def matrix(self, file: Coded) -> Floats:
        """Return one row of predictors for each row of the file."""
        found = [np.ones((len(file), 1))]
        for part in self.parts:
            if part.column.kind.categorical:
                found.append((file.codes(part.column)[:, None] == part.wanted).astype(np.float64))
                continue
            values = (file.numbers(part.column) - part.center) / part.spread
            present = np.isfinite(values)
            values = np.where(present, values, 0.0)
            found.append(np.column_stack([values, values**2 - present]))
            if part.gaps:
                found.append((~present)[:, None].astype(np.float64))
        return np.hstack(found)


def code_kept(file: Coded, columns: Sequence[Column]) -> Kept:
    """Return the predictors that kept columns give, no more than a tenth of the rows; a survey's clusters give none."""
    parts: list[_Part] = []
    left = len(file) // ROWS_EACH - 1
    nothing = np.empty(0, dtype=np.int64)
    for column in sorted(columns, key=lambda column: column.kind.categorical):
        if column.design == "cluster" or left <= 0:
            continue
        if column.kind.categorical:
            counts = np.bincount(file.codes(column) + 1, minlength=len(column.levels) + 1)
            frequent = np.argsort(-counts, kind="stable")
            # the most frequent level is the constant
            wanted = frequent[1 : 1 + min(left, MOST_LEVELS)]
            wanted = wanted[counts[wanted] >= FEWEST_ROWS] - 1
            left -= len(wanted)
            if len(wanted):
                parts.append(_Part(column, 0.0, 1.0, False, wanted))
            continue
        values = file.numbers(column)
        present = np.isfinite(values)
        if present.any() and (spread := float(values[present].std())) > 0:
            parts.append(_Part(column, float(values[present].mean()), spread, not present.all(), nothing))
            left -= 2 + parts[-1].gaps
    return Kept(tuple(parts))


def _number(file: Coded, column: Column) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        values = Link(0.0, 1.0, column.transform, column.bounds).forward(file.numbers(column))
    return np.where(np.isfinite(values), values, np.nan)
