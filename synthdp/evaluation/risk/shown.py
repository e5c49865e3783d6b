"""What a value that is shown says of the record's own: odds of levels, and how many numbers lie near a true one."""

from typing import Any

import numpy as np

from synthdp.evaluation.comparison import Comparison, summarise
from synthdp.evaluation.risk.uniqueness import SMALL
from synthdp.table.coded import coded
from synthdp.table.facts import DEFAULT_TOLERANCE_SD
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column


def evaluate_odds(comparison: Comparison) -> list[dict[str, Any]]:
    """Return, for every replaced column of levels, how far the level shown in a copy is to be believed.

    The intruder knows which row of a copy is the target's and reads the level l there. Of the rows that show l the
    share P(X = l | Y = l) = n_ll / n_·l was made from records that have it, and the odds are n_ll / (n_·l − n_ll). For
    a
    matrix P and shares π these estimate π_l p_ll / Σ_{k≠l} π_k p_kl.

    ``posterior`` and ``odds`` are those of the rarest level of the original, ``prior`` its share there, all pooled over
    copies; None where it is never shown, and odds None where nobody else shows it. ``right`` is the share of all
    records that show their own level, copy by copy.

    References
    ----------
    Gouweleeuw, Kooiman, Willenborg, de Wolf (1998), Journal of Official Statistics 14(4), section 5 (rare scores).

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> data = resolve(pd.DataFrame({"x": list("aaaaabbbbb")}), {"x": Variable(role="replace")})
    >>> copy = pd.DataFrame({"x": list("aaaababbbb")})
    >>> found = evaluate_odds(Comparison(data.frame, (copy,), data.schema, aligned=True))[0]
    >>> found["posterior"], found["odds"]
    (0.8, 4.0)
    """
    return [_odds(comparison, column) for column in comparison.schema.replaced() if column.kind.categorical]


def _odds(comparison: Comparison, column: Column) -> dict[str, Any]:
    size = len(column.levels)
    own = coded(comparison.original).codes(column)
    tables = [_crossed(own, coded(copy).codes(column), size) for copy in comparison.copies]
    table = np.sum(tables, axis=0)
    held = np.bincount(own[own >= 0], minlength=size)
    rare = int(np.argmin(np.where(held > 0, held, np.iinfo(np.int64).max)))
    shown, true = int(table[:, rare].sum()), int(table[rare, rare])
    return {
        "column": column.name,
        "prior": float(held[rare] / held.sum()) if held.sum() else None,
        "posterior": true / shown if shown else None,
        "odds": true / (shown - true) if shown > true else None,
        "right": summarise([float(np.trace(one) / one.sum()) if one.sum() else None for one in tables]),
    }


def _crossed(own: Codes, shown: Codes, size: int) -> Codes:
    there = (own >= 0) & (shown >= 0)
    return np.bincount(own[there] * size + shown[there], minlength=size * size).reshape(size, size)


def evaluate_group_size(comparison: Comparison) -> list[dict[str, Any]]:
    """Return, for every replaced number, how many values of a copy lie near the true value of a record.

    The intruder knows x of the target and looks for values within a radius of it: the tolerance of a key, else a tenth
    of the original's sd. ``mean`` and ``least`` are over records and copies, ``original`` the same where copies are the
    original, and ``below`` the share of records with fewer than 2, 3 and 5 values near them.

    Notes
    -----
    With noise of a known law the expectation is known without drawing
    (``synthdp.synthesis.maskings.grouped.expected_group_size``). Cost O(n log n) for each copy.

    References
    ----------
    Biswal (2024), PhD thesis, U. Ottawa, Theorem 3.5.1 and Figure 3.5.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> variable = Variable(role="replace", kind="continuous", key=True, tolerance=1)
    >>> data = resolve(pd.DataFrame({"x": [1.0, 2.5, 9.0]}), {"x": variable})
    >>> copy = pd.DataFrame({"x": [1.5, 2.0, 9.0]})
    >>> found = evaluate_group_size(Comparison(data.frame, (copy,), data.schema, aligned=True))[0]
    >>> round(found["mean"], 4), found["least"]
    (1.6667, 1)
    """
    return [_group_size(comparison, column) for column in comparison.schema.replaced() if not column.kind.categorical]


def _group_size(comparison: Comparison, column: Column) -> dict[str, Any]:
    at = coded(comparison.original).numbers(column)
    at = at[np.isfinite(at)]
    if not len(at):
        return {"column": column.name, "reason": "every value is missing"}
    radius = column.tolerance if column.key else DEFAULT_TOLERANCE_SD * float(at.std())
    near = np.concatenate([_near(coded(copy).numbers(column), at, radius) for copy in comparison.copies])
    before = _near(at, at, radius)
    return {
        "column": column.name,
        "radius": radius,
        "mean": float(near.mean()),
        "least": int(near.min()),
        "original": {"mean": float(before.mean()), "least": int(before.min())},
        "below": [{"k": k, "rate": float((near < k).mean())} for k in SMALL],
    }


def _near(values: Floats, at: Floats, radius: float) -> Codes:
    ordered = np.sort(values[np.isfinite(values)])
    # a hair more, so that decimals that are equal on paper count
    reach = radius * (1 + 1e-9) + 1e-12
    found = np.searchsorted(ordered, at + reach, side="right") - np.searchsorted(ordered, at - reach, side="left")
    return np.asarray(found, dtype=np.int64)
