"""One way of working on many things at once, in threads or in processes."""

import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

from synthdp.budget import go_on
from synthdp.errors import Unfinished

Item = TypeVar("Item")
Result = TypeVar("Result")
# what numerical libraries read once, when they are loaded
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
Advance = Callable[[int, int], None]
"""Told how many of how many are done."""


def one_thread() -> None:
    """Let libraries that are not loaded yet use one thread each, unless the environment says otherwise.

    Matrices here are small: on busy cores threads wait for each other longer than they work, and sums taken in another
    order would change the last digit from machine to machine. Many things at once is for ``jobs``.
    """
    for name in THREADS:
        os.environ.setdefault(name, "1")


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep linear algebra to one thread for as long as this lasts.

    Threads of small problems wait for each other: a propensity regression took ten times as long with them on a machine
    with other work. And sums taken in another order would change the last digit with the machine.
    """
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits


def each(
    work: Callable[[Item], Result],
    items: Collection[Item],
    *,
    jobs: int = 1,
    advance: Advance | None = None,
    processes: bool = False,
) -> Iterator[Result]:
    """Yield what comes of the items, in their order.

    Parameters
    ----------
    jobs
        How many are worked on at a time; one is worked on where the caller stands.
    processes
        Whether in processes of their own, each with one BLAS thread: sums taken in another order would change the last
        digit with the number of jobs. Otherwise in threads, which is for work that leaves the interpreter alone.
    """
    for done, result in enumerate(_results(work, items, jobs, processes), start=1):
        go_on()
        if advance is not None:
            advance(done, len(items))
        yield result


def _results(work: Callable[[Item], Result], items: Collection[Item], jobs: int, processes: bool) -> Iterator[Result]:
    if jobs <= 1:
        yield from map(work, items)
    elif processes:
        from concurrent.futures.process import BrokenProcessPool

        from joblib import Parallel, delayed, parallel_config

        with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
            # what is sent goes through pipes, never through files that outlive a killed process
            pool = Parallel(return_as="generator", pre_dispatch="3*n_jobs", max_nbytes=None)
            results = pool(delayed(work)(item) for item in items)
        try:
            yield from results
        except BrokenProcessPool:
            raise Unfinished(
                f"one of {jobs} processes was ended from outside, probably for want of memory; use fewer --jobs or a "
                "larger machine, and continue with --resume."
            ) from None
    else:
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            yield from pool.map(work, items)
