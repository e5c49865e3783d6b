"""The law of a normal error plus Laplace noise, in closed form.

W = N(0, σ²) + Laplace(0, β) is what a noisy mean does around the truth. Its density is

    f(w) = e^{σ²/2β²}/(2β) · [ e^{−w/β} Φ(w/σ − σ/β) + e^{w/β} Φ(−w/σ − σ/β) ],

and integrating by parts gives

    F(w) = Φ(w/σ) + e^{σ²/2β²}/2 · [ e^{w/β} Φ(−w/σ − σ/β) − e^{−w/β} Φ(w/σ − σ/β) ].

Every product is taken in logarithms, since e^{σ²/2β²} overflows where the noise is small.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

from synthdp.microdata import Floats


def laplace_normal_pdf(w: ArrayLike, sd: float, scale: float) -> Floats:
    """Return the density of N(0, sd²) + Laplace(0, scale) at w."""
    w = np.asarray(w, dtype=np.float64)
    left, right = _halves(w, sd, scale)
    return np.asarray((left + right) / (2 * scale))


def laplace_normal_cdf(w: ArrayLike, sd: float, scale: float) -> Floats:
    """Return P(N(0, sd²) + Laplace(0, scale) ≤ w)."""
    w = np.asarray(w, dtype=np.float64)
    if scale == 0:
        return np.asarray(ndtr(w / sd))
    if sd == 0:
        return np.asarray(np.where(w < 0, np.exp(-np.abs(w) / scale) / 2, 1 - np.exp(-np.abs(w) / scale) / 2))
    left, right = _halves(w, sd, scale)
    return np.asarray(np.clip(ndtr(w / sd) + (right - left) / 2, 0, 1))


def laplace_normal_quantile(probability: float, sd: float, scale: float) -> float:
    """Return w with P(N(0, sd²) + Laplace(0, scale) ≤ w) = probability, by bracketing.

    The sum exceeds the larger of both laws' quantiles and stays under the sum of their quantiles at half the tail.
    """
    if probability < 0.5:
        return -laplace_normal_quantile(1 - probability, sd, scale)
    if probability == 0.5 or sd == scale == 0:
        return 0.0
    tail = (1 - probability) / 2
    top = sd * float(ndtri(1 - tail)) - scale * float(np.log(2 * tail))
    found = brentq(lambda w: float(laplace_normal_cdf(w, sd, scale)) - probability, 0.0, top, xtol=1e-12 * top)
    return float(found)


def _halves(w: Floats, sd: float, scale: float) -> tuple[Floats, Floats]:
    shift = sd**2 / (2 * scale**2)
    left = np.exp(shift - w / scale + log_ndtr(w / sd - sd / scale))
    right = np.exp(shift + w / scale + log_ndtr(-w / sd - sd / scale))
    return np.asarray(left), np.asarray(right)
