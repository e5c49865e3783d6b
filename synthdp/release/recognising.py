"""Whether two files hold the same records, on whatever columns they still share.

A file is recognised when some set of its columns shows that a sizeable part of the records stands in the other file
(`overlaps`), when no single column carries this alone, and when most of the columns that could speak agree with it.
Columns are compared by their exact values where enough of these occur in both files, else by the rough size of their
numbers, so that rounding or top-coding a column does not hide it; columns that number the records are not asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synthdp.release.fingerprints import SKETCH, Fingerprint
from synthdp.release.hashing import Tokens, Words, combined, mixed
from synthdp.release.overlaps import Overlap, overlap

SIZEABLE = 0.3
"""The smallest part of the smaller file's records that is worth judging together."""
SURE = 0.8
COMMON = 0.25
"""Part of the values of a column that must occur in both files for the column to be compared by its values."""
RENAMED = 0.3
UNIQUE = 0.95
TELLING = 0.1
"""Standard error below which an overlap near zero is evidence of different records, not lack of evidence."""
CLEAR = 0.8
"""Part of the matched records that must be matched without a choice, for old copies to be laid beside today's."""

Pairs = tuple[tuple[Tokens, Tokens], ...]


@dataclass(frozen=True, repr=False)
class Match:
    """Two files that hold the same records.

    Parameters
    ----------
    share
        Estimated part of the smaller file's records that stand in both.
    certain
        False when only part of the records or columns agree.
    place
        For each of today's records the row of the earlier file, -1 where it has none.
    aligned
        False when the shared columns do not tell which row is which.
    """

    share: float
    certain: bool
    place: npt.NDArray[np.int64]
    aligned: bool


def pair_columns(now: Sequence[dict[str, Any]], before: Sequence[dict[str, Any]]) -> list[tuple[int, int]]:
    """Return which column of one file is which of the other: by name, else by their values.

    Parameters
    ----------
    now, before
        The columns as `Fingerprint.summary` describes them.
    """
    names = {str(column["name"]).casefold(): place for place, column in enumerate(before)}
    pairs = [(i, names[key]) for i, one in enumerate(now) if (key := str(one["name"]).casefold()) in names]
    taken = {j for _, j in pairs}
    left = [i for i in range(len(now)) if i not in {i for i, _ in pairs} and now[i]["sketch"]]
    for i in left:
        likeness = {
            j: _likeness(now[i]["sketch"], before[j]["sketch"])
            for j in range(len(before))
            if j not in taken and before[j]["sketch"]
        }
        best = max(likeness, key=lambda j: likeness[j], default=-1)
        if best >= 0 and likeness[best] >= RENAMED:
            pairs.append((i, best))
            taken.add(best)
    return [(i, j) for i, j in pairs if not (now[i]["counter"] or before[j]["counter"])]


