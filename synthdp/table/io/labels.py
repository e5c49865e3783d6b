"""What a file says about its columns beside their values.

Labels, user-missing codes, formats, and how SPSS, Stata and SAS count time.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

Code = int | float | str
Family = Literal["plain", "spss", "stata", "sas"]


@dataclass(frozen=True)
class Dialect:
    """How a file is written, where its name does not say it.

    Parameters
    ----------
    encoding
        Of text; SPSS, Stata and SAS files name their own, which is believed unless this is not UTF-8.
    decimal
        The decimal mark of text files; None is a point, and numbers with a comma are then refused, not guessed.
    separator
        Between the values of text files; None is a comma, or a tab in ``.tsv`` files.
    dates
        Columns that hold dates, with their form as ``strptime`` writes it (``%d.%m.%Y``).
    row_names
        The first column of a text file has no name and holds row names, as R writes them: it is left out.
    escaped
        Text that looks like a formula has a quotation mark before it (``release.escape_formulas``), which goes.
    """

    encoding: str = "utf-8"
    decimal: str | None = None
    separator: str | None = None
    dates: Mapping[str, str] = field(default_factory=dict)
    row_names: bool = False
    escaped: bool = False


@dataclass(frozen=True, repr=False)
class Labels:
    """The labels of a file.

    Parameters
    ----------
    variables
        What each column means.
    values
        What each code of a column means.
    missing
        The ranges (lowest, highest) of the codes of a column that mean "missing"; a single code is a range of one.
        Stata and SAS write letters.
    formats
        How the values of a column are displayed, in the words of the file's own software.
    measures
        The level of measurement that SPSS notes (nominal, ordinal, scale).
    family
        Whose formats and missing codes these are.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Code, str]] = field(default_factory=dict)
    missing: Mapping[str, tuple[tuple[Code, Code], ...]] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)
    family: Family = "plain"

    def __repr__(self) -> str:
        return f"Labels({len(self.variables)} variables, {len(self.values)} with value labels)"


@dataclass(frozen=True, repr=False)
class Table:
    """The records of a file, user-missing codes set to missing, and what the file says about them.

    Parameters
    ----------
    frame
        The records.
    labels
        Of the columns.
    codes
        For columns with user-missing codes: the code of each record that has one, missing elsewhere.
    unread
        Columns of the file that were not asked for.
    """

    frame: pd.DataFrame
    labels: Labels = field(default_factory=Labels)
    codes: Mapping[str, pd.Series] = field(default_factory=dict)
    unread: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Table({len(self.frame)} records x {self.frame.shape[1]} columns)"


def restored(
    copies: Sequence[pd.DataFrame],
    codes: Mapping[str, pd.Series],
    *,
    kept: Collection[str],
    labels: Labels,
    format: str,
) -> list[pd.DataFrame]:
    """Return the copies with the user-missing codes of kept columns as in the original.

    Only where the format can say that these codes mean "missing": elsewhere -8 would be taken for a value.

    Parameters
    ----------
    copies
        Row i belongs to record i.
    """
    fits = (labels.family, format) in (("spss", "sav"), ("stata", "dta"), ("sas", "dta"))
    found = [name for name in codes if name in kept] if fits else []
    return [copy.assign(**{name: _with_codes(copy[name], codes[name]) for name in found}) for copy in copies]


def _with_codes(series: pd.Series, codes: pd.Series) -> pd.Series:
    # letters stand between numbers, so the column must be able to hold both
    wide = series if pd.api.types.is_numeric_dtype(codes) else series.astype(object)
    coded = codes.notna().to_numpy() & series.isna().to_numpy()
    return wide.mask(coded, codes.set_axis(series.index))


