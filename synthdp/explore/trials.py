"""Trials of the settings as they are: those of ``tune``, kept on disk by what they depend on."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from synthdp.config import Config
from synthdp.parallel import Advance
from synthdp.seeding import Streams
from synthdp.stages.intake import prepare
from synthdp.stages.planning import plan_of
from synthdp.synthesis.imputed import DaMi
from synthdp.table import io
from synthdp.tuning.asking import check_askable
from synthdp.tuning.goals import Goal
from synthdp.tuning.journal import Journal
from synthdp.tuning.search import EXPLORED
from synthdp.tuning.space import Space
from synthdp.tuning.strengths import masked_columns
from synthdp.tuning.study import COMPARED, LARGE
from synthdp.tuning.trials import Laboratory, Trial

# shown on the map; more marks are not told apart, and memory stays flat
MOST_SHOWN = 300


def laboratory(config: Config, table: io.Table, *, seed: int, advance: Advance | None = None) -> Laboratory:
    """Return where one config is tried as it is: a search that varies nothing."""
    check_askable(config)
    still = config.model_copy(update={"tuning": config.tuning.model_copy(update={"vary": ("copies",)})})
    data = prepare(table.frame, still, unread=table.unread)
    plan = plan_of(still, data)
    made = still.synthesis
    assert isinstance(made, DaMi)
    labels = plan.tags.labels
    tags = tuple(str(tag) for tag in labels.cat.categories if (labels == tag).any())
    space = Space(
        still, masked_columns(plan.data, still.masks), tags, (made.association,), (made.copies,), (made.mask_draw,)
    )
    streams = Streams(seed)
    rows = None
    if len(data) > LARGE:
        rows = np.sort(streams.generator("tune", "rows").choice(len(data), COMPARED, replace=False))
    goal = Goal(still.tuning.goal, plan.released)
    return Laboratory(space, table.frame, table.unread, data, goal, streams, Journal(None), rows, 1, advance)


def fingerprint(config: Config) -> str:
    """Return what a trial's answer depends on beside the file and the seed of trials, in 64 letters."""
    asked = config.model_dump_json(exclude={"seed": True, "tuned": True, "data": {"path"}, "methods": True})
    return hashlib.sha256(asked.encode()).hexdigest()


@dataclass(frozen=True)
class Tried:
    """One trial under the settings that it was made of.

    Parameters
    ----------
    mark
        The fingerprint of the settings.
    steps
        By column and by risk group, how strong masks were, in half octaves.
    trial
        What it found.
    """

    mark: str
    steps: Mapping[str, int]
    groups: int
    trial: Trial

    def drawn(self, columns: tuple[str, ...]) -> Trial:
        """Return the trial with a shape that says how strong its masks were, for the map's words."""
        shape = replace(
            self.trial.shape, relative=tuple(self.steps.get(name, 0) for name in columns), groups=self.groups
        )
        return replace(self.trial, shape=shape)


class Shelf:
    """The trials of one file: on disk, and those that were seen in this session in the order of the map."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._seen: dict[str, Tried] = {}

    def __len__(self) -> int:
        return len(self._seen)

    @property
    def _written(self) -> Path | None:
        """Where trials are on disk; None where they are not, as when somebody deletes the folder in mid-session."""
        return self._path if self._path is not None and self._path.parent.is_dir() else None

    def find(self, config: Config, *, steps: Mapping[str, int], groups: int, draws: int = EXPLORED) -> Tried | None:
        """Return the trial of a config, if it has been made, now or in an earlier session."""
        mark = fingerprint(config)
        if mark in self._seen:
            return self._seen[mark]
        if (path := self._written) is None:
            return None
        journal = Journal(path)
        try:
            found = journal.find([mark, draws])
        finally:
            journal.close()
        return None if found is None else self._shown(Tried(mark, dict(steps), groups, Trial.of(found)))

    def keep(
        self, config: Config, found: Mapping[str, Any], *, steps: Mapping[str, int], groups: int, draws: int = EXPLORED
    ) -> Tried:
        """Write a trial down."""
        mark = fingerprint(config)
        trial = Trial.of(found)
        if (path := self._written) is not None and not trial.problem:
            journal = Journal(path)
            try:
                journal.keep([mark, draws], found)
            finally:
                journal.close()
        return self._shown(Tried(mark, dict(steps), groups, trial))

    def _shown(self, tried: Tried) -> Tried:
        self._seen[tried.mark] = tried
        while len(self._seen) > MOST_SHOWN:
            self._seen.pop(next(iter(self._seen)))
        return tried

    def all(self) -> list[Tried]:
        """Return the trials of this session that came to something."""
        return [one for one in self._seen.values() if math.isfinite(one.trial.ratio) and math.isfinite(one.trial.use)]
