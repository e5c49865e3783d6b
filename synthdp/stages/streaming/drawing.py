"""Copies of shards: drawn and written, or drawn whenever somebody asks.

Given θ, a block of records is drawn from its own streams (``synthesis.blockwise``), so that the copies are those of a
run in memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from synthdp.arrays import Booleans, Codes
from synthdp.engine import Engine
from synthdp.imputation.cells import flat, released
from synthdp.imputation.regression.association import Regression, RegressionParameters
from synthdp.masking.evidence import Evidence
from synthdp.masking.mask import MaskSettings, Target
from synthdp.parallel import Advance
from synthdp.seeding import Streams
from synthdp.stages.streaming import fitting
from synthdp.stages.streaming.fitting import LAYOUT, Layout, arrays_of
from synthdp.stages.streaming.job import Job, once
from synthdp.stages.streaming.reading import frame_of
from synthdp.stages.streaming.tagging import Grouping, tags_of
from synthdp.table import io
from synthdp.table.coded import coded
from synthdp.table.microdata import Floats, Microdata
from synthdp.table.schema import Schema

SCHEMA, MASKS, COPIES = "schema.pickle", "masks.pickle", "copies"


@dataclass(frozen=True, repr=False)
class Masks:
    """The masks of the replaced columns, and how W is drawn: ``per_copy``, ``once``, or not at all."""

    settings: Mapping[str, MaskSettings]
    drawn: str | None


@dataclass(frozen=True, repr=False)
class _Shards:
    """The original of a job's shards; what copies it has is said by the classes below."""

    job: Job
    copies: int

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} shards, {self.copies} copies x {self.records} records)"

    def __len__(self) -> int:
        return len(self.job)

    @property
    def schema(self) -> Schema:
        """The schema of the whole file."""
        found: Schema = self.job.kept(SCHEMA)
        return found

    @property
    def records(self) -> int:
        """How many records the whole file has."""
        return self.job.records

    def rows(self, shard: int) -> slice:
        """Return which records of the whole file a shard holds."""
        return self.job.rows(shard)

    def original(self, shard: int) -> Microdata:
        """Return the original records of a shard, with the schema of the whole file."""
        schema = self.schema
        return Microdata(frame_of(self.job, shard)[list(schema.names())], schema)

    def groups(self, shard: int) -> Codes | None:
        """Return the number of each record's risk group, in a shard; None where no mask depends on it."""
        layout: Layout = self.job.kept(LAYOUT)
        return None if layout.grouping is None else tags_of(self.job, shard)[1]


@dataclass(frozen=True, repr=False)
class Stored(_Shards):
    """The copies that would go out: their replaced columns are in files, the others are those of the original."""

    def copy(self, shard: int, copy: int) -> pd.DataFrame:
        """Return a copy of a shard, all columns: row i was made from row i of the original's."""
        original = self.original(shard)
        with pa.OSFile(str(self.job.place(f"{COPIES}/{copy:02}", shard))) as file:
            table = pa.ipc.open_file(file).read_all()
        drawn = {name: table.column(place).to_numpy() for place, name in enumerate(table.column_names)}
        return _written(self.job, original, drawn)


@dataclass(frozen=True, repr=False)
class Redrawn(_Shards):
    """A draw of the mechanism for the verdict, the ``number``-th: drawn on the spot, as often as somebody asks."""

    number: int = 0

    def copy(self, shard: int, copy: int) -> pd.DataFrame:
        """Return a copy of a shard, all columns: row i was made from row i of the original's."""
        streams = self.job.streams().within("draw", self.number)
        theta: Sequence[RegressionParameters] = self.job.kept(f"theta-{self.number}.pickle")
        return _written(self.job, self.original(shard), _values(self.job, streams, theta[copy - 1], shard, copy))


@dataclass(frozen=True, repr=False)
class Written:
    """What is to be known of the copies that would go out before their files are written.

    Parameters
    ----------
    levels
        Which levels of each column occur.
    kinds
        How each column is stored in all of them; those are left out whose values do not fit their kind.
    """

    levels: Mapping[str, Booleans]
    kinds: Mapping[str, io.Stored]

    def __add__(self, other: "Written") -> "Written":
        kinds = {name: _both(kind, other.kinds[name]) for name, kind in self.kinds.items() if name in other.kinds}
        return Written({name: found | other.levels[name] for name, found in self.levels.items()}, kinds)


