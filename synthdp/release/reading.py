"""A release as its user finds it.

The names of its files, how they are read, and copies from wherever the user has them.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from synthdp.errors import InputError, SynthdpError
from synthdp.files import PUBLIC
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import DEFAULT_RULE, Pooled
from synthdp.inference.pooling import pool
from synthdp.inference.rules import unfit
from synthdp.synthesis.design import Design
from synthdp.table import io
from synthdp.table.io.streams import read_text
from synthdp.table.schema import Column, Role, Schema

RELEASE_VERSION = 1
SUMS = "SHA256SUMS"
CODEBOOK = "codebook.csv"
RELEASE = "release.json"
README = "README.md"
SIGNATURE = "SHA256SUMS.sig"
ROLES = {Role.REPLACE: "replaced", Role.KEEP: "kept", Role.DERIVED: "derived"}
_DOCUMENT_NAME = re.compile(r"[A-Za-z][\w-]*\.(?:xml|json|md|cff)")
_COPY_NAME = re.compile(rf"synthetic_\d+(_\d+)?\.({'|'.join(map(re.escape, io.FORMATS))})")


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
    if not all(isinstance(name, str) and _DOCUMENT_NAME.fullmatch(name) for name in _documents(release)):
        raise InputError(f"{path}: documents must list the files that describe the release.")
    return dict(release)


def _documents(release: Mapping[str, Any]) -> Sequence[Any]:
    """Return what a release lists as its documents; those made before 0.6 have none."""
    found = release.get("documents", [])
    return found if isinstance(found, list) else (found,)


def public_names(release: Mapping[str, Any]) -> set[str]:
    """Return the names of all public files, given ``release.json``, but for checksums and signature."""
    return {*release["files"], CODEBOOK, RELEASE, README, *_documents(release)}


@dataclass(frozen=True, repr=False)
class Opened:
    """Copies, and what a combining rule needs to know of them.

    Parameters
    ----------
    copies
        The tables, all copies of the first nest first.
    schema
        What the columns are; None when nobody said.
    rule
        The combining rule that the design calls for.
    design
        How the copies came about; None when nobody said.
    """

    copies: tuple[pd.DataFrame, ...]
    schema: Schema | None = None
    rule: str = DEFAULT_RULE
    design: Design | None = None

    @property
    def layout(self) -> dict[str, Any]:
        """The arguments ``nests`` and ``ratio`` of :func:`synthdp.inference.combining.combine`."""
        if self.design is None:
            return {}
        return {"nests": self.design.nests if self.design.nests > 1 else None, "ratio": self.design.ratio}

    def check(self, rule: str | None) -> None:
        """Raise when the user's rule does not fit the design."""
        if rule is not None and self.design is not None and (why := unfit(rule, self.design)):
            raise InputError(f"rule: {why}")

    def noted(self, pooled: Pooled) -> Pooled:
        """Return combined estimates that say so where their intervals ignore a masking."""
        return replace(pooled, altered=self.design is not None and self.design.altered)


def open_copies(source: Any) -> Opened:
    """Return the copies in a folder (``public/`` or its parent), a list of files or tables, or a release in memory.

    Raises
    ------
    InputError
        When there is nothing of the kind, or a file cannot be read.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        if path.is_file():
            return Opened((io.read(path),))
        found = read_public(path)
        contents: Mapping[str, Any] = found.contents
        return Opened(found.copies, found.schema, str(contents["rule"]), Design.of(contents))
    if isinstance(source, pd.DataFrame):
        return Opened((source,))
    if hasattr(source, "copies") and hasattr(source, "rule"):
        return Opened(tuple(source.copies), None, source.rule, getattr(source, "design", None))
    if not isinstance(source, Sequence):
        raise InputError("copies: must be a folder, files, tables or a release.")
    return Opened(tuple(_table(one, number) for number, one in enumerate(source, start=1)))


def _table(one: Any, number: int) -> pd.DataFrame:
    if isinstance(one, pd.DataFrame):
        return one
    if isinstance(one, str | Path):
        return io.read(Path(one))
    raise InputError(f"copies: copy {number} must be a table or a file, found {type(one).__name__}.")


def pool_opened(opened: Opened, analysis: Analysis, *, level: float, called: str) -> Pooled:
    """Return an analysis of opened copies, combined by its own rule or the one the design calls for.

    Parameters
    ----------
    opened, analysis, level
        The copies, what is estimated, and the coverage of the intervals.
    called
        What messages call the analysis; in a config it has a place and a name, elsewhere an argument.
    """
    opened.check(analysis.rule)
    try:
        pooled = pool(
            opened.copies, analysis, schema=opened.schema, default_rule=opened.rule, level=level, **opened.layout
        )
    except InputError as error:
        raise InputError(*(problem.replace(analysis.where, called) for problem in error.problems)) from None
    except SynthdpError as error:
        raise type(error)(str(error).replace(analysis.where, called)) from None
    return opened.noted(pooled)
