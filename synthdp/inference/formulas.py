"""From a model formula and a table to a response and a design matrix.

Formulas are patsy's, the language of statsmodels: ``vote ~ age + C(region) + np.log(income)``. They see the columns
of the table and a few functions, nothing else of the program; every mistake is caught first.

formulaic, in which models of the user's own are written, gives the same matrices, but it has no ``te()``, counts the
terms of splines from 1 and names those of ``Poly`` and ``Diff`` otherwise: renaming them, so that published term names
stay, takes more than it saves. statsmodels brings patsy in any case, and formulaic comes with the extra ``pymc`` only.
"""

import difflib
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.errors import InputError
from synthdp.table.coded import days, numbers
from synthdp.table.microdata import Floats
from synthdp.table.schema import Column, Kind, Schema
from synthdp.table.vocabulary import ANALYSES, FUNCTIONS, check_length, check_terms, shortened

CONTEXT = {"np": np, **FUNCTIONS}
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class ModelMatrix:
    """The response and the design matrix of the complete records.

    Parameters
    ----------
    response
        n rows; k columns when it is text with k levels.
    matrix, names
        n rows, one column per term, and what the terms are called.
    levels
        The k levels of a response that is text, in order; empty when it is a number.
    rows
        Where the complete records are in the table.
    """

    response: Floats
    matrix: Floats
    names: tuple[str, ...]
    levels: tuple[str, ...]
    rows: Positions


def columns_used(formula: str, *, where: str = "formula") -> tuple[str, ...]:
    """Return the columns a formula names, the response first.

    Raises
    ------
    InputError
        When the formula does not parse, has no single response, or calls a function that formulas do not know.

    Examples
    --------
    >>> columns_used("vote ~ age + C(region, Sum) + log(income)")
    ('vote', 'age', 'region', 'income')
    """
    return _columns_used(formula, where)


@lru_cache(maxsize=1000)
def _columns_used(formula: str, where: str) -> tuple[str, ...]:
    check_length(formula, where)
    columns: dict[str, None] = {}
    for code in _factors(formula, where):
        try:
            columns |= dict.fromkeys(ANALYSES.names_in(code, where))
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # brackets, numbers without end
            raise _unparsed(formula, where) from None
    return tuple(columns)


def absent(columns: Iterable[str], present: Iterable[str], *, where: str = "formula") -> list[str]:
    """Return one sentence for each column that is not there, with the nearest one that is."""
    known = [str(name) for name in present]
    sentences = []
    for name in columns:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {_quoted(near[0])}?" if near else "."
            sentences.append(f"{where}: no column named {name!r}{hint}")
    return sentences


def complete(frame: pd.DataFrame, columns: Iterable[str], schema: Schema | None, *, where: str) -> pd.DataFrame:
    """Return the records with a value in every column used, in types that do not depend on what is missing.

    Numbers become floats whether or not the file had gaps, so that ``C(educ)`` gives the same term names in a file
    with missing values and in one without. Text becomes categories: those that occur, in the order of the schema
    (sorted, where the schema does not say). The index says which rows of the table they are.
    """
    if frame.empty:
        raise InputError(f"{where}: the file has no records.")
    used = frame[list(columns)].reset_index(drop=True).dropna()
    if used.empty:
        raise InputError(f"{where}: no record has a value in every column it uses.")
    known = {} if schema is None else {column.name: column for column in schema.columns}
    return pd.DataFrame({name: _plain(used[name], known.get(str(name))) for name in used.columns})


def build(
    formula: str,
    frame: pd.DataFrame,
    schema: Schema | None = None,
    *,
    beside: Iterable[str] = (),
    where: str = "formula",
) -> ModelMatrix:
    """Return the response and the design matrix of the records that are complete, also in the columns ``beside``.

    Raises
    ------
    InputError
        When a column is not there, the formula cannot be computed, gives values that are not finite, or a term is
        a combination of other terms.
    """
    import patsy

    columns = columns_used(formula, where=where)
    if problems := absent(columns, frame.columns, where=where):
        raise InputError(*problems)
    used = complete(frame, dict.fromkeys([*columns, *beside]), schema, where=where)
    # NaN made by the formula itself (the log of a negative number) is an error to report, not a record to leave out
    nothing_missing = patsy.NAAction(on_NA="raise", NA_types=[])
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            left, right = _matrices(formula, used, nothing_missing)
    except Exception as error:
        # the formula is the user's code: anything may come out of it, and its message may quote the data
        raise InputError(
            f"{where}: cannot be computed on these columns ({type(error).__name__}); check their types."
        ) from None
    response, matrix = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    bad = ~(np.isfinite(response).all(axis=1) & np.isfinite(matrix).all(axis=1))
    if bad.any():
        raise InputError(
            f"{where}: gives infinite or undefined values in {int(bad.sum())} records; transform or recode first."
        )
    names = tuple(_readable(name) for name in right.design_info.column_names)
    check_rank(matrix, names, where)
    return ModelMatrix(response=response, matrix=matrix, names=names, levels=_levels(left), rows=used.index.to_numpy())


