"""Small designs whose truth is known, for studies of coverage, bias and risk.

========================  =============================================================================
:func:`right_model`       the association model of the synthesis is exactly right
:func:`unseen_outcome`    the same, with an outcome that the synthesis never sees
:func:`wrong_model`       the association is quadratic, so a linear model of it is wrong
========================  =============================================================================

Every coefficient below is our own choice unless its docstring names a source.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr

from synthdp.table.microdata import Floats

ANALYSES = {
    "right_model": {
        "ols": ("ols", "y ~ x + b1 + b2 + z"),
        "logit": ("logit", "b1 ~ x + z"),
        "mean": ("ols", "x ~ 1"),
    },
    "unseen_outcome": {"ols": ("ols", "u ~ x + b1 + z + y")},
    "wrong_model": {"probit": ("probit", "y ~ z + x1 + x2")},
}
"""What is estimated in each design: model and formula by the name that the ``*_truth`` functions use."""

CORRELATION_ZY = 0.4
PROBIT_B1 = {"Intercept": -0.2, "z": 0.4, "y": 0.3}
PROBIT_B2 = {"Intercept": 0.1, "z": -0.3, "y": 0.3, "b1": 0.4}
LINEAR_X = {"Intercept": 0.5, "z": 0.5, "y": 0.4, "b1": 0.4, "b2": -0.4}
LINEAR_U = {"Intercept": 0.3, "x": 0.5, "b1": 0.5, "z": 0.3, "y": 0.3}
PROBIT_WRONG = {"Intercept": 0.0, "z": 0.5, "x1": 0.5, "x2": 0.5}

QUADRATURE_NODES = 24
NEWTON_STEPS = 25


def right_model(n: int, *, rng: np.random.Generator) -> pd.DataFrame:
    """Draw records for which sequential probit and linear regressions are exactly right.

    The kept columns come first and the replaced ones follow from them,

        (z, y) ~ N(0, [[1, 0.4], [0.4, 1]])
        b1 | z, y ~ Bernoulli(Φ(-0.2 + 0.4 z + 0.3 y))
        b2 | z, y, b1 ~ Bernoulli(Φ(0.1 - 0.3 z + 0.3 y + 0.4 b1))
        x | z, y, b1, b2 ~ N(0.5 + 0.5 z + 0.4 y + 0.4 b1 - 0.4 b2, 1)

    so that p(x, b1, b2 | z, y) is in the model class although the analyses regress y on x.

    Parameters
    ----------
    n
        Number of records.
    rng
        Source of randomness.

    Notes
    -----
    Effects are moderate on purpose: with 500 records no cell is empty and no logit separates, and the analyses are so
    nearly right themselves that their ordinary standard errors are within 0.4 % of the robust ones. Intervals from
    the original data therefore cover at the nominal rate, and what is lost after synthesis is due to the synthesis.

    Examples
    --------
    >>> list(right_model(500, rng=np.random.default_rng(1)).columns)
    ['z', 'y', 'b1', 'b2', 'x']
    """
    z = rng.standard_normal(n)
    y = CORRELATION_ZY * z + np.sqrt(1 - CORRELATION_ZY**2) * rng.standard_normal(n)
    columns = {"z": z, "y": y}
    for name, coefficients in (("b1", PROBIT_B1), ("b2", PROBIT_B2)):
        columns[name] = (rng.random(n) < ndtr(_linear(coefficients, columns))).astype(np.float64)
    columns["x"] = _linear(LINEAR_X, columns) + rng.standard_normal(n)
    return pd.DataFrame(columns).astype({"b1": "int64", "b2": "int64"})


def right_model_truth() -> dict[str, dict[str, float]]:
    """Return what the analyses of :func:`right_model` estimate, by analysis and term.

    The values are those that ordinary least squares and maximum likelihood tend to as n grows: moments of the design
    by Gauss–Hermite quadrature over (z, y, x) and a sum over the four cells of (b1, b2), exact to about 12 digits.

    Examples
    --------
    >>> round(right_model_truth()["mean"]["Intercept"], 4)
    0.4324
    """
    weighted = _population(QUADRATURE_NODES)
    ols = weighted.design("x", "b1", "b2", "z")
    logit = weighted.design("x", "z")
    return {
        "ols": dict(zip(ols, weighted.least_squares(ols, "y"), strict=True)),
        "logit": dict(zip(logit, weighted.logistic(logit, "b1"), strict=True)),
        "mean": {"Intercept": float(weighted.weights @ weighted.columns["x"])},
    }


def unseen_outcome(n: int, *, rng: np.random.Generator) -> pd.DataFrame:
    """Draw records of :func:`right_model` with an outcome ``u`` that the synthesis must not be shown.

        u | x, b1, z, y ~ N(0.3 + 0.5 x + 0.5 b1 + 0.3 z + 0.3 y, 1)

    An analyst who links ``u`` to the synthetic file finds its dependence on x and b1 weakened by what the mask did
    not let through.

    Parameters
    ----------
    n
        Number of records.
    rng
        Source of randomness.
    """
    frame = right_model(n, rng=rng)
    columns = {str(name): frame[name].to_numpy(np.float64) for name in frame.columns}
    return frame.assign(u=_linear(LINEAR_U, columns) + rng.standard_normal(n))


def unseen_outcome_truth() -> dict[str, dict[str, float]]:
    """Return the coefficients of ``u``, by analysis and term."""
    return {"ols": dict(LINEAR_U)}


def wrong_model(n: int, *, rng: np.random.Generator) -> pd.DataFrame:
    """Draw records whose replaced columns depend on z in a way that a linear model misses.

        z ~ U(-2, 2);  u1, u2 ~ U(-1, 1), equal with probability 1/2, otherwise independent
        x1 | z, u1 ~ N(z² + u1, 1)
        x2 | z, x1, u2 ~ Bernoulli(expit(z² + x1² + x1 z + u2))
        y | z, x1, x2 ~ Bernoulli(Φ(0.5 z + 0.5 x1 + 0.5 x2))

    x1 and x2 are replaced, z and y kept; u1 and u2 are what no file has, so they are left out.

    Parameters
    ----------
    n
        Number of records.
    rng
        Source of randomness.

    References
    ----------
    The form follows the simulation of Jiang, Raftery, Steele and Wang (2022), "Balancing inferential integrity and
    disclosure risk via model targeted masking and multiple imputation", JASA 117(537).
    """
    z = rng.uniform(-2, 2, n)
    u1 = rng.uniform(-1, 1, n)
    u2 = np.where(rng.random(n) < 0.5, u1, rng.uniform(-1, 1, n))
    x1 = z**2 + u1 + rng.standard_normal(n)
    x2 = (rng.random(n) < expit(z**2 + x1**2 + x1 * z + u2)).astype(np.float64)
    columns = {"z": z, "x1": x1, "x2": x2}
    columns["y"] = (rng.random(n) < ndtr(_linear(PROBIT_WRONG, columns))).astype(np.float64)
    return pd.DataFrame(columns).astype({"x2": "int64", "y": "int64"})


def wrong_model_truth() -> dict[str, dict[str, float]]:
    """Return the coefficients of the response, by analysis and term."""
    return {"probit": dict(PROBIT_WRONG)}


def _linear(coefficients: dict[str, float], columns: dict[str, Floats]) -> Floats:
    total = np.full(len(columns["z"]), coefficients["Intercept"])
    for name, slope in coefficients.items():
        if name != "Intercept":
            total += slope * columns[name]
    return total


@dataclass(frozen=True)
class _Population:
    """A design as weighted points: expectations are weighted sums."""

    columns: dict[str, Floats]
    weights: Floats

    def design(self, *names: str) -> dict[str, Floats]:
        return {"Intercept": np.ones_like(self.weights)} | {name: self.columns[name] for name in names}

    def least_squares(self, design: dict[str, Floats], outcome: str) -> list[float]:
        matrix = np.column_stack(list(design.values()))
        weighted = matrix.T * self.weights
        return [float(value) for value in np.linalg.solve(weighted @ matrix, weighted @ self.columns[outcome])]

    def logistic(self, design: dict[str, Floats], outcome: str) -> list[float]:
        matrix = np.column_stack(list(design.values()))
        slopes = np.zeros(matrix.shape[1])
        for _ in range(NEWTON_STEPS):
            mean = expit(matrix @ slopes)
            information = (matrix.T * (self.weights * mean * (1 - mean))) @ matrix
            score = (matrix.T * self.weights) @ (self.columns[outcome] - mean)
            slopes = slopes + np.linalg.solve(information, score)
        return [float(value) for value in slopes]


def _population(nodes: int) -> _Population:
    """Return :func:`right_model` as weighted points, ``nodes`` per normal variable and one per binary cell."""
    points, masses = np.polynomial.hermite_e.hermegauss(nodes)
    masses = masses / masses.sum()
    z, other, noise = (axis.ravel() for axis in np.meshgrid(points, points, points, indexing="ij"))
    mass = np.multiply.outer(np.multiply.outer(masses, masses), masses).ravel()
    y = CORRELATION_ZY * z + np.sqrt(1 - CORRELATION_ZY**2) * other
    cells: list[dict[str, Floats]] = []
    for first in (0.0, 1.0):
        for second in (0.0, 1.0):
            cell = {"z": z, "y": y, "b1": np.full_like(z, first), "b2": np.full_like(z, second)}
            p1, p2 = ndtr(_linear(PROBIT_B1, cell)), ndtr(_linear(PROBIT_B2, cell))
            cell["x"] = _linear(LINEAR_X, cell) + noise
            cell["weights"] = mass * (p1 if first else 1 - p1) * (p2 if second else 1 - p2)
            cells.append(cell)
    stacked = {name: np.concatenate([cell[name] for cell in cells]) for name in cells[0]}
    weights = stacked.pop("weights")
    return _Population(stacked, weights)
