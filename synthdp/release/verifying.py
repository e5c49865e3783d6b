"""Whether a release is what was released: all of its files, nothing else, and no contradiction between them.

Three things can be held against each other. The checksums find damage; ``release.json``, the codebook and the copies
must say the same of rows, columns and levels; the manifest of the run, where it lies beside, and a signature, where
there is one, find what somebody wrote anew together with its checksums.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.files import CONFIDENTIAL
from synthdp.release.manifest import MANIFEST, Manifest, read_manifest
from synthdp.release.metadata.checking import document_problems
from synthdp.release.reading import (
    CODEBOOK,
    RELEASE,
    ROLES,
    SIGNATURE,
    SUMS,
    dialect_of,
    file_names,
    locate,
    public_names,
    read_codebook,
    read_release,
)
from synthdp.release.shelf import row_hashes
from synthdp.release.signing import sign_sums, signature_problems
from synthdp.table import io
from synthdp.table.coded import FOREIGN, codes, numbers
from synthdp.table.schema import Column, Kind, Schema


def content_problems(folder: Path, release: Mapping[str, Any]) -> list[str]:
    """Return where the parts of a release contradict each other, one sentence each.

    Parameters
    ----------
    folder
        With files whose checksums are right.
    release
        What ``release.json`` says.

    Notes
    -----
    One copy is held in memory at a time. Kept columns are the same in all copies, whatever the order of the rows, so a
    row or a kept cell that was changed in one copy shows.
    """
    problems = [*_count_problems(folder, release), *document_problems(folder, release)]
    try:
        schema = read_codebook(folder, dialect_of(release))
    except InputError as error:
        return [*problems, *error.problems]
    problems += _codebook_problems(folder, release, schema)
    if problems:
        return problems
    first: np.ndarray | None = None
    for name in release["files"]:
        try:
            copy = io.read(folder / name, dialect_of(release))
        except InputError as error:
            problems += error.problems
            continue
        found = _copy_problems(folder / name, copy, release, schema)
        problems += found
        kept = [column.name for column in schema.kept()]
        if found or not kept:
            continue
        rows = np.sort(row_hashes(copy, kept))
        if first is None:
            first = rows
        elif not np.array_equal(first, rows):
            problems.append(f"{folder / name}: the kept columns are not those of {release['files'][0]}.")
    return problems


def _count_problems(folder: Path, release: Mapping[str, Any]) -> list[str]:
    """Hold the numbers of copies and imputations against the list of files."""
    imputations, copies, format = (release.get(name) for name in ("imputations", "copies", "format"))
    if not (isinstance(imputations, int) and isinstance(copies, int) and isinstance(format, str)):
        return [f"{folder / RELEASE}: must say how many imputations and copies there are, and their format."]
    if imputations * copies != len(release["files"]) or file_names(imputations, copies, format) != release["files"]:
        return [
            f"{folder / RELEASE}: {imputations} × {copies} copies are stated, but {len(release['files'])} files are "
            "listed, or under other names."
        ]
    return []


def _codebook_problems(folder: Path, release: Mapping[str, Any], schema: Schema) -> list[str]:
    stated = release.get("columns")
    if not (isinstance(stated, list) and all(isinstance(column, Mapping) for column in stated)):
        return [f"{folder / RELEASE}: must list the columns."]
    told = [(column.name, str(column.kind), ROLES[column.role]) for column in schema.columns]
    listed = [(column.get("name"), column.get("kind"), column.get("role")) for column in stated]
    if told == listed:
        return []
    if len(told) != len(listed):
        return [f"{folder / CODEBOOK}: describes {len(told)} columns, {RELEASE} {len(listed)}."]
    place = next(number for number, (one, other) in enumerate(zip(told, listed, strict=True), start=1) if one != other)
    return [f"{folder / CODEBOOK}: column {place} is not the one in {RELEASE} (name, kind or role)."]


def _copy_problems(path: Path, copy: pd.DataFrame, release: Mapping[str, Any], schema: Schema) -> list[str]:
    problems = []
    if release.get("records") != len(copy):
        problems.append(f"{path}: {release.get('records')} rows are stated in {RELEASE}, found {len(copy)}.")
    if [str(name) for name in copy.columns] != list(schema.names()):
        return [*problems, f"{path}: the columns are not those of the codebook, or in another order."]
    for column in schema.columns:
        strange = _strange(copy[column.name], column)
        if strange:
            problems.append(f"{path}: {strange} values of {column.name} are none that the codebook allows.")
    return problems


def _strange(series: pd.Series, column: Column) -> int:
    """Return how many values are no level of the column, or no number where the column holds numbers."""
    if column.kind.categorical:
        return int((codes(series, column, foreign=FOREIGN) == FOREIGN).sum()) if column.levels else 0
    given = series.notna().to_numpy()
    if column.kind is Kind.DATE:  # formats write dates in too many ways
        return 0
    try:
        return int((given & np.isnan(numbers(series, column))).sum())
    except (TypeError, ValueError):
        return int(given.sum())


FORGEABLE = (
    f"Checksums find damage, not forgery: anyone who can write to this folder can rewrite {SUMS}. Compare {SUMS} "
    "with the one its maker announced, or ask for a signature and give the maker's public key by --key."
)
# the folder itself and the one above it, and the two files that no list of checksums can hold
_UNLISTED = (".", "..", SUMS, SIGNATURE)
_SUM_LINE = re.compile(r"([0-9a-f]{64}) [ *]([^/\\\x00-\x1f\x7f]+)")


def verify(folder: Path, *, key: Path | None = None) -> list[str]:
    """Return what is wrong with a release, one sentence each.

    Parameters
    ----------
    folder
        ``public/`` or its parent. When ``confidential/`` lies beside it and may be read, its manifest is held against
        the checksums too.
    key
        The public key of whoever signed the release, as a PEM file.

    Notes
    -----
    Reads every file twice: once for its checksum, once as a table.

    Raises
    ------
    InputError
        When there is no release at all, or the key cannot be used.
    """
    folder = locate(folder)
    problems = [f"{folder}: is a link; a release is a folder of its own."] if folder.is_symlink() else []
    found = problems_inside(folder)
    problems += found
    if not found:  # a file that changed is not asked what it says
        problems += content_problems(folder, read_release(folder))
    problems += _manifest_problems(folder)
    return problems + signature_problems(folder, key)


def standing(folder: Path, *, key: Path | None = None) -> list[str]:
    """Return what a release without problems was held against, and what that does not prove, in sentences."""
    folder = locate(folder)
    said = []
    recorded = _recorded(_manifest_of(folder))
    if recorded is not None:
        said.append(f"The checksums are those in {CONFIDENTIAL}/{MANIFEST}.")
    if key is not None:
        said.append(f"{SIGNATURE} was made with the private key that belongs to {key}.")
    elif (folder / SIGNATURE).exists():
        said.append(f"{SIGNATURE} was not checked; give the signer's public key by --key.")
    return said if recorded is not None or key is not None else [*said, FORGEABLE]


def sign(folder: Path, key: Path) -> Path:
    """Sign a release that is in order; return the file of the signature.

    Raises
    ------
    InputError
        When something is wrong with the release, or the key cannot be used.
    """
    problems = verify(folder)
    if problems:
        raise InputError(*problems)
    return sign_sums(locate(folder), key)


def problems_inside(folder: Path) -> list[str]:
    """Return what is wrong with the names and checksums of the files in a folder, without reading their contents."""
    problems: list[str] = []
    present = _plain_files(folder, problems)
    sums = read_sums(folder, problems) if SUMS in present else {}
    if SUMS not in present:
        problems.append(f"{folder / SUMS}: missing, so nothing can be checked.")
    release_problems: tuple[str, ...] = ()
    expected: set[str] | None = None
    try:
        if RELEASE in present or not (folder / RELEASE).is_symlink():
            expected = public_names(read_release(folder))
    except InputError as error:
        release_problems = tuple(error.problems)
    if sums:
        for name in sorted({*sums, *present, *(expected or ())} - {SUMS, SIGNATURE}):
            problems += _file_problems(folder, name, sums, present, expected)
    return [*problems, *release_problems]


def read_sums(folder: Path, problems: list[str]) -> dict[str, str]:
    """Return the checksum of every file that SHA256SUMS lists; what is no line as we write it is a problem.

    ``sha256sum`` itself is lenient. A list that says the same in other bytes was not written by us, and a name that
    differs only in case is another file on one system and the same on the next.
    """
    path = folder / SUMS
    data = path.read_bytes()
    if not data.strip():
        problems.append(f"{path}: empty, so nothing can be checked.")
        return {}
    text = data.decode("utf-8", errors="replace")
    if not text.endswith("\n"):
        problems.append(f"{path}: the last line has no end; the file was cut off or edited.")
    sums: dict[str, str] = {}
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        match = _SUM_LINE.fullmatch(line)
        if match is None:
            problems.append(f"{path}: line {number} is not a checksum and a file name.")
        elif match[2] in _UNLISTED:
            problems.append(f"{path}: line {number} lists something that is not a file of a release.")
        elif match[2].casefold() in {name.casefold() for name in sums}:
            problems.append(f"{path}: line {number} lists a file a second time.")
        else:
            sums[match[2]] = match[1]
    return sums


def _plain_files(folder: Path, problems: list[str]) -> set[str]:
    """Return the names of ordinary files; links, folders and devices are problems, and are never opened."""
    secret = _secret_files(folder)
    found = set()
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        state = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(state.st_mode):
            problems.append(f"{folder / entry.name}: is a link; a release holds its own files.")
        elif stat.S_ISDIR(state.st_mode):
            problems.append(f"{folder / entry.name}: is a folder; a release has none.")
        elif not stat.S_ISREG(state.st_mode):
            problems.append(f"{folder / entry.name}: is not a regular file.")
        elif (state.st_dev, state.st_ino) in secret:
            problems.append(f"{folder / entry.name}: is the same file as one in {CONFIDENTIAL}/ (a hard link).")
        else:
            found.add(entry.name)
    return found


def _secret_files(folder: Path) -> set[tuple[int, int]]:
    """Return which files lie in the confidential folder; hard links elsewhere are the business of backups."""
    try:
        states = [entry.stat(follow_symlinks=False) for entry in os.scandir(folder.parent / CONFIDENTIAL)]
    except OSError:
        return set()
    return {(state.st_dev, state.st_ino) for state in states}


def _file_problems(
    folder: Path, name: str, sums: Mapping[str, str], present: set[str], expected: set[str] | None
) -> list[str]:
    path = folder / name
    if name not in present:
        if name in sums:
            return [] if path.is_symlink() or path.is_dir() else [f"{path}: listed in {SUMS}, but missing."]
        return [] if os.path.lexists(path) else [f"{path}: named in {RELEASE}, but missing."]
    if name not in sums:
        belongs = expected is not None and name in expected
        what = "part of the release, but not" if belongs else "not part of the release (not"
        return [f"{path}: {what} listed in {SUMS}{'' if belongs else ')'}."]
    if io.digest(path) != sums[name]:
        return [f"{path}: changed since the release was made (its checksum differs)."]
    if expected is not None and name not in expected:
        return [f"{path}: listed in {SUMS}, but no file of this release ({RELEASE} does not name it)."]
    return []


def _manifest_of(folder: Path) -> Manifest | None:
    """Return the manifest beside a release; None where there is none or it may not be read."""
    try:
        return read_manifest(folder.parent)
    except PermissionError:
        return None


def _recorded(manifest: Manifest | None) -> dict[str, str] | None:
    """Return the checksums that the run wrote into its manifest; None where it has none yet."""
    sums = manifest.contents.get("public") if manifest is not None else None
    return {str(name): str(one) for name, one in sums.items()} if isinstance(sums, Mapping) else None


def _manifest_problems(folder: Path) -> list[str]:
    try:
        manifest = _manifest_of(folder)
    except InputError as error:
        return list(error.problems)
    if manifest is None:
        return []
    place = f"{folder.parent / CONFIDENTIAL / MANIFEST}"
    if manifest.status in ("refused", "study"):
        return [f"{place}: the run was not published ({manifest.status}), so these files are not its release."]
    recorded = _recorded(manifest)
    if recorded is None and manifest.status == "published":
        return [f"{place}: does not say which files the run published; it was changed."]
    if recorded is None or not (folder / SUMS).is_file():
        return []
    sums = read_sums(folder, [])
    return [
        f"{folder / SUMS}: says of {name} what the run did not write down ({place}); it was rewritten."
        for name in sorted({*sums, *recorded} - {SIGNATURE})
        if sums.get(name) != recorded.get(name)
    ]
