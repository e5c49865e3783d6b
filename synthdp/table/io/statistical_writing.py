"""SPSS, Stata and SAS transport files as bytes that depend on nothing but the table and its labels."""

import re
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from synthdp.errors import InputError
from synthdp.table.io.formats import Contents, Format
from synthdp.table.io.labels import CALENDARS, Code, Family, Labels
from synthdp.table.io.narrowing import LARGEST_EXACT
from synthdp.table.io.statistical import read_statistical
from synthdp.table.io.storing import Stored
from synthdp.table.schema import Role

StatisticalFormat = Literal["dta", "sav", "xpt"]
FAMILIES: dict[str, Family] = {"dta": "stata", "sav": "spss", "xpt": "sas"}
STATA_14 = 14  # its files (format 118) hold Unicode, and everything since reads them
_LONGEST_LABEL = {"dta": 80, "sav": 255, "xpt": 255}
_LONGEST_VALUE_LABEL = {"dta": 32000, "sav": 120, "xpt": 0}

# Where each format notes when it was written, and what stands there instead. The lengths must not change.
_SAV_TIME = (92, b"01 Jan 7000:00:00")
_DTA_TIME = re.compile(rb"(?<=<timestamp>\x11).{17}(?=</timestamp>)", re.DOTALL)
_DTA_EPOCH = b"01 Jan 1970 00:00"
_XPT_TIME = re.compile(rb"\d{2}[A-Z]{3}\d{2}:\d{2}:\d{2}:\d{2}")
_XPT_EPOCH = b"01JAN70:00:00:00"
_XPT_HEADER = 640
_WHOLE = {"sav": "F8.0"}


@dataclass(frozen=True)
class NameRule:
    """Which column names a format allows."""

    form: re.Pattern[str]
    words: str
    reserved: frozenset[str] = frozenset()
    ignores_case: bool = False
    longest_bytes: int = 1000

    def allows(self, name: str) -> bool:
        """Whether a column may have this name."""
        fits = self.form.fullmatch(name) is not None and len(name.encode()) <= self.longest_bytes
        return fits and (name.upper() if self.ignores_case else name) not in self.reserved


_STATA_WORDS = frozenset(
    {
        "_all", "_b", "byte", "_coef", "_cons", "double", "float", "if", "in", "int", "long", "_n", "_N", "_pi",
        "_pred", "_rc", "_skip", "strL", "using", "with",
    }
)  # fmt: skip
_SPSS_WORDS = frozenset({"ALL", "AND", "BY", "EQ", "GE", "GT", "LE", "LT", "NE", "NOT", "OR", "TO", "WITH"})
_RULES = {
    "dta": NameRule(
        re.compile(r"[^\W\d]\w{0,31}"),
        "letters, digits and underscores, at most 32",
        _STATA_WORDS,
    ),
    "sav": NameRule(
        re.compile(r"([^\W\d_]|@)([\w.$#@]*[\w$#@])?"),
        "a letter, then letters, digits and ._$#@, at most 64 bytes",
        _SPSS_WORDS,
        ignores_case=True,
        longest_bytes=64,
    ),
    "xpt": NameRule(
        re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}"),
        "letters without accents, digits and underscores, at most 32",
        ignores_case=True,
    ),
}


def name_problems(names: Collection[str], *, format: StatisticalFormat) -> list[str]:
    """Return which column names a format does not allow, one sentence each."""
    rule = _RULES[format]
    wrong = [name for name in names if not rule.allows(name)]
    problems = [
        f"release.format: {format} does not allow the column name {name!r} ({rule.words}); rename it, or use csv."
        for name in wrong
    ]
    folded = [name.casefold() for name in names]
    if rule.ignores_case and len(set(folded)) < len(folded):
        problems.append(f"release.format: {format} does not tell upper from lower case in column names; rename one.")
    return problems


