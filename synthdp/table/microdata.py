"""A table of records together with its resolved schema: checked once, then trusted."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from synthdp.arrays import Codes, Floats, mean_and_sd
from synthdp.errors import InputError
from synthdp.table.coded import MISSING, Coded, coded, codes, decode, form_of, numbers
from synthdp.table.facts import LevelFacts, NumberFacts, kind_of, level_column, levels_of, number_column
from synthdp.table.schema import COARSENINGS, Column, Kind, Role, Schema, Variable

__all__ = ["MISSING", "Codes", "Floats", "Microdata", "codes", "decode", "numbers", "resolve"]


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


def declared(name: str, variable: Variable, kind: Kind) -> Column:
    """Return a column as it is declared, before anything of its values is known."""
    return Column(
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


def _resolve_column(series: pd.Series, name: str, variable: Variable, problems: list[str]) -> Column:
    kind = variable.kind or kind_of(series, lambda: int(series.dropna().nunique()), variable)
    column = declared(name, variable, kind)
    if bool(series.isna().all()):
        problems += empty_problems(name, variable)
        return column
    if kind.categorical:
        column = column.model_copy(update={"levels": variable.levels or levels_of(series)})
        return level_column(column, LevelFacts.of(series, column), problems)
    try:
        if kind is Kind.DATE:
            column = column.model_copy(update={"form": form_of(series)})
        values = numbers(series, column)
    except (ValueError, TypeError):
        problems.append(not_numbers(column))
        return column
    facts = NumberFacts.of(values, series.notna().to_numpy(), variable.bounds)
    return number_column(column, variable, facts, lambda: mean_and_sd(values)[1], problems)


def empty_problems(name: str, variable: Variable) -> list[str]:
    """Return what is wrong with a column that has no value."""
    needed = variable.role is Role.REPLACE or variable.key
    return [f"variables.{name}: the column is missing everywhere; set role: drop."] if needed else []


def not_numbers(column: Column) -> str:
    """Return what to say of a column whose values are not of its kind."""
    wanted, cure = "numbers", "."
    if column.kind is Kind.DATE:
        wanted, cure = "dates", "; write them as 2020-01-31, or say in data.dates how they are written."
    return f"variables.{column.name}: {column.kind} needs {wanted}, found values that are not{cure}"


def _step(variable: Variable, name: str) -> str:
    """Return a coarsening as data users are told of it: steps that could be somebody's value stay out."""
    return f"round: {variable.period}" if name == "round" and variable.period is not None else name
