"""From the confidential file to checked records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, get_args

import pandas as pd

from synthdp.config import Config
from synthdp.errors import InputError
from synthdp.table import applies, derived, io
from synthdp.table.coarsening import coarsen
from synthdp.table.microdata import Microdata, resolve
from synthdp.table.schema import Design as Part
from synthdp.table.schema import Level, Role, Schema, Variable


@dataclass(frozen=True, repr=False)
class Source:
    """Checked records and where they come from.

    Parameters
    ----------
    data
        The records.
    checksum
        SHA-256 of the file they were read from.
    table
        The file as it is, with its labels; None for records that were in memory.
    """

    data: Microdata
    checksum: str
    table: io.Table | None = None

    @classmethod
    def of(cls, config: Config) -> Self:
        """Read and check the config's data file."""
        table = read(config)
        return cls(prepare(table.frame, config, unread=table.unread), io.digest(config.data.path), table)

    @property
    def frame(self) -> pd.DataFrame:
        """The records as they came in."""
        return self.data.frame if self.table is None else self.table.frame


def read(config: Config) -> io.Table:
    """Return the config's data file as it is, with its labels and user-missing codes; dropped columns are not read."""
    return io.read_table(config.data.path, dialect(config), drop=dropped(config))


def dropped(config: Config) -> list[str]:
    """Return the columns that are gone before anything else happens."""
    return [name for name, variable in config.variables.items() if variable.role is Role.DROP]


def dialect(config: Config) -> io.Dialect:
    """Return how the confidential file is written."""
    data = config.data
    return io.Dialect(data.encoding, data.decimal, data.separator, data.dates, data.row_names)


def prepare(frame: pd.DataFrame, config: Config, *, unread: Sequence[str] = ()) -> Microdata:
    """Return the checked records of a table: missing codes set to missing, columns coarsened, dropped ones gone.

    Parameters
    ----------
    unread
        Dropped columns of the file that the table does not have, because they were not read.

    Raises
    ------
    InputError
        Listing everything that is wrong.
    """
    codes = config.data.missing_codes
    problems = [
        f"data.missing_codes.{name}: no such column in the data."
        for name in codes
        if name not in frame.columns and name not in unread
    ]
    problems += _design_problems([*frame.columns, *unread], config)
    declared = {name: variable for name, variable in config.variables.items() if name not in unread}
    try:
        given = without_codes(frame, codes) if frame.columns.is_unique else frame
        coarse, variables = coarsen(given, declared)
    except InputError as error:
        problems += error.problems
        coarse, variables = given, declared
    try:
        data = resolve(coarse, variables)
    except InputError as error:
        raise InputError(*problems, *error.problems) from None
    if problems:
        raise InputError(*problems)
    return _with_conditions(_with_derived(_with_design(data, config), given))


def _design_problems(names: Sequence[str], config: Config) -> list[str]:
    problems = []
    for part, name in _design(config).items():
        role = config.variables.get(name, Variable()).role
        if name not in names:
            problems.append(f"data.{part}: no column {name!r} in the data.")
        elif role is not Role.KEEP:
            problems.append(f"data.{part}: {name!r} must be kept, found role: {role}; leave out its role.")
    return problems


def _design(config: Config) -> dict[Part, str]:
    parts: tuple[Part, ...] = get_args(Part)
    return {part: name for part in parts if (name := getattr(config.data, part)) is not None}


def _with_design(data: Microdata, config: Config) -> Microdata:
    parts = {name: part for part, name in _design(config).items()}
    if not parts:
        return data
    columns = [column.model_copy(update={"design": parts.get(column.name)}) for column in data.schema.columns]
    return Microdata(data.frame, Schema(columns=tuple(columns)))


def _with_derived(data: Microdata, given: pd.DataFrame) -> Microdata:
    """Return the records with derived columns that follow from what is released, after checking their formulas."""
    if not data.schema.derived():
        return data
    # a formula is checked against the columns it was made from, before they were coarsened
    before = Microdata(given[list(data.schema.names())].reset_index(drop=True), data.schema)
    problems = derived.problems(before)
    if problems:
        raise InputError(*problems)
    return Microdata(derived.recompute(data.frame, data), data.schema)


def _with_conditions(data: Microdata) -> Microdata:
    """Return the records after checking when columns apply, which is said of the columns as they are released."""
    data = applies.without_exceptions(data)
    problems = applies.problems(data)
    if problems:
        raise InputError(*problems)
    return Microdata(data.frame, applies.settled(data.schema))


def unique_share(data: Microdata) -> float:
    """Return the share of records that no other record equals on all kept columns. Cost O(n log n)."""
    names = [column.name for column in data.schema.kept()]
    if not names:
        return 0.0
    return float((~data.frame.duplicated(subset=names, keep=False)).mean())


def without_codes(frame: pd.DataFrame, codes: Mapping[str, Sequence[Level]]) -> pd.DataFrame:
    """Return a table whose missing codes are missing, as numbers or as text, whichever the column holds."""
    for name, values in codes.items():
        if name in frame.columns:
            series = frame[name]
            text = not pd.api.types.is_numeric_dtype(series)
            coded = series.astype(str).isin([str(value) for value in values]) if text else _equal(series, values)
            frame = frame.assign(**{name: series.mask(coded)})
    return frame


def _equal(series: pd.Series, values: Sequence[Level]) -> pd.Series:
    numeric = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce").dropna()
    return series.isin(list(numeric))
