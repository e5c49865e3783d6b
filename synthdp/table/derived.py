"""Derived columns: recomputed in every copy from the released columns, never drawn, never kept.

A column such as log(popul + 0.1) would undo the mask on popul if it were released as it is, and contradict the copies
if it were drawn on its own. So no synthesizer ever holds it: it is taken out before, and follows from its formula
afterwards.
"""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np
import pandas as pd

from synthdp.arrays import Codes
from synthdp.errors import InputError
from synthdp.table import expressions
from synthdp.table.coded import MISSING, codes, decode, first_row, numbers, whole
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Column, Schema

# data are written with 15 digits or more, and sums of a formula may be taken in another order
RELATIVE_ERROR = 1e-9
# how many records may lack the value on one side only: a formula that is missing everywhere reproduces nothing
MOST_ONE_SIDED = 0.01


def problems(data: Microdata) -> list[str]:
    """Return why formulas do not give the derived columns of the data, one sentence each; counts and rows, no value."""
    found: list[str] = []
    for column in data.schema.derived():
        found += named(str(column.derived), f"variables.{column.name}.derived", data.schema)[1]
    if found:
        return found
    try:
        _order(data.schema)
    except CycleError as error:
        return [
            f"variables: derived columns {', '.join(sorted(set(error.args[1])))} depend on each other; break the cycle."
        ]
    for column in data.schema.derived():
        why = _difference(column, data)
        found += [f"variables.{column.name}.derived: {why}"] if why is not None else []
    return found


def named(text: str, where: str, schema: Schema) -> tuple[set[str], list[str]]:
    """Return the columns that a formula or a condition names, and what is wrong with naming them."""
    try:
        found = expressions.names(text)
    except InputError as error:
        return set(), [f"{where}: {error}"]
    unknown = sorted(found - set(schema.names()))
    if not unknown:
        return found, []
    return found, [
        f"{where}: may name released columns only, found {', '.join(unknown)}; "
        "a column that is dropped or absent cannot be used."
    ]


def recompute(frame: pd.DataFrame, data: Microdata) -> pd.DataFrame:
    """Return a table with every derived column computed from the others, all columns in the order of the schema.

    Parameters
    ----------
    frame
        A copy; its derived columns may be absent.
    data
        The original, for the order and the types of the columns; no value is taken from it.

    Examples
    --------
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> data = resolve(pd.DataFrame({"twice": [2, 4, 6], "x": [1, 2, 3]}), {"twice": Variable(derived="2 * x")})
    >>> recompute(pd.DataFrame({"x": [5, 7, 9]}), data)["twice"].tolist()
    [10, 14, 18]
    """
    for column in _order(data.schema):
        frame = frame.assign(**{column.name: _released(column, frame, data.frame[column.name])})
    return frame[list(data.schema.names())]


def computed(column: Column, frame: pd.DataFrame) -> pd.Series:
    """Return a derived column as its formula gives it from the columns of a table."""
    return _released(column, frame, pd.Series(index=frame.index, dtype=object, name=column.name))


def _order(schema: Schema) -> list[Column]:
    """Return the derived columns, each after those its formula names."""
    derived = {column.name: column for column in schema.derived()}
    graph = {name: expressions.names(str(column.derived)) & set(derived) for name, column in derived.items()}
    return [derived[name] for name in TopologicalSorter(graph).static_order()]


def _difference(column: Column, data: Microdata) -> str | None:
    """Return how the formula differs from the column, or None."""
    try:
        value = expressions.evaluate(str(column.derived), data.frame)
    except InputError as error:
        return str(error)
    series = data.frame[column.name]
    if column.kind.categorical:
        wrong = codes(series, column) != _positions(column, value)
        made = _positions(column, value) != MISSING
    else:
        if not pd.api.types.is_numeric_dtype(value.dtype):
            return f"the formula must give numbers for a {column.kind} column."
        number, given = value.to_numpy(np.float64), numbers(series, column)
        # as it will be released: rounded to the decimals of the column
        step = 0.0 if column.decimals is None else 0.5 * 10.0**-column.decimals
        wrong = ~(np.abs(number - given) <= step + RELATIVE_ERROR * np.maximum(1.0, np.abs(given)))
        made = np.isfinite(number)
    present = series.notna().to_numpy()
    differs = wrong & present & made
    if differs.any():
        return (
            f"the formula differs from the column in {int(differs.sum())} records; "
            f"first at row {first_row(differs)}. Correct the formula, or set role: drop."
        )
    alone = present != made
    if alone.mean() > MOST_ONE_SIDED:
        return (
            f"in {int(alone.sum())} records only one of formula and column has a value; "
            f"first at row {first_row(alone)}. Correct the formula, or set role: drop."
        )
    return None


def _released(column: Column, frame: pd.DataFrame, like: pd.Series) -> pd.Series:
    value = expressions.evaluate(str(column.derived), frame)
    like = pd.Series(index=frame.index, dtype=like.dtype, name=like.name) if len(like) != len(frame) else like
    if column.kind.categorical:
        return decode(_positions(column, value), column, like).set_axis(frame.index)
    number = value.astype(np.float64)
    if column.decimals is not None:
        number = number.round(column.decimals)
    counted = column.decimals == 0 and pd.api.types.is_integer_dtype(like.dtype) and bool(number.notna().all())
    return whole(number, like) if counted else number


def _positions(column: Column, value: pd.Series) -> Codes:
    """Return what a formula gives as positions in the levels: by name, or counted from 0 when levels are words."""
    if not pd.api.types.is_numeric_dtype(value.dtype) or _numeric(column.levels):
        return codes(value, column)
    number = value.to_numpy(np.float64)
    inside = np.isin(number, np.arange(len(column.levels)))
    return np.where(inside, number, MISSING).astype(np.int64)


def _numeric(levels: Sequence[object]) -> bool:
    try:
        return bool([float(str(level)) for level in levels])
    except ValueError:
        return all(isinstance(level, bool) for level in levels)
