"""SPSS, Stata and SAS files: values as codes, and beside them labels, user-missing codes and formats."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.io.calendars import CALENDARS
from synthdp.io.delimited import LARGEST_EXACT, check_names
from synthdp.io.labels import Code, Dialect, Family, Labels, Table, inside_any

# the reader's name in pyreadstat, whose file it is, whether the reader tells user-missing codes
READERS: dict[str, tuple[str, Family, bool]] = {
    ".sav": ("read_sav", "spss", True),
    ".zsav": ("read_sav", "spss", True),
    ".por": ("read_por", "spss", False),
    ".dta": ("read_dta", "stata", True),
    ".sas7bdat": ("read_sas7bdat", "sas", True),
    ".xpt": ("read_xport", "sas", False),
}
SOFTWARE: dict[Family, str] = {"spss": "SPSS", "stata": "Stata", "sas": "SAS", "plain": "text"}


def read_statistical(path: Path, suffix: str, dialect: Dialect) -> Table:
    """Read an SPSS, Stata or SAS file.

    Value-labelled columns keep their codes. A SAS file takes its value labels from a catalogue of the same name
    (``.sas7bcat``) beside it, if there is one.
    """
    _, family, _ = READERS[suffix]
    frame, found = _parse(path, suffix, dialect)
    check_names(path, found.column_names)
    formats = {name: str(form) for name, form in found.original_variable_types.items() if form}
    missing = _missing(found)
    columns, codes = {}, {}
    for name in found.column_names:
        series = frame[name]
        user = inside_any(series, missing.get(name, ()))
        if user.any():
            codes[name] = _codes(series, user)
            series = series.mask(user)
        columns[name] = _values(series, family, formats.get(name), found.readstat_variable_types.get(name))
    labels = Labels(
        variables={name: str(text) for name, text in found.column_names_to_labels.items() if text},
        values={
            name: {_code(code): str(text) for code, text in texts.items()}
            for name, texts in found.variable_value_labels.items()
            if texts
        },
        missing=missing,
        formats=formats,
        measures={name: text for name, text in found.variable_measure.items() if text and text != "unknown"},
        family=family,
    )
    return Table(pd.DataFrame(columns), labels, codes)


def _parse(path: Path, suffix: str, dialect: Dialect) -> tuple[pd.DataFrame, Any]:
    import pyreadstat  # only these files need it

    reader, family, tells = READERS[suffix]
    options: dict[str, Any] = {"disable_datetime_conversion": True}
    if tells:
        options["user_missing"] = True
    if dialect.encoding.lower() not in ("utf-8", "utf8") and suffix != ".por":
        options["encoding"] = dialect.encoding
    catalogue = path.with_suffix(".sas7bcat")
    if suffix == ".sas7bdat" and catalogue.is_file():
        # without this the labels would take the place of the codes
        options |= {"catalog_file": str(catalogue), "formats_as_category": False}
    try:
        frame, found = getattr(pyreadstat, reader)(str(path), **options)
        if "catalog_file" in options:
            del options["catalog_file"]
            frame, _ = getattr(pyreadstat, reader)(str(path), **options)
    except MemoryError:
        raise
    except Exception as error:  # the library raises many kinds, and quotes the file in them
        if "encoding" in str(error) or isinstance(error, UnicodeError):
            raise InputError(
                f"{path}: the text is not in the encoding that the file names; set data.encoding "
                "(windows-1252, for example)."
            ) from None
        raise InputError(f"{path}: the file is not in {SOFTWARE[family]} format, or it is cut off.") from None
    return frame, found


def _missing(found: Any) -> dict[str, tuple[tuple[Code, Code], ...]]:
    """Return the user-missing codes by column: SPSS writes ranges, Stata and SAS letters."""
    ranges: Mapping[str, Any] = found.missing_ranges or {}
    letters: Mapping[str, Any] = found.missing_user_values or {}
    missing = {name: tuple((_code(r["lo"]), _code(r["hi"])) for r in given) for name, given in ranges.items() if given}
    return missing | {name: tuple((letter, letter) for letter in sorted(given)) for name, given in letters.items()}


def _codes(series: pd.Series, user: pd.Series) -> pd.Series:
    codes = series.where(user)
    if pd.api.types.is_numeric_dtype(series):
        return codes.astype("float64")
    return codes.astype(object)


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
