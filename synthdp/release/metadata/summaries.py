"""What a codebook says of a column's values, computed from the copies alone: whoever holds them could do the same."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.table.coded import coded
from synthdp.table.schema import Column, Kind, Role

# beyond so many levels a list of shares is a table of its own
MOST_LEVELS = 500
_ROLES = {"replaced": Role.REPLACE, "derived": Role.DERIVED}


@dataclass(frozen=True)
class Summary:
    """The values of one column, averaged over the copies.

    Parameters
    ----------
    valid, missing
        How many records have a value, and how many have none.
    figures
        Mean, standard deviation, smallest and largest value of a numeric column, by their DDI names.
    shares
        Of each level, in percent of the records that have one; empty where there are too many levels.
    """

    valid: float
    missing: float
    figures: dict[str, float]
    shares: tuple[float, ...] = ()


def public_column(row: dict[str, Any]) -> Column:
    """Return a column as a row of the codebook describes it: with the levels that are public, and no others."""
    levels = row.get("levels")
    return Column(
        name=str(row["name"]),
        kind=row["kind"],
        role=_ROLES.get(row["role"], Role.KEEP),
        key=False,
        levels=tuple(json.loads(levels)) if isinstance(levels, str) else (),
    )


def summarise(column: Column, copies: Sequence[pd.DataFrame]) -> Summary:
    """Return the summary of a column.

    Dates have no figures: which days are the first and the last is for a reader of the copies to find.

    Examples
    --------
    >>> age = Column(name="age", kind="count", role="replace", key=False)
    >>> found = summarise(age, [pd.DataFrame({"age": [1, 3]}), pd.DataFrame({"age": [5, None]})])
    >>> found.valid, found.missing, found.figures["mean"], found.figures["max"]
    (1.5, 0.5, 3.5, 5.0)
    """
    if column.kind.categorical:
        return _levels(column, copies)
    if column.kind is Kind.DATE:
        valid = [int(copy[column.name].notna().sum()) for copy in copies]
        return _counted(valid, copies, {})
    values = [coded(copy).numbers(column) for copy in copies]
    values = [one[np.isfinite(one)] for one in values]
    known = [one for one in values if len(one)]
    spread = [float(one.std(ddof=1)) for one in known if len(one) > 1]
    figures = {"mean": float(np.mean([one.mean() for one in known]))} if known else {}
    figures |= {"stdev": float(np.mean(spread))} if spread else {}
    if known:
        figures |= {"min": float(min(one.min() for one in known)), "max": float(max(one.max() for one in known))}
    return _counted([len(one) for one in values], copies, figures)


def _levels(column: Column, copies: Sequence[pd.DataFrame]) -> Summary:
    found = [coded(copy).codes(column) for copy in copies]
    counts = [np.bincount(one[one >= 0], minlength=len(column.levels)) for one in found]
    known = [one / one.sum() for one in counts if one.sum()]
    listed = bool(known) and len(column.levels) <= MOST_LEVELS
    shares = tuple(100 * float(one) for one in np.mean(known, axis=0)) if listed else ()
    return _counted([int(one.sum()) for one in counts], copies, {}, shares)


def _counted(
    valid: Sequence[int], copies: Sequence[pd.DataFrame], figures: dict[str, float], shares: tuple[float, ...] = ()
) -> Summary:
    records = float(np.mean([len(copy) for copy in copies]))
    known = float(np.mean(valid))
    # noughts that rounding would write as -0
    return Summary(known, records - known, {name: one + 0.0 for name, one in figures.items()}, shares)
