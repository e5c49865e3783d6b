"""Columns that arrive batch by batch, held small until they are all there.

Text is held as one code per record beside its distinct values, as long as values repeat. In the finished table it is
plain text where that fits into memory, else a categorical with its levels sorted, which everything downstream treats
alike. Numbers are never held in fewer than 64 bits: a float of 32 would change them, and whole numbers of 8 or 16 bits
overflow silently in the first square of a formula.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from synthdp.io import memory

PLAIN_PEAK = 1.5  # memory for putting a plain table together over its bytes; measured 1.1
OFFSET_BYTES = 8  # of a plain text, beside its letters
_TEXT = (pa.types.is_string, pa.types.is_large_string)


class Gathered:
    """One column, batch by batch.

    Parameters
    ----------
    type
        Of its values in Arrow when there is no batch; one of codes and levels stays as it is.

    Attributes
    ----------
    steady
        Bytes held that grow with the records.
    levels
        Bytes held for distinct texts, which grow slower.
    plain
        Bytes of the finished column when its texts are written out.
    """

    def __init__(self, name: str, type: Any = None) -> None:
        self.name = name
        self.type = pa.float64() if type is None else type
        self.chunks: list[Any] = []
        self._repeats = True
        self.steady = self.levels = self.plain = 0

    def add(self, chunk: Any) -> None:
        """Add the values of the next records, an Arrow array of any type without a nested one."""
        if isinstance(chunk, pa.ChunkedArray):
            for part in chunk.chunks:
                self.add(part)
            return
        if any(is_text(chunk.type) for is_text in _TEXT):
            self.plain += int(pc.sum(pc.binary_length(chunk)).as_py() or 0) + OFFSET_BYTES * len(chunk)
            chunk = _encoded(chunk) if self._repeats else chunk.cast(pa.large_string())
            # text that does not repeat within a batch is not tried again
            self._repeats = pa.types.is_dictionary(chunk.type) or len(chunk) == 0
        else:
            self.plain += max(chunk.nbytes, len(chunk))
        if pa.types.is_dictionary(chunk.type):
            self.steady += chunk.indices.nbytes
            self.levels += chunk.dictionary.nbytes
        else:
            self.steady += chunk.nbytes
        self.chunks.append(chunk)

    def clear(self) -> None:
        """Forget the values."""
        self.chunks = []
        self._repeats = True
        self.steady = self.levels = self.plain = 0

    def finish(self, *, tight: bool) -> pd.Series:
        """Return the column and let go of the batches.

        Parameters
        ----------
        tight
            Repeating text becomes a categorical.
        """
        chunks, self.chunks = self.chunks, []
        if pa.types.is_dictionary(self.type) or not any(pa.types.is_dictionary(chunk.type) for chunk in chunks):
            return _series(pa.chunked_array(chunks, chunks[0].type if chunks else self.type))
        coded = sum(len(chunk) for chunk in chunks if pa.types.is_dictionary(chunk.type))
        if tight and coded * 2 >= sum(len(chunk) for chunk in chunks):
            # the last batch may be too short for its values to repeat
            return _categorical([c if pa.types.is_dictionary(c.type) else c.dictionary_encode() for c in chunks])
        texts = []
        while chunks:
            chunk = chunks.pop(0)
            texts.append(chunk.cast(pa.large_string()))
        return _series(pa.chunked_array(texts, pa.large_string()))


def largest(columns: Iterable[Gathered]) -> list[str]:
    """Return the names of the columns, those that hold the most first."""
    return [column.name for column in sorted(columns, key=lambda column: -(column.steady + column.levels))]


def watch(path: Path, columns: Sequence[Gathered], *, done: float, batch: float, rest: float = 0.0) -> None:
    """Refuse a file as soon as it is clear that its table will not fit.

    Parameters
    ----------
    done
        The share of the file that is gathered. What grows with the records is extrapolated; distinct texts are not,
        because they grow slower, so that no file is refused that would have fitted.
    batch
        Bytes that the next batch needs while it is worked on.
    rest
        Bytes that other columns will need at least.
    """
    steady = sum(column.steady for column in columns)
    held = steady + sum(column.levels for column in columns)
    # one column at a time is held twice when the table is put together
    largest_column = max((column.steady for column in columns), default=0) / max(done, 1e-9)
    to_come = steady * (1.0 / max(done, 1e-9) - 1.0) + rest
    memory.require(path, to_come + max(batch, largest_column), held=held, largest=largest(columns))


def assemble(path: Path, columns: Sequence[Gathered]) -> pd.DataFrame:
    """Return the gathered columns as a table, in plain types where that fits into memory."""
    tight = not memory.fits(PLAIN_PEAK * sum(column.plain for column in columns))
    found = {}
    for column in columns:
        found[column.name] = column.finish(tight=tight)
    # side by side: gathering equal types into one block would hold everything twice
    return pd.DataFrame(found, copy=False)


def _encoded(texts: Any) -> Any:
    """Return texts as codes beside their distinct values where that is smaller."""
    found = texts.dictionary_encode()
    if found.indices.nbytes + found.dictionary.nbytes >= texts.nbytes:
        return texts.cast(pa.large_string())
    count = len(found.dictionary)
    kind = pa.int8() if count <= np.iinfo(np.int8).max else pa.int16() if count <= np.iinfo(np.int16).max else None
    if kind is None:
        return found
    return pa.DictionaryArray.from_arrays(found.indices.cast(kind), found.dictionary)


def _categorical(chunks: list[Any]) -> pd.Series:
    """Return chunks of codes as one categorical, levels sorted."""
    every = pc.unique(pa.chunked_array([chunk.dictionary.cast(pa.large_string()) for chunk in chunks]))
    levels = every.take(pc.array_sort_indices(every))
    codes = np.empty(sum(len(chunk) for chunk in chunks), dtype=np.min_scalar_type(-max(len(levels), 1)))
    start = 0
    while chunks:
        chunk = chunks.pop(0)
        place = np.append(np.asarray(pc.index_in(chunk.dictionary.cast(pa.large_string()), levels)), -1)
        codes[start : start + len(chunk)] = place[np.asarray(chunk.indices.fill_null(len(place) - 1))]
        start += len(chunk)
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(_series(pa.chunked_array([levels])))))


def _series(values: Any) -> pd.Series:
    found: pd.Series = values.to_pandas(date_as_object=False)
    return found
