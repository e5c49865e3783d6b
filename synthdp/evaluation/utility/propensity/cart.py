"""A classification tree that tells synthetic from original records, grown and pruned as rpart does it, compiled.

A node costs O(its records) for every column, and a pass over the column's bins (or a sort of those that occur, where
there are few records). All in one file: numba's cache does not notice a change in a function of another file.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from synthdp.arrays import Booleans, compiled
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


@compiled
def _before(a: int, b: int, tally: Codes, ordered: bool) -> bool:
    """Return whether bin a comes before bin b: by number, or by its share of synthetic records."""
    if ordered:
        return a < b
    return bool((tally[a] >> HALF) * (tally[b] & LOW) < (tally[b] >> HALF) * (tally[a] & LOW))


@compiled
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


@compiled
def _tally(codes: Binned, label: Labels, rows: Codes, width: int, ordered: bool, tally: Codes, order: Codes) -> int:
    """Count records by bin, list the bins that occur in the order they are cut, and return how many there are.

    ``tally`` is zero before; the caller clears the bins that are listed.
    """
    k = 0
    if width > SPARSE * len(rows):
        for i in range(len(rows)):
            b = codes[rows[i]]
            if tally[b] == 0:
                order[k] = b
                k += 1
            tally[b] += 1 + (np.int64(label[rows[i]]) << HALF)
        if ordered:
            _sort(order, k, tally, True)
    else:
        for i in range(len(rows)):
            tally[codes[rows[i]]] += 1 + (np.int64(label[rows[i]]) << HALF)
        for b in range(width):
            if tally[b] > 0:
                order[k] = b
                k += 1
    if not ordered:
        _sort(order, k, tally, False)
    return k


@compiled
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


@compiled
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
    n, min_leaf = codes.shape[1], limits[0]
    most, widest = 2 * (n // min_leaf) + 3, 1
    for f in range(len(widths)):
        widest = max(widest, widths[f])
    start, end, depth = np.zeros(most, np.int64), np.zeros(most, np.int64), np.zeros(most, np.int64)
    synthetic, left = np.zeros(most, np.int64), np.full(most, -1, np.int64)
    rows, spare = np.arange(n), np.empty(n, np.int64)
    tally, order, best = np.zeros(widest, np.int64), np.zeros(widest, np.int64), np.zeros(widest, np.int64)
    goes_left = np.zeros(widest, np.bool_)
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
                best[:k] = order[:k]
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
    return rows, Nodes(start[:made].copy(), end[:made].copy(), synthetic[:made].copy(), left[:made].copy())


@compiled
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
    split, stage = np.zeros(made, np.bool_), np.zeros(made, np.int64)
    allowed, most = np.full(made, np.inf), np.zeros(made)
    worth, risk, splits, own = np.full(made, price), np.zeros(made), np.zeros(made, np.int64), np.zeros(made)
    for node in range(made):
        own[node] = min(nodes.synthetic[node], nodes.end[node] - nodes.start[node] - nodes.synthetic[node])
    stack = np.zeros(made + 1, np.int64)
    top = 1
    while top > 0:
        node = stack[top - 1]
        first, second = nodes.left[node], nodes.left[node] + 1
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
    return split


@compiled
def shares(rows: Codes, nodes: Nodes, split: Booleans) -> Floats:
    """Return the share of synthetic records in the leaf of each record."""
    found = np.empty(len(rows))
    stack = np.zeros(len(split) + 1, np.int64)
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if split[node]:
            stack[top], stack[top + 1] = nodes.left[node], nodes.left[node] + 1
            top += 2
        else:
            share = nodes.synthetic[node] / (nodes.end[node] - nodes.start[node])
            for i in range(nodes.start[node], nodes.end[node]):
                found[rows[i]] = share
    return found


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
        codes = stack.bins()
        return cls(stack, codes, widths(codes))

    def scores(self, label: Floats) -> Floats:
        """Return the share of synthetic records in each record's leaf."""
        synthetic = float(label.sum())
        price = COMPLEXITY * min(synthetic, len(label) - synthetic)
        limits = np.asarray([MIN_LEAF, MIN_SPLIT, MAX_DEPTH], dtype=np.int64)
        ordered = np.asarray(self.stack.ordered, dtype=np.bool_)
        rows, nodes = grow(self.codes, ordered, self.widths, label.astype(np.uint8), limits, price)
        return shares(rows, nodes, prune(nodes, price))
