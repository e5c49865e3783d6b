"""What stands in ``public/``.

Codebook, release.json and copies, written beside, checked, and renamed, so that it appears whole or not at all.
"""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp import __version__
from synthdp.errors import GateRefused, InputError, Unfinished
from synthdp.files import HIDDEN_PUBLIC, PUBLIC, sync_folder, write_through
from synthdp.privacy.guarantees import Guarantee, section_of
from synthdp.release.reading import (
    CODEBOOK,
    README,
    RELEASE,
    RELEASE_VERSION,
    ROLES,
    SUMS,
    dialect_of,
    file_names,
    read_release,
)
from synthdp.release.verifying import problems_inside
from synthdp.synthesis.design import Design
from synthdp.table import io
from synthdp.table.coded import coded
from synthdp.table.io import Labels, spelled
from synthdp.table.schema import Column, Kind, Schema


def codebook(
    schema: Schema,
    copies: Sequence[pd.DataFrame],
    *,
    declared_levels: Collection[str] = (),
    labels: Labels | None = None,
) -> pd.DataFrame:
    """Return one row per released column: name, kind, role, levels, public bounds, decimals, labels, when it applies.

    And how it was made coarser: in which way, not by how much, as a topcode may be a person's value.

    Parameters
    ----------
    schema
        The resolved columns.
    copies
        The released tables. Only levels that occur in them are listed: a level that the data had and the copies do
        not would tell that someone with it exists.
    declared_levels
        Columns whose levels the config states; these are public and listed in full.
    labels
        Those that may be published (`synthdp.table.io.published`).
    """
    labels = labels or Labels()
    rows = []
    for column in schema.columns:
        bounds = column.bounds if column.bounds_public and column.bounds is not None else (None, None)
        levels = column.levels if column.name in declared_levels else _released_levels(column, copies)
        rows.append(
            {
                "name": column.name,
                "kind": str(column.kind),
                "role": ROLES[column.role],
                "levels": json.dumps(spelled(levels), ensure_ascii=False) if column.kind.categorical else None,
                "lower": bounds[0],
                "upper": bounds[1],
                "decimals": _decimals(column),
                "label": labels.variables.get(column.name),
                "value_labels": _value_labels(labels, column.name),
                "applies_when": column.applies_when,
                "coarsened": ", ".join(column.coarsened) or None,
            }
        )
    return pd.DataFrame(rows).astype({"lower": "float64", "upper": "float64", "decimals": "float64"})


def describe(
    schema: Schema,
    *,
    method: str,
    imputations: int,
    copies: int,
    mask_draw: str | None,
    rule: str,
    records: int,
    masks: Mapping[str, str],
    format: str,
    design: Design | None = None,
    privacy: Guarantee | None = None,
    escaped_formulas: bool = False,
    documents: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the contents of ``release.json``.

    Parameters
    ----------
    schema
        The resolved columns.
    method
        How the copies were made (``da_mi``, ``mi``).
    imputations, copies
        m completed originals, and r copies of each.
    mask_draw
        ``per_copy``, ``once`` or ``once_orthogonal``; None when nothing was masked.
    rule
        The combining rule the design calls for.
    records
        Rows of each copy.
    masks
        The mask's method by column; strengths stay out, as they may depend on the record.
    format
        Of the synthetic files.
    design
        What inference depends on beyond that; None when it is not known.
    privacy
        The guarantee of the release; ``epsilon`` is null when there is none, or when it was withdrawn.
    escaped_formulas
        Text of CSV files that a spreadsheet would take for a formula has a quotation mark before it.
    documents
        The files that describe the release beside README and codebook (`synthdp.release.metadata`).
    """
    return {
        "version": RELEASE_VERSION,
        "software": {"name": "synthdp", "version": __version__},
        "method": method,
        "imputations": imputations,
        "copies": copies,
        "mask_draw": mask_draw,
        "rule": rule,
        "records": records,
        "format": format,
        "files": file_names(imputations, copies, format),
        **({"documents": list(documents)} if documents else {}),
        **({"escaped_formulas": True} if escaped_formulas else {}),
        "columns": [_column(column) for column in schema.columns],
        "masks": dict(masks),
        **({"design": design.facts()} if design is not None else {}),
        "privacy": section_of(privacy),
    }


def _decimals(column: Column) -> int | None:
    if column.kind.categorical:
        return None
    return 0 if column.kind is Kind.COUNT else column.decimals


def _column(column: Column) -> dict[str, str]:
    described = {"name": column.name, "kind": str(column.kind), "role": ROLES[column.role]}
    further = {"formula": column.derived, "applies_when": column.applies_when}
    return described | {key: said for key, said in further.items() if said is not None}


def _value_labels(labels: Labels, name: str) -> str | None:
    found = {str(code): text for code, text in labels.values.get(name, {}).items()}
    return json.dumps(found, ensure_ascii=False) if found else None


def _released_levels(column: Column, copies: Sequence[pd.DataFrame]) -> tuple[Any, ...]:
    if not column.kind.categorical:
        return ()
    found = [np.unique(coded(copy).codes(column)) for copy in copies]
    return tuple(column.levels[i] for i in np.unique(np.concatenate(found)) if i >= 0)


def publish(
    out: Path,
    copies: Sequence[pd.DataFrame],
    *,
    codebook: pd.DataFrame,
    release: Mapping[str, Any],
    readme: str,
    format: str,
    permutations: Sequence[npt.NDArray[np.int64]],
    labels: io.Labels | None = None,
    inspect: Callable[[Path], Sequence[str]] | None = None,
    stored: Mapping[str, io.Stored] | None = None,
    documents: Mapping[str, bytes] = MappingProxyType({}),
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
    inspect
        Looks at the finished folder before it gets its name, and returns what must not be public, a sentence each
        (:func:`synthdp.evaluation.leaks.inspector`).
    stored
        The type of each column as the schema has it (`synthdp.table.io.storage`); others get that of their values.
    documents
        What else describes the release, by name; ``release`` lists the same names.

    Returns
    -------
    dict
        The SHA-256 checksum of every public file.

    Raises
    ------
    Unfinished
        When what is on the disk is not what was written; there is then no ``public/``.
    GateRefused
        When ``inspect`` found a leak; there is no ``public/`` either.
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
    contents[README] = readme.encode()
    contents |= documents
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(contents.items())}
    contents[SUMS] = "".join(f"{checksum}  {name}\n" for name, checksum in sums.items()).encode()

    hidden = out / f"{HIDDEN_PUBLIC}{secrets.token_hex(8)}"
    try:
        hidden.mkdir()
        for name, data in contents.items():
            write_through(hidden / name, data, mode=0o666)  # less what the umask takes away
        sync_folder(hidden)
        _check(hidden, dict(zip(names, copies, strict=True)))
        leaks = list(inspect(hidden)) if inspect is not None else []
        if leaks:
            raise GateRefused("\n".join(["The files hold what must not be public; nothing was published.", *leaks]))
        appear(hidden, out / PUBLIC)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    sync_folder(out)
    return sums


def _check(folder: Path, copies: Mapping[str, pd.DataFrame]) -> None:
    """Read everything back from the disk: a release that its reader cannot open must not appear."""
    problems = problems_inside(folder)
    dialect = dialect_of(read_release(folder))
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


def appear(hidden: Path, public: Path) -> None:
    """Give the checked folder its name; a release that a killed run left complete makes way for it."""
    if public.exists():
        old = public.with_name(f"{HIDDEN_PUBLIC}{secrets.token_hex(8)}")
        os.rename(public, old)
        os.rename(hidden, public)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(hidden, public)
