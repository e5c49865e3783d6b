"""Least squares and maximum likelihood on arrays, for studies that fit a million small models.

The same numbers as ``inference.analyses`` (a test compares them), without parsing a formula each time.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy.special import expit, log_ndtr, ndtr, ndtri

from synthdp.inference.analyses import Estimates
from synthdp.table.microdata import Floats


def design(frame: pd.DataFrame, *names: str) -> Floats:
    """Return a constant and the named columns."""
    return np.column_stack([np.ones(len(frame)), *(frame[name].to_numpy(np.float64) for name in names)])


def least_squares(y: Floats, matrix: Floats, names: tuple[str, ...]) -> Estimates:
    """Return the ordinary least squares estimates."""
    n, d = matrix.shape
    inverse = np.linalg.inv(matrix.T @ matrix)
    beta = inverse @ (matrix.T @ y)
    residual = y - matrix @ beta
    return Estimates(names, beta, inverse * float(residual @ residual) / (n - d), float(n - d))


def logistic(y: Floats, matrix: Floats, names: tuple[str, ...]) -> Estimates:
    """Return the logistic regression estimates by Newton's method."""

    def slopes(beta: Floats) -> tuple[Floats, Floats]:
        p = expit(matrix @ beta)
        return matrix.T @ (y - p), (matrix * (p * (1 - p))[:, None]).T @ matrix

    return Estimates(names, *_newton(slopes, np.zeros(matrix.shape[1])), None)


def probit(y: Floats, matrix: Floats, names: tuple[str, ...], *, ridge: float = 0.0) -> Estimates:
    """Return the probit regression estimates by Newton's method.

    Parameters
    ----------
    ridge
        Precision of a normal prior around zero; a little of it keeps the estimate finite when a copy is separated.
    """
    signed = matrix * (2 * y - 1)[:, None]

    def slopes(beta: Floats) -> tuple[Floats, Floats]:
        eta = signed @ beta
        ratio = np.exp(-0.5 * eta**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(eta))
        information = (signed * (ratio * (ratio + eta))[:, None]).T @ signed + ridge * np.eye(len(beta))
        return signed.T @ ratio - ridge * beta, information

    return Estimates(names, *_newton(slopes, np.zeros(matrix.shape[1])), None)


def ordered_probit(y: Floats, matrix: Floats, names: tuple[str, ...]) -> Estimates:
    """Return the slopes of an ordered probit, P(y <= k) = Φ(κ_k - x'β), by Fisher scoring over slopes and cutpoints.

    Parameters
    ----------
    y
        Levels 0, 1, ..., all of which occur.
    matrix
        The design without a constant: the cutpoints take its place.
    """
    levels, d = int(y.max()) + 1, matrix.shape[1]
    own = y[:, None] == np.arange(levels)

    def slopes(theta: Floats) -> tuple[Floats, Floats]:
        edge = theta[d:] - (matrix @ theta[:d])[:, None]
        density = np.exp(-0.5 * edge**2) / np.sqrt(2 * np.pi)
        p = np.diff(ndtr(edge), axis=1, prepend=0.0, append=1.0)
        # derivative of each level's probability: by its own cutpoint, minus the one below; slopes move both
        by_cut = np.zeros((len(y), levels, levels - 1))
        for k in range(levels - 1):
            by_cut[:, k, k], by_cut[:, k + 1, k] = density[:, k], -density[:, k]
        by_slope = -by_cut.sum(axis=2)[:, :, None] * matrix[:, None, :]
        jacobian = np.concatenate([by_slope, by_cut], axis=2)
        information = np.einsum("nka,nkb->ab", jacobian / p[:, :, None], jacobian, optimize=True)
        return np.einsum("nka,nk->a", jacobian, own / p), information

    start = np.concatenate([np.zeros(d), ndtri(np.cumsum(own.mean(axis=0))[:-1])])
    theta, covariance = _newton(slopes, start)
    return Estimates(names, theta[:d], covariance[:d, :d], None)


def _newton(slopes: Callable[[Floats], tuple[Floats, Floats]], theta: Floats) -> tuple[Floats, Floats]:
    """Return the maximum and its covariance, from the score and the information at each θ."""
    for _ in range(50):
        score, information = slopes(theta)
        step = np.linalg.solve(information, score)
        theta = theta + step
        if np.abs(step).max() < 1e-9:
            break
    return theta, np.asarray(np.linalg.inv(information))
