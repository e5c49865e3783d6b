r"""The k-marginal score of NIST: how far all two-way tables of shares are from the original's, on a scale to 1,000.

    score  =  500 (2 − mean over tables of Σ |p − q|)

with p and q the shares of a cell in the original and in a copy: 1,000 where all tables are equal, 0 where no table has
a cell in common. Every table may be crossed with one more column, such as the area in a census.

What a score is worth depends on the file, so it is told as the *subsample equivalent*: the share of the original that,
drawn at random, would score the same. The score of such a sample need not be simulated. Of a cell of c among n records
a sample of m holds a hypergeometric number K with, for ν = ⌊m c/n⌋ + 1,

    E|K − m c/n|  =  2 ν (n − c − m + ν)/n · P(K = ν)

and, of m records drawn with replacement, a binomial one with E|K − m p| = 2 ν (1 − p) P(K = ν); so all that is needed
is how many cells hold c records.

References
----------
Task, Bhagat, Howarth (2023), SDNist v2: Deidentified Data Report Tool, NIST, for score and subsample equivalent.
Ramasubban (1958), Biometrika 45(3/4), 549–556, for the mean deviation of the hypergeometric distribution; de Moivre
(1730) for that of the binomial (Diaconis, Zabell 1991, Statistical Science 6(3), 284–302).
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

from synthdp.arrays import Codes, Floats
from synthdp.budget import go_on
from synthdp.errors import InputError
from synthdp.evaluation.comparison import summarise
from synthdp.evaluation.utility.classes import Classes
from synthdp.evaluation.utility.tables import MOST_TABLES, combinations, counts_of

WORST = 10


def evaluate_k_marginal(
    classes: Classes,
    *,
    by: str | None = None,
    columns: Collection[str] = (),
    most: int = MOST_TABLES,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return the ``k_marginal`` section of metrics.json.

    Parameters
    ----------
    classes
        Of all columns in all files.
    by
        A column that every table is crossed with; it makes no pairs of its own then.
    columns
        Only tables of these columns; all when empty.
    most
        The most tables: where there are more pairs, so many are drawn at random and it is said.
    rng
        Draws them.

    Returns
    -------
    dict
        ``value`` with ``per_copy``, ``low`` and ``high`` over copies; ``subsample``, the share of the original that,
        drawn at random, scores the same on average (null where one record scores more); ``bootstrap``, what a file of
        the copies' size scores on average that is drawn from the original with replacement; ``tables``, ``by``;
        ``worst``, the tables of the largest ``l1`` (mean over copies); ``notes``.

    Raises
    ------
    InputError
        If ``by`` is no column, or fewer than two others are left.

    Notes
    -----
    Cost O(n) per table and file; nothing is simulated.
    """
    if by is not None and by not in classes.names:
        raise InputError(f"evaluation.subgroups: {by!r} is not a column of the data; correct the name.")
    wanted = [place for place, name in enumerate(classes.names) if name != by and (not columns or name in columns)]
    if len(wanted) < 2:
        raise InputError("k_marginal: needs two columns to cross, beside the one of evaluation.subgroups.")
    crossed = () if by is None else (classes.names.index(by),)
    pairs = list(combinations(wanted, 2, most, rng))
    possible = len(wanted) * (len(wanted) - 1) // 2
    n = len(classes.files[0][0])
    cells = np.zeros(n + 1, dtype=np.int64)
    apart = np.empty((len(pairs), len(classes.files) - 1))
    for row, pair in enumerate(pairs):
        go_on()
        original, *copies = counts_of(classes, (*crossed, *pair))
        apart[row] = [_l1(original, copy) for copy in copies]
        cells += np.bincount(original, minlength=n + 1)
    sizes = [len(file[0]) for file in classes.files[1:]]
    found = summarise([_score(float(column.mean())) for column in apart.T])
    held = Occupancy(cells, len(pairs))
    del found["noise"]  # the yardsticks below take its place
    return found | {
        "subsample": None if found["value"] is None else held.equivalent(found["value"]),
        "bootstrap": held.replaced(round(float(np.mean(sizes)))) if min(sizes) else None,
        "tables": len(pairs),
        "by": by,
        "worst": _worst(classes, pairs, apart),
        "notes": [f"{most} of the {possible} tables were drawn at random (most_tables)."] if possible > most else [],
    }


class Occupancy:
    """How many cells of all tables hold so many records, and what samples of them score.

    Parameters
    ----------
    cells
        By c = 0 … n, the number of cells that hold c of the n records.
    tables
        Of how many tables.

    Examples
    --------
    >>> held = Occupancy(np.array([0, 2, 0]), 1)  # one table: two records, each alone in its cell
    >>> round(held.sampled(1), 6), round(held.sampled(2), 6), held.equivalent(500.0)
    (500.0, 1000.0, 0.5)
    """

    def __init__(self, cells: Codes, tables: int) -> None:
        self._n = len(cells) - 1
        self._counts = np.flatnonzero(cells[1:]) + 1
        self._weights = cells[self._counts] / tables

    def __repr__(self) -> str:
        return f"Occupancy({self._n} records)"

    def sampled(self, m: int) -> float:
        """Return what m records drawn without replacement score on average."""
        n, c = self._n, self._counts
        over = m * c // n + 1
        deviation = 2 * over * (n - c - m + over) / n
        log_chance = _choose(c, over) + _choose(n - c, m - over) - _choose(n, m)
        return _score(float(self._weights @ (deviation * np.exp(log_chance))) / m)

    def replaced(self, m: int) -> float:
        """Return what m records drawn with replacement score on average."""
        p = self._counts / self._n
        over = np.floor(m * p + 1e-9) + 1
        log_chance = _choose(m, over) + xlogy(over, p) + xlog1py(m - over, -p)
        return _score(float(self._weights @ (2 * over * (1 - p) * np.exp(log_chance))) / m)

    def equivalent(self, score: float) -> float | None:
        """Return the smallest share of the records that scores so much on average; None where one record does."""
        low, high = 0, self._n
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.sampled(middle) >= score else (middle, high)
        return None if high == 1 and self.sampled(1) > score else high / self._n


def _score(l1: float) -> float:
    return 500.0 * (2.0 - l1)


def _l1(original: Codes, copy: Codes) -> float:
    return float(np.abs(original / max(original.sum(), 1) - copy / max(copy.sum(), 1)).sum())


def _choose(n: Any, k: Any) -> Floats:
    """Return log C(n, k); minus infinity where k is out of range."""
    n, k = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(k, dtype=np.float64))
    inside = (k >= 0) & (k <= n)
    k = np.where(inside, k, 0.0)
    return np.where(inside, gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), -np.inf)


def _worst(classes: Classes, pairs: Sequence[tuple[int, ...]], apart: Floats) -> list[dict[str, Any]]:
    mean = apart.mean(axis=1)
    first = np.argsort(-mean, kind="stable")[:WORST]
    return [{"columns": [classes.names[place] for place in pairs[row]], "l1": float(mean[row])} for row in first]
