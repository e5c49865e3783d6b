"""Drawn values as cells of a copy: rounded like the data, inside their bounds, in the column's own dtype."""

import numpy as np
import pandas as pd
from pandas.tseries.api import guess_datetime_format

from synthdp.masking.evidence import Evidence, GaussianEvidence, LevelEvidence
from synthdp.table.applies import holds
from synthdp.table.coarsening import period_start
from synthdp.table.coded import moments, whole
from synthdp.table.links import Link
from synthdp.table.microdata import MISSING, Floats, decode
from synthdp.table.schema import Column, Kind

ISO_DATE = "%Y-%m-%d"


def write(values: Floats, column: Column, like: pd.Series) -> pd.Series:
    """Return numbers (dates: days since 1970; missing: NaN) as a series like the column's own.

    Parameters
    ----------
    values
        One per record.
    like
        The original column: its dtype, index and name are kept, and the way it writes dates as text.

    Examples
    --------
    >>> column = Column(name="age", kind="continuous", role="replace", key=True, bounds=(18, 90), decimals=0)
    >>> write(np.array([17.6, 42.3]), column, pd.Series([20, 30], name="age")).tolist()
    [18, 42]
    """
    values = settled(values, column, whole=pd.api.types.is_integer_dtype(like.dtype))
    if column.kind is Kind.DATE:
        # a smoothed date lies beside the first days that the data have
        first = values if column.period is None else period_start(values, column.period, nearest=True)
        return _dates(first, like, column.form)
    numeric = pd.Series(values, index=like.index, name=like.name)
    if pd.api.types.is_numeric_dtype(like.dtype):
        # numpy's whole numbers cannot be missing, as they are in a copy where a column does not apply
        if isinstance(like.dtype, np.dtype) and like.dtype.kind in "iu" and numeric.hasnans:
            return numeric
        return whole(numeric, like) if pd.api.types.is_integer_dtype(like.dtype) else numeric.astype(like.dtype)
    if _is_text(like):
        places = column.decimals
        text = [None if np.isnan(v) else f"{v:.{places}f}" if places is not None else repr(float(v)) for v in values]
        return pd.Series(text, index=like.index, name=like.name, dtype=like.dtype)
    return numeric


def settled(values: Floats, column: Column, *, whole: bool = False) -> Floats:
    """Return values rounded to the column's decimals (to whole numbers if asked) and inside its bounds."""
    decimals = 0 if whole else column.decimals
    if decimals is not None:
        values = np.round(values, decimals)
    if column.bounds is not None:
        values = np.clip(values, *column.bounds)
    return values


def _is_text(like: pd.Series) -> bool:
    present = like.dropna()
    return len(present) > 0 and isinstance(present.iloc[0], str)


def _dates(days: Floats, like: pd.Series, form: str | None) -> pd.Series:
    written = pd.Series(moments(days), index=like.index, name=like.name)
    if pd.api.types.is_datetime64_any_dtype(like.dtype):
        zone = getattr(like.dtype, "tz", None)
        if zone is not None:
            # an hour that the clocks skip or repeat is still an hour of that day
            first = np.ones(len(written), dtype=bool)
            written = written.dt.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
        typed: pd.Series = written.astype(like.dtype)
        return typed
    form = form or guess_datetime_format(str(like.dropna().iloc[0])) or ISO_DATE
    text: pd.Series = written.dt.strftime(form).astype(object).where(written.notna(), None)
    spelt: pd.Series = text.astype(like.dtype)
    return spelt


def flat(column: Column, n: int) -> Evidence:
    """Return evidence that says nothing about a column of n records."""
    return LevelEvidence.flat(n, len(column.levels)) if column.kind.categorical else GaussianEvidence.flat(n)


def released(drawn: Floats, column: Column, link: Link | None, like: pd.Series) -> pd.Series:
    """Return drawn values as they are written: levels by name, numbers rounded like the data, inside their bounds."""
    if link is None:
        return decode(np.where(np.isnan(drawn), MISSING, drawn).astype(np.int64), column, like)
    values = link.inverse(drawn)
    if column.kind is Kind.DATE:
        return write(values, column, like)
    numeric = pd.Series(settled(values, column), index=like.index, name=like.name)
    return whole(numeric, like) if column.decimals == 0 and pd.api.types.is_integer_dtype(like.dtype) else numeric


def completed(drawn: Floats, column: Column, frame: pd.DataFrame) -> pd.Series:
    """Return a column of a table with its missing values filled in, where it applies to the table's own records.

    Parameters
    ----------
    drawn
        Numbers on the column's own scale, or positions in its levels; one per record.
    """
    series = frame[column.name]
    new = decode(drawn.astype(np.int64), column, series) if column.kind.categorical else write(drawn, column, series)
    return series.where(series.notna() | ~holds(column, frame), new)
