"""When a question is asked at all: ``applies_when``, structural skips.

A column with ``applies_when: "employed == 'YES'"`` has a value only where the condition is true. The condition is
evaluated on the columns as they are released, so in every copy the cell is missing where the condition is false of the
copy's own values. Missing where it applies is an ordinary missing value.

A kept column may depend on kept columns only: if a column of its condition were drawn anew, either the kept value
would stand where it does not apply, or its gaps would reveal the true value of the column that was replaced.
"""

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.errors import InputError
from synthdp.table import derived, expressions
from synthdp.table.coded import first_row
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Column, Role, Schema

# fewer records with a value than this teach a model nothing of a replaced column
FEWEST_RECORDS = 10


def holds(column: Column, frame: pd.DataFrame) -> Booleans:
    """Return for which records of a table a column applies, derived columns of the condition computed afresh.

    Examples
    --------
    >>> income = Column(name="income", kind="count", role="keep", key=False, applies_when="job == 'YES'")
    >>> holds(income, pd.DataFrame({"job": ["YES", "NO", None]})).tolist()
    [True, False, False]
    """
    if column.applies_when is None:
        return np.ones(len(frame), dtype=bool)
    return _condition(column, frame).to_numpy(dtype=bool)


def _condition(column: Column, frame: pd.DataFrame) -> pd.Series:
    for source in column.applies_through:
        frame = frame.assign(**{source.name: derived.computed(source, frame)})
    return expressions.evaluate(str(column.applies_when), frame)


def conditional(schema: Schema) -> tuple[Column, ...]:
    """Return the columns that do not apply to everyone, each after those its condition names."""
    found = [column for column in schema.columns if column.applies_when is not None]
    return tuple(schema[name] for name in visits(found))


def needs(column: Column) -> set[str]:
    """Return the columns a condition names, and those of the formulas it needs; nothing for a column without one."""
    if column.applies_when is None:
        return set()
    named = expressions.names(column.applies_when)
    return named.union(*(expressions.names(str(source.derived)) for source in column.applies_through))


