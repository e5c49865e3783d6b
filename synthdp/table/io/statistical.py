"""SPSS, Stata and SAS files: values as codes, and beside them labels, user-missing codes and formats."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from synthdp.errors import InputError
from synthdp.table.io import memory
from synthdp.table.io.gathering import Gathered, assemble, check_names, watch
from synthdp.table.io.labels import CALENDARS, Code, Dialect, Family, Labels, Table, inside_any
from synthdp.table.io.narrowing import LARGEST_EXACT

# the reader's name in pyreadstat, whose file it is, whether the reader tells user-missing codes
READERS: dict[str, tuple[str, Family, bool]] = {
    ".sav": ("read_sav", "spss", True),
    ".zsav": ("read_sav", "spss", True),
    ".por": ("read_por", "spss", False),
    ".dta": ("read_dta", "stata", True),
    ".sas7bdat": ("read_sas7bdat", "sas", True),
    ".xpt": ("read_xport", "sas", False),
}
CELLS = 2**22  # values of a batch
SOFTWARE: dict[Family, str] = {"spss": "SPSS", "stata": "Stata", "sas": "SAS", "plain": "text"}


def read_statistical(path: Path, dialect: Dialect, drop: Collection[str] = ()) -> Table:
    """Read an SPSS, Stata or SAS file.

    Value-labelled columns keep their codes. A SAS file takes its value labels from a catalogue of the same name
    (``.sas7bcat``) beside it, if there is one.

    The records come in batches. The library skips to the start of each, which is quick but not free, so batches are
    large: about ``CELLS`` values.

    Parameters
    ----------
    drop
        Columns that are not needed.
    """
    source = _Source(path, path.suffix.lower(), dialect)
    about = source.describe()
    every = list(about.column_names)
    check_names(path, every)
    names = [name for name in every if name not in drop] or every[:1]
    formats = {name: str(form) for name, form in about.original_variable_types.items() if form and name in names}
    columns = {
        name: Column(name, source.family, formats.get(name), about.readstat_variable_types.get(name)) for name in names
    }
    missing: dict[str, tuple[tuple[Code, Code], ...]] = {}
    rows = max(CELLS // len(names), 1)
    start = 0
    texts = sum(about.readstat_variable_types.get(name) == "string" for name in names)
    memory.require(path, (about.number_rows or 0) * (8 * (len(names) - texts) + texts))
    while True:
        frame, found = source.batch(names, start, rows)
        here = _missing(found)
        missing = {name: _union(missing.get(name, ()), here.get(name, ())) for name in [*missing, *here]}
        for name, column in columns.items():
            column.take(frame[name], here.get(name, ()))
            column.expected = about.number_rows or 0
        start += len(frame)
        # por and xpt files do not say how many records they have
        done = start / about.number_rows if about.number_rows else 1.0
        ended = len(frame) < rows or start == about.number_rows
        del frame
        watch(path, list(columns.values()), done=min(done, 1.0))
        if ended:
            break
    codes = {name: found for name, column in columns.items() if (found := column.codes()) is not None}
    table = assemble(path, list(columns.values()))
    unread = tuple(name for name in every if name not in columns)
    return Table(table, _labels(about, columns, missing, formats, source.family), codes, unread)


class Column(Gathered):
    """A column of a statistical file, batch by batch, its user-missing codes apart."""

    def __init__(self, name: str, family: Family, format: str | None, stored: str | None) -> None:
        super().__init__(name, pa.string() if stored == "string" else pa.float64())
        self._family, self._format, self._stored = family, format, stored
        self._codes: list[pd.Series] = []

    def take(self, series: pd.Series, missing: Sequence[tuple[Code, Code]]) -> None:
        """Add the values of the next records; ``missing`` are the codes that occur in them."""
        user = inside_any(series, missing)
        self._codes.append(_codes(series, user) if user.any() else pd.Series(np.nan, index=series.index))
        values = _values(series.mask(user) if user.any() else series, self._family, self._format, self._stored)
        self.add(pa.array(values, from_pandas=True))

    def codes(self) -> pd.Series | None:
        """Return the user-missing code of each record that has one, or None when none has."""
        found, self._codes = self._codes, []
        if not any(bool(codes.notna().any()) for codes in found):
            return None
        letters = any(codes.dtype == object for codes in found)
        return pd.concat([codes.astype(object) if letters else codes for codes in found], ignore_index=True)


class _Source:
    """A file of the library's, asked for its description once and for its records in batches."""

    def __init__(self, path: Path, suffix: str, dialect: Dialect) -> None:
        self._path = path
        self._reader, self.family, tells = READERS[suffix]
        self._options: dict[str, Any] = {"disable_datetime_conversion": True}
        if tells:
            self._options["user_missing"] = True
        if dialect.encoding.lower() not in ("utf-8", "utf8") and suffix != ".por":
            self._options["encoding"] = dialect.encoding
        catalogue = path.with_suffix(".sas7bcat")
        self._catalogue = catalogue if suffix == ".sas7bdat" and catalogue.is_file() else None

    def describe(self) -> Any:
        """Return what the file says about its columns."""
        options: dict[str, Any] = {"metadataonly": True}
        if self._catalogue is not None:
            options["catalog_file"] = str(self._catalogue)
        return self._call(options)[1]

    def batch(self, names: Sequence[str], start: int, rows: int) -> tuple[pd.DataFrame, Any]:
        """Return the next records, and what the file says about them."""
        return self._call({"usecols": list(names), "row_offset": start, "row_limit": rows})

    def _call(self, options: Mapping[str, Any]) -> tuple[pd.DataFrame, Any]:
        import pyreadstat  # only these files need it

        try:
            frame, found = getattr(pyreadstat, self._reader)(str(self._path), **self._options, **options)
        except MemoryError:
            raise
        except Exception as error:  # the library raises many kinds, and quotes the file in them
            if "encoding" in str(error) or isinstance(error, UnicodeError):
                raise InputError(
                    f"{self._path}: the text is not in the encoding that the file names; set data.encoding "
                    "(windows-1252, for example)."
                ) from None
            software = SOFTWARE[self.family]
            raise InputError(f"{self._path}: the file is not in {software} format, or it is cut off.") from None
        return frame, found


