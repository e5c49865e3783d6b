"""The data user's side in one call: run an analysis on every copy and combine what they say."""

from collections.abc import Sequence

import pandas as pd

from synthdp.errors import InputError, SynthdpError
from synthdp.inference.analyses import Analysis, Estimates
from synthdp.inference.combining import DEFAULT_RULE, Pooled, combine
from synthdp.schema import Schema


def pool(
    copies: Sequence[pd.DataFrame],
    analysis: Analysis,
    *,
    schema: Schema | None = None,
    default_rule: str = DEFAULT_RULE,
    level: float = 0.95,
) -> Pooled:
    """Estimate an analysis on every copy and combine the estimates.

    Parameters
    ----------
    copies
        The synthetic files.
    analysis
        The model, its formula and, if it names one, the combining rule.
    schema
        What the columns are; gives the order of levels (the first is the reference).
    default_rule
        The rule for an analysis that names none: the one the design of the release calls for.
    level
        Coverage of the intervals.

    Raises
    ------
    InputError, Unfinished
        As :meth:`Analysis.estimate` and :func:`combine`; the message says which copy.

    Examples
    --------
    >>> copies = [pd.DataFrame({"age": [30, 40, age]}) for age in (50, 80)]
    >>> print(pool(copies, Analysis(name="age", model="mean", formula="age")))
    age: mean age
    term  estimate     se  95% low  95% high    df       p
    ------------------------------------------------------
    age         45  12.58    19.57     70.43  40.1  <0.001
    2 copies combined by reiter2003
    """
    if not copies:
        raise InputError(f"{analysis.where}: needs at least one copy, found none.")
    estimates = [_estimate(frame, analysis, schema, f"copy {number}") for number, frame in enumerate(copies, start=1)]
    try:
        return combine(
            estimates,
            rule=analysis.rule or default_rule,
            level=level,
            title=f"{analysis.name}: {analysis.model} {analysis.formula}",
        )
    except InputError as error:
        raise InputError(*(f"{analysis.where}: {problem}" for problem in error.problems)) from None


def _estimate(frame: pd.DataFrame, analysis: Analysis, schema: Schema | None, file: str) -> Estimates:
    try:
        return analysis.estimate(frame, schema)
    except SynthdpError as error:
        # the same error, saying which file it came from
        raise type(error)(f"{file}: {error}") from None
