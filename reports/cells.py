"""The cells of a study: what tells them apart, how they are computed over processes, and what they found.

A cell holds the keyword arguments of the study's work; a line of its file is a cell together with what it found.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

import numpy as np

from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

Cell = dict[str, Any]
Line = dict[str, Any]


def draws(lines: Sequence[Line], **where: Any) -> Floats:
    """Return what was found, one replication under the other, in the cells that are as ``where`` says."""
    return np.asarray([line["found"] for line in lines if all(line[key] == value for key, value in where.items())])


def apart(seed: int, *name: str | int) -> Streams:
    """Return streams for one part of a study, from a seed that the name draws: nothing else shares them."""
    return Streams(int(Streams(seed).generator(*name).integers(2**63)))


def first_of_all_first(kinds: Iterable[tuple[str, str, int]], most: int | None) -> list[Cell]:
    """Return the cells of several kinds (part, case, count), so that a stopped run tells something of all of them."""
    found = [
        {"part": part, "case": case, "number": number}
        for part, case, count in kinds
        for number in range(min(count, most or count))
    ]
    return sorted(found, key=lambda cell: cell["number"])


def key_of(cells: Iterable[Cell]) -> Callable[[Cell], str]:
    """Return what tells cells, and the lines that hold them, apart."""
    names = sorted({name for cell in cells for name in cell})
    return lambda line: json.dumps([line.get(name) for name in names])


def computed(work: Callable[..., Any], cells: Sequence[Cell], *, jobs: int, label: str) -> Iterator[tuple[Cell, Any]]:
    """Yield each cell with what it found, as soon as it is finished."""
    from rich.progress import track

    # each process computes one cell at a time: threads inside the matrix products would only compete
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if jobs == 1 or len(cells) <= 1:
        yield from ((cell, work(**cell)) for cell in track(cells, description=label))
        return
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        waiting = {pool.submit(work, **cell): cell for cell in cells}
        try:
            for future in track(as_completed(waiting), description=label, total=len(cells)):
                yield waiting[future], future.result()
        finally:
            # a run that is stopped need not finish the rest
            pool.shutdown(cancel_futures=True)
