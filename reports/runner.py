"""What every study shares.

Replications over processes, resumed where they were stopped, results as JSON, a page and a figure.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from synthdp import __version__
from synthdp.errors import InputError
from synthdp.table.microdata import Floats

BATCH = 50
CHUNK_OF_BATCH = 5
DRAWS = "draws.npz"


def replicate_in_batches(
    work: Callable[[int], Floats], replications: int, *, jobs: int, out: Path, label: str
) -> Iterator[Floats]:
    """Yield all results so far after every batch: ``work(0)``, ``work(1)``, ... one under the other.

    They are kept in ``out/draws.npz`` (not committed); a run that finds them there goes on after them.

    Parameters
    ----------
    label
        What the results depend on (seed, sizes): a file with another label is refused.

    Raises
    ------
    InputError
        When the file holds results of another run.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    out.mkdir(parents=True, exist_ok=True)
    (out / ".gitignore").write_text(f"{DRAWS}\n", encoding="utf-8")
    done = _kept(out / DRAWS, label)[:replications]
    if len(done) >= replications:
        yield np.asarray(done)
        return
    # not more than a batch at a time is handed out: a run that is stopped need not finish the rest
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        while len(done) < replications:
            last = min((len(done) // BATCH + 1) * BATCH, replications)
            done += pool.map(work, range(len(done), last), chunksize=CHUNK_OF_BATCH)
            _keep(out / DRAWS, label, np.asarray(done))
            yield np.asarray(done)


def _kept(path: Path, label: str) -> list[Floats]:
    if not path.exists():
        return []
    with np.load(path) as held:
        if str(held["label"]) != label:
            raise InputError(f"{path}: holds results of another run; remove it, or give another --out.")
        return list(held["draws"])


def _keep(path: Path, label: str, draws: Floats) -> None:
    beside = path.with_suffix(".part.npz")
    np.savez(beside, label=np.asarray(label), draws=draws)
    beside.replace(path)


T = TypeVar("T")
CHUNK = 10
SHARED = "SYNTHDP_SHARED_DATA"


def shared_data(data: Path | None = None) -> Path:
    """Return the folder of data sets that are not ours to pass on: ``data``, else what the environment says."""
    named = data or os.environ.get(SHARED)
    if not named:
        raise SystemExit(f"This study reads shared data sets: give their folder with --data, or set {SHARED}.")
    return Path(named)


def replicate(work: Callable[[int], T], replications: int, *, jobs: int, label: str) -> list[T]:
    """Run ``work(0) .. work(replications - 1)`` over processes, in order, with a progress bar."""
    from rich.progress import track

    # each process is one replication at a time: threads inside the matrix products would only compete
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if jobs == 1:
        return [work(r) for r in track(range(replications), description=label)]
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        results = pool.map(work, range(replications), chunksize=CHUNK)
        return list(track(results, description=label, total=replications))


def save(out: Path, *, study: str, settings: dict[str, Any], results: dict[str, Any], page: str, began: float) -> None:
    """Write results.json and README.md of a study, with the commit and the seed that made them."""
    out.mkdir(parents=True, exist_ok=True)
    record = {
        "study": study,
        "command": f"python -m reports {study}",
        "version": __version__,
        "commit": _commit(),
        "settings": settings,
        "seconds": round(time.perf_counter() - began, 1),
        "results": results,
    }
    (out / "results.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (out / "README.md").write_text(page.rstrip() + "\n", encoding="utf-8")


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _commit() -> str:
    try:
        found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        return found.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
