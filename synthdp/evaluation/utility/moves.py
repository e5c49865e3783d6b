"""How far every replaced number was moved, against its own record."""

from typing import Any

import numpy as np

from synthdp.evaluation.comparison import Comparison, summarise
from synthdp.table.coded import coded


def evaluate_moves(comparison: Comparison) -> list[dict[str, Any]]:
    """Return bias, mean square and root mean square of original − copy, record by record, for every replaced number.

    ``bias`` is Σ(x − y)/n, ``mse`` Σ(x − y)²/n, ``rmse`` its root, all in the column's units (dates: days); ``share``
    is rmse over the original's sd: 0 is the original, √2 a column in another order. Records that miss x or y are left
    out.

    References
    ----------
    Biswal (2024), PhD thesis, U. Ottawa, Table 3.4 (there as ``Metrics::bias``, ``mse``, ``rmse``, original less copy).

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> data = resolve(pd.DataFrame({"x": [1.5, 2.0, 4.0]}), {"x": Variable(role="replace", kind="continuous")})
    >>> copy = pd.DataFrame({"x": [1.5, 3.0, 2.0]})
    >>> found = evaluate_moves(Comparison(data.frame, (copy,), data.schema, aligned=True))[0]
    >>> round(found["bias"]["value"], 4), round(found["mse"]["value"], 4)
    (0.3333, 1.6667)
    """
    original = coded(comparison.original)
    copies = [coded(copy) for copy in comparison.copies]
    found = []
    for column in comparison.schema.replaced():
        if column.kind.categorical:
            continue
        values = original.numbers(column)
        sd = float(np.nanstd(values)) if np.isfinite(values).any() else 0.0
        moved = [values - copy.numbers(column) for copy in copies]
        moved = [difference[np.isfinite(difference)] for difference in moved]
        means = [
            (float(one.mean()), float((one**2).mean())) if len(one) else (float("nan"), float("nan")) for one in moved
        ]
        roots = [mse**0.5 for _, mse in means]
        found.append(
            {
                "column": column.name,
                "bias": summarise([bias for bias, _ in means]),
                "mse": summarise([mse for _, mse in means]),
                "rmse": summarise(roots),
                "share": summarise([root / sd if sd > 0 else None for root in roots]),
            }
        )
    return found
