r"""Log-linear models of few parameters per pair of columns, by two halves of the columns.

Column a says of its cell x_a a vector u_a(x_a), and

    p(x) ∝ exp{ Σ_a θ_a(x_a) + Σ_{a<b} u_a(x_a)ᵀ Θ_ab u_b(x_b) },

so that the model knows of a pair of columns by the mean of u_a u_bᵀ, whatever their cells. With the columns in two
halves A and B, the cells of all columns together are a matrix, and what pairs across the halves add to its logarithm is
U_A Θ U_Bᵀ: two products of matrices, where indicators would need a row for every cell. Means of all u_a u_bᵀ are
U_Aᵀ P U_B, in the same way. Cost: one exponential per cell of all columns.

Σv is the derivative of the means along v: with h(v) what v adds to every cell's logarithm, E[f h(v)] − E[f] E[h(v)].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from synthdp.synthesis.private.junction import Columns
from synthdp.synthesis.private.posterior import Toward
from synthdp.table.microdata import Codes, Floats

SIMULATED = 20_000
"""Records that tell Σ: beside the noise it is small where it matters how well it is known."""


@dataclass(frozen=True)
class Half:
    """Some of the columns: all their cells together, and what the model knows of each.

    Parameters
    ----------
    columns, cells
        The columns, and a row for each of their cells together.
    own, places
        Indicators and products within this half, by cell, and which parameters they belong to.
    vectors, starts
        The u of all its columns side by side, by cell, and where each column's begin.
    """

    columns: Columns
    cells: Codes
    own: Floats
    places: Codes
    vectors: Floats
    starts: dict[int, int]


class Halves:
    """Means of indicators of every column and of products of pairs, as one vector.

    Parameters
    ----------
    vectors
        u of each column, a row per cell.
    pairs
        Which columns are known together, each in rising order.

    Examples
    --------
    >>> model = Halves([np.array([[-1.0], [1.0]]), np.array([[-1.0], [0.0], [1.0]])], [(0, 1)])
    >>> model.means(np.zeros(6)).round(3)
    array([0.5  , 0.5  , 0.333, 0.333, 0.333, 0.   ])
    """

    def __init__(self, vectors: Sequence[Floats], pairs: Sequence[tuple[int, int]]) -> None:
        self.vectors, self.pairs = tuple(vectors), tuple(pairs)
        sizes = [len(one) for one in vectors]
        ends = np.cumsum([0, *sizes, *(vectors[a].shape[1] * vectors[b].shape[1] for a, b in pairs)])
        spans = [slice(int(low), int(high)) for low, high in pairwise(ends)]
        self.mains, self.products = spans[: len(sizes)], dict(zip(self.pairs, spans[len(sizes) :], strict=True))
        self.parameters = int(ends[-1])
        self._one, self._two = (self._half(columns) for columns in _balanced(sizes))
        self._across, self._known = self._crossing()

    def _half(self, columns: Columns) -> Half:
        cells = np.indices([len(self.vectors[v]) for v in columns]).reshape(len(columns), -1).T
        blocks = [np.eye(len(self.vectors[v]))[cells[:, at]] for at, v in enumerate(columns)]
        spans = [self.mains[v] for v in columns]
        said = {v: self.vectors[v][cells[:, at]] for at, v in enumerate(columns)}
        for a, b in self.pairs:
            if a in said and b in said:
                blocks.append(_products(said[a], said[b]))
                spans.append(self.products[a, b])
        starts = dict(zip(columns, np.cumsum([0, *(said[v].shape[1] for v in columns)]).tolist(), strict=False))
        places = np.concatenate([np.arange(span.start, span.stop) for span in spans])
        return Half(columns, cells, np.hstack(blocks), places, np.hstack(list(said.values())), starts)

    def _crossing(self) -> tuple[Codes, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
        """Return which parameter belongs to each product across the halves, and which of them there are."""
        found = np.full((self._one.vectors.shape[1], self._two.vectors.shape[1]), -1, dtype=np.int64)
        for (a, b), span in self.products.items():
            shape = self.vectors[a].shape[1], self.vectors[b].shape[1]
            places: Codes = np.arange(span.start, span.stop).reshape(shape)
            if b in self._one.starts:
                a, b, places = b, a, places.T
            if a in self._one.starts and b in self._two.starts:
                rows, columns = (np.arange(size) for size in places.shape)
                found[np.ix_(self._one.starts[a] + rows, self._two.starts[b] + columns)] = places
        return found, found >= 0

    def heights(self, theta: Floats) -> Floats:
        """Return what θ adds to the logarithm of every cell, a row per cell of the first half."""
        one, two = self._one, self._two
        across = np.where(self._known, theta[self._across], 0.0)
        found = (one.vectors @ across) @ two.vectors.T
        found += (one.own @ theta[one.places])[:, None]
        found += (two.own @ theta[two.places])[None, :]
        return np.asarray(found)

    def chances(self, theta: Floats) -> Floats:
        """Return the distribution over all cells."""
        found = self.heights(theta)
        found -= found.max()
        np.exp(found, out=found)
        found /= found.sum()
        return found

    def _moments(self, weights: Floats) -> Floats:
        one, two, found = self._one, self._two, np.zeros(self.parameters)
        found[one.places] = one.own.T @ weights.sum(axis=1)
        found[two.places] = two.own.T @ weights.sum(axis=0)
        found[self._across[self._known]] = (one.vectors.T @ (weights @ two.vectors))[self._known]
        return found

    def means(self, theta: Floats) -> Floats:
        """Return μ."""
        return self._moments(self.chances(theta))

    def pushed(self, theta: Floats, toward: Toward) -> tuple[Floats, Floats]:
        """Return μ and Σu."""
        p = self.chances(theta)
        mu = self._moments(p)
        u = toward(mu)
        weighed = self.heights(u)
        weighed *= p
        return mu, self._moments(weighed) - mu * float(mu @ u)

    def covariance(self, theta: Floats, *, rng: np.random.Generator) -> Floats:
        """Return Σ of many records drawn from the model."""
        rows = self.features(self.draw(theta, max(SIMULATED, 20 * self.parameters), rng=rng))
        return np.asarray(np.cov(rows.T, bias=True))

    def features(self, cells: Codes) -> Floats:
        """Return what every record adds to the sums of which the means are known."""
        mains = [np.eye(len(one))[cells[:, v]] for v, one in enumerate(self.vectors)]
        both = [_products(self.vectors[a][cells[:, a]], self.vectors[b][cells[:, b]]) for a, b in self.pairs]
        return np.hstack([*mains, *both])

    def draw(self, theta: Floats, n: int, *, rng: np.random.Generator) -> Codes:
        """Return n rows of cells, independently of each other."""
        cumulated = np.cumsum(self.chances(theta).ravel())
        place = np.searchsorted(cumulated, rng.random(n) * cumulated[-1], side="right")
        first, second = np.divmod(np.minimum(place, len(cumulated) - 1), len(self._two.cells))
        found = np.zeros((n, len(self.vectors)), dtype=np.int64)
        found[:, self._one.columns] = self._one.cells[first]
        found[:, self._two.columns] = self._two.cells[second]
        return found


def _balanced(sizes: Sequence[int]) -> tuple[Columns, Columns]:
    """Return the columns in two halves with about as many cells each."""
    halves: tuple[list[int], list[int]] = ([], [])
    cells = [1.0, 1.0]
    for v in sorted(range(len(sizes)), key=lambda v: -sizes[v]):
        at = int(cells[0] > cells[1])
        halves[at].append(v)
        cells[at] *= sizes[v]
    return tuple(sorted(halves[0])), tuple(sorted(halves[1]))


def _products(one: Floats, two: Floats) -> Floats:
    """Return all products of two rows of numbers, row by row."""
    return np.asarray((one[:, :, None] * two[:, None, :]).reshape(len(one), -1))
