"""A table of records together with its resolved schema: checked once, then trusted."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.arrays import Codes, Floats
from synthdp.errors import InputError
from synthdp.table.coded import FOREIGN, LARGEST, MISSING, Coded, coded, codes, decode, first_row, numbers
from synthdp.table.schema import COARSENINGS, NUMERIC_SETTINGS, Column, Kind, Level, Role, Schema, Variable

__all__ = ["MISSING", "Codes", "Floats", "Microdata", "codes", "decode", "numbers", "resolve"]

MOST_DECIMALS = 6
DEFAULT_TOLERANCE_SD = 0.1


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

    @property
    def coded(self) -> Coded:
        """The records as arrays."""
        return coded(self.frame)

    def numbers(self, name: str) -> Floats:
        """Return a numeric column as floats; missing is NaN, dates are days since 1970."""
        return self.coded.numbers(self.schema[name])

    def codes(self, name: str) -> Codes:
        """Return a categorical column as positions in its levels; missing is -1."""
        return self.coded.codes(self.schema[name])

    def values(self, name: str) -> Floats:
        """Return a column as numbers or as positions in its levels; missing is NaN."""
        return self.coded.values(self.schema[name])


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
        kind_public=variable.kind is not None,
        derived=variable.derived,
        coarsened=tuple(_step(variable, name) for name in COARSENINGS if getattr(variable, name) is not None),
        period=variable.period,
        applies_when=variable.applies_when,
        applies_exceptions=variable.applies_exceptions,
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
    found = codes(series, column, foreign=FOREIGN)
    outside = found == FOREIGN
    if outside.any():
        problems.append(
            f"{where}: {int(outside.sum())} values outside the levels; first at row {first_row(outside)}. "
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
        wanted, cure = "numbers", "."
        if column.kind is Kind.DATE:
            wanted, cure = "dates", "; write them as 2020-01-31, or say in data.dates how they are written."
        problems.append(f"{where}: {column.kind} needs {wanted}, found values that are not{cure}")
        return column
    bad = ~np.isfinite(values) & series.notna().to_numpy()
    if bad.any():
        problems.append(
            f"{where}: {column.kind} needs finite numbers, found {int(bad.sum())} other values; "
            f"first at row {first_row(bad)}."
        )
        return column
    beyond = np.abs(values) > LARGEST
    if beyond.any():
        problems.append(
            f"{where}: {column.kind} needs numbers up to {LARGEST:g}, found {int(beyond.sum())} beyond; first at row "
            f"{first_row(beyond)}. Where they stand for missing values, name them in data.missing_codes."
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
            problems.append(
                f"{where}: {int(outside.sum())} values outside the bounds; first at row {first_row(outside)}. "
                "Widen the bounds, or recode."
            )
    if variable.transform != "none" and bounds is None:
        problems.append(
            f"{where}: transform: {variable.transform} needs bounds (the lower one is its zero); add bounds."
        )
    decimals = variable.decimals if variable.decimals is not None else _decimals(present)
    default = variable.tolerance is None
    # nobody knows a value better than it is written, and averages of copies fall between values
    step = 0.0 if decimals is None else 0.5 * 10.0**-decimals
    wide = max(DEFAULT_TOLERANCE_SD * float(present.std()), step)
    tolerance = wide if variable.tolerance is None else variable.tolerance
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
    # texts are levels as they are, and there may be a million
    return tuple(found) if set(map(type, found)) == {str} else tuple(_level(value) for value in found)


def _level(value: object) -> Level:
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if isinstance(plain, bool | int | float | str) else str(plain)


def _decimals(values: Floats) -> int | None:
    """Return how many decimals the data show, or None when there are more than a person would write."""
    for places in range(MOST_DECIMALS + 1):
        if np.allclose(values, np.round(values, places), rtol=0, atol=1e-9):
            return places
    return None
