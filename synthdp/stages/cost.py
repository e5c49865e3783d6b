"""What a run will need, told from the config and the file's metadata before anything is read.

The constants were fitted to whole runs of this package (``benchmarks/cost.py``; ``reports/cost`` says how far off they
are): Parquet files of 10,000 to 100,000 records, numbers and binary columns replaced, one processor. Seconds are of a
processor: as long by the clock on an idle machine, and as much longer on a busy one as it is busy.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from synthdp.config import Config
from synthdp.seeding import BLOCK
from synthdp.stages.draws import MOST_CELLS, RECORDS_A_DRAW, count_of
from synthdp.stages.intake import dialect, dropped
from synthdp.table.io.sizing import Size, size_of
from synthdp.table.schema import Role

# bytes: what the libraries take, what the report takes on top of that while the table is small, and for each value of
# the file and each replaced value of the copies
LIBRARIES, REPORT = 0.19e9, 0.19e9
A_CELL, A_VALUE = 95.0, 110.0
# the same while shards are worked on: a process holds a shard at a time
A_PROCESS, A_SHARD_CELL = 0.27e9, 50.0
# seconds: libraries loaded and the report written
START = 5.8
# for each draw of the verdict, and for each of its replaced values
A_DRAW, A_JUDGED = 0.36, 1.65e-6
# for each replaced value of the copies in report and release
A_REPORTED = 2.4e-6
# for each replaced value, drawn once; for each record and replaced column, fitted once
DRAWN: Mapping[str, float] = {"regression": 1.6e-7, "auto": 6e-7, "copula": 3.6e-6, "cart": 3e-7}
FITTED: Mapping[str, float] = {"regression": 1e-6, "auto": 1.7e-5, "copula": 2e-5, "cart": 1.2e-5}
# fits beside those that draws share: the copies', and those to halves of the file; where a fit rests on chance, draws
# share one only in large files
FITS, BY_CHANCE = 5, frozenset({"auto", "cart"})
# streaming: for each value of the file that is read and released, for each that is drawn
A_STREAMED, A_STORED = 3e-7, 8e-7
# for each of those and each draw of the verdict; seconds and bytes for the sample that is judged as a file of its own
A_ATTACKED, SAMPLED, A_SAMPLE = 1.06e-6, 30.0, 0.5e9
# of the time on several workers, what does not get shorter with them, and what a piece of work costs besides
ALONE, A_PIECE = 0.05, 0.01
# disk: bytes of a value in a shard, and in a text file
ON_DISK, AS_TEXT = 8.0, 6.0


@dataclass(frozen=True)
class Work:
    """What a run has to do.

    Parameters
    ----------
    records, columns, replaced, copies, draws
        How many; ``draws`` of the verdict.
    model
        Which constants hold.
    exact
        Whether the records were counted.
    known
        Whether the method's own constants were measured; else the dearest ones are taken.
    """

    records: int
    columns: int
    replaced: int
    copies: int
    draws: int
    model: str
    exact: bool = True
    known: bool = True

    @property
    def values(self) -> float:
        """Replaced values in all copies."""
        return float(self.records) * self.replaced * self.copies

    @property
    def cells(self) -> float:
        """Values of the file."""
        return float(self.records) * self.columns


@dataclass(frozen=True)
class Need:
    """What a way to go about it needs.

    Parameters
    ----------
    memory, disk
        In bytes; memory of one machine, or of one worker.
    seconds
        Of the clock on idle machines.
    """

    memory: float
    disk: float
    seconds: float


def work_of(config: Config) -> Work | None:
    """Return what a run of a config has to do; None where the file does not tell how large it is.

    Raises
    ------
    InputError
        When there is no such file, or it cannot be read.
    """
    size = _size(config)
    if size is None:
        return None
    roles = [variable.role for name, variable in config.variables.items() if name in size.columns]
    method = config.synthesis
    model = str(getattr(getattr(method, "model", None), "method", method.method))
    draws = count_of(config, size.records) if config.limits.judged() else 0
    copies = int(getattr(method, "copies", 1)) * int(getattr(method, "imputations", 1))
    replaced = sum(role is Role.REPLACE for role in roles)
    return Work(size.records, len(size.columns), replaced, copies, draws, model, exact=size.exact, known=model in DRAWN)


def _size(config: Config) -> Size | None:
    path = config.data.path
    if not path.is_dir():
        return size_of(path, dialect(config), drop=dropped(config))
    found = [size_of(one, dialect(config), drop=dropped(config)) for one in sorted(path.glob("*.parquet"))]
    sizes = [one for one in found if one is not None]
    if not sizes:
        return None
    return Size(sum(one.records for one in sizes), sizes[0].columns, True, sum(one.stored for one in sizes))


def in_memory(work: Work) -> Need:
    """Return what a run with the table in memory needs, on one processor."""
    shared = 8 * min(work.values * max(work.draws, 1), MOST_CELLS)
    table = A_CELL * work.cells + A_VALUE * work.values
    return Need(LIBRARIES + shared + max(REPORT, table), _public(work), _seconds(work))


def streamed(work: Work, workers: int = 1, memory: float = math.inf) -> Need:
    """Return what a run needs whose table stays on disk; memory is that of one of so many workers.

    Parameters
    ----------
    memory
        Bytes that a worker may take: shards are cut to fit.
    """
    records = float(min(work.records, 16 * BLOCK))
    if workers > 1:
        records = min(records, max(work.records / (4 * workers), BLOCK))
    shard = A_SHARD_CELL * records * (work.columns + work.replaced)
    shards = max(1.0, work.records / records)
    drawn = A_STREAMED * work.cells + (A_STORED + work.draws * A_ATTACKED) * work.values
    # one to read, three to look, some for each replaced column to fit, one for each copy and draw
    passes = 4 + 3 * work.replaced + work.copies + work.draws
    alone = START + (SAMPLED if work.draws else 0.0)
    seconds = alone + drawn / workers + A_PIECE * shards * passes / workers
    if workers > 1:  # what is put together, or mixed, by one
        seconds += ALONE * drawn
    sample = A_SAMPLE if work.draws and workers == 1 else 0.0
    disk = _public(work) + ON_DISK * (3 * work.cells + work.values)
    return Need(A_PROCESS + min(shard, max(memory - A_PROCESS, 0)) + sample, disk, seconds)


def _seconds(work: Work) -> float:
    drawn, fitted = (table.get(work.model, max(table.values())) for table in (DRAWN, FITTED))
    shared = max(work.records // RECORDS_A_DRAW, 1) if work.model in BY_CHANCE else max(work.draws, 1)
    fits = (FITS if work.draws else 1) + math.ceil(work.draws / shared)
    fit = fits * fitted * work.records * work.replaced
    each = drawn * work.values
    judged = work.draws * (A_DRAW + A_JUDGED * work.values)
    return START + fit + each * (1 + work.draws) + judged + A_REPORTED * work.values


def _public(work: Work) -> float:
    return AS_TEXT * work.cells * work.copies + 10e6


def amount(size: float) -> str:
    """Return bytes as people say them.

    >>> amount(5.81e9), amount(3.2e6)
    ('5.8 GB', '3 MB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 1):,.0f} MB"


def duration(seconds: float) -> str:
    """Return a time as people say it, no more precisely than it is known.

    >>> duration(42), duration(500), duration(20_000)
    ('40 s', '8 min', '6 h')
    """
    if seconds < 95:
        return f"{max(round(seconds, -1), 10):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"
