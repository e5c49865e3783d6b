"""A table of records together with its resolved schema: checked once, then trusted."""

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.arrays import Codes as Codes
from synthdp.arrays import Floats as Floats
from synthdp.errors import InputError
from synthdp.table.schema import COARSENINGS, NUMERIC_SETTINGS, Column, Kind, Level, Role, Schema, Variable

MISSING = -1
MOST_DECIMALS = 6
DEFAULT_TOLERANCE_SD = 0.1
# whole numbers this close together are coded by a table, and so many tables are kept
NARROW, MOST_TABLES = 1000, 1000
_TABLES: dict[tuple[tuple[Level, ...], int, int], npt.NDArray[np.int64]] = {}
# columns of text that were coded: 64 MB at most
MOST_REMEMBERED = 8 * 10**6
_TEXTS: dict[tuple[int, tuple[Level, ...], tuple[type, ...]], tuple[weakref.ref[Any], npt.NDArray[np.int64]]] = {}


@dataclass(frozen=True, repr=False)
class Microdata:
    """Records of the confidential file, dropped columns already gone.

    ``repr`` shows dimensions, never values.
    """

    frame: pd.DataFrame
    schema: Schema

    def __repr__(self) -> str:
        return f"Microdata({len(self.frame)} records x {len(self.schema.columns)} columns)"

    def __len__(self) -> int:
        return len(self.frame)

    def numbers(self, name: str) -> Floats:
        """Return a numeric column as floats; missing is NaN, dates are days since 1970."""
        return numbers(self.frame[name], self.schema[name])

    def codes(self, name: str) -> Codes:
        """Return a categorical column as positions in its levels; missing is -1."""
        return codes(self.frame[name], self.schema[name])


def numbers(series: pd.Series, column: Column) -> Floats:
    """Return a numeric or date series as floats; missing is NaN."""
    dated = pd.api.types.is_datetime64_any_dtype(series) or pd.api.types.is_timedelta64_dtype(series)
    if column.kind is not Kind.DATE:
        if dated:  # pandas would count nanoseconds
            raise TypeError("dates are no numbers")
        if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iuf":
            return np.asarray(series, dtype=np.float64)
        return np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64)
    if pd.api.types.is_numeric_dtype(series) and bool(series.notna().any()):  # 20200131 would be a moment of 1970
        raise TypeError("numbers are no dates")
    dates = _dates(series)
    # in microseconds, not nanoseconds: 9999-12-31, which stands for "still open", is beyond those
    moments = (dates if dates.dt.tz is None else dates.dt.tz_localize(None)).to_numpy("datetime64[us]")
    return np.asarray((moments - np.datetime64(0, "us")) / np.timedelta64(1, "D"), dtype=np.float64)


def _dates(series: pd.Series) -> pd.Series:
    try:
        return pd.to_datetime(series)
    except ValueError:
        # the first text sets the form for all of them, but dates with and without a time or fractions are one column
        return pd.to_datetime(series, format="ISO8601")