def visits(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of columns in the order given, but each after those its condition names.

    Examples
    --------
    >>> a = Column(name="a", kind="count", role="replace", key=False, applies_when="b > 1")
    >>> visits((a, Column(name="b", kind="count", role="replace", key=False)))
    ('b', 'a')
    """
    left, done = {column.name: column for column in columns}, list[str]()
    while left:
        ready = next((name for name in left if not needs(left[name]) & set(left) - {name}), next(iter(left)))
        del left[ready]
        done.append(ready)
    return tuple(done)


def touched(schema: Schema) -> set[str]:
    """Return the replaced columns that apply only sometimes or decide whether others do."""
    found: set[str] = set()
    for column in conditional(schema):
        found |= {column.name, *needs(column)}
    return found & {column.name for column in schema.replaced()}


def blanked(frame: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Return a table in which every replaced column is missing where it does not apply."""
    for column in conditional(schema):
        if column.role is Role.REPLACE:
            frame = frame.assign(**{column.name: without(frame[column.name], ~holds(column, frame))})
    return frame


def without(series: pd.Series, rows: Booleans) -> pd.Series:
    """Return a column that is missing in some rows; its type changes only where it has no missing value."""
    return series.mask(rows) if rows.any() else series


def broken(frame: pd.DataFrame, schema: Schema) -> dict[str, int]:
    """Return by column how many records have a value where it does not apply; columns without any are left out."""
    counts = {
        column.name: int(np.count_nonzero(frame[column.name].notna().to_numpy(dtype=bool) & ~holds(column, frame)))
        for column in conditional(schema)
        if column.name in frame.columns
    }
    return {name: count for name, count in counts.items() if count}


def settled(schema: Schema) -> Schema:
    """Return the schema with the derived columns that a condition needs beside it, in the order they are computed."""
    columns = [
        column.model_copy(update={"applies_through": _through(column, schema)})
        if column.applies_when is not None
        else column
        for column in schema.columns
    ]
    return Schema(columns=tuple(columns))


def without_exceptions(data: Microdata) -> Microdata:
    """Return records whose values that stand where a column does not apply are missing, where they are few enough.

    What is few is said by ``applies_exceptions``; conditions that :func:`problems` finds fault with are left alone.

    Examples
    --------
    >>> frame = pd.DataFrame({"job": ["YES", "NO", "NO"], "income": [900.0, None, 100.0]})
    >>> job = Column(name="job", kind="binary", role="keep", key=False, levels=("YES", "NO"))
    >>> income = Column(name="income", kind="continuous", role="keep", key=False, applies_when="job == 'YES'")
    >>> rare = income.model_copy(update={"applies_exceptions": 0.5})
    >>> without_exceptions(Microdata(frame, Schema(columns=(job, rare)))).frame["income"].notna().tolist()
    [True, False, False]
    """
    lenient = [column for column in data.schema.columns if column.applies_exceptions > 0]
    if not lenient or any(_wording(column, data.schema) for column in lenient) or _ring(data.schema):
        return data
    frame, schema = data.frame, settled(data.schema)
    for column in conditional(schema):
        if column.applies_exceptions == 0:
            continue
        try:
            applies = holds(column, frame)
        except (InputError, TypeError, ValueError):
            return data
        wrong = frame[column.name].notna().to_numpy(dtype=bool) & ~applies
        if wrong.sum() <= column.applies_exceptions * np.count_nonzero(~applies):
            frame = frame.assign(**{column.name: without(frame[column.name], wrong)})
    return Microdata(frame, data.schema)


def problems(data: Microdata) -> list[str]:
    """Return what is wrong with the conditions, one sentence each; counts and rows, no value."""
    declared = [column for column in data.schema.columns if column.applies_when is not None]
    found = [sentence for column in declared for sentence in _wording(column, data.schema)]
    if found or not declared:
        return found
    ring = _ring(data.schema)
    if ring:
        return [f"variables: whether {', '.join(ring)} apply is circular; break the cycle of applies_when."]
    schema = settled(data.schema)
    for column in declared:
        why = _conflict(schema[column.name], schema) or _difference(schema[column.name], data.frame)
        found += [f"variables.{column.name}.applies_when: {why}"] if why is not None else []
    return found


def _wording(column: Column, schema: Schema) -> list[str]:
    where = f"variables.{column.name}.applies_when"
    named, found = derived.named(str(column.applies_when), where, schema)
    if column.name in named:
        found.append(f"{where}: names {column.name} itself; a column cannot decide whether it applies.")
    clusters = sorted(name for name in named if name in schema and schema[name].design == "cluster")
    if clusters:
        found.append(f"{where}: {clusters[0]} is the survey's cluster, which no model sees; use another column.")
    return found


def _ring(schema: Schema) -> list[str]:
    """Return the columns that need each other to know whether they apply."""
    graph = {column.name: _named(column) for column in schema.columns}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return sorted(set(error.args[1]))
    return []


def _named(column: Column) -> set[str]:
    text = column.applies_when or column.derived
    return expressions.names(text) if text is not None else set()


def _through(column: Column, schema: Schema) -> tuple[Column, ...]:
    wanted: dict[str, Column] = {}
    open_names = list(expressions.names(str(column.applies_when)))
    while open_names:
        name = open_names.pop()
        if schema[name].derived is not None and name not in wanted:
            wanted[name] = schema[name]
            open_names += expressions.names(str(schema[name].derived))
    graph = {name: _named(source) & set(wanted) for name, source in wanted.items()}
    return tuple(wanted[name] for name in TopologicalSorter(graph).static_order())


def _conflict(column: Column, schema: Schema) -> str | None:
    if column.role is not Role.KEEP:
        return None
    replaced = sorted(name for name in needs(column) if schema[name].role is Role.REPLACE)
    if not replaced:
        return None
    others = ", ".join(replaced)
    return (
        f"{column.name} is kept and {others} replaced, so a copy would have values where they do not apply, or the "
        f"gaps would reveal the true {others}; replace {column.name} too, or keep {others}."
    )


def _difference(column: Column, frame: pd.DataFrame) -> str | None:
    """Return how a condition differs from the gaps of its column, or None."""
    try:
        value = _condition(column, frame)
    except InputError as error:
        return str(error)
    if not pd.api.types.is_bool_dtype(value.dtype):
        return "must be a condition, true or false for each record."
    applies, present = value.to_numpy(dtype=bool), frame[column.name].notna().to_numpy(dtype=bool)
    wrong = present & ~applies
    if wrong.any():
        return (
            f"{int(wrong.sum())} records have a value where the condition is false{_allowed(column)}; first at row "
            f"{first_row(wrong)}. Correct the condition, or the data."
        )
    known = int((present & applies).sum())
    if column.role is Role.REPLACE and known < FEWEST_RECORDS:
        return (
            f"at least {FEWEST_RECORDS} records with a value are required to learn from, found {known}; set role: drop."
        )
    return None


def _allowed(column: Column) -> str:
    """Return how many exceptions would be taken for slips, where some are."""
    share = column.applies_exceptions
    return f", more than applies_exceptions: {share:g} takes for slips" if share else ""
