"""Tables in and out: CSV and Parquet, read predictably and written to the same bytes every time.

Values are kept as they are in the file: codes such as ``01234`` stay text, numbers are read and written exactly,
nothing is taken for a date, and rows of the wrong length are errors instead of missing values. Messages name files,
rows and columns, never values; the messages of the parsers quote the data, so they are not passed on.
"""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from synthdp.errors import InputError

Format = Literal["csv", "parquet"]

# As pandas takes them for missing, without "None", which is an answer in many questionnaires.
MISSING_TEXTS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "n/a", "nan", "null",
)  # fmt: skip
LARGEST_EXACT = 2**53
_TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}


def read(path: Path) -> pd.DataFrame:
    """Read a table from a ``.csv`` or ``.parquet`` file.

    A CSV column is whole numbers (float when some are missing), numbers, truth values, or text, whichever fits all its
    values; digits that a number would not keep (leading zeros, 19 digits and more) make it text.

    Raises
    ------
    InputError
        When the file cannot be read as a table, with one sentence that says what to do.
    """
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise InputError(f"{path}: cannot tell the format; the name must end in .csv or .parquet.")
    data = _bytes(path)
    table = _parse_csv(path, data) if suffix == ".csv" else _parse_parquet(path, data)
    return _frame(path, table)


def encode(frame: pd.DataFrame, *, format: Format) -> bytes:
    """Return a table as the bytes of a file; equal tables give equal bytes.

    The row labels and everything else pandas attaches to a frame (attributes, unused categories) stay out: they would
    tell more than the values do.
    """
    table = pa.table([_plain(frame.iloc[:, i]) for i in range(frame.shape[1])], names=[str(n) for n in frame.columns])
    sink = io.BytesIO()
    if format == "parquet":
        pyarrow.parquet.write_table(table, sink)
        return sink.getvalue()
    columns = [_printable(column) for column in table.columns]
    sink.write(_csv_line(table.column_names))
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed" if _quotes(columns) else "none")
    pyarrow.csv.write_csv(pa.table(columns, names=table.column_names), sink, options)
    return sink.getvalue()


def write(frame: pd.DataFrame, path: Path, *, format: Format) -> None:
    """Write a table to a file; equal tables give equal bytes."""
    path.write_bytes(encode(frame, format=format))


