"""Which engine a run gets: the one that is asked for, or the one on which the table fits."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from synthdp.config import Config
from synthdp.config.engine import Dask
from synthdp.engine import Engine, Local
from synthdp.engine.dask import cluster
from synthdp.errors import InputError
from synthdp.stages import cost
from synthdp.stages.streaming import refusing
from synthdp.table.io import memory

SHARE = 0.9
"""Of the memory that is there, what a run may count on: others use it too."""
USUAL = 4e9
"""Bytes for each process of a streamed run where nobody says how many: more would not make it faster."""
WORKERS = 2


@dataclass(frozen=True)
class Choice:
    """How a run goes about its table.

    Parameters
    ----------
    streaming
        Whether the table stays on disk.
    sentence
        Why, where nobody has asked for it; else empty.
    """

    streaming: bool
    sentence: str = ""


@dataclass(frozen=True)
class Opened:
    """An engine that is ready.

    Parameters
    ----------
    jobs
        Pieces of work that it does at a time.
    memory
        Bytes that all of them together may take on one machine.
    """

    engine: Engine
    jobs: int
    memory: float


def choose(config: Config) -> Choice:
    """Return whether the table is streamed, and why: told from the file's metadata, nothing is read.

    Raises
    ------
    InputError
        When a folder of files is to be read into memory.
    """
    engine, path = config.engine, config.data.path
    asked = True if isinstance(engine, Dask) else engine.streaming
    folder = _is_folder(path)
    if asked is False and folder:
        raise InputError(f"{path}: a folder of files is read shard by shard only; leave out engine.streaming.")
    if asked is not None or folder:
        return Choice(asked is not False)
    try:
        work = cost.work_of(config)
    except (InputError, OSError):  # whoever reads the file says what is wrong with it
        return Choice(False)
    if work is None:
        return Choice(False)
    there = memory_there(config)
    needed = cost.in_memory(work).memory
    if there is None or needed <= there:
        return Choice(False)
    figures = (
        f"About {cost.amount(needed)} would be needed with the table in memory, and {cost.amount(there)} are there"
    )
    refused = refusing.refused(config)
    if refused:
        why = refused[0].removeprefix("streaming: ")
        return Choice(False, f"{figures}; it cannot stay on disk: {why}")
    return Choice(True, f"{figures}: the table stays on disk and is worked on shard by shard.")


def _is_folder(path: Path) -> bool:
    """Return whether the data are a folder of Parquet files; of another one whoever reads it says what is wrong."""
    try:
        return path.is_dir() and any(path.glob("*.parquet"))
    except OSError:
        return False


def memory_there(config: Config) -> float | None:
    """Return the bytes that a run may take on this machine; None where the system does not say."""
    if not isinstance(config.engine, Dask) and (asked := config.engine.memory_bytes) is not None:
        return float(asked)
    found = memory.available()
    return None if found is None else SHARE * found


@contextmanager
def opened(config: Config, folder: Path, *, jobs: int) -> Iterator[Opened]:
    """Hold the engine of a streamed run.

    Parameters
    ----------
    folder
        Of the job.
    jobs
        Processes of this machine, for ``local``.
    """
    settings = config.engine
    there = memory_there(config) or USUAL
    if not isinstance(settings, Dask):
        yield Opened(Local(jobs), jobs, there if settings.memory_bytes else min(there, USUAL))
        return
    workers = settings.workers or WORKERS
    tls = None if settings.tls is None else (settings.tls.ca, settings.tls.cert, settings.tls.key)
    held = cluster(folder, address=settings.address, tls=tls, workers=workers, memory=settings.memory_bytes)
    with held as engine:
        each = settings.memory_bytes or there / workers
        if settings.address is not None:
            workers, each = engine.size()
        yield Opened(engine, workers, min(each, USUAL) * workers)
