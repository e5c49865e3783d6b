"""Least squares and maximum likelihood on arrays, for studies that fit a million small models.

The same numbers as ``inference.analyses`` (a test compares them), without parsing a formula each time.
"""

import numpy as np
import pandas as pd
from scipy.special import expit, log_ndtr

from synthdp.inference.analyses import Estimates
from synthdp.microdata import Floats


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
    beta = np.zeros(matrix.shape[1])
    for _ in range(50):
        p = expit(matrix @ beta)
        information = (matrix * (p * (1 - p))[:, None]).T @ matrix
        step = np.linalg.solve(information, matrix.T @ (y - p))
        beta = beta + step
        if np.abs(step).max() < 1e-9:
            break
    return Estimates(names, beta, np.asarray(np.linalg.inv(information)), None)


def probit(y: Floats, matrix: Floats, names: tuple[str, ...], *, ridge: float = 0.0) -> Estimates:
    """Return the probit regression estimates by Newton's method.

    Parameters
    ----------
    ridge
        Precision of a normal prior around zero; a little of it keeps the estimate finite when a copy is separated.
    """
    signed = matrix * (2 * y - 1)[:, None]
    beta = np.zeros(matrix.shape[1])
    for _ in range(50):
        eta = signed @ beta
        ratio = np.exp(-0.5 * eta**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(eta))
        information = (signed * (ratio * (ratio + eta))[:, None]).T @ signed + ridge * np.eye(len(beta))
        step = np.linalg.solve(information, signed.T @ ratio - ridge * beta)
        beta = beta + step
        if np.abs(step).max() < 1e-9:
            break
    return Estimates(names, beta, np.asarray(np.linalg.inv(information)), None)
