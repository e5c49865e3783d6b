"""How SPSS, Stata and SAS count time: which formats are dates, from which day, in which unit."""

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from synthdp.io.labels import Family

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
