r"""What tables and counts cost in accuracy: expected errors in closed form, and what no mechanism can be better than.

A table of p cells with Laplace noise of scale b = 2/ε in each (one record replaced moves two counts by 1) has the ℓ1
error

    unclipped        p b
    clipped at 0     Σ_t b − (b/2) e^{−t/b}                                       over the true counts t
    cut at τ         Σ_t ½ e^{−s/b}(s + b) + t (1 − ½ e^{−s/b})                   s = τ − t ≥ 0
                     Σ_t b − ½ e^{s/b}(b − s) + (t/2) e^{s/b}                     s < 0

In expectation, exactly; ``tests/golden/test_digest_acceptance_001.py`` integrates them numerically.

References
----------
Hall (2012, PhD thesis, CMU), sections 2.2–2.4: Proposition 2.3.1 (count), Proposition 2.4.3 (sparse table), Fano's
inequality (2.2). The constants of its Propositions 2.3.2, 2.4.2, 2.4.4 and 2.4.5 do not follow from their proofs
(factors of 2 in Markov's and Fano's inequalities), so they are not here. The proof of 2.3.1 needs about n ≥ 6/ε
records: for n = 1 and ε = 0.25 the best mechanism errs by .4378, below the bound of .5413.
"""

import math

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy.guarantees import epsilon_of, floats, not_negative, positive, whole
from synthdp.table.microdata import Floats

MOVED = 2.0
"""By how much, in ℓ1, a table moves when one record is replaced."""


def table_error(counts: npt.ArrayLike, epsilon: float, *, cells: int | None = None, clipped: bool = True) -> float:
    """Return the expected ℓ1 error of a table with Laplace noise, negative counts set to 0 unless not ``clipped``.

    Parameters
    ----------
    counts
        The true counts; zeros may be left out.
    cells
        How many cells there are, counting the empty ones; as many as counts when absent.

    Examples
    --------
    >>> table_error([3, 0], 1.0, clipped=False)
    4.0
    """
    occupied, empty = _occupied(counts, cells)
    b = MOVED / epsilon_of(epsilon)
    if not clipped:
        return (len(occupied) + empty) * b
    return float((b - b / 2 * np.exp(-occupied / b)).sum() + empty * b / 2)


def sparse_table_error(
    counts: npt.ArrayLike, epsilon: float, *, cells: int | None = None, threshold: float | None = None
) -> float:
    """Return the expected ℓ1 error of the same table with noisy counts of at most the threshold set to 0.

    The default threshold is (2/ε) ln p, for p cells.
    """
    occupied, empty = _occupied(counts, cells)
    b = MOVED / epsilon_of(epsilon)
    tau = b * math.log(len(occupied) + empty) if threshold is None else not_negative(threshold, "threshold")
    s = tau - occupied
    up, down = np.exp(-np.maximum(s, 0.0) / b), np.exp(np.minimum(s, 0.0) / b)
    low = 0.5 * up * (s + b) + occupied * (1 - 0.5 * up)
    high = b - 0.5 * down * (b - s) + occupied / 2 * down
    return float(np.where(s >= 0, low, high).sum() + empty * 0.5 * math.exp(-tau / b) * (tau + b))


def sparse_table_bound(occupied: int, cells: int, epsilon: float) -> float:
    """Return the bound ((2q + 1)/ε)(ln p + 1) on that error for q occupied cells of p (Proposition 2.4.3).

    It says little where cells are few: above the 2p/ε of plain noise for 22 of 64.
    """
    return (2 * whole(occupied, "occupied", 0) + 1) * (math.log(whole(cells, "cells", 1)) + 1) / epsilon_of(epsilon)


def margins_error(columns: int, epsilon: float) -> float:
    """Return the expected ℓ1 error k²/ε of the k one-way margins of a 2^k table with Laplace noise of scale k/ε."""
    return whole(columns, "columns", 1) ** 2 / epsilon_of(epsilon)


def count_lower_bound(epsilon: float) -> float:
    """Return e⁻²/ε, below which no ε-DP count of many records keeps its largest expected error (ε < 2)."""
    if epsilon_of(epsilon) >= 2:
        raise InputError(f"epsilon: the lower bound of a count is proved below 2, found {epsilon:g}.")
    return math.exp(-2) / epsilon


def fano_bound(least_loss: float, most_kl: float, hypotheses: int) -> float:
    """Return ½ d (1 − (K + ln 2)/ln N), the least that the largest risk can be; 0 where that is negative.

    Parameters
    ----------
    least_loss
        d: the least loss between any two of the hypotheses.
    most_kl
        K: the largest divergence between the answers on any two of them; ε times the number of records in which their
        files differ bounds it.
    hypotheses
        N, at least 2.
    """
    count = whole(hypotheses, "hypotheses", 2)
    left = 1 - (not_negative(most_kl, "most_kl") + math.log(2)) / math.log(count)
    return positive(least_loss, "least_loss") / 2 * max(left, 0.0)


def _occupied(counts: npt.ArrayLike, cells: int | None) -> tuple[Floats, int]:
    found = floats(counts, "counts").ravel()
    if not np.isfinite(found).all() or (found < 0).any():
        raise InputError("counts: must be finite numbers, none below 0.")
    held = found[found > 0]
    total = len(found) if cells is None else whole(cells, "cells", 1)
    if total < len(held):
        raise InputError(f"cells: must be at least the {len(held)} occupied ones, found {total}.")
    return held, total - len(held)
