"""What an intruder achieves on average over draws of the mechanism, record by record."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from synthdp.microdata import Floats

Booleans = npt.NDArray[np.bool_]

LEVEL = 0.95
# the claims of which the intruder is most confident: this share of all, but never fewer than this many
SUREST, FEWEST_CLAIMS = 0.01, 10


@dataclass(frozen=True)
class Bound:
    """A mean over draws with its 95% interval; the ends are None after one draw.

    ``chance`` is what copies that know nothing of the record give.
    """

    value: float
    low: float | None = None
    high: float | None = None
    chance: float | None = None


class Identified(Protocol):
    """What the gate reads of one identity attack: an array of all records each, NaN for those not attacked.

    ``individual`` is the probability given to the record's own row, ``confidence`` that given to the row pointed at
    (NaN where the intruder makes no claim), ``right`` the probability that the claim is right.
    """

    @property
    def individual(self) -> Floats:
        """The probability given to each record's own row."""
        ...

    @property
    def confidence(self) -> Floats:
        """The probability given to the row the intruder points at."""
        ...

    @property
    def right(self) -> Floats:
        """The probability that the claim is right: one over the ties that hold the own row, else 0."""
        ...


@dataclass
class Tally:
    """One intruder's successes, summed up draw by draw.

    Parameters
    ----------
    typical
        Which records rates are taken over: a simple random sample where not everybody is attacked, None for all.
    draws, claimed, predicted, successes
        How many draws were taken; over all of them, how many claims the intruder made, how many the intruder expects
        to be right, and how many are.

    Notes
    -----
    The largest of n means is biased upwards, so the interval is pointwise and there must be enough draws: one chance
    match in R draws has the upper bound (1 + t)/R, 0.37 for R = 8 (with the normal's t) and 0.15 for R = 20.

    Examples
    --------
    >>> tally = Tally()
    >>> for own in (0.0, 1.0):
    ...     tally.add(np.array([own, 0.0]), np.array([1.0, np.nan]), np.array([own, 0.0]))
    >>> tally.individual().value, tally.expected().value
    (0.5, 0.0)
    """

    typical: Booleans | None = None
    draws: int = 0
    claimed: int = 0
    predicted: float = 0.0
    successes: float = 0.0
    _sum: Floats = field(default_factory=lambda: np.zeros(0))
    _squares: Floats = field(default_factory=lambda: np.zeros(0))
    _count: Floats = field(default_factory=lambda: np.zeros(0))
    _rates: list[float] = field(default_factory=list)
    _chances: list[float] = field(default_factory=list)
    _claims: list[tuple[float, int]] = field(default_factory=list)
    _means: list[float] = field(default_factory=list)

    def add(self, individual: Floats, confidence: Floats, right: Floats) -> None:
        """Take one draw's finding."""
        n = len(individual)
        if self.draws == 0:
            self._sum, self._squares, self._count = np.zeros(n), np.zeros(n), np.zeros(n)
        self.draws += 1
        seen = np.isfinite(individual)
        known = np.where(seen, individual, 0.0)
        self._sum += known
        self._squares += known**2
        self._count += seen
        whom = seen if self.typical is None else seen & self.typical
        if not whom.any():
            return
        claimed = whom & np.isfinite(confidence)
        # a pick at random among n rows is right once in n
        chance = float(claimed.sum()) / float(whom.sum()) / n
        self._rates.append(float(right[whom].mean()) - chance)
        self._means.append(float(individual[whom].mean()))
        self._chances.append(chance)
        if not claimed.any():
            self._claims.append((0.0, 0))
            return
        self.claimed += int(claimed.sum())
        self.predicted += float(confidence[claimed].sum())
        self.successes += float(right[claimed].sum())
        most = max(SUREST, FEWEST_CLAIMS / n) * float(whom.sum())
        size = min(int(claimed.sum()), max(1, int(np.ceil(most - 1e-9))))
        self._claims.append((size * surest_right(confidence[claimed], right[claimed], most), size))

    def individual(self) -> Bound:
        """Return the largest mean probability that a record is found: of the record whose bound is largest."""
        seen = self._count > 0
        if not seen.any():
            return Bound(float("nan"))
        count = self._count[seen]
        mean = self._sum[seen] / count
        if self.draws == 1:
            return Bound(float(mean.max()))
        variance = np.maximum(self._squares[seen] - count * mean**2, 0.0) / np.maximum(count - 1, 1)
        half = np.where(count > 1, student.ppf((1 + LEVEL) / 2, np.maximum(count - 1, 1)), np.inf)
        reach = np.minimum(mean + half * np.sqrt(variance / count), 1.0)
        worst = int(np.argmax(reach))
        low = max(0.0, float(2 * mean[worst] - reach[worst]))
        return Bound(float(mean[worst]), low, float(reach[worst]))

    def by_record(self) -> Floats:
        """Return the mean probability that each record is found; NaN for those never attacked."""
        return np.asarray(np.where(self._count > 0, self._sum / np.maximum(self._count, 1), np.nan))

    def expected(self) -> Bound:
        """Return the expected match rate, less what a pick at random gives."""
        return self._interval(self._rates)

    def mean_individual(self) -> Bound:
        """Return the mean probability that a record is found."""
        return self._interval(self._means)

    def claims(self) -> Bound:
        """Return the share right among the surest claims of all draws; 0 for an intruder who never claims anything.

        Claims are counted over all draws, and fewer than ten in all of them as ten: somebody who makes three claims
        in sixty draws, of which chance makes one right, has not found a third of anybody. The interval is that of a
        ratio, draws being independent; with as many claims in every draw it is Student's interval of their mean.
        """
        right, size = np.asarray(self._claims or [(0.0, 0)], dtype=np.float64).T
        made = max(float(size.sum()), FEWEST_CLAIMS if self.draws > 1 else 1.0)
        chance = float(np.mean(self._chances)) if self._chances else None
        value, draws = float(right.sum()) / made, len(right)
        if draws < 2:
            return Bound(value, chance=chance)
        spread = float((right - value * size).std(ddof=1)) * np.sqrt(draws) / made
        half = float(student.ppf((1 + LEVEL) / 2, draws - 1)) * spread
        return Bound(value, max(0.0, value - half), min(value + half, 1.0), chance)

    def _interval(self, values: Sequence[float]) -> Bound:
        return over_draws(values, chance=float(np.mean(self._chances)) if self._chances else None)


