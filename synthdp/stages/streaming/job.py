"""The job of a streaming run: which records are in which shard, where its files are, and which are finished already.

A piece of work gets the job, a shard's number and perhaps a copy's; whatever else it needs is in the job's folder,
which only the owner may read. The seed is read from the manifest beside it, so that nothing secret travels.
"""

import os
import pickle
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from synthdp.errors import InputError
from synthdp.files import HIDDEN_FILE, write_atomic
from synthdp.release.manifest import read_manifest
from synthdp.seeding import Streams
from synthdp.table import io

Result = TypeVar("Result")
DONE = ".done"


@dataclass(frozen=True)
class Job:
    """Where the shards are.

    Parameters
    ----------
    folder
        ``confidential/work`` of the run.
    records
        Of the whole file.
    block
        Records of a block: ``seeding.BLOCK``, which workers need not share.
    each
        Blocks of a shard.
    """

    folder: Path
    records: int
    block: int
    each: int

    def __len__(self) -> int:
        return -(-self.blocks // self.each)

    @property
    def blocks(self) -> int:
        """How many blocks the file has."""
        return max(1, -(-self.records // self.block))

    def rows(self, shard: int) -> slice:
        """Return which records of the whole file a shard holds."""
        size = self.each * self.block
        return slice(shard * size, min((shard + 1) * size, self.records))

    def within(self, shard: int) -> Iterator[tuple[int, slice]]:
        """Yield the numbers of a shard's blocks, and which of the shard's records each holds."""
        rows = self.rows(shard)
        for start in range(rows.start, rows.stop, self.block):
            stop = min(start + self.block, rows.stop)
            yield start // self.block, slice(start - rows.start, stop - rows.start)

    def place(self, what: str, shard: int, ending: str = "arrow") -> Path:
        """Return the place of a shard's file."""
        return self.folder / what / f"{shard:05}.{ending}"

    def streams(self) -> Streams:
        """Return the streams of the run."""
        manifest = read_manifest(self.folder.parents[1])
        if manifest is None:
            raise InputError(f"{self.folder}: the manifest of the run is gone; start again with another --out.")
        return Streams(manifest.seed)

    def keep(self, name: str, contents: object) -> None:
        """Keep something that workers need, by name."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(self.folder / name, pickle.dumps(contents))

    def kept(self, name: str) -> Any:
        """Return what was kept."""
        path = self.folder / name
        return _kept(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _kept(path: Path, _changed: int) -> Any:
    # written by this run into a folder that only its owner may enter
    return pickle.loads(path.read_bytes())


def once(path: Path, make: Callable[[Path], Result]) -> Result:
    """Return what comes of making a file; one that was finished before, and is as it was, is not made again.

    Parameters
    ----------
    make
        Writes the file where it is told to, and returns something small that can be pickled.
    """
    note = path.with_name(path.name + DONE)
    found = finished(path)
    if found is not None:
        result: Result = found[0]
        return result
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    hidden = path.with_name(f"{HIDDEN_FILE}{secrets.token_hex(8)}")
    try:
        result = make(hidden)
        os.replace(hidden, path)
    finally:
        hidden.unlink(missing_ok=True)
    write_atomic(note, pickle.dumps((io.digest(path), result)))
    return result


def finished(path: Path) -> tuple[Any] | None:
    """Return what came of making a file, or None where it is not there as it was made."""
    note = path.with_name(path.name + DONE)
    try:
        digest, result = pickle.loads(note.read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError, ValueError):
        return None
    return (result,) if path.is_file() and io.digest(path) == digest else None
