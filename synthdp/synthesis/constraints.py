"""Constraints between columns, such as yrs_married <= age - 12.

True of the original and of every copy, and checked quickly without a table.

A constraint is evidence too: x is drawn from p(x | z, w, θ) restricted to where it holds. The records that break it
are drawn again, from the same parameters, until they do not; given θ the records are independent, so this is rejection
sampling and exact. No true value is looked at. θ itself must be learnt from records that were restricted so, too: see
``truncation``.

A table is made of drawn values, and an expression evaluated on it, in about two milliseconds whatever their number; a
chain on a few hundred records would do little else. Where all columns that are named are numbers, or levels in words
that are compared with words, and nothing but arithmetic, comparisons and conditions is written, the same is done on
arrays; anything else is left to ``constraints``.
The rules are those of ``expressions``: a result that does not exist is missing, a comparison with it is false.
"""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.errors import InputError, Unfinished
from synthdp.imputation.cells import settled
from synthdp.imputation.model import Task
from synthdp.table import expressions
from synthdp.table.coded import first_row
from synthdp.table.expressions import ARITHMETIC, COMPARISONS, FUNCTIONS
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column, Kind

MOST_ROUNDS = 100
TREES = (
    "Trees learn the law of records that keep the constraints from those records, and drawing again what breaks one "
    "moves it a little: intervals of copies by trees under constraints cover less often than stated (see "
    "reports/constraints). Model regression takes account of it."
)


def problems(data: Microdata, constraints: Sequence[str]) -> list[str]:
    """Return why constraints cannot be asked for: not in the language, or untrue of the data; no value is shown."""
    found = []
    for number, text in enumerate(constraints, start=1):
        where = f"constraints, number {number}"
        try:
            unknown = sorted(expressions.names(text) - set(data.schema.names()))
            if unknown:
                found.append(f"{where}: may name kept and replaced columns only, found {', '.join(unknown)}.")
                continue
            holds = expressions.evaluate(text, data.frame)
        except InputError as error:
            found.append(f"{where}: {error}")
            continue
        if not pd.api.types.is_bool_dtype(holds.dtype):
            found.append(f"{where}: must be a condition, true or false for each record.")
            continue
        broken = violated(data.frame, [text])
        if broken.any():
            found.append(
                f"{where}: {int(broken.sum())} records of the data break it; first at row "
                f"{first_row(broken)}. Correct the data, or loosen the constraint."
            )
    return found


def binding(constraints: Sequence[str], columns: Iterable[str]) -> tuple[str, ...]:
    """Return the constraints that draws of some columns can break."""
    drawn = set(columns)
    return tuple(text for text in constraints if expressions.names(text) & drawn)


