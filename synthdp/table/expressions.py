"""A small language for rules over columns: ``age > 85 and region in ['north', 'east']``.

An expression may use column names (in `` `back ticks` `` when they are no plain words), numbers, text, True and
False, ``+ - * / **``, comparisons (chained, ``in``, ``not in``), ``and or not``, parentheses, and the functions abs,
log, exp, sqrt, floor, ceil, min, max (of two, element by element), round (``round(x, 2)``; to whole numbers when no
digits are given), ``where(condition, a, b)``, ``cut(x, [25, 35])`` and isnull. Everything else is refused; nothing is
ever executed. ``cut`` gives the number of breaks at or below x: 0 for x < 25, 1 for 25 <= x < 35, 2 above; a list of
labels, one more than breaks, gives those instead: ``cut(x, [18], ['minor', 'adult'])``.

A comparison with a missing value is false, arithmetic with one is missing, and so is a result that does not exist
(division by zero, the log of a negative number).
"""

import ast
import difflib
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.table.vocabulary import shortened

ARITHMETIC: Mapping[type[ast.AST], Callable[[pd.Series, pd.Series], pd.Series]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
COMPARISONS: Mapping[type[ast.AST], Callable[[pd.Series, pd.Series], pd.Series]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "abs": (1, np.abs),
    "log": (1, np.log),
    "exp": (1, np.exp),
    "sqrt": (1, np.sqrt),
    "floor": (1, np.floor),
    "ceil": (1, np.ceil),
    "min": (2, np.minimum),
    "max": (2, np.maximum),
}
# fewest and most values of the functions that do not work on numbers alone
SPECIAL: Mapping[str, tuple[int, int]] = {"round": (1, 2), "where": (3, 3), "cut": (2, 3), "isnull": (1, 1)}
MOST_DIGITS = 15
LONGEST = 1_000_000
NODES: frozenset[type[ast.AST]] = frozenset({
    *ARITHMETIC, *COMPARISONS, ast.Name, ast.Constant, ast.List, ast.Load, ast.Call, ast.Compare, ast.In, ast.NotIn,
    ast.BinOp, ast.UnaryOp, ast.USub, ast.Not, ast.BoolOp, ast.And, ast.Or,
})  # fmt: skip
DEEPEST = 150
QUOTED_OR_TICKED = re.compile(r"""("[^"]*"|'[^']*')|`([^`]*)`""")


def evaluate(text: str, frame: pd.DataFrame) -> pd.Series:
    """Return the value of an expression for every record.

    Conditions give booleans; arithmetic gives floats.

    Raises
    ------
    InputError
        If the expression is not in the language, names no column of ``frame``, or mixes text and numbers.

    Examples
    --------
    >>> evaluate("age >= 65 or isnull(age)", pd.DataFrame({"age": [70, 20, None]})).tolist()
    [True, False, True]
    """
    tree, quoted = _parse(text)
    with np.errstate(all="ignore"):
        return _Evaluation(text, frame, quoted).value(tree).rename(None)


def names(text: str) -> set[str]:
    """Return the columns an expression names.

    Raises
    ------
    InputError
        If the expression is not in the language.

    Examples
    --------
    >>> sorted(names("yrs_married <= age - 12"))
    ['age', 'yrs_married']
    """
    tree, quoted = _parse(text)
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    used = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions)
    return {quoted.get(node.id, node.id) for node in used}


def _parse(text: str) -> tuple[ast.expr, dict[str, str]]:
    """Return the checked syntax tree, and the columns in back ticks by the word that stands for each."""
    if len(text) > LONGEST:
        raise _error(text, f"has more than {LONGEST:,} characters; split it")
    quoted: dict[str, str] = {}

    def word(found: re.Match[str]) -> str:
        if found[1] is not None:
            return found[1]
        quoted[f"_ticked_{len(quoted)}_"] = found[2]
        return f" _ticked_{len(quoted) - 1}_ "

    try:
        tree = ast.parse(QUOTED_OR_TICKED.sub(word, text).strip(), mode="eval").body
        if _depth(tree) > DEEPEST:
            raise RecursionError
        for node in ast.walk(tree):
            _check(text, node)
    except RecursionError:
        raise _error(text, "is nested too deeply; split it") from None
    except (SyntaxError, ValueError, MemoryError):
        raise _error(text, "cannot be read; write for example age > 85 and sex == 'F'") from None
    return tree, quoted


def _error(text: str, problem: str) -> InputError:
    return InputError(f"expression {shortened(text)}: {problem}.")


