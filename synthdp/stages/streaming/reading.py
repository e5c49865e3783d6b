"""Reading a Parquet file, or a folder of them, into shards: the only pass over the confidential file itself."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from synthdp import seeding
from synthdp.errors import BROKEN, InputError, Unfinished
from synthdp.parallel import Advance
from synthdp.stages.streaming.job import Job, finished, once
from synthdp.table import io
from synthdp.table.io.gathering import check_names
from synthdp.table.io.streams import unreadable

SOURCE = "source.pickle"
ORIGINAL = "original"


@dataclass(frozen=True, repr=False)
class Source:
    """What the files say of their columns.

    Parameters
    ----------
    fields
        Name and type in Arrow.
    gaps
        Columns with a missing value somewhere: whole numbers are floats then, as if the table were in memory.
    categories
        Levels of dictionary columns, in the order in which they occur.
    """

    fields: tuple[tuple[str, Any], ...]
    gaps: frozenset[str] = frozenset()
    categories: tuple[tuple[str, tuple[str, ...]], ...] = ()


def files_of(path: Path) -> tuple[Path, ...]:
    """Return the Parquet files behind a path: the file itself, or those of a folder by name."""
    if not path.is_dir():
        return (path,)
    found = tuple(sorted(one for one in path.glob("*.parquet") if one.is_file()))
    if not found:
        raise InputError(f"{path}: a folder must hold Parquet files (.parquet), found none.")
    return found


def checksum(path: Path) -> str:
    """Return the SHA-256 checksum of a file, or of the names and checksums of a folder's files."""
    files = files_of(path)
    if files == (path,):
        return io.digest(path)
    lines = "".join(f"{io.digest(one)}  {one.name}\n" for one in files)
    return hashlib.sha256(lines.encode()).hexdigest()


def sized(path: Path) -> tuple[int, Any]:
    """Return how many records there are, and the schema in Arrow, which all files must share."""
    records, first = 0, None
    for one in files_of(path):
        with _opened(one) as file:
            schema = file.schema_arrow.remove_metadata()
            records += file.metadata.num_rows
        if first is not None and not schema.equals(first):
            raise InputError(f"{one}: the columns, or their types, are not those of {files_of(path)[0].name}.")
        first = schema if first is None else first
    return records, first


def read(path: Path, job: Job, drop: Sequence[str], advance: Advance | None = None) -> Source:
    """Write the records into shards; where that is done already, only look whether they are as they were."""
    _, schema = sized(path)
    check_names(path, schema.names)
    fields = [field for field in schema if field.name not in drop]
    problems = [
        f"streaming: column {field.name!r} must hold plain numbers, text, truth values or dates, found {field.type}."
        for field in fields
        if pa.types.is_nested(field.type) or pa.types.is_binary(field.type) or not _plain(field.type)
    ]
    if problems:
        raise InputError(*problems)
    done = [finished(job.place(ORIGINAL, shard)) for shard in range(len(job))]
    if not all(done):
        batches = _batches(path, [field.name for field in fields])
        done = []
        for shard, pieces in _shards(batches, job):
            done.append((once(job.place(ORIGINAL, shard), partial(_write, pieces)),))
            if advance is not None:
                advance(shard + 1, len(job))
        if len(done) != len(job):
            raise InputError(f"{path}: the file changed while it was read; run again.")
    gaps: set[str] = set()
    levels: dict[str, dict[str, None]] = {}
    for found in done:
        missing, words = found[0] if found is not None else ((), {})
        gaps |= set(missing)
        for name, some in words.items():
            levels.setdefault(name, {}).update(dict.fromkeys(some))
    source = Source(
        tuple((field.name, field.type) for field in fields),
        frozenset(gaps),
        tuple((name, tuple(found)) for name, found in levels.items()),
    )
    job.keep(SOURCE, source)
    return source


