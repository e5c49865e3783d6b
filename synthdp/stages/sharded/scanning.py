"""The last look at a release in shards: what its documents say, and which rows and values were copied over.

The files of records are not read again: their rows are those that were laid beside the original shard by shard.
"""

import getpass
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synthdp.evaluation.leaks import statements
from synthdp.evaluation.leaks.scan import COMMON
from synthdp.evaluation.leaks.statements import PublicFile

DATA = (".csv", ".parquet", ".gz")
COPIES = "synthetic_"


def leaks_in(
    folder: Path, manifest: Mapping[str, Any], verbatim: Mapping[str, Any] | None, *, records: int, said: str = ""
) -> list[str]:
    """Return what must not be public but is, in sentences.

    Parameters
    ----------
    folder
        With the files as they would appear.
    manifest
        The contents of the run's ``manifest.json``: its seed.
    verbatim
        The section of the copies that would go out; None where it was not measured.
    said
        What the documents of every release say.
    """
    seed = manifest.get("seed")
    folders = [str(one) for one in (Path.home(), Path.cwd(), folder.absolute().parent) if len(one.parts) > 2]
    names = [one for one in (_user(), platform.node()) if len(one) >= 4 and one.lower() not in COMMON]
    names = [one for one in names if one.lower() not in said.lower()]
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or (path.name.startswith(COPIES) and path.suffix in DATA):
            continue
        file = PublicFile(path, folder)
        found += [str(leak) for leak in statements.seeds(file, int(seed) if seed is not None else None)]
        found += [str(leak) for leak in statements.times(file, datetime.now(UTC))]
        found += [str(leak) for leak in statements.places(file, folders, names)]
        found += [str(leak) for leak in statements.lists_by_record(file, {records})]
    if verbatim is not None and int(verbatim.get("excess", 0)) > 0:
        found.append(
            f"{verbatim['excess']} rows or values of the original stand in the copies, beyond what chance gives."
        )
    return found


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
