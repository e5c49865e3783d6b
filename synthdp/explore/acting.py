"""What a person does on the page, as one word with its places: ``column|role|3``, ``slide|mask|0``, ``press|run|``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from synthdp.errors import InputError, SynthdpError
from synthdp.explore import columns, touring
from synthdp.explore.desk import Desk
from synthdp.explore.folders import Asked


@dataclass
class Hand:
    """Does what is asked on a desk, and remembers what the page shows.

    Parameters
    ----------
    desk
        What is open.
    asked
        What of an opened folder is shown.
    chosen
        The columns on which records are counted; None where nobody has chosen yet.
    single
        Whether single records are shown.
    step
        Of the tour; 0 outside of it.
    go
        The view that the page should turn to; empty where it should stay.
    refused
        How often something was refused: the page then shows again what holds, rather than what was asked for.
    """

    desk: Desk
    asked: Asked = field(default_factory=Asked)
    chosen: tuple[str, ...] | None = None
    single: bool = False
    step: int = 0
    go: str = ""
    refused: int = 0

    def act(self, about: str, value: str) -> str:
        """Do one thing; return a sentence where there is something to say."""
        self.go = ""
        kind, word, place = [*about.split("|", 2), "", ""][:3]
        try:
            if kind == "column":
                columns.changed(self.desk.session, about, value)
            elif kind == "slide":
                self.desk.slide(word, int(place), int(float(value)))
            elif kind == "axis":
                self.asked = replace(self.asked, chosen=None, **{word: value})
            elif kind == "press":
                return self._pressed(word, place, value)
            else:
                raise InputError("The page asks for something that there is not; load it again.")
        except (ValueError, IndexError, KeyError):
            self.refused += 1
            return "That could not be read; load the page again."
        except SynthdpError as error:
            self.refused += 1
            return str(error)
        return ""

    def _pressed(self, word: str, place: str, value: str) -> str:
        desk = self.desk
        plain: Mapping[str, Callable[[], object]] = {
            "try": desk.ask_trial,
            "around": desk.ask_around,
            "judge": desk.ask_judge,
            "masks": desk.add_masks,
            "run": desk.run,
            "resume": desk.resume,
            "check": lambda: desk.ask_check(again=True),
        }
        if word in plain:
            plain[word]()
            return ""
        if word == "undo":
            return "" if desk.undo() else "There is nothing to take back."
        if word == "stop":
            desk.workshop.stop()
            return "Stopped."
        if word == "write":
            return f"Written: {desk.write(self._path(value))}"
        if word == "open":
            return self._opened(self._path(value))
        if word == "ended":
            desk.show_run()
            self.go = "open"
        elif word == "single":
            self.single = not self.single
        elif word == "words":
            self.asked = replace(self.asked, words=value, chosen=None)
        elif word == "tour":
            self.step = 0 if place == "skip" or self.step >= len(touring.STEPS) else self.step + 1
            self.go = touring.view_of(self.step) or ""
        return ""

    def _opened(self, path: Path) -> str:
        before = self.desk.session.opened
        self.asked = Asked()
        self.desk.open(path)
        if self.desk.session.opened is not before:
            self.go, self.single, self.chosen = "columns", False, None
        return f"Open: {path.name}"

    @staticmethod
    def _path(value: str) -> Path:
        if not value.strip() or "\0" in value:
            raise InputError("Name a file by its path.")
        return Path(value.strip()).expanduser()
