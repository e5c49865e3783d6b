"""Tables as the bytes of a file; equal tables give equal bytes."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from synthdp.table.io.delimited import LARGEST_EXACT, escaped
from synthdp.table.io.formats import FORMATS, Contents
from synthdp.table.io.labels import Labels
from synthdp.table.io.storing import Stored


def encode(
    frame: pd.DataFrame,
    *,
    format: str,
    labels: Labels | None = None,
    stored: Mapping[str, Stored] | None = None,
    escape_formulas: bool = False,
) -> bytes:
    """Return a table as the bytes of a file; equal tables give equal bytes.

    The row labels and everything else pandas attaches to a frame (attributes, unused categories) stay out: they would
    tell more than the values do. So does the time of writing.

    Parameters
    ----------
    labels
        Written into SPSS, Stata and SAS transport files as far as these can hold them.
    stored
        The type of each column as the schema has it (`storage`); other columns get the type of their values.
    escape_formulas
        In text files: a quotation mark before text that a spreadsheet would take for a formula.
    """
    labels, stored = labels or Labels(), stored or {}
    letters = {}
    if FORMATS[format].lettered:
        for name in set(labels.missing) & set(frame.columns):
            letters[name] = frame[name].where(frame[name].isin([low for low, _ in labels.missing[name]]))
        frame = frame.assign(**{name: pd.to_numeric(frame[name], errors="coerce") for name in letters})
    names = [str(name) for name in frame.columns]
    series = [frame.iloc[:, i] for i in range(frame.shape[1])]
    table = pa.table(
        [stored[n].array(s) if n in stored else _plain(s) for n, s in zip(names, series, strict=True)], names=names
    )
    return FORMATS[format].write(Contents(table, labels, letters, stored, escape_formulas))


def write_parquet(contents: Contents) -> bytes:
    """Return a Parquet file."""
    sink = io.BytesIO()
    pyarrow.parquet.write_table(contents.table, sink)
    return sink.getvalue()


def write_feather(contents: Contents) -> bytes:
    """Return a Feather file."""
    sink = io.BytesIO()
    pyarrow.feather.write_feather(contents.table, sink, compression="lz4")
    return sink.getvalue()


def write_text(contents: Contents, *, separator: str) -> bytes:
    """Return a text file, with quotation marks where some text needs them."""
    names, stored = list(contents.table.column_names), contents.stored
    columns = [_printable(c, stored.get(n)) for n, c in zip(names, contents.table.columns, strict=True)]
    if contents.escape_formulas:
        columns = [escaped(c) if _is_text(c) else c for c in columns]
        names = escaped(pa.array(names)).to_pylist()
    sink = io.BytesIO()
    sink.write(_csv_line(names, separator))
    quoting = "needed" if _quotes(columns, stored, separator) else "none"
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=quoting, delimiter=separator)
    pyarrow.csv.write_csv(pa.table(columns, names=names), sink, options)
    return sink.getvalue()


def write(
    frame: pd.DataFrame,
    path: Path,
    *,
    format: str,
    labels: Labels | None = None,
    stored: Mapping[str, Stored] | None = None,
) -> None:
    """Write a table to a file; equal tables give equal bytes."""
    path.write_bytes(encode(frame, format=format, labels=labels, stored=stored))


def _plain(series: pd.Series) -> Any:
    """Return a series as Arrow values with nothing of its past: no categories, no labels."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.dtype.categories.dtype if series.notna().all() else object)
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers and text in one column
        return pa.array([None if pd.isna(value) else str(value) for value in series], pa.string())


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


def _quotes(columns: Sequence[Any], stored: Mapping[str, Stored], separator: str) -> bool:
    """Whether some text, or a declared level, holds the separator, a quotation mark or a line end."""
    declared = [str(v) for one in stored.values() if one.column.levels_public for v in one.column.levels]
    texts = [c for c in columns if _is_text(c)] + [pa.array(declared, pa.string())]
    return any(pc.any(pc.match_substring_regex(c, f'[{separator}"\r\n]')).as_py() for c in texts)


def _csv_line(names: Sequence[str], separator: str) -> bytes:
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(names)
    return line.getvalue().encode()
