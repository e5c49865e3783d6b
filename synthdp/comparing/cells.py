"""One method with one seed: made, measured, and kept in a file of its own, so that a killed study goes on."""

import json
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from synthdp import __version__
from synthdp.comparing import asking
from synthdp.comparing.asking import Asked
from synthdp.comparing.fingerprints import joined, of_frame, of_function
from synthdp.comparing.laying import Scene, beside
from synthdp.comparing.lines import Line
from synthdp.comparing.methods import Contender, drawn
from synthdp.config import Config
from synthdp.errors import SynthdpError
from synthdp.files import write_atomic
from synthdp.parallel import one_blas_thread
from synthdp.seeding import Streams

CELLS = "cells"


@dataclass(frozen=True, repr=False)
class Found:
    """What came of one cell: its lines, what making the copies took, and what a reader should know."""

    method: str
    seed: int | None
    lines: tuple[Line, ...]
    seconds: float | None = None
    memory: float | None = None
    cautions: tuple[str, ...] = ()
    finished: bool = True

    def __repr__(self) -> str:
        return f"Found({self.method}, {len(self.lines)} lines)"


@dataclass(frozen=True, repr=False)
class Source:
    """Where the records of a cell come from: a table, or a simulator that draws one for every seed.

    Parameters
    ----------
    frame, holdout
        The table, and records that no method saw.
    simulator, n
        Or what draws both, and how many records.
    unread
        Dropped columns of the table's file, which the table does not have.
    cautions
        What to know of table and holdout, whatever the method.
    """

    config: Config
    frame: pd.DataFrame | None = None
    holdout: pd.DataFrame | None = None
    simulator: Callable[..., Any] | None = None
    n: int = 500
    unread: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    def key(self) -> Any:
        """Return a checksum of it."""
        if self.frame is None and self.simulator is not None:
            return [of_function(self.simulator), self.n]
        return [None if one is None else of_frame(one) for one in (self.frame, self.holdout)]

    def scene(self, seed: int | None) -> Scene:
        """Return the records of a seed, checked; those of a simulator are the same for all methods."""
        if self.simulator is None or self.frame is not None:
            frame = self.frame if self.frame is not None else pd.DataFrame()
            return Scene.of(self.config, frame, self.holdout, self.unread)
        streams = Streams(0 if seed is None else seed)
        frame = drawn(self.simulator, self.n, streams.generator("simulate"))
        outside = drawn(self.simulator, self.n, streams.generator("simulate", "holdout"))
        return Scene.of(self.config, frame, outside)


@dataclass(frozen=True, repr=False)
class Cells:
    """All that the cells of a study share; sent whole to the processes that work on them.

    Parameters
    ----------
    folder
        Where finished cells are kept; None to keep none.
    first
        The seed with which measures are taken that do not depend on the seed.
    shared
        The checksum of what all cells depend on.
    """

    source: Source
    asked: Asked
    folder: Path | None = None
    first: int | None = None
    shared: str = field(default="")

    def ready(self) -> "Cells":
        """Return the cells with the checksum of what they share: taken once, as the data may be large."""
        judged = self.source.config.model_dump(mode="json", exclude={"seed", "methods", "release", "engine"})
        return replace(self, shared=joined(__version__, self.source.key(), judged))

    def asked_of(self, one: Contender, seed: int | None) -> Asked:
        """Return what is asked of a cell."""
        return self.asked if seed == self.first or not one.repeats else self.asked.again()

    def path(self, one: Contender, seed: int | None) -> Path | None:
        """Return where a cell is kept: under a checksum, which says nothing of the data to whoever lists the folder."""
        if self.folder is None:
            return None
        return (
            self.folder / f"{joined(self.shared, self.asked_of(one, seed).key(), one.name, one.key(), seed)[:32]}.json"
        )

    def __call__(self, cell: tuple[Contender, int | None]) -> Found:
        """Return what a cell comes to: read where it is kept, else made, measured and kept."""
        one, seed = cell
        path = self.path(one, seed)
        if path is not None and (known := _read(path)) is not None:
            return known
        found = self._taken(one, seed)
        # what failed is tried again by whoever resumes: memory or time may have been short
        if path is not None and found.finished:
            write_atomic(path, json.dumps(asdict(found)).encode())
        return found

    def _taken(self, one: Contender, seed: int | None) -> Found:
        cautions = list(one.cautions())
        seconds = memory = None
        try:
            with one_blas_thread():
                scene = self.source.scene(seed)
                streams = Streams(0 if seed is None else seed).within("compare", one.name)
                started, spent = time.perf_counter(), Peak()
                with spent:
                    lay, making = beside(one, scene, streams)
                if one.repeats:
                    seconds, memory = time.perf_counter() - started, spent.megabytes
                files = lay()
                cautions += files.cautions
                lines = asking.take(self.asked_of(one, seed), scene, files, making)
        except SynthdpError as error:
            return self._failed(one, seed, " ".join(str(error).split("\n")), cautions)
        except (
            Exception
        ) as error:  # a function of the user's own may raise anything, and its message may quote the data
            return self._failed(one, seed, place(error), cautions)
        return Found(one.name, seed, tuple(lines), seconds, memory, tuple(dict.fromkeys(cautions)))

    def _failed(self, one: Contender, seed: int | None, why: str, cautions: list[str]) -> Found:
        lines = tuple(Line(name, reason=why) for name in self.asked_of(one, seed).names)
        return Found(one.name, seed, lines, cautions=tuple(dict.fromkeys(cautions)), finished=False)


def place(error: Exception) -> str:
    """Return what went wrong and where, without the error's own message, which may quote the data."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {last.name}, line {last.lineno} of {Path(last.filename).name}"


def _read(path: Path) -> Found | None:
    """Return a finished cell; None where there is none, or it is damaged."""
    try:
        told: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        lines = tuple(Line(**line) for line in told["lines"])
        return Found(**{**told, "lines": lines, "cautions": tuple(told["cautions"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


class Peak:
    """The most memory that was used while it lasted, beyond what was used before; None where the system does not say.

    Linux alone can be asked: it forgets the peak so far when told to, and then remembers the next one.
    """

    megabytes: float | None = None

    def __enter__(self) -> "Peak":
        self._before: float | None = None
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
            self._before = _status("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        peak = _status("VmHWM") if self._before is not None else None
        if peak is not None and self._before is not None:
            self.megabytes = max(0.0, peak - self._before)


def _status(name: str) -> float | None:
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:")), None)
    return None


@contextmanager
def kept(folder: Path | None) -> Iterator[Path | None]:
    """Make the folder of the cells, without what a killed study left half written."""
    if folder is None:
        yield None
        return
    cells = folder / CELLS
    cells.mkdir(mode=0o700, exist_ok=True)
    for left in cells.glob(".*"):
        left.unlink(missing_ok=True)
    yield cells
