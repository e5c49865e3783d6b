r"""Records dealt evenly from a model of blocks, in place of draws that are independent of each other.

Blocks are gone through from the root. A record has cells for what its block shares with the one above; records are
put in the order of these cells, in random order where they are equal, and the i-th of them gets the new columns' cells
at

    u_i = (U + iφ) mod 1,      U random, φ the golden section,

of their distribution given what it has. Each u_i is uniform, so that a record by itself follows the model; but of every
run of records, those with the same shared cells above all, each range of cells gets its share, to within a few records.
Tables of the copy are then nearer to the model's than those of a sample of it. What is dealt from was paid for, so that
dealing is post-processing.

References
----------
Kuipers, Niederreiter (1974), Uniform Distribution of Sequences, section 2.3 (multiples of an irrational number).
McKenna, Mullins, Sheldon, Miklau (2022), PVLDB 15(11) (AIM, whose program rounds expected counts for the same purpose).
"""

from collections.abc import Sequence

import numpy as np

from synthdp.synthesis.private.junction import Junction
from synthdp.synthesis.private.tree import TreeModel
from synthdp.table.microdata import Codes, Floats

GOLDEN = (np.sqrt(5) - 1) / 2


def dealt(model: Junction, beliefs: Sequence[Floats], n: int, *, rng: np.random.Generator) -> Codes:
    """Return n rows of cells that are as evenly spread as can be. Cost O(cells + n log n · blocks).

    Examples
    --------
    >>> coin = Junction.of((2,), [(0,)])
    >>> int(dealt(coin, [np.array([0.5, 0.5])], 1000, rng=np.random.default_rng(1)).sum())
    500
    """
    sizes = model.sizes
    found = np.zeros((n, len(sizes)), dtype=np.int64)
    for block, seam, belief in zip(model.blocks, model.seams, beliefs, strict=True):
        new = tuple(v for v in block if v not in seam)
        if not new:
            continue
        place = np.zeros(n, dtype=np.int64)
        for v in seam:
            place = place * sizes[v] + found[:, v]
        shape = tuple(sizes[v] for v in new)
        table = np.moveaxis(belief, [block.index(v) for v in seam], range(len(seam)))
        cells = _spread(table.reshape(-1, int(np.prod(shape))), place, rng)
        for v, cell in zip(new, np.unravel_index(cells, shape), strict=True):
            found[:, v] = cell
    return rng.permutation(found, axis=0)


def dealt_tree(model: TreeModel, n: int, *, rng: np.random.Generator) -> Codes:
    """Return n rows of cells of a tree of pairs, as evenly spread as can be."""
    found = np.zeros((n, len(model.nodes)), dtype=np.int64)
    found[:, 0] = _spread(model.nodes[0][None, :], found[:, 0], rng)
    for parent, child, table in model.downwards():
        held = np.where(table.sum(axis=1, keepdims=True) > 0, table, model.nodes[child][None, :])
        found[:, child] = _spread(held, found[:, parent], rng)
    return rng.permutation(found, axis=0)


def _spread(weights: Floats, given: Codes, rng: np.random.Generator) -> Codes:
    """Return a column for each record, of every run of records with the same row its shares of that row."""
    n = len(given)
    order = rng.permutation(n)
    order = order[np.argsort(given[order], kind="stable")]
    found = np.empty(n, dtype=np.int64)
    found[order] = at_shares(weights, given[order], (rng.random() + GOLDEN * np.arange(n)) % 1.0)
    return found


def at_shares(weights: Floats, given: Codes, shares: Floats) -> Codes:
    """Return the column at each share of the row that is given for it; none without weight."""
    totals = weights.sum(axis=1, keepdims=True)
    reached = np.cumsum(weights / np.where(totals > 0, totals, 1.0), axis=1)
    width = weights.shape[1]
    last = width - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
    # rows one after the other on one axis, so that one search serves all records
    place = np.searchsorted((reached + np.arange(len(reached))[:, None]).ravel(), given + shares, "right")
    return np.asarray(np.clip(place - given * width, 0, last[given]), dtype=np.int64)
