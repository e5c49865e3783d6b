"""What a formula may say, in both formula languages: known words only, and nothing that would never end.

Formulas come from configs and command lines that are passed around, and must not be able to open a file: a factor is
arithmetic with known functions, or it is refused before anything is computed.

``9**9**9`` has 369 million digits, ``[0]*10**10`` fills the memory, and ``(a + b + … + z)**13`` has 39 million terms.
Each is a few letters long and would keep a machine busy for hours. So the size of what a formula asks for is found from
its syntax tree, in floats and without computing it.
"""

import ast
import math
from dataclasses import dataclass

import numpy as np

from synthdp.errors import InputError

FUNCTIONS = {"log": np.log, "log1p": np.log1p, "exp": np.exp, "sqrt": np.sqrt, "abs": np.abs}
CODERS = frozenset({"C", "I", "center", "scale", "standardize"})
SPLINES = frozenset({"bs", "cr", "cc", "cs", "te", "poly"})
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

LONGEST_FORMULA = 20_000
LARGEST_CONSTANT = 1e15
LARGEST_ARGUMENT = 1_000
MOST_TERMS = 5_000
MOST_STARS = 8  # of a formula that only its own library reads: 2^8 interactions
SHOWN = 200
_PLAIN = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr, ast.BitXor)


def shortened(text: str) -> str:
    """Return a text in quotation marks, cut where a message would become unreadable.

    Examples
    --------
    >>> shortened("y ~ x"), len(shortened("y" * 1000))
    ("'y ~ x'", 203)
    """
    return repr(text) if len(text) <= SHOWN else f"{text[:SHOWN]!r}…"


def check_length(formula: str, where: str) -> None:
    """Refuse a formula that no person has written."""
    if len(formula) > LONGEST_FORMULA:
        raise InputError(
            f"{where}: a formula has at most {LONGEST_FORMULA:,} characters, found {len(formula):,}; compute columns "
            "first."
        )


def check_arithmetic(tree: ast.AST, where: str) -> None:
    """Refuse arithmetic whose result is too large to be computed, before anything is computed.

    Parameters
    ----------
    tree
        Of one factor of a formula.
    where
        What messages call the formula.
    """
    try:
        _check_nodes(tree, where)
    except RecursionError:
        raise InputError(f"{where}: is nested too deeply; compute columns first.") from None


def _check_nodes(tree: ast.AST, where: str) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp):
            if not isinstance(node.op, _PLAIN):
                raise InputError(f"{where}: {type(node.op).__name__} is not allowed in a formula; use + - * / // % **.")
            if any(_is_sequence(side) for side in (node.left, node.right)):
                raise InputError(f"{where}: lists and text cannot be added or multiplied in a formula.")
        if isinstance(node, ast.expr) and _constant(node) is not None and _too_large(_constant(node)):
            raise InputError(f"{where}: holds a number beyond {LARGEST_CONSTANT:g}; rescale the column instead.")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SPLINES:
            given = [_constant(part) for part in (*node.args, *(keyword.value for keyword in node.keywords))]
            if any(isinstance(part, float) and part > LARGEST_ARGUMENT for part in given):
                raise InputError(f"{where}: {node.func.id} takes numbers up to {LARGEST_ARGUMENT:,} (df, degree).")


def check_terms(formula: str, where: str) -> None:
    """Refuse a formula whose products and powers expand to more terms than can be fitted.

    The number of terms is bounded from the formula's own tree: a + b has at most l + r terms, a:b has l·r, a*b has
    l + r + l·r, a/b has l + r, (a)**p has C(l, 1) + … + C(l, p).
    """
    plain = formula.replace("^", "**")  # as other formula languages write powers
    if "*" not in plain and ":" not in plain:
        return
    found = _expanded(plain)
    products = plain.count("*")
    # what patsy cannot read is some other library's language, and its products are counted instead
    if found is None and ("**" in plain or products > MOST_STARS):
        raise InputError(f"{where}: has powers, or more than {MOST_STARS} products, in a form that is not understood.")
    if found is not None and found > MOST_TERMS:
        raise InputError(f"{where}: expands to more than {MOST_TERMS:,} terms; write out those that are wanted.")


def _expanded(formula: str) -> float | None:
    from patsy.parse_formula import parse_formula

    try:
        return _terms(parse_formula(formula))
    except Exception:  # beside PatsyError, patsy fails assertions of its own on some texts
        return None


def _terms(node: object) -> float:
    """Return an upper bound of the number of terms of a parsed formula."""
    args = list(getattr(node, "args", ()))
    kind = str(getattr(node, "type", ""))
    if kind == "**" and len(args) == 2:
        left, power = _terms(args[0]), str(getattr(args[1].token, "extra", "") if hasattr(args[1], "token") else "")
        if not power.isdigit():
            return left
        steps = min(int(power[:6]), int(min(left, MOST_TERMS + 1)))
        found = 0.0
        for k in range(1, steps + 1):
            found += math.comb(int(left), k) if left <= MOST_TERMS else math.inf
            if found > MOST_TERMS:
                return math.inf
        return found
    sizes = [_terms(arg) for arg in args]
    if not sizes:
        return 1.0
    if len(sizes) == 2 and kind == ":":
        return sizes[0] * sizes[1]
    if len(sizes) == 2 and kind == "*":
        return sizes[0] + sizes[1] + sizes[0] * sizes[1]
    return sum(sizes)


def _is_sequence(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _too_large(value: float | None) -> bool:
    return value is not None and not abs(value) <= LARGEST_CONSTANT


def _constant(node: ast.expr) -> float | None:
    """Return what a part without columns and functions comes to, in floats; infinite where they end."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return _float(value)
        case ast.UnaryOp(operand=operand):
            inner = _constant(operand)
            return None if inner is None else abs(inner)
        case ast.BinOp(left=left, op=op, right=right):
            first, second = _constant(left), _constant(right)
            if first is None or second is None:
                return None
            return _result(abs(first), op, abs(second))
    return None


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _result(left: float, op: ast.operator, right: float) -> float:
    """Return a bound of the size of a result: signs are left out, so that nothing cancels."""
    try:
        if isinstance(op, ast.Pow):
            return left**right if left >= 1 else 1.0
        if isinstance(op, ast.Mult):
            return left * right
        if isinstance(op, ast.Div | ast.FloorDiv):
            return left / right if right else left
        return left + right
    except OverflowError:
        return math.inf
