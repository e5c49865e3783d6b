"""The desk: what is open, what was found out about it, and what the worker is asked; the page only shows it."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from synthdp.config import Config, parse
from synthdp.errors import InputError, SynthdpError
from synthdp.explore import masks, writing
from synthdp.explore.opening import LARGE, Opened
from synthdp.explore.session import Session
from synthdp.explore.trials import Shelf, Tried, fingerprint
from synthdp.explore.unique import Counter
from synthdp.explore.working import Checked, Job, Judgement
from synthdp.explore.workshop import Order, Workshop
from synthdp.stages.intake import prepare
from synthdp.table.microdata import Microdata
from synthdp.tuning.search import EXPLORED

AROUND = (-4, -2, 2, 4)


class Desk:
    """One session with its worker.

    Parameters
    ----------
    session
        What is open.
    home
        Where runs go: a new folder each.
    """

    def __init__(self, session: Session, *, home: Path = Path("synthdp-out")) -> None:
        self.session, self.home = session, home
        self.workshop = Workshop()
        self.shelf = Shelf(None)
        self.said = ""
        self.checked: tuple[str, Checked] | None = None
        self.judgement: tuple[str, Judgement] | None = None
        self.ran: tuple[Path, str, bool] | None = None
        self.cut: Path | None = None
        self.written: tuple[Path, str] | None = None
        self._data: tuple[str, Microdata | InputError] | None = None
        self._counter: tuple[Microdata, Counter] | None = None
        self._checking = ""

    def open(self, path: Path) -> None:
        """Open a file or a folder, and forget what was found out about the last file."""
        before = self.session.opened
        self.session.open(path)
        found = self.session.opened
        if found is None or found is before:
            return
        self.workshop.stop()
        self.shelf = Shelf(self.session.journal)
        self.checked = self.judgement = self.ran = self.cut = self.written = self._data = self._counter = None
        self._checking = ""
        if found.glanced:
            job = Job("look", path=found.config.data.path)
            self.workshop.ask(Order(job, "Guessing the config", self._looked, self._not_looked, "look"))

    def _looked(self, found: Opened) -> None:
        self.session.looked_closer(found)
        self.said = "The config was guessed from all records, as init does."

    def _not_looked(self, sentence: str) -> None:
        self.session.looked_closer(None)
        self.said = f"{sentence} Nothing was guessed: say of every column what is to happen to it."

    def data(self) -> Microdata:
        """Return the records as the config declares them.

        Raises
        ------
        InputError
            When the config does not fit them.
        """
        config, here = self.session.config, self.session.opened
        assert here is not None
        key = config.model_dump_json(include={"data": True, "variables": True, "constraints": True})
        if self._data is None or self._data[0] != key:
            found: Microdata | InputError
            try:
                found = prepare(here.table.frame, config, unread=here.table.unread)
            except InputError as error:
                found = error
            self._data = (key, found)
        if isinstance(self._data[1], InputError):
            raise self._data[1]
        return self._data[1]

    def counter(self) -> Counter:
        """Return what counts unique records; columns of one file are coded once."""
        data = self.data()
        if self._counter is None or self._counter[0] is not data:
            self._counter = (data, Counter(data))
        return self._counter[1]

    def now(self) -> Tried | None:
        """Return the trial of the settings as they are, if it has been made."""
        config, data = self.session.config, self.data()
        steps, groups = masks.steps_of(config, data)
        return self.shelf.find(self.session.config, steps=steps, groups=groups) if steps or config.masks else None

    def slide(self, kind: str, place: int, step: int) -> None:
        """Move a slider, and ask for the trial of where it stands unless that is known."""
        config, data = self.session.config, self.data()
        mine, theirs = masks.sliders(config, data)
        if kind == "mask":
            self.session.take(masks.moved(config, data, mine[place].name, step))
        else:
            self.session.take(masks.protected(config, data, theirs[place].name, step))
        if self.now() is None:
            self.ask_trial()

    def ask_trial(self) -> None:
        """Ask the worker for the trial of the settings as they are."""
        self._trial(self.session.config, "These settings", place="trial")

    def ask_around(self) -> None:
        """Ask for trials of all masks weaker and stronger, so that the map shows which way to go."""
        data = self.data()
        for by in AROUND:
            config = self.session.config
            self._trial(parse(masks.shifted(config, data, by)), f"All masks {by / 2:+g} octaves", place=f"around{by}")

    def _trial(self, config: Config, label: str, *, place: str) -> None:
        steps, groups = masks.steps_of(config, self.data())
        shelf = self.shelf
        if shelf.find(config, steps=steps, groups=groups) is not None:
            return

        def keep(found: Mapping[str, Any]) -> None:
            tried = shelf.keep(config, found, steps=steps, groups=groups)
            self.said = f"{label} could not be tried: {tried.trial.problem}" if tried.trial.problem else ""

        self._ask(Job("trial", config, seed=self.session.seed, draws=EXPLORED), label, keep, place=place)

    def ask_check(self, *, again: bool = False) -> None:
        """Ask what ``check`` says of the settings, and who stands out.

        Parameters
        ----------
        again
            Even if it has said something, such as that it was stopped.
        """
        config, shelf = self.session.config, self.shelf
        mark = fingerprint(config)
        if mark == self._checking or (self.checked is not None and self.checked[0] == mark and not again):
            return

        def keep(found: Checked) -> None:
            if self.shelf is shelf:  # and not another file's by now
                self.checked, self._checking = (mark, found), ""

        def refused(sentence: str) -> None:
            keep(Checked(tuple(sentence.splitlines()), (), ()))

        self._checking = mark
        self.workshop.ask(Order(Job("check", config), "Check", keep, refused, "check"))

    def ask_judge(self) -> None:
        """Ask what the gate would say of the settings."""
        config, shelf = self.session.config, self.shelf
        mark = fingerprint(config)

        def keep(found: Judgement) -> None:
            if self.shelf is not shelf:
                return
            self.judgement = (mark, found)
            self.said = "The verdict is there."

        self._ask(Job("judge", config, seed=self.session.seed), "Judging", keep, place="judge")

    def write(self, out: Path) -> Path:
        """Write the config where it is asked for."""
        here = self.session.opened
        assert here is not None
        with self.session.lock:
            found = writing.write(self.session.config, here, out, mine=self.written[0] if self.written else None)
            self.written = (found, fingerprint(self.session.config))
        return found

    def run(self, out: Path | None = None, *, resume: bool = False) -> Path:
        """Run the file that was written, as the command line does.

        Raises
        ------
        InputError
            When nothing was written, or the settings have changed since.
        """
        if self.written is None:
            raise InputError("Write the config first: what runs is the file.")
        path, mark = self.written
        if mark != fingerprint(self.session.config):
            raise InputError(f"The settings have changed since {path.name} was written; write it again.")
        folder = out if out is not None else self.home / time.strftime("%Y%m%d-%H%M%S")

        def keep(found: tuple[str, bool]) -> None:
            self.ran, self.cut = (folder, *found), None
            self.said = f"{found[0]}. Results: {folder}"

        def ended(sentence: str) -> None:
            self._tell(sentence)
            self.cut = folder if (folder / "confidential").is_dir() else None

        self._ask(Job("run", path=path, out=folder, resume=resume), "Run", keep, place="run", otherwise=ended)
        return folder

    def resume(self) -> None:
        """Go on with the run that was cut off."""
        if self.cut is None:
            raise InputError("No run of this session was cut off.")
        self.run(self.cut, resume=True)

    def show_run(self) -> None:
        """Open the folder of the last run."""
        if self.ran is None:
            raise InputError("No run of this session has ended yet.")
        self.session.open(self.ran[0])

    def undo(self) -> bool:
        """Take the last change back."""
        return self.session.undo()

    def add_masks(self) -> None:
        """Give every replaced column without a mask the usual one."""
        self.session.take(masks.masked_too(self.session.config, self.data()))

    def close(self) -> None:
        """End the worker and let go of the folder."""
        self.workshop.close()
        self.session.close()

    def _ask(
        self, job: Job, label: str, then: Any, *, place: str, otherwise: Callable[[str], None] | None = None
    ) -> None:
        self.said = ""
        self.workshop.ask(Order(job, label, then, otherwise or self._tell, place))

    def _tell(self, sentence: str) -> None:
        self.said = sentence

    def state(self) -> tuple[int, int]:
        """Return what changes whenever the page has something new to show."""
        return self.session.revision, self.workshop.news


def problem(desk: Desk) -> str:
    """Return why the config does not fit the file; empty where it does, or nothing is open, or asking takes a while."""
    here = desk.session.opened
    if here is None or here.glanced or len(here.table.frame) > LARGE:
        return ""
    try:
        desk.data()
    except SynthdpError as error:
        return str(error)
    return ""
