r"""A tree of two-way tables: which pairs are worth a table, the nearest consistent tables, and records drawn from them.

Noisy margins y_v of every column and noisy tables Y_e of the tree's edges contradict each other and have negative
counts. Fitted are the p_v and P_e that minimise

    Σ_v Σ_i w_vi (p_vi − y_vi)²  +  Σ_e w_e ‖P_e − Y_e‖²,    P_e 1 = p_a,  P_eᵀ 1 = p_b,  Σ p_v = n,  all ≥ 0.

On a tree, tables that agree on their common columns are the margins of some distribution, so this is least squares over
all distributions, without holding one; and among those with these margins the one of largest entropy is the product

    P(x) = p_root(x_root) · Π_{edges a→b} P_e(x_a, x_b)/p_a(x_a),

from which records are drawn parent first. No message passing is needed: the margins are the parameters.

Without p, P ≥ 0 the answer is closed-form (``consistent``): given the margins, a table moves by its row gaps/columns
plus its column gaps/rows, and what that costs makes each margin an average of all noisy looks at it, y_v with weight
w_v and the sums of Y_e with w_e/(cells summed over). Non-negativity comes by splitting (ADMM): that projection and
max(·, 0) in turns, some hundred times.

Notes
-----
This is what mbi (private-pgm) computes by mirror descent with belief propagation, for trees only; so MST needs no
extra, and nothing changes where mbi is installed.

References
----------
McKenna, Sheldon, Miklau (2019), "Graphical-model based estimation and inference for differential privacy", ICML,
section 3 (the objective; the maximum-entropy distribution). Wainwright, Jordan (2008), Foundations and Trends in
Machine Learning 1(1–2), section 4.1 (on a tree local consistency is enough; the product form). Boyd,
Parikh, Chu, Peleato, Eckstein (2011), Foundations and Trends in Machine Learning 3(1), section 5 (ADMM).

The worth of a pair is how far its table is from independence as the noisy margins have it, in records,

    s_ab = ‖M_ab − E‖₁ − Σ_ij √(2(E_ij + σ²)/π),    E = p_a p_bᵀ/n.

The sum is about what ‖·‖₁ would be without any association, from sampling (variance E_ij) and from the noise σ that the
table would be bought with. The paper has the first term only (``plain``), which prefers pairs with many cells: of
Adult's pairs it takes age–hours and age–education (8,415 and 1,360 cells) before education–income. Edges are added one
by one, as Kruskal does for a maximum spanning tree: each round draws one of the pairs that join two parts of the
forest, with probability ∝ exp(ε s/(2Δ)).

The p, n and σ are fixed when pairs are chosen (released before, or public), so s moves no further than M_ab in ℓ1:
Δ = 2 under ``replace`` (one cell loses a record, one gains it), Δ = 1 under ``add_remove``.

References
----------
McKenna, Miklau, Sheldon (2021), "Winning the NIST contest: a scalable and general approach to differentially private
synthetic data", Journal of Privacy and Confidentiality 11(3) (there for ``add_remove``, so Δ = 1).
McKenna, Mullins, Sheldon, Miklau (2022), "AIM: an adaptive and iterative mechanism for differentially private synthetic
data", PVLDB 15(11), has a penalty of √(2/π) σ per cell for the noise.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from synthdp.privacy.guarantees import Adjacency
from synthdp.privacy.mechanisms import Exponential, Sensitivity, Source, sensitivity
from synthdp.table.microdata import Codes, Floats

Edge = tuple[int, int]
MOST_TURNS = 5000
PRECISION = 1e-8
RELAXED = 1.6


@dataclass(frozen=True)
class Margins:
    """One margin per column and one table per edge; a table's rows are the cells of its edge's first column."""

    nodes: tuple[Floats, ...]
    tables: tuple[Floats, ...]

    def flat(self) -> Floats:
        """Return all numbers as one vector."""
        return np.concatenate([*self.nodes, *(table.ravel() for table in self.tables)])

    def like(self, flat: Floats) -> "Margins":
        """Return a vector in the shape of these margins."""
        parts = (*self.nodes, *self.tables)
        pieces = np.split(flat, np.cumsum([part.size for part in parts])[:-1])
        shaped = [piece.reshape(part.shape) for piece, part in zip(pieces, parts, strict=True)]
        return Margins(tuple(shaped[: len(self.nodes)]), tuple(shaped[len(self.nodes) :]))


@dataclass(frozen=True)
class Looks:
    """Noisy margins, and how much each counts: the inverse variance of its noise, one number per table."""

    edges: tuple[Edge, ...]
    noisy: Margins
    node_weights: tuple[Floats, ...]
    table_weights: tuple[float, ...]
    total: float


def consistent(looks: Looks, given: Margins) -> Margins:
    """Return the consistent margins nearest to ``given`` in the weighted norm; some may be negative. O(cells)."""
    weight = [w.copy() for w in looks.node_weights]
    pulled = [w * p for w, p in zip(looks.node_weights, given.nodes, strict=True)]
    sums = [(table.sum(axis=1), table.sum(axis=0)) for table in given.tables]
    for (a, b), look, w in zip(looks.edges, sums, looks.table_weights, strict=True):
        for own, other, side in ((a, b, 0), (b, a, 1)):
            here = w / len(given.nodes[other])
            weight[own] += here
            pulled[own] += here * look[side]
    nodes = []
    for spread, mass in zip([1 / w for w in weight], pulled, strict=True):
        mean = mass * spread
        nodes.append(mean + (looks.total - mean.sum()) * spread / spread.sum())
    tables = []
    for (a, b), look, table in zip(looks.edges, sums, given.tables, strict=True):
        rows, columns = table.shape
        down, across = nodes[a] - look[0], nodes[b] - look[1]
        tables.append(table + down[:, None] / columns + (across - across.sum() / columns)[None, :] / rows)
    return Margins(tuple(nodes), tuple(tables))


def nearest(looks: Looks, *, most_turns: int = MOST_TURNS, precision: float = PRECISION) -> Margins:
    """Return the non-negative consistent margins nearest to the noisy ones. Cost O(turns · cells of the tree).

    Stops when both residuals are below ``precision`` times the total. What is left of them costs no privacy: whatever
    is returned was computed from noisy numbers only.
    """
    aim = looks.noisy.flat()
    z = np.maximum(consistent(looks, looks.noisy).flat(), 0.0)
    u = np.zeros_like(z)
    limit = precision * looks.total
    for _ in range(most_turns):
        x = consistent(looks, looks.noisy.like((aim + z - u) / 2)).flat()
        eased = RELAXED * x + (1 - RELAXED) * z
        before, z = z, np.maximum(eased + u, 0.0)
        u += eased - z
        if max(np.abs(x - z).max(), np.abs(z - before).max()) < limit:
            break
    return looks.noisy.like(z)


@dataclass(frozen=True)
class TreeModel:
    """The distribution with given margins on a tree: parents first, then each child given its parent.

    Parameters
    ----------
    nodes
        The margin of every column; they need not have the same total.
    edges
        The tree, in any order; empty for a single column.
    tables
        A non-negative table for each edge.

    Examples
    --------
    >>> same = TreeModel((np.ones(2), np.ones(2)), ((0, 1),), (np.eye(2),))
    >>> drawn = same.draw(100, rng=np.random.default_rng(1))
    >>> bool((drawn[:, 0] == drawn[:, 1]).all())
    True
    """

    nodes: tuple[Floats, ...]
    edges: tuple[Edge, ...]
    tables: tuple[Floats, ...]

    def draw(self, n: int, *, rng: np.random.Generator) -> Codes:
        """Return n rows of cells, independently of each other. Cost O(n · columns · log cells)."""
        found = np.zeros((n, len(self.nodes)), dtype=np.int64)
        found[:, 0] = picked(self.nodes[0][None, :], np.zeros(n, dtype=np.int64), rng)
        for parent, child, table in self.downwards():
            # a parent's cell without mass in this table can be drawn only by what the fit left unfinished
            held = np.where(table.sum(axis=1, keepdims=True) > 0, table, self.nodes[child][None, :])
            found[:, child] = picked(held, found[:, parent], rng)
        return found

    def downwards(self) -> list[tuple[int, int, Floats]]:
        """Return the edges from the first column on, each with its table turned so that rows are the parent's."""
        waiting = list(zip(self.edges, self.tables, strict=True))
        reached, ordered = {0}, []
        while waiting:
            at = next(i for i, ((a, b), _) in enumerate(waiting) if (a in reached) != (b in reached))
            (a, b), table = waiting.pop(at)
            ordered.append((a, b, table) if a in reached else (b, a, table.T))
            reached |= {a, b}
        return ordered


