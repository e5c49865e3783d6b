"""Which reader a file needs, and everything that can be wrong before its values are looked at."""

import gzip
import hashlib
import zlib
from pathlib import Path

import pandas as pd
import pyarrow as pa

from synthdp.errors import InputError
from synthdp.io import memory
from synthdp.io.columnar import parse_feather, parse_parquet, unpacked_size
from synthdp.io.delimited import parse_delimited
from synthdp.io.labels import Dialect, Table
from synthdp.io.statistical import READERS, read_statistical

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}
COLUMNAR = (".parquet", ".feather")
KNOWN = ".csv or .parquet, .tsv, .csv.gz, .tsv.gz, .feather, .dta, .sav, .zsav, .por, .sas7bdat or .xpt"
# peak memory over the size of the file: measured on a CSV of 2 GB (2.9), supposed for the others
DELIMITED_PEAK = 3.0
COLUMNAR_PEAK = 3.0
STATISTICAL_PEAK = 4.0
CHUNK = 2**24
PLAIN = Dialect()


def read(path: Path, dialect: Dialect = PLAIN) -> pd.DataFrame:
    """Read a table from a file; the ending of its name says what it is.

    A column of a text file is whole numbers (float when some are missing), numbers, truth values, or text, whichever
    fits all its values; digits that a number would not keep (leading zeros, 19 digits and more) make it text. Columns
    of SPSS, Stata and SAS files keep their codes; user-missing codes are missing.

    Raises
    ------
    InputError
        When the file cannot be read as a table, with one sentence that says what to do.
    """
    return read_table(path, dialect).frame


def read_table(path: Path, dialect: Dialect = PLAIN) -> Table:
    """Read a table together with its labels and user-missing codes (text and columnar files have none)."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    zipped = suffixes[-1:] == [".gz"]
    suffix = "".join(suffixes[-2:-1] if zipped else suffixes[-1:])
    known = SEPARATORS if zipped else {*SEPARATORS, *COLUMNAR, *READERS}
    if suffix not in known:
        raise InputError(f"{path}: cannot tell the format; the name must end in {KNOWN}.")
    try:
        table = _read(path, suffix, dialect, zipped=zipped)
    except (MemoryError, pa.ArrowMemoryError):
        raise memory.too_large(path) from None
    if len(table.frame) == 0:
        raise InputError(f"{path}: the file has column names but no records.")
    return Table(_dated(path, table.frame, dialect), table.labels, table.codes)


def digest(path: Path) -> str:
    """Return the SHA-256 checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(path: Path, suffix: str, dialect: Dialect, *, zipped: bool) -> Table:
    if suffix in READERS:
        _require(path, STATISTICAL_PEAK)
        _first_byte(path)
        return read_statistical(path, suffix, dialect)
    if suffix in COLUMNAR:
        _require(path, 1.0)
        data = _bytes(path)
        memory.require(path, unpacked_size(suffix, data), COLUMNAR_PEAK)
        arrow = parse_parquet(path, data) if suffix == ".parquet" else parse_feather(path, data)
    else:
        separator = dialect.separator or SEPARATORS[suffix]
        if separator is None:
            raise InputError(f"{path}: a .txt file does not say how its values are separated; set data.separator.")
        _require(path, DELIMITED_PEAK)
        # the parser lets go of the bytes as soon as it has the values
        held = [_unzip(path) if zipped else _bytes(path)]
        arrow = parse_delimited(path, held, dialect, separator=separator)
    # the pandas part of a Parquet file could bring row labels back; the columns are all we take
    return Table(arrow.replace_schema_metadata(None).to_pandas(date_as_object=False))


def _require(path: Path, factor: float) -> None:
    try:
        size = path.stat().st_size
    except OSError:
        return  # whoever opens the file says why it cannot be read
    memory.require(path, size, factor)


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None
    if not data or data.isspace():
        raise InputError(f"{path}: the file is empty.")
    return data


def _first_byte(path: Path) -> None:
    try:
        with path.open("rb") as file:
            first = file.read(1)
    except OSError as error:
        raise _unreadable(path, error) from None
    if not first:
        raise InputError(f"{path}: the file is empty.")


def _unzip(path: Path) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        with gzip.open(path) as file:
            while part := file.read(CHUNK):
                parts.append(part)
                size += len(part)
                # the parts so far are in memory already
                memory.require(path, size, DELIMITED_PEAK - 1)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{path}: the file is not gzip, or it is cut off.") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    data = b"".join(parts)
    if not data or data.isspace():
        raise InputError(f"{path}: the file is empty.")
    return data


def _unreadable(path: Path, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: no such file.")
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path}: this is a folder; give a file.")
    if isinstance(error, PermissionError):
        return InputError(f"{path}: no permission to read the file.")
    return InputError(f"{path}: the file cannot be read (error {error.errno} of the system).")


def _dated(path: Path, frame: pd.DataFrame, dialect: Dialect) -> pd.DataFrame:
    """Return the table with the columns of ``data.dates`` read as dates."""
    problems = []
    for name, form in dialect.dates.items():
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
