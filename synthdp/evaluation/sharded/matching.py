"""The intruder who matches on the keys, over shards: exact, because candidates are counted by who is one in which copy.

Target i has s_ij candidates in copy j, and a row that is a candidate in the copies P gets Σ_{j ∈ P} 1/(M s_ij). So all
that is needed of a shard is how many of its rows are a candidate of target i in exactly the copies P: these counts add
up over shards, and give s_ij, the largest probability and how many rows share it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats, compiled
from synthdp.evaluation.risk.identity import CHANCE_LEVEL, IdentityRisk
from synthdp.evaluation.risk.rates import interval
from synthdp.table.schema import Column
from synthdp.tagging.compiled import TIE
from synthdp.tagging.neighbours import Keys, encode_keys

# copies up to which counts stand in a table, 2^M cells a target
MOST_TABLED = 10
# rows looked at in one go where they do not
ROWS = 20_000


@dataclass(frozen=True, repr=False)
class Matched:
    """How many rows are a candidate of which target in exactly which copies, and in which copies its own row is one.

    Parameters
    ----------
    target, pattern, count
        One entry for each target and set of copies that occurs; bit j − 1 of a pattern stands for copy j.
    own
        The pattern of each target's own row; −1 where the own row was not among the rows looked at.
    copies
        How many copies there are.
    """

    target: Codes
    pattern: Codes
    count: Codes
    own: Codes
    copies: int

    def __repr__(self) -> str:
        return f"Matched({len(self.own)} targets, {self.copies} copies)"

    def __add__(self, other: Self) -> "Matched":
        """Return what two parts of a file come to."""
        places = np.stack([np.append(self.target, other.target), np.append(self.pattern, other.pattern)])
        (target, pattern), where = np.unique(places, axis=1, return_inverse=True)
        count = np.bincount(where.ravel(), weights=np.append(self.count, other.count), minlength=len(target))
        own = np.maximum(self.own, other.own)
        return Matched(target, pattern, np.rint(count).astype(np.int64), own, self.copies)

    def risk(self, records: int, typical: Booleans) -> IdentityRisk:
        """Return what the intruder achieves; arrays are of the targets, rates of those that are a random sample.

        Parameters
        ----------
        records
            How many records the file has.
        typical
            Which targets are a simple random sample of them.
        """
        held = _bits(self.pattern, self.copies)
        targets = len(self.own)
        candidates = np.zeros((targets, self.copies))
        np.add.at(candidates, self.target, held * self.count[:, None])
        each = np.divide(1.0, candidates, out=np.zeros_like(candidates), where=candidates > 0)
        probability = (held * each[self.target]).sum(axis=1) / self.copies
        mine = _bits(np.maximum(self.own, 0), self.copies)
        individual = (mine * each).sum(axis=1) / self.copies
        top = np.zeros(targets)
        np.maximum.at(top, self.target, probability)
        best = np.bincount(self.target, weights=self.count * (probability >= top[self.target] - TIE), minlength=targets)
        hit = (self.own > 0) & (individual >= top - TIE)
        right = np.where(hit, 1.0 / np.maximum(best, 1.0), 0.0)
        claims = np.where(best > 0, top, np.nan)
        share, true, mean = right[typical], (right == 1.0)[typical], individual[typical]
        unique = (best == 1)[typical]
        scale = records / max(1, int(typical.sum()))
        expected, nobody = float(share.sum()) * scale, float((best[typical] == 0).sum()) * scale
        # picks among permuted rows hit with probability one in n each: Poisson with their mean
        chance = _poisson_quantile(float((best == 1)[typical].sum()) / records)
        alone = (mine * (candidates == 1)).sum(axis=1)[typical] / self.copies
        return IdentityRisk(
            individual,
            claims,
            right,
            expected_match=expected,
            expected_match_rate=expected / records,
            expected_match_reference=expected + nobody / records,
            true_match=float(true.sum()) * scale,
            true_match_rate=float(true.mean()) if len(true) else 0.0,
            true_match_chance=chance * scale,
            false_match_rate=float(np.mean(~(hit[typical][unique]))) if unique.any() else None,
            no_candidate=round(nobody),
            mean_individual=float(mean.mean()) if len(mean) else 0.0,
            max_individual=float(individual.max(initial=0.0)),
            mean_unconditional=float(each[typical].mean()) if len(mean) else 0.0,
            per_group=[],
            one_copy=None
            if self.copies == 1
            else {
                "expected_match": float(mean.mean()) * records,
                "expected_match_rate": float(mean.mean()),
                "true_match": float(alone.mean()) * records,
                "true_match_rate": float(alone.mean()),
            },
            sampled=sampling(records, typical, {"expected_match": right, "mean_individual": individual}),
        )


def sampling(records: int, typical: Booleans, figures: dict[str, Floats]) -> dict[str, object]:
    """Return what stands under ``sampled``: whom figures rest on, and the intervals of their means.

    Examples
    --------
    >>> sampling(100, np.array([True, True, False]), {"mean": np.array([0.1, 0.1, 0.9])})["exposed"]
    1
    """
    found: dict[str, object] = {"targets": int(typical.sum()), "exposed": int((~typical).sum()), "candidates": "all"}
    for name, values in figures.items():
        if typical.sum() > 1:
            scale = records if name.startswith("expected") else 1.0
            found[name] = interval(values[typical], records, scale=scale)
    return found


def match_rows(held: pd.DataFrame, files: Sequence[pd.DataFrame], keys: Sequence[Column], own: Codes) -> Matched:
    """Return which rows of a shard are candidates of whom.

    Parameters
    ----------
    held
        The true keys of the targets.
    files
        The shard's rows in every copy (or in the one file that the intruder made of them).
    own
        Where among them the row of each target is; −1 where it is in another shard.

    Notes
    -----
    O(M n log T) and the number of candidates, for T targets and n rows.
    """
    targets, *rows = encode_keys([held, *files], keys)
    return match_coded(targets, rows, own)


def match_coded(targets: Keys, rows: Sequence[Keys], own: Codes) -> Matched:
    """Return the same of keys that are coded already."""
    copies, size = len(rows), len(targets)
    lead = np.lexsort((targets.numbers[:, 0], targets.cells)) if targets.numbers.shape[1] else np.argsort(targets.cells)
    cells, numbers = targets.cells[lead], np.ascontiguousarray(targets.numbers[lead])
    most = int(max(int(keys.cells.max(initial=-1)) for keys in (targets, *rows))) + 2
    first = np.searchsorted(cells, np.arange(most)).astype(np.int64)
    n = len(rows[0])
    there = np.stack([keys.cells for keys in rows])
    values = np.stack([keys.numbers for keys in rows])
    found: list[tuple[Codes, Codes, Codes]] = []
    if copies <= MOST_TABLED:
        table = np.zeros((size, 2**copies), dtype=np.int64)
        _tabulate(
            first,
            numbers,
            targets.tolerances,
            there,
            values,
            np.zeros(size, dtype=np.int64),
            np.zeros(size, dtype=np.int64),
            table,
        )
        table[:, 0] = 0
        where, pattern = np.nonzero(table)
        found.append((where, pattern, table[where, pattern]))
    else:
        for begin in range(0, n, ROWS):
            part = slice(begin, begin + ROWS)
            marks = np.zeros((size, min(ROWS, n - begin)), dtype=np.int64)
            _mark(first, numbers, targets.tolerances, there[:, part], values[:, part], marks)
            where, at = np.nonzero(marks)
            places, count = np.unique(np.stack([where, marks[where, at]]), axis=1, return_counts=True)
            found.append((places[0], places[1], count))
    mine = np.full(size, -1, dtype=np.int64)
    here = np.flatnonzero(own >= 0)
    patterns = np.zeros(len(here), dtype=np.int64)
    for copy, keys in enumerate(rows):
        row = own[here]
        close = np.abs(keys.numbers[row] - targets.numbers[here]) <= targets.tolerances
        patterns |= (np.all(close, axis=1) & (keys.cells[row] == targets.cells[here])).astype(np.int64) << copy
    mine[here] = patterns
    nothing = np.empty(0, dtype=np.int64)
    total = Matched(nothing, nothing, nothing, mine, copies)
    for where, pattern, count in found:
        total = total + Matched(lead[where], pattern, count, mine, copies)
    return total


@compiled
def _tabulate(
    first: Codes,
    numbers: Floats,
    tolerances: Floats,
    cells: Codes,
    values: Floats,
    seen: Codes,
    listed: Codes,
    table: Codes,
) -> None:
    """Count the rows of each pattern in ``table``; ``seen`` and ``listed`` are overwritten, and must begin as zeros."""
    copies, n = cells.shape
    q = len(tolerances)
    for row in range(n):
        held = 0
        for copy in range(copies):
            low, high = first[cells[copy, row]], first[cells[copy, row] + 1]
            if q > 0 and high > low:
                value, reach, end = values[copy, row, 0], tolerances[0], high
                # the rounded difference itself is monotone, so the window agrees with |Δ| <= tolerance exactly
                while low < end:
                    middle = (low + end) // 2
                    if value - numbers[middle, 0] > reach:
                        low = middle + 1
                    else:
                        end = middle
            for place in range(low, high):
                if q > 0 and numbers[place, 0] - values[copy, row, 0] > tolerances[0]:
                    break
                close = True
                for key in range(1, q):
                    if abs(numbers[place, key] - values[copy, row, key]) > tolerances[key]:
                        close = False
                        break
                if close:
                    if seen[place] == 0:
                        listed[held] = place
                        held += 1
                    seen[place] |= 1 << copy
        for k in range(held):
            place = listed[k]
            table[place, seen[place]] += 1
            seen[place] = 0


def _mark(first: Codes, numbers: Floats, tolerances: Floats, cells: Codes, values: Floats, marks: Codes) -> None:
    """Write the pattern of every target and row: for so many copies that a table of all patterns has no room."""
    for copy in range(len(cells)):
        for cell in np.unique(cells[copy]):
            low, high = int(first[cell]), int(first[cell + 1])
            if low == high:
                continue
            rows = np.flatnonzero(cells[copy] == cell)
            close = np.ones((high - low, len(rows)), dtype=np.bool_)
            for key in range(len(tolerances)):
                gap = numbers[low:high, key][:, None] - values[copy, rows, key][None, :]
                close &= np.abs(gap) <= tolerances[key]
            marks[low:high, rows] |= close.astype(np.int64) << copy


def _bits(pattern: Codes, copies: int) -> Floats:
    return ((pattern[:, None] >> np.arange(copies)) & 1).astype(np.float64)


def _poisson_quantile(mean: float) -> float:
    from scipy.stats import poisson

    return float(poisson.ppf(CHANCE_LEVEL, mean))
