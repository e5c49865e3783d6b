"""DP covariances and linear regression with intervals, from one release of sums and products.

Columns are scaled from their bounds to [−1, 1]; with r = (1, z₁ … z_p) the release is the upper triangle of Σ r r'.
One record adds at most 1 to every entry. Under ``replace`` n is public, so that corner gets no noise, and the entries
cannot all move as far as each could alone. Write z and z' for the old and the new record, s = (z + z')/2 and
d = (z − z')/2, so that |s_j| ≤ 1 − t_j with t_j = |d_j|. Then z_j z_k − z'_j z'_k = 2(s_j d_k + s_k d_j), and

    ‖Δ‖₁ ≤ (2p + 4)T − 2T² − 2Σt_j²,  T = Σt_j,

which is concave and symmetric, so largest at equal t_j = (p+2)/(2(p+1)): ‖Δ‖₁ ≤ p(p+2)²/(2(p+1)), and z = (1 … 1),
z' = −(1 … 1)/(p+1) reaches it. For ℓ2, the whole matrix moves by at most √(‖r‖⁴ + ‖r'‖⁴) ≤ √2·(p+1) (Frobenius); the
square of its upper triangle is half of that, and half of the diagonal's, at most p/2: ‖Δ‖₂² ≤ (p+1)² + p/2.

References
----------
Vu, Slavković (2009), "Differential privacy for clinical trial data", ICDM workshops: perturbed sufficient statistics.
Ferrando, Wang, Sheldon (2022), "Parametric bootstrap for differentially private confidence intervals", AISTATS,
section 4.3 (linear regression): simulate data's and noise's part of the estimate at the released parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from synthdp.dp.declarations import Bounded, Budget, Limits
from synthdp.dp.noise import Noise, bootstrap_generator
from synthdp.dp.request import NoisePrice, ReleasedTable, Request, mostly_noise, priced
from synthdp.errors import InputError
from synthdp.privacy.mechanisms import Source
from synthdp.table.microdata import Floats


@dataclass(frozen=True, repr=False)
class Products:
    """Σ r r' with noise, symmetric, and the law of the noise in its upper triangle."""

    matrix: Floats
    noise: Noise
    size_is_public: bool

    def __repr__(self) -> str:
        return f"Products({len(self.matrix) - 1} columns)"

    @property
    def n(self) -> float:
        """The number of records, noisy under add_remove, at least 2."""
        return max(float(self.matrix[0, 0]), 2.0)

    def redraw_noise(self, draws: int, *, rng: np.random.Generator) -> Floats:
        """Return symmetric noise matrices of the same law: draws × (p+1) × (p+1)."""
        size = len(self.matrix)
        drawn = self.noise.draw((draws, size * (size + 1) // 2), rng=rng)
        if self.size_is_public:
            drawn[:, 0] = 0
        return symmetric(drawn)


def sensitivities(columns: int, budget: Budget) -> tuple[float, float]:
    """Return ℓ1 and ℓ2 sensitivity of the upper triangle."""
    if not budget.replacing:
        entries = (columns + 1) * (columns + 2) / 2
        return entries, float(np.sqrt(entries))
    return columns * (columns + 2) ** 2 / (2 * (columns + 1)), float(np.sqrt((columns + 1) ** 2 + columns / 2))


def release_products(columns: Sequence[Bounded], budget: Budget, source: Source) -> Products:
    """Return the products of the columns with noise. Cost: O(n p²)."""
    rows = np.column_stack([np.ones(len(columns[0])), *(column.scaled() for column in columns)])
    true = rows.T @ rows
    noise = Noise.of(budget, *sensitivities(len(columns), budget))
    upper = np.triu_indices(len(true))
    values = true[upper]
    known = 1 if budget.replacing else 0  # n comes first
    values[known:] = noise.add(values[known:], source)
    return Products(symmetric(values), noise, budget.replacing)


def symmetric(values: Floats) -> Floats:
    """Return the symmetric matrix with these numbers in its upper triangle, row by row."""
    size = round((np.sqrt(8 * values.shape[-1] + 1) - 1) / 2)
    rows, columns = np.triu_indices(size)
    found = np.zeros((*values.shape[:-1], size, size))
    found[..., rows, columns] = found[..., columns, rows] = values
    return found


def positive_part(matrix: Floats, floor: float) -> Floats:
    """Return the symmetric matrix (or stack of them) with eigenvalues under the floor moved up to it."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, floor)[..., None, :]) @ np.swapaxes(vectors, -1, -2))


DRAWS = 2000


@priced(NoisePrice)
def cov(
    columns: Sequence[Any], *, bounds: Sequence[Limits], names: Sequence[str] | None = None, **price: Unpack[NoisePrice]
) -> ReleasedTable:
    """Release the covariance matrix of two or more columns, one row for each pair.

    Notes
    -----
    Intervals by parametric bootstrap under a normal model, each on its own. The matrix need not be positive definite.
    """
    request = Request(**price)
    if len(columns) < 2:
        raise InputError(f"cov: at least 2 columns are needed, found {len(columns)}.")
    names = named(names, [f"x{k + 1}" for k in range(len(columns))])
    inside = request.columns(columns, bounds, names)
    source = request.source(f"covariance of {', '.join(names)}")
    products = release_products(inside, request.budget, source)
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
    sampled = _covariance(again, np.full(DRAWS, max(float(n), 2.0))) - centre
    again += products.redraw_noise(DRAWS, rng=rng)
    errors = _covariance(again, np.maximum(again[:, 0, 0], 2.0)) - centre
    half = np.array([column.width / 2 for column in inside])
    units = np.outer(half, half)
    upper = np.triu_indices(len(columns))
    low, high = np.quantile(errors, request.budget.tails, axis=0)
    noisy = mostly_noise(products.noise.sd / products.n, 1.0, "scaled products")
    pairs = [f"{names[j]}, {names[k]}" for j, k in zip(*upper, strict=True)]
    found = ((units * matrix)[upper] for matrix in (estimate, estimate - high, estimate - low))
    scatter_of = {name: (units * sd)[upper] for name, sd in _apart(errors, sampled).items()}
    return request.table("covariance", ["parametric bootstrap, normal model", *noisy], pairs, *found, **scatter_of)


@priced(NoisePrice)
def ols(
    y: Any,
    x: Sequence[Any],
    *,
    bounds_y: Limits,
    bounds_x: Sequence[Limits],
    names: Sequence[str] | None = None,
    **price: Unpack[NoisePrice],
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
    request = Request(**price)
    if not len(x):
        raise InputError("ols: at least 1 predictor is needed, found 0.")
    names = named(names, ["y", *(f"x{k + 1}" for k in range(len(x)))])
    inside = request.columns([y, *x], [bounds_y, *bounds_x], names)
    source = request.source(f"ols of {', '.join(names)}")
    products = release_products([*inside[1:], inside[0]], request.budget, source)
    fitted, errors, sampled, floored = _solve(products, bootstrap_generator(source))
    back = _back(inside)
    estimate, errors, sampled = back @ fitted, errors @ back.T, sampled @ back.T
    estimate[0] += inside[0].middle
    low, high = np.quantile(errors, request.budget.tails, axis=0)
    notes = ["parametric bootstrap, equal error variances; slopes of the columns as clipped to their bounds"]
    if floored:
        notes.append(
            f"the noise has sd {products.noise.sd:.3g}, more than the released X'X can bear: "
            "this result is mostly noise; raise ε, or use fewer predictors"
        )
    terms = ["Intercept", *names[1:]]
    return request.table("ols", notes, terms, estimate, estimate - high, estimate - low, **_apart(errors, sampled))


def _apart(errors: Floats, sampled: Floats) -> dict[str, Floats]:
    """Return what of the scatter of bootstrapped errors is sampling, and the rest, which is the privacy noise's."""
    both, sampling = errors.var(axis=0), sampled.var(axis=0)
    return {"noise_sd": np.sqrt(np.maximum(both - sampling, 0.0)), "sampling_sd": np.sqrt(np.minimum(sampling, both))}


def _solve(products: Products, rng: np.random.Generator) -> tuple[Floats, Floats, Floats, bool]:
    """Return coefficients on the scaled columns, draws of their error and of its part without privacy noise.

    Last: whether X'X had to be lifted.
    """
    gram, cross = products.matrix[:-1, :-1], products.matrix[:-1, -1]
    floor = products.noise.sd
    lifted = positive_part(gram, floor)
    fitted = np.asarray(np.linalg.solve(lifted, cross), dtype=np.float64)
    df = max(products.n - len(cross), 1.0)
    residual = float(np.clip((products.matrix[-1, -1] - fitted @ (2 * cross - lifted @ fitted)) / df, 1e-12, 1.0))
    noise = products.redraw_noise(DRAWS, rng=rng)
    again = positive_part(lifted + noise[:, :-1, :-1], floor)
    sampling = _normal(residual * lifted, DRAWS, rng)
    moved = lifted @ fitted + sampling + noise[:, :-1, -1]
    errors = np.asarray(np.linalg.solve(again, moved[..., None])[..., 0] - fitted, dtype=np.float64)
    sampled = np.asarray(np.linalg.solve(lifted, sampling.T).T, dtype=np.float64)
    return fitted, errors, sampled, bool(np.linalg.eigvalsh(gram)[0] < floor)


def _back(inside: Sequence[Bounded]) -> Floats:
    """Return the matrix from coefficients on [−1, 1] to the columns' own units (the intercept is first)."""
    y, x = inside[0], inside[1:]
    slopes = np.array([y.width / column.width for column in x])
    back = np.diag([y.width / 2, *slopes])
    back[0, 1:] = -slopes * [column.middle for column in x]
    return back


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


def named(given: Sequence[str] | None, default: list[str]) -> list[str]:
    """Return the names of columns as given, or by default; refused where their number is another."""
    if given is None:
        return default
    if len(given) != len(default):
        raise InputError(f"names: must be {len(default)}, one for each column, found {len(given)}.")
    return [str(name) for name in given]
