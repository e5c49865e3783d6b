"""The sums and products of several columns, released once: what a covariance and a regression are made from.

Columns are scaled from their bounds to [−1, 1]; with r = (1, z₁ … z_p) the release is the upper triangle of Σ r r'.
One record adds at most 1 to every entry. Under ``replace`` n is public, so that corner gets no noise, and the entries
cannot all move as far as each could alone. Write z and z' for the old and the new record, s = (z + z')/2 and
d = (z − z')/2, so that |s_j| ≤ 1 − t_j with t_j = |d_j|. Then z_j z_k − z'_j z'_k = 2(s_j d_k + s_k d_j), and

    ‖Δ‖₁ ≤ (2p + 4)T − 2T² − 2Σt_j²,  T = Σt_j,

which is concave and symmetric, so largest at equal t_j = (p+2)/(2(p+1)): ‖Δ‖₁ ≤ p(p+2)²/(2(p+1)), and z = (1 … 1),
z' = −(1 … 1)/(p+1) reaches it. For ℓ2, the whole matrix moves by at most √(‖r‖⁴ + ‖r'‖⁴) ≤ √2·(p+1) (Frobenius); the
square of its upper triangle is half of that, and half of the diagonal's, at most p/2: ‖Δ‖₂² ≤ (p+1)² + p/2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthdp.dp.bounding import Bounded
from synthdp.dp.budgets import Budget
from synthdp.dp.noise import Noise
from synthdp.microdata import Floats
from synthdp.privacy.mechanisms import Source


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
        rows, columns = np.triu_indices(size)
        drawn = self.noise.draw((draws, len(rows)), rng=rng)
        if self.size_is_public:
            drawn[:, 0] = 0
        found = np.zeros((draws, size, size))
        found[:, rows, columns] = drawn
        found[:, columns, rows] = drawn
        return found


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
    l1, l2 = sensitivities(len(columns), budget)
    noise = Noise.for_budget(budget, l1=l1, l2=l2)
    upper = np.triu_indices(len(true))
    values = true[upper]
    if budget.replacing:
        values = np.concatenate([values[:1], noise.add(values[1:], source)])
    else:
        values = noise.add(values, source)
    matrix = np.zeros_like(true)
    matrix[upper] = values
    matrix = matrix + np.triu(matrix, 1).T
    return Products(matrix, noise, budget.replacing)


def positive_part(matrix: Floats, floor: float) -> Floats:
    """Return the symmetric matrix (or stack of them) with eigenvalues under the floor moved up to it."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, floor)[..., None, :]) @ np.swapaxes(vectors, -1, -2))
