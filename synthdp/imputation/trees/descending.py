"""The compiled loops of running records down a tree that is grown.

A tree of a few hundred nodes is laid out as a table: the child of every node by the bin of what it splits on, a leaf
being its own child. Records then go down side by side, one split at a time, and none waits for what another's bin
decides: 100,000 of them take 2 ms instead of 5. Where there are so many nodes that the table would not stay in the
processor's cache, records go down one after the other.
"""

import numpy as np
import numpy.typing as npt

from synthdp.arrays import Booleans, Codes, compiled
from synthdp.imputation.trees.binning import Bins, Nodes, Words
from synthdp.imputation.trees.growing import goes_left

Narrow = npt.NDArray[np.int32]

# cells of the table, at most, and records that go down side by side
MOST_CELLS, TOGETHER = 2**18, 512


def descend(codes: Bins, ordered: Booleans, missing: Codes, nodes: Nodes, words: Words) -> Codes:
    """Return the node without children each column of ``codes`` ends in. Cost O(n · depth)."""
    found = np.zeros(codes.shape[1], dtype=np.int64)
    made, width = len(nodes.feature), int(missing.max(initial=0)) + 1
    if made == 1:
        return found
    if made * width > MOST_CELLS:
        _one_by_one(codes, ordered, missing, nodes, words, found)
        return found
    child, leaf = np.empty((made, width), dtype=np.int32), nodes.feature < 0
    _lay_out(ordered, missing, nodes, words, child)
    room = np.empty((2, min(TOGETHER, len(found))), dtype=np.int32)
    _side_by_side(codes, child, np.where(leaf, 0, nodes.feature).astype(np.int32), leaf.astype(np.int32), found, room)
    return found


@compiled
def _one_by_one(codes: Bins, ordered: Booleans, missing: Codes, nodes: Nodes, words: Words, found: Codes) -> None:
    """Fill in the node each record ends in."""
    for i in range(codes.shape[1]):
        node = 0
        while nodes.feature[node] >= 0:
            f = nodes.feature[node]
            left = goes_left(
                codes[f, i], ordered[f], missing[f], nodes.threshold[node], nodes.missing_left[node], words
            )
            node = nodes.left[node] + (0 if left else 1)
        found[i] = node


@compiled
def _lay_out(ordered: Booleans, missing: Codes, nodes: Nodes, words: Words, child: Narrow) -> None:
    """Fill in the child of every node by bin."""
    for node in range(len(nodes.feature)):
        f = nodes.feature[node]
        if f < 0:
            for b in range(child.shape[1]):
                child[node, b] = node
            continue
        for b in range(missing[f] + 1):
            left = goes_left(b, ordered[f], missing[f], nodes.threshold[node], nodes.missing_left[node], words)
            child[node, b] = nodes.left[node] + (0 if left else 1)


@compiled
def _side_by_side(codes: Bins, child: Narrow, feature: Narrow, leaf: Narrow, found: Codes, room: Narrow) -> None:
    """Fill in the node each record ends in; ``room`` holds those on their way, and where they are."""
    who, where = room[0], room[1]
    for start in range(0, len(found), len(who)):
        left = min(len(who), len(found) - start)
        for j in range(left):
            who[j], where[j] = start + j, 0
        while left > 0:
            still = 0 * left
            for j in range(left):
                i, node = who[j], where[j]
                node = child[node, codes[feature[node], i]]
                found[i] = node
                who[still], where[still] = i, node
                still += 1 - leaf[node]
            left = still
