"""The rows of each copy in the order in which they are released: an external shuffle in two passes.

The order is that of ``stages.shuffling``. First every shard's rows are sorted by the bucket they take and written, a
batch for each range of buckets; then each range is put together from all shards, shuffled bucket by bucket, and written
behind the ranges before it. Neither the shards nor the workers show in the order.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from synthdp.engine import Engine
from synthdp.files import HIDDEN_FILE
from synthdp.parallel import Advance
from synthdp.stages.shuffling import buckets, within
from synthdp.stages.streaming.drawing import Stored
from synthdp.stages.streaming.job import Job, finished, once
from synthdp.table import io
from synthdp.table.io.text import SEPARATORS, needs_quotes

# what stands behind the columns of a copy until its rows are mixed; found by place, as a column may have any name
BESIDE = ("bucket", "record")
SCATTERED, MIXED, STORAGE = "scattered", "mixed", "storage.pickle"
FORMATS = ("csv", "tsv", "parquet")


def mix(
    shards: Stored,
    engine: Engine,
    stored: Mapping[str, io.Stored],
    *,
    format: str,
    escape: bool,
    shuffle: bool,
    every: int = 1,
    together: int = 1,
    advance: Advance | None = None,
) -> list[Path]:
    """Return the files of the copies, finished but for their place.

    Parameters
    ----------
    stored
        How each column is stored.
    shuffle
        Whether rows leave the order of the records.
    every
        Of so many records one is looked at once more before anything is published (``scanning``).
    together
        How many copies are worked on at a time: each takes as much disk again while it is mixed.
    """
    job = shards.job
    job.keep(STORAGE, (dict(stored), format, escape, shuffle, every))
    copies = range(1, shards.copies + 1)
    left = [copy for copy in copies if finished(_mixed(job, copy, format)) is None]
    for start in range(0, len(left), together):
        some = left[start : start + together]
        items = [(shard, copy) for copy in some for shard in range(len(job))]
        found = list(engine.each(partial(_scatter, shards), items))
        quoted = {copy for (_, copy), needed in zip(items, found, strict=True) if needed}
        for _ in engine.each(partial(_gather, job), [(copy, copy in quoted) for copy in some]):
            pass
        if advance is not None:
            advance(start + len(some), len(left))
    return [_mixed(job, copy, format) for copy in copies]


def _mixed(job: Job, copy: int, format: str) -> Path:
    return job.folder / MIXED / f"{copy:02}.{format}"


def _origins(job: Job, copy: int) -> Path:
    return job.folder / MIXED / f"{copy:02}.rows"


def _sample(job: Job, copy: int) -> Path:
    return job.folder / MIXED / f"{copy:02}.feather"


def sampled(job: Job, copy: int) -> pd.DataFrame:
    """Return the rows of a copy that were made from every so-manieth record, in the order of the released file."""
    frame: pd.DataFrame = pa.feather.read_table(str(_sample(job, copy))).to_pandas()
    return frame


def write_origins(job: Job, names: Sequence[str], to: Path) -> None:
    """Write from which record each released row was made, a column for each copy, as a run in memory does."""
    columns = [np.memmap(_origins(job, copy), np.int64, mode="r") for copy in range(1, len(names) + 1)]
    schema = pa.schema([(name, pa.int64()) for name in names])
    hidden = to.with_name(f"{HIDDEN_FILE}{to.name}")
    with pyarrow.parquet.ParquetWriter(str(hidden), schema) as writer:
        for shard in range(len(job)):
            rows = job.rows(shard)
            writer.write_table(pa.table([pa.array(column[rows]) for column in columns], schema=schema))
    hidden.chmod(0o600)
    hidden.replace(to)


def _scatter(shards: Stored, item: tuple[int, int]) -> bool:
    """Write the rows of a shard's copy by the bucket they take, a batch for each range of buckets.

    Return whether some text needs quotation marks in a text file.
    """
    shard, copy = item
    job = shards.job
    stored, format, _, shuffle, _ = job.kept(STORAGE)
    streams = job.streams()

    def make(to: Path) -> bool:
        taken = [
            buckets(streams, copy, number, rows.stop - rows.start, job.blocks)
            if shuffle and job.blocks > 1
            else np.full(rows.stop - rows.start, 0 if shuffle else number)
            for number, rows in job.within(shard)
        ]
        chosen = np.concatenate(taken)
        order = np.argsort(chosen, kind="stable")
        table = _table(shards.copy(shard, copy), stored)
        rows = job.rows(shard)
        for name, values in zip(BESIDE, (chosen, np.arange(rows.start, rows.stop)), strict=True):
            table = table.append_column(name, pa.array(values.astype(np.int64)))
        table = table.take(pa.array(order)).combine_chunks()
        cuts = np.searchsorted(chosen[order], np.arange(len(job) + 1) * job.each)
        with pa.OSFile(str(to), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            for start, stop in pairwise(cuts):
                # a batch for each range, be it empty, so that ranges are found by their number
                piece = table.slice(start, stop - start).combine_chunks().to_batches()
                writer.write_batch(piece[0] if piece else _none(table.schema))
        return format != "parquet" and needs_quotes(
            table.columns[: -len(BESIDE)], stored, SEPARATORS[f".{format}"] or ","
        )

    return once(job.place(f"{SCATTERED}/{copy:02}", shard), make)


def _gather(job: Job, item: tuple[int, bool]) -> None:
    """Write a copy, range by range."""
    copy, quoted = item
    stored, format, escape, shuffle, every = job.kept(STORAGE)
    streams = job.streams()

    def write(table: Any) -> bytes:
        return io.FORMATS[format].write(io.Contents(table, io.Labels(), {}, stored, escape, quoted))

    def make(to: Path) -> None:
        writer = _Rows(to) if format == "parquet" else _Lines(to, write)
        some = []
        origins = _origins(job, copy).open("wb")
        try:
            for place in range(len(job)):
                table = _range(job, copy, place)
                chosen = table.column(-2).to_numpy()
                # stable: within a bucket rows come in the order of the records
                order = np.argsort(chosen, kind="stable")
                if shuffle:
                    ends = np.searchsorted(chosen[order], np.unique(chosen), side="right")
                    parts = np.split(order, ends[:-1])
                    order = np.concatenate(
                        [
                            part[_order(job, streams, copy, int(chosen[part[0]]), len(part))]
                            for part in parts
                            if len(part)
                        ]
                        or [order]
                    )
                table = table.take(pa.array(order))
                records = table.column(-1).to_numpy()
                records.tofile(origins)
                plain = table.select(range(table.num_columns - len(BESIDE)))
                some.append(plain.filter(pa.array(records % every == 0)))
                writer.add(plain.combine_chunks())
        finally:
            writer.close()
            origins.close()
        pa.feather.write_feather(pa.concat_tables(some), str(_sample(job, copy)))

    once(_mixed(job, copy, format), make)
    for shard in range(len(job)):
        job.place(f"{SCATTERED}/{copy:02}", shard).unlink(missing_ok=True)


def _order(job: Job, streams: Any, copy: int, bucket: int, rows: int) -> Any:
    if job.blocks == 1:  # a file of one block is shuffled as a whole
        return streams.generator("shuffle", copy).permutation(rows)
    return within(streams, copy, bucket, rows)


def _range(job: Job, copy: int, place: int) -> Any:
    parts = []
    for shard in range(len(job)):
        with pa.OSFile(str(job.place(f"{SCATTERED}/{copy:02}", shard))) as file:
            parts.append(pa.Table.from_batches([pa.ipc.open_file(file).get_batch(place)]))
    return pa.concat_tables(parts).combine_chunks()


def _none(schema: Any) -> Any:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _table(frame: pd.DataFrame, stored: Mapping[str, io.Stored]) -> Any:
    """Return a copy of a shard in Arrow, each column of the type that it has in all of them."""
    columns = {
        str(name): stored[str(name)].array(frame[name])
        if str(name) in stored
        else pa.array(frame[name], from_pandas=True)
        for name in frame.columns
    }
    return pa.table(columns)


class _Lines:
    """A text file, written piece by piece: only the first piece has the line of names."""

    def __init__(self, to: Path, write: Callable[[Any], bytes]) -> None:
        self._file, self._write = to.open("wb"), write
        self._begun = False

    def add(self, table: Any) -> None:
        """Write the rows of a table behind those before."""
        written = self._write(table)
        header = len(self._write(table.slice(0, 0))) if self._begun else 0
        self._file.write(written[header:])
        self._begun = True

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Rows:
    """A Parquet file, a row group for each piece."""

    def __init__(self, to: Path) -> None:
        self._to = to
        self._writer: Any = None

    def add(self, table: Any) -> None:
        """Write the rows of a table behind those before."""
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(str(self._to), table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
