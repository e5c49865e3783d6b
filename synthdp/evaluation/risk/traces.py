"""What the keys of aligned files say about which row is whose: laws of scatter, blocks, and candidates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.arrays import Codes, Floats
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.releases import level_marginal_of, number_marginal, shown_by_release, spread_out
from synthdp.evaluation.risk.scatter import (
    FOLDS,
    MOST_LEVELS,
    NumericLaw,
    numeric_law,
    pattern_marginal,
    patterns,
    transition,
)
from synthdp.evaluation.risk.scoring import windows
from synthdp.table.coded import coded, dense, distinct, merge
from synthdp.table.schema import Column

# outside this share of the observed errors a row is no candidate
OUTSIDE = 1e-4


@dataclass(frozen=True, repr=False)
class Traces:
    """Everything the likelihood attack reads, rows of the copies sorted by block and leading key.

    The fields are what ``risk.scoring.score_rows`` takes; ``order`` says which record a sorted row is, and
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
    """Keys sorted by what was done to them; those that were changed once for every release that gave them out.

    ``number_key`` and ``level_key`` say which entries are of one key.
    """

    block: Codes
    levels: list[tuple[Codes, Codes]]
    numbers: list[tuple[Floats, Floats, bool]]
    level_key: list[str]
    number_key: list[str]


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
        law = numeric_law(x, y, folds)
        laws.append(spread_out(law, x) if comparison.origins else law)
    for mine in _together(found.number_key):
        x, ys = found.numbers[mine[0]][0], [found.numbers[k][1] for k in mine]
        told = [laws[k] for k in mine]
        marginal += told[0].log_marginal(x, ys[0]) if len(mine) == 1 else number_marginal(x, ys, told)
    tables = [
        transition(true, released, folds, int(max(true.max(), released.max())) + 1) for true, released in found.levels
    ]
    copies = max((origin.copies for origin in comparison.origins), default=len(comparison.copies))
    nothing = _said_nothing(tables)
    combined = [patterns(_filled(released, copies, nothing).astype(np.int64)) for _, released in found.levels]
    for mine in _together(found.level_key):
        true, of = found.levels[mine[0]][0], [tables[k] for k in mine]
        shown = [found.levels[k][1] for k in mine]
        if not comparison.origins:
            marginal += pattern_marginal(true, *combined[mine[0]], of[0])
        else:
            alone = len(mine) == 1
            marginal += (
                pattern_marginal(true, *patterns(shown[0]), of[0]) if alone else level_marginal_of(true, shown, of)
            )
    lead, at, tolerance = _leading(found, laws)
    order = np.lexsort((lead, found.block)).astype(np.int64)
    start, stop = windows(found.block[order], lead[order], found.block, at, tolerance)
    own = np.empty(n, dtype=np.int64)
    own[order] = np.arange(n)
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
        value=_rows(
            [_filled(y / law.width, copies, np.nan) for law, (_, y, _) in zip(laws, found.numbers, strict=True)],
            order,
            copies,
        ),
        bins=np.asarray([law.log_density.shape[1] - 2 for law in laws], dtype=np.int64),
        density=_padded([law.log_density for law in laws], 2),
        level=_columns([true for true, _ in found.levels], n).astype(np.int64),
        pattern=np.stack([one[order] for _, one in combined]) if combined else np.empty((0, n), dtype=np.int64),
        shown=_listed([shown for shown, _ in combined], copies),
        kinds=np.asarray([len(shown) for shown, _ in combined], dtype=np.int64),
        transition=_padded(tables, 3, least=nothing + 1 if comparison.origins else 1),
        marginal=marginal[order],
        block_sizes=np.bincount(found.block)[found.block],
    )


def unchanged(comparison: Comparison) -> Codes:
    """Return which records agree on every key that no copy changed: the same number for those that do."""
    return _gather(comparison).block


def _gather(comparison: Comparison) -> _Gathered:
    found = _Gathered(np.zeros(len(comparison.original), dtype=np.int64), [], [], [], [])
    for key in comparison.schema.keys():
        frames = [comparison.original, *comparison.copies]
        if key.kind.categorical:
            levels = _levels(frames, key)
            _add_levels(found, key.name, levels[0], shown_by_release(comparison, key.name, levels[1:]))
            continue
        values = np.stack([coded(frame).finite(key) for frame in frames])
        absent = np.isnan(values)
        if absent.any():
            gaps = absent.astype(np.int64)
            _add_levels(found, key.name, gaps[0], shown_by_release(comparison, key.name, gaps[1:]))
        shown = shown_by_release(comparison, key.name, values[1:])
        # what one release of all records gave out as it is, is known
        if any(np.array_equal(np.broadcast_to(values[0], y.shape), y, equal_nan=True) for y in shown):
            found.block = merge(found.block, distinct(values[0]))
        elif not absent.all():
            found.numbers += [(values[0], y, bool(np.all(np.isnan(y) == absent[0]))) for y in shown]
            found.number_key += [key.name] * len(shown)
    return found


def _add_levels(found: _Gathered, name: str, true: Codes, shown: Sequence[Codes]) -> None:
    if any(np.all(released == true) for released in shown):
        found.block = merge(found.block, true)
    else:
        found.levels += [(true, released) for released in shown]
        found.level_key += [name] * len(shown)


def _together(keys: Sequence[str]) -> list[list[int]]:
    """Return which entries are of one key, in the order of keys."""
    return [[place for place, key in enumerate(keys) if key == name] for name in dict.fromkeys(keys)]


def _levels(frames: Sequence[pd.DataFrame], key: Column) -> Codes:
    """Return a categorical key as small whole numbers; the rarest levels are one where there are too many."""
    found = dense(np.stack([coded(frame).codes(key, missing=-2, foreign=-1) + 2 for frame in frames]))
    if np.all(found == found[0]) or found.max() < MOST_LEVELS:
        return found
    frequent = np.argsort(-np.bincount(found.ravel()), kind="stable")
    rank = np.empty(len(frequent), dtype=np.int64)
    rank[frequent] = np.arange(len(frequent))
    return np.minimum(rank[found], MOST_LEVELS - 1)


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


def _filled(shown: Floats | Codes, copies: int, nothing: float) -> Floats:
    """Return a key's copies of one release, and as many that say nothing as the release with most copies has more."""
    if len(shown) == copies:
        return np.asarray(shown, dtype=np.float64)
    return np.vstack([shown, np.full((copies - len(shown), shown.shape[1]), nothing)])


def _said_nothing(tables: Sequence[Floats]) -> int:
    """Return the level of copies that say nothing: beyond all levels, where the padded tables are zero."""
    return max((table.shape[-1] for table in tables), default=0)


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


def _padded(tables: Sequence[Floats], dimensions: int, *, least: int = 1) -> Floats:
    widest = max([table.shape[-1] for table in tables] + [least])
    padded = np.zeros((len(tables), FOLDS, *(widest,) * (dimensions - 1)))
    for position, table in enumerate(tables):
        padded[position][tuple(slice(0, size) for size in table.shape)] = table
    return padded
