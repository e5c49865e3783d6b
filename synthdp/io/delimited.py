"""Text files: CSV and TSV, read predictably.

A column is the narrowest type that keeps all its values; nothing is taken for a date unless the config says so.
"""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from synthdp.errors import InputError
from synthdp.io import memory
from synthdp.io.labels import Dialect

# As pandas takes them for missing, without "None", which is an answer in many questionnaires.
MISSING_TEXTS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "n/a", "nan", "null",
)  # fmt: skip
LARGEST_EXACT = 2**53
CHUNK = 2**24
BYTES_PER_VALUE = 16  # a number in Arrow and, while it is handed over, in pandas
_TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
_MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_COMMA_NUMBER = r"^[+-]?[0-9]+(,[0-9]+)?$"


def parse_delimited(path: Path, held: list[bytes], dialect: Dialect, *, separator: str) -> Any:
    """Return the columns of a text file.

    Parameters
    ----------
    held
        The bytes of the file, alone in a list: they are taken out and let go as soon as they are parsed.
    separator
        Between the values.
    """
    data = _utf8(path, held.pop(), dialect.encoding)
    if data.count(b'"') % 2:
        raise InputError(f"{path}: a quotation mark is never closed; the file may be cut off.")
    names, lines = _header(path, data, separator, row_names=dialect.row_names)
    # short values take more room in memory than in the file
    memory.require(path, data.count(b"\n") * len(names), BYTES_PER_VALUE)
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
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=separator, newlines_in_values=True, invalid_row_handler=skip
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(keys, pa.string()), null_values=MISSING_TEXTS, strings_can_be_null=True
            ),
        )
    except pa.ArrowInvalid:
        raise InputError(f"{path}: the file cannot be read as CSV.") from None
    del data
    if wrong:
        raise InputError(
            f"{path}: {len(wrong)} rows do not have {len(names)} values as the header does; first at line {wrong[0]}."
        )
    names, texts = (names[1:], table.columns[1:]) if dialect.row_names else (names, table.columns)
    del table
    typed = []
    while texts:  # one column at a time, so that text and numbers are never all in memory together
        typed.append(_typed(texts.pop(0), dialect.decimal))
    if separator != "," and dialect.decimal is None:
        _refuse_commas(path, names, typed)
    return pa.table(typed, names=names)


def _utf8(path: Path, data: bytes, encoding: str) -> bytes:
    """Return the bytes as UTF-8; checked piece by piece, since a decoded copy would double the memory."""
    plain = codecs.lookup(encoding).name == "utf-8"
    if plain:
        data = data.removeprefix(codecs.BOM_UTF8)
        _refuse_binary(path, data)
    decoder = codecs.getincrementaldecoder(encoding)()
    recoded = io.BytesIO()
    lines = 0
    for start in range(0, len(data), CHUNK):
        piece = data[start : start + CHUNK]
        try:
            text = decoder.decode(piece, final=start + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            line = lines + error.object.count(b"\n", 0, error.start) + 1
            if plain:
                raise InputError(
                    f"{path}: line {line} is not UTF-8; save the file as CSV UTF-8, "
                    "or set data.encoding (windows-1252, for example)."
                ) from None
            raise InputError(f"{path}: line {line} is not {encoding}; set data.encoding to that of the file.") from None
        lines += piece.count(b"\n")
        if not plain:
            recoded.write(text.encode())
    if plain:
        return data
    _refuse_binary(path, recoded.getvalue())
    return recoded.getvalue().removeprefix(codecs.BOM_UTF8)


def _refuse_binary(path: Path, data: bytes) -> None:
    if b"\0" in data:
        raise InputError(f"{path}: this is not a CSV file (it holds binary data or UTF-16); save it as CSV UTF-8.")


def _refuse_commas(path: Path, names: Sequence[str], columns: Sequence[Any]) -> None:
    """Refuse numbers with a decimal comma that would silently be text."""
    problems = []
    for name, column in zip(names, columns, strict=True):
        if not pa.types.is_string(column.type):
            continue
        text = pc.utf8_trim_whitespace(column)
        every = pc.all(pc.match_substring_regex(text, _COMMA_NUMBER)).as_py()
        if every and pc.any(pc.match_substring(text, ",")).as_py():
            problems.append(
                f"{path}: column {name!r} looks like numbers with a decimal comma; set data.decimal: ',' "
                "('.' if it is text)."
            )
    if problems:
        raise InputError(*problems)


def _header(path: Path, data: bytes, separator: str, *, row_names: bool) -> tuple[list[str], int]:
    """Return the column names and the number of lines they take; an empty one stands for row names."""
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=""), delimiter=separator)
    names = next((row for row in reader if row), [""])
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


def _typed(column: Any, decimal: str | None) -> Any:
    """Return a column of texts as the narrowest type that keeps all its values."""
    if column.null_count == len(column):
        return pa.nulls(len(column), pa.float64())
    text = pc.utf8_trim_whitespace(column)
    if decimal == ",":
        if pc.any(pc.match_substring(text, ".")).as_py():  # a date, or thousands with points: no number we could keep
            return column
        text = pc.replace_substring(text, ",", ".")
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
