"""The least regularised margin loss, with a bound on how far off the weights are.

    F(w) = (1/n) Σ_i loss(y_i w'φ_i) + λ‖w‖²,     ‖φ_i‖ ≤ 1

``hinge``, (1 − m)₊: coordinate descent on the dual, whose objective bounds the primal from below, so that a gap τ
between the two leaves w within √(τ/λ) of the minimum. ``logistic``, log(1 + e^{−m}): Newton's method; a gradient g
leaves w within ‖g‖/2λ. Both stop within ½% of 1/(λn), by which one record moves the minimum. Where n is so large that
this would drown in the rounding of double arithmetic, they stop at twice that rounding; `reached` says so, and the
noise pays for it.

References
----------
Hsieh, Chang, Lin, Keerthi, Sundararajan (2008), ICML (coordinate descent on the dual).
"""

import math
from typing import Literal

import numpy as np
from scipy.special import expit

from synthdp.arrays import compiled
from synthdp.errors import Unfinished
from synthdp.table.microdata import Floats

Loss = Literal["hinge", "logistic"]
SLACK = 0.01
PASSES, MOST_PASSES, BATCH = 20_000, 400_000, 20
WORK = 2 * 10**10
"""Numbers touched by the passes beyond the first ones: seconds for thousands of records."""
STEPS, SHORTEST = 100, 1e-6


def lost_to_rounding(regularisation: float, size: int) -> float:
    """Return by how much a computed duality gap may be off, for weights of so many coordinates.

    Scalar products of vectors of norm 1 and at most 1/√λ, and sums taken in pairs.
    """
    return 2.0**-53 * (size * (1 / math.sqrt(regularisation) + 2) + 128)


def reached(regularisation: float, n: int, size: int, loss: Loss = "hinge") -> float:
    """Return how close to the exact minimum the solver certainly comes: half a per cent of 1/(λn), or what it can."""
    lost = 2 * lost_to_rounding(regularisation, size)
    least = math.sqrt(lost / regularisation) if loss == "hinge" else lost / regularisation
    return max(SLACK / (2 * regularisation * n), least)


def minimise(features: Floats, sign: Floats, regularisation: float, within: float, loss: Loss = "hinge") -> Floats:
    """Return the weights of the least objective, certainly within this distance of the exact ones.

    Raises
    ------
    Unfinished
        When that takes too many passes.
    """
    solve = _hinge if loss == "hinge" else _logistic
    return solve(features, sign, regularisation, within)


def _hinge(features: Floats, sign: Floats, regularisation: float, within: float) -> Floats:
    n = len(features)
    rows = np.ascontiguousarray(features * sign[:, None])
    squares = (rows**2).sum(axis=1)
    # α in [0, 1/n], w = Σ α_i y_i φ_i / 2λ
    alpha, weights = np.zeros(n), np.zeros(features.shape[1])
    passes = max(PASSES, min(MOST_PASSES, WORK // features.size))
    for _ in range(passes // BATCH):
        _descend(rows, squares, regularisation, alpha, weights, BATCH)
        # afresh, and each sum in pairs: what was added up step by step has drifted
        weights = np.array([(column * alpha).sum() for column in rows.T]) / (2 * regularisation)
        norm = regularisation * float(weights @ weights)
        primal = float(np.maximum(1 - rows @ weights, 0.0).mean()) + norm
        gap = primal - (float(alpha.sum()) - norm) + lost_to_rounding(regularisation, features.shape[1])
        if gap <= regularisation * within**2:
            return weights
    raise Unfinished(f"svm: not within 1% after {passes:,} passes; use a larger regularisation.")


@compiled
def _descend(rows: Floats, squares: Floats, regularisation: float, alpha: Floats, weights: Floats, passes: int) -> None:
    n, size = rows.shape
    for _ in range(passes):
        for i in range(n):
            if squares[i] <= 0:
                alpha[i] = 1 / n
                continue
            margin = 0.0
            for j in range(size):
                margin += rows[i, j] * weights[j]
            best = min(max(alpha[i] + 2 * regularisation * (1 - margin) / squares[i], 0.0), 1 / n)
            change = (best - alpha[i]) / (2 * regularisation)
            if change != 0:
                alpha[i] = best
                for j in range(size):
                    weights[j] += change * rows[i, j]


def _logistic(features: Floats, sign: Floats, regularisation: float, within: float) -> Floats:
    rows, weights = features * sign[:, None], np.zeros(features.shape[1])
    ridge = 2 * regularisation * np.eye(features.shape[1])
    lost = lost_to_rounding(regularisation, features.shape[1])

    def objective(at: Floats) -> float:
        return float(np.logaddexp(0, -(rows @ at)).mean()) + regularisation * float(at @ at)

    for _ in range(STEPS):
        wrong = expit(-(rows @ weights))
        # each sum in pairs
        gradient = 2 * regularisation * weights - np.array([(column * wrong).mean() for column in rows.T])
        if float(np.linalg.norm(gradient)) + lost <= 2 * regularisation * within:
            return weights
        curved = (rows * (wrong * (1 - wrong))[:, None]).T @ rows / len(rows) + ridge
        step = np.linalg.solve(curved, gradient)
        height, size = objective(weights), 1.0
        # far away a full step may go too far; near the minimum rounding hides the fall
        while size > SHORTEST and objective(weights - size * step) > height * (1 + 1e-12):
            size /= 2
        weights = weights - size * step
    raise Unfinished(f"svm: not within 1% after {STEPS} steps; use a larger regularisation.")
