"""What is open, what was changed, and how to take it back: one session for one process.

The config is the one truth: every change is made to it as a person would write it in the file, and what cannot be
written is refused with the sentence that the command line would say. Trials are kept in a folder beside the work, which
one session at a time holds.
"""

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from synthdp.config import Config, parse
from synthdp.errors import InputError
from synthdp.explore.opening import Finished, Opened, opened
from synthdp.files import prepare_out, write_atomic
from synthdp.stages.kept_advice import given_settings
from synthdp.table import io
from synthdp.table.schema import Kind, Role
from synthdp.tuning.journal import NAME, Journal
from synthdp.tuning.writing import CONFIDENTIAL, README

HELD = (NAME, f"{NAME}-journal", README)
MOST_STEPS = 100
FOLDER_MODE = 0o700
# what the names of settings are in the table of columns, and how a cell without a value is written
UNDECIDED, INFERRED = "undecided", "inferred"


@dataclass(repr=False)
class Session:
    """One person's work on one file.

    Parameters
    ----------
    folder
        Where sessions keep their trials; by default ``synthdp-out`` where the command was started.
    opened, finished
        The file that is worked on, and the folder that is looked at.
    journal, seed
        Where trials are kept, and the seed of their draws.
    revision
        Grows with every change.
    first
        Whether nobody has opened this file here before.
    """

    folder: Path = Path("synthdp-out")
    opened: Opened | None = None
    finished: Finished | None = None
    journal: Path | None = None
    seed: int = 0
    revision: int = 0
    first: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)
    _config: Config | None = None
    _steps: list[Config] = field(default_factory=list)
    _held: ExitStack = field(default_factory=ExitStack)

    def __repr__(self) -> str:
        return f"Session(revision {self.revision})"

    @property
    def config(self) -> Config:
        """The config as it is now."""
        if self._config is None:
            raise InputError("Nothing is open: name a config or a data file under Open.")
        return self._config

    @property
    def steps(self) -> int:
        """How many changes can be taken back."""
        return len(self._steps)

    def open(self, path: Path) -> None:
        """Open a config, a data file or a folder; what was open stays open if that fails.

        Raises
        ------
        InputError
            When it cannot be opened, or another session has the same file open.
        """
        found = opened(path)
        with self.lock:
            if isinstance(found, Finished):
                self.finished = found
            else:
                self._hold(found)
                self.opened, self._config, self._steps = found, found.config, []
            self.revision += 1

    def _hold(self, found: Opened) -> None:
        """Take the folder of trials of this file, and let go of the last one's."""
        home = self.folder / f"explore-{io.digest(found.config.data.path)[:16]}"
        if self.journal is not None and self.journal.parent == home:
            return
        self.first = not home.exists()
        with ExitStack() as held:
            try:
                held.enter_context(prepare_out(home, resume=True, known=HELD))
            except InputError as error:
                if "another run" not in str(error):
                    raise
                raise InputError(
                    f"{home}: another workbench has this file open, and one at a time keeps its trials; end that one."
                ) from None
            home.chmod(FOLDER_MODE)
            write_atomic(home / README, CONFIDENTIAL.encode())
            journal = Journal(home / NAME)
            self.seed = journal.begin({"explore": 1}, None)
            journal.close()
            self._held.close()
            self._held, self.journal = held.pop_all(), home / NAME

    def looked_closer(self, found: Opened | None) -> None:
        """Take what was guessed of a large file; None where that was stopped, and everything is left to the person."""
        with self.lock:
            if self.opened is None or not self.opened.glanced:
                return
            self.opened = replace(self.opened, glanced=False) if found is None else found
            self._config, self._steps = self.opened.config, []
            self.revision += 1

    def change(self, section: str, said: Mapping[str, Any]) -> None:
        """Write a section of the config anew.

        Raises
        ------
        InputError
            When that is no config; nothing has changed then.
        """
        with self.lock:
            self.take({**given_settings(self.config), section: dict(said)})

    def take(self, raw: Mapping[str, Any]) -> None:
        """Write the whole config anew; what ``tune`` promised of other settings goes."""
        with self.lock:
            self._put(parse({name: said for name, said in raw.items() if name != "tuned"}))

    def _put(self, config: Config) -> None:
        if config == self.config:
            return
        self._steps = [*self._steps[-MOST_STEPS + 1 :], self.config]
        self._config = config
        self.revision += 1

    def describe(self, column: str, word: str, value: str) -> None:
        """Say something else of a column: its ``role``, ``key`` or ``kind``, as the table of columns spells it."""
        with self.lock:
            given = given_settings(self.config)
            variables = {**given.get("variables", {})}
            variables[column] = _described(dict(variables.get(column, {})), word, value)
            raw = {**given, "variables": variables}
            if variables[column].get("role") != Role.REPLACE:
                raw = _unmasked(raw, column)
            self.take(raw)

    def undo(self) -> bool:
        """Take the last change back; False where there is none."""
        with self.lock:
            if not self._steps:
                return False
            self._config = self._steps.pop()
            self.revision += 1
            return True

    def close(self) -> None:
        """Let go of the folder."""
        self._held.close()


# what is said of numbers, and what of levels, goes when a column is replaced by nothing or becomes the other kind
OF_NUMBERS = ("bounds", "bounds_from", "tolerance", "decimals", "transform", "bottomcode", "topcode", "round")
OF_LEVELS = ("levels", "rare")


def _described(variable: dict[str, Any], word: str, value: str) -> dict[str, Any]:
    if word == "key":
        return {**variable, "key": None if value == UNDECIDED else value == "yes"}
    if word == "kind":
        gone = OF_NUMBERS if value != INFERRED and Kind(value).categorical else OF_LEVELS
        left = {name: said for name, said in variable.items() if name not in (*gone, "kind")}
        return left if value == INFERRED else {**left, "kind": value}
    if value == Role.DERIVED:
        raise InputError("role: a recomputed column needs a formula; write derived: in the config.")
    if value == Role.DROP:
        return {"role": "drop"}
    left = {name: said for name, said in variable.items() if name not in ("derived", "bounds_from")}
    if value == Role.REPLACE:
        kind = variable.get("kind")
        if kind is not None and not Kind(kind).categorical and variable.get("bounds") is None:
            left["bounds_from"] = "data"
        left.pop("keep_anyway", None)
    return {**left, "role": value}


def _unmasked(raw: dict[str, Any], column: str) -> dict[str, Any]:
    """Return a config without masks of a column that is no longer replaced."""
    masks = {name: mask for name, mask in raw.get("masks", {}).items() if name != column}
    groups = {
        group: left
        for group, block in raw.get("masks_by_group", {}).items()
        if (left := {name: mask for name, mask in block.items() if name != column})
    }
    changed = {"masks": masks, "masks_by_group": groups}
    return {**raw, **{name: block for name, block in changed.items() if name in raw}}