def encode_statistical(contents: Contents, *, format: StatisticalFormat) -> bytes:
    """Return an SPSS, Stata or SAS transport file; numbers are 8 bytes in all three, whatever the schema has."""
    table, labels, letters, stored = contents.table, contents.labels, contents.letters, contents.stored
    own = labels.formats if labels.family == FAMILIES[format] else {}
    columns, formats = {}, {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        values, shown = _values(column, name, format, own.get(name), stored.get(name))
        if name in letters and letters[name].notna().any():
            coded = letters[name].notna().to_numpy()
            values = values.astype(object).mask(coded, letters[name].set_axis(values.index))
        columns[name] = values
        if shown is not None:
            formats[name] = shown
    frame = pd.DataFrame(columns)
    options: dict[str, Any] = {
        "column_labels": {
            n: _cut(labels.variables[n], _LONGEST_LABEL[format]) for n in columns if n in labels.variables
        },
        "variable_format": formats,
    }
    if format != "xpt":
        options["variable_value_labels"] = _value_labels(frame, format, labels)
    return _written(frame, format, labels, options)


def _written(frame: pd.DataFrame, format: StatisticalFormat, labels: Labels, options: dict[str, Any]) -> bytes:
    import pyreadstat  # only these files need it

    # the library writes to a named file only
    with tempfile.TemporaryDirectory(prefix="synthdp-") as folder:
        path = Path(folder) / f"table.{format}"
        if format == "sav":
            missing = labels.missing if labels.family == "spss" else {}
            options["missing_ranges"] = {name: [_range(r) for r in found] for name, found in missing.items()}
            options["variable_measure"] = {name: m for name, m in labels.measures.items() if name in frame}
            pyreadstat.write_sav(frame, str(path), **options)
        elif format == "dta":
            missing = labels.missing if labels.family in ("stata", "sas") else {}
            options["missing_user_values"] = {name: [low for low, _ in found] for name, found in missing.items()}
            pyreadstat.write_dta(frame, str(path), version=STATA_14, **options)
        else:
            short = all(len(str(name)) <= 8 for name in frame) and all(
                len(t) <= 40 for t in options["column_labels"].values()
            )
            pyreadstat.write_xport(
                frame, str(path), table_name="SYNTH", file_format_version=5 if short else 8, **options
            )
        return _timeless(path.read_bytes(), format)


def _timeless(data: bytes, format: StatisticalFormat) -> bytes:
    """Return the file without the time it was written: that is no business of its readers, and no two runs agree."""
    if format == "sav":
        start, constant = _SAV_TIME
        return data[:start] + constant + data[start + len(constant) :]
    if format == "dta":
        return _DTA_TIME.sub(_DTA_EPOCH, data, count=1)
    return _XPT_TIME.sub(_XPT_EPOCH, data[:_XPT_HEADER]) + data[_XPT_HEADER:]


def _values(
    column: Any, name: str, format: StatisticalFormat, own: str | None, stored: Stored | None
) -> tuple[pd.Series, str | None]:
    """Return a column as the numbers or texts that go into the file, and the format it is shown in."""
    kind, calendar = column.type, CALENDARS[FAMILIES[format]]
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        moment = calendar.moment(own)
        if moment is None:
            whole = stored.sort == "date" if stored is not None else _whole_days(column)
            moment, own = ("date", calendar.date_format) if whole else ("datetime", calendar.datetime_format)
        return calendar.write(column, moment), own
    if stored is not None and stored.column.role is not Role.KEEP:
        own = None  # how wide a replaced column was shown may have followed from its values
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return column.cast(pa.float64()).to_pandas(), own or _shown(stored, format)
    if pa.types.is_integer(kind):
        largest = pc.max(pc.abs(column.cast(pa.float64(), safe=False))).as_py()
        if largest is not None and largest > LARGEST_EXACT:
            return column.cast(pa.string()).fill_null("").to_pandas(), None  # a float would change the last digits
        # a file has whole numbers of 4 bytes, which neither hold all of ours nor can be missing
        return column.cast(pa.float64()).to_pandas(), own or _shown(stored, format) or _WHOLE.get(format)
    if pa.types.is_floating(kind):
        values = column.cast(pa.float64()).to_pandas()
        if np.isinf(values).any():
            raise InputError(f"release.format: {format} cannot hold the infinite numbers of {name}; use csv.")
        return values, own or _shown(stored, format)
    # the width of a text column would tell the longest value of the original, so its format is not passed on
    texts = column.cast(pa.string()).fill_null("").to_pandas()
    return (texts if stored is None else _widened(texts, stored.width)), None


def _whole_days(column: Any) -> bool:
    days = column if pa.types.is_date(column.type) else column.cast(pa.date32(), safe=False)
    return pc.all(pc.equal(days.cast(column.type, safe=False), column)).as_py() is not False


def _shown(stored: Stored | None, format: StatisticalFormat) -> str | None:
    """Return the SPSS format of a number; Stata and SAS show 8 bytes the same way, whatever is in them."""
    if stored is None or format != "sav":
        return None
    width, decimals = stored.shown()
    return f"F{width}.{decimals}"


def _widened(texts: pd.Series, width: int) -> pd.Series:
    """Return texts of which the first is as wide as the column shall be.

    The library makes a column as wide as its longest text. The zeros end the text there, and are not written.
    """
    first = str(texts.iloc[0])
    widened = texts.astype(object).copy()
    widened.iloc[0] = first + "\0" * (width - len(first.encode()))
    return widened


def _value_labels(frame: pd.DataFrame, format: StatisticalFormat, labels: Labels) -> dict[str, dict[Code, str]]:
    found: dict[str, dict[Code, str]] = {}
    for name in frame.columns:
        texts = {code: _cut(text, _LONGEST_VALUE_LABEL[format]) for code, text in labels.values.get(name, {}).items()}
        numeric = pd.api.types.is_numeric_dtype(frame[name]) or name in labels.missing
        if format == "dta":  # Stata labels whole numbers and its own missing letters only
            known = {low for low, _ in labels.missing.get(name, ())}
            texts = {code: text for code, text in texts.items() if isinstance(code, int) or code in known}
        if texts and (numeric or format == "sav"):
            found[str(name)] = texts
    return found


def _range(bounds: tuple[Code, Code]) -> Any:
    low, high = bounds
    return low if low == high else {"lo": low, "hi": high}


def _cut(text: str, longest: int) -> str:
    """Return a text that is not longer than a format allows, in bytes and without half a letter at the end."""
    return text.encode()[:longest].decode(errors="ignore")


def _statistical(
    name: StatisticalFormat, endings: tuple[str, ...], *, python: str, r: str, stata: str, lettered: bool = False
) -> Format:
    return Format(
        name=name,
        endings=endings,
        read=read_statistical,
        write=partial(encode_statistical, format=name),
        python=python,
        r=r,
        stata=stata,
        lettered=lettered,
        refuses=partial(name_problems, format=name),
    )


DTA = _statistical(
    "dta",
    (".dta",),
    python="read_stata(path, convert_categoricals=False)",
    r="haven::read_dta(file)",
    stata='use "`file\'", clear',
    lettered=True,
)
SAV = _statistical(
    "sav",
    (".sav", ".zsav", ".por"),
    python="read_spss(path, convert_categoricals=False)",
    r="haven::read_sav(file)",
    stata='import spss using "`file\'", clear',
)
XPT = _statistical(
    "xpt",
    (".xpt", ".sas7bdat"),
    python='read_sas(path, encoding="utf-8")',
    r="haven::read_xpt(file)",
    stata='import sasxport5 "`file\'", clear',
)