def codes(series: pd.Series, column: Column) -> Codes:
    """Return a categorical series as positions in the column's levels; missing or unknown is -1. O(n)."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu" and len(series):
        values = series.to_numpy()
        low, high = int(values.min()), int(values.max())
        if high - low < NARROW and max(-low, high) < 2**53:
            place: Codes = values.astype(np.int64) - low
            return np.asarray(_table(column, low, high)[place], dtype=np.int64)
    if isinstance(series.dtype, pd.StringDtype) and series.dtype.storage == "pyarrow":
        return _remembered(series, column)
    return _looked_up(series, column)


def _remembered(series: pd.Series, column: Column) -> Codes:
    """Return the positions of a column of text, which every measure asks for again.

    Arrow's arrays never change: a column that is written to gets another one, and copies of a frame share theirs.
    """
    text = series.array.__arrow_array__()
    key = (id(text), column.levels, tuple(map(type, column.levels)))
    found = _TEXTS.get(key)  # another thread may empty it at any time
    if found is not None and found[0]() is text:
        return found[1].copy()
    coded = _looked_up(series, column)
    if len(text) <= MOST_REMEMBERED:
        if sum(len(one) for _, one in list(_TEXTS.values())) + len(text) > MOST_REMEMBERED:
            _TEXTS.clear()
        _TEXTS[key] = (weakref.ref(text), coded)
    return coded.copy()


def _table(column: Column, low: int, high: int) -> Codes:
    """Return the positions of all whole numbers from low to high: files are coded many times."""
    key = (column.levels, low, high)
    found = _TABLES.get(key)  # another thread may empty it at any time
    if found is None:
        if len(_TABLES) > MOST_TABLES:
            _TABLES.clear()
        found = _TABLES[key] = _looked_up(pd.Series(np.arange(low, high + 1)), column)
    return found


def _looked_up(series: pd.Series, column: Column) -> Codes:
    place, distinct = pd.factorize(series)
    given = pd.Series(np.asarray(distinct, dtype=object), dtype=object)
    levels = _as_numbers(column.levels, series)
    if levels is not None:
        found = pd.Index(levels).get_indexer(pd.Index(pd.to_numeric(given, errors="coerce").to_numpy(np.float64)))
    else:
        text = pd.Index([str(level) for level in column.levels], dtype=object)
        found = text.get_indexer(pd.Index([_spelt(value) for value in given], dtype=object))
    # a missing value has place -1, which is the end
    return np.append(found, MISSING).astype(np.int64)[place]


def _spelt(value: object) -> str:
    """Return a value as text: 1.0 is a 1 that pandas made a float because another is missing."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def decode(positions: Codes, column: Column, like: pd.Series) -> pd.Series:
    """Return positions in the levels as values of the same dtype as the original series."""
    levels = np.asarray(column.levels, dtype=object)
    if pd.api.types.is_bool_dtype(like.dtype):  # the text "False" would be cast to True
        for truth, position in zip((False, True), codes(pd.Series([False, True]), column), strict=True):
            if position != MISSING:
                levels[position] = truth
    return pd.Series(levels[positions], index=like.index, name=like.name).astype(like.dtype)


def resolve(frame: pd.DataFrame, variables: Mapping[str, Variable]) -> Microdata:
    """Check a table against the declared variables and fill in what was left out.

    Parameters
    ----------
    frame
        The confidential table.
    variables
        Declarations by column name; columns not named are kept, their kind inferred.

    Raises
    ------
    InputError
        Listing everything that is wrong, one sentence each.
    """
    problems = _table_problems(frame, variables)
    if problems:
        raise InputError(*problems)
    columns: list[Column] = []
    for name in frame.columns:
        variable = variables.get(name, Variable())
        if variable.role is not Role.DROP:
            columns.append(_resolve_column(frame[name], name, variable, problems))
    if not columns and not problems:
        problems.append("variables: every column is dropped; keep or replace at least one.")
    if problems:
        raise InputError(*problems)
    schema = Schema(columns=tuple(columns))
    return Microdata(frame=frame[list(schema.names())].reset_index(drop=True), schema=schema)


def _table_problems(frame: pd.DataFrame, variables: Mapping[str, Variable]) -> list[str]:
    problems: list[str] = []
    if len(frame) == 0:
        problems.append("data: the file has no records.")
    duplicated = sorted({str(name) for name in frame.columns[frame.columns.duplicated()]})
    problems += [f"data: the column name {name!r} occurs more than once; rename one." for name in duplicated]
    unnamed = sum(not isinstance(name, str) for name in frame.columns)
    if unnamed:
        problems.append(f"data: column names must be text, found {unnamed} that are not; rename them.")
    present = {str(name) for name in frame.columns}
    for name in variables:
        if name not in present:
            problems.append(f"variables.{name}: no such column in the data.")
    return problems


def _resolve_column(series: pd.Series, name: str, variable: Variable, problems: list[str]) -> Column:
    where = f"variables.{name}"
    kind = variable.kind or _infer_kind(series, variable)
    column = Column(
        name=name,
        kind=kind,
        role=Role.DERIVED if variable.derived is not None else variable.role,
        key=bool(variable.key),
        key_decided=variable.key is not None,
        derived=variable.derived,
        coarsened=tuple(_step(variable, name) for name in COARSENINGS if getattr(variable, name) is not None),
        period=variable.period,
        applies_when=variable.applies_when,
        keep_anyway=variable.keep_anyway,
        bounds=variable.bounds,
        bounds_public=variable.bounds is not None,
        levels=variable.levels or (),
        levels_public=variable.levels is not None,
        transform=variable.transform,
        decimals=variable.decimals,
        decimals_public=variable.decimals is not None,
    )
    if bool(series.isna().all()):
        if variable.role is Role.REPLACE or variable.key:
            problems.append(f"{where}: the column is missing everywhere; set role: drop.")
        return column
    if kind.categorical:
        return _resolve_levels(series, column, variable, where, problems)
    return _resolve_numbers(series, column, variable, where, problems)


