"""Files that appear whole or not at all, and that one writer at a time may change.

The folder of a run, atomic writes, and a small JSON file that survives two writers at once and ``kill -9``.

Writers take a lock (``flock`` on a file beside it), which is the kernel's and goes when its process dies. A new version
is written beside the old one, forced to the disk and renamed, so a reader finds the old or the new one, whole. A
checksum inside tells a damaged file from a good one.

Only its owner may read the file (0600; one with wider permissions is tightened when it is next opened), and no link is
followed: whoever may write into the folder could otherwise make the owner overwrite, or show, another file.
"""

import errno
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from synthdp.errors import BROKEN, InputError, SynthdpError, Unfinished

LOCK = ".lock"
PUBLIC = "public"
CONFIDENTIAL = "confidential"
HIDDEN_PUBLIC = ".public-"
HIDDEN_FILE = ".writing-"
OWNER_ONLY = 0o600
PAUSE = 0.01
"""Seconds between two tries of a lock."""
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def prepare_out(out: Path, *, resume: bool, known: Collection[str] = ()) -> Iterator[Path]:
    """Hold the folder of a run: made if absent, locked, cleared of what a killed run left half done.

    Parameters
    ----------
    out
        The folder of the run.
    resume
        Whether the folder may hold an interrupted run. Without it a non-empty folder is refused.
    known
        What an interrupted run may have left there, beside the folders of a release.

    Raises
    ------
    InputError
        When the folder cannot be used: not empty, in use by another run, no permission, not a folder.
    Unfinished
        When the disk fills up while the folder is held.
    """
    with _full_disk(out):
        try:
            out.mkdir(parents=True, exist_ok=True)
            if not (out / LOCK).exists():  # a folder that is not ours is left untouched
                _refuse_foreign(out, resume=resume, known=known)
            lock = hold(out / LOCK, patience=0, busy=partial(_in_use, out))
        except (FileExistsError, NotADirectoryError):
            raise InputError(f"{out}: must be a folder, found a file; choose another --out.") from None
        except PermissionError:
            raise InputError(f"{out}: no permission to write there; choose another --out.") from None
        except OSError as error:
            if error.errno in DISK_FULL:
                raise
            raise InputError(f"{out}: the folder cannot be made; choose another --out.") from None
        try:
            _refuse_foreign(out, resume=resume, known=known)
            _clear_leftovers(out)
            yield out
        finally:
            (out / LOCK).unlink(missing_ok=True)
            os.close(lock)


