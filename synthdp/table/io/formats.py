"""File formats: how each is read and written, its endings, and how the users of a release read it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from synthdp import plugins
from synthdp.table.io.labels import Dialect, Labels, Table
from synthdp.table.io.storing import Stored


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
    """

    table: Any
    labels: Labels
    letters: Mapping[str, pd.Series]
    stored: Mapping[str, Stored]
    escape_formulas: bool = False


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
