"""File formats: how each is read and written, its endings, and how the users of a release read it.

`read_table` finds the format that a file needs and says what can be wrong whatever the format; `encode` gives the bytes
of a file, equal ones for equal tables.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from synthdp import plugins
from synthdp.errors import InputError
from synthdp.table.coded import first_row
from synthdp.table.io import memory
from synthdp.table.io.labels import Dialect, Labels, Table
from synthdp.table.io.storing import Stored
from synthdp.table.io.streams import open_file, unreadable


@dataclass(frozen=True, repr=False)
class Contents:
    """What a file is to hold.

    Parameters
    ----------
    table
        An Arrow table: the types are those of the schema, and nothing of pandas' own is attached.
    labels
        Of the columns and their values, for formats that can hold them.
    letters
        For formats with lettered missing values: the letters by column, missing elsewhere.
    stored
        The type of each column as the schema has it.
    escape_formulas
        For text files: a quotation mark before text that a spreadsheet would take for a formula.
    quoted
        For text files that are written piece by piece: whether some text of another piece needs quotation marks.
    """

    table: Any
    labels: Labels
    letters: Mapping[str, pd.Series]
    stored: Mapping[str, Stored]
    escape_formulas: bool = False
    quoted: bool = False


@dataclass(frozen=True)
class Format:
    """One file format.

    Parameters
    ----------
    name
        How ``release.format`` calls it, and the ending of the files that are written.
    endings
        Of the names of files that are read by it, in lower case with their dot.
    read
        Return the table of a file, without the columns to drop (all columns, or InputError: never a value).
    write
        Return the bytes of a file; equal contents give equal bytes.
    python, r, stata
        How a user reads ``path`` (Python, after ``pd.``), ``file`` (R) and ```file'`` (Stata; empty where it cannot).
    text
        Whether it is text: spreadsheets open it, and it may be compressed by gzip.
    lettered
        Whether missing values of several kinds are told apart by letters.
    refuses
        Return which column names it does not allow, one sentence each.
    """

    name: str
    endings: tuple[str, ...]
    read: Callable[[Path, Dialect, Collection[str]], Table]
    write: Callable[[Contents], bytes]
    python: str
    r: str
    stata: str = ""
    text: bool = False
    lettered: bool = False
    refuses: Callable[[Collection[str]], list[str]] = lambda names: []


FORMATS: Mapping[str, Format] = plugins.Registry("formats")


def ending(path: Path) -> tuple[str, bool]:
    """Return the ending of a file's name in lower case, and whether it is compressed by gzip."""
    zipped = path.suffix.lower() == ".gz"
    return (path.with_suffix("") if zipped else path).suffix.lower(), zipped


def format_like(path: Path) -> str:
    """Return the format that a file of this name is written back in; SAS data files only SAS can write, so xpt.

    Examples
    --------
    >>> format_like(Path("survey.sav")), format_like(Path("survey.tsv.gz")), format_like(Path("survey.sas7bdat"))
    ('sav', 'tsv', 'xpt')
    """
    suffix, _ = ending(path)
    return next((format.name for format in FORMATS.values() if suffix in format.endings), "csv")


KNOWN = ".csv or .parquet, .tsv, .csv.gz, .tsv.gz, .feather, .dta, .sav, .zsav, .por, .sas7bdat or .xpt"
PLAIN = Dialect()


def read(path: Path, dialect: Dialect = PLAIN, *, drop: Collection[str] = ()) -> pd.DataFrame:
    """Read a table from a file; the ending of its name says what it is.

    A column of a text file is whole numbers (float when some are missing), numbers, truth values, or text, whichever
    fits all its values; digits that a number would not keep (leading zeros, 19 digits and more) make it text. Columns
    of SPSS, Stata and SAS files keep their codes; user-missing codes are missing.

    Files are read in batches or column by column, so the table must fit into memory, not the file. Text that repeats
    is a categorical instead of plain text where only that fits.

    Parameters
    ----------
    drop
        Columns that are not needed: they are not read. Names that the file does not have are ignored.

    Raises
    ------
    InputError
        When the file cannot be read as a table, with one sentence that says what to do.
    """
    return read_table(path, dialect, drop=drop).frame


def read_table(path: Path, dialect: Dialect = PLAIN, *, drop: Collection[str] = ()) -> Table:
    """Read a table together with its labels and user-missing codes (text and columnar files have none)."""
    suffix, zipped = ending(path)
    known = (one for one in FORMATS.values() if suffix in one.endings and (one.text or not zipped))
    format = next(known, None)
    if format is None:
        more = [one for name in plugins.outside("formats") for one in FORMATS[name].endings]
        raise InputError(f"{path}: cannot tell the format; the name must end in {', '.join([KNOWN, *more])}.")
    memory.spare_addresses()
    try:
        if not format.text:
            _first_byte(path)
        table = format.read(path, dialect, drop)
    except (MemoryError, pa.ArrowMemoryError):
        raise memory.too_large(path) from None
    if len(table.frame) == 0:
        raise InputError(f"{path}: the file has column names but no records.")
    return replace(table, frame=_dated(path, table, dialect))


def digest(path: Path) -> str:
    """Return the SHA-256 checksum of a file."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _first_byte(path: Path) -> None:
    with open_file(path) as file:
        try:
            first = file.read(1)
        except OSError as error:
            raise unreadable(path, error) from None
    if not first:
        raise InputError(f"{path}: the file is empty.")


def _dated(path: Path, table: Table, dialect: Dialect) -> pd.DataFrame:
    """Return the records with the columns of ``data.dates`` read as dates."""
    problems = []
    frame = table.frame
    for name, form in dialect.dates.items():
        if name in table.unread:
            continue
        if name not in frame.columns:
            problems.append(f"data.dates.{name}: no such column in {path}.")
            continue
        series = frame[name]
        if pd.api.types.is_datetime64_any_dtype(series):
            continue
        if pd.api.types.is_float_dtype(series) and bool((series.dropna() % 1 == 0).all()):
            series = series.astype("Int64")  # 20200131, a float only because others are missing
        text = series.astype("string").str.strip()
        try:
            dates = pd.to_datetime(text, format=form, errors="coerce")
        except ValueError:
            problems.append(f"data.dates.{name}: {form} is not a form that strptime knows.")
            continue
        bad = (dates.isna() & text.notna()).to_numpy()
        if bad.any():
            problems.append(
                f"data.dates.{name}: {int(bad.sum())} values do not have the form {form}; "
                f"first at row {first_row(bad)}."
            )
        frame = frame.assign(**{name: dates})
    if problems:
        raise InputError(*problems)
    return frame


def encode(
    frame: pd.DataFrame,
    *,
    format: str,
    labels: Labels | None = None,
    stored: Mapping[str, Stored] | None = None,
    escape_formulas: bool = False,
) -> bytes:
    """Return a table as the bytes of a file; equal tables give equal bytes.

    The row labels and everything else pandas attaches to a frame (attributes, unused categories) stay out: they would
    tell more than the values do. So does the time of writing.

    Parameters
    ----------
    labels
        Written into SPSS, Stata and SAS transport files as far as these can hold them.
    stored
        The type of each column as the schema has it (`storage`); other columns get the type of their values.
    escape_formulas
        In text files: a quotation mark before text that a spreadsheet would take for a formula.
    """
    labels, stored = labels or Labels(), stored or {}
    letters = {}
    if FORMATS[format].lettered:
        for name in set(labels.missing) & set(frame.columns):
            letters[name] = frame[name].where(frame[name].isin([low for low, _ in labels.missing[name]]))
        frame = frame.assign(**{name: pd.to_numeric(frame[name], errors="coerce") for name in letters})
    names = [str(name) for name in frame.columns]
    series = [frame.iloc[:, i] for i in range(frame.shape[1])]
    table = pa.table(
        [stored[n].array(s) if n in stored else _plain(s) for n, s in zip(names, series, strict=True)], names=names
    )
    return FORMATS[format].write(Contents(table, labels, letters, stored, escape_formulas))


def write(
    frame: pd.DataFrame,
    path: Path,
    *,
    format: str,
    labels: Labels | None = None,
    stored: Mapping[str, Stored] | None = None,
) -> None:
    """Write a table to a file; equal tables give equal bytes."""
    path.write_bytes(encode(frame, format=format, labels=labels, stored=stored))


def _plain(series: pd.Series) -> Any:
    """Return a series as Arrow values with nothing of its past: no categories, no labels."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.dtype.categories.dtype if series.notna().all() else object)
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers and text in one column
        return pa.array([None if pd.isna(value) else str(value) for value in series], pa.string())
