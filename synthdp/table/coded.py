"""Records as arrays, coded once: levels as positions, numbers as floats, and what is missing or foreign in one way.

A column is coded when it is first asked for and kept as long as its frame. Frames that share a column, as copies share
the columns they keep, share its coding. Nothing gets stale: a coding holds on to the values it was made of, so that
pandas writes a changed column elsewhere (copy on write), where it is found to be another one.
"""

import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from threading import Lock
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.table.schema import Column, Kind, Level

MISSING: Literal[-1] = -1
FOREIGN: Literal[-2] = -2
"""A value that is no level; callers see it only where they ask for it."""
# whole numbers this close together are coded by a table
NARROW = 1000
# how dates are written that are not written as ISO 8601 has it
DATE_FORMS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y%m%d")
# so many whole numbers may be kept as floats too
FEW = 100_000
# of numbers: sums of their fourth powers are numbers still
LARGEST = 1e75
# the first and the last day that calendars write, since 1970
CALENDAR = (-719_162.0, 2_932_896.0)


@dataclass(eq=False, repr=False)
class _Values:
    """The values of one column, where they stand in memory (``held`` keeps them there), and what was made of them."""

    series: pd.Series
    where: tuple[object, ...]
    held: object
    positions: tuple[tuple[Level, ...], npt.NDArray[np.signedinteger]] | None = None
    floats: dict[bool, Floats] = field(default_factory=dict)
    present: Booleans | None = None


_KEPT: dict[int, tuple[weakref.ref[pd.DataFrame], dict[str, _Values]]] = {}
# frames of which somebody promised that they stay as they are, and how often
_STILL: Counter[int] = Counter()
_COUNTING = Lock()
_SHARED: weakref.WeakValueDictionary[tuple[object, ...], _Values] = weakref.WeakValueDictionary()


@dataclass(frozen=True, eq=False, repr=False)
class Coded:
    """A frame whose columns can be had as arrays, each made once.

    Missing and foreign values (those that are no level) have the codes that the caller gives them, so that each
    measure says what they are to it.
    """

    frame: pd.DataFrame
    _columns: dict[str, _Values]
    _rows: Codes | None = None

    def __repr__(self) -> str:
        return f"Coded({len(self)} records)"

    def __len__(self) -> int:
        return len(self.frame) if self._rows is None else len(self._rows)

    def take(self, rows: Codes) -> "Coded":
        """Return some rows of the frame; columns are still coded as a whole, once."""
        return Coded(self.frame, self._columns, rows if self._rows is None else self._rows[rows])

    def codes(self, column: Column, *, missing: int = MISSING, foreign: int = MISSING) -> Codes:
        """Return a categorical column as positions in its levels, as an array of the caller's own.

        Examples
        --------
        >>> sex = Column(name="sex", kind="binary", role="keep", key=True, levels=("F", "M"))
        >>> table = pd.DataFrame({"sex": ["M", None, "X"]})
        >>> coded(table).codes(sex).tolist(), coded(table).codes(sex, missing=2, foreign=3).tolist()
        ([1, -1, -1], [1, 2, 3])
        """
        held = self._held(column.name)
        found = held.positions
        if found is None or not _alike(found[0], column.levels):
            # in as few bytes as so many levels need
            narrow = _positions(held.series, column).astype(np.min_scalar_type(-len(column.levels) - 2))
            held.positions = found = column.levels, narrow
        place = found[1] if self._rows is None else found[1][self._rows]
        if missing == MISSING == foreign:
            return np.asarray(np.maximum(place, MISSING, dtype=np.int64))
        return np.asarray(np.append(np.arange(len(column.levels)), [foreign, missing])[place], dtype=np.int64)

    def numbers(self, column: Column) -> Floats:
        """Return a numeric or date column as floats, which cannot be written to; missing is NaN.

        Raises
        ------
        TypeError, ValueError
            If the column holds dates instead of numbers, or numbers instead of dates.
        """
        held, date = self._held(column.name), column.kind is Kind.DATE
        found = held.floats.get(date)
        if found is None:
            found = numbers(held.series, column).view()
            found.flags.writeable = False
            # casting many whole numbers is cheap, keeping them twice is not; floats are the frame's own
            if held.series.dtype.kind not in "iu" or len(held.series) <= FEW:
                held.floats[date] = found
        return found if self._rows is None else found[self._rows]

    def finite(self, column: Column) -> Floats:
        """Return a numeric or date column as floats; whatever is no finite number is NaN."""
        found = self.numbers(column)
        return np.where(np.isfinite(found), found, np.nan)

    def values(self, column: Column) -> Floats:
        """Return any column as numbers that are equal when the values are; missing and foreign are NaN."""
        if not column.kind.categorical:
            return self.numbers(column)
        found = self.codes(column)
        return np.where(found == MISSING, np.nan, found)

    def present(self, name: str) -> Booleans:
        """Return which records have a value, foreign or not; cannot be written to."""
        held = self._held(name)
        if held.present is None:
            held.present = held.series.notna().to_numpy(dtype=bool)
            held.present.flags.writeable = False
        return held.present if self._rows is None else held.present[self._rows]

    def _held(self, name: str) -> _Values:
        known = self._columns.get(name)
        if known is not None and id(self.frame) in _STILL:
            return known
        series = self.frame[name]
        where, held = _where(series)
        if known is None or known.where != where:
            known = _SHARED.get(where) or _Values(series, where, held)
            _SHARED[where] = self._columns[name] = known
        return known


