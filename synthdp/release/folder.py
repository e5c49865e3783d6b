"""The folder of one run: nobody else writes into it, and what appears in it is complete."""

import errno
import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from synthdp.errors import InputError, Unfinished

LOCK = ".lock"
PUBLIC = "public"
CONFIDENTIAL = "confidential"
HIDDEN_PUBLIC = ".public-"
HIDDEN_FILE = ".writing-"
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def prepare_out(out: Path, *, resume: bool) -> Iterator[Path]:
    """Hold the folder of a run: made if absent, locked, cleared of what a killed run left half done.

    Parameters
    ----------
    out
        The folder of the run.
    resume
        Whether the folder may hold an interrupted run. Without it a non-empty folder is refused.

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
                _refuse_foreign(out, resume=resume)
            lock = _lock(out)
        except (FileExistsError, NotADirectoryError):
            raise InputError(f"{out}: must be a folder, found a file; choose another --out.") from None
        except PermissionError:
            raise InputError(f"{out}: no permission to write there; choose another --out.") from None
        except OSError as error:
            if error.errno in DISK_FULL:
                raise
            raise InputError(f"{out}: the folder cannot be made; choose another --out.") from None
        try:
            _refuse_foreign(out, resume=resume)
            _clear_leftovers(out)
            yield out
        finally:
            (out / LOCK).unlink(missing_ok=True)
            os.close(lock)


def write_atomic(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file so that it is there whole or not at all, also after a power cut.

    Parameters
    ----------
    path
        Where the file goes; an older file there is replaced.
    data
        Its bytes.
    mode
        Permissions; by default only the owner may read it.
    """
    hidden = path.with_name(f"{HIDDEN_FILE}{secrets.token_hex(4)}")
    try:
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


def _refuse_foreign(out: Path, *, resume: bool) -> None:
    held = {path.name for path in out.iterdir()} - {LOCK}
    if not resume and held:
        raise InputError(
            f"{out}: the folder is not empty; choose another --out, or continue an interrupted run with --resume."
        )
    foreign = [name for name in held - {PUBLIC, CONFIDENTIAL} if not name.startswith(HIDDEN_PUBLIC)]
    if foreign:
        raise InputError(f"{out}: --resume needs the folder of an interrupted run, found {len(foreign)} other files.")


def _lock(out: Path) -> int:
    path = out / LOCK
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise InputError(
                f"{out}: another run is writing into this folder; wait for it, or choose another --out."
            ) from None
        # a run that just ended may have removed the file we locked; a lock on a nameless file protects nothing
        with suppress(FileNotFoundError):
            if os.fstat(descriptor).st_ino == path.stat().st_ino:
                return descriptor
        os.close(descriptor)


def _clear_leftovers(out: Path) -> None:
    for folder in out.glob(f"{HIDDEN_PUBLIC}*"):
        shutil.rmtree(folder, ignore_errors=True)
    for file in (out / CONFIDENTIAL).glob(f"{HIDDEN_FILE}*"):
        file.unlink(missing_ok=True)
