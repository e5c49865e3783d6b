"""Everything the scanner looks for, in one pass over ``public/``."""

import getpass
import itertools
import json
import platform
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp import io
from synthdp.errors import InputError
from synthdp.evaluation.leaks import records, statements, traces
from synthdp.evaluation.leaks.finding import LEVEL, Kind, Leak
from synthdp.evaluation.leaks.pairing import beside
from synthdp.evaluation.leaks.traces import PublicFile
from synthdp.schema import Schema

SUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"
CODEBOOK = "codebook.csv"
# names that are words, or that many machines share
COMMON = {"root", "user", "admin", "runner", "ubuntu", "debian", "guest", "test", "data", "localhost", "build", "main"}


def scan(
    public: Path,
    original: pd.DataFrame,
    schema: Schema,
    *,
    manifest: Mapping[str, Any] | None = None,
    derived: Mapping[str, str] | None = None,
    now: datetime | None = None,
    rng: np.random.Generator,
) -> tuple[Leak, ...]:
    """Return what must not be public but is.

    Parameters
    ----------
    public
        The folder of the release.
    original
        The confidential records; dropped columns may still be there.
    schema
        The released columns.
    manifest
        The contents of the run's ``manifest.json``: its seed, and which levels the config declares.
    derived
        Columns that follow from others, with their expressions; by default those of the schema or the manifest.
    now
        When the release was made; by default the present.
    rng
        For the order of ties.

    Notes
    -----
    Each kind of leak is flagged in at most 1 of 1,000 clean releases (Bonferroni over copies and columns). Values that
    were copied inside a coarse column (sex, a seven-point scale) cannot be told from chance unless all were.
    Without kept columns, rows cannot be linked and only values and orders are compared.

    Examples
    --------
    >>> import tempfile
    >>> from synthdp.schema import Column
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "README.md").write_text("made by /home/jane/run.sh")
    >>> schema = Schema(columns=(Column(name="a", kind="count", role="keep", key=False),))
    >>> found = scan(folder, pd.DataFrame({"a": [1, 2]}), schema, rng=np.random.default_rng(1))
    >>> [str(leak.kind) for leak in found]
    ['unlisted file', 'path']
    """
    manifest = manifest or {}
    derived = dict(derived) if derived is not None else _settings(schema, manifest, "derived")
    files = [PublicFile(path, public) for path in sorted(public.rglob("*")) if path.is_file()]
    copies, leaks = _copies(public, files)
    leaks += _unlisted(files)
    seed = manifest.get("seed")
    folders = [str(folder) for folder in (Path.home(), Path.cwd(), public.absolute().parent) if len(folder.parts) > 2]
    names = [name for name in (_user(), platform.node()) if len(name) >= 4 and name.lower() not in COMMON]
    sizes = {len(original), *(len(copy) for copy in copies.values())}
    for file in files:
        leaks += traces.seeds(file, int(seed) if seed is not None else None)
        leaks += traces.times(file, now or datetime.now(UTC))
        leaks += traces.places(file, folders, names)
        leaks += statements.lists_by_record(file, sizes)
    leaks += _told(public, files, original, list(copies.values()), schema, manifest)
    leaks += statements.kept_functions(original, schema, derived)
    conditions = _settings(schema, manifest, "applies_when")
    for name, copy in copies.items():
        leaks += statements.skips(copy, name, conditions, original)
    leaks += _records(original, copies, schema, derived, rng=rng)
    return tuple(leaks)


def _records(
    original: pd.DataFrame,
    copies: Mapping[str, pd.DataFrame],
    schema: Schema,
    derived: Mapping[str, str],
    *,
    rng: np.random.Generator,
) -> Iterator[Leak]:
    replaced = [column for column in schema.replaced() if column.name not in derived]
    level = LEVEL / max(1, len(copies))
    pairs = [beside(name, original, copy, schema, passive=set(derived)) for name, copy in copies.items()]
    for pair, (name, copy) in zip(pairs, copies.items(), strict=True):
        yield from statements.extra_columns(pair, original, copy, schema)
        yield from statements.derived_columns(copy, name, derived, schema)
        yield from records.verbatim_rows(pair, level=level, rng=rng)
        for column in replaced:
            if column.name in pair.copy:
                # two tests of each column
                yield from records.verbatim_values(pair, column, level=level / (2 * len(replaced)), rng=rng)
        yield from records.row_order(pair, level=level / 2)
    for first, second in itertools.pairwise(pairs):
        yield from records.same_order(first, second, level=level)


def _copies(public: Path, files: list[PublicFile]) -> tuple[dict[str, pd.DataFrame], list[Leak]]:
    copies: dict[str, pd.DataFrame] = {}
    leaks: list[Leak] = []
    for file in files:
        if file.records:
            try:
                copies[file.name] = io.read(public / file.name)
            except InputError:
                leaks.append(Leak(Kind.UNREADABLE, file.name, "it cannot be read, so nobody knows what it holds."))
    return copies, leaks


def _unlisted(files: list[PublicFile]) -> list[Leak]:
    sums = next((file.data.decode("utf-8", errors="replace") for file in files if file.name == SUMS), "")
    listed = {line.split(maxsplit=1)[1].lstrip("*") for line in sums.splitlines() if len(line.split(maxsplit=1)) == 2}
    return [
        Leak(Kind.UNLISTED, file.name, f"it is not listed in {SUMS}.")
        for file in files
        if file.name not in {*listed, SUMS, SIGNATURE}  # a signature is made on the list
    ]


def _told(
    public: Path,
    files: list[PublicFile],
    original: pd.DataFrame,
    copies: list[pd.DataFrame],
    schema: Schema,
    manifest: Mapping[str, Any],
) -> Iterator[Leak]:
    variables = manifest.get("config", {}).get("variables", {})
    declared = {name for name, variable in variables.items() if variable.get("levels") is not None}
    if any(file.name == CODEBOOK for file in files):
        try:
            table = io.read(public / CODEBOOK)
            yield from statements.codebook(table, CODEBOOK, original, copies, schema, declared)
        except (InputError, json.JSONDecodeError):
            yield Leak(Kind.UNREADABLE, CODEBOOK, "it cannot be read, so nobody knows what it holds.")
    yield from statements.hidden_levels(files, original, copies, schema, declared)


def _settings(schema: Schema, manifest: Mapping[str, Any], setting: str) -> dict[str, str]:
    """Return a setting of text by column: the schema's, or else the manifest's."""
    variables = manifest.get("config", {}).get("variables", {})
    found = {name: variable.get(setting) for name, variable in variables.items() if variable.get("role") != "drop"}
    found |= {column.name: getattr(column, setting, None) or found.get(column.name) for column in schema.columns}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run without a name
        return ""
