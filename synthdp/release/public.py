"""``public/``: written beside, checked, and renamed, so that it appears whole or not at all."""

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp import io
from synthdp.errors import InputError, Unfinished
from synthdp.release.folder import HIDDEN_PUBLIC, PUBLIC, sync_folder, write_through
from synthdp.schema import Column, Role, Schema

RELEASE_VERSION = 1
SUMS = "SHA256SUMS"
CODEBOOK = "codebook.csv"
RELEASE = "release.json"
_COPY_NAME = re.compile(r"synthetic_\d+(_\d+)?\.(csv|tsv|parquet|feather|dta|sav|xpt)")
_SUM_LINE = re.compile(r"([0-9a-f]{64}) [ *]([^/\\]+)")


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


def publish(
    out: Path,
    copies: Sequence[pd.DataFrame],
    *,
    codebook: pd.DataFrame,
    release: Mapping[str, Any],
    readme: str,
    format: io.Format,
    permutations: Sequence[npt.NDArray[np.int64]],
    labels: io.Labels | None = None,
    stored: Mapping[str, io.Stored] | None = None,
) -> dict[str, str]:
    """Write ``out/public``.

    Parameters
    ----------
    out
        The folder of the run, held by `prepare_out`.
    copies
        The synthetic tables, row i made from record i, all copies of the first imputation first.
    codebook, release, readme
        What the data user is told; see `describe`.
    format
        Of the synthetic files.
    permutations
        One per copy: released row j is row ``permutation[j]`` of the copy.
    labels
        Written into the files where their format has labels.
    stored
        The type of each column as the schema has it (`synthdp.io.storage`); other columns get that of their values.

    Returns
    -------
    dict
        The SHA-256 checksum of every public file.

    Raises
    ------
    Unfinished
        When what is on the disk is not what was written; there is then no ``public/``.
    """
    names = file_names(release["imputations"], release["copies"], format)
    escape = bool(release.get("escaped_formulas", False))
    contents: dict[str, bytes] = {}
    for name, copy, permutation in zip(names, copies, permutations, strict=True):
        if not np.array_equal(np.sort(permutation), np.arange(len(copy))):
            raise ValueError("a permutation must name every row once")
        shuffled = copy.iloc[permutation]
        contents[name] = io.encode(shuffled, format=format, labels=labels, stored=stored, escape_formulas=escape)
    contents[CODEBOOK] = io.encode(codebook, format="csv", escape_formulas=escape)
    contents[RELEASE] = (json.dumps(release, indent=2, ensure_ascii=False) + "\n").encode()
    contents["README.md"] = readme.encode()
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(contents.items())}
    contents[SUMS] = "".join(f"{checksum}  {name}\n" for name, checksum in sums.items()).encode()

    hidden = out / f"{HIDDEN_PUBLIC}{secrets.token_hex(8)}"
    try:
        hidden.mkdir()
        for name, data in contents.items():
            write_through(hidden / name, data, mode=0o666)  # less what the umask takes away
        sync_folder(hidden)
        _check(hidden, dict(zip(names, copies, strict=True)))
        _replace(hidden, out / PUBLIC)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    sync_folder(out)
    return sums


def verify(folder: Path) -> list[str]:
    """Return what is wrong with a release: files that changed, are missing or do not belong; a version too new.

    Parameters
    ----------
    folder
        ``public/`` or its parent.

    Raises
    ------
    InputError
        When there is no release at all.
    """
    folder = _locate(folder)
    problems: list[str] = []
    sums = _read_sums(folder, problems)
    for name, checksum in sums.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{path}: listed in {SUMS}, but missing.")
        elif io.digest(path) != checksum:
            problems.append(f"{path}: changed since the release was made (its checksum differs).")
    problems += [
        f"{path}: not part of the release (not listed in {SUMS})."
        for path in sorted(folder.iterdir())
        if sums and path.name not in sums and path.name != SUMS
    ]
    try:
        _read_release(folder)
    except InputError as error:
        problems += error.problems
    return problems


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
    folder = _locate(folder)
    contents = _read_release(folder)
    dialect = dialect_of(contents)
    copies = tuple(io.read(folder / name, dialect) for name in contents["files"])
    return PublicRelease(contents=contents, copies=copies, schema=_read_codebook(folder, dialect))


def dialect_of(contents: Mapping[str, Any]) -> io.Dialect:
    """Return how the text files of a release are written, given its ``release.json``."""
    return io.Dialect(escaped=bool(contents.get("escaped_formulas", False)))


def _check(folder: Path, copies: Mapping[str, pd.DataFrame]) -> None:
    """Read everything back from the disk: a release that its reader cannot open must not appear."""
    problems = verify(folder)
    dialect = dialect_of(_read_release(folder))
    for name, copy in copies.items():
        try:
            found = io.read(folder / name, dialect)
        except InputError:
            problems.append(name)
            continue
        if found.shape != copy.shape or list(found.columns) != [str(column) for column in copy.columns]:
            problems.append(name)
    if problems:
        raise Unfinished(f"{folder.parent / PUBLIC}: {len(problems)} files could not be read back; nothing published.")


def _replace(hidden: Path, public: Path) -> None:
    """Give the checked folder its name; a release that a killed run left complete makes way for it."""
    if public.exists():
        old = public.with_name(f"{HIDDEN_PUBLIC}{secrets.token_hex(8)}")
        os.rename(public, old)
        os.rename(hidden, public)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(hidden, public)


def _locate(folder: Path) -> Path:
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder.")
    for candidate in (folder / PUBLIC, folder):
        if (candidate / RELEASE).is_file() or (candidate / SUMS).is_file():
            return candidate
    raise InputError(f"{folder}: no release found; give public/ or the folder that holds it.")


def _read_sums(folder: Path, problems: list[str]) -> dict[str, str]:
    path = folder / SUMS
    if not path.is_file():
        problems.append(f"{path}: missing, so nothing can be checked.")
        return {}
    sums: dict[str, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        match = _SUM_LINE.fullmatch(line)
        if match is None:
            problems.append(f"{path}: line {number} is not a checksum and a file name.")
        else:
            sums[match[2]] = match[1]
    return sums


def _read_codebook(folder: Path, dialect: io.Dialect) -> Schema:
    path = folder / CODEBOOK
    table = io.read(path, dialect)
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


def _read_release(folder: Path) -> dict[str, Any]:
    path = folder / RELEASE
    try:
        release = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: missing.") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not readable as JSON.") from None
    version = release.get("version") if isinstance(release, dict) else None
    if version != RELEASE_VERSION:
        raise InputError(f"{path}: version must be {RELEASE_VERSION}; a newer synthdp may read it.")
    files = release.get("files")
    if not (isinstance(files, list) and files and all(isinstance(f, str) and _COPY_NAME.fullmatch(f) for f in files)):
        raise InputError(f"{path}: files must list the synthetic files.")
    return dict(release)
