r"""Log-linear models of tables that overlap: exact margins and records, by a junction tree.

    p(x) ∝ exp Σ_t θ_t(x_t),     t the tables of the model, x_t the cells of a record in its columns.

The columns of a table are neighbours in a graph. It is made chordal by eliminating columns one by one, the one with the
smallest block first; the blocks of columns that are left form a tree in which everything passes between neighbours
through the columns they share. What it costs is the number of cells of all blocks together, known before the data are
seen: all pairs of k columns hang together in one block of all cells, a tree of pairs in blocks of two columns.

Weights are held as numbers, not logarithms: sums and products are analytic, so that a complex step h,

    μ(θ + ih·u) = μ(θ) + ih·Σ(θ)u + O(h²),

gives the margins μ and the covariance Σ of the cells times a vector in one pass, to the last digit.

References
----------
Koller, Friedman (2009), Probabilistic Graphical Models, chapters 9 and 10. Squire, Trapp (1998), SIAM Review 40(1) (the
complex step).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from string import ascii_letters
from typing import Any

import numpy as np
import numpy.typing as npt

from synthdp.synthesis.private.tree import picked
from synthdp.table.microdata import Codes, Floats

Columns = tuple[int, ...]
Weights = npt.NDArray[Any]
"""Real, or complex with a tiny imaginary part."""


def blocks_of(sizes: Sequence[int], tables: Iterable[Columns]) -> tuple[Columns, ...]:
    """Return the blocks of columns of a chordal graph in which every table's columns are neighbours. Cost O(k⁴)."""
    near: dict[int, set[int]] = {v: set() for v in range(len(sizes))}
    for table in tables:
        for v in table:
            near[v] |= set(table) - {v}
    found: list[set[int]] = []
    while near:

        def cells(v: int) -> tuple[float, int]:
            return float(np.prod([float(sizes[u]) for u in (v, *near[v])])), v

        v = min(near, key=cells)
        block = near.pop(v)
        for u in block:
            near[u] = (near[u] | block) - {u, v}
        if not any(block | {v} <= held for held in found):
            found.append(block | {v})
    return tuple(tuple(sorted(block)) for block in found)


def cells_of(sizes: Sequence[int], blocks: Iterable[Columns]) -> int:
    """Return how many cells blocks hold together, exactly.

    Examples
    --------
    >>> cells_of((2, 3, 4), blocks_of((2, 3, 4), [(0, 1), (1, 2)]))
    18
    """
    total = 0
    for block in blocks:
        cells = 1
        for v in block:
            cells *= int(sizes[v])
        total += cells
    return total


