"""What the errors of many tests prove: how large ε is at least, and whether a promised trade-off function can hold."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from synthdp.errors import InputError
from synthdp.privacy.audit.runs import Sampler, Score, Scored, score_runs
from synthdp.privacy.guarantees import slack_of
from synthdp.privacy.tradeoff.curves import Tradeoff
from synthdp.table.microdata import Floats

CONFIDENCE = 0.95


def at_least(successes: npt.ArrayLike, trials: int, level: float) -> Floats:
    """Return the Clopper–Pearson lower bound of a probability, wrong with probability ``level`` at most."""
    k = np.asarray(successes, dtype=float)
    found = special.betaincinv(np.maximum(k, 1), trials - np.maximum(k, 1) + 1, level)
    return np.where(k > 0, found, 0.0)


def at_most(successes: npt.ArrayLike, trials: int, level: float) -> Floats:
    """Return the Clopper–Pearson upper bound of a probability, wrong with probability ``level`` at most."""
    return 1 - at_least(trials - np.asarray(successes, dtype=float), trials, level)


@dataclass(frozen=True)
class EpsilonBound:
    """What the runs say about ε.

    Attributes
    ----------
    epsilon
        ε is at least this, with the confidence.
    confidence, delta
        The confidence, and the δ that was allowed.
    often, seldom
        How often the event happened on the data set that favours it and on the other, among the runs kept back.
    runs
        Runs kept back on each data set.
    """

    epsilon: float
    confidence: float
    delta: float
    often: int
    seldom: int
    runs: int


def epsilon_bound(
    mechanism: Sampler,
    first: Any,
    second: Any,
    *,
    runs: int,
    rng: np.random.Generator,
    delta: float = 0.0,
    confidence: float = CONFIDENCE,
    score: Score | None = None,
) -> EpsilonBound:
    """Return a lower bound on ε that holds with confidence: ln((p₋ − δ)/q₊) for the best event of the first half.

    The event is a set of high scores, or of low ones, chosen on the runs learnt from; p₋ and q₊ are one-sided bounds
    on its probability on either data set from the runs kept back, each wrong with half the probability allowed.

    Examples
    --------
    >>> noisy = lambda data, runs, rng: data + rng.laplace(0, 1, runs)
    >>> found = epsilon_bound(noisy, 0.0, 1.0, runs=20_000, rng=np.random.default_rng(1))
    >>> 0.7 < found.epsilon < 1.0
    True
    """
    slack_of(delta)
    if not 0 < confidence < 1:
        raise InputError(f"confidence: must lie strictly between 0 and 1, found {confidence:g}.")
    return bound(score_runs(mechanism, first, second, runs=runs, rng=rng, score=score), delta, confidence)


def bound(scored: Scored, delta: float, confidence: float) -> EpsilonBound:
    """Return the bound from scores."""
    level = (1 - confidence) / 2
    thresholds = np.unique(np.quantile(np.concatenate(scored.learnt), np.linspace(0.002, 0.998, 250)))
    n = len(scored.learnt[0])
    above = [n - np.searchsorted(np.sort(side), thresholds, side="left") for side in scored.learnt]
    # the second data set has the high scores, the first the low ones
    high, low = _lower(above[1], above[0], n, delta, level), _lower(n - above[0], n - above[1], n, delta, level)
    best = int(np.argmax(np.maximum(high, low)))
    trials = len(scored.kept[0])
    one, two = (int((side >= thresholds[best]).sum()) for side in scored.kept)
    often, seldom = (two, one) if high[best] >= low[best] else (trials - one, trials - two)
    found = float(_lower(np.asarray([often]), np.asarray([seldom]), trials, delta, level)[0])
    return EpsilonBound(found, confidence, delta, often, seldom, trials)


def _lower(often: npt.NDArray[Any], seldom: npt.NDArray[Any], trials: int, delta: float, level: float) -> Floats:
    surplus = at_least(often, trials, level) - delta
    ratio = np.where(surplus > 0, surplus, 1.0) / at_most(seldom, trials, level)
    return np.where((surplus > 0) & (ratio > 1), np.log(np.maximum(ratio, math.ulp(1.0))), 0.0)


THRESHOLDS = 24
SMALLEST_P = 1e-12


@dataclass(frozen=True)
class Point:
    """One test: its errors among the runs kept back, and their upper bounds in the simultaneous band."""

    fp: float
    fn: float
    fp_high: float
    fn_high: float
    allowed: float

    @property
    def broken(self) -> bool:
        """Whether even the upper bounds lie below the promised curve."""
        return self.fn_high < self.allowed


@dataclass(frozen=True)
class CurveCheck:
    """The result: how surprising the errors are if the promise is kept, and the errors themselves.

    Attributes
    ----------
    p_value
        The smallest level at which the simultaneous band leaves the region; 1 when it never does.
    points
        The tests, with their band at the level asked for.
    level, runs
        That level, and the runs kept back on each data set.
    """

    p_value: float
    points: tuple[Point, ...]
    level: float
    runs: int

    @property
    def broken(self) -> bool:
        """Whether the promise is refuted at the level."""
        return any(point.broken for point in self.points)


def check_curve(
    mechanism: Sampler,
    first: Any,
    second: Any,
    promise: Tradeoff,
    *,
    runs: int,
    rng: np.random.Generator,
    level: float = 0.001,
    score: Score | None = None,
) -> CurveCheck:
    """Test a promised symmetric trade-off function against the errors of tests at many thresholds.

    Every test "second data set, when the score is at least t" has an FP and an FN. For m thresholds fixed on the runs
    learnt from, 2m one-sided Clopper–Pearson bounds on the runs kept back, each at level/(2m), hold together with
    probability 1 − level; the promise is refuted when one of these corners lies below the curve.

    Parameters
    ----------
    mechanism, first, second
        The mechanism and two neighbouring data sets.
    promise
        The trade-off function that should hold.
    runs
        Runs on each data set, half of them to learn from.
    rng
        For the mechanism.
    level
        Probability with which a promise that is kept may be refuted.
    score
        A score of the auditor's own; learnt when absent.
    """
    if not 0 < level < 1:
        raise InputError(f"level: must lie strictly between 0 and 1, found {level:g}.")
    return check(score_runs(mechanism, first, second, runs=runs, rng=rng, score=score), promise, level)


def check(scored: Scored, promise: Tradeoff, level: float) -> CurveCheck:
    """Return the test from scores; the p-value by bisection, as a lower level only widens the band."""
    pooled = np.concatenate(scored.learnt)
    places = np.concatenate([[0.003, 0.01, 0.02], np.linspace(0.04, 0.96, THRESHOLDS - 6), [0.98, 0.99, 0.997]])
    thresholds = np.unique(np.quantile(pooled, places))
    n = len(scored.kept[0])
    false_positive = np.asarray([int((scored.kept[0] >= t).sum()) for t in thresholds])
    false_negative = np.asarray([int((scored.kept[1] < t).sum()) for t in thresholds])

    def band(at: float) -> tuple[Floats, Floats, Floats]:
        each = at / (2 * len(thresholds))
        high = at_most(false_positive, n, each)
        return high, at_most(false_negative, n, each), promise(high)

    def refuted(at: float) -> bool:
        _, fn_high, allowed = band(at)
        return bool((fn_high < allowed).any())

    points = tuple(
        Point(float(fp) / n, float(fn) / n, *(float(value) for value in bounds))
        for fp, fn, *bounds in zip(false_positive, false_negative, *band(level), strict=True)
    )
    return CurveCheck(_smallest(refuted), points, level, n)


def _smallest(refuted: Any) -> float:
    if not refuted(1.0 - 1e-9):
        return 1.0
    if refuted(SMALLEST_P):
        return SMALLEST_P
    low, high = math.log(SMALLEST_P), 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if refuted(math.exp(middle)) else (middle, high)
    return math.exp(high)
