"""How each released column is stored: its type follows the schema, never what happens to stand in the column.

A column of whole numbers becomes floats in pandas when one cell is missing, and ``int64`` against ``double`` in a
published file would then tell that somebody's cell is. So the type of every column (kind, decimals, levels), the width
of text and the digits of numbers are taken from the resolved schema, which a differentially private method requires to
be declared. Where levels or decimals are left to be inferred they are a property of the whole column.

Only when released values do not fit the schema's type (a kept code such as ``007`` in a numeric column, a kept time of
day in a column of dates) do these values decide. They are public then, so the type tells nothing beyond them.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from synthdp.table.coded import FOREIGN, codes, numbers
from synthdp.table.io.narrowing import LARGEST_EXACT
from synthdp.table.schema import Column, Kind, Level, Role, Schema

Sort = Literal["whole", "number", "truth", "text", "date", "moment"]
TYPES = {"whole": pa.int64(), "number": pa.float64(), "truth": pa.bool_(), "text": pa.large_string()}
LONGEST_WHOLE = 2**63
USUAL_DIGITS = 10
MOST_DIGITS = 30
SHOWN_DECIMALS = 6


@dataclass(frozen=True)
class Stored:
    """The type of one released column in every copy and every format.

    Parameters
    ----------
    column
        Its place in the schema.
    sort
        Whole numbers that may be missing, numbers, truth values, text, dates or moments.
    type
        In Arrow.
    width
        Bytes of the longest text, 0 for other columns.

    Examples
    --------
    >>> age = Column(name="age", kind="continuous", role="replace", key=True, bounds=(0, 120), decimals=0)
    >>> Stored(age, "whole", pa.int64()).array(pd.Series([31.0, None])).type
    DataType(int64)
    """

    column: Column
    sort: Sort
    type: Any
    width: int = 0

    def array(self, series: pd.Series) -> Any:
        """Return a released column in Arrow, always of the same type. Cost O(n)."""
        found = self.fit(series)
        if found is None:  # storage() has tried every copy
            raise ValueError(f"{self.column.name}: the values are not those that its type was chosen for")
        return found

    def fit(self, series: pd.Series) -> Any | None:
        """Return a released column in Arrow, or None where the type does not hold its values."""
        if self.sort in ("date", "moment"):
            return _moments(series, self)
        if self.column.kind.categorical:
            return _levels(series, self)
        if self.sort == "text":
            return pa.array(series.astype(object), pa.large_string(), from_pandas=True)
        return _numbers(series, self)

    def shown(self) -> tuple[int, int]:
        """Return how many digits and decimals are shown, for formats in which a column says so."""
        decimals = 0 if self.sort in ("whole", "truth") else self.column.decimals
        decimals = SHOWN_DECIMALS if decimals is None else decimals
        digits = USUAL_DIGITS
        if self.column.bounds_public and self.column.bounds is not None:
            largest = max(map(abs, self.column.bounds))
            digits = 2 + math.floor(math.log10(max(largest, 1.0)))  # and a sign
        return min(digits, MOST_DIGITS) + (decimals + 1 if decimals else 0), decimals

    def spelled(self) -> tuple[Level, ...]:
        """Return the levels as they stand in the files."""
        return tuple(str(level) for level in self.column.levels) if self.sort == "text" else spelled(self.column.levels)


def storage(schema: Schema, copies: Sequence[pd.DataFrame]) -> dict[str, Stored]:
    """Return how each released column is stored; columns that fit no type of the schema are left out.

    Parameters
    ----------
    copies
        All copies of the release: one type must hold all of them. No original record is looked at.

    Notes
    -----
    Cost O(n) per column and copy.
    """
    found: dict[str, Stored] = {}
    for column in schema.columns:
        given = [copy[column.name] for copy in copies if column.name in copy.columns]
        stored = _stored(column, given) if given else None
        if stored is not None and all(stored.fit(series) is not None for series in given):
            found[column.name] = stored
    return found


def spelled(levels: Sequence[Level]) -> tuple[Level, ...]:
    """Return levels as a person writes them: 1, not 1.0, which is what one missing cell makes of it.

    Examples
    --------
    >>> spelled((1.0, 2.0)), spelled((0.5, 1.0)), spelled((True, False))
    ((1, 2), (0.5, 1.0), (True, False))
    """
    exact = [isinstance(v, int | float) and abs(v) <= LARGEST_EXACT and float(v).is_integer() for v in levels]
    if not all(exact) or all(isinstance(level, bool) for level in levels):
        return tuple(levels)
    return tuple(int(level) for level in levels)


def quoted_numbers(levels: Sequence[Level]) -> bool:
    """Whether levels are whole numbers in quotation marks, as a file of text never keeps them apart."""
    texts = [level for level in levels if isinstance(level, str)]
    return len(texts) == len(levels) and all(t.lstrip("-").isdecimal() and str(int(t)) == t for t in texts)


def _stored(column: Column, given: Sequence[pd.Series]) -> Stored | None:
    if column.kind is Kind.DATE:
        return _date(column, given)
    if column.kind.categorical:
        return _categorical(column, given)
    if column.role is Role.KEEP and not all(pd.api.types.is_numeric_dtype(series) for series in given):
        return None  # numbers that the file writes as text stay as they are
    whole = column.kind is Kind.COUNT or column.decimals == 0
    return Stored(column, "whole" if whole else "number", TYPES["whole" if whole else "number"])


def _categorical(column: Column, given: Sequence[pd.Series]) -> Stored | None:
    levels = spelled(column.levels)
    if not levels:
        return None
    sort: Sort = "text"
    if all(isinstance(level, bool) for level in levels):
        sort = "truth"
    elif all(isinstance(level, int) for level in levels):
        sort = "whole" if all(abs(int(level)) < LONGEST_WHOLE for level in levels) else "text"
    elif all(isinstance(level, int | float) for level in levels):
        sort = "number"
    elif quoted_numbers(levels) and all(pd.api.types.is_numeric_dtype(series) for series in given):
        sort = "whole"
    if sort != "text":
        return Stored(column, sort, TYPES[sort])
    # a long level that no copy holds would tell that somebody has it
    width = _longest(levels) if column.levels_public else _longest_of(given)
    return Stored(column, "text", TYPES["text"], width)


def _date(column: Column, given: Sequence[pd.Series]) -> Stored | None:
    if not all(pd.api.types.is_datetime64_any_dtype(series) for series in given):
        return Stored(column, "text", TYPES["text"], _longest_of(given))
    kinds = [pa.array(series.iloc[:0]).type for series in given]
    zones = {kind.tz for kind in kinds}
    if len(zones) > 1:
        return None
    fine = column.role is Role.KEEP and any(kind.unit == "ns" for kind in kinds)
    zone = zones.pop()
    day = column.decimals == 0 and zone is None
    stored = Stored(column, "date" if day else "moment", pa.timestamp("ns" if fine else "us", tz=zone))
    if day and any(stored.fit(series) is None for series in given):
        return Stored(column, "moment", stored.type)
    return stored


def _longest(texts: Iterable[object]) -> int:
    return max((len(str(text).encode()) for text in texts), default=1)


def _longest_of(given: Sequence[pd.Series]) -> int:
    return _longest(text for series in given for text in pd.unique(series.dropna().astype(object)))


def _levels(series: pd.Series, stored: Stored) -> Any | None:
    """Return levels by name; values that are no level (the missing codes of a survey) stay as they are."""
    places = codes(series, stored.column, foreign=FOREIGN)
    words = pa.array(stored.spelled() if stored.sort != "whole" else [int(w) for w in stored.spelled()], stored.type)
    found = words.take(pa.array(places, mask=places < 0))
    others = places == FOREIGN
    if not others.any():
        return found
    given = series[others]
    try:
        plain = [str(v) for v in given] if stored.sort == "text" else pd.to_numeric(given).to_numpy(np.float64)
        kept = pa.array(plain).cast(stored.type)
    except (ValueError, TypeError, pa.ArrowInvalid):
        return None
    return pc.replace_with_mask(found, pa.array(others), kept)


def _numbers(series: pd.Series, stored: Stored) -> Any | None:
    if pd.api.types.is_integer_dtype(series.dtype) and stored.sort == "whole":
        try:
            return pa.array(series, from_pandas=True).cast(pa.int64())
        except pa.ArrowInvalid:  # beyond 2^63
            return None
    try:
        values = numbers(series, stored.column)
    except (ValueError, TypeError):
        return None
    absent = np.isnan(values)
    if bool((absent & series.notna().to_numpy()).any()):  # text that is no number
        return None
    if stored.sort == "number":
        return pa.array(values, mask=absent)
    plain = np.where(absent, 0.0, values)
    if not np.all((np.abs(plain) <= LARGEST_EXACT) & (plain == np.round(plain))):
        return None
    return pa.array(plain.astype(np.int64), mask=absent)


def _moments(series: pd.Series, stored: Stored) -> Any | None:
    found = pa.array(series, from_pandas=True).cast(stored.type, safe=False)
    if stored.sort == "date":
        days = found.cast(pa.date32(), safe=False)
        if pc.all(pc.equal(days.cast(stored.type), found)).as_py() is False:
            return None
    return found