def coded(frame: pd.DataFrame) -> Coded:
    """Return the frame as arrays; what was coded before is not coded again."""
    key = id(frame)
    entry = _KEPT.get(key)
    if entry is None or entry[0]() is not frame:
        _KEPT[key] = entry = (weakref.ref(frame, lambda _: _KEPT.pop(key, None)), {})
    return Coded(frame, entry[1])


@contextmanager
def still(frames: Sequence[pd.DataFrame]) -> Iterator[None]:
    """Promise that nobody writes to these frames for as long as this lasts: finding that out takes longer than coding.

    Examples
    --------
    >>> table = pd.DataFrame({"sex": ["M", "F"]})
    >>> with still([table]):
    ...     coded(table).present("sex").tolist()
    [True, True]
    """
    with _COUNTING:
        _STILL.update(map(id, frames))
    try:
        yield
    finally:
        with _COUNTING:
            _STILL.subtract(map(id, frames))
            for gone in [key for key in map(id, frames) if not _STILL[key]]:
                del _STILL[gone]


def dense(found: Codes) -> Codes:
    """Return codes from 0 numbered anew without gaps, in their order. O(n), for codes not much larger than n."""
    return np.asarray((np.cumsum(np.bincount(found.ravel(), minlength=1) > 0) - 1)[found], dtype=np.int64)


def merge(one: Codes, other: Codes) -> Codes:
    """Return dense codes of the pairs, in the order in which they occur. Cost O(n)."""
    if len(one) == 0:
        return one
    # renumbered at every step: products of many large columns would overflow
    return distinct(one * (int(other.max()) + 1) + other)


def distinct(values: Codes | Floats | pd.Series, *, missing: Literal["level", "none"] = "level") -> Codes:
    """Return dense codes of the values, in the order in which they occur; missing is one more of them, or -1. O(n)."""
    return np.asarray(pd.factorize(values, use_na_sentinel=missing == "none")[0], dtype=np.int64)


def joint(columns: Sequence[Codes | Floats]) -> Codes:
    """Return dense codes of the combinations of values, NaN equal to NaN. Cost O(n) for each column.

    Examples
    --------
    >>> joint([np.array([1.0, np.nan, np.nan, 1.0]), np.array([0, 1, 1, 1])]).tolist()
    [0, 1, 1, 2]
    """
    found = distinct(columns[0])
    for values in columns[1:]:
        found = merge(found, distinct(values))
    return found


def same(one: Floats, other: Floats) -> Booleans:
    """Return which values are equal, or both missing."""
    return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))


