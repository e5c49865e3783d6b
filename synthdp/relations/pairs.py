"""Relations between one kept and one replaced column."""

import math

import numpy as np
import pandas as pd
from scipy.special import gammaln

from synthdp.microdata import Codes, Floats
from synthdp.relations.values import FEWEST_RECORDS, NEAR_R2, RelationKind, Values, correlation

NEAR_UNIQUE = 0.9
LOG_CHANCE = math.log(1e-9)
NEAR_CORRELATION = 0.995


def relate(kept: Values, replaced: Values, screen: Codes) -> RelationKind | None:
    """Return how a kept column gives a replaced one away, or None; ``screen`` are the records looked at first."""
    both = (kept.ranks >= 0) & (replaced.ranks >= 0)
    rows = screen[both[screen]]
    if len(rows) < FEWEST_RECORDS:
        return None
    k, r = kept.ranks[rows], replaced.ranks[rows]
    if len(np.unique(k)) < 2 or len(np.unique(r)) < 2:
        return None
    of_replaced, of_kept = _agrees(r, k), _agrees(k, r)
    near = kept.ordered and replaced.ordered and abs(correlation(_ranks(k), _ranks(r))) > NEAR_CORRELATION - 0.01
    if of_replaced or of_kept or near:
        k, r = kept.ranks[both], replaced.ranks[both]
        of_replaced, of_kept = of_replaced and _agrees(r, k), of_kept and _agrees(k, r)
    if of_replaced and of_kept and kept.ordered and replaced.ordered and _monotone(k, r):
        return "monotone"
    if of_replaced and (_by_chance_contiguous(r, k) < LOG_CHANCE):
        return "coarsening"
    if of_replaced and _by_chance_agreeing(r, k) < LOG_CHANCE:
        return "function"
    if of_kept and min(_by_chance_contiguous(k, r), _by_chance_agreeing(k, r)) < LOG_CHANCE:
        return "determines"
    if near and abs(correlation(_ranks(k), _ranks(r))) > NEAR_CORRELATION:
        return "near-copy"
    if kept.numbers is not None and replaced.numbers is not None:
        x, y = kept.numbers[rows], replaced.numbers[rows]
        if correlation(x, y) ** 2 > NEAR_R2 and correlation(kept.numbers[both], replaced.numbers[both]) ** 2 > NEAR_R2:
            return "near-copy"
    return None


def _agrees(x: Codes, y: Codes) -> bool:
    """Return whether equal x always have equal y."""
    order = np.argsort(x, kind="stable")
    same = x[order][1:] == x[order][:-1]
    return not bool((same & (y[order][1:] != y[order][:-1])).any())


def _monotone(x: Codes, y: Codes) -> bool:
    """Return whether one-to-one columns have the same or the opposite order; few values do so by chance."""
    first, at = np.unique(x, return_index=True)
    steps = np.diff(y[at])
    if not (bool((steps > 0).all()) or bool((steps < 0).all())):
        return False
    arrangements = float(gammaln(len(first) + 1)) - math.log(2)
    return -arrangements < LOG_CHANCE or _by_chance_agreeing(x, y) < LOG_CHANCE


def _by_chance_agreeing(x: Codes, y: Codes) -> float:
    """Return the log chance that all repeats of x agree on y, if the two had nothing to do with each other."""
    distinct = len(np.unique(x))
    if distinct > NEAR_UNIQUE * len(x):
        return 0.0
    shares = np.unique(y, return_counts=True)[1] / len(y)
    return float((len(x) - distinct) * math.log(float((shares**2).sum())))


def _by_chance_contiguous(x: Codes, y: Codes) -> float:
    """Return the log chance that sorting by x brings equal y together, or 0 if it does not."""
    along = y[np.argsort(x, kind="stable")]
    counts = np.unique(y, return_counts=True)[1]
    if int((along[1:] != along[:-1]).sum()) != len(counts) - 1:
        return 0.0
    return float(gammaln(len(counts) + 1) + gammaln(counts + 1).sum() - gammaln(len(y) + 1))


def _ranks(codes: Codes) -> Floats:
    """Return average ranks."""
    return np.asarray(pd.Series(codes).rank(), dtype=np.float64)
