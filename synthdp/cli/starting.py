"""The two commands a newcomer types first.

Demo, the way to a release on bundled data, and init, from a file to a config.
"""

import csv
import hashlib
import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import cast, get_args

import pandas as pd
import yaml

from synthdp import config, pipeline
from synthdp.config import Config, parse
from synthdp.config.proposal import PROPOSED, Method, propose
from synthdp.config.proposal_text import tell, to_yaml
from synthdp.datasets import anes96
from synthdp.errors import InputError, SynthdpError
from synthdp.files import prepare_out, write_atomic
from synthdp.pipeline import Outcome
from synthdp.progress import Progress, Silent
from synthdp.stages.intake import Source, prepare
from synthdp.table import io
from synthdp.table.io import Dialect, Table
from synthdp.table.io.streams import open_file

# the data are public, so the seed may be too: everyone sees the numbers that the README shows
PUBLIC_SEED = 0x5EED_1996_0000_0000_0000_0000_0000_0001
QUICK_COPIES = 3
# what makes seconds of a minute: the least draws that a verdict may rest on, and a model with few loops to compile
QUICK = {
    "synthesis": {"copies": QUICK_COPIES, "model": {"method": "regression"}},
    "release": {"draws": 12},
    "evaluation": {"propensity": {"models": ["logit"]}},
}


def settings(*, quick: bool = False) -> Config:
    """Return the demo's config that is ready to run."""
    raw = yaml.safe_load(_text())
    for block, changed in QUICK.items() if quick else ():
        raw[block] = raw.get(block, {}) | changed
    return parse(raw | {"seed": PUBLIC_SEED})


def demo(*, out: Path, quick: bool = False, jobs: int = 1, progress: Progress | None = None) -> Outcome:
    """Show the way to a release on the 1996 American National Election Study, and leave all that it takes beside it.

    Parameters
    ----------
    quick
        The run alone, of a config that is ready: fewer copies and draws, a simpler model.
    """
    progress = progress or Silent()
    if not quick:
        from synthdp.cli.touring import tour

        with prepare_out(out, resume=False):
            return tour(out, init=write_config, seed=PUBLIC_SEED, jobs=jobs, progress=progress)
    config, frame = settings(quick=quick), anes96()
    table = io.encode(frame, format="csv")
    source = Source(prepare(frame, config), hashlib.sha256(table).hexdigest())
    outcome = pipeline.run(config, out=out, jobs=jobs, progress=progress, source=source)
    write_atomic(out / "anes96.csv", table, mode=0o644)
    write_atomic(out / "demo.yaml", _text().encode(), mode=0o644)
    return outcome


def _text() -> str:
    return (resources.files("synthdp.datasets") / "demo.yaml").read_text(encoding="utf-8")


TEXT = (".csv", ".tsv", ".txt")
GLANCE = 2**16
MARKS = (",", ";", "\t", "|")
DATE_FORMS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y%m%d")
PLAIN = Dialect()


def read(path: Path) -> tuple[Table, Dialect]:
    """Read a table with its labels, and say how its text is written where that is not the plain way.

    Raises
    ------
    InputError
        What reading it the plain way says, when no other way helps.
    """
    try:
        return io.read_table(path), PLAIN
    except InputError as error:
        if path.suffix.lower() not in TEXT or isinstance(error, io.TooLarge):
            raise
        first = error
    for dialect in _likely(path):
        try:
            return io.read_table(path, dialect), dialect
        except InputError:
            continue
    raise first


def date_form(series: pd.Series) -> str | None:
    """Return the one form that reads all texts of a column as dates, or None when none does or several do."""
    if not pd.api.types.is_string_dtype(series) and series.dtype != object:
        return None
    texts = series.dropna().astype(str).drop_duplicates()
    fitting = [
        form for form in DATE_FORMS if len(texts) and pd.to_datetime(texts, format=form, errors="coerce").notna().all()
    ]
    return fitting[0] if len(fitting) == 1 else None


def _likely(path: Path) -> Iterator[Dialect]:
    try:
        with open_file(path) as file:
            head = file.read(GLANCE)
    except (OSError, SynthdpError):
        return
    if not head.strip():
        return
    encodings = ("utf-8", "cp1252") if not head.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-16",)
    for encoding in encodings:
        first = next(iter(head.decode(encoding, errors="replace").splitlines()), "")
        names = {mark: len(next(csv.reader([first], delimiter=mark), [])) for mark in MARKS}
        separator = max(MARKS, key=names.__getitem__)
        # an empty line has no cells at all
        nameless = not (next(csv.reader([first], delimiter=separator), None) or ["-"])[0].strip()
        for decimal in (None, ","):
            # a comma is the plain separator and needs no word
            marks = None if separator == "," else separator
            yield Dialect(encoding=encoding, separator=marks, decimal=decimal, row_names=nameless)


METHODS: tuple[str, ...] = get_args(Method)
SUFFIXES = (".gz", ".csv", ".tsv", ".txt", ".parquet", ".feather", ".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt")


def write_config(data: Path, out: Path | None, method: str | None = None) -> Iterator[str]:
    """Guess a config, write it, check it, and yield what to tell.

    Raises
    ------
    InputError
        When the data cannot be read, the config exists already, or the method is unknown.
    """
    method = PROPOSED if method is None else method
    if method not in METHODS:
        raise InputError(f"--method: must be {', '.join(METHODS[:-1])} or {METHODS[-1]}, found {method!r}.")
    out = out or Path(f"{_stem(data)}.yaml")
    if out.exists():
        raise InputError(f"{out}: exists already and is not overwritten; choose another name with -o.")
    table, dialect = read(data)
    frame = table.frame
    if bool(frame.isna().all(axis=None)):
        raise InputError(f"{data}: no column holds a value, so there is nothing to guess from; choose another file.")
    dates = {str(name): form for name in frame.columns if (form := date_form(frame[name])) is not None}
    for name, form in dates.items():
        frame[name] = pd.to_datetime(frame[name], format=form)
    proposal = propose(frame, method=cast(Method, method), labels=table.labels)
    text = to_yaml(proposal, _relative(data, out), dialect=dialect, dates=dates)
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        raise InputError(f"{out}: the file cannot be written.") from None
    yield f"{out}: written."
    yield from tell(proposal)
    try:
        pipeline.check(config.load(out))
    except InputError as error:
        yield f"synthdp check {out} will ask for this first:"
        yield from (f"  {problem}" for problem in error.problems)
    else:
        asked = len(proposal.asked)
        first = f": run asks about {asked} column{'s' if asked > 1 else ''} first." if asked else "."
        yield f"synthdp check {out} accepts it as it is. Read it before you run it{first}"


def _stem(data: Path) -> str:
    name = data.name
    while Path(name).suffix.lower() in SUFFIXES:
        name = name[: -len(Path(name).suffix)]
    return name or data.name


def _relative(data: Path, out: Path) -> str:
    """Return the data's path as the config sees it."""
    try:
        return Path(os.path.relpath(data.resolve(), out.resolve().parent)).as_posix()
    except ValueError:  # on another drive
        return data.resolve().as_posix()
