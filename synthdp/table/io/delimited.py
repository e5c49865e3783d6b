"""Text whose values stand between separators, read predictably and in batches.

A column is the narrowest type that keeps all its values; nothing is taken for a date unless the config says so. Every
batch is narrowed as soon as it is parsed, so a file may be larger than the memory its table needs.
"""

import csv
import io
import itertools
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from synthdp.errors import InputError
from synthdp.table.io import memory
from synthdp.table.io.gathering import Gathered, assemble, check_names, watch
from synthdp.table.io.labels import Dialect
from synthdp.table.io.narrowing import Allowed, comma_marks, typed
from synthdp.table.io.streams import TextStream

# As pandas takes them for missing, without "None", which is an answer in many questionnaires.
MISSING_TEXTS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "n/a", "nan", "null",
)  # fmt: skip
BLOCK = 2**20  # bytes that are parsed at a time; a record must fit into them
BLOCKS = 8  # of a batch, which is narrowed at a time
AHEAD = 32  # blocks that the parser reads before they are asked for
PATIENCE = 1.0  # seconds that Arrow's threads have to let go of a file that has been read
BATCH_PEAK = 6.0  # memory for a batch over its bytes in the file: parsed, put together, narrowed
_MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


class Column(Gathered):
    """A column of a text file, batch by batch.

    Parameters
    ----------
    key
        Its position in the file, which is what the parser calls it.
    decimal
        The decimal mark.
    marks
        Decimal commas are to be noticed.
    """

    def __init__(self, key: str, name: str, *, decimal: str | None, marks: bool) -> None:
        super().__init__(name)
        self.key = key
        self.allowed = Allowed()
        self.again = False
        self._decimal, self._marks = decimal, marks

    def take(self, texts: Any) -> None:
        """Add the texts of the next records, narrowed."""
        if not self.allowed.hopeless():
            values, found = typed(texts, self._decimal, self.allowed)
            self.allowed &= found
            self.again = self.allowed.hopeless() and self._lost()
        else:
            values = texts
            if self._marks and self.allowed.comma_numbers:
                self.allowed &= comma_marks(texts)
        if self.again:
            self.clear()
        else:
            self.add(values)

    def settle(self) -> bool:
        """Give all batches the type of the column; False when the file must be read again for it."""
        type = self.allowed.type()
        if type == "text" and (self.again or self._lost()):
            self.clear()
            return False
        if type == "number":
            self.numbers.to_floats()
        return True

    def _lost(self) -> bool:
        """Whether the texts of earlier records are gone: they became numbers or truth values."""
        truths = any(pa.types.is_boolean(chunk.type) for chunk in self.chunks)
        return truths or not self.numbers.missing


