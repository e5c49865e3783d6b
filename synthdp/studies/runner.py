"""What every study shares: replications over processes, results as JSON, a page and a figure."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from synthdp import __version__

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
        "command": f"python -m synthdp.studies {study}",
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
