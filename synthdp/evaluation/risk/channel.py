"""Which rows of different copies belong together, and what they say about the true values.

All of it as far as second moments tell.

Let u be the replaced columns of a record less what kept columns predict, T their covariance, and ũ_1 … ũ_k the same of
k linked rows, with covariance T each and B between two of them. In the basis in which T is the identity and B diagonal,
with entries b, the mean of the rows has variance q = b + (1 − b)/k, and one coordinate of u given it is normal with

    mean  c/q · ũ,      variance  p − c²/q,

where p is the variance of u and c its covariance with one copy:

* ``per_copy``: each copy has a mask W_m = u + noise of its own, ũ_m is drawn from p(u | W_m), so with A = T(T + S)⁻¹
  Cov(u, ũ) = A T and B = A T A': c = √b, p = 1;
* ``once``: all copies share W, given which u is one more draw: c = b, p = 1;
* ``noise``: ũ_m = u + noise, no model: c = b, p = b.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal, get_args

import numpy as np
import pandas as pd

from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column
from synthdp.tagging.neighbours import encode_keys

MaskDraw = Literal["per_copy", "once", "noise"]
MASK_DRAWS: tuple[MaskDraw, ...] = get_args(MaskDraw)
# directions with less than this share of variance are linear combinations of others
SMALLEST = 1e-9
# a value is known no better than this many of its standard deviations
SMALLEST_SD = 1e-6


@dataclass(frozen=True, repr=False)
class Channel:
    """Second moments of the residuals, taken apart.

    Parameters
    ----------
    root, inverse
        u = root · e and e = inverse · u, where e has covariance I and the copies' b are diagonal.
    apart
        1 − b, the share of each e that two linked rows do not have in common.
    mask_draw
        Which of the three stories is told.
    """

    root: Floats
    inverse: Floats
    apart: Floats
    mask_draw: MaskDraw = "per_copy"

    def __repr__(self) -> str:
        return f"Channel({self.root.shape[0]} columns)"

    def _parts(self, k: int) -> tuple[Floats, Floats, Floats]:
        b = 1.0 - self.apart
        c = np.sqrt(b) if self.mask_draw == "per_copy" else b
        p = b if self.mask_draw == "noise" else np.ones_like(b)
        return p, c, b + self.apart / k

    def gain(self, k: int) -> Floats:
        """Return what the mean of k linked rows is multiplied by to give the mean of u."""
        _, c, q = self._parts(k)
        return np.asarray(self.root * (c / np.maximum(q, SMALLEST)) @ self.inverse)

    def variance(self, k: int) -> Floats:
        """Return the covariance of u given the mean of k linked rows."""
        p, c, q = self._parts(k)
        if self.mask_draw == "per_copy":
            left = self.apart / k / np.maximum(q, SMALLEST)  # 1 − b/q without losing digits
        else:
            left = p - c**2 / np.maximum(q, SMALLEST)
        return np.asarray(self.root * np.maximum(left, SMALLEST_SD**2) @ self.root.T)

    def by_column(self, k: int) -> tuple[Floats, Floats, Floats]:
        """Return, column by column, what the mean of k linked rows says of u when it is looked at alone.

        The mean is slope · u + e: variances of u, slopes and variances of e. Columns that masks of others inform carry
        less of their own truth than what copies share of them suggests, so the slope is not read off one column.
        """
        p, c, q = self._parts(k)
        squares = self.root**2
        variance = squares @ p
        slope = squares @ c / np.maximum(variance, SMALLEST)
        return variance, slope, np.maximum(squares @ q - slope**2 * variance, 0.0)


def whiten(total: Floats) -> tuple[Floats, Floats]:
    """Return root and inverse of a covariance, linear combinations of other columns left out.

    Examples
    --------
    >>> root, inverse = whiten(np.array([[4.0, 2.0], [2.0, 4.0]]))
    >>> np.allclose(root @ root.T, [[4, 2], [2, 4]]), np.allclose(inverse @ root, np.eye(2))
    (True, True)
    """
    sd = np.sqrt(np.maximum(np.diag(total), 0.0))
    sd = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(total / np.outer(sd, sd))
    large = values > SMALLEST * max(1, len(sd))
    values, vectors = values[large], vectors[:, large]
    return sd[:, None] * vectors * np.sqrt(values), (vectors / np.sqrt(values)).T / sd


def channel_of(
    total: Floats, apart: Floats, *, pairs: int, mask_draw: MaskDraw = "per_copy", errors: float = 3.0
) -> Channel:
    """Return the channel of residuals with covariance ``total``, of which linked rows do not share ``apart``.

    Parameters
    ----------
    pairs
        How many pairs of linked rows ``apart`` was estimated from.
    errors
        How many standard errors from zero the mean of b must be to be taken for something.

    Notes
    -----
    Estimated from N pairs, the symmetric matrix B in the basis of T has errors of variance 1/N on its diagonal and
    1/(2N) beside it, so its q eigenvalues b scatter by (q + 1)/(2N) about the true ones. They are drawn towards their
    mean by as much of their variance as that explains, and where the mean is within ``errors`` standard errors of zero,
    √(1/(qN)), and the largest within the reach of noise, √(2q/N), nothing is taken to be common. (√b would make much of
    little.) The shrinkage is that of Ledoit and Wolf (2004), Journal of Multivariate Analysis 88, 365-411, eq. 14, with
    the error variance known instead of estimated.
    """
    root, inverse = whiten(total)
    values, vectors = np.linalg.eigh(inverse @ apart @ inverse.T)
    b, q = 1.0 - values, len(values)
    if q == 0 or (
        b.mean() <= errors / np.sqrt(q * pairs) and b.max() <= (np.sqrt(2 * q) + errors - 1) / np.sqrt(pairs)
    ):
        b = np.zeros(q)
    else:
        noise, spread = (q + 1) / (2 * pairs), float(b.var())
        b = b.mean() + (b - b.mean()) * max(0.0, 1 - noise / spread) if spread > 0 else b
    return Channel(root @ vectors, vectors.T @ inverse, np.clip(1.0 - b, 0.0, 1.0), mask_draw)


def even_channels(total: Floats, shares: Sequence[float]) -> list[Channel]:
    """Return channels that tell every direction alike, for an intruder who cannot link rows: b takes each share."""
    root, inverse = whiten(total)
    return [Channel(root, inverse, np.full(root.shape[1], 1.0 - share)) for share in shares]


# rows that share their kept values are told apart by trying all permutations, 24 at most
LARGEST_CELL = 4
# a link is used when it is more likely right than wrong
SURE = 0.5


@dataclass(frozen=True, repr=False)
class Cells:
    """Rows by their kept values: ``label`` says which rows agree on all of them, ``size`` how many do."""

    label: Codes
    size: Codes

    def __repr__(self) -> str:
        return f"Cells({len(self.label)} rows)"

    def of_size(self, size: int) -> Codes:
        """Return the rows of cells of one size, shape (cells, size)."""
        mine = np.flatnonzero(self.size == size)
        return np.asarray(mine[np.argsort(self.label[mine], kind="stable")]).reshape(-1, size)


def cells_of(frame: pd.DataFrame, kept: Sequence[Column]) -> Cells:
    """Sort rows by their kept values; missing agrees with missing. O(n log n)."""
    exact = [column.model_copy(update={"tolerance": 0.0}) for column in kept]
    (keys,) = encode_keys([frame], exact)
    table = pd.DataFrame(np.column_stack([keys.cells, keys.numbers]))
    label = np.asarray(table.groupby(list(table.columns), sort=False).ngroup(), dtype=np.int64)
    return Cells(label, np.bincount(label)[label])


def pair_cells(first: Floats, other: Floats, channel: Channel, *, rng: np.random.Generator) -> tuple[Codes, Floats]:
    """Return for each row of cells the likeliest partner in the other copy, and how likely it is.

    Parameters
    ----------
    first, other
        Residuals of the rows of cells in two copies, shape (cells, size, columns), in an order that says nothing.

    Notes
    -----
    In the channel's basis two residuals of one record have covariance b, those of two records none, so a pair (e, f)
    speaks for itself with Σ [e f b − ½ b² (e² + f²)] / (1 − b²). All permutations within a cell are weighed; the
    probability of a pair is the sum over those that contain it. O(cells · size! · size).
    """
    b = np.clip(1.0 - channel.apart, 0.0, 1.0 - 1e-12)
    e, f = first @ channel.inverse.T, other @ channel.inverse.T
    scale = 1.0 - b**2
    own = -0.5 * (b**2 / scale * e**2).sum(axis=2)[:, :, None] - 0.5 * (b**2 / scale * f**2).sum(axis=2)[:, None, :]
    pairs = own + np.einsum("gij,gkj,j->gik", e, f, b / scale)
    size = pairs.shape[1]
    orders = np.asarray(list(permutations(range(size))), dtype=np.int64)
    weight = pairs[:, np.arange(size), orders].sum(axis=2)
    weight = np.exp(weight - np.logaddexp.reduce(weight, axis=1, keepdims=True))
    marginal = np.zeros(pairs.shape)
    for number, order in enumerate(orders):
        marginal[:, np.arange(size), order] += weight[:, [number]]
    # a hair of chance decides among equals, which the order of rows must not
    chosen = np.argmax(marginal + 1e-9 * rng.random(marginal.shape), axis=2)
    return chosen, np.take_along_axis(marginal, chosen[:, :, None], axis=2)[:, :, 0]