def digest(path: Path) -> str:
    """Return the SHA-256 checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file.") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a folder; give a file.") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read the file.") from None
    except OSError as error:
        raise InputError(f"{path}: the file cannot be read (error {error.errno} of the system).") from None
    if not data or data.isspace():
        raise InputError(f"{path}: the file is empty.")
    return data


def _parse_csv(path: Path, data: bytes) -> Any:
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data:
        raise InputError(f"{path}: this is not a CSV file (it holds binary data or UTF-16); save it as CSV UTF-8.")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}: line {line} is not UTF-8; save the file as CSV UTF-8.") from None
    if data.count(b'"') % 2:
        raise InputError(f"{path}: a quotation mark is never closed; the file may be cut off.")
    names, lines = _header(path, data)
    wrong: list[int] = []

    def skip(row: Any) -> str:
        wrong.append(row.number)
        return "skip"

    keys = [str(i) for i in range(len(names))]
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            # one thread: only then does the parser number the rows
            read_options=pyarrow.csv.ReadOptions(column_names=keys, skip_rows=lines, use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(keys, pa.string()), null_values=MISSING_TEXTS, strings_can_be_null=True
            ),
        )
    except pa.ArrowInvalid:
        raise InputError(f"{path}: the file cannot be read as CSV.") from None
    if wrong:
        raise InputError(
            f"{path}: {len(wrong)} rows do not have {len(names)} values as the header does; first at line {wrong[0]}."
        )
    return pa.table([_typed(column) for column in table.columns], names=names)


def _header(path: Path, data: bytes) -> tuple[list[str], int]:
    """Return the column names and the number of lines they take."""
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=""))
    names = next(row for row in reader if row)
    if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
        raise InputError(f"{path}: the values are not separated by commas; save the file with commas.")
    _check_names(path, names)
    return names, reader.line_num


def _check_names(path: Path, names: Sequence[str]) -> None:
    problems = []
    for position, name in enumerate(names, start=1):
        if not name.strip() or name.startswith("__index_level_"):
            problems.append(
                f"{path}: column {position} has no name; name it, or remove it if it holds row numbers "
                "(write.csv(..., row.names = FALSE) in R, to_csv(index=False) in pandas)."
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


def _typed(column: Any) -> Any:
    """Return a column of texts as the narrowest type that keeps all its values."""
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.float64())
    text = pc.utf8_trim_whitespace(column)
    for kind, spoilt in ((pa.int64(), r"^[+-]?0[0-9xX]"), (pa.float64(), r"^[+-]?(0[0-9]|[0-9]{19,}$)")):
        try:
            values = text.cast(kind)
        except pa.ArrowInvalid:
            continue
        if pc.any(pc.match_substring_regex(text, spoilt)).as_py():
            return column
        if kind == pa.int64() and column.null_count:
            exact = not pc.any(pc.greater(pc.abs(values), LARGEST_EXACT)).as_py()
            return values.cast(pa.float64()) if exact else column
        return values
    found = pc.unique(text.drop_null())
    if all(value in _TRUTH for value in found.slice(0, len(_TRUTH) + 1).to_pylist()):
        return pa.array([_TRUTH.get(value) for value in text.to_pylist()], pa.bool_())
    return column


def _parse_parquet(path: Path, data: bytes) -> Any:
    try:
        table = pyarrow.parquet.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError):
        raise InputError(f"{path}: the file is not Parquet, or it is cut off.") from None
    _check_names(path, table.column_names)
    problems = []
    for i, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.float64()))
        elif pa.types.is_nested(field.type) or pa.types.is_binary(field.type):
            problems.append(f"{path}: column {field.name!r} must hold single values, found {_what(field.type)}.")
    if problems:
        raise InputError(*problems)
    return table


def _what(kind: Any) -> str:
    return "binary data" if pa.types.is_binary(kind) else "lists or records"


def _frame(path: Path, table: Any) -> pd.DataFrame:
    if table.num_rows == 0:
        raise InputError(f"{path}: the file has column names but no records.")
    # the pandas part of a Parquet file could bring row labels back; the columns are all we take
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas(date_as_object=False)
    return frame


def _plain(series: pd.Series) -> Any:
    """Return a series as Arrow values with nothing of its past: no categories, no labels."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.dtype.categories.dtype if series.notna().all() else object)
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers and text in one column
        return pa.array([None if pd.isna(value) else str(value) for value in series], pa.string())


def _printable(column: Any) -> Any:
    """Return a column in the form a CSV file shows it."""
    if pa.types.is_boolean(column.type):
        return pc.if_else(column, "True", "False")
    if pa.types.is_timestamp(column.type):
        days = column.cast(pa.date32(), safe=False)
        return days if pc.all(pc.equal(days.cast(column.type), column)).as_py() is not False else column
    if pa.types.is_floating(column.type):
        present = column.drop_null().to_numpy()
        # whole numbers were integers before missing values made them floats
        if np.all((np.abs(present) <= LARGEST_EXACT) & (present == np.round(present))):
            return column.cast(pa.int64())
    return column


def _quotes(columns: Sequence[Any]) -> bool:
    """Whether some text holds a comma, a quotation mark or a line end."""
    texts = (c for c in columns if pa.types.is_string(c.type) or pa.types.is_large_string(c.type))
    return any(pc.any(pc.match_substring_regex(c, '[,"\r\n]')).as_py() for c in texts)


def _csv_line(names: Sequence[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(names)
    return line.getvalue().encode()
