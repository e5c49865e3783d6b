"""Making columns coarser before anything else happens: recode, bottomcode, topcode, round, and grouping rare levels.

Dates are rounded down to the first day of their month, quarter or year, and stay dates.

What is kept is released as it is, so what is too fine in it must go first. Everything after this step, the comparison
with the original included, knows the coarser column only.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from pandas.tseries.api import guess_datetime_format

from synthdp.arrays import Codes, Floats
from synthdp.errors import InputError
from synthdp.table.coded import days
from synthdp.table.schema import COARSENINGS, NUMERIC_COARSENINGS, Kind, Level, Period, Role, Variable

OTHER = "other"
# 3 * 0.1 is 0.30000000000000004; nobody writes steps that need more digits than this
DIGITS = 10
ISO_DATE = "%Y-%m-%d"
MONTHS: Mapping[Period, int] = {"month": 1, "quarter": 3, "year": 12}


def coarsen(frame: pd.DataFrame, variables: Mapping[str, Variable]) -> tuple[pd.DataFrame, dict[str, Variable]]:
    """Return the table with its columns made coarser, and the declarations that fit it.

    Raises
    ------
    InputError
        Listing everything that cannot be done, one sentence each.

    Examples
    --------
    >>> table = pd.DataFrame({"income": [10, 52, 900]})
    >>> coarsen(table, {"income": Variable(topcode=200, round=20)})[0]["income"].tolist()
    [20, 60, 200]
    """
    problems: list[str] = []
    settled = dict(variables)
    for name, variable in variables.items():
        wanted = [step for step in COARSENINGS if getattr(variable, step) is not None]
        if not wanted or variable.role is Role.DROP or list(frame.columns).count(name) != 1:
            continue  # an absent or duplicated column is reported where columns are checked
        series = frame[name]
        if variable.recode is not None:
            series = _recoded(series, variable.recode, name, problems)
        if variable.period is not None:
            series, settled[name] = _coarse_dates(series, variable, variable.period, name, problems)
        elif any(step in NUMERIC_COARSENINGS for step in wanted):
            series = _coarse_numbers(series, variable, name, problems)
        if variable.rare is not None:
            series, settled[name] = _grouped(series, variable, variable.rare, name, problems)
        frame = frame.assign(**{name: series})
    if problems:
        raise InputError(*problems)
    return frame, settled


def _recoded(series: pd.Series, recode: Mapping[Level, Level], name: str, problems: list[str]) -> pd.Series:
    place, distinct = pd.factorize(series)
    given = np.asarray(distinct, dtype=object)
    numeric = pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series)
    made, found = given.copy(), 0
    for old, new in recode.items():
        hits = np.array([_same(value, old, numeric=numeric) for value in given], dtype=bool)
        found += bool(hits.any())
        made[hits] = new
    if found < len(recode):
        problems.append(
            f"variables.{name}.recode: {len(recode) - found} of its {len(recode)} values do not occur in the data; "
            "correct or remove them."
        )
    # a column of text and numbers cannot be written as one type
    if any(isinstance(value, str) for value in made):
        made = np.array([str(value) for value in made], dtype=object)
    # a missing value has place -1, which is the end
    values = np.array([*made, None], dtype=object)[place]
    changed = pd.Series(values, index=series.index, name=series.name)
    plain = any(isinstance(value, bool | np.bool_ | str) for value in made)
    return changed.infer_objects() if plain else pd.to_numeric(changed)


def _same(value: object, old: Level, *, numeric: bool) -> bool:
    if not numeric:
        return str(value) == str(old)
    try:
        return float(str(value)) == float(old)
    except ValueError:
        return False


def period_start(moments: Floats, period: Period, *, nearest: bool = False) -> Floats:
    """Return the first day of the period that each day (since 1970) lies in, or the first day ``nearest`` to it.

    Examples
    --------
    >>> period_start(np.array([0.0, 30.0, 31.0, np.nan]), "month").tolist()
    [0.0, 0.0, 31.0, nan]
    """
    known = np.isfinite(moments)
    day = np.floor(np.where(known, moments, 0.0)).astype("int64").astype("datetime64[D]")
    months = day.astype("datetime64[M]").astype(np.int64) // MONTHS[period] * MONTHS[period]
    start, following = (_first_day(months + step) for step in (0, MONTHS[period]))
    if nearest:
        start = np.where(following - moments < moments - start, following, start)
    return np.asarray(np.where(known, start, np.nan), dtype=np.float64)


def _first_day(months: Codes) -> Floats:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.float64)


def _coarse_dates(
    series: pd.Series, variable: Variable, period: Period, name: str, problems: list[str]
) -> tuple[pd.Series, Variable]:
    """Return dates rounded down, of the same type and written in the same way, and the column declared as dates."""
    needs = f"variables.{name}.round: {period} needs dates, found "
    if pd.api.types.is_numeric_dtype(series) and bool(series.notna().any()):
        problems.append(f"{needs}numbers; round to a number, or say in data.dates how the dates are written.")
        return series, variable
    try:
        # 01/02/2020 is two different days, so other texts need data.dates
        dates = pd.to_datetime(series, format="ISO8601")
    except (ValueError, TypeError):
        problems.append(f"{needs}values that are not; say in data.dates how they are written.")
        return series, variable
    zone = dates.dt.tz
    start = period_start(days(dates), period)
    first = np.where(np.isfinite(start), start, 0.0).astype(np.int64).astype("datetime64[D]").astype("datetime64[us]")
    rounded = pd.DatetimeIndex(np.where(np.isfinite(start), first, np.datetime64("NaT", "us")))
    made = pd.Series(rounded, index=series.index, name=series.name)
    if pd.api.types.is_datetime64_any_dtype(series):
        if zone is not None:
            # midnight may be skipped or repeated where clocks change on a first day
            made = made.dt.tz_localize(zone, ambiguous=np.ones(len(made), dtype=bool), nonexistent="shift_forward")
        made = made.astype(series.dtype)
    elif bool(series.notna().any()):
        form = guess_datetime_format(str(series.dropna().iloc[0])) or ISO_DATE
        made = made.dt.strftime(form).astype(object).where(made.notna(), None).astype(series.dtype)
    return made, variable.model_copy(update={"kind": Kind.DATE})


def _coarse_numbers(series: pd.Series, variable: Variable, name: str, problems: list[str]) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series):
        steps = [step for step in NUMERIC_COARSENINGS if getattr(variable, step) is not None]
        if pd.api.types.is_datetime64_any_dtype(series):
            cure = "round: month, quarter or year makes dates coarser" if "round" in steps else "leave it out for dates"
            problems.append(f"variables.{name}.{steps[0]}: needs numbers, found dates; {cure}.")
        else:
            problems.append(f"variables.{name}.{steps[0]}: needs numbers, found values that are not; use recode.")
        return series
    values = np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    values = np.clip(values, variable.bottomcode, variable.topcode)
    step = variable.round
    if step is not None and not isinstance(step, str):
        # halves go up, as people expect: 50 to a step of 20 is 60
        values = np.round(np.floor(np.round(values / step, DIGITS) + 0.5) * step, DIGITS)
        values = np.clip(values, variable.bottomcode, variable.topcode)
    made = pd.Series(values, index=series.index, name=series.name)
    whole = pd.api.types.is_integer_dtype(series) and bool(made.notna().all()) and bool((made % 1 == 0).all())
    return made.astype(np.int64) if whole else made


def _grouped(
    series: pd.Series, variable: Variable, fewest: int, name: str, problems: list[str]
) -> tuple[pd.Series, Variable]:
    """Return the column with levels of too few records as one, which takes in the next rarest until it has enough."""
    numeric = pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series)
    if variable.kind is None and variable.levels is None and numeric:
        problems.append(f"variables.{name}.rare: is for nominal and ordinal columns; say kind: nominal.")
        return series, variable
    counts = series.value_counts().sort_index(key=lambda index: index.astype(str)).sort_values(kind="stable")
    # "other" of the file itself joins the group
    counts = counts.drop([level for level in counts.index if str(level) == OTHER])
    rare: list[object] = []
    total = int((series.astype(str) == OTHER).sum())
    for level, count in counts.items():
        if count >= fewest and (total >= fewest or total == 0):
            break
        rare.append(level)
        total += int(count)
    if not rare:
        return series, variable
    if len(rare) == len(counts):
        problems.append(
            f"variables.{name}.rare: would leave a single level; choose a smaller number, or drop the column."
        )
        return series, variable
    text = series.astype(object).map(str, na_action="ignore").where(~series.isin(rare), OTHER)
    if variable.levels is None:
        return text, variable
    present = set(text.dropna())
    levels = tuple(str(level) for level in variable.levels if str(level) in present and str(level) != OTHER)
    return text, variable.model_copy(update={"levels": (*levels, OTHER)})