# designs of formulas that were built before, by formula and types of the columns
_DESIGNS: dict[tuple[object, ...], tuple[Any, Any]] = {}
MOST_DESIGNS = 500


def _matrices(formula: str, used: pd.DataFrame, missing: Any) -> tuple[Any, Any]:
    """Return patsy's two matrices; analyses are asked of many copies, and the design is worked out once for all."""
    import patsy

    key = (formula, *((name, _type(used[name])) for name in used.columns))
    if key in _DESIGNS:
        left, right = patsy.build_design_matrices(list(_DESIGNS[key]), used, NA_action=missing)
        return left, right
    left, right = patsy.dmatrices(formula, used, patsy.EvalEnvironment([CONTEXT]), NA_action=missing)
    if _lasting(left.design_info, used) and _lasting(right.design_info, used) and len(_DESIGNS) < MOST_DESIGNS:
        _DESIGNS[key] = left.design_info, right.design_info
    return left, right


def _type(series: pd.Series) -> object:
    dtype = series.dtype
    return tuple(dtype.categories) if isinstance(dtype, pd.CategoricalDtype) else dtype.kind


def _lasting(design: Any, used: pd.DataFrame) -> bool:
    """Return whether a design depends on the types of columns only, and not on their values, as C(educ) and bs(age) do.

    Levels of text are in its type; a number that nothing was learnt for stays what it is.
    """
    for factor, found in design.factor_infos.items():
        if found.state.get("transforms") or (found.type == "numerical" and found.num_columns != 1):
            return False
        if found.type == "categorical":
            series = used.get(re.sub(r"^C\((.*)\)$", r"\1", factor.code))
            if series is None or not (isinstance(series.dtype, pd.CategoricalDtype) or series.dtype.kind == "b"):
                return False
    return True


def _factors(formula: str, where: str) -> list[str]:
    import patsy

    check_terms(formula, where)
    try:
        description = patsy.ModelDesc.from_formula(formula)
    except Exception:  # beside PatsyError, patsy fails assertions of its own on some texts
        raise _unparsed(formula, where) from None
    left, right = description.lhs_termlist, description.rhs_termlist
    if len(left) != 1 or len(left[0].factors) != 1:
        raise InputError(f"{where}: needs one response to the left of ~, found {shortened(formula)}.")
    if not right:
        raise InputError(f"{where}: needs at least one term to the right of ~, found {shortened(formula)}.")
    return [factor.code for term in [*left, *right] for factor in term.factors]


def _unparsed(formula: str, where: str) -> InputError:
    return InputError(f"{where}: does not parse, found {shortened(formula)}; write it like 'y ~ age + C(sex)'.")


def _plain(series: pd.Series, column: Column | None) -> pd.Series:
    if pd.api.types.is_bool_dtype(series):
        return series.astype(bool)
    if pd.api.types.is_numeric_dtype(series):
        return series.astype(np.float64)
    if pd.api.types.is_datetime64_any_dtype(series):
        return pd.Series(days(series), index=series.index)
    if column is not None and column.kind is Kind.DATE:
        return pd.Series(numbers(series, column), index=series.index)
    present = set(series.unique())
    if column is not None and column.levels:
        order = list(column.levels)
    elif isinstance(series.dtype, pd.CategoricalDtype):
        order = list(series.dtype.categories)
    else:
        order = []
    # a level no record has would be a column of zeros; a value outside the levels must not turn into a gap
    found = [level for level in order if level in present]
    categories = found + sorted(present - set(found), key=str)
    return pd.Series(pd.Categorical(series.astype(object), categories=categories), index=series.index)


def check_rank(matrix: Floats, names: tuple[str, ...], where: str) -> None:
    """Raise when a term is zero throughout or a combination of other terms."""
    from scipy.linalg import qr

    rows, terms = matrix.shape
    if rows < terms:
        raise InputError(f"{where}: {terms} terms need at least as many complete records, found {rows}.")
    size = np.sqrt((matrix**2).mean(axis=0))
    if (size == 0).any():
        raise InputError(f"{where}: the term {names[int(np.argmin(size))]!r} is zero in every record; leave it out.")
    upper, order = qr(matrix / size, mode="r", pivoting=True)
    left = np.abs(np.diag(upper))
    if (weak := left < left[0] * max(rows, terms) * np.finfo(np.float64).eps).any():
        term = names[int(order[int(np.argmax(weak))])]
        raise InputError(f"{where}: the term {term!r} is a combination of the others; leave one of them out.")


def _levels(left: Any) -> tuple[str, ...]:
    """Return the levels of a response that is text, as a person writes them."""
    (factor,) = left.design_info.factor_infos.values()
    if factor.type != "categorical":
        return ()
    return tuple(re.sub(r"^(-?\d+)\.0$", r"\1", str(level)) for level in factor.categories)


def _quoted(name: str) -> str:
    return repr(name) if name.isidentifier() else f'Q("{name}")'


def _readable(term: str) -> str:
    """Return a term name with the numeric levels of a factor as a person writes them: [T.2], not [T.2.0]."""
    return re.sub(r"\[((?:[A-Z]\.)?-?\d+)\.0\]", r"[\1]", term)
