"""The links of binary and ordered regressions: F = Φ (probit) or logistic (logit), exact in both tails.

log Φ is computed quickly, as chains ask for it at every level of every record in every sweep. Between points 1/32 apart
it is the polynomial of degree 5 that has its value, slope and curvature at both ends:

    f = log Φ,   f' = φ/Φ = r,   f'' = −r (x + r)

The error is below h⁶ max|f⁽⁶⁾| / 46,080, which is under 10⁻¹³; rounding is of the size of the result's last digits.
Below the table Φ(x) = φ(x)/|x| · (1 − x⁻² + 3x⁻⁴ − 15x⁻⁶), above it log Φ(x) = −Φ(−x).
"""

import math
from typing import Any, Literal

import numpy as np
from scipy.special import erfcx, expit, log_expit, log_ndtr

from synthdp.arrays import compiled
from synthdp.table.microdata import Floats

LinkName = Literal["probit", "logit"]
LATENT_SD = {"probit": 1.0, "logit": np.pi / np.sqrt(3)}

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


def log_probability(eta: Floats, link: LinkName) -> Floats:
    """Return log F(eta)."""
    return log_normal_cdf(eta) if link == "probit" else np.asarray(log_expit(eta), dtype=np.float64)


def derivatives(eta: Floats, link: LinkName) -> tuple[Floats, Floats]:
    """Return first and minus second derivative of log F(eta)."""
    if link == "logit":
        up = expit(-eta)
        return up, up * (1 - up)
    ratio = np.exp(-0.5 * eta**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(eta))
    return ratio, np.maximum(ratio * (ratio + eta), 0.0)


def log_interval(lower: Floats, upper: Floats, link: LinkName) -> Floats:
    """Return log(F(upper) - F(lower)), exact in both tails and for narrow intervals."""
    with np.errstate(divide="ignore"):
        if link == "logit":
            return np.asarray(log_expit(upper) + log_expit(-lower) + np.log(-np.expm1(lower - upper)))
        # on the right of zero both are near 1; their mirror images are not
        mirror = lower > 0
        low, high = np.where(mirror, -upper, lower), np.where(mirror, -lower, upper)
        log_high = log_ndtr(high)
        return np.asarray(log_high + np.log(-np.expm1(log_ndtr(low) - log_high)))


def density_ratio(bound: Floats, log_p: Floats, link: LinkName) -> Floats:
    """Return f(bound) / p; zero at infinity."""
    if link == "logit":
        return np.asarray(np.exp(log_expit(bound) + log_expit(-bound) - log_p))
    return np.asarray(np.exp(-0.5 * bound**2 - 0.5 * np.log(2 * np.pi) - log_p))


def log_density_slope(bound: Floats, link: LinkName) -> Floats:
    """Return f'(bound) / f(bound), set to zero at infinity, where f is zero."""
    if link == "logit":
        return np.asarray(1 - 2 * expit(bound))
    return np.where(np.isfinite(bound), -bound, 0.0)
