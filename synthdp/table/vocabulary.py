"""The words a formula may use: one vocabulary and one reading of factors for both formula languages.

Formulas come from configs and command lines that are passed around, and must not be able to open a file: a factor is
arithmetic with known functions, or it is refused before anything is computed.
"""

import ast
from dataclasses import dataclass

import numpy as np

from synthdp.errors import InputError
from synthdp.table.complexity import SPLINES, check_arithmetic

FUNCTIONS = {"log": np.log, "log1p": np.log1p, "exp": np.exp, "sqrt": np.sqrt, "abs": np.abs}
CODERS = frozenset({"C", "I", "center", "scale", "standardize"})
# contrasts are named without being called: C(sex, Sum)
CONTRASTS = frozenset({"Treatment", "Sum", "Poly", "Diff", "Helmert"})
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
# arithmetic and comparisons: no index, no lambda, no comprehension, no assignment
GRAMMAR = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Attribute, ast.Call, ast.keyword, ast.List, ast.Tuple,
    ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop,
)  # fmt: skip


@dataclass(frozen=True)
class Vocabulary:
    """The functions of one formula language; ``numpy`` says whether it knows those of numpy (``np.log``), too.

    Examples
    --------
    >>> ANALYSES.names_in("np.where(age > 60, income, 0)")
    ('age', 'income')
    """

    functions: frozenset[str]
    numpy: bool = False

    def names_in(self, code: str, where: str = "formula") -> tuple[str, ...]:
        """Return the columns in one factor of a formula, in reading order.

        Raises
        ------
        InputError
            When the factor is more than arithmetic with known functions.
        SyntaxError, ValueError, RecursionError, MemoryError
            When it does not parse.
        """
        tree = ast.parse(code, mode="eval")
        nodes = list(ast.walk(tree))
        for node in nodes:
            if not isinstance(node, (*GRAMMAR, ast.IfExp) if self.numpy else GRAMMAR):
                raise _not_allowed(node, where)
            if isinstance(node, ast.Attribute) and self.numpy:
                _check_attribute(node, where)
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        functions = {id(call.func): self._function(call, where) for call in calls}
        for node in nodes:
            if isinstance(node, ast.Attribute) and not self.numpy:
                raise _not_allowed(node, where)
        check_arithmetic(tree, where)
        quoted = [
            (call.args[0].col_offset, str(call.args[0].value))
            for call in calls
            if functions[id(call.func)] == "Q" and call.args and isinstance(call.args[0], ast.Constant)
        ]
        reserved = CONTRASTS | {"np"} if self.numpy else CONTRASTS
        names = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in functions]
        named = [(node.col_offset, node.id) for node in names if node.id not in reserved]
        return tuple(dict.fromkeys(name for _, name in sorted([*quoted, *named], key=lambda found: found[0])))

    def _function(self, call: ast.Call, where: str) -> str:
        """Return the name of a function that may be called."""
        if self.numpy and isinstance(call.func, ast.Attribute):
            return call.func.attr  # checked as an attribute
        if self.numpy and not isinstance(call.func, ast.Name):
            raise InputError(f"{where}: only a function with a name can be called in a formula.")
        name = ast.unparse(call.func)
        if name in self.functions | CONTRASTS:
            return name
        hint = f"; there are {', '.join(sorted(self.functions))}"
        if self.numpy:
            hint = f"; write np.{name}" if name in NUMPY else ""
        raise InputError(f"{where}: {name!r} is not a function that formulas know{hint}.")


def _not_allowed(node: ast.AST, where: str) -> InputError:
    return InputError(f"{where}: {type(node).__name__} is not allowed in a formula; compute a column first.")


def _check_attribute(node: ast.Attribute, where: str) -> None:
    if not (isinstance(node.value, ast.Name) and node.value.id == "np"):
        raise InputError(f"{where}: '.{node.attr}' is not allowed in a formula; only functions of numpy are (np.log).")
    if node.attr not in NUMPY:
        raise InputError(
            f"{where}: 'np.{node.attr}' is not a function that formulas know; use one that computes numbers from "
            "numbers, such as np.log, np.where or np.clip."
        )


_COMMON = CODERS | FUNCTIONS.keys()
ANALYSES = Vocabulary(_COMMON | {"Q", "bs", "cr", "cc", "te"}, numpy=True)
"""Of patsy, the language of statsmodels."""
MODELS = Vocabulary(_COMMON | (SPLINES - {"te"}) | {"log2", "log10"})
"""Of formulaic, in which a model of the user's own is written."""
