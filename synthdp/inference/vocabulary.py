"""The words a formula may use: columns, a few functions, and nothing that reads a file or reaches into an object."""

import ast

import numpy as np

from synthdp.errors import InputError
from synthdp.limits import check_arithmetic

FUNCTIONS = {"np": np, "log": np.log, "log1p": np.log1p, "exp": np.exp, "sqrt": np.sqrt, "abs": np.abs}
# patsy's contrasts are named without being called: C(sex, Sum)
CONTRASTS = frozenset({"Treatment", "Sum", "Poly", "Diff", "Helmert"})
CODERS = frozenset({"I", "Q", "C", "center", "standardize", "scale", "bs", "cr", "cc", "te"})
# what of numpy computes numbers from numbers; np.fromfile, np.load, np.lib, … read files or run code
NUMPY = frozenset({
    "abs", "absolute", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "cbrt", "ceil",
    "clip", "cos", "cosh", "deg2rad", "degrees", "digitize", "divide", "e", "equal", "exp", "exp2", "expm1", "fabs",
    "float64", "floor", "floor_divide", "fmax", "fmin", "fmod", "greater", "greater_equal", "hypot", "inf", "int64",
    "isfinite", "isin", "isnan", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logical_and",
    "logical_not", "logical_or", "logical_xor", "max", "maximum", "mean", "median", "min", "minimum", "mod",
    "multiply", "nan", "nan_to_num", "negative", "not_equal", "pi", "power", "quantile", "rad2deg", "radians",
    "reciprocal", "remainder", "rint", "round", "searchsorted", "select", "sign", "sin", "sinh", "sqrt", "square",
    "std", "subtract", "tan", "tanh", "trunc", "var", "where",
})  # fmt: skip
# the grammar of an arithmetic expression: no lambda, no comprehension, no assignment
GRAMMAR = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Attribute, ast.Call, ast.keyword, ast.List, ast.Tuple,
    ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop, ast.IfExp,
)  # fmt: skip


def names_in(tree: ast.Expression, where: str) -> list[str]:
    """Return the columns in one factor of a formula, in reading order.

    Raises
    ------
    InputError
        When the factor is more than arithmetic with known functions: formulas come from configs and command lines
        that are passed around, and must not be able to open a file.
    """
    for node in ast.walk(tree):
        if not isinstance(node, GRAMMAR):
            raise InputError(f"{where}: {type(node).__name__} is not allowed in a formula; compute a column first.")
        if isinstance(node, ast.Attribute):
            _check_attribute(node, where)
    check_arithmetic(tree, where)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    functions = {id(call.func): call.func.id for call in calls if isinstance(call.func, ast.Name)}
    if any(not isinstance(call.func, ast.Name | ast.Attribute) for call in calls):
        raise InputError(f"{where}: only a function with a name can be called in a formula.")
    for function in functions.values():
        if function not in (FUNCTIONS.keys() - {"np"}) | CODERS | CONTRASTS:
            hint = f"; write np.{function}" if function in NUMPY else ""
            raise InputError(f"{where}: {function!r} is not a function that formulas know{hint}.")
    quoted = [
        (call.args[0].col_offset, call.args[0].value)
        for call in calls
        if functions.get(id(call.func)) == "Q" and call.args and isinstance(call.args[0], ast.Constant)
    ]
    named = [
        (node.col_offset, node.id)
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and id(node) not in functions and node.id not in CONTRASTS | {"np"}
    ]
    return [str(name) for _, name in sorted([*quoted, *named], key=lambda found: found[0])]


def _check_attribute(node: ast.Attribute, where: str) -> None:
    if not (isinstance(node.value, ast.Name) and node.value.id == "np"):
        raise InputError(f"{where}: '.{node.attr}' is not allowed in a formula; only functions of numpy are (np.log).")
    if node.attr not in NUMPY:
        raise InputError(
            f"{where}: 'np.{node.attr}' is not a function that formulas know; use one that computes numbers from "
            "numbers, such as np.log, np.where or np.clip."
        )