def read_delimited(
    path: Path, dialect: Dialect, *, separator: str, zipped: bool, drop: Collection[str] = ()
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the columns of a text file, and the names of those that were left out.

    One pass over the file; a second one, for these columns only, when late values make text of what began as numbers.
    Memory is that of the finished table and of one batch.

    Parameters
    ----------
    separator
        Between the values.
    zipped
        The file is compressed by gzip.
    drop
        Columns that are not needed.
    """
    with TextStream(path, dialect.encoding, zipped=zipped) as stream:
        start = stream.head(BLOCK)
        if not start or start.isspace():
            stream.finish()
            raise InputError(f"{path}: the file is empty.")
        # a file of one block is in memory whole
        blocks = len(start) / BLOCK if len(start) < BLOCK else AHEAD
        memory.require(path, BLOCK * (min(blocks, AHEAD) + BATCH_PEAK * min(blocks, BLOCKS)))
        try:
            names, lines = _header(path, start, separator, row_names=dialect.row_names)
        except InputError:
            stream.finish()  # what is wrong with the bytes is said first
            raise
        if len(start) < BLOCK and not b"".join(start.splitlines()[lines:]).strip():
            stream.finish()
            raise InputError(f"{path}: the file has column names but no records.")
    first = 1 if dialect.row_names else 0
    marks = separator != "," and dialect.decimal is None
    every = [Column(str(i), name, decimal=dialect.decimal, marks=marks) for i, name in enumerate(names) if i >= first]
    # where nothing is left, the number of records still is
    columns = [column for column in every if column.name not in drop] or every[:1]
    source = _Source(path, dialect, separator, zipped, len(names), lines)
    source.gather(columns)
    again = [column for column in columns if not column.settle()]
    if marks:
        _refuse_commas(path, columns)
    if again:
        source.gather(again, beside=columns)
    kept = {column.name for column in columns}
    return assemble(path, columns), tuple(column.name for column in every if column.name not in kept)


class _Source:
    """A text file that can be read more than once, as batches of texts."""

    def __init__(self, path: Path, dialect: Dialect, separator: str, zipped: bool, width: int, lines: int) -> None:
        self._path, self._dialect, self._separator, self._zipped = path, dialect, separator, zipped
        self._width, self._lines = width, lines

    def gather(self, columns: Sequence[Column], *, beside: Sequence[Column] = ()) -> None:
        """Read the file once and hand its batches to the columns; ``beside`` are in memory too."""
        with TextStream(self._path, self._dialect.encoding, zipped=self._zipped) as stream:
            rows = 0
            for number, table in enumerate(self._batches(stream, [column.key for column in columns]), start=1):
                rows += table.num_rows
                done = stream.done(number * BLOCKS * BLOCK)
                for column, texts in zip(columns, table.columns, strict=True):
                    column.add(texts) if beside else column.take(texts)
                    # room for these is made by the next batch, when it is known that they fit
                    column.expected = int(1.01 * rows / done)
                # what this batch took is there for the next one
                watch(self._path, columns, done=done)
                del table, texts

    def _batches(self, stream: TextStream, keys: list[str]) -> Iterator[Any]:
        wrong: list[int] = []

        def skip(row: Any) -> str:
            wrong.append(row.number)
            return "skip"

        every = [str(i) for i in range(self._width)]
        before = sys.getrefcount(stream), sys.getrefcount(skip)
        reader = None
        try:
            reader = pyarrow.csv.open_csv(
                pa.PythonFile(stream, mode="r"),
                # one thread: only then does the parser number the rows
                read_options=pyarrow.csv.ReadOptions(
                    column_names=every, skip_rows=self._lines, use_threads=False, block_size=BLOCK
                ),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=self._separator, newlines_in_values=True, invalid_row_handler=skip
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(every, pa.string()),
                    include_columns=keys,
                    null_values=MISSING_TEXTS,
                    strings_can_be_null=True,
                ),
            )
            while blocks := list(itertools.islice(reader, BLOCKS)):
                table = pa.Table.from_batches(blocks).combine_chunks()
                del blocks
                if not wrong:
                    yield from table.to_batches()
        except pa.ArrowInvalid:
            stream.finish()
            raise InputError(f"{self._path}: the file cannot be read as CSV.") from None
        finally:
            del reader
            # a thread of Arrow's that lets go of a Python object while the program ends aborts it (apache/arrow#34314)
            until = time.monotonic() + PATIENCE
            while (sys.getrefcount(stream), sys.getrefcount(skip)) > before and time.monotonic() < until:
                time.sleep(0.001)
        stream.finish()
        if wrong:
            raise InputError(
                f"{self._path}: {len(wrong)} rows do not have {self._width} values as the header does; "
                f"first at line {wrong[0]}."
            )


def _refuse_commas(path: Path, columns: Sequence[Column]) -> None:
    """Refuse numbers with a decimal comma that would silently be text."""
    problems = [
        f"{path}: column {column.name!r} looks like numbers with a decimal comma; set data.decimal: ',' "
        "('.' if it is text)."
        for column in columns
        if column.allowed.type() == "text" and column.allowed.decimal_commas()
    ]
    if problems:
        raise InputError(*problems)


def _header(path: Path, data: bytes, separator: str, *, row_names: bool) -> tuple[list[str], int]:
    """Return the column names and the number of lines they take; an empty one stands for row names."""
    # the last letter may be cut in two
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace", newline="")
    reader = csv.reader(text, delimiter=separator)
    try:
        names = next((row for row in reader if row), [""])
    except csv.Error:  # a name without end
        raise InputError(f"{path}: the file cannot be read as CSV.") from None
    others = [mark for mark in _MARKS if mark != separator and mark in names[0]]
    if len(names) == 1 and others:
        looks = "\\t" if others[0] == "\t" else others[0]
        raise InputError(
            f"{path}: the values are not separated by {_MARKS[separator]}; they look {looks!r} separated, "
            f'so set data.separator: "{looks}".'
        )
    if row_names and (names[0].strip() or len(names) == 1):
        raise InputError(f"{path}: data.row_names is for files whose first column has no name; leave it out.")
    check_names(path, names[1:] if row_names else names)
    return names, reader.line_num
