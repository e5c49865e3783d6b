"""How many records two files share beyond chance, on the columns that can be compared.

Records are counted in cells: all records that agree on some columns. If the files were independent samples of sizes
n_A and n_B, c_A and c_B would be independent Poisson counts in every cell. With r = n_B / n_A,

    e = c_A c_B − ½ [ r c_A (c_A − 1) + c_B (c_B − 1) / r ]

has mean λ_A λ_B − ½ (r λ_A² + λ_B² / r) ≤ 0, and 0 when both come from one population; every record that stands in both
files adds 1. So the sum over cells estimates the number of shared records, whether the columns make everybody unique
(then it counts the matches, less the twins) or make cells of hundreds (then it sees that the tables agree better than
two samples can), and files of two different populations never look more alike than they are. Given m = c_A + c_B, c_A
is binomial under independence and

    Var(e | m) = m (m − 1) / 2

for every ratio of the sizes. Large cells are noisy, so cells are weighted by 1 / max(m, 2); without overlap the mean
stays 0, with one the share comes out a little low (0.45 for 0.5) where cells hold a few records.

Notes
-----
Assumes that records are drawn independently. Numbers that were assigned by the design (running numbers, quotas) agree
between files without a person in common; `recognising` therefore asks that no single column carries the agreement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from synthdp.release.fingerprints import SKETCH, Fingerprint, Tokens, Words, mixed

SIGNIFICANT = 5.0
"""Standard errors from zero: beyond what the best of some dozens of sets of columns reaches by chance."""
UNLIKELY = np.log(1e-6)
MOST_BUCKETS = 2**18
"""Cells are put together at random into buckets, which the estimate allows: any cells will do. With two million records
in as many buckets the standard error is still 0.003."""


@dataclass(frozen=True)
class Overlap:
    """The estimated part of the smaller file's records that also stand in the other one.

    Parameters
    ----------
    share, error
        The estimate, and its standard error if there were none.
    log_chance
        Of equal tables, when the tables are equal; otherwise 0.
    """

    share: float
    error: float
    log_chance: float

    @property
    def significant(self) -> bool:
        """Whether chance is no explanation."""
        return self.share >= SIGNIFICANT * self.error or self.log_chance < UNLIKELY

    @property
    def at_least(self) -> float:
        """A cautious value of the share, to choose between sets of columns."""
        return self.share if self.log_chance < UNLIKELY else self.share - 2 * self.error


def overlap(a: Words, b: Words) -> Overlap:
    """Return the overlap of two files, given one number per record that is equal for records of one cell.

    Cost O(n), without sorting.
    """
    ratio = len(b) / len(a)
    buckets = buckets_for(max(len(a), len(b)))
    count_a, count_b = counted(a, buckets), counted(b, buckets)
    used = np.flatnonzero(count_a + count_b)
    held_a, held_b = count_a[used].astype(np.float64), count_b[used].astype(np.float64)
    both = held_a + held_b
    weight = 1 / np.maximum(both, 2)
    found = held_a * held_b - (ratio * held_a * (held_a - 1) + held_b * (held_b - 1) / ratio) / 2
    whole = float(weight @ (held_a if ratio >= 1 else held_b))
    error = np.sqrt(weight**2 @ (both * (both - 1) / 2)) / whole
    same = ratio == 1 and bool((held_a == held_b).all())
    return Overlap(float(weight @ found) / whole, float(error), _log_chance(both) if same else 0.0)


def buckets_for(records: int) -> int:
    """Return a power of two, large enough that few of so many different values fall together."""
    return int(min(MOST_BUCKETS, 2 ** (16 * records).bit_length()))


def counted(words: Words, buckets: int) -> npt.NDArray[np.int64]:
    """Return how many records fall into each bucket."""
    return np.bincount((words % np.uint64(buckets)).astype(np.int64), minlength=buckets)


def _log_chance(both: npt.NDArray[np.float64]) -> float:
    """Return the log probability that every cell is split evenly; the total of the last one is given."""
    chances = gammaln(both + 1) - 2 * gammaln(both / 2 + 1) - both * np.log(2)
    return float(chances.sum() - chances.min())


COMMON = 0.25
"""Part of the values of a column that must occur in both files for the column to be compared by its values."""
RENAMED = 0.3
LOOKED_AT, FEW = 20_000, 2_000
LEVELS = 50
ABSENT = 20
"""Records with a level that one file would hold if it had not been left out on purpose; chance is e^-20."""

Pair = tuple[Tokens, Tokens]
Pairs = tuple[Pair, ...]


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


def comparable(now: Fingerprint, before: Fingerprint) -> tuple[Pairs, tuple[int, ...], Pairs]:
    """Return the columns as exactly as each allows, which of them exactly, and all numbers by their rough size."""
    pairs: list[Pair] = []
    exactly: list[int] = []
    rough: list[Pair] = []
    for i, j in pair_columns(now.summary(), before.summary()):
        one, other = now.columns[i], before.columns[j]
        exact = _common(one.exact, other.exact) >= COMMON
        roughly = None
        if one.rough is not None and other.rough is not None and _common(one.rough, other.rough) >= COMMON:
            roughly = (one.rough, other.rough)
        if exact or roughly is not None:
            pairs.append((one.exact, other.exact) if exact or roughly is None else roughly)
            rough.append(roughly if roughly is not None else pairs[-1])
            exactly += [len(pairs) - 1] if exact else []
    return tuple(pairs), tuple(exactly), tuple(rough)


def ranked(now: Fingerprint, before: Fingerprint) -> Pairs:
    """Return columns of few levels by how common each level is, others as exactly as they allow.

    Recoding, renaming or shifting the levels changes all of a column's values and none of their numbers. Levels of the
    same number are one.
    """
    pairs: list[Pair] = []
    for i, j in pair_columns(now.summary(), before.summary()):
        one, other = now.columns[i], before.columns[j]
        counts = [_by_count(side.exact) for side in (one, other)]
        if counts[0] is not None and counts[1] is not None:
            pairs.append((counts[0], counts[1]))
        elif one.rough is not None and other.rough is not None and _common(one.rough, other.rough) >= COMMON:
            pairs.append((one.rough, other.rough))
        elif _common(one.exact, other.exact) >= COMMON:
            pairs.append((one.exact, other.exact))
    return tuple(pairs)


def _by_count(tokens: Tokens) -> Tokens | None:
    """Return for each record the place of its level among all numbers of records, the most common first."""
    _, place, counts = np.unique(tokens, return_inverse=True, return_counts=True)
    if len(counts) > LEVELS:
        return None
    return np.asarray(np.unique(-counts, return_inverse=True)[1][place] + 1, dtype=np.uint32)


def filtered(pairs: Pairs) -> Pairs | None:
    """Return the records that both files could hold, when one of them was cut down to some levels of a column.

    None when no level was left out. In large cells two such files do not look alike before the others are set aside.
    """
    keep = [np.ones(len(tokens), dtype=np.bool_) for tokens in pairs[0]]
    for pair in pairs:
        levels = [dict(zip(*np.unique(tokens, return_counts=True), strict=True)) for tokens in pair]
        if max(map(len, levels)) > LEVELS:
            continue
        for side, (held, other) in enumerate((levels, levels[::-1])):
            scale = len(pair[1 - side]) / len(pair[side])
            absent = [level for level, count in held.items() if level not in other and count * scale >= ABSENT]
            keep[side] &= ~np.isin(pair[side], absent)
    if all(side.all() for side in keep) or not all(side.any() for side in keep):
        return None
    return tuple((one[keep[0]], other[keep[1]]) for one, other in pairs)


def _common(one: Tokens, other: Tokens) -> float:
    """Return the part of the smaller file's values that can be paired with equal values of the other.

    Of long files a part of the values is looked at, the same in both; where there are few, all are.
    """
    thin = np.uint32(max(len(one), len(other)) // LOOKED_AT)
    if thin > 1 and len(np.unique(one[:LOOKED_AT])) > FEW:
        one, other = one[one % thin == 0], other[other % thin == 0]
    buckets = buckets_for(max(len(one), len(other)))
    count, counts = counted(mixed(one, 0), buckets), counted(mixed(other, 0), buckets)
    return float(np.minimum(count, counts).sum()) / max(1, min(len(one), len(other)))
