"""Which reader a file needs, and everything that can be wrong before its values are looked at."""

import hashlib
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa

from synthdp.errors import InputError
from synthdp.io import memory
from synthdp.io.columnar import read_columnar
from synthdp.io.delimited import read_delimited
from synthdp.io.escaping import unescaped
from synthdp.io.labels import Dialect, Table
from synthdp.io.statistical import READERS, read_statistical
from synthdp.io.streams import open_file, unreadable

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}
COLUMNAR = (".parquet", ".feather")
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
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    zipped = suffixes[-1:] == [".gz"]
    suffix = "".join(suffixes[-2:-1] if zipped else suffixes[-1:])
    known = SEPARATORS if zipped else {*SEPARATORS, *COLUMNAR, *READERS}
    if suffix not in known:
        raise InputError(f"{path}: cannot tell the format; the name must end in {KNOWN}.")
    memory.spare_addresses()
    try:
        table = _read(path, suffix, dialect, zipped=zipped, drop=drop)
    except (MemoryError, pa.ArrowMemoryError):
        raise memory.too_large(path) from None
    if len(table.frame) == 0:
        raise InputError(f"{path}: the file has column names but no records.")
    return replace(table, frame=_dated(path, table, dialect))


def digest(path: Path) -> str:
    """Return the SHA-256 checksum of a file."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path, suffix: str, dialect: Dialect, *, zipped: bool, drop: Collection[str]) -> Table:
    if suffix not in SEPARATORS:
        _first_byte(path)
        if suffix in READERS:
            return read_statistical(path, suffix, dialect, drop=drop)
        frame, unread = read_columnar(path, suffix, drop=drop)
        return Table(frame, unread=unread)
    separator = dialect.separator or SEPARATORS[suffix]
    if separator is None:
        raise InputError(f"{path}: a .txt file does not say how its values are separated; set data.separator.")
    frame, unread = read_delimited(path, dialect, separator=separator, zipped=zipped, drop=drop)
    return Table(unescaped(frame) if dialect.escaped else frame, unread=unread)


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
                f"first at row {int(bad.argmax()) + 1}."
            )
        frame = frame.assign(**{name: dates})
    if problems:
        raise InputError(*problems)
    return frame
