"""Exchange of levels by a transition matrix, and what a level that is shown says of the true one.

With shares π of the levels and a matrix P, p_kl = P(Y = l | X = k), Bayes gives P(X = k | Y = l) = π_k p_kl / (πP)_l,
and the odds that a level shown is the true one are π_l p_ll / Σ_{k≠l} π_k p_kl. For any P the matrix R = P·Q with
Q_lk = π_k p_kl / (πP)_l is invariant: πR = π, so that shares of the masked file estimate those of the original.

References
----------
Gouweleeuw, Kooiman, Willenborg, de Wolf (1998), Journal of Official Statistics 14(4), sections 2 and 4.
"""

import numpy as np

from synthdp.table.microdata import MISSING, Codes, Floats


def uniform_matrix(keep: float, levels: int) -> Floats:
    """Return the matrix that keeps a level with probability ``keep`` and else draws one of the others.

    Examples
    --------
    >>> uniform_matrix(0.8, 2)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """
    if levels < 2:
        return np.ones((levels, levels))
    matrix = np.full((levels, levels), (1 - keep) / (levels - 1))
    np.fill_diagonal(matrix, keep)
    return matrix


def exchanged(codes: Codes, matrix: Floats, rng: np.random.Generator) -> Codes:
    """Return levels drawn from the rows of the true ones; missing stays missing. Cost O(n log levels).

    Examples
    --------
    >>> exchanged(np.array([0, 1, -1]), np.array([[0.0, 1.0], [1.0, 0.0]]), np.random.default_rng(1))
    array([ 1,  0, -1])
    """
    drawn, shown = rng.random(len(codes)), codes.copy()
    for level, row in enumerate(matrix):
        here = codes == level
        total = np.cumsum(row)
        shown[here] = np.searchsorted(total[:-1] / total[-1], drawn[here], side="right") if here.any() else 0
    return np.where(codes == MISSING, MISSING, shown)


def shares(codes: Codes, levels: int) -> Floats:
    """Return the share of each level among those that are not missing."""
    counts = np.bincount(codes[codes != MISSING], minlength=levels)
    return np.asarray(counts / max(counts.sum(), 1), dtype=np.float64)


def posterior(prior: Floats, matrix: Floats) -> Floats:
    """Return P(X = k | Y = l) in row l and column k; a level that is never shown has the prior.

    Examples
    --------
    >>> posterior(np.array([0.5, 0.5]), uniform_matrix(0.8, 2)).round(12).tolist()
    [[0.8, 0.2], [0.2, 0.8]]
    """
    joint = prior[:, None] * matrix
    shown = joint.sum(axis=0)
    found = np.divide(joint, shown, out=np.repeat(prior[:, None], len(prior), axis=1), where=shown > 0)
    return np.asarray(found.T)


def truth_odds(prior: Floats, matrix: Floats) -> Floats:
    """Return the odds that the level shown is the true one, level by level; infinite where nothing else is shown so.

    Examples
    --------
    >>> truth_odds(np.array([0.5, 0.5]), uniform_matrix(0.8, 2)).round(12).tolist()
    [4.0, 4.0]
    """
    joint = prior[:, None] * matrix
    own = np.diag(joint)
    others = joint.sum(axis=0) - own
    return np.asarray(np.divide(own, others, out=np.where(own > 0, np.inf, 0.0), where=others > 0))


def invariant(prior: Floats, matrix: Floats) -> Floats:
    """Return P·Q, which leaves the shares of the levels as they are.

    Examples
    --------
    >>> prior = np.array([0.9, 0.1])
    >>> (prior @ invariant(prior, uniform_matrix(0.8, 2))).round(12).tolist()
    [0.9, 0.1]
    """
    return np.asarray(matrix @ posterior(prior, matrix))


def estimated_shares(shown: Floats, matrix: Floats) -> Floats:
    """Return the unbiased estimate of the original's shares, T' = S'P⁻¹, from those that are shown.

    Examples
    --------
    >>> estimated_shares(np.array([0.52, 0.48]), uniform_matrix(0.8, 2)).round(4).tolist()
    [0.5333, 0.4667]
    """
    return np.asarray(np.linalg.solve(matrix.T, shown), dtype=np.float64)