def hold(path: Path, *, patience: float, busy: Callable[[], object]) -> int:
    """Return the descriptor of a lock that is held until it is closed.

    Parameters
    ----------
    path
        The file of the lock, made if absent.
    patience, busy
        What is called once, after so many seconds in which another process held the lock: it raises to give up, or
        returns to wait on.
    """
    until, told = time.monotonic() + patience, False
    while True:
        descriptor = open_owned(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            if not isinstance(error, BlockingIOError):
                raise
            if not told and time.monotonic() >= until:
                told = True
                busy()
            time.sleep(PAUSE)
            continue
        # whoever held it may have removed the file we locked; a lock on a nameless file protects nothing
        with suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return descriptor
        os.close(descriptor)


def open_owned(path: Path, flags: int) -> int:
    """Return the descriptor of a file that only its owner may read, and no link (ELOOP), pipe or device (EINVAL)."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, OWNER_ONLY)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "no regular file")
        if stat.S_IMODE(found.st_mode) & ~OWNER_ONLY:
            with suppress(PermissionError):  # another's file, which we may only read
                os.fchmod(descriptor, OWNER_ONLY)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def write_atomic(path: Path, data: bytes, *, mode: int = OWNER_ONLY, beside: Path | None = None) -> None:
    """Write a file so that it is there whole or not at all, also after a power cut.

    Parameters
    ----------
    path
        Where the file goes; an older file there is replaced.
    data
        Its bytes.
    mode
        Permissions; by default only the owner may read it.
    beside
        The name under which it is written first; by default a new one. Who holds a lock may give a fixed one: what a
        killed writer left there, or a link, is removed.
    """
    hidden = beside or path.with_name(f"{HIDDEN_FILE}{secrets.token_hex(4)}")
    try:
        hidden.unlink(missing_ok=True)
        write_through(hidden, data, mode=mode)
        hidden.rename(path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_through(path: Path, data: bytes, *, mode: int) -> None:
    """Write a new file down to the disk."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Write a folder's list of names down to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _full_disk(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in DISK_FULL:
            raise
        with suppress(OSError):
            _clear_leftovers(out)
        raise Unfinished(
            f"{out}: the disk is full (or a file may not grow further); free some space and continue with --resume."
        ) from None


def _refuse_foreign(out: Path, *, resume: bool, known: Collection[str]) -> None:
    held = {path.name for path in out.iterdir()} - {LOCK}
    if not resume and held:
        raise InputError(
            f"{out}: the folder is not empty; choose another --out, or continue an interrupted run with --resume."
        )
    ours = (HIDDEN_PUBLIC, HIDDEN_FILE)
    foreign = [name for name in held - {PUBLIC, CONFIDENTIAL, *known} if not name.startswith(ours)]
    if foreign:
        raise InputError(f"{out}: --resume needs the folder of an interrupted run, found {len(foreign)} other files.")


def _in_use(out: Path) -> NoReturn:
    raise InputError(f"{out}: another run is writing into this folder; wait for it, or choose another --out.")


def _clear_leftovers(out: Path) -> None:
    for folder in out.glob(f"{HIDDEN_PUBLIC}*"):
        shutil.rmtree(folder, ignore_errors=True)
    for folder in (out, out / CONFIDENTIAL):
        for file in folder.glob(f"{HIDDEN_FILE}*"):
            file.unlink(missing_ok=True)


VERSION = 1


class KeptFile:
    """One checksummed JSON object in a file; ``noun`` is what messages call it."""

    def __init__(self, path: Path, noun: str, *, patience: float) -> None:
        self.path, self._noun, self._patience = path, noun, patience

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the file alone, or give up after the patience."""
        try:
            lock = hold(self.path.with_name(self.path.name + ".lock"), patience=self._patience, busy=self._busy)
        except OSError as error:
            raise self._refused(error, f"{self.path.name}: cannot be written here ({error.strerror}).") from error
        try:
            yield
        finally:
            os.close(lock)

    def damaged(self) -> InputError:
        """Return the error for a file that is not what was written."""
        return InputError(
            f"{self.path.name}: the {self._noun} is damaged; restore it from a backup, nothing is released without it."
        )

    def read(self) -> dict[str, Any]:
        """Return the object, or say in one sentence what is wrong with the file."""
        try:
            with open(open_owned(self.path, os.O_RDONLY), encoding="utf-8") as file:
                found = json.loads(file.read())
        except FileNotFoundError:
            raise InputError(f"{self.path.name}: there is no {self._noun} here; create one first.") from None
        except OSError as error:
            unread = f"{self.path.name}: the {self._noun} cannot be read ({error.strerror})."
            raise self._refused(error, unread) from error
        except (ValueError, RecursionError) as error:
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
        try:
            write_atomic(self.path, text.encode(), beside=self.path.with_name(self.path.name + ".new"))
        except OSError as error:
            raise Unfinished(f"{self.path.name}: the {self._noun} could not be written ({error.strerror}).") from error

    def _busy(self) -> NoReturn:
        raise Unfinished(f"{self.path.name}: another process holds the {self._noun}; try again when it is done.")

    def _refused(self, error: OSError, sentence: str) -> SynthdpError:
        """Return why the file is not opened; what the system cannot do is no mistake of the user's."""
        if error.errno == errno.ELOOP:
            return InputError(
                f"{self.path.name}: the {self._noun} is a link, and links are not followed; give the file itself."
            )
        if error.errno == errno.EINVAL:
            return InputError(f"{self.path.name}: the {self._noun} cannot be read (a folder, a pipe or a device).")
        return Unfinished(sentence) if error.errno in BROKEN else InputError(sentence)


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
