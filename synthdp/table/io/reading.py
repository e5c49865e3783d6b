"""Which reader a file needs, everything that can be wrong before its values are looked at.

The columns of Parquet and Feather are read here.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from synthdp import plugins
from synthdp.errors import BROKEN, InputError
from synthdp.table.io import memory
from synthdp.table.io.delimited import check_names, read_delimited, unescaped
from synthdp.table.io.formats import FORMATS, ending
from synthdp.table.io.gathering import Gathered, assemble, watch
from synthdp.table.io.labels import Dialect, Table
from synthdp.table.io.streams import open_file, unreadable

BATCH = 2**18  # records
NAMES = {".parquet": "Parquet", ".feather": "Feather"}
Batches = Callable[[Any], Iterator[Any]]


def read_columnar(path: Path, dialect: Dialect, drop: Collection[str] = ()) -> Table:
    """Read a Parquet or Feather file, column by column, without those to drop."""
    suffix, _ = ending(path)
    try:
        with pa.OSFile(str(path)) as file:
            schema, rows, batches = _parquet(file) if suffix == ".parquet" else _feather(file)
            frame, unread = _gather(path, schema, rows, batches, drop)
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno in BROKEN:
            raise unreadable(path, error) from None
        raise InputError(f"{path}: the file is not {NAMES[suffix]}, or it is cut off.") from None
    return Table(frame, unread=unread)


def _parquet(file: Any) -> tuple[Any, int, Batches]:
    source = pyarrow.parquet.ParquetFile(file)

    def batches(field: Any) -> Iterator[Any]:
        # a dot in a name looks like a part of a record to the reader, which may then bring more columns
        if pa.types.is_dictionary(field.type):
            yield source.read(columns=[field.name], use_threads=False).column(field.name)
            return
        for batch in source.iter_batches(batch_size=BATCH, columns=[field.name], use_threads=False):
            yield batch.column(field.name)

    return source.schema_arrow, source.metadata.num_rows, batches


def _feather(file: Any) -> tuple[Any, int, Batches]:
    def batches(field: Any) -> Iterator[Any]:
        file.seek(0)
        yield pyarrow.feather.read_table(file, columns=[field.name], use_threads=False).column(field.name)

    try:
        schema = pa.ipc.open_file(file).schema
    except pa.ArrowInvalid:  # the first version of the format, or no Feather at all
        file.seek(0)
        schema = pyarrow.feather.read_table(file).schema
    return schema, 0, batches  # it does not say how many records there are


def _gather(
    path: Path, schema: Any, rows: int, batches: Batches, drop: Collection[str]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    check_names(path, schema.names)
    fields = [field for field in schema if field.name not in drop] or [schema.field(0)]
    _single_values(path, fields)
    columns: list[Gathered] = []
    to_come = [rows * _width(field.type) for field in fields]
    named = [field.name for _, field in sorted(zip(to_come, fields, strict=True), key=lambda pair: -pair[0])]
    memory.require(path, sum(to_come), largest=named)
    for position, field in enumerate(fields):
        columns.append(Gathered(field.name, _plain_type(field.type)))
        for batch in batches(field):
            columns[-1].add(batch.cast(pa.float64()) if pa.types.is_decimal(field.type) else batch)
            watch(path, columns, done=1.0, rest=sum(to_come[position + 1 :]))
    kept = {field.name for field in fields}
    return assemble(path, columns), tuple(name for name in schema.names if name not in kept)


def _width(kind: Any) -> float:
    """Return the bytes that a value takes at least."""
    try:
        return float(kind.bit_width) / 8
    except ValueError:  # text
        return 1.0


def _single_values(path: Path, fields: Collection[Any]) -> None:
    problems = [
        f"{path}: column {field.name!r} must hold single values, found {_what(field.type)}."
        for field in fields
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type)
    ]
    if problems:
        raise InputError(*problems)


def _plain_type(kind: Any) -> Any:
    return pa.float64() if pa.types.is_decimal(kind) else kind


def _what(kind: Any) -> str:
    return "binary data" if pa.types.is_binary(kind) else "lists or records"


SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}
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


def read_text(path: Path, dialect: Dialect, drop: Collection[str] = ()) -> Table:
    """Read a text file whose values stand between separators."""
    suffix, zipped = ending(path)
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
