"""DP quantiles by the exponential mechanism, with limits that hold whatever the data look like.

The candidates t are a public grid between the bounds. The score of t is minus the distance of the target rank to
[#{x < t}, #{x ≤ t}]; one record moves it by at most Δ = 1 under replace and max(q, 1 − q) under add_remove, where the
target moves as well. Choosing t with probability ∝ e^{ε·score/(2Δ)} is ε-DP. The limits are told by the sparse vector
technique (see ``rank_limits``): no density has to be estimated and no gap between values, which is why this is used
instead of a parametric bootstrap or of the exponential mechanism again.

References
----------
Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates", STOC: exponential mechanism
for quantiles.
"""

from typing import Any, Unpack

import numpy as np

from synthdp.dp.declarations import Bounded, Budget, Limits
from synthdp.dp.noise import Noise
from synthdp.dp.rank_limits import Aims, aims, coarser, limits
from synthdp.dp.request import IntervalPrice, Released, Request, priced
from synthdp.errors import InputError
from synthdp.privacy.mechanisms import Adjacency, Source
from synthdp.table.microdata import Codes, Floats

CANDIDATES = 2001
COUNT_SHARE = 0.1
LIMIT_SHARE = 0.35


@priced(IntervalPrice)
def quantile(
    values: Any,
    probability: float,
    *,
    bounds: Limits | None,
    candidates: int = CANDIDATES,
    **price: Unpack[IntervalPrice],
) -> Released:
    """Release a quantile with an interval for the quantile of the population.

    Parameters
    ----------
    probability
        Which quantile, between 0 and 1.
    candidates
        How many equally spaced values between the bounds can be answered.

    Notes
    -----
    Each limit costs 35% of ε and the estimate the rest (under add_remove a tenth goes into the count that the limits
    need). The interval covers at least at its level, for any distribution, ties and bounds far from the data included;
    reports/dp_quantiles says by how much and how long it is. With few records, a small ε or an extreme quantile a
    limit may be the bound itself; where both would be there is no interval (``low`` and ``high`` are None) and all of
    ε goes into the estimate. Which of these is the case depends on the number of records alone (under add_remove on the
    noisy one), not on their values.
    Cost: O(n log n + candidates).
    """
    request = Request(**price)
    if not 0 < probability < 1:
        raise InputError(f"probability: must be between 0 and 1, found {probability}.")
    if candidates < 2:
        raise InputError(f"candidates: must be at least 2, found {candidates}.")
    budget, column = request.budget, request.column(values, bounds)
    source = request.source(f"quantile {probability:g}", values)
    size, rest, count_scale = float(len(column)), budget, 0.0
    if not budget.replacing:
        noise = Noise.of(budget.part(COUNT_SHARE), 1.0)
        size = max(float(noise.add(np.array([size]), source)[0]), 1.0)
        rest, count_scale = budget.part(1 - COUNT_SHARE), noise.scale
    told = aims(
        size,
        min(probability, 1 - probability),
        level=budget.level,
        epsilon=rest.epsilon,
        share=LIMIT_SHARE,
        count_scale=count_scale,
    )
    grid = np.linspace(column.low, column.high, candidates)
    ordered = np.sort(column.values)
    below, upto = np.searchsorted(ordered, grid, "left"), np.searchsorted(ordered, grid, "right")
    scale = 2 * _sensitivity(probability, budget) / (rest.epsilon - told.limits * told.epsilon)
    estimate = _nearest(grid, below, upto, probability * len(ordered), scale, source)
    if told.limits == 0:
        low = high = None
    else:
        some = coarser(candidates, size * told.epsilon)
        low, high = _limits(
            grid[some], below[some], upto[some], len(ordered), probability, told, budget.adjacency, source
        )
        estimate = min(max(estimate, low), high)
    steps = f"one of {candidates} values between the bounds, {column.width / (candidates - 1):.3g} apart"
    notes = [steps, *_said(told, probability, size, budget)]
    return request.number(f"quantile {probability:g}", notes, estimate, low, high)


@priced(IntervalPrice)
def median(
    values: Any, *, bounds: Limits | None, candidates: int = CANDIDATES, **price: Unpack[IntervalPrice]
) -> Released:
    """Release a median: `quantile` at 1/2."""
    return quantile(values, 0.5, bounds=bounds, candidates=candidates, **price)


def choose(column: Bounded, probability: float, budget: Budget, source: Source) -> float:
    """Return one candidate near the quantile by the exponential mechanism, for all of the budget; no interval."""
    grid = np.linspace(column.low, column.high, CANDIDATES)
    ordered = np.sort(column.values)
    below, upto = np.searchsorted(ordered, grid, "left"), np.searchsorted(ordered, grid, "right")
    scale = 2 * _sensitivity(probability, budget) / budget.epsilon
    return _nearest(grid, below, upto, probability * len(ordered), scale, source)


def _sensitivity(probability: float, budget: Budget) -> float:
    return 1.0 if budget.replacing else max(probability, 1 - probability)


def _nearest(grid: Floats, below: Codes, upto: Codes, rank: float, scale: float, source: Source) -> float:
    """Return a candidate near the rank, by the exponential mechanism."""
    return float(grid[source.largest(_scores(below, upto, rank), scale=scale, noise="gumbel")])


def _scores(below: Floats | Codes, upto: Floats | Codes, aim: float) -> Floats:
    """Return minus the distance of the aim to [below, upto]."""
    return -np.maximum(np.maximum(below - aim, aim - upto), 0.0)


def _limits(
    grid: Floats,
    below: Codes,
    upto: Codes,
    n: int,
    probability: float,
    told: Aims,
    adjacency: Adjacency,
    source: Source,
) -> tuple[float, float]:
    """Return the limits; those of a quantile above the median are mirrored."""
    if probability <= 0.5:
        return limits(below, upto, grid, told, adjacency=adjacency, source=source)
    # of the records seen from above: those beyond -t are all that are not up to t
    left, right = limits(n - upto[::-1], n - below[::-1], -grid[::-1], told, adjacency=adjacency, source=source)
    return -right, -left


def _said(told: Aims, probability: float, size: float, budget: Budget) -> list[str]:
    """Return what a reader should know of the interval."""
    about = f"with {'about ' if not budget.replacing else ''}{size:.0f} records and ε = {budget.epsilon:g}"
    if told.limits == 0:
        return [
            f"no interval: {about} none is narrower than the bounds, and the estimate is mostly noise; raise ε, or use "
            "more records"
        ]
    notes = ["the interval accounts for sampling and privacy noise; it refers to the values as clipped to the bounds"]
    if told.limits == 1:
        lower = (told.low is None) == (probability <= 0.5)
        notes.append(
            f"the {'lower' if lower else 'upper'} limit is the bound itself: {about} no other holds; raise ε for one"
        )
    return notes