def published(
    labels: Labels,
    copies: Sequence[pd.DataFrame],
    *,
    kept: Collection[str],
    declared: Mapping[str, Collection[Code]],
) -> Labels:
    """Return the labels that may be published with these copies.

    A label of a code that the copies do not hold would tell that someone with it exists, so it goes, unless the config
    declares the code. Missing codes stay only where they occur in a kept column: in a replaced one a drawn value could
    fall on them and would be read as missing.
    """
    names = [str(name) for name in copies[0].columns]
    values, missing = {}, {}
    for name in names:
        series = [copy[name] for copy in copies]
        ranges = labels.missing.get(name, ())
        if name in kept and ranges:
            missing[name] = tuple(r for r in ranges if any(_inside(s, r).any() for s in series))
        codes = {
            code: text
            for code, text in labels.values.get(name, {}).items()
            if (code in declared.get(name, ()) or any(bool(s.isin([code]).any()) for s in series))
            and (name in kept or not any(_is_inside(code, r) for r in ranges))
        }
        if codes:
            values[name] = codes
    return replace(
        labels,
        variables={name: labels.variables[name] for name in names if name in labels.variables},
        values=values,
        missing={name: ranges for name, ranges in missing.items() if ranges},
        formats={name: labels.formats[name] for name in names if name in labels.formats},
        measures={name: labels.measures[name] for name in names if name in labels.measures},
    )


def inside_any(series: pd.Series, ranges: Sequence[tuple[Code, Code]]) -> pd.Series:
    """Return which values of a column are user-missing codes."""
    found = pd.Series(False, index=series.index)
    for bounds in ranges:
        found |= _inside(series, bounds)
    return found


def _inside(series: pd.Series, bounds: tuple[Code, Code]) -> pd.Series:
    low, high = bounds
    if isinstance(low, str) or isinstance(high, str):
        return series.isin([low])
    if not pd.api.types.is_numeric_dtype(series):
        return pd.Series(False, index=series.index)
    return series.between(low, high)


def _is_inside(code: Code, bounds: tuple[Code, Code]) -> bool:
    low, high = bounds
    if isinstance(code, str) or isinstance(low, str) or isinstance(high, str):
        return code == low
    return low <= code <= high


Moment = Literal["date", "datetime"]


@dataclass(frozen=True)
class Calendar:
    """How one software counts time.

    Parameters
    ----------
    epoch
        The day that is zero.
    dates, datetimes
        What the names of the formats look like.
    day, second
        The number that is one day in a date, one second in a datetime.
    date_format, datetime_format
        What a column gets that had no format.
    """

    epoch: str
    dates: re.Pattern[str]
    datetimes: re.Pattern[str]
    day: float
    second: float
    date_format: str
    datetime_format: str

    def moment(self, format: str | None) -> Moment | None:
        """Return whether a format shows dates, datetimes, or numbers."""
        if format is None:
            return None
        if self.datetimes.match(format):
            return "datetime"
        return "date" if self.dates.match(format) else None

    def read(self, values: pd.Series, moment: Moment) -> pd.Series:
        """Return numbers of this calendar as datetimes."""
        unit = self.day / 86400 if moment == "date" else self.second
        numbers = np.asarray(pd.to_numeric(values, errors="coerce"), dtype=np.float64)
        present = np.isfinite(numbers)
        micro = np.round(np.where(present, numbers, 0.0) / unit * 1e6).astype("timedelta64[us]")
        found = np.datetime64(self.epoch, "us") + micro
        found[~present] = np.datetime64("NaT")
        return pd.Series(found, index=values.index, name=values.name)

    def write(self, column: Any, moment: Moment) -> pd.Series:
        """Return Arrow dates or timestamps as numbers of this calendar."""
        if pa.types.is_timestamp(column.type) and column.type.tz is not None:
            column = pc.local_timestamp(column)
        moments = column.cast(pa.timestamp("us"), safe=False).to_pandas()
        seconds = (moments - pd.Timestamp(self.epoch)) / pd.Timedelta(seconds=1)
        found: pd.Series = np.floor(seconds / 86400) * self.day if moment == "date" else seconds * self.second
        return found


CALENDARS: dict[Family, Calendar] = {
    "spss": Calendar(
        "1582-10-14", re.compile(r"[AEJS]?DATE\d"), re.compile(r"DATETIME|YMDHMS"), 86400, 1, "DATE11", "DATETIME20"
    ),
    "stata": Calendar("1960-01-01", re.compile(r"%-?t?d"), re.compile(r"%-?t[cC]"), 1, 1000, "%td", "%tc"),
    "sas": Calendar(
        "1960-01-01",
        re.compile(r"DATE|DDMMYY|MMDDYY|YYMMDD|[EB]8601DA|WORDDAT|WEEKDAT|JULIAN"),
        re.compile(r"DATETIME|[EB]8601DT|DATEAMPM"),
        1,
        1,
        "DATE9",
        "DATETIME19",
    ),
}
