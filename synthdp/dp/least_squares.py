"""DP covariances and linear regression with intervals, from one release of sums and products.

References
----------
Vu, Slavković (2009), "Differential privacy for clinical trial data", ICDM workshops: perturbed sufficient statistics.
Ferrando, Wang, Sheldon (2022), "Parametric bootstrap for differentially private confidence intervals", AISTATS,
section 4.3 (linear regression): simulate data's and noise's part of the estimate at the released parameters.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from synthdp.dp.bounding import Bounded, Limits, together
from synthdp.dp.budgets import Budget
from synthdp.dp.charging import Chargeable, source_for
from synthdp.dp.noise import bootstrap_generator
from synthdp.dp.products import Products, positive_part, release_products
from synthdp.dp.results import ReleasedTable, mostly_noise, reason_of, said_of
from synthdp.errors import InputError
from synthdp.microdata import Floats
from synthdp.privacy.mechanisms import Adjacency, Source

DRAWS = 2000


def cov(
    columns: Sequence[Any],
    *,
    bounds: Sequence[Limits],
    epsilon: float,
    delta: float = 0.0,
    names: Sequence[str] | None = None,
    adjacency: Adjacency = "replace",
    level: float = 0.95,
    source: Source | None = None,
    ledger: Chargeable | None = None,
) -> ReleasedTable:
    """Release the covariance matrix of two or more columns, one row for each pair.

    Notes
    -----
    Intervals by parametric bootstrap under a normal model, each on its own. The matrix need not be positive definite.
    """
    budget = Budget(epsilon, delta, adjacency, level)
    if len(columns) < 2:
        raise InputError(f"cov: at least 2 columns are needed, found {len(columns)}.")
    names = _named(names, [f"x{k + 1}" for k in range(len(columns))])
    inside = together(columns, bounds, budget, names)
    source = source_for(source, ledger, budget, f"covariance of {', '.join(names)}", reason_of(inside))
    products = release_products(inside, budget, source)
    rng = bootstrap_generator(source)
    estimate = _covariance(products.matrix[None], np.array([products.n]))[0]
    # an indefinite release has no normal data of its own; the nearest one that has stands in for it
    centre = positive_part(estimate, 1e-9)
    n = round(products.n)
    mean = products.matrix[0, 1:] / products.n
    drawn_means = mean + _normal(centre / n, DRAWS, rng)
    scatter = _wishart(centre, n - 1, DRAWS, rng)
    again = np.empty((DRAWS, len(columns) + 1, len(columns) + 1))
    again[:, 0, 0] = n
    again[:, 0, 1:] = again[:, 1:, 0] = n * drawn_means
    again[:, 1:, 1:] = scatter + n * drawn_means[:, :, None] * drawn_means[:, None, :]
    again += products.redraw_noise(DRAWS, rng=rng)
    errors = _covariance(again, np.maximum(again[:, 0, 0], 2.0)) - centre
    half = np.array([column.width / 2 for column in inside])
    units = np.outer(half, half)
    upper = np.triu_indices(len(columns))
    low, high = np.quantile(errors, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return ReleasedTable(
        "covariance",
        budget,
        ("parametric bootstrap, normal model", *mostly_noise(products.noise.sd / products.n, 1.0, "scaled products")),
        reason_of(inside),
        names=tuple(f"{names[j]}, {names[k]}" for j, k in zip(*upper, strict=True)),
        estimate=(units * estimate)[upper],
        low=(units * (estimate - high))[upper],
        high=(units * (estimate - low))[upper],
        confidential=said_of(inside),
    )


def ols(
    y: Any,
    x: Sequence[Any],
    *,
    bounds_y: Limits,
    bounds_x: Sequence[Limits],
    epsilon: float,
    delta: float = 0.0,
    names: Sequence[str] | None = None,
    adjacency: Adjacency = "replace",
    level: float = 0.95,
    source: Source | None = None,
    ledger: Chargeable | None = None,
) -> ReleasedTable:
    """Release a linear regression of y on x with an intercept, in the columns' own units.

    The released products, solved: β̃ = (X'X + E)⁻¹(X'y + e). No ridge is added, so that the error has no bias to
    speak of and an interval can be given; for prediction `adassp` errs less.

    Parameters
    ----------
    y, x
        The response, and the predictors (a sequence of columns).
    bounds_y, bounds_x
        Their bounds.

    Notes
    -----
    Basic parametric bootstrap: X'y* = X'X β̃ + N(0, σ̃² X'X), both with new privacy noise, solved again. It takes
    homoscedastic errors, and the slopes for those of the clipped columns. Cost: O(n p² + DRAWS·p³).
    """
    budget = Budget(epsilon, delta, adjacency, level)
    if not len(x):
        raise InputError("ols: at least 1 predictor is needed, found 0.")
    names = _named(names, ["y", *(f"x{k + 1}" for k in range(len(x)))])
    inside = together([y, *x], [bounds_y, *bounds_x], budget, names)
    source = source_for(source, ledger, budget, f"ols of {', '.join(names)}", reason_of(inside))
    products = release_products([*inside[1:], inside[0]], budget, source)
    fitted, errors, floored = _solve(products, bootstrap_generator(source))
    back = _back(inside)
    estimate, errors = back @ fitted + _offset(inside), errors @ back.T
    low, high = np.quantile(errors, [(1 - level) / 2, (1 + level) / 2], axis=0)
    notes = ["parametric bootstrap, equal error variances; slopes of the columns as clipped to their bounds"]
    if floored:
        notes.append(
            f"the noise has sd {products.noise.sd:.3g}, more than the released X'X can bear: "
            "this result is mostly noise; raise ε, or use fewer predictors"
        )
    return ReleasedTable(
        "ols",
        budget,
        tuple(notes),
        reason_of(inside),
        names=("Intercept", *names[1:]),
        estimate=estimate,
        low=estimate - high,
        high=estimate - low,
        confidential=said_of(inside),
    )


def _solve(products: Products, rng: np.random.Generator) -> tuple[Floats, Floats, bool]:
    """Return coefficients on the scaled columns, draws of their error, and whether X'X had to be lifted."""
    gram, cross = products.matrix[:-1, :-1], products.matrix[:-1, -1]
    floor = products.noise.sd
    lifted = positive_part(gram, floor)
    fitted = np.asarray(np.linalg.solve(lifted, cross), dtype=np.float64)
    df = max(products.n - len(cross), 1.0)
    residual = float(np.clip((products.matrix[-1, -1] - fitted @ (2 * cross - lifted @ fitted)) / df, 1e-12, 1.0))
    noise = products.redraw_noise(DRAWS, rng=rng)
    again = positive_part(lifted + noise[:, :-1, :-1], floor)
    moved = lifted @ fitted + _normal(residual * lifted, DRAWS, rng) + noise[:, :-1, -1]
    errors = np.asarray(np.linalg.solve(again, moved[..., None])[..., 0] - fitted, dtype=np.float64)
    return fitted, errors, bool(np.linalg.eigvalsh(gram)[0] < floor)


def _back(inside: Sequence[Bounded]) -> Floats:
    """Return the matrix from coefficients on [−1, 1] to the columns' own units (the intercept is first)."""
    y, x = inside[0], inside[1:]
    slopes = np.array([y.width / column.width for column in x])
    back = np.diag([y.width / 2, *slopes])
    back[0, 1:] = -slopes * [column.middle for column in x]
    return back


def _offset(inside: Sequence[Bounded]) -> Floats:
    return np.array([inside[0].middle, *[0.0] * (len(inside) - 1)])


def _covariance(products: Floats, n: Floats) -> Floats:
    sums = products[:, 0, 1:]
    scatter = products[:, 1:, 1:] - sums[:, :, None] * sums[:, None, :] / n[:, None, None]
    return np.asarray(scatter / (n - 1)[:, None, None])


def _normal(covariance: Floats, draws: int, rng: np.random.Generator) -> Floats:
    root = np.linalg.cholesky(covariance + 1e-12 * np.eye(len(covariance)))
    return np.asarray(rng.standard_normal((draws, len(covariance))) @ root.T)


def _wishart(covariance: Floats, df: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return Wishart matrices by Bartlett's decomposition."""
    p = len(covariance)
    df = max(df, p)
    lower = np.tril(rng.standard_normal((draws, p, p)), -1)
    lower[:, range(p), range(p)] = np.sqrt(rng.chisquare(df - np.arange(p), (draws, p)))
    root = np.linalg.cholesky(covariance + 1e-12 * np.eye(p)) @ lower
    return np.asarray(root @ np.swapaxes(root, 1, 2))


def _named(given: Sequence[str] | None, default: list[str]) -> list[str]:
    if given is None:
        return default
    if len(given) != len(default):
        raise InputError(f"names: must be {len(default)}, one for each column, found {len(given)}.")
    return list(given)