@dataclass(frozen=True)
class Junction:
    """The tree of blocks of a set of tables: the first block is its root, every other hangs on an earlier one.

    Parameters
    ----------
    sizes
        Cells of every column.
    tables
        The columns of each table, in rising order.
    blocks, parents
        The blocks, and the place of the block each hangs on (−1 for the root).

    Examples
    --------
    >>> model = Junction.of((2, 3, 4), [(0, 1), (1, 2)])
    >>> beliefs = model.beliefs([np.zeros((2, 3)), np.zeros((3, 4))])
    >>> model.margin(beliefs, (0, 2)).round(4)[0]
    array([0.125, 0.125, 0.125, 0.125])
    """

    sizes: tuple[int, ...]
    tables: tuple[Columns, ...]
    blocks: tuple[Columns, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], tables: Sequence[Columns]) -> "Junction":
        """Return the tree; columns in no table stand alone."""
        blocks = blocks_of(sizes, tables)
        left, order, parents = list(range(1, len(blocks))), [0], [-1]
        while left:
            # Prim: the block that shares most with one that is there; blocks may share nothing
            shared = [(len(set(blocks[i]) & set(blocks[j])), -j, -p) for j in left for p, i in enumerate(order)]
            _, j, p = max(shared)
            left.remove(-j)
            order.append(-j)
            parents.append(-p)
        return cls(tuple(sizes), tuple(tables), tuple(blocks[i] for i in order), tuple(parents))

    @cached_property
    def homes(self) -> tuple[int, ...]:
        """The smallest block that holds each table."""
        return tuple(self._home(table) for table in self.tables)

    @cached_property
    def seams(self) -> tuple[Columns, ...]:
        """What each block shares with the one it hangs on."""
        return tuple(
            () if parent < 0 else tuple(sorted(set(block) & set(self.blocks[parent])))
            for block, parent in zip(self.blocks, self.parents, strict=True)
        )

    def beliefs(self, theta: Sequence[Weights]) -> list[Weights]:
        """Return the distribution of every block, given θ by table. Cost O(cells)."""
        found = [np.zeros(self._shape(block)) for block in self.blocks]
        for table, home, values in zip(self.tables, self.homes, theta, strict=True):
            found[home] = found[home] + self._spread(values, table, self.blocks[home])
        found = [np.exp(one - one.real.max()) for one in found]
        messages: dict[int, Weights] = {}
        for i in range(len(self.blocks) - 1, 0, -1):
            parent = self.parents[i]
            message = _summed(found[i], self.blocks[i], self.seams[i])
            messages[i] = message / message.sum()
            found[parent] = found[parent] * self._spread(messages[i], self.seams[i], self.blocks[parent])
        found[0] = found[0] / found[0].sum()
        for i in range(1, len(self.blocks)):
            above = _summed(found[self.parents[i]], self.blocks[self.parents[i]], self.seams[i])
            own = _summed(found[i], self.blocks[i], self.seams[i])
            found[i] = found[i] * self._spread(_ratio(above, own), self.seams[i], self.blocks[i])
        return found

    def margins(self, beliefs: Sequence[Weights]) -> list[Weights]:
        """Return the distribution in every table's columns."""
        return [
            _summed(beliefs[home], self.blocks[home], table)
            for table, home in zip(self.tables, self.homes, strict=True)
        ]

    def margin(self, beliefs: Sequence[Floats], columns: Columns) -> Floats:
        """Return the distribution in any columns, in rising order, within a block or across several."""
        if any(set(columns) <= set(block) for block in self.blocks):
            home = self._home(columns)
            return np.asarray(_summed(beliefs[home], self.blocks[home], columns))
        found, held = self._collected(beliefs, frozenset(columns), 0, -1)
        return np.asarray(np.transpose(found, [held.index(v) for v in columns]))

    def _collected(self, beliefs: Sequence[Floats], wanted: frozenset[int], i: int, to: int) -> tuple[Floats, Columns]:
        """Return the distribution of what is wanted from block i and those below, given its seam; the root alone."""
        block, factor = self.blocks[i], beliefs[i]
        if to >= 0:
            above = _summed(factor, block, self.seams[i])
            factor = factor * self._spread(_ratio(np.ones_like(above), above), self.seams[i], block)
        held: Columns = block
        for j in range(i + 1, len(self.blocks)):
            if self.parents[j] != i or not (self._below[j] - set(block)) & wanted:
                continue
            message, its = self._collected(beliefs, wanted, j, i)
            held_now = tuple(dict.fromkeys((*held, *its)))
            factor = _einsum((factor, held), (message, its), held_now)
            held = held_now
        kept = tuple(v for v in held if v in wanted or (to >= 0 and v in self.seams[i]))
        return np.asarray(factor.sum(axis=tuple(place for place, v in enumerate(held) if v not in kept))), kept

    @cached_property
    def _below(self) -> tuple[frozenset[int], ...]:
        """All columns of each block and of those that hang on it."""
        found = [set(block) for block in self.blocks]
        for i in range(len(self.blocks) - 1, 0, -1):
            found[self.parents[i]] |= found[i]
        return tuple(map(frozenset, found))

    def draw(self, beliefs: Sequence[Floats], n: int, *, rng: np.random.Generator) -> Codes:
        """Return n rows of cells, independently of each other. Cost O(cells + n · columns)."""
        drawn = np.zeros((n, len(self.sizes)), dtype=np.int64)
        for block, seam, belief in zip(self.blocks, self.seams, beliefs, strict=True):
            new = tuple(v for v in block if v not in seam)
            if not new:
                continue
            table = np.moveaxis(belief, [block.index(v) for v in seam], range(len(seam)))
            rows = np.zeros(n, dtype=np.int64)
            for v in seam:
                rows = rows * self.sizes[v] + drawn[:, v]
            cells = picked(table.reshape(int(np.prod(self._shape(seam), dtype=np.int64)), -1), rows, rng)
            for v, place in zip(new, np.unravel_index(cells, self._shape(new)), strict=True):
                drawn[:, v] = place
        return drawn

    def _home(self, columns: Columns) -> int:
        holding = [i for i, block in enumerate(self.blocks) if set(columns) <= set(block)]
        return min(holding, key=lambda i: cells_of(self.sizes, [self.blocks[i]]))

    def _shape(self, columns: Columns) -> tuple[int, ...]:
        return tuple(self.sizes[v] for v in columns)

    def _spread(self, values: Weights, columns: Columns, block: Columns) -> Weights:
        """Return a table of some of a block's columns in a shape that multiplies with the block's."""
        return values.reshape([self.sizes[v] if v in columns else 1 for v in block])


def _summed(weights: Weights, block: Columns, kept: Columns) -> Weights:
    return np.asarray(weights.sum(axis=tuple(place for place, v in enumerate(block) if v not in kept)))


def _einsum(one: tuple[Floats, Columns], two: tuple[Floats, Columns], to: Columns) -> Floats:
    """Return the product of two tables; numpy's letters are few, so columns are numbered anew."""
    letter = dict(zip(dict.fromkeys((*one[1], *two[1])), ascii_letters, strict=False))
    here, there, kept = ("".join(letter[v] for v in names) for names in (one[1], two[1], to))
    return np.asarray(np.einsum(f"{here},{there}->{kept}", one[0], two[0], optimize=True))


def _ratio(above: Weights, below: Weights) -> Weights:
    """Return above/below, 0 where nothing can be."""
    return np.divide(above, below, out=np.zeros_like(above), where=below.real > 0)


def pairs(count: int, order: int = 2) -> tuple[Columns, ...]:
    """Return all sets of so many of the columns."""
    return tuple(combinations(range(count), min(order, count)))


def table_of(cells: Codes, columns: Columns, sizes: Sequence[int]) -> Codes:
    """Return the counts of some columns' cells together. O(n + cells)."""
    shape = tuple(sizes[v] for v in columns)
    flat = np.zeros(len(cells), dtype=np.int64)
    for v in columns:
        flat = flat * sizes[v] + cells[:, v]
    return np.asarray(np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape), dtype=np.int64)
