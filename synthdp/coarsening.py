"""Making columns coarser before anything else happens: recode, bottomcode, topcode, round, and grouping rare levels.

What is kept is released as it is, so what is too fine in it must go first. Everything after this step, the comparison
with the original included, knows the coarser column only.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.schema import COARSENINGS, NUMERIC_COARSENINGS, Level, Role, Variable

OTHER = "other"
# 3 * 0.1 is 0.30000000000000004; nobody writes steps that need more digits than this
DIGITS = 10


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
        if any(step in NUMERIC_COARSENINGS for step in wanted):
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


def _coarse_numbers(series: pd.Series, variable: Variable, name: str, problems: list[str]) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(series) or pd.api.types.is_bool_dtype(series):
        steps = [step for step in NUMERIC_COARSENINGS if getattr(variable, step) is not None]
        problems.append(f"variables.{name}.{steps[0]}: needs numbers, found values that are not; use recode.")
        return series
    values = np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    values = np.clip(values, variable.bottomcode, variable.topcode)
    if variable.round is not None:
        # halves go up, as people expect: 50 to a step of 20 is 60
        values = np.round(np.floor(np.round(values / variable.round, DIGITS) + 0.5) * variable.round, DIGITS)
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
