"""How far chains can be trusted: R-hat and effective sample sizes.

References
----------
Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), Bayesian Analysis 16(2), 667-718: R-hat on rank-normalised split
chains, and the effective sample size with Geyer's (1992) initial monotone sequence.
"""

import numpy as np
from scipy.special import ndtri

from synthdp.table.microdata import Floats


def r_hat(draws: Floats) -> Floats:
    """Return the rank-normalised split R-hat of each quantity: the larger of bulk and spread (folded).

    Parameters
    ----------
    draws
        chains × draws × quantities.

    Examples
    --------
    >>> together = r_hat(np.random.default_rng(1).standard_normal((2, 400, 1)))
    >>> bool(together[0] < 1.02)
    True
    """
    split = _split(draws)
    folded = np.abs(split - np.median(split, axis=(0, 1)))
    return np.maximum(_plain_r_hat(_ranked(split)), _plain_r_hat(_ranked(folded)))


def bulk_ess(draws: Floats) -> Floats:
    """Return the bulk effective sample size of each quantity. O(D log D) per quantity for D draws."""
    return _ess(_ranked(_split(draws)))


def tail_ess(draws: Floats) -> Floats:
    """Return the tail effective sample size of each quantity: the smaller of those for its 5% and 95% quantiles.

    Section 4.3 of Vehtari et al.: the effective sample size of being at most the quantile.
    """
    low, high = np.quantile(draws, (0.05, 0.95), axis=(0, 1))
    return np.minimum(_ess(_split((draws <= low).astype(np.float64))), _ess(_split((draws <= high).astype(np.float64))))


def _ess(draws: Floats) -> Floats:
    """Return the effective sample size of the mean of each quantity; draws of chains already split."""
    chains, n, quantities = draws.shape
    covariances = _autocovariances(draws)
    means = draws.mean(axis=1)
    within = covariances[:, 0].mean(axis=0) * n / (n - 1)
    total = within * (n - 1) / n + means.var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = 1 - (within - covariances.mean(axis=0)) / total
    correlations[0] = 1.0
    found = np.empty(quantities)
    for k in range(quantities):
        time = _autocorrelation_time(correlations[:, k])
        found[k] = chains * n / max(time, 1 / np.log10(chains * n)) if total[k] > 0 else np.nan
    return found


def _autocorrelation_time(rho: Floats) -> float:
    """Return 1 + 2 Σ ρ_t up to where pairs of neighbours stop being positive, the pairs made decreasing."""
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2)
    sums = pairs.sum(axis=1)
    last = max((len(rho) - 3) // 2, 1)  # where none is negative, ArviZ stops here
    negative = np.flatnonzero(~(sums[:last] > 0))
    stop = max(int(negative[0]) if len(negative) else last, 1)
    kept = np.minimum.accumulate(sums[:stop])
    # the first term after the last pair still helps when it is positive
    extra = max(float(pairs[stop, 0]), 0.0) if stop < len(pairs) else 0.0
    return float(-1 + 2 * kept.sum() + extra)


def _split(draws: Floats) -> Floats:
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _ranked(draws: Floats) -> Floats:
    from scipy.stats import rankdata

    chains, n, quantities = draws.shape
    ranks = rankdata(draws.reshape(chains * n, quantities), axis=0)
    return np.asarray(ndtri((ranks - 0.375) / (chains * n + 0.25))).reshape(draws.shape)


def _plain_r_hat(draws: Floats) -> Floats:
    n = draws.shape[1]
    between = n * draws.mean(axis=1).var(axis=0, ddof=1)
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.sqrt(((n - 1) / n * within + between / n) / within)
    return np.asarray(found)


def _autocovariances(draws: Floats) -> Floats:
    """Return chains × lags × quantities, divided by the number of draws at every lag."""
    n = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    return np.asarray(np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=1)[:, :n] / n)
