"""What goes to a worker of a cluster and what comes back: closed, small, and only between like machines.

A cluster's own logs and pages print what it is given, and what goes wrong with it. So work and item travel as bytes in
an object that shows nothing of itself, and work never fails in the eyes of the cluster: what it raises comes back as a
result, and is raised again where the run was started.
"""

import pickle
import platform
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from synthdp import __version__
from synthdp.errors import InputError

LIMIT = 16 * 2**20
"""Bytes that a piece of work, or what comes of it, may take on its way: all of it passes through the scheduler."""
LIBRARIES = ("numpy", "pandas", "pyarrow", "scipy", "numba")
"""Whose versions decide about the last digits, or about the bytes of a file."""


class Sealed:
    """Bytes that show nothing of themselves."""

    __slots__ = ("contents",)

    def __init__(self, contents: bytes) -> None:
        self.contents = contents

    def __repr__(self) -> str:
        return "sealed"


def seal(work: Callable[[Any], Any], item: Any, mark: Path) -> Sealed:
    """Return what a worker needs for one item.

    Parameters
    ----------
    mark
        A file in the folder of the job, by which a worker sees whether it has the same folder.
    """
    # the item's own bytes are opened last, on a machine that is known to understand them
    errand = pickle.dumps((work, item), protocol=pickle.HIGHEST_PROTOCOL)
    if len(errand) > LIMIT:
        raise ValueError(_too_large("a piece of work", len(errand)))
    return Sealed(pickle.dumps((versions(), str(mark), errand)))


def perform(sealed: Sealed) -> Sealed:
    """Do the work, on a worker; whatever it raises is returned."""
    theirs, mark, errand = pickle.loads(sealed.contents)
    try:
        _check_alike(theirs)
        if not Path(mark).is_file():
            raise InputError(
                f"engine: a worker cannot see the folder {Path(mark).parent}; every machine of the cluster has to have "
                "it under the same name, and this user has to be able to write to it there."
            )
        work, item = pickle.loads(errand)
        _one_thread()
        contents = pickle.dumps((work(item), None, None), protocol=pickle.HIGHEST_PROTOCOL)
        if len(contents) > LIMIT:
            raise ValueError(_too_large("the result of a piece of work", len(contents)))
    except Exception as error:
        return Sealed(_failure(error))
    return Sealed(contents)


def opened(reply: Sealed) -> Any:
    """Return what the work returned, or raise what it raised."""
    from tblib import Traceback

    result, error, frames = pickle.loads(reply.contents)
    if error is not None:
        raise error.with_traceback(Traceback.from_dict(frames).as_traceback())
    return result


@lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """Return the versions on which results may depend."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"synthdp": __version__, "Python": python, **{name: metadata.version(name) for name in LIBRARIES}}


@lru_cache(maxsize=1)
def _one_thread() -> None:
    """Keep linear algebra to one thread for as long as this worker lives; asking for it takes long."""
    import scipy.linalg  # noqa: F401  (what is not loaded cannot be told)
    from threadpoolctl import threadpool_limits

    threadpool_limits(limits=1, user_api="blas")


def _check_alike(theirs: Mapping[str, str]) -> None:
    ours = versions()
    other = [
        f"{name} ({theirs[name]} here, {ours.get(name)} there)" for name in theirs if theirs[name] != ours.get(name)
    ]
    if other:
        raise InputError(
            f"engine: a worker has another {', another '.join(other)}; install the same versions on every machine."
        )


def _failure(error: Exception) -> bytes:
    """Return what was raised as bytes, with the places it passed through but none of the values there."""
    from tblib import Traceback

    frames = Traceback(error.__traceback__).to_dict()
    try:
        bare = type(error)(*error.args)
        bare.__dict__.update(error.__dict__)
        contents = pickle.dumps((None, bare, frames))
        pickle.loads(contents)
    except Exception:
        # an exception of a library that cannot travel: its kind says enough, its words may quote the data
        return pickle.dumps((None, RuntimeError(f"a worker raised {type(error).__name__}"), frames))
    return contents


def _too_large(what: str, size: int) -> str:
    return f"{what} is {size:,} bytes, and at most {LIMIT:,} may pass through the scheduler; large things go to files"
