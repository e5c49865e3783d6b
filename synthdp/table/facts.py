"""What is known of a column before it is trusted: found block by block, so that the file need not be there at once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.table.coded import FOREIGN, LARGEST, MISSING, codes, first_row
from synthdp.table.schema import NUMERIC_SETTINGS, Column, Kind, Level, Role, Variable

MOST_DECIMALS = 6
DEFAULT_TOLERANCE_SD = 0.1


@dataclass(frozen=True)
class Marked:
    """How many records are marked, and the first of them as people count them.

    >>> Marked.of(np.array([False, True]), start=10) + Marked(1, 3)
    Marked(count=2, first=3)
    """

    count: int = 0
    first: int = 0

    @classmethod
    def of(cls, rows: Booleans, start: int = 0) -> Self:
        """Return what is marked among the records from ``start`` on."""
        return cls(int(rows.sum()), start + first_row(rows)) if rows.any() else cls()

    def __add__(self, other: "Marked") -> "Marked":
        return Marked(self.count + other.count, min((one.first for one in (self, other) if one.count), default=0))


@dataclass(frozen=True, repr=False)
class NumberFacts:
    """What is known of a column of numbers.

    Parameters
    ----------
    bad, beyond, outside
        Values that are no finite number, too large for any use, or outside the declared bounds.
    low, high
        The smallest and the largest value.
    decimals
        How many decimals the values show; None when there are more than a person would write.
    """

    bad: Marked
    beyond: Marked
    outside: Marked
    low: float
    high: float
    decimals: int | None

    @classmethod
    def of(cls, values: Floats, present: Booleans, bounds: tuple[float, float] | None, start: int = 0) -> Self:
        """Return what is known of some records, from ``start`` on; ``present`` says which have a value."""
        finite = np.isfinite(values)
        beyond = np.abs(values) > LARGEST
        outside = np.zeros(len(values), dtype=bool) if bounds is None else (values < bounds[0]) | (values > bounds[1])
        known = values[finite]
        return cls(
            Marked.of(~finite & present, start),
            Marked.of(beyond & finite, start),
            Marked.of(outside, start),
            float(known.min(initial=np.inf)),
            float(known.max(initial=-np.inf)),
            # looked for among plain values only: others are refused
            _decimals(known) if not (beyond & finite).any() else None,
        )

    def __add__(self, other: "NumberFacts") -> "NumberFacts":
        places = (self.decimals, other.decimals)
        return NumberFacts(
            self.bad + other.bad,
            self.beyond + other.beyond,
            self.outside + other.outside,
            min(self.low, other.low),
            max(self.high, other.high),
            # what needs no more than one decimal needs no more than two
            None if None in places else max(place for place in places if place is not None),
        )


@dataclass(frozen=True, repr=False)
class LevelFacts:
    """What is known of a column of levels: values that are none, and how many records have each; missing ones last."""

    outside: Marked
    counts: Codes

    @classmethod
    def of(cls, series: pd.Series, column: Column, start: int = 0) -> Self:
        """Return what is known of some records, from ``start`` on."""
        found = codes(series, column, foreign=FOREIGN)
        levels = len(column.levels)
        places = np.where(found == MISSING, levels, found)[found != FOREIGN]
        return cls(Marked.of(found == FOREIGN, start), np.bincount(places, minlength=levels + 1))

    def __add__(self, other: "LevelFacts") -> "LevelFacts":
        return LevelFacts(self.outside + other.outside, self.counts + other.counts)


def level_column(column: Column, facts: LevelFacts, problems: list[str]) -> Column:
    """Return a column of levels, after checking it."""
    where, levels = f"variables.{column.name}", len(column.levels)
    outside = facts.outside
    if outside.count:
        problems.append(
            f"{where}: {outside.count} values outside the levels; first at row {outside.first}. "
            "Add them to levels, or recode."
        )
    if column.kind is Kind.BINARY and levels != 2:
        problems.append(f"{where}: a binary column needs exactly 2 levels, found {levels}.")
    elif column.role is Role.REPLACE and not outside.count and np.count_nonzero(facts.counts[:levels]) < 2:
        problems.append(f"{where}: a constant column cannot be replaced; set role: keep or drop.")
    return column


def number_column(
    column: Column, variable: Variable, facts: NumberFacts, sd: Callable[[], float], problems: list[str]
) -> Column:
    """Return a column of numbers with bounds, tolerance and decimals, after checking it.

    Parameters
    ----------
    sd
        Gives the standard deviation of its values.
    """
    where = f"variables.{column.name}"
    if facts.bad.count:
        problems.append(
            f"{where}: {column.kind} needs finite numbers, found {facts.bad.count} other values; "
            f"first at row {facts.bad.first}."
        )
        return column
    if facts.beyond.count:
        problems.append(
            f"{where}: {column.kind} needs numbers up to {LARGEST:g}, found {facts.beyond.count} beyond; first at row "
            f"{facts.beyond.first}. Where they stand for missing values, name them in data.missing_codes."
        )
        return column
    low, high = facts.low, facts.high
    if column.role is Role.REPLACE and low == high:
        problems.append(f"{where}: a constant column cannot be replaced; set role: keep or drop.")
    from_data = variable.bounds_from == "data" and low < high
    bounds = (low, high) if from_data else variable.bounds
    if bounds is not None and not from_data and facts.outside.count:
        problems.append(
            f"{where}: {facts.outside.count} values outside the bounds; first at row {facts.outside.first}. "
            "Widen the bounds, or recode."
        )
    if variable.transform != "none" and bounds is None:
        problems.append(
            f"{where}: transform: {variable.transform} needs bounds (the lower one is its zero); add bounds."
        )
    decimals = variable.decimals if variable.decimals is not None else facts.decimals
    default = variable.tolerance is None
    # nobody knows a value better than it is written, and averages of copies fall between values
    step = 0.0 if decimals is None else 0.5 * 10.0**-decimals
    tolerance = max(DEFAULT_TOLERANCE_SD * sd(), step) if variable.tolerance is None else variable.tolerance
    return column.model_copy(
        update={"bounds": bounds, "tolerance": tolerance, "tolerance_default": default, "decimals": decimals}
    )


def kind_of(like: pd.Series, distinct: Callable[[], int], variable: Variable) -> Kind:
    """Return the kind that what was declared implies, or else the values.

    Parameters
    ----------
    like
        A series of the column's type; whether it has records does not matter.
    distinct
        Gives the number of distinct values, missing ones left out.
    """
    if variable.levels is not None:
        return Kind.BINARY if len(variable.levels) == 2 else Kind.NOMINAL
    if pd.api.types.is_datetime64_any_dtype(like):
        return Kind.DATE
    if variable.transform != "none" or any(getattr(variable, name) is not None for name in NUMERIC_SETTINGS):
        return Kind.CONTINUOUS
    if isinstance(like.dtype, pd.CategoricalDtype):
        count = len(like.dtype.categories)
    else:
        count = distinct()
    if count == 2:
        return Kind.BINARY
    if pd.api.types.is_numeric_dtype(like) and not pd.api.types.is_bool_dtype(like):
        return Kind.CONTINUOUS
    return Kind.NOMINAL


def levels_of(series: pd.Series) -> tuple[Level, ...]:
    """Return the distinct values of a column in their order, missing ones left out."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        found = series.dtype.categories.tolist()
    else:
        found = np.asarray(pd.factorize(series)[1], dtype=object).tolist()
        try:
            found = sorted(found)
        except TypeError:  # mixed numbers and text have no order of their own
            found = sorted(found, key=str)
    # texts are levels as they are, and there may be a million
    return tuple(found) if set(map(type, found)) == {str} else tuple(_level(value) for value in found)


def _level(value: object) -> Level:
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, bool | int | float | str) else str(plain)


def _decimals(values: Floats) -> int | None:
    for places in range(MOST_DECIMALS + 1):
        if np.allclose(values, np.round(values, places), rtol=0, atol=1e-9):
            return places
    return None
