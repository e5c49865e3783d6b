"""A classification tree that tells synthetic from original records, grown and pruned as rpart does it, compiled.

A node costs O(its records) for every column, and a pass over the column's bins (or a sort of those that occur, where
there are few records). All in one file: numba's cache does not notice a change in a function of another file.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from synthdp.arrays import Booleans, compiled, part
from synthdp.evaluation.utility.propensity.stacking import Bins, Stack, widths
from synthdp.table.microdata import Codes, Floats

Binned = npt.NDArray[np.uint16]
Labels = npt.NDArray[np.uint8]

# a record counts one in the low half of a word and, if it is synthetic, one in the high half
HALF = 32
LOW = (1 << HALF) - 1
# a bin is visited in order unless there are this many times more bins than records
SPARSE = 4


class Nodes(NamedTuple):
    """The nodes of a tree, the root first; a right child follows its left one.

    Parameters
    ----------
    start, end
        Where the node's records stand.
    synthetic
        How many of them are synthetic.
    left
        Its left child, -1 without children.
    """

    start: Codes
    end: Codes
    synthetic: Codes
    left: Codes


@part
def _before(a: int, b: int, tally: Codes, ordered: bool) -> bool:
    """Return whether bin a comes before bin b: by number, or by its share of synthetic records."""
    if ordered:
        return a < b
    return bool((tally[a] >> HALF) * (tally[b] & LOW) < (tally[b] >> HALF) * (tally[a] & LOW))


@part
def _sort(order: Codes, k: int, tally: Codes, ordered: bool) -> None:
    """Sort the first k bins (Shell's sort: no memory of its own, quick to compile)."""
    gap = 1
    while gap < k // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for position in range(gap, k):
            b, j = order[position], position
            while j >= gap and _before(b, order[j - gap], tally, ordered):
                order[j] = order[j - gap]
                j -= gap
            order[j] = b
        gap //= 3


@part
def _tally(codes: Binned, label: Labels, rows: Codes, width: int, ordered: bool, tally: Codes, order: Codes) -> int:
    """Count records by bin, list the bins that occur in the order they are cut, and return how many there are.

    ``tally`` is zero before; the caller clears the bins that are listed.
    """
    # a literal would be a type of its own, for which all that k is passed to is compiled once more
    k = int(0.0)
    if width > SPARSE * len(rows):
        for i in range(len(rows)):
            b = codes[rows[i]]
            if tally[b] == 0:
                order[k] = b
                k += 1
            tally[b] += 1 + (np.int64(label[rows[i]]) << HALF)
        if ordered:
            _sort(order, k, tally, ordered)
    else:
        for i in range(len(rows)):
            tally[codes[rows[i]]] += 1 + (np.int64(label[rows[i]]) << HALF)
        for b in range(width):
            if tally[b] > 0:
                order[k] = b
                k += 1
    if not ordered:
        _sort(order, k, tally, ordered)
    return k


@part
def _cut(tally: Codes, order: Codes, k: int, n: int, s: int, min_leaf: int) -> tuple[float, int]:
    """Return the largest fall of the Gini index over the cuts of sorted bins, and how many bins are left of it.

    With n records of which s are synthetic, n·Gini falls by 2(s_l n − s n_l)²/(n n_l n_r); 2/n is left out.
    """
    best, cut, left, synthetic = 0.0, 0, 0, 0
    for position in range(k - 1):
        b = order[position]
        left += tally[b] & LOW
        synthetic += tally[b] >> HALF
        if n - left < min_leaf:
            break
        if left < min_leaf:
            continue
        gap = float(synthetic * n - s * left)
        gain = gap * gap / (float(left) * float(n - left))
        if gain > best:
            best, cut = gain, position + 1
    return best, cut


def grow(
    codes: Binned, ordered: Booleans, widths: Codes, label: Labels, limits: Codes, hopeless: float
) -> tuple[Codes, Nodes]:
    """Grow a tree; return the records node by node, and the nodes.

    Parameters
    ----------
    codes
        The bin of each record, a row per column.
    widths
        How many bins each column has.
    limits
        Fewest records of a leaf, fewest of a node that is split, greatest depth.
    hopeless
        A node with no more records than this of either class cannot survive pruning and is not split.
    """
    n = codes.shape[1]
    most, widest = 2 * (n // int(limits[0])) + 3, int(widths.max(initial=1))
    start, end, synthetic, left, depth = np.zeros((5, most), dtype=np.int64)
    left -= 1
    rows = np.arange(n, dtype=np.int64)
    tally, order, best = np.zeros((3, widest), dtype=np.int64)
    goes_left, spare = np.zeros(widest, dtype=np.bool_), np.empty(n, dtype=np.int64)
    made = _grow(
        *(codes, ordered, widths, label, limits, hopeless, spare, tally, order, best, goes_left, depth),
        *(rows, start, end, synthetic, left),
    )
    return rows, Nodes(*(one[:made].copy() for one in (start, end, synthetic, left)))


@compiled
def _grow(
    codes: Binned,
    ordered: Booleans,
    widths: Codes,
    label: Labels,
    limits: Codes,
    hopeless: float,
    spare: Codes,
    tally: Codes,
    order: Codes,
    best: Codes,
    goes_left: Booleans,
    depth: Codes,
    rows: Codes,
    start: Codes,
    end: Codes,
    synthetic: Codes,
    left: Codes,
) -> int:
    """Sort the records node by node, write the nodes and return how many there are; the rest is overwritten."""
    n, min_leaf = codes.shape[1], limits[0]
    end[0] = n
    for i in range(n):
        synthetic[0] += label[i]
    made, node = 1, 0
    while node < made:
        here, first, last, s = node, start[node], end[node], synthetic[node]
        size = last - first
        node += 1
        if size < limits[1] or depth[here] >= limits[2] or min(s, size - s) <= hopeless:
            continue
        gain, feature, cut, bins = 0.0, -1, 0, 0
        for f in range(codes.shape[0]):
            if widths[f] < 2:
                continue
            k = _tally(codes[f], label, rows[first:last], widths[f], ordered[f], tally, order)
            found, at = _cut(tally, order, k, size, s, min_leaf)
            for position in range(k):
                tally[order[position]] = 0
            if found > gain:
                gain, feature, cut, bins = found, f, at, k
                for position in range(k):
                    best[position] = order[position]
        if feature < 0:
            continue
        for position in range(bins):
            goes_left[best[position]] = position < cut
        middle, kept, inside = first, 0, 0
        for i in range(first, last):
            row = rows[i]
            if goes_left[codes[feature, row]]:
                rows[middle] = row
                inside += label[row]
                middle += 1
            else:
                spare[kept] = row
                kept += 1
        for i in range(kept):
            rows[middle + i] = spare[i]
        left[here] = made
        start[made], end[made], synthetic[made] = first, middle, inside
        start[made + 1], end[made + 1], synthetic[made + 1] = middle, last, s - inside
        depth[made] = depth[made + 1] = depth[here] + 1
        made += 2
    return made


def prune(nodes: Nodes, price: float) -> Booleans:
    """Return which nodes are split when each split must save ``price`` misclassified records on average.

    Weakest-link pruning, with rpart's two shortcuts: a child is not split when what is left to gain in it, after what
    its parent's split must gain, is no more than the price; and a right child is judged after its left sibling. The
    second can stop a split that pruning the whole tree would keep, so it is part of what rpart's trees are.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, section 3.3; the shortcuts are
    described in Therneau and Atkinson (1997), An introduction to recursive partitioning using the rpart routines.
    """
    made = len(nodes.start)
    own = np.minimum(nodes.synthetic, nodes.end - nodes.start - nodes.synthetic).astype(np.float64)
    allowed, most, risk, worth = np.full(made, np.inf), np.zeros(made), np.zeros(made), np.full(made, price)
    splits, stage, stack = (np.zeros(made + 1, dtype=np.int64) for _ in range(3))
    split = np.zeros(made, dtype=np.bool_)
    _prune(nodes.left, own, price, allowed, most, risk, worth, splits, stage, stack, split)
    return split


@compiled
def _prune(
    left: Codes,
    own: Floats,
    price: float,
    allowed: Floats,
    most: Floats,
    risk: Floats,
    worth: Floats,
    splits: Codes,
    stage: Codes,
    stack: Codes,
    split: Booleans,
) -> None:
    """Write what :func:`prune` returns; ``own`` is what a node misclassifies as a leaf, the rest is overwritten."""
    top = 1
    while top > 0:
        node = stack[top - 1]
        first, second = left[node], left[node] + 1
        if stage[node] == 0:
            risk[node], most[node] = own[node], min(own[node], allowed[node])
            if first < 0 or most[node] <= price:
                top -= 1
                continue
            allowed[first], stage[node], stack[top] = most[node] - price, 1, first
            top += 1
        elif stage[node] == 1:
            hope = max((own[node] - risk[first]) / (splits[first] + 1), own[node] - own[first])
            allowed[second], stage[node], stack[top] = min(hope, allowed[node]) - price, 2, second
            top += 1
        else:
            top -= 1
            weak, strong = (first, second) if worth[second] > worth[first] else (second, first)
            weak_risk, weak_splits, strong_risk, strong_splits = risk[weak], splits[weak], risk[strong], splits[strong]
            if (own[node] - weak_risk - strong_risk) / (weak_splits + strong_splits + 1) > worth[weak]:
                weak_risk, weak_splits = own[weak], 0
                if (own[node] - weak_risk - strong_risk) / (strong_splits + 1) > worth[strong]:
                    strong_risk, strong_splits = own[strong], 0
            value = (own[node] - weak_risk - strong_risk) / (weak_splits + strong_splits + 1)
            if value > price:
                worth[node], split[node] = value, True
                risk[node], splits[node] = weak_risk + strong_risk, weak_splits + strong_splits + 1


def shares(rows: Codes, nodes: Nodes, split: Booleans) -> Floats:
    """Return the share of synthetic records in the leaf of each record."""
    found = np.empty(len(rows))
    _shares(rows, *nodes, split, np.zeros(len(split) + 1, dtype=np.int64), found)
    return found


@compiled
def _shares(
    rows: Codes,
    start: Codes,
    end: Codes,
    synthetic: Codes,
    left: Codes,
    split: Booleans,
    stack: Codes,
    found: Floats,
) -> None:
    """Write what :func:`shares` returns; ``stack`` is overwritten."""
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if split[node]:
            stack[top], stack[top + 1] = left[node], left[node] + 1
            top += 2
        else:
            share = synthetic[node] / (end[node] - start[node])
            for i in range(start[node], end[node]):
                found[rows[i]] = share


# as synthpop's utility.gen sets rpart
MIN_LEAF = 5
MIN_SPLIT = 3 * MIN_LEAF
MAX_DEPTH = 30
COMPLEXITY = 1e-3


@dataclass(frozen=True, repr=False)
class Cart:
    """A tree grown by the Gini index and pruned by misclassification, as rpart does (cp 0.001, leaves of 5 or more).

    Without missing values, and with fewer than 1,000 distinct ones in each column, the tree is rpart's own to the
    digit; see ``stacking.binned`` for the rest.

    Notes
    -----
    Cost O(depth · N · columns) per tree: about 5 ms for 8,500 stacked records and 7 columns.
    """

    stack: Stack
    codes: Bins
    widths: Codes

    @classmethod
    def of(cls, stack: Stack) -> Self:
        """Return the tree of a stack, columns put into bins."""
        codes = np.ascontiguousarray(stack.bins())
        return cls(stack, codes, widths(codes))

    def scores(self, label: Floats) -> Floats:
        """Return the share of synthetic records in each record's leaf."""
        synthetic = float(label.sum())
        price = COMPLEXITY * min(synthetic, len(label) - synthetic)
        limits = np.asarray([MIN_LEAF, MIN_SPLIT, MAX_DEPTH], dtype=np.int64)
        ordered = np.asarray(self.stack.ordered, dtype=np.bool_)
        rows, nodes = grow(self.codes, ordered, self.widths, label.astype(np.uint8), limits, price)
        return shares(rows, nodes, prune(nodes, price))
