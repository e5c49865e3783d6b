"""The intruder who knows how released values scatter around true ones, over shards.

The laws of scatter are learnt from a sample of the records and their rows; the rows that are weighed are all rows. If
the sample is the whole file this is ``identity_likelihood`` to the last digits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.likelihood import FEWEST_TUNED, TEMPERATURES, TUNED_ON, TUNING_PAIRS, LikelihoodRisk
from synthdp.evaluation.risk.scatter import (
    FOLDS,
    MOST_LEVELS,
    NumericLaw,
    numeric_law,
    pattern_marginal,
    patterns,
    transition,
)
from synthdp.evaluation.risk.scoring import sum_rows, windows
from synthdp.evaluation.risk.traces import OUTSIDE
from synthdp.evaluation.sharded.weighing import Weighed
from synthdp.table.coded import Coded, coded, distinct, merge
from synthdp.table.schema import Column, Role

# what a learning sample has at most: of more, laws are told no better
MOST_TAUGHT = 100_000


@dataclass(frozen=True, repr=False)
class Part:
    """One thing that a key shows: a number, a level, or whether a number is missing (``gaps``).

    ``rank`` numbers the levels as the sample has them, most frequent first where there are too many.
    """

    column: Column
    gaps: bool = False
    rank: Codes | None = None

    def __repr__(self) -> str:
        return f"Part({self.column.name})"

    def read(self, file: Coded) -> Floats | Codes:
        """Return the part row by row."""
        if self.gaps:
            return np.isnan(file.finite(self.column)).astype(np.int64)
        if not self.column.kind.categorical:
            return file.finite(self.column)
        found = _levels(file, self.column)
        return found if self.rank is None else self.rank[found]


@dataclass(frozen=True, repr=False)
class Lesson:
    """What a sample of aligned rows teaches: which keys make blocks, how the others scatter, and the key that leads.

    Parameters
    ----------
    blocks, levels, numbers
        Parts of keys that no copy changed; levels that were changed, and numbers.
    tables, laws
        Of levels and numbers.
    true_levels, true_numbers
        Of the sample: what is known of all true values before any row is looked at.
    lead, at, reach
        Which number leads (−1: none), how much its errors are off its law, and how far candidates lie around.
    """

    blocks: tuple[Part, ...]
    levels: tuple[Part, ...]
    numbers: tuple[Part, ...]
    tables: tuple[Floats, ...]
    laws: tuple[NumericLaw, ...]
    true_levels: tuple[Codes, ...]
    true_numbers: tuple[Floats, ...]
    lead: int
    at: float
    reach: float

    def __repr__(self) -> str:
        return f"Lesson({len(self.laws)} numbers, {len(self.tables)} levels)"


def learn(sample: Comparison, folds: Codes, *, wider: float = 1.0) -> Lesson:
    """Learn from aligned rows, as :func:`synthdp.evaluation.risk.traces.trace` does; fold by fold without its own.

    Where rows are weighed that the sample does not hold, own rows may lie farther off than any of the sample's did:
    candidates are then looked for so many times as far around.

    A replaced key that no copy of the sample changed is taken to scatter all the same, for another row may differ.
    """
    blocks: list[Part] = []
    levels: list[tuple[Part, Codes, Codes]] = []
    numbers: list[tuple[Part, Floats, Floats]] = []
    files = [coded(frame) for frame in (sample.original, *sample.copies)]
    for key in sample.schema.keys():
        if key.kind.categorical:
            part = Part(key, rank=_rank(files, key))
            _sort(part, files, blocks, levels, fixed=key.role is not Role.REPLACE)
            continue
        values = np.stack([file.finite(key) for file in files])
        if np.isnan(values).any():
            _sort(Part(key, gaps=True), files, blocks, levels, fixed=True)
        if key.role is not Role.REPLACE and np.array_equal(
            np.broadcast_to(values[0], values[1:].shape), values[1:], equal_nan=True
        ):
            blocks.append(Part(key))
        elif not np.isnan(values).all():
            numbers.append((Part(key), values[0], values[1:]))
    laws = tuple(numeric_law(x, y, folds) for _, x, y in numbers)
    tables = tuple(transition(x, y, folds, int(max(x.max(), y.max())) + 1) for _, x, y in levels)
    lead, at, reach = _leading(numbers, laws)
    return Lesson(
        tuple(blocks),
        tuple(part for part, _, _ in levels),
        tuple(part for part, _, _ in numbers),
        tables,
        laws,
        tuple(x for _, x, _ in levels),
        tuple(x for _, x, _ in numbers),
        *(lead, at, reach * wider),
    )


def look(lesson: Lesson, held: pd.DataFrame, folds: Codes, copies: Sequence[pd.DataFrame], own: Codes) -> Weighed:
    """Return what the rows of a shard weigh for people whose true keys are held.

    Parameters
    ----------
    folds
        Of the targets: each is scored by what other folds taught.
    own
        Which row of the shard is each target's, −1 where it is in another shard.

    Notes
    -----
    O(M n log n), and q·M + p lookups for each pair of a target and a candidate.
    """
    known, rows = coded(held), [coded(copy) for copy in copies]
    n, size = len(rows[0]), len(own)
    block = np.zeros(size + n, dtype=np.int64)
    for part in lesson.blocks:
        block = merge(block, distinct(np.concatenate([part.read(known), part.read(rows[0])])))
    numbers = [np.stack([part.read(row).astype(np.float64) for row in rows]) for part in lesson.numbers]
    marginal = np.zeros(n)
    for law, x, y in zip(lesson.laws, lesson.true_numbers, numbers, strict=True):
        marginal += law.log_marginal(x, y)
    combined = []
    for part, table, true in zip(lesson.levels, lesson.tables, lesson.true_levels, strict=True):
        shown, pattern = patterns(np.stack([np.asarray(part.read(row), dtype=np.int64) for row in rows]))
        marginal += pattern_marginal(
            true, shown, pattern, table if shown.max(initial=0) < len(table[0]) else _wider(table)
        )
        combined.append((shown, pattern))
    lead, at = np.zeros(n), np.zeros(size)
    if lesson.lead >= 0:
        law, x = lesson.laws[lesson.lead], np.asarray(lesson.numbers[lesson.lead].read(known))
        mean = numbers[lesson.lead].mean(axis=0)
        lead = np.where(np.isfinite(mean), mean, 0.0)
        at = np.where(np.isfinite(x), law.intercept + law.slope * x + lesson.at, 0.0)
    order = np.lexsort((lead, block[size:])).astype(np.int64)
    start, stop = windows(block[size:][order], lead[order], block[:size], at, lesson.reach)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    most = max((len(shown) for shown, _ in combined), default=0)
    listed = np.zeros((len(combined), most, len(rows)), dtype=np.int64)
    for key, (shown, _) in enumerate(combined):
        listed[key, : len(shown)] = shown
    value = np.empty((len(numbers), len(rows), n))
    for key, (law, y) in enumerate(zip(lesson.laws, numbers, strict=True)):
        value[key] = y[:, order] / law.width
    found = sum_rows(
        folds,
        start,
        stop,
        np.where(own >= 0, place[own], -1),
        _side([_centre(law, part, known) for law, part in zip(lesson.laws, lesson.numbers, strict=True)], size),
        value,
        np.asarray([law.log_density.shape[1] - 2 for law in lesson.laws], dtype=np.int64),
        _padded([law.log_density for law in lesson.laws], 2),
        _side([np.asarray(part.read(known)) for part in lesson.levels], size).astype(np.int64),
        np.stack([pattern[order] for _, pattern in combined]) if combined else np.empty((0, n), dtype=np.int64),
        listed,
        np.asarray([len(shown) for shown, _ in combined], dtype=np.int64),
        _padded([_wider(table) for table in lesson.tables], 3),
        marginal[order],
        TEMPERATURES,
    )
    return Weighed(found.total, found.largest, found.ties, found.mine)


def risk(found: Weighed, records: int, typical: Booleans, folds: Codes, *, rng: np.random.Generator) -> LikelihoodRisk:
    """Return what the intruder achieves once all shards have been looked at; the temperature is tuned as in memory."""
    tuned_on = int(np.clip(TUNING_PAIRS // records, FEWEST_TUNED, TUNED_ON))
    few = rng.permutation(len(folds))[:tuned_on]
    return found.risk(records, typical, TEMPERATURES, folds=folds, few=few)


def _levels(file: Coded, key: Column) -> Codes:
    return file.codes(key, missing=-2, foreign=-1) + 2


def _rank(files: Sequence[Coded], key: Column) -> Codes:
    """Return the number of each level that the sample has; one more for all that it does not have."""
    counts = np.zeros(len(key.levels) + 2, dtype=np.int64)
    for file in files:
        counts += np.bincount(_levels(file, key), minlength=len(counts))
    seen = np.flatnonzero(counts)
    rank = np.full(len(counts), len(seen), dtype=np.int64)
    rank[seen] = np.arange(len(seen))
    if len(seen) > MOST_LEVELS:
        rank[seen[np.argsort(-counts[seen], kind="stable")]] = np.arange(len(seen))
        rank = np.minimum(rank, MOST_LEVELS - 1)
    return rank


def _sort(
    part: Part,
    files: Sequence[Coded],
    blocks: list[Part],
    levels: list[tuple[Part, Codes, Codes]],
    *,
    fixed: bool,
) -> None:
    true, *shown = (np.asarray(part.read(file), dtype=np.int64) for file in files)
    if fixed and all(np.array_equal(true, one) for one in shown):
        blocks.append(Part(part.column, part.gaps))
    else:
        levels.append((part, true, np.stack(shown)))


def _leading(numbers: Sequence[tuple[Part, Floats, Floats]], laws: Sequence[NumericLaw]) -> tuple[int, float, float]:
    """Return which number leads, and where and how far around a target's value its candidates are."""
    best = (1.0, -1, 0.0, 0.0)
    for place, (law, (_, x, y)) in enumerate(zip(laws, numbers, strict=True)):
        known = np.isfinite(x)
        if not np.all(np.isnan(y) == ~known):
            continue
        mean, at = y.mean(axis=0)[known], (law.intercept + law.slope * x)[known]
        errors = mean - at
        low = float(np.quantile(errors, OUTSIDE / 2, method="lower"))
        high = float(np.quantile(errors, 1 - OUTSIDE / 2, method="higher"))
        spread = float(mean.max() - mean.min())
        share = (high - low) / spread if spread > 0 else 1.0
        if share < best[0]:
            # a hair more, so that rounding excludes nobody's own row
            best = (share, place, (low + high) / 2, (high - low) / 2 + 1e-9 * (1 + abs(high) + abs(low)))
    return best[1:]


def _centre(law: NumericLaw, part: Part, known: Coded) -> Floats:
    return np.asarray((law.intercept + law.slope * np.asarray(part.read(known)) + law.low) / law.width)


def _wider(table: Floats) -> Floats:
    """Return the table with one more level, which the sample did not have: as rare as any."""
    return np.pad(table, ((0, 0), (0, 1), (0, 1)), constant_values=table.min())


def _side(columns: Sequence[Floats], n: int) -> Floats:
    return np.ascontiguousarray(np.column_stack(columns), dtype=np.float64) if columns else np.empty((n, 0))


def _padded(tables: Sequence[Floats], dimensions: int) -> Floats:
    widest = max((table.shape[-1] for table in tables), default=1)
    padded = np.zeros((len(tables), FOLDS, *(widest,) * (dimensions - 1)))
    for position, table in enumerate(tables):
        padded[position][tuple(slice(0, size) for size in table.shape)] = table
    return padded
