"""Whether a file fits into memory: better a sentence before than a machine that swaps or a process that is killed."""

from pathlib import Path

from synthdp.errors import InputError

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def available() -> int | None:
    """Return the bytes that can be had without swapping, or None where the system does not say."""
    found = [value for value in (_free(), _allowance()) if value is not None]
    return min(found, default=None)


def require(path: Path, size: int, factor: float) -> None:
    """Refuse a file that would need more memory than there is.

    Parameters
    ----------
    size
        Bytes of the values as they are in the file, unpacked.
    factor
        How many times that the reader needs at its peak.
    """
    free = available()
    if free is not None and size * factor > free:
        raise too_large(path, needed=size * factor, free=free)


def too_large(path: Path, *, needed: float | None = None, free: float | None = None) -> InputError:
    """Return the sentence for a file that does not fit."""
    figures = f" (about {needed / 1e9:.1f} GB needed, {free / 1e9:.1f} GB free)" if needed and free else ""
    return InputError(
        f"{path}: the file is too large for the memory of this machine{figures}; remove columns that are not needed, "
        "save it as Parquet, or use a machine with more memory."
    )


def _free() -> int | None:
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _allowance() -> int | None:
    """Return what the container may still use, if it has a limit."""
    try:
        limit, used = (CGROUP / "memory.max").read_text().strip(), (CGROUP / "memory.current").read_text()
    except OSError:
        return None
    return max(int(limit) - int(used), 0) if limit.isdigit() else None
