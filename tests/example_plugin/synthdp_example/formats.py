"""JSON Lines: one record a line."""

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from synthdp.errors import InputError
from synthdp.table.io import Contents, Dialect, Format, Table


def read(path: Path, dialect: Dialect, drop: Collection[str]) -> Table:
    try:
        frame = pd.read_json(path, lines=True, encoding=dialect.encoding)
    except ValueError:  # the parser's own message would quote the data
        raise InputError(f"{path}: the file is not JSON Lines, or it is cut off.") from None
    unread = tuple(name for name in frame.columns if name in drop)
    return Table(frame.drop(columns=list(unread)), unread=unread)


def write(contents: Contents) -> bytes:
    frame: pd.DataFrame = contents.table.to_pandas()
    return frame.to_json(orient="records", lines=True, date_format="iso", double_precision=15).encode()


JSONL = Format(
    name="jsonl",
    endings=(".jsonl",),
    read=read,
    write=write,
    python="read_json(path, lines=True)",
    r="jsonlite::stream_in(base::file(file))",
)
