"""A penalised multinomial logit that is fitted often, to thousands of rows: coordinates in which its curvature is one.

The features are shares of levels, most of them rare, beside columns on scales of their own, so that plain steps along
the gradient crawl: on simulated pairs scikit-learn's solver was stopped after 300 of them. The curvature of the mean
log likelihood is at most ½ D'D/n for every level (Böhning's bound), whatever the slopes are. In coordinates where this
bound, with the penalty, is the identity, 30 to 100 steps of L-BFGS end closer to the optimum.

References
----------
Böhning (1992), Annals of the Institute of Statistical Mathematics 44(1), 197–200.
"""

import numpy as np

from synthdp.arrays import Codes, Floats

# steps end where no coordinate of the gradient is larger: the mean log likelihood is then within about 1e-6 of its best
STEEP = 1e-4
MOST_STEPS = 300
MANY = 10_000
# of the mean curvature: keeps columns that repeat each other apart from nothing
RIDGE = 1e-10


def fit_logit(features: Floats, levels: Codes, count: int, *, weak: float) -> tuple[Floats, Floats]:
    """Return constants and slopes of Pr(level l | f) ∝ exp(c_l + f · β_l): those of least penalised mean loss.

    Parameters
    ----------
    features
        Shape (n, p); no column of ones is needed.
    levels
        From 0 to count − 1, each of which occurs.
    count
        At least two. Of two levels the first is the reference, with a constant and slopes of zero.
    weak
        How many records the prior of a slope is worth: the penalty is Σ β²/(2 · weak), of the sum of losses.

    Returns
    -------
    constants, slopes
        Shapes (count,) and (count, p).

    Notes
    -----
    Cost O(n p²) once and O(n p count) for each step. The start is flat, so that nothing but these records matters.

    Examples
    --------
    >>> constants, slopes = fit_logit(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 1, 1]), 2, weak=1e9)
    >>> bool(slopes[1, 0] > 3), constants.round(3).tolist()
    (True, [0.0, 0.0])
    """
    from scipy.optimize import minimize

    n = len(features)
    design = np.hstack([features, np.ones((n, 1))])
    penalty = np.full(design.shape[1], 1 / (weak * n))
    if count == 2:
        # both levels get half of the difference, whose square alone is penalised
        penalty *= 2
    penalty[-1] = 0.0
    back = _coordinates(design, penalty)
    # seven digits are enough for a mean over many rows, and twice as quick; records side by side, so that sums over a
    # few levels are sums of long rows
    rows: Floats = (back.T @ design.T).astype(np.float32 if n >= MANY else np.float64)
    ridge = back.T @ (penalty[:, None] * back)
    seen = np.zeros((count, n), dtype=rows.dtype)
    everyone = np.arange(n)
    seen[levels, everyone] = 1.0
    observed = rows @ seen.T

    def loss(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(-1, count)
        scores = theta.T.astype(rows.dtype) @ rows
        scores -= scores.max(axis=0)
        own = float(scores[levels, everyone].sum(dtype=np.float64))
        np.exp(scores, out=scores)
        total = scores.sum(axis=0)
        scores /= total
        pulled = ridge @ theta
        slope = (rows @ scores.T - observed) / n + pulled
        return (float(np.log(total).sum(dtype=np.float64)) - own) / n + 0.5 * float(
            (theta * pulled).sum()
        ), slope.ravel()

    start = np.zeros(design.shape[1] * count)
    # a slope of a level that is never wrong grows for ever, and that many steps of it are enough
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MOST_STEPS, "gtol": STEEP, "ftol": 0.0}
    )
    theta = (back @ found.x.reshape(-1, count)).T
    if count == 2:
        theta = np.stack([np.zeros_like(theta[0]), theta[1] - theta[0]])
    return np.asarray(theta[:, -1]), np.asarray(theta[:, :-1])


def _coordinates(design: Floats, penalty: Floats) -> Floats:
    """Return what turns coordinates in which the bound on the curvature is the identity back into slopes."""
    from scipy.linalg import solve_triangular

    bound = 0.5 * (design.T @ design) / len(design) + np.diag(penalty)
    bound += np.eye(len(bound)) * RIDGE * np.trace(bound) / len(bound)
    lower = np.linalg.cholesky(bound)
    return np.asarray(solve_triangular(lower, np.eye(len(bound)), lower=True).T)
