"""The probability of an interval under a standard normal or logistic distribution, and its derivatives, in logs."""

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

from synthdp.imputation.binary import LinkName
from synthdp.microdata import Floats


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
