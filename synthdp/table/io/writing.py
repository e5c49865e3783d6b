"""Tables as the bytes of a file; equal tables give equal bytes."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from synthdp.table.io.delimited import LARGEST_EXACT, escaped
from synthdp.table.io.labels import Labels
from synthdp.table.io.statistical_writing import encode_statistical, name_rule
from synthdp.table.io.storing import Stored

Format = Literal["csv", "tsv", "parquet", "feather", "dta", "sav", "xpt"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SAME: dict[str, Format] = {".zsav": "sav", ".por": "sav", ".sas7bdat": "xpt", ".txt": "csv"}


def encode(
    frame: pd.DataFrame,
    *,
    format: Format,
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
    if format == "dta":
        for name in set(labels.missing) & set(frame.columns):
            letters[name] = frame[name].where(frame[name].isin([low for low, _ in labels.missing[name]]))
        frame = frame.assign(**{name: pd.to_numeric(frame[name], errors="coerce") for name in letters})
    names = [str(name) for name in frame.columns]
    series = [frame.iloc[:, i] for i in range(frame.shape[1])]
    table = pa.table(
        [stored[n].array(s) if n in stored else _plain(s) for n, s in zip(names, series, strict=True)], names=names
    )
    if format in ("dta", "sav", "xpt"):
        return encode_statistical(table, format=format, labels=labels, letters=letters, stored=stored)
    sink = io.BytesIO()
    if format == "parquet":
        pyarrow.parquet.write_table(table, sink)
        return sink.getvalue()
    if format == "feather":
        pyarrow.feather.write_feather(table, sink, compression="lz4")
        return sink.getvalue()
    separator = "\t" if format == "tsv" else ","
    columns = [_printable(c, stored.get(n)) for n, c in zip(names, table.columns, strict=True)]
    if escape_formulas:
        columns = [escaped(c) if _is_text(c) else c for c in columns]
        names = escaped(pa.array(names)).to_pylist()
    sink.write(_csv_line(names, separator))
    quoting = "needed" if _quotes(columns, stored, separator) else "none"
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=quoting, delimiter=separator)
    pyarrow.csv.write_csv(pa.table(columns, names=names), sink, options)
    return sink.getvalue()


def write(
    frame: pd.DataFrame,
    path: Path,
    *,
    format: Format,
    labels: Labels | None = None,
    stored: Mapping[str, Stored] | None = None,
) -> None:
    """Write a table to a file; equal tables give equal bytes."""
    path.write_bytes(encode(frame, format=format, labels=labels, stored=stored))


def format_like(path: Path) -> Format:
    """Return the format that a file of this name is written back in; SAS data files only SAS can write, so xpt.

    Examples
    --------
    >>> format_like(Path("survey.sav")), format_like(Path("survey.tsv.gz")), format_like(Path("survey.sas7bdat"))
    ('sav', 'tsv', 'xpt')
    """
    suffix = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    known: dict[str, Format] = {f".{format}": format for format in FORMATS} | _SAME
    return known.get(suffix.lower(), "csv")


def name_problems(names: Sequence[str], format: Format) -> list[str]:
    """Return which column names a format does not allow, one sentence each."""
    rule = name_rule(format)
    if rule is None:
        return []
    wrong = [name for name in names if not rule.allows(name)]
    problems = [
        f"release.format: {format} does not allow the column name {name!r} ({rule.words}); rename it, or use csv."
        for name in wrong
    ]
    folded = [name.casefold() for name in names]
    if rule.ignores_case and len(set(folded)) < len(folded):
        problems.append(f"release.format: {format} does not tell upper from lower case in column names; rename one.")
    return problems


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