def frame_of(job: Job, shard: int) -> pd.DataFrame:
    """Return the records of a shard, each column of the type that it has in the whole file."""
    source: Source = job.kept(SOURCE)
    path = job.place(ORIGINAL, shard)
    try:
        with pa.OSFile(str(path)) as file:
            table = pa.ipc.open_file(file).read_all()
    except (FileNotFoundError, pa.ArrowInvalid):
        raise Unfinished(
            f"{path}: this shard is gone or damaged; continue with --resume, which makes it anew."
        ) from None
    categories = dict(source.categories)
    found = {}
    for name, kind in source.fields:
        column = table.column(name)
        if name in categories:
            words = pd.Index(categories[name], dtype=_series(pa.chunked_array([pa.array(["a"])])).dtype)
            found[name] = pd.Series(pd.Categorical(_series(column).astype(object), categories=words))
            continue
        series = _series(column)
        if name in source.gaps and column.null_count == 0:
            series = series.astype(_series(pa.chunked_array([pa.nulls(1, _held(kind)), column.chunk(0)[:1]])).dtype)
        found[name] = series
    return pd.DataFrame(found, copy=False)


def shard_rows(records: int, folder: Path, *, shards: int | None, jobs: int, memory: float, columns: int) -> Job:
    """Return the job: shards of whole blocks, small enough for memory, and enough for all processes."""
    block = seeding.BLOCK
    blocks = max(1, -(-records // block))
    if shards is not None:
        return Job(folder, records, block, -(-blocks // max(1, shards)))
    # a shard's frame, its design and what is drawn, several times over while they are changed
    fits = int(memory / jobs / (12 * 8 * max(columns, 1) * block))
    return Job(folder, records, block, max(1, min(fits, 16, -(-blocks // (4 * jobs)) if jobs > 1 else 16)))


def _opened(path: Path) -> Any:
    try:
        return pyarrow.parquet.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno in BROKEN:
            raise unreadable(path, error) from None
        if isinstance(error, FileNotFoundError):
            raise InputError(f"{path}: no such file.") from None
        raise InputError(f"{path}: the file is not Parquet, or it is cut off.") from None


def _plain(kind: Any) -> bool:
    if pa.types.is_dictionary(kind):
        return bool(pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type))
    return not pa.types.is_null(kind)


def _held(kind: Any) -> Any:
    """Return the type a column has in the shards."""
    if pa.types.is_decimal(kind):
        return pa.float64()
    text = pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return pa.large_string() if text else kind


def _series(values: Any) -> pd.Series:
    found: pd.Series = values.to_pandas(date_as_object=False)
    return found


def _batches(path: Path, names: list[str]) -> Iterator[Any]:
    for one in files_of(path):
        with _opened(one) as file:
            if not names:
                continue
            try:
                for batch in file.iter_batches(batch_size=seeding.BLOCK, columns=names, use_threads=False):
                    yield batch.select(names)
            except (pa.ArrowException, OSError) as error:
                if isinstance(error, OSError) and error.errno in BROKEN:
                    raise unreadable(one, error) from None
                raise InputError(f"{one}: the file is not Parquet, or it is cut off.") from None


def _shards(batches: Iterator[Any], job: Job) -> Iterator[tuple[int, list[Any]]]:
    """Yield the batches of each shard, cut where shards end."""
    shard, held, left = 0, list[Any](), job.rows(0).stop
    for batch in batches:
        while len(batch):
            held.append(batch[:left])
            left -= len(held[-1])
            batch = batch[len(held[-1]) :]
            if left == 0:
                yield shard, held
                shard, held = shard + 1, []
                rows = job.rows(shard)
                left = max(rows.stop - rows.start, 0)
                if left == 0:
                    if len(batch):
                        raise InputError("data: the file changed while it was read; run again.")
                    break
    if held:
        yield shard, held


def _write(batches: list[Any], to: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Write a shard; return the columns with missing values, and the levels of dictionary columns."""
    table = pa.Table.from_batches(batches)
    words = {
        field.name: [
            word
            for chunk in table.column(field.name).chunks
            for word in np.asarray(chunk.dictionary.cast(pa.string()), dtype=object).tolist()
        ]
        for field in table.schema
        if pa.types.is_dictionary(field.type)
    }
    columns = [column.cast(_held(column.type)) for column in table.columns]
    plain = pa.table(columns, names=table.column_names)
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(str(to), "wb") as sink, pa.ipc.new_file(sink, plain.schema, options=options) as writer:
        writer.write_table(plain)
    gaps = [name for name in plain.column_names if plain.column(name).null_count]
    return gaps, {name: list(dict.fromkeys(found)) for name, found in words.items()}
