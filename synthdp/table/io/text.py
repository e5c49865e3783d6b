r"""CSV and TSV files; text that a spreadsheet would take for a formula is escaped.

Excel, LibreOffice and Google Sheets run a cell that starts with ``=``, ``+``, ``-`` or ``@`` as a formula, whatever
quotation marks surround it in the file; a tab, a carriage return or a line feed before it is skipped by some. A
quotation mark ``'`` before the text stops that. Text that already starts with such marks gets one more, so that taking
one away gives back exactly what was there. Numbers are not touched: a spreadsheet reads ``-5`` as the number it is.
"""

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from synthdp.errors import InputError
from synthdp.table.io.delimited import read_delimited
from synthdp.table.io.formats import Contents, Format, ending
from synthdp.table.io.labels import Dialect, Table
from synthdp.table.io.narrowing import LARGEST_EXACT
from synthdp.table.io.storing import Stored

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}
_DANGEROUS = r"\A('*[=+\-@\t\r\n])"
_ESCAPED = re.compile(r"\A'('*[=+\-@\t\r\n])")


def escaped(column: Any) -> Any:
    """Return an Arrow column of text in which no value starts a formula.

    Examples
    --------
    >>> import pyarrow as pa
    >>> escaped(pa.array(["=1+1", "plain", "'@x"])).to_pylist()
    ["'=1+1", 'plain', "''@x"]
    """
    return pc.replace_substring_regex(column, _DANGEROUS, r"'\1")


def unescaped(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as it was before `escaped`, column names too. Cost O(n), and a search per distinct text."""
    found = {str(name): _plain(series) for name, series in frame.items()}
    return frame.assign(**found).set_axis([_word(str(name)) for name in frame.columns], axis=1)


def _word(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _plain(series: pd.Series) -> pd.Series:
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.rename_categories(lambda word: _word(word) if isinstance(word, str) else word)
    if not (pd.api.types.is_string_dtype(series.dtype) or series.dtype == object):
        return series
    words = {word: _word(word) for word in series.dropna().unique() if isinstance(word, str)}
    if all(word == plain for word, plain in words.items()):
        return series
    return series.map(words, na_action="ignore").astype(series.dtype)


def read_text(path: Path, dialect: Dialect, drop: Collection[str] = ()) -> Table:
    """Read a text file whose values stand between separators."""
    suffix, zipped = ending(path)
    separator = dialect.separator or SEPARATORS[suffix]
    if separator is None:
        raise InputError(f"{path}: a .txt file does not say how its values are separated; set data.separator.")
    frame, unread = read_delimited(path, dialect, separator=separator, zipped=zipped, drop=drop)
    return Table(unescaped(frame) if dialect.escaped else frame, unread=unread)


def write_text(contents: Contents, *, separator: str) -> bytes:
    """Return a text file, with quotation marks where some text needs them."""
    names, stored = list(contents.table.column_names), contents.stored
    columns = [_printable(c, stored.get(n)) for n, c in zip(names, contents.table.columns, strict=True)]
    if contents.escape_formulas:
        columns = [escaped(c) if _is_text(c) else c for c in columns]
        names = escaped(pa.array(names)).to_pylist()
    sink = io.BytesIO()
    sink.write(_csv_line(names, separator))
    quoting = "needed" if contents.quoted or needs_quotes(columns, stored, separator) else "none"
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=quoting, delimiter=separator)
    pyarrow.csv.write_csv(pa.table(columns, names=names), sink, options)
    return sink.getvalue()


def _printable(column: Any, stored: Stored | None) -> Any:
    """Return a column in the form a CSV file shows it."""
    if pa.types.is_boolean(column.type):
        return pc.if_else(column, "True", "False")
    if stored is not None:
        return column.cast(pa.date32()) if stored.sort == "date" else column
    if pa.types.is_timestamp(column.type):
        days = column.cast(pa.date32(), safe=False)
        return days if pc.all(pc.equal(days.cast(column.type), column)).as_py() is not False else column
    if pa.types.is_floating(column.type):
        present = column.drop_null().to_numpy()
        # whole numbers were integers before missing values made them floats
        if np.all((np.abs(present) <= LARGEST_EXACT) & (present == np.round(present))):
            return column.cast(pa.int64())
    return column


def _is_text(column: Any) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def needs_quotes(columns: Sequence[Any], stored: Mapping[str, Stored], separator: str) -> bool:
    """Whether some text, or a declared level, holds the separator, a quotation mark or a line end."""
    declared = [str(v) for one in stored.values() if one.column.levels_public for v in one.column.levels]
    texts = [c for c in columns if _is_text(c)] + [pa.array(declared, pa.string())]
    return any(pc.any(pc.match_substring_regex(c, f'[{separator}"\r\n]')).as_py() for c in texts)


def _csv_line(names: Sequence[str], separator: str) -> bytes:
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(names)
    return line.getvalue().encode()


CSV = Format(
    name="csv",
    endings=(".csv", ".txt"),
    read=read_text,
    write=partial(write_text, separator=","),
    python="read_csv(path)",
    r="read.csv(file, check.names = FALSE)",
    stata='import delimited "`file\'", clear case(preserve)',
    text=True,
)
TSV = Format(
    name="tsv",
    endings=(".tsv",),
    read=read_text,
    write=partial(write_text, separator="\t"),
    python='read_csv(path, sep="\\t")',
    r="read.delim(file, check.names = FALSE)",
    stata='import delimited "`file\'", clear case(preserve) delimiters(tab)',
    text=True,
)