def surest_right(confidence: Floats, right: Floats, most: float) -> float:
    """Return the share right among so many of the surest claims; those of equal confidence count by their mean.

    Examples
    --------
    >>> surest_right(np.array([0.9, 0.5, 0.5]), np.array([1.0, 1.0, 0.0]), 2)
    0.75
    """
    size = min(len(confidence), max(1, int(np.ceil(most - 1e-9))))
    border = np.partition(confidence, -size)[-size]
    above = confidence > border
    tied = confidence == border
    rest = size - int(above.sum())
    return float((right[above].sum() + rest * right[tied].mean()) / size)


def over_draws(values: Sequence[float], *, chance: float | None = None) -> Bound:
    """Return the mean of one figure per draw with Student's interval.

    Examples
    --------
    >>> over_draws([0.25]), over_draws([0.25, 0.25]).high
    (Bound(value=0.25, low=None, high=None, chance=None), 0.25)
    """
    found = np.asarray(values, dtype=np.float64)
    mean = float(found.mean()) if len(found) else float("nan")
    if len(found) < 2:
        return Bound(mean, chance=chance)
    half = float(student.ppf((1 + LEVEL) / 2, len(found) - 1) * found.std(ddof=1) / np.sqrt(len(found)))
    return Bound(mean, mean - half, mean + half, chance)
