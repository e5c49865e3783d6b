"""How much ε is at least, from counts of one event."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from synthdp.errors import InputError
from synthdp.microdata import Floats
from synthdp.privacy.audit.running import Sampler, Scored, score_runs
from synthdp.privacy.audit.scoring import Score
from synthdp.privacy.parameters import slack_of

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
