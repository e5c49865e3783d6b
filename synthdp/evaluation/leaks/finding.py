"""What a scan finds, and how much of it chance would give."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, ndtri, pdtr, pdtrik

from synthdp.arrays import ranks

LEVEL = 0.001  # a clean release is flagged by chance once in a thousand times, per kind of leak
NEIGHBOURS = 10


class Kind(StrEnum):
    """What gives people away."""

    ROWS = "verbatim rows"
    VALUES = "verbatim values"
    ORDER = "row order"
    SEED = "seed"
    COLUMN = "extra column"
    RECORD_LIST = "list by record"
    STRENGTH = "mask strength"
    TIME = "timestamp"
    PATH = "path"
    NAME = "user or host name"
    DERIVED = "derived column"
    SKIP = "skip not kept"
    LEVEL = "unreleased level"
    BOUNDS = "true extremes"
    UNLISTED = "unlisted file"
    UNREADABLE = "unreadable file"


@dataclass(frozen=True)
class Leak:
    """One thing that must not be public.

    Parameters
    ----------
    kind
        What it is.
    file
        In which public file, relative to ``public/``.
    sentence
        What was found: counts and names of columns, never a value.
    """

    kind: Kind
    file: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.file}: {self.kind}: {self.sentence}"


def chance_limit(hits: int, *, times: int, most: int, level: float, likelier: float = 1.0) -> int:
    """Return how many matches chance still explains, when ``times`` draws of chance gave ``hits`` altogether.

    If a match at the true record is no likelier than at a record that stands in for it, then given their sum the true
    matches are Binomial(c + hits, 1 / (1 + times)), an exact test that needs no estimate of the rate.

    Parameters
    ----------
    hits
        Matches in all draws of chance.
    times
        The number of draws of chance.
    most
        The largest count possible.
    level
        The probability of a larger count, at most.
    likelier
        How many times likelier than at a stand-in a match at the true record may be before it counts against a file.

    Examples
    --------
    >>> chance_limit(0, times=10, most=100, level=0.001)
    2
    """
    rate = likelier / (likelier + times)

    def explained(count: int) -> bool:
        return bool(bdtrc(count - 1, count + hits, rate) > level)

    # the tail falls as the count grows
    low, high = 0, 1
    while high <= most and explained(high):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if explained(middle) else (low, middle)
    return low


def poisson_limit(mean: float, *, level: float) -> int:
    """Return how many coincidences chance still explains, when it gives ``mean`` on average.

    Matches under a random permutation vary less than a Poisson count of the same mean, so this errs on the quiet side.
    """
    # the smallest count that is exceeded so seldom
    found = int(np.ceil(pdtrik(1 - level, mean)))
    return found - 1 if found > 0 and pdtr(found - 1, mean) >= 1 - level else found


def correlation_limit(records: int, *, level: float) -> float:
    """Return the largest rank correlation, either way, that chance still explains between independent orders."""
    return float(-ndtri(level / 2) / np.sqrt(max(records - 1, 1)))


def rank_correlation(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float:
    """Return Spearman's correlation; 0 when one side is constant."""
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


DRAWS = 200_000


def ties_explain(
    a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], *, level: float, rng: np.random.Generator
) -> bool:
    """Return whether independent orders with these ties are as strongly correlated more often than ``level``.

    :func:`correlation_limit` is the normal one. It is far too small where nearly all values of both sides are equal: of
    two columns that 6 of 300 records have, two meet by chance in 0.6% of orders, and the correlation is then 0.32.

    Notes
    -----
    A permutation test, of the side with fewer values beside its commonest one only. Places are drawn with replacement,
    which varies more (Hoeffding 1963, Theorem 4), so this errs on the quiet side. Where most values of both sides
    differ, nothing is drawn, as the normal limit holds.
    """
    sides = []
    for values in (a, b):
        ranked = ranks(values)
        commonest, held = np.unique(ranked, return_counts=True)
        sides.append((ranked - commonest[held.argmax()], ranked - ranked.mean()))
    sparse, whole = sorted(sides, key=lambda side: np.count_nonzero(side[0]))
    few = np.flatnonzero(sparse[0])
    if not 0 < 2 * len(few) <= len(a):
        return False
    strength = abs(float(sparse[0] @ whole[1]))
    draws = int(min(DRAWS, np.ceil(20 / level)))
    reached, chunk = 0, max(1, 2_000_000 // len(few))
    for start in range(0, draws, chunk):
        places = rng.integers(0, len(a), (min(chunk, draws - start), len(few)))
        reached += int((np.abs(whole[1][places] @ sparse[0][few]) >= strength * (1 - 1e-9)).sum())
        if reached > level * draws:
            return True
    return False
