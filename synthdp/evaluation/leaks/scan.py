"""Everything the scanner looks for, in one pass over ``public/``."""

import getpass
import itertools
import json
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.leaks import records as row_tests
from synthdp.evaluation.leaks import statements
from synthdp.evaluation.leaks.finding import LEVEL, Kind, Leak
from synthdp.evaluation.leaks.pairing import Beside, Original, beside
from synthdp.evaluation.leaks.statements import PublicFile
from synthdp.table import io
from synthdp.table.schema import Column, Schema

SUMS = "SHA256SUMS"
SIGNATURE = "SHA256SUMS.sig"
CODEBOOK, RELEASE = "codebook.csv", "release.json"
# names that are words, or that many machines share
COMMON = {
    *("root", "user", "admin", "runner", "ubuntu", "debian", "guest", "test", "data", "localhost", "build", "main"),
    *(
        "release",
        "synthetic",
        "copies",
        "copy",
        "records",
        "record",
        "survey",
        "census",
        "statistics",
        "stats",
        "stata",
    ),
    *("research", "analysis", "analyst", "study", "public", "model", "python", "mean", "value", "values", "level"),
}
SHORTEST = 8
# what a config says of who publishes, in words
STATED = ("title", "publisher", "licence", "contact", "identifier", "abstract")


