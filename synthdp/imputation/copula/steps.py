"""What the compiled loops of a joint draw read, and the step of a masked number.

It runs over the records of a tile: their steps do not wait for each other, so the processor works at several at once (a
tenth to a quarter faster than one record after another). Double precision: the values are released. The numpy twin is
in the tests.

numba's cache does not notice a change in a function that another file's function calls: see ``loops``.
"""

import math
from typing import NamedTuple

import numpy as np

from synthdp.imputation.copula.knots import Knots, heights
from synthdp.imputation.copula.loops import compiled, cumulative, quantile, truncated
from synthdp.microdata import Codes, Floats

INTERVAL, CHOICE, NUMBER, LEVELS, UTILITY = range(5)
FARTHEST_START = 3.0
SMALLEST = 2.0**-54  # a uniform is never zero: its normal quantile would be infinite


class Layout(NamedTuple):
    """What each coordinate is, in the order in which they are visited; the same for all records.

    Parameters
    ----------
    active
        How many take part in the chain; those after them have no evidence and are drawn once, at its end.
    kind
        Kept columns: ``INTERVAL``, or ``CHOICE`` (a utility); masked ones: ``NUMBER``, ``LEVELS``, ``UTILITY``.
    column
        ``CHOICE``: the column of the codes; ``NUMBER``: of w, and its line; ``LEVELS``, ``UTILITY``: the first weight.
    first, size
        The utilities of its column; ``LEVELS``: the first cut point, and how many there are.
    tally
        The position of a replaced column in the trace, at its last coordinate; -1 elsewhere.
    scale
        The sd of the coordinate's latents over all records.
    to_u, to_x
        F and its inverse, of all numbers.
    cuts
        The cut points of all ordered levels (times their scale), one column after another.
    weights, sd
        2 × q × q and 2 × q: coefficients of a coordinate (row) in the expectation of another (column) given those
        before that one, and utilities of its own column; second, given all other active ones; and the sds given them.
    """

    active: int
    kind: Codes
    column: Codes
    first: Codes
    size: Codes
    tally: Codes
    scale: Floats
    to_u: Knots
    to_x: Knots
    cuts: Floats
    weights: Floats
    sd: Floats


class Block(NamedTuple):
    """What is known of some records.

    Parameters
    ----------
    mean, lower, upper
        rows × q: the expectation of each latent and between what it lies, where its column is kept; equal when known.
    codes
        rows × kept nominal columns: the level, -1 when missing.
    w, precision
        rows × replaced numbers: where the mask points, and how surely.
    chances
        rows × levels of the replaced columns that have levels: weights, the largest of each column is one.
    """

    mean: Floats
    lower: Floats
    upper: Floats
    codes: Codes
    w: Floats
    precision: Floats
    chances: Floats


@compiled
def uniform(rng: np.random.Generator) -> float:
    """Draw from (0, 1)."""
    return max(rng.random(), SMALLEST)


@compiled
def move_number(
    j: int,
    y: Floats,
    t: Floats,
    center: Floats,
    sd: float,
    w: Floats,
    precision: Floats,
    scale: float,
    to_u: Knots,
    to_x: Knots,
    number: int,
    room: Floats,
    rng: np.random.Generator,
) -> None:
    """Draw the latent of a number: a slice of exp(−τ(t − w)²/2), then the normal inside it; t becomes its value.

    ``room`` (5 × tile) is to work in.
    """
    m = len(w)
    low, high, below, above, v2 = room[0, :m], room[1, :m], room[2, :m], room[3, :m], room[4, :m]
    for r in range(m):
        v, v2[r] = uniform(rng), uniform(rng)
        reach = math.sqrt((t[j, r] - w[r]) ** 2 - 2.0 * math.log(v) / precision[r]) if precision[r] > 0.0 else np.inf
        low[r], high[r] = w[r] - reach, w[r] + reach
    heights(low, to_u, number, below)
    heights(high, to_u, number, above)
    for r in range(m):
        mean = center[r]
        if precision[r] > 0.0:
            least, most = min(scale * quantile(below[r]), y[j, r]), max(scale * quantile(above[r]), y[j, r])
            y[j, r] = mean + sd * truncated((least - mean) / sd, (most - mean) / sd, v2[r])
        else:
            y[j, r] = mean + sd * quantile(v2[r])
        low[r] = cumulative(y[j, r] / scale)
    heights(low, to_x, number, t[j, :m])


@compiled
def choose(j: int, y: Floats, t: Floats, first: int, size: int) -> None:
    """Write which level has the largest utility."""
    for r in range(y.shape[1]):
        most, best = 0.0, 0
        for k in range(first, first + size):
            if y[k, r] > most:
                most, best = y[k, r], k - first + 1
        t[j, r] = best
