"""What an intruder achieves on average over draws of the mechanism, record by record."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import stdtrit

from synthdp.arrays import Booleans, Codes, Floats

LEVEL = 0.95
# the claims of which the intruder is most confident: this share of all, but never fewer than this many
SUREST, FEWEST_CLAIMS = 0.01, 10
RULE_OF_THREE = 3.0


@dataclass(frozen=True)
class Bound:
    """A mean over draws with its 95% interval; the ends are None after one draw.

    ``chance`` is what copies that know nothing of the record give.
    """

    value: float
    low: float | None = None
    high: float | None = None
    chance: float | None = None


@dataclass
class Tally:
    """One intruder's successes, summed up draw by draw.

    Parameters
    ----------
    typical
        Which records rates are taken over: a simple random sample where not everybody is attacked, None for all.
    records
        How many records the file has, where arrays are of the people attacked only; None where they are of everybody.
        Rates are then those of a sample, and their intervals hold its error too.
    persons
        How many persons records belong to, where figures are those of persons; None where a record is a person.
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
    records: int | None = None
    draws: int = 0
    claimed: int = 0
    predicted: float = 0.0
    successes: float = 0.0
    persons: int | None = None
    _sum: Floats = field(default_factory=lambda: np.zeros(0))
    _squares: Floats = field(default_factory=lambda: np.zeros(0))
    _count: Floats = field(default_factory=lambda: np.zeros(0))
    _right: Floats = field(default_factory=lambda: np.zeros(0))
    _rates: list[float] = field(default_factory=list)
    _chances: list[float] = field(default_factory=list)
    _claims: list[tuple[float, int]] = field(default_factory=list)
    _means: list[float] = field(default_factory=list)

    def add(
        self,
        individual: Floats,
        confidence: Floats,
        right: Floats,
        chance: Floats | None = None,
        person: Codes | None = None,
    ) -> None:
        """Take one draw's finding.

        Parameters
        ----------
        chance
            What a blind guess gives, record by record, where that is not one in n: all figures are then those of what
            is left to find, (p − chance) / (1 − chance).
        person
            Whose each record is, where all records of a person have the person's figures: a person counts once.
        """
        n = len(individual)
        if chance is not None:
            left = 1.0 - chance
            individual, right = (
                np.where(left > 1e-9, (p - chance) / np.maximum(left, 1e-9), np.where(np.isnan(p), np.nan, 0.0))
                for p in (individual, right)
            )
        if self.draws == 0:
            self._sum, self._squares, self._count, self._right = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        self.draws += 1
        seen = np.isfinite(individual)
        known = np.where(seen, individual, 0.0)
        self._sum += known
        self._squares += known**2
        self._count += seen
        if self.records is not None:
            self._right += np.where(seen, right, 0.0)
        whom = seen if self.typical is None else seen & self.typical
        units = whole = self.records or n
        if person is not None:
            rows = np.flatnonzero(whom)
            whom = np.zeros(n, dtype=np.bool_)
            whom[rows[np.unique(person[rows], return_index=True)[1]]] = True
            units = self.persons = int(person.max()) + 1
        if not whom.any():
            return
        claimed = whom & np.isfinite(confidence)
        # a pick at random among n rows is right once in n
        blind = float(claimed.sum()) / float(whom.sum()) / whole if chance is None else 0.0
        self._rates.append(float(right[whom].mean()) - blind)
        self._means.append(float(individual[whom].mean()))
        self._chances.append(blind if chance is None else float(chance[whom].mean()))
        if not claimed.any():
            self._claims.append((0.0, 0))
            return
        self.claimed += int(claimed.sum())
        self.predicted += float(confidence[claimed].sum())
        self.successes += float(right[claimed].sum())
        most = max(SUREST, FEWEST_CLAIMS / units) * float(whom.sum())
        size = min(int(claimed.sum()), max(1, int(np.ceil(most - 1e-9))))
        self._claims.append((size * surest_right(confidence[claimed], right[claimed], most), size))

    def individual(self, level: float = LEVEL) -> Bound:
        """Return the largest mean probability that a record is found: of the record whose bound is largest."""
        seen = self._count > 0
        if not seen.any():
            return Bound(float("nan"))
        # who was attacked in one draw of several has no interval, and must not hide the others
        seen = self._count > 1 if (self._count > 1).any() else seen
        count = self._count[seen]
        mean = self._sum[seen] / count
        if count.max() == 1:
            return Bound(float(mean.max()))
        variance = np.maximum(self._squares[seen] - count * mean**2, 0.0) / (count - 1)
        half = stdtrit(count - 1, (1 + level) / 2)
        reach = np.minimum(mean + half * np.sqrt(variance / count), 1.0)
        worst = int(np.argmax(reach))
        low = max(0.0, float(2 * mean[worst] - reach[worst]))
        return Bound(float(mean[worst]), low, float(reach[worst]))

    def by_record(self) -> Floats:
        """Return the mean probability that each record is found; NaN for those never attacked."""
        return np.asarray(np.where(self._count > 0, self._sum / np.maximum(self._count, 1), np.nan))

    def expected(self, level: float = LEVEL) -> Bound:
        """Return the expected match rate, less what a pick at random gives."""
        return self._sampled(self._interval(self._rates, level), self._right, level)

    def mean_individual(self, level: float = LEVEL) -> Bound:
        """Return the mean probability that a record is found."""
        return self._sampled(self._interval(self._means, level), self._sum, level)

    def claims(self, level: float = LEVEL) -> Bound:
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
        half = float(stdtrit(draws - 1, (1 + level) / 2)) * spread
        return Bound(value, max(0.0, value - half), min(value + half, 1.0), chance)

    def _sampled(self, found: Bound, sums: Floats, level: float) -> Bound:
        """Return a mean with the error of the sample it rests on beside that of the draws; as it is for a whole file.

        Of each record in the sample the mean over draws is known, so that how much these vary tells how far the mean
        of the sample is from that of the file. Where hardly anybody was found it tells nothing of those who might have
        been: if nobody in m records is, fewer than three in m of the file are, with 95% confidence.

        References
        ----------
        Hanley and Lippman-Hand (1983), JAMA 249(13), 1743-1745, for the three.
        """
        whom = self._count > 0 if self.typical is None else (self._count > 0) & self.typical
        size = int(whom.sum())
        if self.records is None or size < 2 or found.low is None or found.high is None:
            return found
        mean = sums[whom] / self._count[whom]
        half = stdtrit(size - 1, (1 + level) / 2) * float(mean.std(ddof=1)) / np.sqrt(size)
        half = max(half, RULE_OF_THREE / size) * np.sqrt(max(1.0 - size / self.records, 0.0))
        return replace(
            found,
            low=found.value - float(np.hypot(found.value - found.low, half)),
            high=found.value + float(np.hypot(found.high - found.value, half)),
        )

    def _interval(self, values: Sequence[float], level: float) -> Bound:
        return over_draws(values, chance=float(np.mean(self._chances)) if self._chances else None, level=level)


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


def over_draws(values: Sequence[float], *, chance: float | None = None, level: float = LEVEL) -> Bound:
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
    half = float(stdtrit(len(found) - 1, (1 + level) / 2) * found.std(ddof=1) / np.sqrt(len(found)))
    return Bound(mean, mean - half, mean + half, chance)
