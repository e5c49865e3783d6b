r"""What tables and counts cost in accuracy: expected errors in closed form, and what no mechanism can be better than.

A table of p cells with Laplace noise of scale b = 2/ε in each (one record replaced moves two counts by 1) has the ℓ1
error

    unclipped        p b
    clipped at 0     Σ_t b − (b/2) e^{−t/b}                                       over the true counts t
    cut at τ         Σ_t ½ e^{−s/b}(s + b) + t (1 − ½ e^{−s/b})                   s = τ − t ≥ 0
                     Σ_t b − ½ e^{s/b}(b − s) + (t/2) e^{s/b}                     s < 0

In expectation, exactly; ``tests/golden/test_digest_acceptance_001.py`` integrates them numerically.

What no ε-DP table can do better than: of M files that differ pairwise in τ records, whose tables are d or more apart,
an answer is nearest to one at most. So over all M it is d/2 or more off with probability (M − 1)/(M − 1 + e^{τε}) on
average, and of two numbers 0 and τ, as |x| + |x − τ| ≥ τ, it misses by τ/(1 + e^{τε}) on average. The rest of the
records is in one last cell. The τ with the largest bound is taken.

``histogram_lower_bound``      each of p − 1 cells holds 0 or τ records: τ/(1 + e^{τε}) for each
``sparse_table_lower_bound``   q − 1 blocks of M cells, of each of which one holds τ records: d = 2τ for each block
``margins_lower_bound``        τ records have the same k answers, a word of a code of M words that differ pairwise in
                               D or more: d = τD, M ≥ 2^k/Σ_{i<D} C(k, i) (Gilbert 1952); or each answer by itself

References
----------
Hall (2012, PhD thesis, CMU), sections 2.2–2.4: Proposition 2.3.1 (count), Proposition 2.4.3 (sparse table), Fano's
inequality (2.2). The constants of its Propositions 2.3.2, 2.4.2, 2.4.4 and 2.4.5 do not follow from their proofs
(factors of 2 in Markov's and Fano's inequalities); those above are ours. Packings: Hardt, Talwar (2010), STOC. Its
proof of 2.3.1 needs about n ≥ 6/ε
records: for n = 1 and ε = 0.25 the best mechanism errs by .4378, below the bound of .5413.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from synthdp.errors import InputError
from synthdp.privacy.guarantees import epsilon_of, floats, not_negative, positive, whole
from synthdp.privacy.mechanisms.mechanism import Integers
from synthdp.table.microdata import Floats

LONGEST = 10**6
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


def histogram_lower_bound(records: int, cells: int, epsilon: float) -> float:
    """Return what the largest expected ℓ1 error of an ε-DP table is at least: near .28(p − 1)/ε for many records.

    Examples
    --------
    >>> round(histogram_lower_bound(1, 2, 0.25), 6)
    0.437823
    """
    n, free, eps = whole(records, "records", 1), whole(cells, "cells", 2) - 1, epsilon_of(epsilon)
    tau = np.arange(1, _longest(n, eps) + 1)
    return float((np.minimum(free, n // tau) * tau * _wrong(2, tau, eps)).max())


def sparse_table_lower_bound(records: int, occupied: int, cells: int, epsilon: float) -> float:
    """Return the same for tables of which at most q cells are occupied, and which ones is not known.

    Examples
    --------
    >>> round(sparse_table_lower_bound(21574, 3152, 65536, 1.0), 1)
    4595.2
    """
    n, q, eps = whole(records, "records", 1), whole(occupied, "occupied", 2), epsilon_of(epsilon)
    block = (whole(cells, "cells", 3) - 1) // (q - 1)
    if block < 2:
        raise InputError(f"cells: must be more than twice the occupied ones, found {cells} for {q}.")
    tau = np.arange(1, _longest(n, eps, block) + 1)
    return float((np.minimum(q - 1, n // tau) * tau * _wrong(block, tau, eps)).max())


def margins_lower_bound(records: int, columns: int, epsilon: float) -> float:
    """Return the same for the k one-way margins of a 2^k table: of the order of k²/ε for many records."""
    n, k, eps = whole(records, "records", 1), whole(columns, "columns", 1), epsilon_of(epsilon)
    tau = np.arange(1, _longest(n, eps, 2**k) + 1)
    best = float((k * tau * _wrong(2, tau, eps)).max())
    ball = 0
    for apart in range(1, k + 1):
        ball += math.comb(k, apart - 1)
        best = max(best, float((tau * apart / 2 * _wrong(-(-(2**k) // ball), tau, eps)).max()))
    return best


def _wrong(words: int, tau: Integers, epsilon: float) -> Floats:
    """Return the probability (M − 1)/(M − 1 + e^{τε}), which for many words is 1 where e^{τε} is less."""
    odds = math.log(words - 1) if words > 1 else -math.inf
    return np.asarray(expit(odds - tau * epsilon))


def _longest(records: int, epsilon: float, words: int = 2) -> int:
    # beyond this τ times the probability falls
    return min(records, math.ceil((math.log(words) + 2) / epsilon) + 1, LONGEST)


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
