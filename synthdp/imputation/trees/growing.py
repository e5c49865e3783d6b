"""The compiled loops of growing a tree.

A node costs O(its records), and a sort of the bins in it, for every predictor, however many levels there are elsewhere:
only bins that occur in the node are visited, and the Gini index is updated as cells of records pass from the right
child to the left one, never recomputed over all classes.

Times that may be censored are split by their log-rank scores, computed anew in every node:

    a_i = δ_i - Λ(t_i),      Λ the Nelson-Aalen estimate of the node's cumulative hazard

Their sum over a group is the log-rank test's observed less expected events of that group (Peto and Peto 1972, Journal
of the Royal Statistical Society A 135(2), 185-207). They have mean zero, so the gain of a split, S²(1/W_left +
1/W_right), is the log-rank statistic with its permutation variance, up to a factor of the node; the split with the
largest one is chosen (LeBlanc and Crowley 1993, Journal of the American Statistical Association 88, 457-467).

All in one file: numba's cache does not notice a change in a function that another file's function calls.
"""

from typing import Any

import numpy as np

from synthdp.arrays import Booleans, compiled, part
from synthdp.imputation.trees.binning import Bins, Nodes, Records, Room, Split, Words
from synthdp.table.microdata import Codes, Floats

POWER_STEPS = 12
WORD = 64
# of the root's impurity: smaller gains are rounding
ROUNDING = 1e-12


@part
def _tally(codes: Bins, here: Records, room: Room) -> int:
    """Sum records, weights and responses by bin; return how many bins occur."""
    # a literal would be a type of its own, for which all that k is passed to is compiled once more
    k = int(0.0)
    for i in range(len(here.rows)):
        b = codes[here.rows[i]]
        t = room.slot[b]
        if t < 0:
            t = k
            room.slot[b], room.bins[t] = t, b
            room.records[t], room.weight[t], room.total[t] = 0, 0.0, 0.0
            k += 1
        room.records[t] += 1
        room.weight[t] += here.w[i]
        room.total[t] += here.w[i] * here.y[i]
        room.place[i] = t
    for t in range(k):
        room.slot[room.bins[t]] = -1
    return k


@part
def _cells(here: Records, k: int, room: Room) -> None:
    """Sum weights by bin and class, as a list of the combinations that occur."""
    at = 0
    for t in range(k):
        room.end[t] = at
        at += room.records[t]
    for i in range(len(here.rows)):
        t = room.place[i]
        room.listed[room.end[t]] = i
        room.end[t] += 1
    first, cells = 0, 0
    for t in range(k):
        start = cells
        for position in range(first, room.end[t]):
            i = room.listed[position]
            c = int(here.y[i])
            cell = room.cell[c]
            # left over from another slot or node: a class has one cell per slot
            if cell < start or cell >= cells or room.label[cell] != c:
                cell = cells
                room.cell[c], room.label[cell], room.mass[cell] = cell, c, 0.0
                cells += 1
            room.mass[cell] += here.w[i]
        first, room.end[t] = room.end[t], cells


@part
def _principal(k: int, room: Room) -> None:
    """Set each slot's key to its class shares' score on their first principal direction, by power iteration.

    With shares p_t, weights w_t and mean p̄: s_t = (p_t - p̄)·v, then v ∝ Σ_t w_t s_t (p_t - p̄), which is
    Σ_t s_t N_t, N_t the class weights of slot t, because the s_t have weighted mean zero.
    """
    key, axis, cells = room.key, room.axis, room.end[k - 1]
    whole = 0.0
    for t in range(k):
        whole += room.weight[t]
    for cell in range(cells):
        c = room.label[cell]
        axis[c] = (0.618033988749895 * (c + 1)) % 1.0 - 0.5
    for _ in range(POWER_STEPS):
        first, mean, size = 0, 0.0, 0.0
        for t in range(k):
            score = 0.0
            for cell in range(first, room.end[t]):
                score += room.mass[cell] * axis[room.label[cell]]
            first, key[t] = room.end[t], score / room.weight[t]
            mean += score / whole
        for t in range(k):
            key[t] -= mean
            size = max(size, abs(key[t]))
        if size == 0.0:
            return
        for cell in range(cells):
            axis[room.label[cell]] = 0.0
        first = 0
        for t in range(k):
            for cell in range(first, room.end[t]):
                axis[room.label[cell]] += room.mass[cell] * key[t] / size
            first = room.end[t]


@part
def _sort(k: int, room: Room) -> None:
    """List the first k slots in the order of their keys (Shell's sort: no memory of its own, quick to compile)."""
    key, order = room.key, room.order
    for t in range(k):
        order[t] = t
    gap = 1
    while gap < k // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for position in range(gap, k):
            t, j = order[position], position
            while j >= gap and key[order[j - gap]] > key[t]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = t
        gap //= 3