def _labels(
    about: Any,
    names: Collection[str],
    missing: Mapping[str, tuple[tuple[Code, Code], ...]],
    formats: Mapping[str, str],
    family: Family,
) -> Labels:
    return Labels(
        variables={n: str(text) for n, text in about.column_names_to_labels.items() if text and n in names},
        values={
            name: {_code(code): str(text) for code, text in texts.items()}
            for name, texts in about.variable_value_labels.items()
            if texts and name in names
        },
        missing=missing,
        formats=formats,
        measures={
            name: text for name, text in about.variable_measure.items() if text and text != "unknown" and name in names
        },
        family=family,
    )


def _union(
    first: tuple[tuple[Code, Code], ...], second: tuple[tuple[Code, Code], ...]
) -> tuple[tuple[Code, Code], ...]:
    """Return the ranges of two batches: SPSS says the same each time, Stata and SAS the letters that occur."""
    if any(isinstance(low, str) for low, _ in (*first, *second)):
        return tuple(sorted({*first, *second}, key=lambda bounds: str(bounds[0])))
    return first or second


def _missing(found: Any) -> dict[str, tuple[tuple[Code, Code], ...]]:
    """Return the user-missing codes by column: SPSS writes ranges, Stata and SAS letters."""
    ranges: Mapping[str, Any] = found.missing_ranges or {}
    letters: Mapping[str, Any] = found.missing_user_values or {}
    missing = {name: tuple((_code(r["lo"]), _code(r["hi"])) for r in given) for name, given in ranges.items() if given}
    return missing | {name: tuple((letter, letter) for letter in sorted(given)) for name, given in letters.items()}


def _codes(series: pd.Series, user: pd.Series) -> pd.Series:
    return series.where(user).astype("float64" if pd.api.types.is_numeric_dtype(series) else object)


def _code(value: Any) -> Code:
    """Return a code as a person writes it: 1, not 1.0."""
    if isinstance(value, str):
        return value
    number = float(value)
    return int(number) if abs(number) <= LARGEST_EXACT and number == int(number) else number


def _values(series: pd.Series, family: Family, format: str | None, stored: str | None) -> pd.Series:
    """Return a column as dates, whole numbers, numbers or text."""
    if stored == "string":
        text = series.astype("str")
        return text.mask(text == "")  # an empty text is how these files say "missing"
    calendar = CALENDARS[family]
    moment = calendar.moment(format)
    if moment is not None:
        return calendar.read(series, moment)
    numbers = pd.to_numeric(series, errors="coerce")
    values = np.asarray(numbers, dtype=np.float64)
    if len(values) and np.all(np.abs(values) <= LARGEST_EXACT) and np.all(values == np.round(values)):
        return numbers.astype("int64")
    return numbers.astype("float64")
