"""How a text file is written: tried, where the plain way of reading it fails."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from synthdp import io
from synthdp.errors import InputError, SynthdpError
from synthdp.io import Dialect
from synthdp.io.streams import open_file

TEXT = (".csv", ".tsv", ".txt")
GLANCE = 2**16
MARKS = (",", ";", "\t", "|")
DATE_FORMS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y%m%d")
PLAIN = Dialect()


def read(path: Path) -> tuple[pd.DataFrame, Dialect]:
    """Read a table, and say how its text is written where that is not the plain way.

    Raises
    ------
    InputError
        What reading it the plain way says, when no other way helps.
    """
    try:
        return io.read(path), PLAIN
    except InputError as error:
        if path.suffix.lower() not in TEXT or isinstance(error, io.TooLarge):
            raise
        first = error
    for dialect in _likely(path):
        try:
            return io.read(path, dialect), dialect
        except InputError:
            continue
    raise first


def date_form(series: pd.Series) -> str | None:
    """Return the one form that reads all texts of a column as dates, or None when none does or several do."""
    if not pd.api.types.is_string_dtype(series) and series.dtype != object:
        return None
    texts = series.dropna().astype(str).drop_duplicates()
    fitting = [
        form for form in DATE_FORMS if len(texts) and pd.to_datetime(texts, format=form, errors="coerce").notna().all()
    ]
    return fitting[0] if len(fitting) == 1 else None


def _likely(path: Path) -> Iterator[Dialect]:
    try:
        with open_file(path) as file:
            head = file.read(GLANCE)
    except (OSError, SynthdpError):
        return
    if not head.strip():
        return
    encodings = ("utf-8", "cp1252") if not head.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-16",)
    for encoding in encodings:
        first = next(iter(head.decode(encoding, errors="replace").splitlines()), "")
        names = {mark: len(next(csv.reader([first], delimiter=mark), [])) for mark in MARKS}
        separator = max(MARKS, key=names.__getitem__)
        # an empty line has no cells at all
        nameless = not (next(csv.reader([first], delimiter=separator), None) or ["-"])[0].strip()
        for decimal in (None, ","):
            # a comma is the plain separator and needs no word
            marks = None if separator == "," else separator
            yield Dialect(encoding=encoding, separator=marks, decimal=decimal, row_names=nameless)