def violated(frame: pd.DataFrame, constraints: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which records break a constraint.

    A record with a missing value in a column that is named breaks nothing, as nothing can be said of it; a constraint
    that speaks of missing values itself (isnull) is taken as written.
    """
    broken = np.zeros(len(frame), dtype=bool)
    for text in constraints:
        wrong = ~expressions.evaluate(text, frame).to_numpy(dtype=bool)
        if "isnull" not in text:
            for name in sorted(expressions.names(text)):
                wrong &= frame[name].notna().to_numpy(dtype=bool)
        broken |= wrong
    return broken


def constrained(
    draw: Callable[[], pd.DataFrame], constraints: Sequence[str], *, copy: int, strict: bool = True
) -> pd.DataFrame:
    """Return a copy whose records all keep the constraints; only those that break one are drawn again.

    Cost: one full draw per round.

    Parameters
    ----------
    draw
        Gives all records anew, each time further along the same streams.
    copy
        The number of the copy, for the message.
    strict
        Whether records that still break a constraint after ``MOST_ROUNDS`` draws are an error.

    Raises
    ------
    Unfinished
        When records still break a constraint after ``MOST_ROUNDS`` draws and it is ``strict``.
    """
    frame = draw()
    broken = violated(frame, constraints)
    for _ in range(MOST_ROUNDS):
        if not broken.any():
            return frame
        again = draw()
        taken = broken & ~violated(again, constraints)
        frame = _with_rows(frame, again, taken)
        broken &= ~taken
    if not strict or not broken.any():
        return frame
    raise Unfinished(
        f"constraints: {int(broken.sum())} records of copy {copy} still break one after {MOST_ROUNDS} further draws; "
        "the model hardly ever draws what is asked for. Loosen the constraint, give its columns bounds or a transform "
        "that suit it, or replace only one of them."
    )


def _with_rows(frame: pd.DataFrame, other: pd.DataFrame, rows: npt.NDArray[np.bool_]) -> pd.DataFrame:
    if not rows.any():
        return frame
    columns = {str(name): frame[name].where(~rows, other[name]) for name in frame.columns}
    return pd.DataFrame(columns, index=frame.index)


# which of some draws break a constraint, by the records they are of and their working values
Check = Callable[[Codes, Mapping[str, Floats]], Booleans]
Conditions = Callable[[Codes, Mapping[str, Floats]], list[Booleans]]
Values = Mapping[str, Floats]
# the place of each level in words
Words = Mapping[str, int]
Read = Callable[[Codes, Mapping[str, Floats]], dict[str, Floats]]
# the operators of the language, which take arrays as they take series
OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {**ARITHMETIC, **COMPARISONS}


class _Beyond(Exception):
    """The expression is none that can be evaluated on arrays of numbers."""


def quick_check(task: Task, constraints: Sequence[str]) -> Check | None:
    """Return what looks at draws as they would be released, or None where that takes a table."""
    quick = _quick(task, constraints)
    if quick is None:
        return None
    conditions, read = quick
    names = [expressions.names(text) for text in constraints]

    def check(rows: Codes, drawn: Mapping[str, Floats]) -> Booleans:
        values = read(rows, drawn)
        broken = np.zeros(len(rows), dtype=bool)
        with np.errstate(all="ignore"):
            for condition, used in zip(conditions, names, strict=True):
                wrong = ~condition(values)
                for name in used:
                    wrong &= ~np.isnan(values[name])
                broken |= wrong
        return broken

    return check


def quick_conditions(task: Task, texts: Sequence[str]) -> Conditions | None:
    """Return what says of draws, as they would be released, where each condition holds; None where it takes a table."""
    quick = _quick(task, texts)
    if quick is None:
        return None
    conditions, read = quick

    def hold(rows: Codes, drawn: Mapping[str, Floats]) -> list[Booleans]:
        values = read(rows, drawn)
        with np.errstate(all="ignore"):
            return [condition(values) for condition in conditions]

    return hold


def _quick(task: Task, texts: Sequence[str]) -> tuple[list[Callable[[Values], Booleans]], Read] | None:
    """Return the conditions on arrays, and what reads the columns they name; None where they take a table."""
    named = sorted({name for text in texts for name in expressions.names(text)})
    schema = task.data.schema
    known = set(named) <= set(schema.names())
    if task.applies or not known:
        return None
    words = {name: _words(schema[name]) for name in named if _worded(schema[name], task.data.frame[name])}
    if not all(name in words or _numeric(schema[name], task.data.frame[name]) for name in named):
        return None
    try:
        conditions = [_condition(ast.parse(text.strip(), mode="eval").body, words) for text in texts]
    except (_Beyond, SyntaxError):
        return None
    kept = {name: _own(task, name) for name in named if name not in task.working}

    def read(rows: Codes, drawn: Mapping[str, Floats]) -> dict[str, Floats]:
        values = {name: x[rows] for name, x in kept.items()}
        return values | {name: _released(task, name, drawn[name]) for name in named if name in drawn}

    return conditions, read


def _numeric(column: Column, series: pd.Series) -> bool:
    plain = pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_bool_dtype(series.dtype)
    levels = not column.kind.categorical or all(type(level) in (int, float) for level in column.levels)
    return bool(plain and levels and column.kind is not Kind.DATE)


def _worded(column: Column, series: pd.Series) -> bool:
    wide = pd.api.types.is_string_dtype(series.dtype) or isinstance(series.dtype, pd.CategoricalDtype)
    return bool(wide and column.kind.categorical and all(type(level) is str for level in column.levels))


def _words(column: Column) -> Words:
    return {str(level): place for place, level in enumerate(column.levels)}


def _own(task: Task, name: str) -> Floats:
    if _worded(task.data.schema[name], task.data.frame[name]):
        return task.data.values(name)
    return np.asarray(task.data.frame[name].to_numpy(np.float64, na_value=np.nan))


def _released(task: Task, name: str, drawn: Floats) -> Floats:
    """Return drawn values as ``cells.released`` writes them."""
    column = task.data.schema[name]
    if _worded(column, task.data.frame[name]):
        return drawn
    if column.kind.categorical:
        return np.asarray(column.levels, dtype=np.float64)[drawn.astype(np.int64)]
    return settled(task.links[name].inverse(drawn), column)


def _condition(node: ast.expr, words: Mapping[str, Words]) -> Callable[[Values], Booleans]:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _condition(operand, words)
            return lambda values: ~inner(values)
        case ast.BoolOp(op=op, values=parts):
            both = [_condition(part, words) for part in parts]
            combine = np.logical_and if isinstance(op, ast.And) else np.logical_or
            return lambda values: reduce(combine, [part(values) for part in both])
        case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[right]) if name in words:
            return _among(name, op, right, words[name])
        case ast.Compare(left=left, ops=ops, comparators=rights):
            sides = [_number(part, words) for part in (left, *rights)]
            if not all(type(op) in COMPARISONS for op in ops):
                raise _Beyond
            relations = [OPERATORS[type(op)] for op in ops]

            def compared(values: Values) -> Booleans:
                found = [side(values) for side in sides]
                each = [
                    np.asarray(relation(a, b)) & ~np.isnan(a) & ~np.isnan(b)
                    for relation, a, b in zip(relations, found[:-1], found[1:], strict=True)
                ]
                return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*each)), dtype=bool)

            return compared
    raise _Beyond


def _among(name: str, op: ast.cmpop, right: ast.expr, words: Words) -> Callable[[Values], Booleans]:
    """Return where a column of levels in words is one of some words, or none of them."""
    match op, right:
        case (ast.Eq() | ast.NotEq(), ast.Constant(value=str() as word)):
            meant = [word]
        case (ast.In() | ast.NotIn(), ast.List(elts=parts)) if all(
            isinstance(part, ast.Constant) and type(part.value) is str for part in parts
        ):
            meant = [str(part.value) for part in parts if isinstance(part, ast.Constant)]
        case _:
            raise _Beyond
    # the last place stands for a missing value, which is neither
    table = np.zeros(len(words) + 1, dtype=bool)
    table[:-1] = np.isin(list(words), meant) ^ isinstance(op, ast.NotEq | ast.NotIn)
    return lambda values: table[np.where(np.isnan(values[name]), len(words), values[name]).astype(np.int64)]


def _number(node: ast.expr, words: Mapping[str, Words]) -> Callable[[Values], Floats]:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            plain = np.asarray(float(str(value)))
            return lambda values: plain
        case ast.Name(id=name) if name not in words:
            return lambda values: values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _number(operand, words)
            return lambda values: -inner(values)
        case ast.BinOp(left=left, op=op, right=right):
            one, other, operate = _number(left, words), _number(right, words), OPERATORS[type(op)]
            return lambda values: _existing(operate(one(values), other(values)))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in FUNCTIONS:
            parts, function = [_number(part, words) for part in arguments], FUNCTIONS[name][1]
            return lambda values: _existing(function(*[part(values) for part in parts]))
    raise _Beyond


def _existing(value: Floats) -> Floats:
    return np.where(np.isfinite(value), value, np.nan)
