"""The data user's side in one call.

Run an analysis on every copy, and combine what they say by a rule that fits how they were made.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from synthdp.budget import go_on
from synthdp.errors import InputError, SynthdpError
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import DEFAULT_RULE, Pooled, combine, intervals
from synthdp.inference.estimates import Estimates
from synthdp.inference.models.descriptive import levels_of
from synthdp.inference.models.fit import MODELS
from synthdp.table.schema import Schema

# above this a correlation is one, and Fisher's z is infinite
PERFECT = 1 - 1e-9


def pool(
    copies: Sequence[pd.DataFrame],
    analysis: Analysis,
    *,
    schema: Schema | None = None,
    default_rule: str = DEFAULT_RULE,
    level: float = 0.95,
    nests: int | Sequence[int] | None = None,
    ratio: float = 1.0,
    estimate: Callable[[pd.DataFrame], Estimates] | None = None,
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
    nests, ratio
        The layout of the copies; see :func:`combine`.
    estimate
        Returns the analysis's estimates on one copy, where somebody has them already; not asked for those of levels.

    Raises
    ------
    InputError, Unfinished
        As :meth:`Analysis.estimate` and :func:`combine`; the message says which copy.

    Notes
    -----
    Under a survey design v̄ has few degrees of freedom itself, ν_d = clusters − strata, so ν becomes Satterthwaite's:
    1/ν + (v̄/T)²/ν_d in the denominator.

    Correlations are combined as Fisher's z = artanh r, and turned back: intervals stay within (−1, 1) and are not
    symmetric; se is that of r.

    Examples
    --------
    >>> copies = [pd.DataFrame({"age": [30, 40, age]}) for age in (50, 80)]
    >>> print(pool(copies, Analysis(name="age", model="mean", formula="age")))
    age: mean age, n = 3
    term  estimate     se  95% low  95% high    df       p
    ------------------------------------------------------
    age         45  12.58    19.57     70.43  40.1  <0.001
    2 copies combined by reiter2003
    """
    if not copies:
        raise InputError(f"{analysis.where}: needs at least one copy, found none.")
    levels = None
    if MODELS[analysis.model].of_levels:
        for number, frame in enumerate(copies, start=1):
            if problems := analysis.problems(frame.columns):
                raise InputError(*(f"copy {number}: {problem}" for problem in problems))
        levels = levels_of(copies, analysis.columns(), schema)
    if estimate is None or levels is not None:
        found = estimate_each(copies, lambda frame: analysis.estimate(frame, schema, levels=levels))
    else:
        found = estimate_each(copies, estimate)
    fisher = MODELS[analysis.model].fisher and all((np.abs(one.values) < PERFECT).all() for one in found)
    named = "" if analysis.name == analysis.model else f"{analysis.name}: "
    try:
        pooled = combine(
            [_to_z(one) for one in found] if fisher else found,
            rule=analysis.rule or default_rule,
            level=level,
            title=f"{named}{analysis.describe()}{records(found)}",
            nests=nests,
            ratio=ratio,
        )
    except InputError as error:
        raise InputError(*(f"{analysis.where}: {problem}" for problem in error.problems)) from None
    design = min((one.df_residual for one in found if one.df_residual is not None), default=None)
    if analysis.surveyed and design is not None:
        pooled = _with_design_df(pooled, design)
    return _from_z(pooled) if fisher else pooled


def estimate_each(copies: Sequence[pd.DataFrame], estimate: Callable[[pd.DataFrame], Estimates]) -> list[Estimates]:
    """Return the estimates on every copy; an error says which copy it came from."""
    found = []
    for number, frame in enumerate(copies, start=1):
        go_on()
        try:
            found.append(estimate(frame))
        except InputError as error:
            raise InputError(*(f"copy {number}: {problem}" for problem in error.problems)) from None
        except SynthdpError as error:
            raise type(error)(f"copy {number}: {error}") from None
    return found


def records(found: Sequence[Estimates]) -> str:
    """Return how many records the estimates come from, for a title: ``, n = 60`` or ``, n = 58 to 60``."""
    sizes = [one.records for one in found if one.records is not None]
    if len(sizes) < len(found):
        return ""
    low, high = min(sizes), max(sizes)
    return f", n = {low}" if low == high else f", n = {low} to {high}"


def _with_design_df(pooled: Pooled, design: float) -> Pooled:
    """Return the intervals with 1/ν* = 1/ν + (v̄/T)²/ν_d: the rules take v̄ for known, few clusters do not tell it."""
    variance = pooled.se**2
    share = np.divide(pooled.v_bar, variance, out=np.zeros_like(variance), where=variance > 0)
    df = 1 / (1 / pooled.df + np.minimum(share, 1.0) ** 2 / design)
    return replace(pooled, **intervals(pooled.estimate, pooled.se, df, pooled.level))


def _to_z(found: Estimates) -> Estimates:
    slope = 1 / (1 - found.values**2)
    return replace(found, values=np.arctanh(found.values), covariance=np.outer(slope, slope) * found.covariance)


def _from_z(pooled: Pooled) -> Pooled:
    r = np.tanh(pooled.estimate)
    slope = 1 - r**2
    moments = pooled.moments
    if moments is not None:
        both = np.outer(slope, slope)
        moments = replace(moments, q_bar=r, between=both * moments.between, within=both * moments.within)
    return replace(
        pooled,
        estimate=r,
        se=slope * pooled.se,
        low=np.tanh(pooled.low),
        high=np.tanh(pooled.high),
        b=slope**2 * pooled.b,
        v_bar=slope**2 * pooled.v_bar,
        moments=moments,
    )
