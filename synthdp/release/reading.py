"""A release as its user finds it: the names of its files, and how they are read."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from synthdp import io
from synthdp.errors import InputError
from synthdp.io.streams import read_text
from synthdp.release.folder import PUBLIC
from synthdp.schema import Column, Role, Schema

RELEASE_VERSION = 1
SUMS = "SHA256SUMS"
CODEBOOK = "codebook.csv"
RELEASE = "release.json"
README = "README.md"
SIGNATURE = "SHA256SUMS.sig"
_COPY_NAME = re.compile(r"synthetic_\d+(_\d+)?\.(csv|tsv|parquet|feather|dta|sav|xpt)")


@dataclass(frozen=True, repr=False)
class PublicRelease:
    """A release as its user finds it.

    Parameters
    ----------
    contents
        What ``release.json`` says.
    copies
        The synthetic tables, in its order.
    schema
        What the codebook says about the columns.
    """

    contents: Mapping[str, Any]
    copies: tuple[pd.DataFrame, ...]
    schema: Schema

    def __repr__(self) -> str:
        return f"PublicRelease({len(self.copies)} copies of {len(self.copies[0])} records)"


def file_names(imputations: int, copies: int, format: str) -> list[str]:
    """Return the names of the synthetic files, all copies of the first imputation first.

    Examples
    --------
    >>> file_names(1, 2, "csv")
    ['synthetic_01.csv', 'synthetic_02.csv']
    >>> file_names(2, 1, "parquet")
    ['synthetic_01_01.parquet', 'synthetic_02_01.parquet']
    """
    wide = max(2, len(str(max(imputations, copies))))  # equal width, so that names sort as the copies do
    if imputations == 1:
        return [f"synthetic_{copy:0{wide}}.{format}" for copy in range(1, copies + 1)]
    return [
        f"synthetic_{imputation:0{wide}}_{copy:0{wide}}.{format}"
        for imputation in range(1, imputations + 1)
        for copy in range(1, copies + 1)
    ]


def read_public(folder: Path) -> PublicRelease:
    """Read a release as its user does.

    Parameters
    ----------
    folder
        ``public/`` or its parent.

    Raises
    ------
    InputError
        When there is no release, or a file of it cannot be read.
    """
    folder = locate(folder)
    contents = read_release(folder)
    dialect = dialect_of(contents)
    copies = tuple(io.read(folder / name, dialect) for name in contents["files"])
    return PublicRelease(contents=contents, copies=copies, schema=read_codebook(folder, dialect))


def dialect_of(contents: Mapping[str, Any]) -> io.Dialect:
    """Return how the text files of a release are written, given its ``release.json``."""
    return io.Dialect(escaped=bool(contents.get("escaped_formulas", False)))


def locate(folder: Path) -> Path:
    """Return the folder with the public files: the one given, or ``public/`` in it."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder.")
    for candidate in (folder / PUBLIC, folder):
        if (candidate / RELEASE).is_file() or (candidate / SUMS).is_file():
            return candidate
    raise InputError(f"{folder}: no release found; give public/ or the folder that holds it.")


def read_codebook(folder: Path, dialect: io.Dialect | None = None) -> Schema:
    """Return what the codebook says about the columns."""
    path = folder / CODEBOOK
    table = io.read(path, dialect) if dialect is not None else io.read(path)
    try:
        columns = [
            Column(
                name=str(row["name"]),
                kind=row["kind"],
                role={"replaced": Role.REPLACE, "derived": Role.DERIVED}.get(row["role"], Role.KEEP),
                key=False,
                levels=json.loads(row["levels"]) if isinstance(row["levels"], str) else (),
            )
            for row in table.to_dict("records")
        ]
    except (KeyError, ValueError):
        raise InputError(f"{path}: not the codebook of a release.") from None
    return Schema(columns=tuple(columns))


def read_release(folder: Path) -> dict[str, Any]:
    """Return what ``release.json`` says."""
    path = folder / RELEASE
    if not os.path.lexists(path):
        raise InputError(f"{path}: missing.")
    try:
        release = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not readable as JSON.") from None
    version = release.get("version") if isinstance(release, dict) else None
    if version != RELEASE_VERSION:
        raise InputError(f"{path}: version must be {RELEASE_VERSION}; a newer synthdp may read it.")
    files = release.get("files")
    if not (isinstance(files, list) and files and all(isinstance(f, str) and _COPY_NAME.fullmatch(f) for f in files)):
        raise InputError(f"{path}: files must list the synthetic files.")
    return dict(release)
