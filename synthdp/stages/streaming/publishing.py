"""What stands in ``public/`` after a run over shards: the same files as after a run in memory, made without the table.

The documents that summarise every column for catalogues (DDI, DataCite, Dublin Core, the datasheet) are not made.
"""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet

from synthdp import release
from synthdp.arrays import Booleans
from synthdp.config import Config
from synthdp.errors import GateRefused, Unfinished
from synthdp.files import HIDDEN_PUBLIC, PUBLIC, sync_folder, write_through
from synthdp.release.public import appear
from synthdp.release.reading import CODEBOOK, README, RELEASE, SUMS
from synthdp.stages.publishing import mask_methods
from synthdp.synthesis.design import Design, rule_for
from synthdp.synthesis.plan import Method
from synthdp.table import io
from synthdp.table.coded import decode
from synthdp.table.schema import Schema

Inspect = Callable[[Path], Sequence[str]]


def contents_of(
    config: Config, schema: Schema, design: Design, like: pd.DataFrame, there: Mapping[str, Booleans], records: int
) -> dict[str, bytes]:
    """Return codebook, release.json and README.

    Parameters
    ----------
    like
        Some records, for the types of their columns.
    there
        Which levels of each column occur in the copies.
    """
    method: Method = config.synthesis
    format = config.release.format_of(config.data.path)
    escape = config.release.escape_formulas and io.FORMATS[format].text
    described = release.describe(
        schema,
        method=method.method,
        imputations=1,
        copies=method.copies,
        mask_draw=method.mask_drawn,
        rule=rule_for(design),
        design=design,
        records=records,
        masks=mask_methods(config) if method.mask_drawn is not None else {},
        format=format,
        escaped_formulas=escape,
    )
    declared = {name: variable.levels for name, variable in config.variables.items() if variable.levels is not None}
    codebook = release.codebook(schema, [_witness(schema, like, there)], declared_levels=declared)
    return {
        CODEBOOK: io.encode(codebook, format="csv", escape_formulas=escape),
        RELEASE: (json.dumps(described, indent=2, ensure_ascii=False) + "\n").encode(),
        README: release.readme(described).encode(),
    }


def publish(
    out: Path, files: Mapping[str, Path], contents: Mapping[str, bytes], *, records: int, inspect: Inspect | None = None
) -> dict[str, str]:
    """Give the finished files their place in ``public/``, whole or not at all; return their checksums.

    Raises
    ------
    Unfinished
        When what is on the disk is not what was written; there is then no ``public/``.
    GateRefused
        When ``inspect`` found a leak; there is no ``public/`` either.
    """
    hidden = out / f"{HIDDEN_PUBLIC}{secrets.token_hex(8)}"
    try:
        hidden.mkdir()
        for name, data in contents.items():
            write_through(hidden / name, data, mode=0o666)
        for name, path in files.items():
            _place(path, hidden / name)
        sums = {name: io.digest(hidden / name) for name in sorted([*contents, *files])}
        lines = "".join(f"{checksum}  {name}\n" for name, checksum in sums.items())
        write_through(hidden / SUMS, lines.encode(), mode=0o666)
        sync_folder(hidden)
        short = [name for name in files if _rows(hidden / name) != records]
        if short:
            raise Unfinished(f"{out / PUBLIC}: {len(short)} files do not hold all records; nothing published.")
        leaks = list(inspect(hidden)) if inspect is not None else []
        if leaks:
            raise GateRefused("\n".join(["The files hold what must not be public; nothing was published.", *leaks]))
        appear(hidden, out / PUBLIC)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    sync_folder(out)
    return sums


def _place(path: Path, to: Path) -> None:
    """Give a file a second name; it is copied where the disk has no such thing."""
    try:
        os.link(path, to)
    except OSError:
        shutil.copyfile(path, to)
    mask = os.umask(0)
    os.umask(mask)
    to.chmod(0o666 & ~mask)


def _rows(path: Path) -> int:
    """Return how many records a file holds."""
    if path.suffix == ".parquet":
        return int(pyarrow.parquet.read_metadata(path).num_rows)
    with path.open("rb") as file:
        lines, inside = 0, False
        while piece := file.read(2**22):
            # line ends between quotation marks belong to a value
            if b'"' not in piece and not inside:
                lines += piece.count(b"\n")
                continue
            for part in piece.splitlines(keepends=True):
                inside ^= part.count(b'"') % 2 == 1
                lines += part.endswith(b"\n") and not inside
    return lines - 1


def _witness(schema: Schema, like: pd.DataFrame, there: Mapping[str, Booleans]) -> pd.DataFrame:
    """Return a table in which each level occurs that occurs in the copies, and no other."""
    longest = max((int(one.sum()) for one in there.values()), default=1) or 1
    found = {}
    for column in schema.columns:
        levels = np.flatnonzero(there.get(column.name, np.zeros(0)))
        if column.kind.categorical and len(levels):
            of_its_type = pd.Series(index=range(longest), dtype=like[column.name].dtype)
            found[column.name] = decode(np.resize(levels, longest), column, of_its_type)
        else:
            found[column.name] = pd.Series([None] * longest, dtype=object)
    return pd.DataFrame(found)
