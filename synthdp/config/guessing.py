"""A file nobody has described yet: how its text is written, how its dates are, and the config guessed from it."""

import csv
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from synthdp.config.proposal import PROPOSED, Method, Proposal, propose
from synthdp.config.proposal_text import to_yaml
from synthdp.errors import InputError, SynthdpError
from synthdp.table import io
from synthdp.table.coded import DATE_FORMS
from synthdp.table.io import Dialect, Table
from synthdp.table.io.streams import open_file

TEXT = (".csv", ".tsv", ".txt")
GLANCE = 2**16
MARKS = (",", ";", "\t", "|")
PLAIN = Dialect()


def read(path: Path) -> tuple[Table, Dialect]:
    """Read a table with its labels, and say how its text is written where that is not the plain way.

    Raises
    ------
    InputError
        What reading it the plain way says, when no other way helps.
    """
    try:
        return io.read_table(path), PLAIN
    except InputError as error:
        if path.suffix.lower() not in TEXT or isinstance(error, io.TooLarge):
            raise
        first = error
    for dialect in _likely(path):
        try:
            return io.read_table(path, dialect), dialect
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


@dataclass(frozen=True, repr=False)
class Guessed:
    """A file, and the config that was guessed from it.

    Parameters
    ----------
    table
        As it was read, texts that are dates made dates.
    proposal
        What was guessed, column by column, with the reasons.
    dialect, dates
        How its text is written, where that is not the plain way, and the form of its dates by column.
    """

    table: Table
    proposal: Proposal
    dialect: Dialect
    dates: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Guessed({self.proposal!r})"

    def text(self, data: Path, out: Path) -> str:
        """Return the config as text, the file named as seen from where the config is written."""
        return to_yaml(self.proposal, _relative(data, out), dialect=self.dialect, dates=self.dates)


def guess(data: Path, method: Method = PROPOSED) -> Guessed:
    """Return the config that is guessed from a file.

    Raises
    ------
    InputError
        When the data cannot be read, or hold nothing.
    """
    table, dialect = read(data)
    frame = table.frame
    if bool(frame.isna().all(axis=None)):
        raise InputError(f"{data}: no column holds a value, so there is nothing to guess from; choose another file.")
    dates = {str(name): form for name in frame.columns if (form := date_form(frame[name])) is not None}
    for name, form in dates.items():
        frame[name] = pd.to_datetime(frame[name], format=form)
    return Guessed(table, propose(frame, method=method, labels=table.labels), dialect, dates)


def _relative(data: Path, out: Path) -> str:
    """Return the data's path as the config sees it."""
    try:
        return Path(os.path.relpath(data.resolve(), out.resolve().parent)).as_posix()
    except ValueError:  # on another drive
        return data.resolve().as_posix()
