"""What a person opens: a config, a data file, or the folder of a finished run, comparison or search."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import yaml

from synthdp.config import Config, load, parse
from synthdp.config.decisions import Guess
from synthdp.config.guessing import PLAIN, guess
from synthdp.config.guessing import read as read_any
from synthdp.config.proposal import Proposal
from synthdp.config.reading import Loader
from synthdp.errors import InputError
from synthdp.stages.intake import read
from synthdp.table import io

Folder = Literal["run", "compare", "tune", "evaluate"]
CONFIGS = (".yaml", ".yml")
# a larger file is shown as it is first, and looked at in the background: 100,000 records of 30 columns take 15 seconds
LARGE = 20_000


@dataclass(frozen=True, repr=False)
class Opened:
    """A file with its config.

    Parameters
    ----------
    path
        The config; for a data file the one that will be written beside it.
    config
        As the command line would read it.
    table
        The data file as it is.
    why
        By column, the reasons of the guess; of a config that somebody wrote there are none.
    decide
        By column, what only a person can decide.
    guessed
        Whether the config was guessed from the file.
    glanced
        Whether nothing was guessed yet, because that takes a while.
    """

    path: Path
    config: Config
    table: io.Table
    why: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    decide: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    guessed: bool = False
    glanced: bool = False

    def __repr__(self) -> str:
        return f"Opened({len(self.table.frame)} records)"


@dataclass(frozen=True)
class Finished:
    """The folder of something that has ended, and what it is."""

    path: Path
    kind: Folder


def opened(path: Path) -> Opened | Finished:
    """Open what a path names.

    Raises
    ------
    InputError
        When there is nothing, or nothing that the workbench can show.
    """
    if path.is_dir():
        return finished(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder; name a config, a data file or a folder of results.")
    if path.suffix.lower() in CONFIGS:
        config = load(path)
        return Opened(path, config, read(config))
    return looked_at(path)


def looked_at(data: Path, *, whole: bool = False) -> Opened:
    """Open a data file with the config that ``synthdp init`` would guess.

    Parameters
    ----------
    whole
        Whether a large file is looked at too, which takes a while; otherwise it is opened as it is.
    """
    path = data.with_suffix(".yaml") if data.suffix else data.with_name(f"{data.name}.yaml")
    if not whole:
        table, dialect = read_any(data)
        if len(table.frame) > LARGE:
            written = {name: said for name, said in asdict(dialect).items() if said != getattr(PLAIN, name)}
            return Opened(path, parse({"version": 1, "data": {"path": str(data), **written}}), table, glanced=True)
    found = guess(data)
    config = parse(yaml.load(found.text(data, path), Loader))
    config = config.model_copy(update={"data": config.data.model_copy(update={"path": data})})
    why, decide = reasons(found.proposal)
    return Opened(path, config, found.table, why, decide, guessed=True)


def reasons(proposal: Proposal) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return by column why it was guessed so, and what only a person can decide."""
    return {one.name: one.evidence for one in proposal.columns}, {one.name: _asked(one) for one in proposal.columns}


def _asked(one: Guess) -> tuple[str, ...]:
    return (*one.decide, *([one.question] if one.question is not None else []))


def finished(folder: Path) -> Finished:
    """Return what has ended in a folder.

    Raises
    ------
    InputError
        When nothing that the workbench knows has.
    """
    marks: tuple[tuple[Folder, str], ...] = (
        ("run", "confidential/metrics.json"),
        ("tune", "trials.csv"),
        ("compare", "comparison.csv"),
        ("evaluate", "metrics.json"),
    )
    for kind, mark in marks:
        if (folder / mark).is_file():
            return Finished(folder, kind)
    if (folder / "confidential").is_dir():
        raise InputError(
            f"{folder}: the run there has not ended; go on with it first: synthdp run CONFIG --out {folder} --resume."
        )
    raise InputError(
        f"{folder}: must be the folder of a finished run, compare, tune or evaluate; found none of their files."
    )
