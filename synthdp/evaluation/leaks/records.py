"""Whether the released records are the original ones: equal rows, equal values, the same order.

The intruder holds ``public/`` only; the scanner also holds the original, and asks whether a release says more about a
record than chance does. Chance is a *stand-in*: a record whose replaced values are almost the same. A mask and a
smooth model cannot tell a record from its stand-in, so a released value equals the stand-in's as often as the record's
own; a value that was copied does not. Ties and rounding hit both alike, so natural coincidences are not flagged.
"""

from collections.abc import Iterator

import numpy as np

from synthdp.evaluation.leaks.finding import (
    NEIGHBOURS,
    Kind,
    Leak,
    chance_limit,
    correlation_limit,
    poisson_limit,
    rank_correlation,
    ties_explain,
)
from synthdp.evaluation.leaks.pairing import Beside, mark, scaled, stand_ins
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column

FEW = 10  # fewer linked records than this say nothing
RARE = 3  # a value that so many records share gives nobody away
FINEST_SHARE, FINEST_LEAST = 0.1, 30
CHANGES_EXPECTED = 20
# under a narrow mask a coarse value comes back to its own record a little more often than to a stand-in, and in a large
# file even that would be beyond chance
LIKELIER_ROWS, LIKELIER_VALUES = 2.0, 1.5
MOST_ROWS = 20_000  # more records tell what is true of most of them no better, and take longer


def verbatim_counts(pair: Beside, *, level: float, rng: np.random.Generator) -> tuple[int, int] | None:
    """Return how many records a row equals in every column, and how many may be by chance.

    None when the files cannot tell: nothing was replaced, or kept columns do not tell records apart. O(n log n).
    """
    if not pair.original or len(np.unique(pair.kept)) < 2 or len(pair.kept) < FEW:
        return None
    asked = np.flatnonzero(pair.given_out())
    if not len(asked):
        return 0, 0
    values = np.column_stack([scaled(values) for values in pair.original.values()])
    near = stand_ins(values, rng=rng, rows=asked)
    found = mark(pair, asked, near)
    hits = int(found.others.sum())
    limit = chance_limit(hits, times=near.shape[1], most=len(pair.kept), level=level, likelier=LIKELIER_ROWS)
    return int(found.own.sum()), limit


def verbatim_rows(pair: Beside, *, level: float, rng: np.random.Generator) -> Iterator[Leak]:
    """Find rows that equal an original record in every column."""
    found, limit = verbatim_counts(pair, level=level, rng=rng) or (0, 0)
    if found > limit:
        rows = len(pair.kept_copy)
        yield Leak(
            Kind.ROWS,
            pair.name,
            f"{found} of {rows} rows equal an original record in every column (chance gives up to {limit}).",
        )


def verbatim_values(pair: Beside, column: Column, *, level: float, rng: np.random.Generator) -> Iterator[Leak]:
    """Find values that stayed with their record, and values of other records that only copying can explain."""
    rows, records = pair.links
    x, released = pair.original[column.name][records], pair.copy[column.name][rows]
    present = np.isfinite(x) & np.isfinite(released)
    x, released = _some(x[present], released[present], rng=rng)
    if len(x) >= FEW:
        yield from _stayed(pair.name, column, x, released, level=level, rng=rng)
    if not column.kind.categorical:
        copy = pair.copy[column.name]
        yield from _donated(pair.name, column, pair.original[column.name], _some(copy, copy, rng=rng)[0], level=level)


def row_order(pair: Beside, *, level: float, rng: np.random.Generator) -> Iterator[Leak]:
    """Find rows that stand where their records stood, or in an order that follows it."""
    size = min(len(pair.kept), len(pair.kept_copy))
    if size < FEW:
        return
    found = _in_place(pair.name, pair.kept[:size], pair.kept_copy[:size], "the original", level=level)
    if found is not None:
        yield found
        return
    rows, records = pair.links
    orders = [(rows.astype(np.float64), records.astype(np.float64))] if len(rows) >= FEW else []
    for name, values in pair.original.items():
        present = np.isfinite(values[:size]) & np.isfinite(pair.copy[name][:size])
        orders.append((values[:size][present], pair.copy[name][:size][present]))
    for everyone, beside in orders:
        a, b = _some(everyone, beside, rng=rng)
        share = level / len(orders)
        limit = correlation_limit(len(a), level=share)
        strength = abs(rank_correlation(a, b))
        if len(a) >= FEW and strength > limit and not ties_explain(a, b, level=share, rng=rng):
            yield Leak(
                Kind.ORDER,
                pair.name,
                f"the order of the rows follows the original's (correlation {strength:.2f}, chance gives up to "
                f"{limit:.2f}).",
            )
            return