def numbers(series: pd.Series, column: Column) -> Floats:
    """Return a numeric or date series as floats; missing is NaN, dates are days since 1970."""
    dated = pd.api.types.is_datetime64_any_dtype(series) or pd.api.types.is_timedelta64_dtype(series)
    if column.kind is not Kind.DATE:
        if dated or isinstance(series.dtype, pd.PeriodDtype):  # pandas would count nanoseconds, or months since 1970
            raise TypeError("dates are no numbers")
        if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
            return np.asarray(series, dtype=np.float64)
        return np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64)
    if pd.api.types.is_numeric_dtype(series) and bool(series.notna().any()):  # 20200131 would be a moment of 1970
        raise TypeError("numbers are no dates")
    return days(_dates(series, column.form))


def days(dates: pd.Series) -> Floats:
    """Return dates as days since 1970 by the clock of their zone; missing is NaN."""
    # in microseconds, not nanoseconds: 9999-12-31, which stands for "still open", is beyond those
    moments = dates.dt.tz_localize(None).to_numpy("datetime64[us]")
    return np.asarray((moments - np.datetime64(0, "us")) / np.timedelta64(1, "D"), dtype=np.float64)


def moments(since_1970: Floats) -> npt.NDArray[np.datetime64]:
    """Return days since 1970 as moments; missing is NaT, and what no calendar writes is the year 1 or 9999.

    To the microsecond, as pandas does it, but not by its spans of nanoseconds, which end in 2262.

    >>> moments(np.array([2932896.0, np.nan])).astype(str).tolist()
    ['9999-12-31T00:00:00.000000', 'NaT']
    """
    known = np.isfinite(since_1970)
    held = np.clip(np.where(known, since_1970, 0.0), *CALENDAR)
    entire = np.trunc(held)
    nanoseconds = (np.round(held - entire, 13) * 86_400e9).astype(np.int64)
    found = np.datetime64(0, "us") + (
        entire.astype("timedelta64[D]") + np.floor_divide(nanoseconds, 1000).astype("timedelta64[us]")
    )
    found[~known] = np.datetime64("NaT")
    return np.asarray(found)


def codes(series: pd.Series, column: Column, *, foreign: Literal[-1, -2] = MISSING) -> Codes:
    """Return a categorical series as positions in the column's levels; missing is -1, and so is foreign. O(n)."""
    return np.maximum(_positions(series, column), foreign)


def first_row(rows: Booleans) -> int:
    """Return the first of the rows that are marked, as people count them: messages name it."""
    return int(rows.argmax()) + 1


def decode(positions: Codes, column: Column, like: pd.Series) -> pd.Series:
    """Return positions in the levels as values of the same dtype as the original series; -1 is missing."""
    levels = np.asarray(column.levels, dtype=object)
    if pd.api.types.is_bool_dtype(like.dtype):  # the text "False" would be cast to True
        for truth, position in zip((False, True), codes(pd.Series([False, True]), column), strict=True):
            if position != MISSING:
                levels[position] = truth
    found = pd.Series(levels[positions], index=like.index, name=like.name).astype(like.dtype)
    missing = positions == MISSING
    return found.mask(missing) if missing.any() else found


def whole(found: pd.Series, like: pd.Series) -> pd.Series:
    """Return whole numbers in the dtype of the original series; in 64 bits if one does not fit: it would wrap around.

    Examples
    --------
    >>> ages = pd.Series([20, 90], dtype="int8")
    >>> whole(pd.Series([18.0, 41.0]), ages).dtype, whole(pd.Series([18.0, 130.0]), ages).tolist()
    (dtype('int8'), [18, 130])
    """
    dtype: Any = getattr(like.dtype, "subtype", like.dtype)
    held = np.iinfo(getattr(dtype, "numpy_dtype", dtype))
    if found.dropna().between(held.min, held.max).all():
        return found.astype(like.dtype)
    return found.astype("int64" if isinstance(dtype, np.dtype) else "Int64")


def _where(series: pd.Series) -> tuple[tuple[object, ...], object]:
    """Return where the values of a column stand in memory, and what must be kept for them to stay there."""
    if isinstance(series.dtype, np.dtype):
        memory = np.asarray(series.values).__array_interface__
        return (memory["data"][0], memory["strides"], memory["typestr"], len(series)), series
    held: object = series.array
    if isinstance(series.dtype, pd.StringDtype) and series.dtype.storage == "pyarrow":
        held = series.array.__arrow_array__()  # the same one in all frames that share it
    return (id(held),), held


