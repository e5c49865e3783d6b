"""Which records share a combination of values, and what files must have before a measure can be taken on them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.errors import InputError
from synthdp.table.coded import Coded, coded, dense, merge
from synthdp.table.schema import Column, Kind, Schema

# 0.6 / 0.2 is a hair below 3: a value on a border belongs to the class above it
ROUNDING = 1e-9


def classes(frames: Sequence[pd.DataFrame], column: Column, *, exact: bool = False) -> list[Codes]:
    """Code one column of several files alike, in the order of its values.

    Levels are compared as levels. Numbers fall into classes of width 2 × tolerance, that is, into what an intruder who
    knows them up to the tolerance can tell apart; with ``exact`` or a tolerance of 0 every number is its own class.
    Missing is a class of its own, the last but one, as in synthpop; a value that is no level, or no number, comes last
    and matches nothing in a checked original.

    Raises
    ------
    InputError
        If a date column holds something that is no date, or a numeric one holds dates.

    Notes
    -----
    Cost O(n log n) for numbers, O(n) for levels. Codes are dense over all files together.

    Examples
    --------
    >>> age = Column(name="age", kind="continuous", role="keep", key=True, tolerance=2)
    >>> files = pd.DataFrame({"age": [3.0, 4.0, 9.0]}), pd.DataFrame({"age": [7.9, None]})
    >>> [found.tolist() for found in classes(files, age)]
    [[0, 1, 2], [1, 3]]
    """
    if column.kind.categorical:
        levels = len(column.levels)
        stacked = np.concatenate([coded(frame).codes(column, missing=levels, foreign=levels + 1) for frame in frames])
        found = dense(stacked)
    else:
        numbers = np.concatenate([_numbers(coded(frame), column, exact=exact) for frame in frames])
        found = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return np.split(found, np.cumsum([len(frame) for frame in frames])[:-1])


def combine(frames: Sequence[pd.DataFrame], columns: Sequence[Column], *, exact: bool = False) -> list[Codes]:
    """Code the combination of several columns: records have equal codes when they are in equal classes everywhere.

    Codes are dense, from 0, over all files together; without columns everybody is alike.
    """
    sizes = [len(frame) for frame in frames]
    joint = np.zeros(sum(sizes), dtype=np.int64)
    for column in columns:
        joint = merge(joint, np.concatenate(classes(frames, column, exact=exact)))
    return np.split(joint, np.cumsum(sizes)[:-1])


def alone(codes: Codes) -> Booleans:
    """Return who has a combination of values that nobody else has."""
    return np.asarray(np.bincount(codes)[codes] == 1, dtype=np.bool_)


def require_keys(schema: Schema, measure: str) -> tuple[Column, ...]:
    """Return what an intruder knows, or raise InputError when nobody has said it."""
    if not schema.keys():
        raise InputError(f"{measure}: needs to know what an intruder knows; set key: true for at least one column.")
    return schema.keys()


def require_copies(
    frames: Sequence[pd.DataFrame], columns: Sequence[Column], measure: str, *, which: str = "needed; add it"
) -> None:
    """Raise InputError unless there is a copy, and every copy has every column."""
    if not frames:
        raise InputError(f"{measure}: needs at least one copy, found none.")
    require_columns(frames, columns, measure, which=which)


def require_columns(
    frames: Sequence[pd.DataFrame], columns: Sequence[Column], measure: str, *, which: str = "needed; add it"
) -> None:
    """Raise InputError unless every copy has every column; ``which`` says what an absent one is."""
    for number, frame in enumerate(frames, start=1):
        absent = [column.name for column in columns if column.name not in frame.columns]
        if absent:
            raise InputError(f"{measure}: copy {number} has no column {absent[0]!r}, which is {which}.")


def require_weights(frame: pd.DataFrame, column: Column, measure: str) -> Floats:
    """Return the survey's weights, or raise InputError when some are no numbers of people."""
    weights = coded(frame).finite(column)
    bad = ~(weights >= 1 - 1e-9)
    if bad.any():
        raise InputError(
            f"{measure}: weights must be numbers of people, at least 1; found {int(bad.sum())} others, first at row "
            f"{int(np.flatnonzero(bad)[0]) + 1}; scale them to the population."
        )
    return weights


def require_targets(names: Sequence[str], known: Sequence[Column], measure: str) -> tuple[Column, ...]:
    """Return the columns of these names, or raise InputError for one that the data do not have."""
    by_name = {column.name: column for column in known}
    for name in names:
        if name not in by_name:
            raise InputError(f"{measure}: {name!r} is not a column of the data; correct the name.")
    return tuple(by_name[name] for name in dict.fromkeys(names))


def _numbers(file: Coded, column: Column, *, exact: bool) -> Floats:
    try:
        values = file.numbers(column)
    except (ValueError, TypeError):
        wanted = "dates" if column.kind is Kind.DATE else "numbers"
        raise InputError(
            f"{column.name}: a {column.kind} column needs {wanted}, found values that are not; correct the file."
        ) from None
    known = np.isfinite(values)
    if not exact and column.tolerance > 0:
        values = np.floor(values / (2 * column.tolerance) + ROUNDING)
    # beyond every finite number: missing, then what is no number
    return np.where(known, values, np.where(file.present(column.name), np.nan, np.inf))
