"""Parquet and Feather: their columns as plain values."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from synthdp.errors import InputError
from synthdp.io.delimited import check_names


def parse_parquet(path: Path, data: bytes) -> Any:
    """Return the columns of a Parquet file."""
    try:
        table = pyarrow.parquet.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError):
        raise InputError(f"{path}: the file is not Parquet, or it is cut off.") from None
    return _single_values(path, table)


def parse_feather(path: Path, data: bytes) -> Any:
    """Return the columns of a Feather file."""
    try:
        table = pyarrow.feather.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError):
        raise InputError(f"{path}: the file is not Feather, or it is cut off.") from None
    return _single_values(path, table)


def unpacked_size(suffix: str, data: bytes) -> int:
    """Return the bytes that the values take before they are compressed, as far as the file says."""
    if suffix != ".parquet":
        return len(data)
    try:
        found = pyarrow.parquet.read_metadata(pa.BufferReader(data))
    except (pa.ArrowException, OSError):
        return len(data)  # the reader says what is wrong
    return max(len(data), sum(int(found.row_group(i).total_byte_size) for i in range(found.num_row_groups)))


def _single_values(path: Path, table: Any) -> Any:
    check_names(path, table.column_names)
    problems = []
    for i, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.float64()))
        elif pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
            problems.append(f"{path}: column {field.name!r} must hold single values, found {_what(field.type)}.")
    if problems:
        raise InputError(*problems)
    return table


def _what(kind: Any) -> str:
    return "binary data" if pa.types.is_binary(kind) else "lists or records"
