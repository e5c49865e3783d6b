"""A small JSON file that survives two writers at once and ``kill -9``.

Writers take a lock (``flock`` on a file beside it), which is the kernel's and goes when its process dies. A new version
is written beside the old one, forced to the disk and renamed, so a reader finds the old or the new one, whole. A
checksum inside tells a damaged file from a good one.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from synthdp.errors import InputError, Unfinished

VERSION = 1


class KeptFile:
    """One checksummed JSON object in a file; ``noun`` is what messages call it."""

    def __init__(self, path: Path, noun: str, *, patience: float) -> None:
        self.path, self._noun, self._patience = path, noun, patience

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the file alone, or give up after the patience."""
        lock = self.path.with_name(self.path.name + ".lock")
        try:
            file = lock.open("a")
        except OSError as error:
            raise InputError(f"{self.path.name}: cannot be written here ({error.strerror}).") from error
        with file:
            until = time.monotonic() + self._patience
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= until:
                        raise Unfinished(
                            f"{self.path.name}: another process holds the {self._noun}; try again when it is done."
                        ) from None
                    time.sleep(0.01)
            yield

    def damaged(self) -> InputError:
        """Return the error for a file that is not what was written."""
        return InputError(
            f"{self.path.name}: the {self._noun} is damaged; restore it from a backup, nothing is released without it."
        )

    def read(self) -> dict[str, Any]:
        """Return the object, or say in one sentence what is wrong with the file."""
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"{self.path.name}: there is no {self._noun} here; create one first.") from None
        except OSError as error:
            raise InputError(f"{self.path.name}: the {self._noun} cannot be read ({error.strerror}).") from error
        except ValueError as error:
            raise self.damaged() from error
        if not isinstance(found, dict) or not {"version", "content", "sha256"} <= found.keys():
            raise self.damaged()
        if found["version"] != VERSION:
            raise InputError(
                f"{self.path.name}: {self._noun} of version {found['version']}, this program reads version {VERSION}."
            )
        if not isinstance(found["content"], dict) or found["sha256"] != _checksum(found["content"]):
            raise self.damaged()
        return found["content"]

    def write(self, content: dict[str, Any]) -> None:
        """Write beside, force to disk, rename, force the rename; the caller holds the file."""
        text = json.dumps({"version": VERSION, "content": content, "sha256": _checksum(content)}, indent=1)
        beside = self.path.with_name(self.path.name + ".new")
        try:
            with beside.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise Unfinished(f"{self.path.name}: the {self._noun} could not be written ({error.strerror}).") from error


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