@part
def _scan(classes: int, k: int, n: int, min_leaf: int, room: Room) -> tuple[float, int]:
    """Return the largest gain over the cuts of the sorted slots, and how many slots are left of it.

    Numbers are centred in the node, so Σw(y - ȳ)² falls by S²(1/W_left + 1/W_right), S the left sum. For classes,
    W·Gini falls by Σ_c left_c²/W_left + Σ_c right_c²/W_right - Σ_c whole_c²/W.
    """
    whole, squares = 0.0, 0.0
    for t in range(k):
        whole += room.weight[t]
    if classes > 0:
        for cell in range(room.end[k - 1]):
            c = room.label[cell]
            room.left[c], room.right[c] = 0.0, room.whole[c]
        for cell in range(room.end[k - 1]):
            squares += room.mass[cell] * room.whole[room.label[cell]]
    best, cut = 0.0, 0
    records, weight, total, left_squares, right_squares = 0, 0.0, 0.0, 0.0, squares
    for position in range(k - 1):
        t = room.order[position]
        records += room.records[t]
        weight += room.weight[t]
        total += room.total[t]
        if n - records < min_leaf:
            break
        if classes > 0:
            for cell in range(room.end[t - 1] if t > 0 else 0, room.end[t]):
                c, mass = room.label[cell], room.mass[cell]
                left_squares += mass * (2.0 * room.left[c] + mass)
                right_squares -= mass * (2.0 * room.right[c] - mass)
                room.left[c] += mass
                room.right[c] -= mass
        if records < min_leaf:
            continue
        if classes > 0:
            gain = left_squares / weight + right_squares / (whole - weight) - squares / whole
        else:
            gain = total * total * (1.0 / weight + 1.0 / (whole - weight))
        if gain > best:
            best, cut = gain, position + 1
    return best, cut


@part
def _search(
    codes: Bins, ordered: bool, missing: int, here: Records, limits: Codes, room: Room
) -> tuple[float, int, int, bool]:
    """Return a predictor's best split as gain, cut, bins and whether missing comes first; its slots in ``order``."""
    min_leaf, classes = limits[0], limits[3]
    k = _tally(codes, here, room)
    if k < 2:
        return 0.0, 0, k, False
    if classes > 0:
        _cells(here, k, room)
    if ordered:
        for t in range(k):
            room.key[t] = room.bins[t]
    elif classes > 0:
        _principal(k, room)
    else:
        for t in range(k):
            room.key[t] = room.total[t] / room.weight[t]
    _sort(k, room)
    gain, cut = _scan(classes, k, len(here.rows), min_leaf, room)
    last = room.order[k - 1]
    if ordered and room.bins[last] == missing:
        # missing has no place in the order: try it at the other end too
        for position in range(k - 1, 0, -1):
            room.order[position] = room.order[position - 1]
        room.order[0] = last
        other, other_cut = _scan(classes, k, len(here.rows), min_leaf, room)
        if other > gain:
            return other, other_cut, k, True
        for position in range(k - 1):
            room.order[position] = room.order[position + 1]
        room.order[k - 1] = last
    return gain, cut, k, False


@part
def _center(y: Floats, w: Floats, classes: int, room: Room) -> float:
    """Return the node's impurity; numbers are centred in place, classes weighed into ``whole``."""
    weight, total, squares = 0.0, 0.0, 0.0
    for i in range(len(y)):
        weight += w[i]
        total += w[i] * y[i]
    if classes == 0:
        for i in range(len(y)):
            y[i] -= total / weight
            squares += w[i] * y[i] * y[i]
        return squares
    for i in range(len(y)):
        room.whole[int(y[i])] = 0.0
    for i in range(len(y)):
        room.whole[int(y[i])] += w[i]
    for i in range(len(y)):
        squares += w[i] * room.whole[int(y[i])]
    return weight - squares / weight


@compiled
def log_rank(here: Records, clock: Codes, died: Booleans) -> None:
    """Set the responses of records, which stand in the order of time, to their log-rank scores; equal times tie."""
    at_risk, hazard, first = 0.0, 0.0, 0
    for i in range(len(here.rows)):
        at_risk += here.w[i]
    while first < len(here.rows):
        last, weight, events = first, 0.0, 0.0
        while last < len(here.rows) and clock[here.rows[last]] == clock[here.rows[first]]:
            weight += here.w[last]
            if died[here.rows[last]]:
                events += here.w[last]
            last += 1
        # rounding may leave less at risk than there are
        hazard += events / max(at_risk, weight)
        for i in range(first, last):
            here.y[i] = (1.0 if died[here.rows[i]] else 0.0) - hazard
        at_risk -= weight
        first = last


@part
def _partition(goes_left: Booleans, values: Any, spare: Any) -> None:
    """Move what goes left to the front, both sides keeping their order."""
    at, kept = 0, 0
    for i in range(len(values)):
        if goes_left[i]:
            values[at] = values[i]
            at += 1
        else:
            spare[kept] = values[i]
            kept += 1
    for i in range(kept):
        values[at + i] = spare[i]


