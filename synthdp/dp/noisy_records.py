"""What a data user makes of records that carry their own Laplace noise: the variance, without the noise's share.

Y_i = x_i + b·Z_i with Z_i standard Laplace and b = Λ/ε makes each record ε-DP in the local model. The sample variance
of Y has mean s² + 2b², and variance 4b⁴(5n − 3)/(n(n − 1)) + 8b²s²/(n − 1) around it; less 2b² it is unbiased.

References
----------
Biswal (2024, PhD thesis, U. Ottawa), section 5.6. Its (5.25) takes the sum of squares for the square of a sum and calls
the second moment the mean squared error: 11846 for 20 records, Λ = 10 and ε = 1, where the variance is 10498 and the
mean squared error 50498; (5.26) rests on it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from synthdp.errors import InputError
from synthdp.privacy.guarantees import floats, not_negative, positive
from synthdp.table.microdata import Floats


class NoisyVariance(NamedTuple):
    """An unbiased estimate of the variance of the records without noise, and the sd of what the noise did to it."""

    estimate: float
    sd: float


def variance_of_noisy(values: ArrayLike, *, scale: float) -> NoisyVariance:
    """Return the variance of the records behind noisy ones; it may be negative.

    Parameters
    ----------
    values
        The noisy records.
    scale
        b of the Laplace noise that each carries.

    Examples
    --------
    >>> x = np.random.default_rng(1).normal(0, 3, 50_000)
    >>> y = x + np.random.default_rng(2).laplace(scale=5, size=50_000)
    >>> found = variance_of_noisy(y, scale=5)
    >>> bool(abs(found.estimate - x.var()) < 4 * found.sd)
    True
    """
    y: Floats = floats(values, "values")
    if y.ndim != 1 or len(y) < 2:
        raise InputError("values: must be one column of at least 2 noisy records.")
    if not np.isfinite(y).all():
        raise InputError(f"values: {int((~np.isfinite(y)).sum())} are missing or infinite; leave them out.")
    b = positive(scale, "scale")
    estimate = float(y.var(ddof=1)) - 2 * b**2
    return NoisyVariance(estimate, noise_variance(len(y), max(estimate, 0.0), b) ** 0.5)


def noise_variance(n: int, variance: float, scale: float) -> float:
    """Return Var(S²(Y)) given the records, whose variance is ``variance``."""
    b, spread = positive(scale, "scale"), not_negative(variance, "variance")
    return 4 * b**4 * (5 * n - 3) / (n * (n - 1)) + 8 * b**2 * spread / (n - 1)
