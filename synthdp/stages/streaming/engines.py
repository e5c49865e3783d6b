"""Whether a run streams, and where its work is done."""

from pathlib import Path

from synthdp.config import Config
from synthdp.engine import Engine, Local
from synthdp.errors import InputError
from synthdp.stages.streaming import reading
from synthdp.table.io import memory

# bytes that a run in memory takes for each value of the table: measured, 2.6 GB at a million records of 20 columns
PER_VALUE = 130
# what a run over shards may take where nothing is said
USUAL = 4e9


def streams(config: Config) -> bool:
    """Return whether the run streams: as the config says, or where the table would not fit into memory."""
    asked, path = getattr(config.engine, "streaming", True), config.data.path
    if asked is False and path.is_dir():
        raise InputError(f"{path}: a folder of files is read shard by shard only; leave out engine.streaming.")
    if asked is not None or path.is_dir():
        return asked is not False
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return False
    return needed(path) > (room(config) or float("inf"))


def needed(path: Path) -> float:
    """Return about how many bytes a run in memory would take."""
    records, schema = reading.sized(path)
    return float(PER_VALUE) * records * len(schema)


def room(config: Config) -> float | None:
    """Return how many bytes the run may take; None where nobody knows."""
    return config.engine.memory_bytes or memory.available()


def engine_of(config: Config, jobs: int) -> Engine:
    """Return the engine that the config asks for."""
    if config.engine.method != "local":
        raise InputError(f"engine.method: {config.engine.method} is not there yet; use local.")
    return Local(jobs)


def share(config: Config) -> float:
    """Return how many bytes a run over shards may take."""
    return float(config.engine.memory_bytes or min(USUAL, memory.available() or USUAL))