def _step(variable: Variable, name: str) -> str:
    """Return a coarsening as data users are told of it: steps that could be somebody's value stay out."""
    return f"round: {variable.period}" if name == "round" and variable.period is not None else name


def _resolve_levels(series: pd.Series, column: Column, variable: Variable, where: str, problems: list[str]) -> Column:
    levels = variable.levels or _levels_of(series)
    column = column.model_copy(update={"levels": levels})
    found = codes(series, column)
    outside = (found == MISSING) & series.notna().to_numpy()
    if outside.any():
        first = int(np.flatnonzero(outside)[0]) + 1
        problems.append(
            f"{where}: {int(outside.sum())} values outside the levels; first at row {first}. "
            "Add them to levels, or recode."
        )
    if column.kind is Kind.BINARY and len(levels) != 2:
        problems.append(f"{where}: a binary column needs exactly 2 levels, found {len(levels)}.")
    elif column.role is Role.REPLACE and not outside.any() and len(np.unique(found[found != MISSING])) < 2:
        problems.append(f"{where}: a constant column cannot be replaced; set role: keep or drop.")
    return column


def _resolve_numbers(series: pd.Series, column: Column, variable: Variable, where: str, problems: list[str]) -> Column:
    try:
        values = numbers(series, column)
    except (ValueError, TypeError):
        wanted = "dates" if column.kind is Kind.DATE else "numbers"
        problems.append(f"{where}: {column.kind} needs {wanted}, found values that are not.")
        return column
    bad = ~np.isfinite(values) & series.notna().to_numpy()
    if bad.any():
        first = int(np.flatnonzero(bad)[0]) + 1
        problems.append(
            f"{where}: {column.kind} needs finite numbers, found {int(bad.sum())} other values; first at row {first}."
        )
        return column
    present = values[np.isfinite(values)]
    low, high = float(present.min()), float(present.max())
    if column.role is Role.REPLACE and low == high:
        problems.append(f"{where}: a constant column cannot be replaced; set role: keep or drop.")
    bounds = (low, high) if variable.bounds_from == "data" and low < high else variable.bounds
    if bounds is not None:
        outside = (values < bounds[0]) | (values > bounds[1])
        if outside.any():
            first = int(np.flatnonzero(outside)[0]) + 1
            problems.append(
                f"{where}: {int(outside.sum())} values outside the bounds; first at row {first}. "
                "Widen the bounds, or recode."
            )
    if variable.transform != "none" and bounds is None:
        problems.append(
            f"{where}: transform: {variable.transform} needs bounds (the lower one is its zero); add bounds."
        )
    default = variable.tolerance is None
    tolerance = DEFAULT_TOLERANCE_SD * float(present.std()) if variable.tolerance is None else variable.tolerance
    decimals = variable.decimals if variable.decimals is not None else _decimals(present)
    return column.model_copy(
        update={"bounds": bounds, "tolerance": tolerance, "tolerance_default": default, "decimals": decimals}
    )


def _infer_kind(series: pd.Series, variable: Variable) -> Kind:
    """Return the kind that what was declared implies, or else the values."""
    if variable.levels is not None:
        return Kind.BINARY if len(variable.levels) == 2 else Kind.NOMINAL
    if pd.api.types.is_datetime64_any_dtype(series):
        return Kind.DATE
    if variable.transform != "none" or any(getattr(variable, name) is not None for name in NUMERIC_SETTINGS):
        return Kind.CONTINUOUS
    if isinstance(series.dtype, pd.CategoricalDtype):
        distinct = len(series.dtype.categories)
    else:
        distinct = series.dropna().nunique()
    if distinct == 2:
        return Kind.BINARY
    if pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series):
        return Kind.CONTINUOUS
    return Kind.NOMINAL


def _levels_of(series: pd.Series) -> tuple[Level, ...]:
    if isinstance(series.dtype, pd.CategoricalDtype):
        found = series.dtype.categories.tolist()
    else:
        found = np.asarray(pd.factorize(series)[1], dtype=object).tolist()
        try:
            found = sorted(found)
        except TypeError:  # mixed numbers and text have no order of their own
            found = sorted(found, key=str)
    return tuple(_level(value) for value in found)


def _level(value: object) -> Level:
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, bool | int | float | str) else str(plain)


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


def _decimals(values: Floats) -> int | None:
    """Return how many decimals the data show, or None when there are more than a person would write."""
    for places in range(MOST_DECIMALS + 1):
        if np.allclose(values, np.round(values, places), rtol=0, atol=1e-9):
            return places
    return None
