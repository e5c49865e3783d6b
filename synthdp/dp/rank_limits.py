"""Limits of a quantile that hold whatever the data look like: ranks told by the sparse vector technique.

Let Q be the q-quantile of the population, q ≤ 1/2 (larger ones are mirrored), and t a grid of candidates. Of n records
#{x ≤ Q} is at least, #{x < Q} at most a Bin(n, q), ties or no ties. Going up the grid, the first t_j with

    #{x ≤ t_j} + ν_j ≥ T + ρ        (ρ, ν Laplace noise)

is beyond the candidate after Q only if that one has not passed, and then K + ν < T + ρ with K ~ Bin(n, q). So with T
such that P(K + ν − ρ < T) = α the limit t_{j−1} is above Q with probability α at most: one comparison counts, not all
of them, and no density, gap or bound enters. How many candidates there are decides only how far a limit lies on the
safe side. The upper limit is found in the same way from above, with #{x < t}.

(The exponential mechanism, which chose limits before, prefers wide gaps: between the largest value and a distant bound
it put lower limits of high quantiles. Bounding that for every conceivable file costs 2 ln(candidates)/ε ranks.)

One record moves all counts in the same direction, added or replaced, so answers are monotonic and ν needs the noise of
one count. Where n is not public it is n̂ = n + Laplace; the threshold q·n̂ errs by q times that, which is counted in.

References
----------
Lyu, Su, Li (2017), "Understanding the sparse vector technique for differential privacy", VLDB 10(6), Algorithm 7 and
section 4.3 (monotonic answers). Drechsler, Globus-Harris, McMillan, Sarathy, Smith (2022), J. Survey Statist. Methodol.
10(3), 804-829 (limits from private order statistics). David, Nagaraja (2003), Order Statistics, section 7.1 (binomial
ranks of a quantile, ties included).
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, ndtri, xlog1py, xlogy

from synthdp.privacy.mechanisms import Adjacency, Sensitivity, Source
from synthdp.privacy.mechanisms.selection import SparseVector
from synthdp.table.microdata import Codes, Floats

MOST_EXACT = 100.0
POINTS = 401
PER_SCALE, FEWEST = 1.5, 20
# scales closer to each other than this are taken to be so far apart: the fractions have a pole where they are equal
NEAR = 1e-3
# how many scales of its noise a private count may be short: sampling is taken to be as wide as of that many more
SHORT = 2.0


@dataclass(frozen=True)
class Ranks:
    """What a rank below a quantile can be: K ~ Bin(n, q), with what noise comes to it.

    Parameters
    ----------
    size
        n, or n̂ where n is not public.
    probability
        q, at most 1/2.
    scale
        Of ρ and of ν.
    count_scale
        Of the noise in n̂; zero where n is public.
    """

    size: float
    probability: float
    scale: float
    count_scale: float = 0.0

    def below(self, tail: float) -> float:
        """Return T with P(K + noise < T) = tail."""
        return self._solve(1 - tail)

    def above(self, tail: float) -> float:
        """Return T with P(K + noise > T) = tail."""
        return self._solve(tail)

    def _solve(self, tail: float) -> float:
        """Return T with P(K + noise > T) = tail, by bracketing. O(√n) per step, at most 400 where n is large."""
        values, weights = self._sampling()
        other = self.probability * self.count_scale
        reach = 40 * (self.scale + other) + 1

        from scipy.optimize import brentq

        def off(at: float) -> float:
            return float(weights @ laplaces_above(at - values, self.scale, other)) - tail

        return float(brentq(off, values[0] - reach, values[-1] + reach, xtol=1e-6 * reach))

    def _sampling(self) -> tuple[Floats, Floats]:
        """Return the values of K with their probabilities; a normal law at equally likely points where n is large."""
        q = self.probability
        n = max(int(np.ceil(self.size + SHORT * self.count_scale)), 1)
        sd = float(np.sqrt(n * q * (1 - q)))
        if sd > MOST_EXACT:
            shares = (np.arange(POINTS) + 0.5) / POINTS
            return self.size * q + sd * ndtri(shares), np.full(POINTS, 1 / POINTS)
        k = np.arange(max(np.floor(n * q - 7 * sd - 7), 0), min(np.ceil(n * q + 7 * sd + 7), n) + 1)
        weights = np.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, q) + xlog1py(n - k, -q))
        return k - q * (n - self.size), weights / weights.sum()


@dataclass(frozen=True)
class Aims:
    """Where the counts of a grid have to pass; None where the limit is the bound itself.

    ``tail`` is the probability with which a limit may be on the wrong side, ``epsilon`` what it costs.
    """

    low: float | None
    high: float | None
    tail: float
    epsilon: float

    @property
    def limits(self) -> int:
        """How many limits are told."""
        return (self.low is not None) + (self.high is not None)


@lru_cache(maxsize=1024)
def aims(size: float, probability: float, *, level: float, epsilon: float, share: float, count_scale: float) -> Aims:
    """Return what the limits aim at, before anything but n or n̂ is known.

    A limit whose threshold no count can miss says nothing: then it is the bound, and the other limit gets the budget
    and the probability of both.

    Parameters
    ----------
    epsilon
        For estimate and limits.
    share
        Of it, for each of two limits.
    """
    tail, each = (1 - level) / 2, share * epsilon
    ranks = Ranks(size, probability, _mechanism(each, "replace").scale, count_scale)
    low, high = ranks.below(tail), ranks.above(tail)
    if low > 0 and high < size:
        return Aims(low, high, tail, each)
    tail, each = 1 - level, 2 * each
    ranks = replace(ranks, scale=_mechanism(each, "replace").scale)
    if low > 0:
        return Aims(ranks.below(tail), None, tail, each)
    high = ranks.above(tail)
    return Aims(None, high, tail, each) if high < size else Aims(None, None, tail, 0.0)


def limits(
    below: Codes, upto: Codes, grid: Floats, told: Aims, *, adjacency: Adjacency, source: Source
) -> tuple[float, float]:
    """Return both limits, told by the sparse vector technique or the ends of the grid. O(candidates).

    Parameters
    ----------
    below, upto
        #{x < t} and #{x ≤ t} of the candidates.
    """
    low, high, last = float(grid[0]), float(grid[-1]), len(grid) - 1
    if told.low is not None:
        passed = _first(upto, told.low, told.epsilon, adjacency, source)
        low = float(grid[max(passed - 1, 0)])
    if told.high is not None:
        passed = last - _first(-below[::-1], -told.high, told.epsilon, adjacency, source)
        high = float(grid[min(passed + 1, last)])
    return min(low, high), max(low, high)


def coarser(candidates: int, information: float) -> Codes:
    """Return which candidates limits are looked for among: all, or fewer where noise is wider than their distance.

    Every candidate before the limit is a chance to stop too early, so there should be about one to each scale of noise.

    Parameters
    ----------
    information
        The number of records in scales of noise, n·ε.
    """
    some = int(min(max(PER_SCALE * information, FEWEST), candidates))
    return np.unique(np.rint(np.linspace(0, candidates - 1, some)).astype(np.int64))


def laplaces_above(x: Floats, scale: float, other: float = 0.0) -> Floats:
    """Return P(ν − ρ + C > x), ν and ρ Laplace of one scale b, C of another scale c or zero.

    The characteristic function 1/((1 + b²s²)² (1 + c²s²)) in partial fractions; for x ≥ 0

        B (2 + x/b) e^(−x/b) / 4 + A e^(−x/b) / 2 + C e^(−x/c) / 2,

    C = c⁴/(b² − c²)²,  B = b²/(b² − c²),  A = −b²c²/(b² − c²)²;   with c = 0 it is the first term alone.
    """
    away = np.abs(x)
    tail = (2 + away / scale) * np.exp(-away / scale) / 4
    if other > 0:
        if abs(other / scale - 1) < NEAR:
            other = scale * (1 + NEAR)
        b, c = scale**2, other**2
        single, second = np.exp(-away / scale) / 2, np.exp(-away / other) / 2
        tail = b / (b - c) * tail + (c**2 * second - b * c * single) / (b - c) ** 2
    return np.where(x >= 0, tail, 1 - tail)


def _mechanism(epsilon: float, adjacency: Adjacency) -> SparseVector:
    return SparseVector.calibrated(Sensitivity(1, "linf", adjacency), epsilon=epsilon, monotonic=True)


def _first(counts: Codes, threshold: float, epsilon: float, adjacency: Adjacency, source: Source) -> int:
    """Return the place of the first count that passes, or the last of all."""
    answers = _mechanism(epsilon, adjacency).release(counts.astype(np.float64), threshold, source=source)
    return len(answers) - 1
