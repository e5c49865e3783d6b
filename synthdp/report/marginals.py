"""Each replaced column, original against copies, reduced to counts: no record reaches the page."""

import math
from dataclasses import astuple, dataclass
from typing import Literal

import numpy as np
import pandas as pd

from synthdp.arrays import Floats
from synthdp.evaluation.comparison import Comparison
from synthdp.table.coded import MISSING, coded, codes, numbers
from synthdp.table.schema import Column, Kind

MOST_BINS = 40
MOST_LEVELS = 12
SKEWED = 20.0

Scale = Literal["linear", "log", "date"]


@dataclass(frozen=True)
class Summary:
    """Moments and quantiles of one numeric column; ``missing`` is a share of all records."""

    mean: float
    sd: float
    q05: float
    median: float
    q95: float
    missing: float


@dataclass(frozen=True)
class Histogram:
    """Shares of records per bin.

    On a ``log`` scale the edges are log(1 + x - origin), otherwise x itself (days since 1970 for dates). Copies may
    go below the origin of a log scale; ``clipped`` says that the first bin holds such values. ``zeros`` is the share
    of exact zeros, which one bin cannot show, in the original and on average in the copies of a semicontinuous column.
    """

    column: Column
    scale: Scale
    origin: float
    clipped: bool
    edges: tuple[float, ...]
    original: tuple[float, ...]
    copies: tuple[tuple[float, ...], ...]
    summaries: tuple[Summary, Summary]
    zeros: tuple[float, float] | None = None


@dataclass(frozen=True)
class Shares:
    """Shares of records per level: the common ones, then all others together, then missing values.

    ``common`` counts the levels shown one by one; the others together would dwarf them in a plot.
    """

    column: Column
    levels: tuple[str, ...]
    common: int
    original: tuple[float, ...]
    copies: tuple[tuple[float, ...], ...]


Marginal = Histogram | Shares


def marginals(comparison: Comparison) -> tuple[Marginal, ...]:
    """Return the marginal of every replaced column."""
    return tuple(_marginal(comparison, column) for column in comparison.schema.replaced())


def differing(comparison: Comparison) -> tuple[Marginal, ...]:
    """Return the marginal of every kept column in which a copy has other shares than the original.

    Rows need not be aligned; O(n) for each column and file.
    """
    found = (_marginal(comparison, column) for column in comparison.schema.kept())
    return tuple(
        shape
        for shape in found
        if not all(np.allclose(shape.original, copy, rtol=0, atol=1e-12) for copy in shape.copies)
    )


def _marginal(comparison: Comparison, column: Column) -> Marginal:
    return _shares(comparison, column) if column.kind.categorical else _histogram(comparison, column)


def kept_but_changed(comparison: Comparison) -> tuple[str, ...]:
    """Return kept columns in which an aligned copy differs from the original; rows must be aligned."""
    return tuple(
        column.name
        for column in comparison.schema.kept()
        if not all(_same(comparison.original[column.name], copy[column.name], column) for copy in comparison.copies)
    )


def _same(original: pd.Series, copy: pd.Series, column: Column) -> bool:
    if original.equals(copy):
        return True
    if len(original) != len(copy) or not np.array_equal(original.isna().to_numpy(), copy.isna().to_numpy()):
        return False
    if column.kind.categorical:
        return np.array_equal(codes(original, column), codes(copy, column))
    return np.array_equal(numbers(original, column), numbers(copy, column), equal_nan=True)


def _histogram(comparison: Comparison, column: Column) -> Histogram:
    files = [coded(frame).numbers(column) for frame in (comparison.original, *comparison.copies)]
    present = [values[np.isfinite(values)] for values in files]
    filled = [values for values in present if values.size]
    low = min((float(values.min()) for values in filled), default=0.0)
    high = max((float(values.max()) for values in filled), default=1.0)
    scale, origin = _scale(column, present[0])
    clipped = scale == "log" and low < origin
    if scale == "log":
        present = [np.log1p(np.maximum(values - origin, 0.0)) for values in present]
        low, high = (math.log1p(max(edge - origin, 0.0)) for edge in (low, high))
    whole = scale != "log" and (column.decimals == 0 or column.kind is Kind.DATE)
    start, step, bins = _bins(low, high, len(files[0]), whole=whole)
    shares = [_bin_shares(values, start, step, bins) for values in present]
    summaries = [_summary(values) for values in files]
    copies = summaries[1:] or [_summary(np.empty(0))]
    return Histogram(
        column=column,
        scale=scale,
        origin=origin,
        clipped=clipped,
        edges=tuple(start + step * k for k in range(bins + 1)),
        original=shares[0],
        copies=tuple(shares[1:]),
        summaries=(summaries[0], _mean_summary(copies)),
        zeros=_zeros(files) if column.kind is Kind.SEMICONTINUOUS else None,
    )


