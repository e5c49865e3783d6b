"""Whether a table fits into memory: better a sentence before than a machine that swaps or a process that is killed."""

import ctypes
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from synthdp.errors import InputError

MEMINFO = Path("/proc/meminfo")
STATM = Path("/proc/self/statm")
CGROUP = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
_NO_LIMIT = 2**60  # how the older control groups write that there is none
_NAMED = 3
# of mallopt, in malloc.h
_MMAP_THRESHOLD = -3
_ARENA_MAX = -8
_LARGE = 2**16


class TooLarge(InputError):
    """The table of a file does not fit into memory, in whatever way the file is read."""


def available() -> int | None:
    """Return the bytes that can be had without swapping, or None where the system does not say.

    The least of what the machine has free, what the control groups of this process still allow, and what its limit of
    address space (``ulimit -v``) leaves.
    """
    found = [value for value in (_free(), _allowance(), _addresses()) if value is not None]
    return min(found, default=None)


def spare_addresses() -> None:
    """Under a limit of address space, let the allocator of the system give back what it can.

    Otherwise it takes a heap for every thread, and keeps what is free between small pieces.
    """
    if _addresses() is None:
        return
    try:
        choose = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    choose(_ARENA_MAX, 1)
    choose(_MMAP_THRESHOLD, _LARGE)


def fits(needed: float) -> bool:
    """Whether so many more bytes can be had."""
    free = available()
    if free is None or needed <= free:
        return True
    # what the last batch left behind is not in use any more
    pa.default_memory_pool().release_unused()
    free = available()
    return free is None or needed <= free


def require(path: Path, needed: float, *, held: float = 0.0, largest: Sequence[str] = ()) -> None:
    """Refuse a file when so many more bytes cannot be had.

    Parameters
    ----------
    held
        Bytes of the table that are in memory already; they count as needed and as free in what is said.
    largest
        Columns that take the most room.
    """
    if not fits(needed):
        raise too_large(path, needed=needed + held, free=(available() or 0) + held, largest=largest)


def too_large(
    path: Path, *, needed: float | None = None, free: float | None = None, largest: Sequence[str] = ()
) -> TooLarge:
    """Return the sentence for a file whose table does not fit."""
    figures = ""
    if needed is not None and free is not None:
        figures = f" (about {_size(needed)} needed, {_size(free)} free)"
    named = f" (the largest: {', '.join(repr(name) for name in largest[:_NAMED])})" if largest else ""
    return TooLarge(
        f"{path}: the table is too large for the memory of this machine{figures}; set role: drop for columns that are "
        f"not needed{named}, or use a machine with more memory."
    )


def _size(size: float) -> str:
    unit, name = (1e9, "GB") if size >= 1e9 else (1e6, "MB") if size >= 1e6 else (1e3, "kB")
    return f"{size / unit:.1f} {name}"


def _free() -> int | None:
    kilobytes = _entry(MEMINFO, "MemAvailable:")
    return None if kilobytes is None else kilobytes * 1024


def _addresses() -> int | None:
    """Return what the limit of address space leaves."""
    if sys.platform == "win32":
        return None
    import resource  # Windows has none

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        used = int(STATM.read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return None
    return max(limit - used, 0)


def _allowance() -> int | None:
    """Return what the control groups of this process may still use, if they have a limit."""
    return min((left for folder in _groups() if (left := _left(folder)) is not None), default=None)


def _groups() -> Iterator[Path]:
    """Yield the folders that may hold a limit: of the process and of everything around it, old and new layout."""
    try:
        lines = OWN_CGROUPS.read_text().splitlines()
    except OSError:
        lines = []
    own = {"": "/", "memory": "/"} | {kinds: path for _, kinds, path in (line.split(":", 2) for line in lines)}
    for root, path in ((CGROUP, own[""]), (CGROUP / "memory", own["memory"])):
        folder = root / path.strip("/")
        while folder != root and root in folder.parents:
            yield folder
            folder = folder.parent
        yield root


def _left(folder: Path) -> int | None:
    for limit_file, used_file, cached in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            limit, used = (folder / limit_file).read_text().strip(), int((folder / used_file).read_text())
        except (OSError, ValueError):
            continue
        if limit.isdigit() and int(limit) < _NO_LIMIT:
            # pages of files that were read are given back when they are needed
            return max(int(limit) - used + (_entry(folder / "memory.stat", cached) or 0), 0)
    return None


def _entry(path: Path, name: str) -> int | None:
    """Return the number that stands beside a name in a file of the system's."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.split()[:1] == [name]), None)
