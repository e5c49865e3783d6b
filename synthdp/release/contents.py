"""Whether release.json, the codebook and the copies say the same of a release."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp import io
from synthdp.errors import InputError
from synthdp.microdata import MISSING, codes, numbers
from synthdp.release.first_register import row_hashes
from synthdp.release.reading import CODEBOOK, RELEASE, dialect_of, file_names, read_codebook
from synthdp.schema import Column, Kind, Role, Schema

_ROLES = {Role.REPLACE: "replaced", Role.KEEP: "kept", Role.DERIVED: "derived"}


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
    problems = _count_problems(folder, release)
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
        kept = [column.name for column in schema.columns if column.role is Role.KEEP]
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
    told = [(column.name, str(column.kind), _ROLES[column.role]) for column in schema.columns]
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
    names: Sequence[str] = [str(name) for name in copy.columns]
    if names != list(schema.names()):
        return [*problems, f"{path}: the columns are not those of the codebook, or in another order."]
    for column in schema.columns:
        strange = _strange(copy[column.name], column)
        if strange:
            problems.append(f"{path}: {strange} values of {column.name} are none that the codebook allows.")
    return problems


def _strange(series: pd.Series, column: Column) -> int:
    """Return how many values are no level of the column, or no number where the column holds numbers."""
    given = series.notna().to_numpy()
    if column.kind.categorical:
        return int((given & (codes(series, column) == MISSING)).sum()) if column.levels else 0
    if column.kind is Kind.DATE:  # formats write dates in too many ways
        return 0
    try:
        return int((given & np.isnan(numbers(series, column))).sum())
    except (TypeError, ValueError):
        return int(given.sum())
