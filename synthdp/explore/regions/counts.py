"""The least expected error that any ε-DP count on {0..n} can promise, as a table for the page.

The linear programme takes too long for a slider, so it is solved here once: ``counts.json``, which
``python -m synthdp.explore.regions.counts`` writes anew, and between whose points the page reads.

References
----------
Hall (2012), thesis, Carnegie Mellon, Section 1.3.5: the minimax rule. Ghosh, Roughgarden, Sundararajan (2012), SIAM J.
Comput. 41(6).
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from synthdp.privacy.guarantees import positive, whole

TABLE = Path(__file__).with_name("counts.json")
LARGEST = (1, 2, 5, 10, 20)
EPSILONS = np.geomspace(0.05, 5, 41)


def least_error(epsilon: float, records: int) -> float:
    """Return min over ε-DP mechanisms of the largest E|answer − count|, count and answer in {0..n}.

    A linear programme in the (n + 1)² probabilities and the error itself; halved by symmetry it would be smaller, but
    it is solved once. Cost about n⁵ at n = 20: a tenth of a second.
    """
    from scipy import optimize, sparse

    size = whole(records, "records", 1) + 1
    shrink = math.exp(-positive(epsilon, "epsilon"))
    place = np.arange(size**2).reshape(size, size)
    error = size**2
    # shrink · P(r | i) ≤ P(r | j) for neighbours i, j
    upper, lower = place[:-1].ravel(), place[1:].ravel()
    small, large = np.concatenate([upper, lower]), np.concatenate([lower, upper])
    rows = np.arange(len(small))
    private = sparse.coo_array(
        (
            np.repeat([shrink, -1.0], len(small)),
            (np.concatenate([rows, rows]), np.concatenate([small, large])),
        ),
        shape=(len(small), size**2 + 1),
    )
    counts = np.arange(size)
    distance = np.abs(counts[:, None] - counts)
    line = np.repeat(counts, size)
    bounded = sparse.coo_array(
        (
            np.concatenate([distance.ravel().astype(float), -np.ones(size)]),
            (np.concatenate([line, counts]), np.concatenate([place.ravel(), np.full(size, error)])),
        ),
        shape=(size, size**2 + 1),
    )
    sums = sparse.coo_array((np.ones(size**2), (line, place.ravel())), shape=(size, size**2 + 1))
    solve: Any = optimize.linprog  # its stubs know dense matrices only
    found = solve(
        np.append(np.zeros(size**2), 1.0),
        A_ub=sparse.vstack([private, bounded]).tocsr(),
        b_ub=np.zeros(len(small) + size),
        A_eq=sums.tocsr(),
        b_eq=np.ones(size),
        method="highs",
    )
    return float(found.fun)


def table() -> dict[str, object]:
    """Return the table: values of ε, evenly spread in its logarithm, and the least error at each for every n."""
    risks = {str(n): [round(least_error(float(e), n), 12) for e in EPSILONS] for n in LARGEST}
    return {"epsilons": [float(e) for e in EPSILONS], "risks": risks}


if __name__ == "__main__":
    TABLE.write_text(json.dumps(table()) + "\n", encoding="utf-8")
