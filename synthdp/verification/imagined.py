"""The records as the declared schema has them: types that no record can change, and made-up ones to try a request on.

Whether a request makes sense is found on records that are drawn at random from the declared levels and bounds, so that
it is refused, or not, whatever the data are. Only columns whose levels or bounds are declared can be asked about.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.inference.models.fit import MODELS, Asked
from synthdp.table.microdata import MISSING, Codes, Floats, Microdata
from synthdp.table.schema import Kind, Level, Role, Variable
from synthdp.verification.request import WHERE, Request

RECORDS = 500
MOST_TERMS = 60
# of what is repeated of a request
LONGEST_TERM = 100
Variables = Mapping[str, Variable]


def check(request: Request, variables: Variables) -> tuple[str, ...]:
    """Return the terms of the model, from the declared schema alone.

    Raises
    ------
    InputError
        When a column may not be asked about, the model cannot be computed, or a question is about no term of it.
    """
    names = request.columns()
    problems = [sentence for name in names if (sentence := _undeclared(name, variables.get(name))) is not None]
    if problems:
        raise InputError(*problems)
    terms = _terms(request, imagined(names, variables))
    if len(terms) > MOST_TERMS:
        raise InputError(f"{WHERE}: formula: has {len(terms)} terms, at most {MOST_TERMS} are answered; use fewer.")
    strangers = [question.term for question in request.questions if question.term not in terms]
    if strangers:
        raise InputError(
            *(
                f"{WHERE}: no term named {name!r}; there are {', '.join(map(_cut, terms))}."
                for name in dict.fromkeys(strangers)
            )
        )
    return terms


def imagined(names: Sequence[str], variables: Variables) -> pd.DataFrame:
    """Return made-up records in which every level occurs."""
    rng = np.random.default_rng(0)
    columns = {}
    for name in names:
        variable = variables[name]
        if variable.levels is not None:
            codes = np.arange(RECORDS) % len(variable.levels)
            columns[name] = levels_of(rng.permutation(codes), variable.levels)
            continue
        low, high = variable.bounds or (0.0, 1.0)
        drawn = rng.uniform(low, high, RECORDS)
        columns[name] = pd.Series(np.clip(np.rint(drawn), low, high) if variable.kind is Kind.COUNT else drawn)
    return pd.DataFrame(columns)


def declared(data: Microdata, names: Sequence[str], variables: Variables) -> pd.DataFrame:
    """Return these columns of the records, of types that follow from the declarations and from no record."""
    columns = {}
    for name in names:
        levels = variables[name].levels
        columns[name] = pd.Series(data.numbers(name)) if levels is None else levels_of(data.codes(name), levels)
    return pd.DataFrame(columns)


def levels_of(codes: Codes, levels: Sequence[Level]) -> pd.Series:
    """Return levels as numbers where all of them are, and as text otherwise."""
    if all(isinstance(level, int | float) for level in levels):
        values: Floats = np.asarray([float(level) for level in levels])
        return pd.Series(np.where(codes == MISSING, np.nan, values[codes]))
    names = np.asarray(
        [*(str(level) for level in levels), None], dtype=object
    )  # the last one is what MISSING points to
    return pd.Series(pd.Categorical(names[codes], categories=names[:-1]))


def _undeclared(name: str, variable: Variable | None) -> str | None:
    """Return why a column may not be asked about; a dropped column is as unknown as one that never was."""
    if variable is None or variable.role is Role.DROP:
        return f"{WHERE}: formula: no column {name!r} that may be asked about."
    if variable.derived is not None:
        return f"{WHERE}: formula: {name!r} is derived from other columns; write its formula instead."
    if variable.kind is Kind.DATE or variable.rare is not None:
        return f"{WHERE}: formula: {name!r} is of a kind that is not answered; leave it out."
    if variable.levels is None and (variable.bounds is None or variable.kind in LEVELLED):
        return f"{WHERE}: formula: the config declares no levels or bounds of {name!r}; leave it out."
    return None


def _cut(term: str) -> str:
    return term if len(term) <= LONGEST_TERM else f"{term[:LONGEST_TERM]}…"


LEVELLED = (Kind.BINARY, Kind.ORDINAL, Kind.NOMINAL)


def _terms(request: Request, frame: pd.DataFrame) -> tuple[str, ...]:
    asked = Asked(
        frame=frame,
        schema=None,
        formula=request.formula,
        columns=request.columns(),
        where=f"{WHERE}: formula",
    )
    problem = MODELS[request.model].problem(asked)
    if request.model == "mean":
        return request.columns()
    return tuple(str(name) for name in getattr(problem, "design").names)  # noqa: B009