def _likeness(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the estimated Jaccard similarity of two sets of values from their smallest members (Broder 1997)."""
    smallest = sorted({*one, *other})[:SKETCH]
    return len(set(one) & set(other) & set(smallest)) / len(smallest)


def recognise(now: Fingerprint, before: Fingerprint) -> Match | None:
    """Return how today's file and an earlier one belong together, or None when they are different data.

    Cost O(p n log n) for p shared columns; the sorting is done on at most 200,000 records.
    """
    if now.digest == before.digest:  # needs no statistics, which a small file has too little of
        by_name = {column.name: column.exact for column in before.columns}
        same = tuple((column.exact, by_name[column.name]) for column in now.columns)
        return Match(1.0, True, _aligned(same, now.records, before.records)[0], True)
    named = pair_columns(now.summary(), before.summary())
    pairs: list[tuple[Tokens, Tokens]] = []
    rough: list[tuple[Tokens, Tokens]] = []
    for i, j in named:
        one, other = now.columns[i], before.columns[j]
        exact = _common(one.exact, other.exact) >= COMMON
        roughly = None
        if one.rough is not None and other.rough is not None and _common(one.rough, other.rough) >= COMMON:
            roughly = (one.rough, other.rough)
        if exact or roughly is not None:
            pairs.append((one.exact, other.exact) if exact or roughly is None else roughly)
            rough.append(roughly or (one.exact, other.exact))
    if not pairs:
        return None
    complete = len(pairs) == sum(not column.counter for column in before.columns)
    found = _best(tuple(pairs)) or _best(tuple(rough))
    if found is None:
        return None
    held, columns, agreeing = found
    certain = held.share >= SURE and agreeing >= SURE * len(pairs) and len(columns) > 1
    place, clear = _aligned(columns, now.records, before.records)
    # records that agreed on every column were alike for the model too, so it does not matter which is which
    aligned = clear >= CLEAR or (complete and len(columns) == len(pairs))
    return Match(min(held.share, 1.0), certain, place, aligned)


def _common(one: Tokens, other: Tokens) -> float:
    """Return the part of the smaller file's values that can be paired with equal values of the other."""
    values, count = np.unique(one, return_counts=True)
    others, counts = np.unique(other, return_counts=True)
    _, i, j = np.intersect1d(values, others, assume_unique=True, return_indices=True)
    return float(np.minimum(count[i], counts[j]).sum()) / min(len(one), len(other))


def _best(pairs: Pairs) -> tuple[Overlap, Pairs, int] | None:
    """Return the overlap on the set of columns that shows most, that set, and how many columns agree with it."""
    candidates: list[tuple[Overlap, tuple[int, ...]]] = []
    everything = tuple(range(len(pairs)))
    sets = [everything, *(tuple(k for k in everything if k != j) for j in everything), *_small_sets(pairs)]
    for chosen in dict.fromkeys(sets):
        if chosen:
            found = _overlap(pairs, chosen)
            if found.significant and found.share >= SIZEABLE:
                candidates.append((found, chosen))
    for found, chosen in sorted(candidates, key=lambda one: (-one[0].at_least, -len(one[1])))[:4]:
        if _carried_by_one(pairs, chosen, found):
            continue
        others = [k for k in everything if k not in chosen]
        # of the same records every further column holds the same values; a number that the design assigned stands alone
        more = [k for k in others if _overlap(pairs, (*chosen, k)).share >= found.share / 2]
        agreeing = len(chosen) + len(more)
        if 2 * agreeing >= len(pairs):
            wide = (*chosen, *more)
            kept = wide if more and _overlap(pairs, wide).share >= 0.9 * found.share else chosen
            return found, tuple(pairs[k] for k in kept), agreeing
    return None


def _carried_by_one(pairs: Pairs, chosen: tuple[int, ...], found: Overlap) -> bool:
    for j in chosen:
        rest = tuple(k for k in chosen if k != j)
        without = _overlap(pairs, rest) if rest else None
        if without is not None and without.error <= TELLING and without.share < found.share / 2:
            return True
    return False


def _small_sets(pairs: Pairs) -> list[tuple[int, ...]]:
    """Return sets of columns without a common one, each just enough to make nearly everybody unique."""
    fineness = [len(np.unique(one)) for one, _ in pairs]
    order = sorted(range(len(pairs)), key=lambda k: -fineness[k])
    records = len(pairs[0][0])
    sets: list[tuple[int, ...]] = []
    current: list[int] = []
    words = np.zeros(records, dtype=np.uint64)
    for k in order:
        current.append(k)
        words += mixed(pairs[k][0], k)
        if len(np.unique(words)) >= UNIQUE * records:
            sets.append(tuple(sorted(current)))
            current, words = [], np.zeros(records, dtype=np.uint64)
    return [*sets, tuple(sorted(current))]


def _overlap(pairs: Pairs, chosen: tuple[int, ...]) -> Overlap:
    return overlap(*(_words([pairs[k][side] for k in chosen]) for side in (0, 1)))


def _words(tokens: Sequence[Tokens]) -> Words:
    return combined(tokens, len(tokens[0]))


def _aligned(columns: Pairs, now: int, before: int) -> tuple[npt.NDArray[np.int64], float]:
    """Return for each record of today the earlier row, and the part of those pairs that left no choice."""
    today, earlier = (_words([pair[side] for pair in columns]) for side in (0, 1))
    if now == before and float((today == earlier).mean()) >= SURE and _in_order(today, earlier):
        return np.arange(now), 1.0
    place = np.full(now, -1, dtype=np.int64)
    order, order_before = np.argsort(today, kind="stable"), np.argsort(earlier, kind="stable")
    cells, held = np.unique(today, return_counts=True)
    cells_before, held_before = np.unique(earlier, return_counts=True)
    _, i, j = np.intersect1d(cells, cells_before, assume_unique=True, return_indices=True)
    starts, starts_before = np.cumsum(held) - held, np.cumsum(held_before) - held_before
    paired = np.minimum(held[i], held_before[j])
    # equal records pair up in the order in which they stand
    step = np.arange(paired.sum()) - np.repeat(np.cumsum(paired) - paired, paired)
    place[order[np.repeat(starts[i], paired) + step]] = order_before[np.repeat(starts_before[j], paired) + step]
    clear = (held[i] == 1) & (held_before[j] == 1)
    return place, float(clear.sum()) / max(1, int(paired.sum()))


def _in_order(today: Words, earlier: Words) -> bool:
    """Whether rows stand where they stood: they agree far more often than in any other order."""
    moved = float((today == np.roll(earlier, 1)).mean())
    return float((today == earlier).mean()) - moved >= (1 - moved) / 2
