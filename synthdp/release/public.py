"""``public/``: written beside, checked, and renamed, so that it appears whole or not at all."""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp import io
from synthdp.errors import GateRefused, InputError, Unfinished
from synthdp.release.folder import HIDDEN_PUBLIC, PUBLIC, sync_folder, write_through
from synthdp.release.reading import CODEBOOK, RELEASE, SUMS, dialect_of, file_names, read_release
from synthdp.release.verifying import problems_inside

__all__ = ["SUMS", "publish"]


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
    inspect: Callable[[Path], Sequence[str]] | None = None,
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
    inspect
        Looks at the finished folder before it gets its name, and returns what must not be public, a sentence each
        (:func:`synthdp.evaluation.leaks.inspector`).
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
        leaks = list(inspect(hidden)) if inspect is not None else []
        if leaks:
            raise GateRefused("\n".join(["The files hold what must not be public; nothing was published.", *leaks]))
        _replace(hidden, out / PUBLIC)
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


def _replace(hidden: Path, public: Path) -> None:
    """Give the checked folder its name; a release that a killed run left complete makes way for it."""
    if public.exists():
        old = public.with_name(f"{HIDDEN_PUBLIC}{secrets.token_hex(8)}")
        os.rename(public, old)
        os.rename(hidden, public)
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.rename(hidden, public)
