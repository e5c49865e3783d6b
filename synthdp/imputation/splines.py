"""Restricted cubic splines: a numeric predictor bent between its knots, straight beyond them.

With knots t_1 < … < t_k the basis is x itself and, for j = 1 … k-2,

    (x - t_j)₊³ - (x - t_{k-1})₊³ (t_k - t_j)/(t_k - t_{k-1}) + (x - t_k)₊³ (t_{k-1} - t_j)/(t_k - t_{k-1})

divided by (t_k - t_1)².

References
----------
Harrell (2015), Regression Modeling Strategies, 2nd ed., section 2.4.5, equations 2.25-2.26.
"""

import numpy as np

from synthdp.microdata import Floats

OUTER_QUANTILE = 0.05


def knots_of(values: Floats, count: int) -> Floats:
    """Return distinct knots at evenly spaced quantiles; fewer where values are heaped."""
    return np.unique(np.quantile(values, np.linspace(OUTER_QUANTILE, 1 - OUTER_QUANTILE, count)))


def basis(values: Floats, knots: Floats) -> Floats:
    """Return the k - 2 bent columns of the basis; none with fewer than three knots.

    Examples
    --------
    >>> basis(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0])).round(3).ravel().tolist()
    [0.0, 0.25, 1.5, 3.0]
    """
    if len(knots) < 3:
        return np.empty((len(values), 0))
    last, before = knots[-1], knots[-2]
    columns = []
    for knot in knots[:-2]:
        bent = np.maximum(values - knot, 0) ** 3
        bent -= np.maximum(values - before, 0) ** 3 * (last - knot) / (last - before)
        bent += np.maximum(values - last, 0) ** 3 * (before - knot) / (last - before)
        columns.append(bent / (last - knots[0]) ** 2)
    return np.column_stack(columns)
