"""Parquet and Feather: columns as they are stored, read one at a time."""

import io
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from synthdp.errors import BROKEN, InputError
from synthdp.table.io import memory
from synthdp.table.io.formats import Contents, Format, ending
from synthdp.table.io.gathering import Gathered, assemble, check_names, watch
from synthdp.table.io.labels import Dialect, Table
from synthdp.table.io.streams import unreadable

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
        decimal = pa.types.is_decimal(field.type)
        columns.append(Gathered(field.name, pa.float64() if decimal else field.type))
        for batch in batches(field):
            columns[-1].add(batch.cast(pa.float64()) if decimal else batch)
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
        f"{path}: column {field.name!r} must hold single values, found "
        f"{'binary data' if pa.types.is_binary(field.type) else 'lists or records'}."
        for field in fields
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type)
    ]
    if problems:
        raise InputError(*problems)


def write_parquet(contents: Contents) -> bytes:
    """Return a Parquet file."""
    sink = io.BytesIO()
    pyarrow.parquet.write_table(contents.table, sink)
    return sink.getvalue()


def write_feather(contents: Contents) -> bytes:
    """Return a Feather file."""
    sink = io.BytesIO()
    pyarrow.feather.write_feather(contents.table, sink, compression="lz4")
    return sink.getvalue()


PARQUET = Format(
    name="parquet",
    endings=(".parquet",),
    read=read_columnar,
    write=write_parquet,
    python="read_parquet(path)",
    r="arrow::read_parquet(file)",
)
FEATHER = Format(
    name="feather",
    endings=(".feather",),
    read=read_columnar,
    write=write_feather,
    python="read_feather(path)",
    r="arrow::read_feather(file)",
)