@part
def _choose(
    codes: Bins,
    ordered: Booleans,
    missing: Codes,
    features: Codes,
    here: Records,
    limits: Codes,
    least: float,
    room: Room,
) -> Split:
    """Return the split with the largest gain above ``least``, its bins in ``room.best``; feature -1 for none."""
    best = Split(least, -1, 0, 0, False)
    for f in features:
        gain, cut, bins, first = _search(codes[f], ordered[f], missing[f], here, limits, room)
        if gain > best.gain:
            best = Split(gain, f, cut, bins, first)
            for position in range(bins):
                room.best[position] = room.bins[room.order[position]]
                room.best_records[position] = room.records[room.order[position]]
    return best


@part
def _sets(words: Words, used: int, size: int, split: Split, otherwise: bool, room: Room) -> Words:
    """Return the words with ``size`` more: a bit per bin, set where it goes left; ``otherwise`` for absent bins."""
    if used + size > len(words):
        wider = np.zeros(2 * len(words) + size, dtype=np.uint64)
        for word in range(used):
            wider[word] = words[word]
        words = wider
    for word in range(used, used + size):
        words[word] = ~np.uint64(0) if otherwise else np.uint64(0)
    for position in range(split.bins):
        b = room.best[position]
        word, bit = used + b // WORD, np.uint64(1) << np.uint64(b % WORD)
        words[word] = words[word] | bit if position < split.cut else words[word] & ~bit
    return words


@part
def goes_left(code: int, ordered: bool, missing: int, threshold: int, missing_left: bool, words: Words) -> bool:
    """Return which way a bin goes: by threshold, or by its bit from word ``threshold`` on."""
    if not ordered:
        return bool(words[threshold + code // WORD] & (np.uint64(1) << np.uint64(code % WORD)))
    return missing_left if code == missing else code <= threshold


@compiled
def grow(
    codes: Bins,
    ordered: Booleans,
    missing: Codes,
    features: Codes,
    records: Records,
    clock: Codes,
    died: Booleans,
    limits: Codes,
    complexity: float,
    nodes: Nodes,
    room: Room,
) -> tuple[int, Words, int]:
    """Grow a tree; fill ``nodes`` and return how many there are, the words and how many are used.

    Parameters
    ----------
    features
        Rows of ``codes`` the tree may split on.
    records
        What the tree is grown on; reordered so that every node's records stand together, responses overwritten.
    clock, died
        Of a response that is a time, by record of the file: its place in time, and whether it ended with the event;
        the records then stand in the order of time. Empty otherwise.
    limits
        Fewest records of a leaf, fewest of a node that is split, greatest depth, classes (0 for a number).
    complexity
        The smallest gain of a split, as a share of the root's impurity.
    """
    words, used, made, node, least = np.zeros(16, dtype=np.uint64), int(0.0), 1, 0, 0.0
    while node < made:
        start, end = nodes.start[node], nodes.end[node]
        here = Records(records.rows[start:end], records.y[start:end], records.w[start:end])
        if len(clock) > 0:
            log_rank(here, clock, died)
        impurity = _center(here.y, here.w, limits[3], room)
        if node == 0:
            least = max(complexity, ROUNDING) * impurity
        node += 1
        if end - start < limits[1] or nodes.depth[node - 1] >= limits[2] or impurity <= least:
            continue
        split = _choose(codes, ordered, missing, features, here, limits, least, room)
        if split.feature < 0:
            continue
        f, bins, parent = split.feature, room.best, node - 1
        middle = start
        for position in range(split.cut):
            middle += room.best_records[position]
        # a bin that does not occur here goes the way most records go
        mostly_left = 2 * (middle - start) >= end - start
        known = bins[0] == missing[f] or bins[split.bins - 1] == missing[f]
        nodes.feature[parent] = f
        nodes.missing_left[parent] = split.missing_first if known else mostly_left
        if not ordered[f]:
            size = missing[f] // WORD + 1
            words = _sets(words, used, size, split, mostly_left, room)
            nodes.threshold[parent] = used
            used += size
        elif split.missing_first and split.cut == 1:
            nodes.threshold[parent] = -1
        elif bins[split.cut] == missing[f]:
            nodes.threshold[parent] = missing[f]
        else:
            nodes.threshold[parent] = (bins[split.cut - 1] + bins[split.cut]) // 2
        for i in range(end - start):
            room.side[i] = goes_left(
                codes[f, here.rows[i]],
                ordered[f],
                missing[f],
                nodes.threshold[parent],
                nodes.missing_left[parent],
                words,
            )
        _partition(room.side, here.rows, room.spare_rows)
        _partition(room.side, here.y, room.spare)
        _partition(room.side, here.w, room.spare)
        nodes.left[parent] = made
        nodes.start[made], nodes.end[made] = start, middle
        nodes.start[made + 1], nodes.end[made + 1] = middle, end
        nodes.depth[made] = nodes.depth[made + 1] = nodes.depth[parent] + 1
        made += 2
    return made, words, used
