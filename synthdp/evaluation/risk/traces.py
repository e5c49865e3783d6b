"""What the keys of aligned files say about which row is whose: laws of scatter, blocks, and candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.scatter import (
    FOLDS,
    MOST_LEVELS,
    NumericLaw,
    numeric_law,
    pattern_marginal,
    patterns,
    transition,
)
from synthdp.microdata import Codes, Floats, codes, numbers
from synthdp.neighbours.scoring import windows
from synthdp.schema import Column

# outside this share of the observed errors a row is no candidate
OUTSIDE = 1e-4


@dataclass(frozen=True, repr=False)
class Traces:
    """Everything the likelihood attack reads, rows of the copies sorted by block and leading key.

    The fields are what ``neighbours.scoring.score_rows`` takes; ``order`` says which record a sorted row is, and
    ``block_sizes`` how many records agree with each record on the keys that were not changed.
    """

    order: Codes
    folds: Codes
    start: Codes
    stop: Codes
    own: Codes
    centre: Floats
    value: Floats
    bins: Codes
    density: Floats
    level: Codes
    pattern: Codes
    shown: Codes
    kinds: Codes
    transition: Floats
    marginal: Floats
    block_sizes: Codes

    def __repr__(self) -> str:
        return f"Traces({len(self.order)} records)"

    @property
    def work(self) -> float:
        """How many densities a full attack looks up."""
        copies = max(self.value.shape[1], self.shown.shape[2])
        per_pair = max(1, (len(self.value) + len(self.pattern)) * copies)
        return float(np.sum(self.stop - self.start)) * float(per_pair)


@dataclass
class _Gathered:
    """Keys sorted by what was done to them."""

    block: Codes
    levels: list[tuple[Codes, Codes]]
    numbers: list[tuple[Floats, Floats, bool]]


def trace(comparison: Comparison, *, rng: np.random.Generator) -> Traces:
    """Estimate from aligned files how each key scatters, and which rows could be whose.

    Keys that no copy changed make blocks: a row with another value is no candidate. Of the changed numeric keys the
    one whose errors are narrowest against its spread leads: rows are sorted by the mean of their copies, and
    candidates lie within the errors observed but for one in ten thousand.

    Notes
    -----
    O(M n log n) for every key. A missing value is a level of its own: where copies keep the gaps of the original they
    belong to the block, otherwise being missing scatters like a category.
    """
    n = len(comparison.original)
    folds = rng.permutation(n) % FOLDS
    found = _gather(comparison)
    marginal = np.zeros(n)
    laws: list[NumericLaw] = []
    for x, y, _ in found.numbers:
        laws.append(numeric_law(x, y, folds))
        marginal += laws[-1].log_marginal(x, y)
    tables, combined = [], []
    for true, released in found.levels:
        tables.append(transition(true, released, folds, int(max(true.max(), released.max())) + 1))
        combined.append(patterns(released))
        marginal += pattern_marginal(true, *combined[-1], tables[-1])
    lead, at, tolerance = _leading(found, laws)
    order = np.lexsort((lead, found.block)).astype(np.int64)
    start, stop = windows(found.block[order], lead[order], found.block, at, tolerance)
    own = np.empty(n, dtype=np.int64)
    own[order] = np.arange(n)
    copies = len(comparison.copies)
    return Traces(
        order=order,
        folds=folds,
        start=start,
        stop=stop,
        own=own,
        centre=_columns(
            [
                (law.intercept + law.slope * x + law.low) / law.width
                for law, (x, _, _) in zip(laws, found.numbers, strict=True)
            ],
            n,
        ),
        value=_rows([y / law.width for law, (_, y, _) in zip(laws, found.numbers, strict=True)], order, copies),
        bins=np.asarray([law.log_density.shape[1] - 2 for law in laws], dtype=np.int64),
        density=_padded([law.log_density for law in laws], 2),
        level=_columns([true for true, _ in found.levels], n).astype(np.int64),
        pattern=np.stack([one[order] for _, one in combined]) if combined else np.empty((0, n), dtype=np.int64),
        shown=_listed([shown for shown, _ in combined], copies),
        kinds=np.asarray([len(shown) for shown, _ in combined], dtype=np.int64),
        transition=_padded(tables, 3),
        marginal=marginal[order],
        block_sizes=np.bincount(found.block)[found.block],
    )


def unchanged(comparison: Comparison) -> Codes:
    """Return which records agree on every key that no copy changed: the same number for those that do."""
    return _gather(comparison).block


def _gather(comparison: Comparison) -> _Gathered:
    found = _Gathered(np.zeros(len(comparison.original), dtype=np.int64), [], [])
    for key in comparison.schema.keys():
        frames = [comparison.original, *comparison.copies]
        if key.kind.categorical:
            _add_levels(found, _levels(frames, key))
            continue
        values = np.stack([numbers(frame[key.name], key) for frame in frames])
        values[~np.isfinite(values)] = np.nan
        absent = np.isnan(values)
        if absent.any():
            _add_levels(found, absent.astype(np.int64))
        if np.array_equal(values, np.broadcast_to(values[0], values.shape), equal_nan=True):
            found.block = _refined(found.block, pd.factorize(values[0], use_na_sentinel=False)[0])
        elif not absent.all():
            found.numbers.append((values[0], values[1:], bool(np.all(absent == absent[0]))))
    return found


def _add_levels(found: _Gathered, levels: Codes) -> None:
    if np.all(levels == levels[0]):
        found.block = _refined(found.block, levels[0])
    else:
        found.levels.append((levels[0], levels[1:]))


def _levels(frames: Sequence[pd.DataFrame], key: Column) -> Codes:
    """Return a categorical key as small whole numbers; the rarest levels are one where there are too many."""
    coded = np.stack([np.where(frame[key.name].isna(), -2, codes(frame[key.name], key)) for frame in frames])
    same = np.all(coded == coded[0])
    dense = np.asarray(np.unique(coded, return_inverse=True)[1], dtype=np.int64).reshape(coded.shape)
    if same or dense.max() < MOST_LEVELS:
        return dense
    frequent = np.argsort(-np.bincount(dense.ravel()), kind="stable")
    rank = np.empty(len(frequent), dtype=np.int64)
    rank[frequent] = np.arange(len(frequent))
    return np.minimum(rank[dense], MOST_LEVELS - 1)


def _refined(block: Codes, label: Codes) -> Codes:
    return np.asarray(pd.factorize(block * (int(label.max()) + 1) + label)[0], dtype=np.int64)


def _leading(found: _Gathered, laws: Sequence[NumericLaw]) -> tuple[Floats, Floats, float]:
    """Return the rows' leading value, where each target looks for it, and how far around."""
    nothing = np.zeros(len(found.block))
    best: tuple[float, Floats, Floats, float] = (1.0, nothing, nothing, 0.0)
    for law, (x, y, steady) in zip(laws, found.numbers, strict=True):
        if not steady:
            continue
        known = np.isfinite(x)
        mean = np.where(known, y.mean(axis=0), 0.0)
        at = np.where(known, law.intercept + law.slope * x, 0.0)
        errors = (mean - at)[known]
        low = np.quantile(errors, OUTSIDE / 2, method="lower")
        high = np.quantile(errors, 1 - OUTSIDE / 2, method="higher")
        spread = float(mean[known].max() - mean[known].min())
        share = float(high - low) / spread if spread > 0 else 1.0
        if share < best[0]:
            # a hair more, so that rounding excludes nobody's own row
            reach = float(high - low) / 2 + 1e-9 * (1 + abs(float(high)) + abs(float(low)))
            best = (share, mean, np.where(known, at + (low + high) / 2, 0.0), reach)
    return best[1], best[2], best[3]


def _columns(columns: Sequence[Floats] | Sequence[Codes], n: int) -> Floats:
    return np.ascontiguousarray(np.column_stack(columns), dtype=np.float64) if columns else np.empty((n, 0))


def _rows(keys: Sequence[Floats], order: Codes, copies: int) -> Floats:
    """Return sorted rows, key by key and copy by copy."""
    found = np.empty((len(keys), copies, len(order)))
    for place, key in enumerate(keys):
        np.take(key, order, axis=1, out=found[place])
    return found


def _listed(shown: Sequence[Codes], copies: int) -> Codes:
    found = np.zeros((len(shown), max((len(one) for one in shown), default=0), copies), dtype=np.int64)
    for place, one in enumerate(shown):
        found[place, : len(one)] = one
    return found


def _padded(tables: Sequence[Floats], dimensions: int) -> Floats:
    widest = max((table.shape[-1] for table in tables), default=1)
    padded = np.zeros((len(tables), FOLDS, *(widest,) * (dimensions - 1)))
    for position, table in enumerate(tables):
        padded[position][tuple(slice(0, size) for size in table.shape)] = table
    return padded
