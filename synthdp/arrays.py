"""Arrays of numbers: the types that signatures name, and loops over them that numba compiles."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """Return a function compiled by numba, kept between runs, that leaves other threads alone.

    numba's cache does not notice a change in a function that another file's function calls: after such a change, touch
    the files that call it.
    """
    from numba import njit

    return cast(Kernel, njit(cache=True, nogil=True)(function))
