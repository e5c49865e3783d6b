"""How far analyses differ by chance: copy by copy, and between two halves of the original."""

from typing import Any

import numpy as np

from synthdp.errors import SynthdpError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.holdout import clusters, split
from synthdp.evaluation.utility.overlap import ci_overlap
from synthdp.inference.analyses import Analysis
from synthdp.inference.combining import half_width
from synthdp.inference.estimates import Estimates

SPLITS = 4


def spread_of(
    comparison: Comparison, analysis: Analysis, *, rng: np.random.Generator, level: float = 0.95
) -> dict[str, Any]:
    """Return the mean interval overlap of each copy alone with the original, and of two halves of the original.

    Halves are as independent as two samples of one population: their intervals overlap by
    1 − E|N(0, 2)|/(2z) = 1 − 1/(z√π) = 0.71 on average at 95%, whatever the size. Copies that overlap more than that
    agree with the original better than a second survey would. Members of a cluster stay in one half.

    Cost: M + 2 · 4 fits, the latter on half the records.

    Returns
    -------
    dict
        ``per_copy``, ``low``, ``high`` of the overlap, and ``noise``, the mean over 4 splits; None where an estimate
        does not exist (a level that a half does not have).
    """
    whole = _estimate(comparison, analysis, comparison.original)
    if whole is None:
        return {"per_copy": [None] * len(comparison.copies), "low": None, "high": None, "noise": None}
    each = [_overlap(whole, _estimate(comparison, analysis, copy), level) for copy in comparison.copies]
    known = [value for value in each if value is not None]
    floors = []
    for _ in range(SPLITS):
        first = split(len(comparison.original), share=0.5, cluster=clusters(comparison), rng=rng)
        parts = [_estimate(comparison, analysis, comparison.original[side]) for side in (first, ~first)]
        floors.append(_overlap(parts[0], parts[1], level))
    found = [value for value in floors if value is not None]
    return {
        "per_copy": each,
        "low": min(known, default=None),
        "high": max(known, default=None),
        "noise": float(np.mean(found)) if found else None,
    }


def _estimate(comparison: Comparison, analysis: Analysis, frame: Any) -> Estimates | None:
    try:
        return analysis.estimate(frame, comparison.schema)
    except SynthdpError:
        return None


def _overlap(first: Estimates | None, second: Estimates | None, level: float) -> float | None:
    """Return the mean overlap of two sets of intervals, None when they have not the same terms."""
    if first is None or second is None or set(first.names) != set(second.names):
        return None
    order = [second.names.index(name) for name in first.names]
    ends = []
    for found, place in ((first, list(range(len(order)))), (second, order)):
        df = np.inf if found.df_residual is None else found.df_residual
        half = half_width(found.se, df, level)
        ends += [(found.values - half)[place], (found.values + half)[place]]
    overlaps = ci_overlap(*ends)
    defined = overlaps[np.isfinite(overlaps)]
    return float(defined.mean()) if defined.size else None
