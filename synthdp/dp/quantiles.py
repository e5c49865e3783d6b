"""DP quantiles by the exponential mechanism, with limits that are quantiles, too.

The candidates t are a public grid between the bounds. The score of t is minus the distance of the target rank to
[#{x < t}, #{x ≤ t}]; one record moves it by at most Δ = 1 under replace and max(q, 1 − q) under add_remove, where the
target moves as well. Choosing t with probability ∝ e^{ε·score/(2Δ)} is ε-DP.

Where the density is smooth near the quantile, the rank of the chosen t errs by Laplace(2Δ/ε). The true quantile has a
binomial rank, near N(nq, nq(1−q)). So a limit aimed at rank nq ∓ w, with w the quantile of the Laplace–normal law, is
on the wrong side of the truth with probability (1 − level)/2: no density has to be estimated, which is why this is used
instead of a parametric bootstrap.

References
----------
Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates", STOC: exponential mechanism
for quantiles. Drechsler, Globus-Harris, McMillan, Sarathy, Smith (2022), "Nonparametric differentially private
confidence intervals for the median", J. Survey Statist. Methodol. 10(3): limits from private order statistics.
"""

import math
from typing import Any

import numpy as np

from synthdp.dp.bounding import Bounded, Limits, bounded, what_of
from synthdp.dp.budgets import Budget
from synthdp.dp.charging import Chargeable, source_for
from synthdp.dp.laws import laplace_normal_quantile
from synthdp.dp.noise import Noise
from synthdp.dp.results import Released
from synthdp.errors import InputError
from synthdp.microdata import Floats
from synthdp.privacy.mechanisms import Adjacency, Source

CANDIDATES = 2001
COUNT_SHARE = 0.1


def quantile(
    values: Any,
    probability: float,
    *,
    bounds: Limits | None,
    epsilon: float,
    candidates: int = CANDIDATES,
    adjacency: Adjacency = "replace",
    level: float = 0.95,
    source: Source | None = None,
    ledger: Chargeable | None = None,
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
    Estimate and both limits cost a third of ε each (under add_remove a tenth goes into the count that the width of the
    interval needs). Cost: O(n log n + candidates).
    """
    budget = Budget(epsilon, 0.0, adjacency, level)
    if not 0 < probability < 1:
        raise InputError(f"probability: must be between 0 and 1, found {probability}.")
    if candidates < 2:
        raise InputError(f"candidates: must be at least 2, found {candidates}.")
    column = bounded(values, bounds, budget)
    source = source_for(source, ledger, budget, what_of(f"quantile {probability:g}", values), column.reason)
    size, rest = float(len(column)), budget
    if not budget.replacing:
        noisy = Noise.for_budget(budget.part(COUNT_SHARE), l1=1.0, l2=1.0).add(np.array([size]), source)
        size, rest = max(float(noisy[0]), 1.0), budget.part(1 - COUNT_SHARE)
    each = rest.part(1 / 3)
    scale = 2 * _sensitivity(probability, budget) / each.epsilon
    spread = math.sqrt(size * probability * (1 - probability))
    shift = laplace_normal_quantile((1 + level) / 2, spread, scale)
    grid = np.linspace(column.low, column.high, candidates)
    below, upto = _ranks(column, grid, probability)
    estimate, low, high = (
        float(grid[source.largest(_scores(below, upto, aim), scale=scale, noise="gumbel")])
        for aim in (0.0, -shift, shift)
    )
    low, high = min(low, high), max(low, high)
    notes = [
        f"one of {candidates} values between the bounds, {column.width / (candidates - 1):.3g} apart",
        "the interval holds sampling and privacy noise; it is for the values as clipped to the bounds",
    ]
    if shift >= size * max(probability, 1 - probability):
        span = f"{2 * shift:.3g} ranks of {size:.0f} records"
        notes.append(f"the interval spans {span}: this result is mostly noise; raise ε")
    return Released(
        f"quantile {probability:g}",
        budget,
        tuple(notes),
        column.reason,
        estimate=min(max(estimate, low), high),
        low=low,
        high=high,
        confidential=column.confidential,
    )


def median(
    values: Any,
    *,
    bounds: Limits | None,
    epsilon: float,
    candidates: int = CANDIDATES,
    adjacency: Adjacency = "replace",
    level: float = 0.95,
    source: Source | None = None,
    ledger: Chargeable | None = None,
) -> Released:
    """Release a median: `quantile` at 1/2."""
    return quantile(
        values,
        0.5,
        bounds=bounds,
        epsilon=epsilon,
        candidates=candidates,
        adjacency=adjacency,
        level=level,
        source=source,
        ledger=ledger,
    )


def choose(column: Bounded, probability: float, budget: Budget, source: Source) -> float:
    """Return one candidate near the quantile by the exponential mechanism, for all of the budget; no interval."""
    grid = np.linspace(column.low, column.high, CANDIDATES)
    scores = _scores(*_ranks(column, grid, probability), 0.0)
    scale = 2 * _sensitivity(probability, budget) / budget.epsilon
    return float(grid[source.largest(scores, scale=scale, noise="gumbel")])


def _sensitivity(probability: float, budget: Budget) -> float:
    return 1.0 if budget.replacing else max(probability, 1 - probability)


def _ranks(column: Bounded, grid: Floats, probability: float) -> tuple[Floats, Floats]:
    """Return #{x < t} and #{x ≤ t} of every candidate, less the rank of the quantile."""
    ordered = np.sort(column.values)
    at = probability * len(ordered)
    below, upto = np.searchsorted(ordered, grid, "left"), np.searchsorted(ordered, grid, "right")
    return np.asarray(below - at, dtype=np.float64), np.asarray(upto - at, dtype=np.float64)


def _scores(below: Floats, upto: Floats, aim: float) -> Floats:
    """Return minus the distance of the aim to [below, upto]."""
    return -np.maximum(np.maximum(below - aim, aim - upto), 0.0)