def _depth(tree: ast.AST) -> int:
    """Return how deep a tree is; Python's own limit is no measure, as libraries move it."""
    depth, level = 0, [tree]
    while level:
        depth, level = depth + 1, [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def _check(text: str, node: ast.AST) -> None:
    plain = not isinstance(node, ast.Constant) or isinstance(node.value, bool | int | float | str)
    if type(node) not in NODES or not plain:
        what = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        allowed = "use comparisons, and, or, not, + - * / **"
        raise _error(text, f"{shortened(what)} is not allowed; {allowed}")
    if isinstance(node, ast.Call):
        _check_call(text, node)


def _check_call(text: str, node: ast.Call) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    known = [*FUNCTIONS, *SPECIAL]
    if name not in known:
        raise _error(text, f"no function {shortened(name)}; there are {', '.join(known)}")
    fewest, most = SPECIAL[name] if name in SPECIAL else (FUNCTIONS[name][0],) * 2
    if node.keywords or not fewest <= len(node.args) <= most:
        wanted = f"{fewest}" if fewest == most else f"{fewest} or {most}"
        raise _error(text, f"{name} takes {wanted} value{'s' * (most > 1)} in parentheses")
    if name == "round" and len(node.args) == 2 and _constant(node.args[1]) not in range(-MOST_DIGITS, MOST_DIGITS + 1):
        raise _error(text, "round takes a whole number of digits, as in round(x, 2)")
    if name == "cut":
        _check_cut(text, node)
    if name == "isnull" and not isinstance(node.args[0], ast.Name):
        raise _error(text, "isnull takes the name of a column")


def _check_cut(text: str, node: ast.Call) -> None:
    lists = [part.elts if isinstance(part, ast.List) else [] for part in node.args[1:]]
    breaks = [_constant(part) for part in lists[0]]
    numbers = [_float(value) for value in breaks if isinstance(value, int | float)]
    if not numbers or len(numbers) < len(breaks) or sorted(set(numbers)) != numbers:
        raise _error(text, "cut takes a list of increasing numbers, as in cut(x, [25, 35])")
    labels = [_constant(part) for part in lists[-1]]
    if len(lists) == 2 and (len(labels) != len(breaks) + 1 or not all(isinstance(label, str) for label in labels)):
        raise _error(text, "cut takes one label in quotes more than breaks")


def _constant(node: ast.expr) -> bool | int | float | str | None:
    """Return a constant with its sign, or None."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
    return None


def _float(value: object) -> float:
    """Return a whole number or a number as a float; infinite where they end."""
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return float("inf")


@dataclass(frozen=True, repr=False)
class _Evaluation:
    """One expression on one table; every value is a series of booleans, floats, dates or text."""

    _text: str
    _frame: pd.DataFrame
    _quoted: Mapping[str, str]

    def value(self, node: ast.expr) -> pd.Series:
        match node:
            case ast.Constant(value=constant):
                # as floats, huge powers are infinite at once; Python's whole numbers would grow until memory ends
                plain = constant if isinstance(constant, bool | str) else _float(constant)
                return pd.Series(plain, index=self._frame.index)
            case ast.Name(id=word):
                return _simplified(self._column(word))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._number(operand)
            case ast.UnaryOp(operand=operand):
                return ~self._condition(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return _existing(ARITHMETIC[type(op)](self._number(left), self._number(right)))
            case ast.BoolOp(op=op, values=parts):
                combine = operator.and_ if isinstance(op, ast.And) else operator.or_
                return reduce(combine, [self._condition(part) for part in parts])
            case ast.Compare(left=left, ops=ops, comparators=rights):
                lefts = [left, *rights]
                return reduce(operator.and_, map(self._comparison, lefts, ops, rights))
            case ast.Call(func=ast.Name(id="isnull"), args=[ast.Name(id=word)]):
                return self._column(word).isna()
            case ast.Call(func=ast.Name(id="where"), args=[condition, left, right]):
                where = self._condition(condition)
                one, other = self._alike(self.value(left), self.value(right), "where gives", " or ", "values")
                return one.where(where, other)
            case ast.Call(func=ast.Name(id="round"), args=[number, *digits]):
                return self._number(number).round(int(float(str(_constant(digits[0])))) if digits else 0)
            case ast.Call(func=ast.Name(id="cut"), args=[number, breaks, *labels]):
                return _cut(self._number(number), breaks, *labels)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return _existing(FUNCTIONS[name][1](*map(self._number, arguments)))
        raise self._error("a list may only follow 'in'")

    def _error(self, problem: str) -> InputError:
        return _error(self._text, problem)

    def _column(self, word: str) -> pd.Series:
        name = self._quoted.get(word, word)
        if name in self._frame.columns:
            return self._frame[name]
        near = difflib.get_close_matches(name, [str(column) for column in self._frame.columns], n=1)
        raise self._error(f"no column {name!r}" + (f"; the nearest is {near[0]!r}" if near else ""))

    def _number(self, node: ast.expr) -> pd.Series:
        value = self.value(node)
        if _sort(value) not in ("number", "condition"):
            raise self._error(f"{self._written(node)} is {_sort(value)}, and arithmetic needs a number")
        return value.astype(np.float64)

    def _condition(self, node: ast.expr) -> pd.Series:
        value = self.value(node)
        if _sort(value) != "condition":
            raise self._error(f"{self._written(node)} is neither true nor false; compare it with something")
        return value

    def _comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> pd.Series:
        if not isinstance(op, ast.In | ast.NotIn):
            return self._compare(COMPARISONS[type(op)], self.value(left), self.value(right))
        if not isinstance(right, ast.List):
            raise self._error("'in' needs a list, as in [1, 2]")
        value = self.value(left)
        found = self._listed(value, right.elts)
        return found if isinstance(op, ast.In) else ~found & value.notna()

    def _listed(self, value: pd.Series, elements: list[ast.expr]) -> pd.Series:
        """Return which values are in a list; one pass where it holds constants of the value's own sort."""
        constants = [_constant(element) for element in elements]
        sort = _sort(value)
        if value.isna().all():  # nothing tells what sort such a column is
            return pd.Series(False, index=value.index)
        if sort == "number" and all(isinstance(c, int | float) and not isinstance(c, bool) for c in constants):
            return value.isin([_float(constant) for constant in constants])
        if sort == "text" and all(isinstance(c, str) for c in constants):
            return value.isin(constants)
        found = pd.Series(False, index=value.index)
        for element in elements:
            found |= self._compare(operator.eq, value, self.value(element))
        return found

    def _compare(self, relation: Callable[..., pd.Series], left: pd.Series, right: pd.Series) -> pd.Series:
        if left.isna().all() or right.isna().all():  # nothing tells what sort such a column is
            return pd.Series(False, index=left.index)
        if {_sort(left), _sort(right)} == {"date", "text"}:
            left, right = self._dates(left), self._dates(right)
        left, right = self._alike(left, right, "compares", " with ", "sides")
        return relation(left, right).astype(bool) & left.notna() & right.notna()

    def _alike(
        self, left: pd.Series, right: pd.Series, does: str, joined: str, called: str
    ) -> tuple[pd.Series, pd.Series]:
        """Return two values of one sort; conditions beside numbers are 0 and 1."""
        sorts = {_sort(left), _sort(right)}
        if sorts == {"condition", "number"}:
            return left.astype(np.float64), right.astype(np.float64)
        if len(sorts) > 1:
            raise self._error(f"{does} {joined.join(sorted(sorts))}; both {called} must be of one sort")
        return left, right

    def _dates(self, value: pd.Series) -> pd.Series:
        try:
            return value if _sort(value) == "date" else pd.to_datetime(value, format="ISO8601")
        except ValueError:
            raise self._error("compares a date with text that is none; write dates as 2011-03-25") from None

    def _written(self, node: ast.expr) -> str:
        words = ast.unparse(node)
        for word, name in self._quoted.items():
            words = words.replace(word, name)
        return shortened(words)


def _sort(value: pd.Series) -> Literal["condition", "number", "date", "text"]:
    if pd.api.types.is_bool_dtype(value.dtype):
        return "condition"
    if pd.api.types.is_numeric_dtype(value.dtype):
        return "number"
    return "date" if pd.api.types.is_datetime64_any_dtype(value.dtype) else "text"


def _simplified(column: pd.Series) -> pd.Series:
    """Return a column as plain booleans, floats with NaN, dates, or text with missing values."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    if column.dtype == object:
        column = column.convert_dtypes()
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return pd.Series(column.dt.tz_localize(None))
    if pd.api.types.is_bool_dtype(column.dtype) and not column.hasnans:
        return column.astype(bool)
    # with missing values booleans are 0, 1 and missing
    if pd.api.types.is_numeric_dtype(column.dtype) or column.isna().all():
        return pd.Series(column.to_numpy(np.float64, na_value=np.nan), index=column.index)
    return column.astype(object).map(str, na_action="ignore")


def _existing(value: pd.Series) -> pd.Series:
    return value.where(np.isfinite(value))


def _cut(value: pd.Series, breaks: ast.expr, labels: ast.expr | None = None) -> pd.Series:
    """Return how many breaks are at or below each value, or the label of that number."""
    edges = [_float(_constant(part)) for part in getattr(breaks, "elts", ())]
    place = np.searchsorted(edges, value.to_numpy(np.float64), side="right")
    if labels is None:
        return pd.Series(place, index=value.index, dtype=np.float64).where(value.notna())
    words = np.array([str(_constant(part)) for part in getattr(labels, "elts", ())], dtype=object)
    return pd.Series(words[place], index=value.index, dtype=object).where(value.notna(), None)
