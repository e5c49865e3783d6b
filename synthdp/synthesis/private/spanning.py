r"""Which pairs of columns are worth a table: a spanning tree grown with the exponential mechanism.

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
from itertools import combinations

import numpy as np

from synthdp.microdata import Codes, Floats
from synthdp.privacy.mechanisms import Exponential, Sensitivity, Source, sensitivity
from synthdp.privacy.parameters import Adjacency
from synthdp.synthesis.private.tree_model import Edge


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
