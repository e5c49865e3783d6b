"""Arrays of numbers: the types that signatures name, and loops over them that numba compiles."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from synthdp.seeding import in_blocks

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


def added(values: Floats) -> tuple[int, float]:
    """Return how many finite values a block of records has, and their sum."""
    present = values[np.isfinite(values)]
    return len(present), float(present.sum())


def squared(values: Floats, mean: float) -> float:
    """Return the sum of the squared distances of a block's finite values from a mean."""
    left = values[np.isfinite(values)] - mean
    return float((left * left).sum())


def mean_of(sums: Iterable[tuple[int, float]]) -> tuple[int, float]:
    """Return count and mean of a file from what its blocks add up to, in their order; the mean of nothing is NaN."""
    count, total = 0, 0.0
    for size, part in sums:
        count, total = count + size, total + part
    return count, total / count if count else np.nan


def mean_and_sd(values: Floats) -> tuple[float, float]:
    """Return mean and standard deviation of the finite values, added up block by block as if each came alone.

    >>> mean_and_sd(np.array([1.0, 3.0, np.nan]))
    (2.0, 1.0)
    """
    count, mean = mean_of(added(values[rows]) for _, rows in in_blocks(len(values)))
    total = sum(squared(values[rows], mean) for _, rows in in_blocks(len(values)))
    return mean, float(np.sqrt(total / count)) if count else np.nan


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