def fitted(looks: Looks) -> TreeModel:
    """Return the model of the nearest margins; a column whose margin is all zero cannot occur, as totals are n."""
    found = nearest(looks)
    return TreeModel(found.nodes, looks.edges, found.tables)


def picked(weights: Floats, given: Codes, rng: np.random.Generator) -> Codes:
    """Return one column per record, drawn in proportion to the row of ``weights`` that is given for it."""
    totals = weights.sum(axis=1, keepdims=True)
    shares = np.cumsum(weights / np.where(totals > 0, totals, 1.0), axis=1)
    last = weights.shape[1] - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
    # rows one after the other on one axis, so that one search serves all records
    place = np.searchsorted((shares + np.arange(len(shares))[:, None]).ravel(), given + rng.random(len(given)), "right")
    return np.asarray(np.clip(place - given * weights.shape[1], 0, last[given]), dtype=np.int64)


def score_sensitivity(adjacency: Adjacency) -> Sensitivity:
    """Return how far one record moves any pair's score: 2 under ``replace``, 1 under ``add_remove``."""
    return Sensitivity(sensitivity.table(adjacency).value, "linf", adjacency)


def scores(cells: Codes, margins: Sequence[Floats], *, sd: float | None = None) -> dict[Edge, float]:
    """Return the score of every pair of columns. Cost O(k²(n + cells of a pair)).

    Parameters
    ----------
    cells
        One row per record.
    margins
        Non-negative noisy margins, all with the same total.
    sd
        Of the noise that tables will be bought with; None for the paper's score.
    """
    total = margins[0].sum()
    found = {}
    for a, b in combinations(range(len(margins)), 2):
        counts = pair_table(cells, (a, b), (len(margins[a]), len(margins[b])))
        expected = np.outer(margins[a], margins[b]) / total
        by_itself = 0.0 if sd is None else float(np.sqrt(2 / np.pi * (expected + sd**2)).sum())
        found[a, b] = float(np.abs(counts - expected).sum()) - by_itself
    return found


def pair_table(cells: Codes, edge: Edge, shape: tuple[int, int]) -> Codes:
    """Return the counts of two columns' cells together. O(n + cells)."""
    a, b = edge
    flat = np.bincount(cells[:, a] * shape[1] + cells[:, b], minlength=shape[0] * shape[1])
    return np.asarray(flat.reshape(shape), dtype=np.int64)


def spanning_tree(
    worth: Mapping[Edge, float], columns: int, choice: Exponential | None, source: Source
) -> tuple[Edge, ...]:
    """Return the edges of a spanning tree, chosen one by one; without a ``choice`` there must be nothing to choose.

    Cost O(columns³) for finding the pairs that may still be joined.
    """
    part = list(range(columns))
    tree: list[Edge] = []
    while len(tree) < columns - 1:
        open_pairs = [(a, b) for a, b in worth if part[a] != part[b]]
        at = 0 if choice is None else choice.release(np.array([worth[pair] for pair in open_pairs]), source=source)
        a, b = open_pairs[at]
        tree.append((a, b))
        part = [part[a] if belongs == part[b] else belongs for belongs in part]
    return tuple(tree)