def store(job: Job, engine: Engine, copies: int, advance: Advance | None = None) -> tuple[Stored, Written]:
    """Draw and write the copies that would go out."""
    items = [(shard, copy) for shard in range(len(job)) for copy in range(1, copies + 1)]
    found = reduce(Written.__add__, engine.each(partial(_store, job), items, advance=advance))
    return Stored(job, copies), found


def _both(one: io.Stored, other: io.Stored) -> io.Stored:
    # days in one shard and moments in another are moments in all
    return replace(other if one.sort == "date" else one, width=max(one.width, other.width))


def parameters(job: Job, engine: Engine, model: Regression, copies: int, draws: int) -> None:
    """Fit the model and draw θ: for the copies that would go out, and for each draw of the verdict."""
    names = ["theta.pickle", *(f"theta-{number}.pickle" for number in range(draws))]
    if all((job.folder / name).is_file() for name in names):
        return
    streams = job.streams()
    posterior = fitting.fit(job, engine, model, rng=streams.generator("fit"))
    places = [streams, *(streams.within("draw", number) for number in range(draws))]
    wanted = [(place, m) for place in places for m in range(1, copies + 1)]
    drawn = fitting.draw(job, engine, model, posterior, wanted)
    for number, name in enumerate(names):
        job.keep(name, drawn[number * copies : (number + 1) * copies])


def _store(job: Job, item: tuple[int, int]) -> Written:
    shard, copy = item
    theta: Sequence[RegressionParameters] = job.kept("theta.pickle")

    def make(to: Path) -> Written:
        drawn = _values(job, job.streams(), theta[copy - 1], shard, copy)
        table = pa.table({name: pa.array(values) for name, values in drawn.items()})
        with pa.OSFile(str(to), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        schema: Schema = job.kept(SCHEMA)
        frame = _written(job, Microdata(frame_of(job, shard)[list(schema.names())], schema), drawn)
        levels = {
            column.name: np.bincount(coded(frame).codes(column) + 1, minlength=len(column.levels) + 1)[1:] > 0
            for column in schema.columns
            if column.kind.categorical
        }
        return Written(levels, io.storage(schema, [frame]))

    return once(job.place(f"{COPIES}/{copy:02}", shard), make)


def _values(job: Job, streams: Streams, theta: RegressionParameters, shard: int, copy: int) -> dict[str, Floats]:
    """Draw the replaced columns of a shard, on their working scales."""
    layout: Layout = job.kept(LAYOUT)
    masks: Masks = job.kept(MASKS)
    design, known = arrays_of(job, shard)
    grouping = layout.grouping or Grouping()
    alone = np.ones(len(design), dtype=np.int64), np.zeros(len(design), dtype=np.int64)
    neighbours, groups = alone if layout.grouping is None else tags_of(job, shard)
    parts = []
    for number, rows in job.within(shard):
        about: dict[str, Evidence] = {}
        for place, (column, link) in enumerate(layout.replaced):
            if masks.drawn is None:
                about[column.name] = flat(column, rows.stop - rows.start)
                continue
            target = Target(column, link, neighbours[rows])
            mask = grouping.mask(target, masks.settings.get(column.name), groups[rows])
            whose = copy if masks.drawn == "per_copy" else "all copies"
            rng = streams.block(number, "mask", column.name, whose)
            about[column.name] = mask.draw(np.array(known[place, rows]), rng=rng)
        here = replace(theta, design=np.array(design[rows]))
        parts.append(here.draw(about, rng=streams.block(number, "values", copy)))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _written(job: Job, original: Microdata, drawn: Mapping[str, Floats]) -> pd.DataFrame:
    """Return a shard with its replaced columns as drawn, written as in a run in memory."""
    layout: Layout = job.kept(LAYOUT)
    frame = original.frame.assign()
    for column, link in layout.replaced:
        frame[column.name] = released(drawn[column.name], column, link, original.frame[column.name])
    return frame