def same_order(first: Beside, second: Beside, *, level: float) -> Iterator[Leak]:
    """Find two copies whose rows stand in one order: their average undoes part of the mask."""
    if len(first.kept_copy) == len(second.kept_copy) >= FEW:
        # both were numbered beside the same original, but a combination absent from it may have another number
        known = np.isin(first.kept_copy, first.kept) & np.isin(second.kept_copy, second.kept)
        a, b = _renumbered(first)[known], _renumbered(second)[known]
        found = _in_place(second.name, a, b, first.name, level=level)
        if found is not None:
            yield found


def _stayed(
    name: str, column: Column, x: Floats, released: Floats, *, level: float, rng: np.random.Generator
) -> Iterator[Leak]:
    shares = np.unique(x, return_counts=True)[1] / len(x)
    found = int(np.sum(x == released))
    if found == len(x) and len(x) * (1 - np.sum(shares**2)) >= CHANGES_EXPECTED:
        yield Leak(Kind.VALUES, name, f"{column.name} is unchanged in all {len(x)} records that can be linked.")
        return
    near = stand_ins(scaled(x)[:, None], rng=rng)
    hits = int(np.sum(released[near] == x[:, None]))
    limit = chance_limit(hits, times=near.shape[1], most=len(x), level=level, likelier=LIKELIER_VALUES)
    if found > limit:
        yield Leak(
            Kind.VALUES,
            name,
            f"{found} of {len(x)} records that can be linked have their own value of {column.name} "
            f"(chance gives up to {limit}).",
        )


def _donated(name: str, column: Column, original: Floats, copy: Floats, *, level: float) -> Iterator[Leak]:
    """Compare how often a released value is somebody's with how often a value a few steps beside it is."""
    original, copy = original[np.isfinite(original)], copy[np.isfinite(copy)]
    distinct, holders = np.unique(original, return_counts=True)
    if len(distinct) < max(FINEST_LEAST, FINEST_SHARE * len(original)) or not len(copy):
        return
    scale = 10.0**column.decimals if column.decimals is not None else 1.0
    gap = np.diff(distinct).min()
    # bounds heap up what was drawn beyond them
    edges = [copy.min(), copy.max(), *(column.bounds or ())]
    rare, inside = distinct[(holders < RARE) & ~np.isin(distinct, edges)], copy[~np.isin(copy, edges)]

    def members(values: Floats) -> int:
        if column.decimals is None:
            return int(np.isin(values, rare).sum())
        return int(np.isin(np.round(values * scale), np.round(rare * scale)).sum())

    shifts = [step for step in range(-NEIGHBOURS // 2, NEIGHBOURS // 2 + 1) if step]
    hits = sum(members(inside + step * gap) for step in shifts)
    found = members(inside)
    limit = chance_limit(hits, times=len(shifts), most=len(inside), level=level, likelier=LIKELIER_VALUES)
    if found > limit:
        yield Leak(
            Kind.VALUES,
            name,
            f"{found} of {len(copy)} values of {column.name} are to the last digit values that fewer than {RARE} "
            f"original records hold (chance gives up to {limit}).",
        )


def _some(a: Floats, b: Floats, *, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return pairs of values, so many drawn at random where there are more."""
    if len(a) <= MOST_ROWS:
        return a, b
    chosen = rng.choice(len(a), MOST_ROWS, replace=False)
    return a[chosen], b[chosen]


def _in_place(name: str, a: Codes, b: Codes, whose: str, *, level: float) -> Leak | None:
    if len(a) < FEW:
        return None
    size = int(max(a.max(), b.max())) + 2
    mean = float(np.bincount(a + 1, minlength=size) @ np.bincount(b + 1, minlength=size)) / len(a)
    found, limit = int(np.sum(a == b)), poisson_limit(mean, level=level)
    if found <= limit:
        return None
    return Leak(
        Kind.ORDER,
        name,
        f"{found} of {len(a)} rows have the kept values of the same row of {whose} (chance gives up to {limit}).",
    )


def _renumbered(pair: Beside) -> Codes:
    """Return each released row's combination as the place of its first record in the original, -1 if there is none."""
    values, first = np.unique(pair.kept, return_index=True)
    place = np.clip(np.searchsorted(values, pair.kept_copy), 0, len(values) - 1)
    return np.where(values[place] == pair.kept_copy, first[place], -1).astype(np.int64)
