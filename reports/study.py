"""What every study shares: cells over processes, resumed where they were stopped, results as JSON, and a page.

A study is a list of cells: one replication, one verdict, one method on one file. Each finished cell is a line of a
JSONL file in the study's folder, written at once, so that a run that was stopped goes on after the last whole line. To
see what a stopped run has so far, ask for as many replications as it has finished.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from reports.cells import Cell, Line, computed, draws, key_of
from synthdp import __version__
from synthdp.errors import InputError
from synthdp.table.microdata import Floats

SHARED = "SYNTHDP_SHARED_DATA"
PEER_FILES = "SYNTHDP_PEER_FILES"
"""The variable that names the folder of files made by other tools, where a study reads them."""
KEPT = "cells.jsonl"
RESULTS = "results.json"
Results = dict[str, Any]
Cells = Callable[[int | None], Iterable[Cell]]


def counted(lines: Sequence[Line]) -> Results:
    """Return the number of cells as the number of replications."""
    return {"replications": len(lines)}


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study: what is computed cell by cell, what is made of it, and how it is told.

    Parameters
    ----------
    name
        The folder under reports/.
    cells
        All cells, in the order in which they are computed, given how many replications are asked for; each one the
        keyword arguments of ``work``.
    work
        Returns what one cell finds: a mapping with names of its own, or anything else that JSON or an array can hold.
    results
        What all lines (cells with what they found) come to.
    page
        The README.md, from results and settings.
    settings
        What cells depend on beside their own arguments (seed, sizes); lines made with others are refused.
    counts
        Settings that are known from the lines.
    draw
        Writes figures of the results into a folder.
    reads_data
        Whether ``work`` takes ``data``, the folder of shared data sets.
    committed
        Name of the file of lines where it is committed; its lines are then all reported, whatever was asked for.
    """

    name: str
    cells: Cells
    work: Callable[..., Any]
    results: Callable[[list[Line]], Results]
    page: Callable[[Results, Results], str]
    settings: Results = field(default_factory=dict)
    counts: Callable[[list[Line]], Results] = counted
    draw: Callable[[Results, Path], None] | None = None
    reads_data: bool = False
    committed: str | None = None

    def run(self, *, out: Path, replications: int | None = None, jobs: int = 2, data: Path | None = None) -> Results:
        """Compute the cells that are not finished yet; write results, figures and page, and return the results."""
        began = time.perf_counter()
        work = partial(self.work, data=shared_data(data)) if self.reads_data else self.work
        out.mkdir(parents=True, exist_ok=True)
        asked = list(self.cells(replications))
        key = key_of(asked)
        with self._file(out).open("a+b") as file:
            finished = {key(line): line for line in self._lines(file)}
            todo = [cell for cell in asked if key(cell) not in finished]
            for cell, found in computed(work, todo, jobs=jobs, label=self.name):
                line = cell | (found if isinstance(found, dict) else {"found": found})
                text = json.dumps(line, default=lambda value: value.tolist())
                file.write(text.encode() + b"\n")
                file.flush()
                finished[key(cell)] = json.loads(text)
        lines = list(finished.values()) if self.committed else [finished[key(cell)] for cell in asked]
        results = self.results(lines)
        record = {
            "study": self.name,
            "command": f"python -m reports {self.name}" + " --data DIR" * self.reads_data,
            "version": __version__,
            "commit": commit(),
            "settings": self.settings | self.counts(lines),
            "seconds": round(time.perf_counter() - began, 1),
            "cells_of_earlier_runs": len(asked) - len(todo),
            "results": results,
        }
        self._write(out, record)
        return results

    def rewrite(self, out: Path) -> None:
        """Write page and figures again from the results in a folder, and those from its lines where they are kept."""
        record = json.loads((out / RESULTS).read_text(encoding="utf-8"))
        if self.committed:
            key = key_of(self.cells(None))
            with self._file(out).open("rb") as file:
                lines = list({key(line): line for line in self._lines(file)}.values())
            record |= {"settings": self.settings | self.counts(lines), "results": self.results(lines)}
        self._write(out, record)

    def _write(self, out: Path, record: Results) -> None:
        (out / RESULTS).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        page = self.page(record["results"], record["settings"])
        (out / "README.md").write_text(page.rstrip() + "\n", encoding="utf-8")
        if self.draw is not None:
            self.draw(record["results"], out)

    def _file(self, out: Path) -> Path:
        return out / (self.committed or KEPT)

    def _lines(self, file: BinaryIO) -> list[Line]:
        """Return the finished lines; half a line, left by a run that was killed, is cut off if the file is writable."""
        file.seek(0)
        whole, _, half = file.read().rpartition(b"\n")
        if half and file.writable():
            file.truncate(len(whole) + bool(whole))
        lines = [json.loads(line) for line in whole.splitlines()]
        if self.committed:
            return lines
        if not lines and file.writable():
            file.write(json.dumps({"settings": self.settings}).encode() + b"\n")
        elif lines and lines[0] != json.loads(json.dumps({"settings": self.settings})):
            raise InputError(f"{file.name}: holds results of another run; remove it, or give another --out.")
        return lines[1:]


def replicated(
    name: str,
    count: int,
    once: Callable[..., Any],
    summarise: Callable[[Floats], Any],
    page: Callable[[Results, Results], str],
    *,
    seed: int,
    draw: Callable[[Results, Path], None] | None = None,
    **settings: Any,
) -> Study:
    """Return a study of ``once(r, seed=seed)`` r = 0, 1, ...; a list that ``summarise`` returns becomes its rows."""

    def results(lines: list[Line]) -> Results:
        found = summarise(draws(lines))
        return found if isinstance(found, dict) else {"rows": found}

    return Study(
        name=name,
        cells=lambda asked: ({"r": r} for r in range(asked or count)),
        work=partial(once, seed=seed),
        results=results,
        page=page,
        settings={**settings, "seed": seed},
        draw=draw,
    )


def shared_data(data: Path | None = None) -> Path:
    """Return the folder of data sets that are not ours to pass on: ``data``, else what the environment says."""
    named = data or os.environ.get(SHARED)
    if not named:
        raise SystemExit(f"This study reads shared data sets: give their folder with --data, or set {SHARED}.")
    return Path(named)


def shared_file(data: Path, name: str) -> Path:
    """Return the path of a file in that folder, or say that it is not there."""
    if not (data / name).exists():
        raise InputError(f"{data / name}: no such file; say where the shared data are with --data.")
    return data / name


def commit() -> str:
    """Return the commit of the code, in short."""
    try:
        found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        return found.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
