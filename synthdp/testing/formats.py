"""What every file format must do: give back what it was given, in the same bytes each time, and quote no value."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from synthdp.errors import InputError
from synthdp.table.io import Contents, Dialect, Format, Labels

SECRET = "4711"


def table() -> pd.DataFrame:
    """Return a table that every format can hold: whole numbers, numbers with gaps, and text."""
    numbers = np.where(np.arange(40) % 9 == 0, np.nan, np.arange(40) / 4 - 3)
    return pd.DataFrame({"age": np.arange(18, 58), "income": numbers, "region": ["north", "süd"] * 20})


def gives_back_what_it_was_given(format: Format) -> None:
    """Check a round trip, under every ending that is written."""
    found = _read(format, _written(format))
    pd.testing.assert_frame_equal(found, table(), check_dtype=False)


def same_table_same_bytes(format: Format) -> None:
    """Check that no time, name or order of writing enters the file."""
    assert _written(format) == _written(format)


def leaves_out_what_is_dropped(format: Format) -> None:
    """Check that a column that is not needed does not come back."""
    assert list(_read(format, _written(format), drop=("age",)).columns) == ["income", "region"]


def broken_files_are_refused_without_their_values(format: Format) -> None:
    """Check that a file of another kind gives a sentence that names the file and quotes nothing of it."""
    said = ""
    try:
        _read(format, b"\x00\xff{" + SECRET.encode() + b"\n")
    except InputError as error:
        said = str(error)
    assert f"table.{format.name}" in said, "a file of another kind must be refused by its name"
    assert SECRET not in said


def is_told_to_its_users(format: Format) -> None:
    """Check endings, and that there is a line of Python and of R for the README of a release."""
    assert f".{format.name}" in format.endings
    assert all(ending == ending.lower() and ending.startswith(".") for ending in format.endings)
    assert "path" in format.python
    assert "file" in format.r
    assert format.refuses(["age", "income"]) == []


def _written(format: Format) -> bytes:
    return format.write(Contents(pa.Table.from_pandas(table(), preserve_index=False), Labels(), {}, {}))


def _read(format: Format, content: bytes, drop: tuple[str, ...] = ()) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{format.name}"
        path.write_bytes(content)
        return format.read(path, Dialect(), drop).frame


FORMAT = (
    gives_back_what_it_was_given,
    same_table_same_bytes,
    leaves_out_what_is_dropped,
    broken_files_are_refused_without_their_values,
    is_told_to_its_users,
)
