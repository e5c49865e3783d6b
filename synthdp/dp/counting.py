"""DP counts, histograms and sums: what is in the file, with intervals of the privacy noise alone.

These describe the records at hand, not a population they were sampled from, so nothing but the noise is uncertain.
Counts get discrete Laplace noise, P(Z = z) ∝ e^{−|z|/b} (the geometric mechanism; Ghosh, Roughgarden & Sundararajan
2012, SIAM J. Comput. 41(6)), which is safe in floating point because it is an integer.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Unpack

import numpy as np
import pandas as pd

from synthdp.dp.declarations import Budget, Limits
from synthdp.dp.noise import Noise
from synthdp.dp.request import (
    IntervalPrice,
    NoisePrice,
    Released,
    ReleasedTable,
    Request,
    below_noise,
    mostly_noise,
    priced,
)
from synthdp.errors import InputError

IN_THE_FILE = "the interval is for the records in the file: it accounts for the privacy noise, not for sampling"
A_MEAN_CELL = "a mean cell of the released histogram holds"
MOST_CELLS = 10**6


@priced(IntervalPrice)
def count(values: Any, *, equals: object = None, **price: Unpack[IntervalPrice]) -> Released:
    """Count the records that have a value, or that have this value.

    Parameters
    ----------
    values
        One column.
    equals
        Count the records with this value; without it, those whose value is not missing.

    Notes
    -----
    One record moves a count by 1 under both adjacencies. Cost: O(n).
    """
    request = Request(**price)
    budget = request.budget
    column = pd.Series(values)
    flags = column.notna() if equals is None else _labels(column, column) == _labels(pd.Series([equals]), column)[0]
    source = request.source("count", values)
    noisy = source.discrete_laplace(np.array([int(flags.sum())]), scale=1 / budget.epsilon)
    reach = discrete_laplace_reach(1 / budget.epsilon, budget.level)
    estimate = max(int(noisy[0]), 0)
    notes = _noisy(math.sqrt(2) / budget.epsilon, budget, len(column), estimate, "possible counts")
    limits = (float(max(int(noisy[0]) + moved, 0)) for moved in (-reach, reach))
    noise_sd = _discrete_sd(1 / budget.epsilon)
    return request.number("count", [IN_THE_FILE, *notes], float(estimate), *limits, noise_sd=noise_sd, sampling_sd=0.0)


@priced(NoisePrice)
def total(values: Any, *, bounds: Limits | None, **price: Unpack[NoisePrice]) -> Released:
    """Add up a column: noise of scale (high − low)/ε under replace, max(|low|, |high|)/ε under add_remove.

    Known as ``synthdp.dp.sum``. Cost: O(n).
    """
    request = Request(**price)
    budget, column = request.budget, request.column(values, bounds)
    reach = column.width if budget.replacing else max(abs(column.low), abs(column.high))
    noise = Noise.of(budget, reach)
    source = request.source("sum", values)
    estimate = float(noise.add(np.array([math.fsum(column.values)]), source)[0])
    half = noise.quantile((1 + budget.level) / 2, sd=0.0)
    notes = _noisy(noise.sd, budget, column.width * len(column), estimate, "possible sums")
    limits = estimate - half, estimate + half
    return request.number("sum", [IN_THE_FILE, *notes], estimate, *limits, noise_sd=noise.sd, sampling_sd=0.0)


@priced(IntervalPrice)
def histogram(
    values: Any,
    *,
    edges: Sequence[float] | None = None,
    levels: Sequence[object] | None = None,
    **price: Unpack[IntervalPrice],
) -> ReleasedTable:
    """Count the records of every cell of a fixed partition.

    One record is in one cell, so the ℓ1 sensitivity is 1 under add_remove, and 2 under replace, where a record may
    leave one cell and enter another.

    Parameters
    ----------
    edges
        Increasing edges of the bins, closed on the left (the last on both sides), fixed without looking at the data;
        values outside count in the nearest bin.
    levels
        Or the levels of a categorical column; values that are none of them, and missing ones, count in ``other``.

    Notes
    -----
    Every interval holds with probability ``level`` on its own. Cost: O(n + cells).
    """
    request = Request(**price)
    budget = request.budget
    names, counts, apart = _cells(values, edges, levels)
    scale = (2 if budget.replacing else 1) / budget.epsilon
    noisy = request.source("histogram", values).discrete_laplace(counts, scale=scale)
    reach = discrete_laplace_reach(scale, budget.level)
    mean_cell = max(float(noisy.sum()), 0.0) / len(names)
    notes = below_noise(scale * math.sqrt(2), mean_cell, A_MEAN_CELL)
    cells = (np.maximum(noisy + moved, 0).astype(float) for moved in (0, -reach, reach))
    request.confidential = apart
    said = [IN_THE_FILE, "each interval is valid on its own", *notes]
    parts = {"noise_sd": np.full(len(names), _discrete_sd(scale)), "sampling_sd": np.zeros(len(names))}
    return request.table("histogram", said, names, *cells, **parts)


def _noisy(noise_sd: float, budget: Budget, width: float, estimate: float, what: str) -> tuple[str, ...]:
    """Return a note on too much noise: beside everything that is possible where n is public, else beside the result."""
    if budget.replacing:
        return mostly_noise(noise_sd, width, what)
    if abs(estimate) > 2 * noise_sd:
        return ()
    return (f"the noise has sd {noise_sd:.3g} and the result is within two of 0: it may be mostly noise; raise ε",)


def _discrete_sd(scale: float) -> float:
    """Return the standard deviation of discrete Laplace noise, 1/(√2 sinh(1/2·scale))."""
    return math.sqrt(2) * math.exp(-1 / (2 * scale)) / -math.expm1(-1 / scale)


def discrete_laplace_reach(scale: float, level: float) -> int:
    """Return the smallest k with P(|Z| ≤ k) ≥ level: P(|Z| > k) = 2 p^{k+1}/(1 + p), p = e^{−1/scale}."""
    p = math.exp(-1 / scale)
    tail = (1 - level) * (1 + p) / 2
    return max(math.ceil(-scale * math.log(tail) - 1 - 1e-12), 0)


def _labels(values: pd.Series, column: pd.Series) -> "np.ndarray[Any, np.dtype[np.object_]]":
    """Return values as text that can be compared: 1, 1.0 and "1" are the same where the column holds numbers."""
    texts = values.astype(str)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        numbers = pd.to_numeric(values, errors="coerce")
        texts = texts.where(numbers.isna(), numbers.map(lambda number: f"{number:.15g}"))
    # a missing value must not be taken for a level that is spelt like it
    return np.asarray(texts.astype(object).where(values.notna(), np.nan), dtype=object)


def _cells(
    values: Any, edges: Sequence[float] | None, levels: Sequence[object] | None
) -> tuple[tuple[str, ...], np.ndarray[Any, np.dtype[np.int64]], tuple[str, ...]]:
    if (edges is None) == (levels is None):
        raise InputError(
            "histogram: give either edges, for numbers, or levels, for categories, known without the data."
        )
    if getattr(values, "ndim", 1) != 1:
        raise InputError(f"values: must be one column, found {values.ndim} dimensions.")
    if levels is not None:
        if isinstance(levels, str) or not len(levels):
            raise InputError("levels: must be a list of levels, such as ['f', 'm'].")
        known = _labels(pd.Series(list(levels), dtype=object), pd.Series(values)).tolist()
        if len(set(known)) < len(known) or "other" in known:
            raise InputError("levels: must differ from each other and from other, which is kept for the rest.")
        column = pd.Series(values)
        codes = pd.Index(known).get_indexer(pd.Index(_labels(column, column)))
        counts = np.bincount(np.where(codes < 0, len(known), codes), minlength=len(known) + 1)
        rest = int(counts[-1])
        said = (f"values: {rest} of {len(column)} are none of the levels, or missing",) if rest else ()
        return (*known, "other"), counts.astype(np.int64), said
    limits = np.asarray(edges, dtype=np.float64)
    if limits.ndim != 1 or len(limits) < 2 or not np.isfinite(limits).all() or (np.diff(limits) <= 0).any():
        raise InputError("edges: must be two or more increasing finite numbers.")
    if len(limits) > MOST_CELLS:
        raise InputError(f"edges: at most {MOST_CELLS:,} cells, found {len(limits) - 1:,}.")
    # records without a value are in no cell: leaving one out moves the counts no further than leaving any other out
    numbers = pd.to_numeric(pd.Series(values), errors="coerce").to_numpy(dtype=np.float64)
    gaps = int(np.isnan(numbers).sum())
    numbers = numbers[~np.isnan(numbers)]
    outside = int(np.sum((numbers < limits[0]) | (numbers > limits[-1])))
    counts, _ = np.histogram(np.clip(numbers, limits[0], limits[-1]), bins=limits)
    lines = []
    if outside:
        lines.append(f"values: {outside} of {len(numbers)} were outside the edges and count in the nearest bin")
    if gaps:
        lines.append(f"values: {gaps} are missing or not numbers and are in no bin")
    names = [f"{low:g} to {high:g}" for low, high in pairwise(limits)]
    return tuple(names), counts.astype(np.int64), tuple(lines)