def _zeros(files: list[Floats]) -> tuple[float, float]:
    original, *copies = (float((values == 0).sum()) / max(int(np.isfinite(values).sum()), 1) for values in files)
    return original, float(np.mean(copies)) if copies else math.nan


def _scale(column: Column, original: Floats) -> tuple[Scale, float]:
    if column.kind is Kind.DATE:
        return "date", 0.0
    if original.size == 0:
        return "linear", 0.0
    if column.transform == "log" and column.bounds is not None:
        return "log", column.bounds[0]
    # one long tail would squeeze everybody else into the first bar
    median, tail = np.quantile(original, (0.5, 0.99))
    skewed = original.min() >= 0 and tail > SKEWED * max(float(median), 1.0)
    return ("log", 0.0) if skewed else ("linear", 0.0)


def _bins(low: float, high: float, records: int, *, whole: bool) -> tuple[float, float, int]:
    """Return start, width and number of equal bins with round edges (Rice's rule, at most 40)."""
    if whole and high - low < MOST_BINS:
        return math.floor(low) - 0.5, 1.0, math.ceil(high) - math.floor(low) + 1
    target = min(max(2 * records ** (1 / 3), 8), MOST_BINS - 10)
    step = _round_step((high - low) / target if high > low else 1.0)
    step = max(round(step), 1) if whole else step
    start = math.floor(low / step) * step - (0.5 if whole else 0.0)
    return start, step, math.floor((high - start) / step) + 1


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(nice * power for nice in (1.0, 2.0, 2.5, 5.0, 10.0) if nice * power >= step * (1 - 1e-9))


def _bin_shares(values: Floats, start: float, step: float, bins: int) -> tuple[float, ...]:
    if values.size == 0:
        return (0.0,) * bins
    places = np.clip(((values - start) / step).astype(np.int64), 0, bins - 1)
    return tuple(float(share) for share in np.bincount(places, minlength=bins) / values.size)


def _summary(values: Floats) -> Summary:
    present = values[np.isfinite(values)]
    if present.size == 0:
        return Summary(math.nan, math.nan, math.nan, math.nan, math.nan, 1.0)
    q05, median, q95 = (float(q) for q in np.quantile(present, (0.05, 0.5, 0.95)))
    missing = 1.0 - present.size / values.size
    return Summary(float(present.mean()), float(present.std()), q05, median, q95, missing)


def _mean_summary(copies: list[Summary]) -> Summary:
    return Summary(*(float(np.mean(figures)) for figures in zip(*map(astuple, copies), strict=True)))


def _shares(comparison: Comparison, column: Column) -> Shares:
    files = [_level_shares(frame[column.name], column) for frame in (comparison.original, *comparison.copies)]
    names = [str(level) for level in column.levels]
    shown = list(range(len(names)))
    if len(names) > MOST_LEVELS:
        common = np.argsort(-files[0][:-1], kind="stable")[: MOST_LEVELS - 1]
        shown = sorted(int(place) for place in common)
    others, missing = len(shown) < len(names), any(file[-1] > 0 for file in files)
    labels = [names[place] for place in shown]
    labels += [f"all other {len(names) - len(shown):,} levels"] if others else []
    labels += ["missing"] if missing else []
    original, *copies = (_cells(file, shown, others=others, missing=missing) for file in files)
    return Shares(column, tuple(labels), len(shown), original, tuple(copies))


def _cells(file: Floats, shown: list[int], *, others: bool, missing: bool) -> tuple[float, ...]:
    cells = [float(file[place]) for place in shown]
    rest = [max(float(file[:-1].sum()) - sum(cells), 0.0)] if others else []
    return (*cells, *rest, *([float(file[-1])] if missing else []))


def _level_shares(series: pd.Series, column: Column) -> Floats:
    """Return the share of each level, and of missing or unknown values in the last place."""
    counts = series.value_counts(dropna=False)
    # counting distinct values first makes a million rows of text cheap
    places = codes(pd.Series(counts.index), column)
    places = np.where(places == MISSING, len(column.levels), places)
    tally = np.bincount(places, weights=counts.to_numpy(np.float64), minlength=len(column.levels) + 1)
    return np.asarray(tally / max(len(series), 1), dtype=np.float64)
