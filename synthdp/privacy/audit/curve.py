"""Whether the errors of many tests are compatible with a promised trade-off function."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.errors import InputError
from synthdp.microdata import Floats
from synthdp.privacy.audit.bounds import at_most
from synthdp.privacy.audit.running import Sampler, Scored, score_runs
from synthdp.privacy.audit.scoring import Score
from synthdp.privacy.tradeoff.curves import Tradeoff

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
