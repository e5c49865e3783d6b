"""What a formula for one column may say, and the numbers it gives.

    1 + sex * age + bs(income, df=4)

The right side only, in the language of formulaic (Wilkinson and Rogers 1973); the column it is for is the left side. It
sees the kept columns and other replaced columns on their own scale, a few functions, and nothing else of the program:
formulas come from configs that are passed around.

References
----------
Wilkinson, Rogers (1973), Journal of the Royal Statistical Society C 22(3) (the notation).
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.table.microdata import Floats
from synthdp.table.vocabulary import FUNCTIONS, MODELS, check_length, check_terms, shortened


@dataclass(frozen=True)
class Terms:
    """A formula that was read: its terms, each the factors it multiplies.

    Parameters
    ----------
    factors
        Of each term, the factors as text.
    columns
        Of each term, the columns each factor names.

    Examples
    --------
    >>> found = read("sex * age + log(age)")
    >>> found.names()
    ('sex', 'age')
    >>> found.straight_in("sex"), found.straight_in("age")
    (True, False)
    """

    text: str
    factors: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[tuple[str, ...], ...], ...]

    def names(self) -> tuple[str, ...]:
        """Return the columns the formula names, in reading order."""
        return tuple(dict.fromkeys(name for term in self.columns for factor in term for name in factor))

    def straight_in(self, name: str) -> bool:
        """Return whether every term that names a column has it once and as it is: then it is linear in a number."""
        for factors, columns in zip(self.factors, self.columns, strict=True):
            naming = [factor for factor, names in zip(factors, columns, strict=True) if name in names]
            if naming and naming != [name]:
                return False
        return True


def read(formula: str, *, where: str = "formula") -> Terms:
    """Return the terms of a formula.

    Raises
    ------
    InputError
        When it does not parse, has a left side, leaves the constant out, or says more than arithmetic with known
        functions.
    """
    from formulaic import Formula
    from formulaic.formula import SimpleFormula
    from formulaic.parser.types.factor import Factor

    check_length(formula, where)
    check_terms(formula, where)
    try:
        parsed: Any = Formula(formula)
    except Exception:  # formulaic's parser raises several kinds, some of Python's own
        raise _unparsed(formula, where) from None
    if not isinstance(parsed, SimpleFormula):
        raise InputError(f"{where}: write the right side only, such as '1 + age + sex', found {formula!r}.")
    terms = [term for term in parsed if str(term) != "1"]
    if len(terms) == len(list(parsed)):
        raise InputError(f"{where}: a formula keeps its constant; leave out 0 and -1, found {formula!r}.")
    factors, columns = [], []
    for term in terms:
        factors.append(tuple(str(factor.expr) for factor in term.factors))
        columns.append(
            tuple(
                (str(factor.expr),)
                if factor.eval_method is Factor.EvalMethod.LOOKUP
                else _names_in(str(factor.expr), formula, where)
                for factor in term.factors
            )
        )
    return Terms(formula, tuple(factors), tuple(columns))


def _unparsed(formula: str, where: str) -> InputError:
    return InputError(
        f"{where}: does not parse, found {shortened(formula)}; write it like '1 + age + bs(income, df=4)'."
    )


def _names_in(code: str, formula: str, where: str) -> tuple[str, ...]:
    """Return the columns in one factor that is computed."""
    if "`" in code:
        raise InputError(f"{where}: a name in back ticks stands alone, found {code!r}; rename the column to bend it.")
    try:
        return MODELS.names_in(code, where)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _unparsed(formula, where) from None


@dataclass(frozen=True, repr=False)
class Spec:
    """A formula with everything it learnt from the records: knots, levels, centers."""

    terms: Terms
    learnt: Any
    where: str

    @classmethod
    def learn(cls, terms: Terms, frame: pd.DataFrame, *, where: str = "formula") -> "tuple[Spec, Floats]":
        """Return what the formula learns from the records, and its matrix.

        Raises
        ------
        InputError
            When it cannot be computed, or gives values that are not finite.
        """
        from formulaic import Formula

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            matrix = _computed(Formula(terms.text), frame, where)
        values = np.asarray(matrix, dtype=np.float64)
        bad = int((~np.isfinite(values)).any(axis=1).sum())
        if bad:
            raise InputError(
                f"{where}: gives infinite or undefined values in {bad} records; transform or recode first."
            )
        return cls(terms, matrix.model_spec, where), values

    def matrix(self, frame: pd.DataFrame) -> Floats:
        """Return the same columns for other values. Cost O(n · columns)."""
        return np.asarray(_computed(self.learnt, frame, self.where), dtype=np.float64)


def _computed(formula: Any, frame: pd.DataFrame, where: str) -> Any:
    try:
        # copies are drawn in parallel, and warnings.catch_warnings does not keep to its thread: errstate does
        with np.errstate(all="ignore"):
            return formula.get_model_matrix(frame, context=FUNCTIONS, na_action="ignore")
    except Exception as error:  # whatever a user's expression raises; its text may hold values
        raise InputError(
            f"{where}: cannot be computed on these columns ({type(error).__name__}); check their kinds."
        ) from None


def absent(names: Iterable[str], known: Iterable[str], *, where: str) -> list[str]:
    """Return one sentence for each column that is not there."""
    present = list(known)
    return [f"{where}: no column named {name!r}; there are {_some(present)}." for name in names if name not in present]


def _some(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
