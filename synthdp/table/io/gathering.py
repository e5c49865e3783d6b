"""Columns that arrive batch by batch, held small until they are all there.

Text is held as one code per record beside its distinct values, as long as values repeat. In the finished table it is
plain text where that fits into memory, else a categorical with its levels sorted, which everything downstream treats
alike. Numbers are never held in fewer than 64 bits: a float of 32 would change them, and whole numbers of 8 or 16 bits
overflow silently in the first square of a formula. They are written to their final place at once.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from synthdp.errors import InputError
from synthdp.table.io import memory

PLAIN_PEAK = 1.5  # memory for putting a plain table together over its bytes; measured 1.1
NUMBER_BYTES = 8
PIECE = 2**16  # numbers that are changed at a time
OFFSET_BYTES = 8  # of a plain text, beside its letters
_TEXT = (pa.types.is_string, pa.types.is_large_string)


class Numbers:
    """Numbers in their final place from the start, so that putting the table together takes no memory of its own.

    Attributes
    ----------
    count
        Numbers so far.
    missing
        They are all missing.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget the numbers."""
        self._room: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._floats = False
        self.count = 0
        self.missing = True

    @property
    def room(self) -> int:
        """Numbers that there is room for."""
        return len(self._room)

    def extend(self, chunk: Any, expected: int) -> None:
        """Add whole numbers, numbers or nulls from Arrow; room is made for as many as are expected in the end."""
        count = self.count + len(chunk)
        if count > self.room:
            self._room.resize(max(count, expected), refcheck=False)
        if chunk.null_count or not pa.types.is_integer(chunk.type):
            self.to_floats()
            chunk = chunk.cast(pa.float64(), safe=False)  # to the nearest float, as the digits would be
        room = self._room.view(np.float64) if self._floats else self._room
        room[self.count : count] = chunk.to_numpy(zero_copy_only=False)
        self.missing = self.missing and chunk.null_count == len(chunk)
        self.count = count

    def to_floats(self) -> None:
        """Make floats of whole numbers, in their place."""
        floats = self._room.view(np.float64)
        for start in range(0, 0 if self._floats else self.count, PIECE):
            floats[start : start + PIECE] = self._room[start : start + PIECE].astype(np.float64)
        self._floats = True

    def series(self) -> pd.Series:
        """Return the numbers and let go of them."""
        self._room.resize(self.count, refcheck=False)
        values = self._room.view(np.float64) if self._floats else self._room
        self.clear()
        return pd.Series(values, copy=False)


class Gathered:
    """One column, batch by batch.

    Parameters
    ----------
    type
        Of its values in Arrow when there is no batch; one of codes and levels stays as it is.

    Attributes
    ----------
    numbers, chunks
        Where the values are: numbers of 64 bits in the one, everything else in the other.
    steady
        Bytes held that grow with the records.
    levels
        Bytes held for distinct texts, which grow slower.
    plain
        Bytes of the finished column when its texts are written out.
    expected
        Records in the end, as far as that is known.
    """

    def __init__(self, name: str, type: Any = None) -> None:
        self.name = name
        self.type = pa.float64() if type is None else type
        self.numbers = Numbers()
        self.expected = 0
        self.clear()

    def clear(self) -> None:
        """Forget the values."""
        self.chunks: list[Any] = []
        self.numbers.clear()
        self._repeats = True
        self.steady = self.levels = self.plain = 0

    def add(self, chunk: Any) -> None:
        """Add the values of the next records, an Arrow array of any type without a nested one.

        Numbers and something else do not go together, but nulls go with everything.
        """
        if isinstance(chunk, pa.ChunkedArray):
            for part in chunk.chunks:
                self.add(part)
            return
        nulls = pa.types.is_null(chunk.type) and not pa.types.is_null(self.type)
        if nulls and self.chunks:
            chunk = pa.nulls(len(chunk), _written_out(self.chunks[0].type))
        elif nulls or chunk.type in (pa.int64(), pa.float64()):
            self.numbers.extend(chunk, self.expected)
            self.steady, self.plain = NUMBER_BYTES * self.numbers.room, NUMBER_BYTES * self.numbers.count
            return
        elif self.numbers.count:
            before = pa.nulls(self.numbers.count, _written_out(chunk.type))
            self.clear()
            self.add(before)
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

    def to_come(self, done: float) -> float:
        """Return the bytes that the rest of the records will take, given the share that is there."""
        if self.numbers.count:
            return float(NUMBER_BYTES * max(self.expected - self.numbers.room, 0))
        return self.steady * (1.0 / done - 1.0)

    def finish(self, *, tight: bool) -> pd.Series:
        """Return the column and let go of the batches.

        Parameters
        ----------
        tight
            Repeating text becomes a categorical.
        """
        if self.numbers.count:
            return self.numbers.series()
        chunks, self.chunks = self.chunks, []
        if pa.types.is_dictionary(self.type) or not any(pa.types.is_dictionary(chunk.type) for chunk in chunks):
            return _series(pa.chunked_array(chunks, chunks[0].type if chunks else self.type))
        coded = sum(len(chunk) for chunk in chunks if pa.types.is_dictionary(chunk.type))
        if tight and coded * 2 >= sum(len(chunk) for chunk in chunks):
            # the last batch may be too short for its values to repeat
            return _categorical([c if pa.types.is_dictionary(c.type) else c.dictionary_encode() for c in chunks])
        texts = []
        while chunks:
            texts.append(chunks.pop(0).cast(pa.large_string()))
        return _series(pa.chunked_array(texts, pa.large_string()))


def check_names(path: Path, names: Sequence[str]) -> None:
    """Refuse names that are absent, occur twice, or are the values of the first record."""
    problems = []
    for position, name in enumerate(names, start=1):
        if not name.strip() or name.startswith("__index_level_"):
            problems.append(
                f"{path}: column {position} has no name; name it, or remove it if it holds row numbers "
                "(write.csv(..., row.names = FALSE) in R, to_csv(index=False) in pandas)"
                f"{', or set data.row_names: true' if position == 1 and not name.strip() else ''}."
            )
    repeated = sorted(name for name, count in Counter(names).items() if count > 1 and name.strip())
    problems += [f"{path}: the column name {name!r} occurs more than once; rename one." for name in repeated]
    # without this, the values of the first record would be published as column names
    if not problems and all(_is_number(name) for name in names):
        problems = [f"{path}: the first line holds numbers instead of column names; add a line with names."]
    if problems:
        raise InputError(*problems)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def largest(columns: Iterable[Gathered], done: float) -> list[str]:
    """Return the names of the columns, those that will hold the most first."""
    return [c.name for c in sorted(columns, key=lambda c: -(c.steady + c.levels + c.to_come(done)))]


def watch(path: Path, columns: Sequence[Gathered], *, done: float, rest: float = 0.0) -> None:
    """Refuse a file as soon as it is clear that its table will not fit.

    Parameters
    ----------
    done
        The share of the file that is gathered. What grows with the records is extrapolated; distinct texts are not,
        because they grow slower, so that no file is refused that would have fitted.
    rest
        Bytes that other columns will need at least.
    """
    held = sum(column.steady + column.levels for column in columns)
    done = max(done, 1e-9)
    # one column at a time is held twice when the table is put together
    twice = max((column.steady + column.to_come(done) for column in columns if column.chunks), default=0.0)
    to_come = sum(column.to_come(done) for column in columns) + rest
    memory.require(path, to_come + twice, held=held, largest=largest(columns, done))


def assemble(path: Path, columns: Sequence[Gathered]) -> pd.DataFrame:
    """Return the gathered columns as a table, in plain types where that fits into memory."""
    tight = not memory.fits(PLAIN_PEAK * sum(column.plain for column in columns))
    found = {}
    for column in columns:
        found[column.name] = column.finish(tight=tight)
    # side by side: gathering equal types into one block would hold everything twice
    return pd.DataFrame(found, copy=False)


def _written_out(kind: Any) -> Any:
    """Return the type of a column without codes."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


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
