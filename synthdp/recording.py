"""Where releases and attempts are recorded, and what a run says of its own."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from synthdp.config import Config
from synthdp.evaluation.gate import Verdict
from synthdp.release import attempts
from synthdp.release.held import Held
from synthdp.release.register import NAME, Register

NONE = "none"
VARIABLE = "SYNTHDP_REGISTER"


@contextmanager
def holding(
    register: Register | None, frame: pd.DataFrame, waiting: Callable[[str], None] | None
) -> Iterator[Held | None]:
    """Hold the data from looking for earlier releases to recording this one; None where no register is kept."""
    if register is None:
        yield None
        return
    with register.session(frame, waiting=waiting) as held:
        yield held


class Attempts:
    """The attempt of one run, beside all others on the same data.

    It is written down as interrupted before any work is done, so that a run that is killed leaves a trace too.
    """

    def __init__(self, held: Held | None, run: str, config: str) -> None:
        self._held, self._run, self._config = held, run, config
        if held is not None:
            held.attempt(run, verdict="interrupted", config=config)

    def end(self, verdict: Verdict | Literal["study"]) -> dict[str, Any]:
        """Write down how the attempt ended; return what ``gate`` says of it."""
        if isinstance(verdict, str):
            return self._end(verdict, (), ())
        refused = {one.name for one in verdict.checks if not one.passed and one.accepted is None}
        accepted = {one.name for one in verdict.checks if one.accepted is not None}
        return self._end(verdict.judgement, sorted(refused), sorted(accepted))

    def leak(self) -> dict[str, Any]:
        """Write down that the scan for leaks stopped it."""
        return self._end("refused", ["leak"], ())

    def section(self) -> dict[str, Any]:
        """Return what the manifest says of the attempts."""
        return section(self._held)

    def _end(self, verdict: Any, reasons: Any, accepted: Any) -> dict[str, Any]:
        if self._held is None:
            return {"attempt": None, "attempts": attempts.lines(None)}
        self._held.attempt(self._run, verdict=verdict, config=self._config, reasons=reasons, accepted=accepted)
        found = self._held.attempts()
        return {"attempt": len(found), "attempts": attempts.lines(found)}


def section(held: Held | None) -> dict[str, Any]:
    """Return what a manifest says of the attempts on the data that are held."""
    return attempts.section(held.attempts() if held is not None else None)


def register_of(config: Config, out: Path) -> tuple[Register | None, tuple[str, ...]]:
    """Return the register of releases, and what a person should know of where it is.

    The config says where, else the environment variable ``SYNTHDP_REGISTER`` (one place for a whole agency). Without
    either it lies beside the data; where nothing may be written there, beside the folder of the run.
    """
    chosen = config.release.recorded_in or os.environ.get(VARIABLE)
    if chosen is not None:
        return (None if chosen == NONE else Register(Path(chosen))), ()
    home = config.data.path.resolve().parent
    if os.access(home, os.W_OK):
        return Register(home / NAME), ()
    beside_run = out.resolve().parent / NAME
    caution = (
        "The folder of the data cannot be written to, so this release is recorded beside the folder of the run: a "
        "release made elsewhere is not judged together with it. Name one place for all releases in release.recorded_in."
    )
    return Register(beside_run), (caution,)