def _dates(series: pd.Series, form: str | None) -> pd.Series:
    try:
        return pd.to_datetime(series, format="ISO8601")
    except ValueError:
        # pandas would let the first text set the form for all: 02.01. is a day in January here and in February there
        form = form or only_form(series)
        if form is None:
            raise
        return pd.to_datetime(series, format=form)


def form_of(dates: pd.Series) -> str | None:
    """Return how all texts of a column write dates; None where that is ISO 8601, not text, or not the same for all.

    Examples
    --------
    >>> form_of(pd.Series(["03/02/2020", "31/01/2020"])), form_of(pd.Series(["2020-02-03"]))
    ('%d/%m/%Y', None)
    """
    if not (pd.api.types.is_string_dtype(dates) or pd.api.types.is_object_dtype(dates)):
        return None
    try:
        pd.to_datetime(dates, format="ISO8601")
    except (ValueError, TypeError):
        return only_form(dates) if _all_text(dates.dropna()) else None
    return None


def only_form(texts: pd.Series) -> str | None:
    """Return the form of dates that all texts have, if there is just one such.

    Examples
    --------
    >>> only_form(pd.Series(["03.02.2020", "31.01.2020"]))
    '%d.%m.%Y'
    >>> only_form(pd.Series(["03/02/2020", "01/02/2020"])) is None
    True
    """
    known = texts.dropna().unique()
    fitting = (form for form in DATE_FORMS if pd.to_datetime(known, format=form, errors="coerce").notna().all())
    found = list(islice(fitting, 2)) if len(known) else []
    return found[0] if len(found) == 1 else None


def _positions(series: pd.Series, column: Column) -> Codes:
    """Return positions in the levels; missing is -1, foreign -2."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu" and len(series):
        values = series.to_numpy()
        low, high = int(values.min()), int(values.max())
        if high - low < NARROW and max(-low, high) < 2**53:
            place: Codes = values.astype(np.int64) - low
            return np.asarray(_table(column.levels, low, high)[place], dtype=np.int64)
    return _looked_up(series, column.levels)


@lru_cache(maxsize=1000)
def _table(levels: tuple[Level, ...], low: int, high: int) -> Codes:
    """Return the positions of all whole numbers from low to high: files are coded many times."""
    return _looked_up(pd.Series(np.arange(low, high + 1)), levels)


def _looked_up(series: pd.Series, levels: tuple[Level, ...]) -> Codes:
    place, values = pd.factorize(series)
    given = pd.Series(np.asarray(values, dtype=object), dtype=object)
    compared = _as_numbers(levels, series)
    if compared is not None:
        found = pd.Index(compared).get_indexer(pd.Index(pd.to_numeric(given, errors="coerce").to_numpy(np.float64)))
    else:
        text = pd.Index(levels if _all_text(levels) else [str(level) for level in levels], dtype=object)
        spelt = given if _all_text(given) else [_spelt(value) for value in given]
        found = text.get_indexer(pd.Index(spelt, dtype=object))
    # a missing value has place -1, which is the end
    return np.append(np.where(found < 0, FOREIGN, found), MISSING).astype(np.int64)[place]


def _all_text(values: Iterable[object]) -> bool:
    return set(map(type, values)) == {str}


def _spelt(value: object) -> str:
    """Return a value as text: 1.0 is a 1 that pandas made a float because another is missing."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _as_numbers(levels: tuple[Level, ...], series: pd.Series) -> Floats | None:
    """Return the levels as numbers where values are compared as numbers, or None where as text.

    1, 1.0, "1" and True are one level to a person, and files from different tools spell it differently; but "01" and
    "1" in a column of text are two.
    """
    if any(isinstance(level, str) for level in levels) and not pd.api.types.is_numeric_dtype(series):
        return None
    try:
        found = np.asarray([float(level) for level in levels], dtype=np.float64)
    except ValueError:
        return None
    return found if len(np.unique(found)) == len(found) else None  # numbers beyond 2^53 may coincide


def _alike(one: tuple[Level, ...], other: tuple[Level, ...]) -> bool:
    return one is other or (one == other and list(map(type, one)) == list(map(type, other)))
