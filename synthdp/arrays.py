"""Arrays of numbers: the types that signatures name, and loops over them that numba compiles."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def ranks(values: Floats) -> Floats:
    """Return ranks from one on, those of equal values their mean; scipy.stats alone takes a second to load.

    >>> ranks(np.array([2.0, 7.0, 2.0])).tolist()
    [1.5, 3.0, 1.5]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def compiled(function: Kernel) -> Kernel:
    """Return a function compiled by numba, kept between runs, that leaves other threads alone.

    numba's cache does not notice a change in a function that another file's function calls: after such a change, touch
    the files that call it.

    Notes
    -----
    Whoever installs synthdp waits for the loops to be compiled once, and most of that time goes to what a loop asks of
    numba, not to its own lines: an assignment to a slice takes a second (the message about shapes that do not fit),
    ``np.argsort`` one, ``np.searchsorted`` and ``.min()`` a third, an array made inside a tenth for each type, and a
    literal passed on to another loop a second compilation. So loops are given the arrays they write to.
    """
    return jit(function)


def summing(function: Kernel) -> Kernel:
    """Return a compiled function whose sums may be added up in any order: several terms are then worked on at once."""
    return jit(function, fastmath={"reassoc", "contract"})


def part(function: Kernel) -> Kernel:
    """Return a function that only compiled loops call: compiled with them, without the way in from Python."""
    return jit(function, no_cpython_wrapper=True)


def jit(function: Kernel, **options: Any) -> Kernel:
    """Return a function compiled by numba with these options, kept between runs where anything can be written."""
    from numba import njit

    # nobody calls these from C
    options |= {"nogil": True, "no_cfunc_wrapper": True}
    try:
        return cast(Kernel, njit(cache=True, **options)(function))
    except RuntimeError:
        # neither beside the sources nor in the home folder may anything be written: compiled anew in every process
        return cast(Kernel, njit(**options)(function))
