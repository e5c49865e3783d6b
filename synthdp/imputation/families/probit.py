"""log Φ, quickly: chains ask for it at every level of every record in every sweep.

Between points 1/32 apart it is the polynomial of degree 5 that has its value, slope and curvature at both ends:

    f = log Φ,   f' = φ/Φ = r,   f'' = −r (x + r)

The error is below h⁶ max|f⁽⁶⁾| / 46,080, which is under 10⁻¹³; rounding is of the size of the result's last digits.
Below the table Φ(x) = φ(x)/|x| · (1 − x⁻² + 3x⁻⁴ − 15x⁻⁶), above it log Φ(x) = −Φ(−x).
"""

import math
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr

from synthdp.arrays import compiled
from synthdp.table.microdata import Floats

LOW, HIGH, STEPS = -37.0, 8.0, 32
HALF_LOG = 0.5 * math.log(2 * math.pi)
ROOT = math.sqrt(0.5)


def _coefficients() -> Floats:
    """Return the polynomials of all intervals in t = (x − left) / h, from the constant up."""
    x = np.linspace(LOW, HIGH, int((HIGH - LOW) * STEPS) + 1)
    ratio = math.sqrt(2 / math.pi) / erfcx(-ROOT * x)
    value, slope, bend = log_ndtr(x), ratio / STEPS, -ratio * (x + ratio) / STEPS**2
    # what the parabola from the left end leaves at the right end
    gap = value[1:] - value[:-1] - slope[:-1] - 0.5 * bend[:-1]
    turn, rest = slope[1:] - slope[:-1] - bend[:-1], bend[1:] - bend[:-1]
    found = [value[:-1], slope[:-1], 0.5 * bend[:-1]]
    found += [10 * gap - 4 * turn + 0.5 * rest, -15 * gap + 7 * turn - rest, 6 * gap - 3 * turn + 0.5 * rest]
    return np.ascontiguousarray(np.stack(found, axis=1))


_TABLE = _coefficients()


@compiled
def _at(x: float, table: Any) -> float:
    if x >= HIGH:
        return -0.5 * math.erfc(x * ROOT)
    if x >= LOW:
        place = (x - LOW) * STEPS
        k = int(place)
        t, c = place - k, table[k]
        return float(c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5])))))
    if x < LOW:
        square = 1.0 / (x * x)
        return -0.5 * x * x - HALF_LOG - math.log(-x) + math.log1p(square * (-1.0 + square * (3.0 - 15.0 * square)))
    return math.nan


@compiled
def _each(x: Any, table: Any, found: Any) -> None:
    for i in range(len(x)):
        found[i] = _at(x[i], table)


@compiled
def _add(log_weights: Any, shifts: Any, rest: Any, up: Any, table: Any) -> None:
    for level in range(len(shifts)):
        for i in range(len(rest)):
            eta = rest[i] + shifts[level]
            log_weights[level, i] += _at(eta if up[i] else -eta, table)


def log_normal_cdf(x: Floats) -> Floats:
    """Return log Φ(x); the error is below 10⁻¹³ or that part of the result.

    >>> bool(log_normal_cdf(np.zeros(1))[0] == np.log(0.5))
    True
    """
    found = np.empty(np.shape(x))
    _each(np.ascontiguousarray(x, dtype=np.float64).ravel(), _TABLE, found.ravel())
    return found


def add_probit(log_weights: Floats, shifts: Floats, rest: Floats, up: Floats) -> None:
    """Add log P(y | η = rest + shift) of a probit regression to the weights, a shift for each of their rows.

    Parameters
    ----------
    log_weights
        levels × records; changed in place.
    shifts, rest
        What each level adds to the predictor, and what all else makes it, for each record.
    up
        For each record whether y is 1.
    """
    _add(log_weights, shifts, np.ascontiguousarray(rest), up, _TABLE)
