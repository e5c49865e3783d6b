r"""What W says of the moments of X, without any model of how X is distributed.

All levels together make K cells c. The moments are

    π_c = P(c),   s_c = E[1{c} x],   G = E[x xᵀ],

and each record of W has an unbiased estimate of them: with R⁻¹ the inverse of the answers' law, e = R⁻¹[w, ·] has mean
1{c}; e ⊗ W has mean 1{c} x, since the two noises are independent; W Wᵀ − σ² I has mean x xᵀ. The mean of these over
records is the estimate, and their covariance over n that of its error: sampling, exchanging and noise in one.
"""

from dataclasses import dataclass

import numpy as np

from synthdp.synthesis.private.masked.channel import Channel, Masked
from synthdp.table.microdata import Codes, Floats

ROWS = 20_000
"""So many records are held expanded at a time."""


@dataclass(frozen=True)
class Shape:
    """How many cells and numbers there are, and where each moment stands in a vector.

    The vector holds π of all cells but the first, s cell by cell, and the lower triangle of G.

    Examples
    --------
    >>> Shape(2, 3).size
    13
    """

    cells: int
    numbers: int

    @property
    def size(self) -> int:
        """How many moments there are."""
        return self.cells - 1 + self.cells * self.numbers + self.numbers * (self.numbers + 1) // 2

    def split(self, vector: Floats) -> tuple[Floats, Floats, Floats]:
        """Return π (K), s (K × p) and G (p × p); of several vectors at once, the last axis is the vector's."""
        k, p = self.cells, self.numbers
        rest = vector[..., : k - 1]
        shares = np.concatenate([1 - rest.sum(axis=-1, keepdims=True), rest], axis=-1)
        sums = vector[..., k - 1 : k - 1 + k * p].reshape(*vector.shape[:-1], k, p)
        squares = np.zeros((*vector.shape[:-1], p, p))
        rows, columns = np.tril_indices(p)
        squares[..., rows, columns] = vector[..., k - 1 + k * p :]
        squares[..., columns, rows] = vector[..., k - 1 + k * p :]
        return shares, sums, squares

    def join(self, shares: Floats, sums: Floats, squares: Floats) -> Floats:
        """Return the vector of moments."""
        return np.concatenate([shares[1:], sums.ravel(), squares[np.tril_indices(self.numbers)]])


@dataclass(frozen=True, repr=False)
class Estimated:
    """The estimate of all moments, and the covariance of its error."""

    shape: Shape
    value: Floats
    covariance: Floats


def estimated(masked: Masked, channel: Channel) -> Estimated:
    """Return what W says of the moments. Cost O(n d²) for d moments."""
    inverses: list[Floats] = [np.asarray(np.linalg.inv(matrix), dtype=np.float64) for matrix in channel.matrices()]
    shape = Shape(int(np.prod([len(inverse) for inverse in inverses], dtype=np.int64)), masked.numbers.shape[1])
    n = len(masked)
    total, squares = np.zeros(shape.size), np.zeros((shape.size, shape.size))
    for first in range(0, n, ROWS):
        rows = slice(first, first + ROWS)
        terms = _terms(masked.answers[rows], masked.numbers[rows], inverses, channel.sd)
        total += terms.sum(axis=0)
        squares += terms.T @ terms
    mean = total / n
    return Estimated(shape, mean, (squares / n - np.outer(mean, mean)) / max(n - 1, 1))


def _terms(answers: Codes, numbers: Floats, inverses: list[Floats], sd: float) -> Floats:
    n, p = numbers.shape
    cells = np.ones((n, 1))
    for j, inverse in enumerate(inverses):
        cells = (cells[:, :, None] * inverse[answers[:, j]][:, None, :]).reshape(n, -1)
    products = (cells[:, :, None] * numbers[:, None, :]).reshape(n, -1)
    rows, columns = np.tril_indices(p)
    crossed = numbers[:, rows] * numbers[:, columns] - sd**2 * (rows == columns)
    return np.column_stack([cells[:, 1:], products, crossed])