def scan(
    public: Path,
    original: pd.DataFrame,
    schema: Schema,
    *,
    manifest: Mapping[str, Any] | None = None,
    derived: Mapping[str, str] | None = None,
    now: datetime | None = None,
    records: bool = True,
    said: str = "",
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
    records
        Whether the confidential records may be read. If not, nothing but the files themselves, the schema and the
        manifest is looked at: that is post-processing, and leaves the ε of a differentially private release as it is.
    said
        What the documents of every release say, whatever the data: a level or a user with the name of such a word
        cannot be told from it.
    rng
        For the order of ties, and for which rows of a large file are looked at.

    Notes
    -----
    Each kind of leak is flagged in at most 1 of 1,000 clean releases (Bonferroni over copies and columns). Values that
    were copied inside a coarse column (sex, a seven-point scale) cannot be told from chance unless all were.
    Without kept columns, rows cannot be linked and only values and orders are compared. Measured: none of 240 clean
    releases of eight designs was flagged for anything. Of a file of more than 20,000 records, values and orders are
    compared in 20,000 rows; equal rows are looked for in all. O(M n p) for M copies of p columns.

    Examples
    --------
    >>> import tempfile
    >>> from synthdp.table.schema import Column
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "README.md").write_text("made by /home/jane/run.sh")
    >>> schema = Schema(columns=(Column(name="a", kind="count", role="keep", key=False),))
    >>> found = scan(folder, pd.DataFrame({"a": [1, 2]}), schema, rng=np.random.default_rng(1))
    >>> [str(leak.kind) for leak in found]
    ['unlisted file', 'path']
    """
    manifest = manifest or {}
    derived = dict(derived) if derived is not None else _settings(schema, manifest, "derived")
    known = [*_words(schema), *_stated(manifest)]
    files = [PublicFile(path, public, known=known) for path in sorted(public.rglob("*")) if path.is_file()]
    dialect = _dialect(files)
    copies, leaks = _copies(public, files, dialect)
    leaks += _unlisted(files)
    seed = manifest.get("seed")
    folders = [str(folder) for folder in (Path.home(), Path.cwd(), public.absolute().parent) if len(folder.parts) > 2]
    names = [name for name in (_user(), platform.node()) if len(name) >= 4 and name.lower() not in COMMON]
    names = [name for name in names if name.lower() not in said.lower()]
    sizes = {len(copy) for copy in copies.values()} | ({len(original)} if records else set())
    for file in files:
        leaks += statements.seeds(file, int(seed) if seed is not None else None)
        leaks += statements.times(file, now or datetime.now(UTC))
        leaks += statements.places(file, folders, names)
        leaks += statements.lists_by_record(file, sizes)
    if any(file.name == CODEBOOK for file in files):
        told = _declared(manifest)
        try:
            table = io.read(public / CODEBOOK, dialect)
            leaks += statements.codebook(
                table, CODEBOOK, original if records else None, list(copies.values()), schema, told
            )
        except (InputError, json.JSONDecodeError):
            leaks.append(Leak(Kind.UNREADABLE, CODEBOOK, "it cannot be read, so its contents are unknown."))
    if not records:
        leaks += [
            Leak(Kind.COLUMN, name, f"{column} is not a column of the schema.")
            for name, copy in copies.items()
            for column in copy.columns
            if column not in schema
        ]
        return tuple(leaks)
    leaks += statements.hidden_levels(files, original, list(copies.values()), schema, _declared(manifest), said)
    leaks += statements.kept_functions(original, schema, derived)
    conditions = _settings(schema, manifest, "applies_when")
    for name, copy in copies.items():
        leaks += statements.skips(copy, name, conditions, original)
    leaks += _records(original, copies, schema, derived, rng=rng)
    return tuple(leaks)


def inspector(
    original: pd.DataFrame,
    schema: Schema,
    *,
    manifest: Mapping[str, Any] | None = None,
    shuffled: bool = True,
    records: bool = True,
    said: str = "",
    rng: np.random.Generator,
) -> Callable[[Path], list[str]]:
    """Return the check that a folder passes before it becomes public: it returns what leaks, in sentences.

    Parameters
    ----------
    original, schema, manifest, records, said, rng
        As for :func:`scan`.
    shuffled
        Whether rows were put into a random order; who turns that off wants the order.

    Notes
    -----
    The sentences name the kind of leak, the file and columns, and give counts; never a value.
    """

    def inspect(folder: Path) -> list[str]:
        leaks = scan(folder, original, schema, manifest=manifest, records=records, said=said, rng=rng)
        return [str(leak) for leak in leaks if shuffled or leak.kind is not Kind.ORDER]

    return inspect


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
    known = Original(original)
    pairs = [beside(name, known, copy, schema, passive=set(derived)) for name, copy in copies.items()]
    for pair, (name, copy) in zip(pairs, copies.items(), strict=True):
        yield from statements.extra_columns(pair, original, copy, schema)
        yield from statements.derived_columns(copy, name, derived, schema)
        yield from _copied(pair, replaced, level=level, rng=rng)
        yield from row_tests.row_order(pair, level=level / 2, rng=rng)
    for first, second in itertools.pairwise(pairs):
        yield from row_tests.same_order(first, second, level=level)


def copied(
    original: pd.DataFrame, copies: Sequence[pd.DataFrame], schema: Schema, *, rng: np.random.Generator
) -> Iterator[Leak]:
    """Yield the rows and values that the scanner would find copied over if these copies went out."""
    passive = {column.name for column in schema.derived()}
    known, replaced = Original(original), schema.replaced()
    for number, copy in enumerate(copies, start=1):
        pair = beside(f"copy {number}", known, copy, schema, passive=passive)
        yield from _copied(pair, replaced, level=LEVEL / max(1, len(copies)), rng=rng)


def _copied(pair: Beside, replaced: Sequence[Column], *, level: float, rng: np.random.Generator) -> Iterator[Leak]:
    yield from row_tests.verbatim_rows(pair, level=level, rng=rng)
    for column in replaced:
        if column.name in pair.copy:
            # two tests of each column
            yield from row_tests.verbatim_values(pair, column, level=level / (2 * len(replaced)), rng=rng)


def _dialect(files: list[PublicFile]) -> io.Dialect:
    """Return how the text files are written, as release.json says: escaped text is compared as it was before."""
    about = next((file.data for file in files if file.name == RELEASE), b"{}")
    try:
        told = json.loads(about)
    except (ValueError, RecursionError):
        return io.Dialect()
    return io.Dialect(escaped=isinstance(told, dict) and told.get("escaped_formulas") is True)


def _copies(public: Path, files: list[PublicFile], dialect: io.Dialect) -> tuple[dict[str, pd.DataFrame], list[Leak]]:
    copies: dict[str, pd.DataFrame] = {}
    leaks: list[Leak] = []
    for file in files:
        if file.records:
            try:
                copies[file.name] = io.read(public / file.name, dialect)
            except InputError:
                leaks.append(Leak(Kind.UNREADABLE, file.name, "it cannot be read, so its contents are unknown."))
    return copies, leaks


def _unlisted(files: list[PublicFile]) -> list[Leak]:
    sums = next((file.data.decode("utf-8", errors="replace") for file in files if file.name == SUMS), "")
    listed = {line.split(maxsplit=1)[1].lstrip("*") for line in sums.splitlines() if len(line.split(maxsplit=1)) == 2}
    return [
        Leak(Kind.UNLISTED, file.name, f"it is not listed in {SUMS}.")
        for file in files
        if file.name not in {*listed, SUMS, SIGNATURE}  # a signature is made on the list
    ]


def _declared(manifest: Mapping[str, Any]) -> set[str]:
    """Return the columns whose levels the config states, which are public."""
    variables = manifest.get("config", {}).get("variables", {})
    return {name for name, variable in variables.items() if variable.get("levels") is not None}


def _stated(manifest: Mapping[str, Any]) -> list[str]:
    """Return the words in which the publisher wants to be named: they are public, whatever they look like."""
    block = manifest.get("config", {}).get("release", {})
    texts = [block.get(name) for name in STATED]
    texts = [*(text for text in texts if isinstance(text, str)), *map(str, block.get("creators") or ())]
    words = {word.strip(".,;:()[]<>\"'") for text in texts for word in text.split()}
    # a year alone would hide a date
    return sorted((word for word in words if len(word) >= 4 and not word.isdigit()), key=lambda word: -len(word))


def _settings(schema: Schema, manifest: Mapping[str, Any], setting: str) -> dict[str, str]:
    """Return a setting of text by column: the schema's, or else the manifest's."""
    variables = manifest.get("config", {}).get("variables", {})
    found = {name: variable.get(setting) for name, variable in variables.items() if variable.get("role") != "drop"}
    found |= {column.name: getattr(column, setting, None) or found.get(column.name) for column in schema.columns}
    return {name: text for name, text in found.items() if isinstance(text, str)}


def _words(schema: Schema) -> list[str]:
    """Return names and levels that public files may hold, the longest first; short ones would break other words."""
    levels = [level for column in schema.columns for level in column.levels if isinstance(level, str)]
    return sorted({word for word in (*schema.names(), *levels) if len(word) >= SHORTEST}, key=lambda word: -len(word))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run without a name
        return ""
