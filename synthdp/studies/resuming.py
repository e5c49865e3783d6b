"""Long studies: replications in batches, kept in a file, so that a run can be stopped and taken up again."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from synthdp.errors import InputError
from synthdp.microdata import Floats

BATCH = 50
CHUNK = 5
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
            done += pool.map(work, range(len(done), last), chunksize=CHUNK)
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
