"""From a file to a config on disk, checked against the file it was made from."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast, get_args

import pandas as pd

from synthdp import config, pipeline
from synthdp.errors import InputError
from synthdp.guessing import dialects
from synthdp.guessing.proposal import Method, propose
from synthdp.guessing.telling import tell
from synthdp.guessing.writing import to_yaml

METHODS: tuple[str, ...] = get_args(Method)
SUFFIXES = (".gz", ".csv", ".tsv", ".txt", ".parquet", ".feather", ".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt")


def write_config(data: Path, out: Path | None, method: str) -> Iterator[str]:
    """Guess a config, write it, check it, and yield what to tell.

    Raises
    ------
    InputError
        When the data cannot be read, the config exists already, or the method is unknown.
    """
    if method not in METHODS:
        raise InputError(f"--method: must be {', '.join(METHODS[:-1])} or {METHODS[-1]}, found {method!r}.")
    out = out or Path(f"{_stem(data)}.yaml")
    if out.exists():
        raise InputError(f"{out}: exists already and is not overwritten; choose another name with -o.")
    frame, dialect = dialects.read(data)
    if bool(frame.isna().all(axis=None)):
        raise InputError(f"{data}: no column holds a value, so there is nothing to guess from; choose another file.")
    dates = {str(name): form for name in frame.columns if (form := dialects.date_form(frame[name])) is not None}
    for name, form in dates.items():
        frame[name] = pd.to_datetime(frame[name], format=form)
    proposal = propose(frame, method=cast(Method, method))
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
