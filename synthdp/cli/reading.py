"""Reading columns of a confidential table for a command; only what the reading needs is imported, and late."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from synthdp.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def read_columns(file: Path, names: Sequence[str]) -> "list[pd.Series]":
    """Return columns of the confidential table, or say that one is not there, and which is spelt nearly so."""
    from synthdp.table import io

    frame = io.read(file)
    for name in names:
        if name not in frame.columns:
            import difflib

            near = difflib.get_close_matches(name, [str(column) for column in frame.columns], 1)
            raise InputError(
                f"--column {name}: {file.name} has no such column{f'; did you mean {near[0]}?' if near else '.'}"
            )
    return [frame[name] for name in names]
