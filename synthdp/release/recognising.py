"""Whether two files hold the same records, on whatever columns they still share.

A file is recognised when some set of its columns shows that a sizeable part of the records stands in the other file
(`overlaps`), when no single column carries this alone, and when most of the columns that could speak agree with it.
Columns are compared by their exact values where enough of these occur in both files, else by the rough size of their
numbers, so that rounding or top-coding a column does not hide it, and where that shows nothing, levels by how common
they are, so that recoding does not hide them either; columns that number the records are not asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthdp.release.fingerprints import Fingerprint, Words, combined, mixed
from synthdp.release.overlaps import Overlap, Pairs, buckets_for, comparable, counted, filtered, overlap, ranked

SIZEABLE = 0.3
"""The smallest part of the smaller file's records that is worth judging together."""
SURE = 0.8
TWINS = 0.05
TELLING = 0.1
"""Standard error below which an overlap near zero is evidence of different records, not lack of evidence."""
MOST_TRIED = 4
CLEAR = 0.8
"""Part of the matched records that must be matched without a choice, for old copies to be laid beside today's."""


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


def recognise(now: Fingerprint, before: Fingerprint) -> Match | None:
    """Return how today's file and an earlier one belong together, or None when they are different data.

    Cost O(p n) for p shared columns, and one sort of the records when the files belong together.
    """
    if now.digest == before.digest:  # needs no statistics, which a small file has too little of
        by_name = {column.name: column.exact for column in before.columns}
        same = tuple((column.exact, by_name[column.name]) for column in now.columns)
        return Match(1.0, True, _aligned(same, now.records, before.records)[0], True)
    pairs, exactly, rough = comparable(now, before)
    found = _best(pairs, exactly) if pairs else None
    if found is None and any(one is not other for one, other in zip(pairs, rough, strict=True)):
        pairs, found = rough, _best(rough)
    if found is None and pairs:
        part = filtered(pairs)
        found = _best(part) if part is not None else None
    if found is None:
        pairs = ranked(now, before)
        found = _best(pairs) if pairs else None
    if found is None:
        return None
    held, chosen, agreeing = found
    certain = held.share >= SURE and agreeing >= SURE * len(pairs) and len(chosen) > 1
    place, clear = _aligned(tuple(pairs[k] for k in chosen), now.records, before.records)
    # records that agreed on every column were alike for the model too, so it does not matter which is which
    complete = len(chosen) == sum(not column.counter for column in before.columns)
    return Match(min(held.share, 1.0), certain, place, clear >= CLEAR or complete)


class _Compared:
    """The records of two files in the cells of any set of columns; what all columns add up to is kept at hand."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs, self.all = pairs, tuple(range(len(pairs)))
        self._totals = [self._sum(self.all, side) for side in (0, 1)]

    def words(self, chosen: Sequence[int], side: int) -> Words:
        left = [k for k in self.all if k not in chosen]
        if len(left) < len(chosen):
            return self._totals[side] - self._sum(left, side)
        return self._sum(chosen, side)

    def overlap(self, chosen: Sequence[int]) -> Overlap:
        return overlap(self.words(chosen, 0), self.words(chosen, 1))

    def _sum(self, chosen: Sequence[int], side: int) -> Words:
        found = np.zeros(len(self.pairs[0][side]), dtype=np.uint64)
        for k in chosen:
            found += mixed(self.pairs[k][side], k)
        return found

    def small_sets(self) -> list[tuple[int, ...]]:
        """Return sets of columns without a common one, each just enough to make nearly everybody unique."""
        order = sorted(self.all, key=lambda k: _twins(mixed(self.pairs[k][0], k)))
        records = len(self.pairs[0][0])
        sets: list[tuple[int, ...]] = []
        current: list[int] = []
        for k in order:
            current.append(k)
            if _twins(self.words(current, 0)) <= TWINS * records:
                sets.append(tuple(sorted(current)))
                current = []
        return [*sets, tuple(sorted(current))] if current else sets


def _twins(words: Words) -> float:
    """Return how many ordered pairs of records agree, less those that only share a bucket."""
    buckets = buckets_for(len(words))
    counts = counted(words, buckets).astype(np.float64)
    return float(counts @ (counts - 1)) - len(words) * (len(words) - 1) / buckets


def _best(pairs: Pairs, exactly: tuple[int, ...] = ()) -> tuple[Overlap, tuple[int, ...], int] | None:
    """Return the overlap on the set of columns that shows most, that set, and how many columns agree with it."""
    files = _Compared(pairs)
    candidates: list[tuple[Overlap, tuple[int, ...]]] = []
    sets = [files.all, *(tuple(k for k in files.all if k != j) for j in files.all), *files.small_sets(), exactly]
    for chosen in dict.fromkeys(sets):
        if chosen:
            found = files.overlap(chosen)
            if found.significant and found.share >= SIZEABLE:
                candidates.append((found, chosen))
    for found, chosen in sorted(candidates, key=lambda one: (-one[0].at_least, -len(one[1])))[:MOST_TRIED]:
        if _carried_by_one(files, chosen, found):
            continue
        # of the same records every further column holds the same values; a number that the design assigned stands alone
        more = [k for k in files.all if k not in chosen and files.overlap((*chosen, k)).share >= found.share / 2]
        agreeing = len(chosen) + len(more)
        if 2 * agreeing >= len(pairs):
            wide = (*chosen, *more)
            kept = wide if more and files.overlap(wide).share >= 0.9 * found.share else chosen
            return found, kept, agreeing
    return None


def _carried_by_one(files: _Compared, chosen: tuple[int, ...], found: Overlap) -> bool:
    """Whether the overlap goes when one column is left out, although the others could show it."""
    for j in chosen:
        rest = tuple(k for k in chosen if k != j)
        without = files.overlap(rest) if rest else None
        if without is not None and without.error <= TELLING and without.share < found.share / 2:
            return True
    return False


def _aligned(columns: Pairs, now: int, before: int) -> tuple[npt.NDArray[np.int64], float]:
    """Return for each record of today the earlier row, and the part of those pairs that left no choice."""
    today, earlier = (combined([pair[side] for pair in columns], count) for side, count in ((0, now), (1, before)))
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
