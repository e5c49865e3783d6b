"""The intervals of DP statistics: do they cover, and what is lost by ignoring the privacy noise."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp import dp
from synthdp.dp.request import Released
from synthdp.privacy.mechanisms import Adjacency, Simulated
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

N = 1000
EPSILONS = (0.3, 1.0, 3.0)
ADJACENCIES: tuple[Adjacency, ...] = ("replace", "add_remove")
LEVEL = 0.95
BAND = (0.93, 0.97)
SLOPE, RESIDUAL_SD, QUANTILE = 0.5, 0.2, 0.75
INCOME = stats.beta(2, 5)
Z = float(stats.norm.ppf((1 + LEVEL) / 2))


class Interval(NamedTuple):
    """A released interval beside the one that forgets the noise."""

    estimate: float
    low: float
    high: float
    naive_half_below: float
    naive_half_above: float


def limits_of(found: Released) -> tuple[float, float]:
    """Return the limits; none are as good as any number."""
    return (math.nan if found.low is None else found.low), (math.nan if found.high is None else found.high)


def mean_interval(epsilon: float, adjacency: Adjacency, data: np.random.Generator, source: Simulated) -> Interval:
    """Return the interval of a mean of skewed values between 0 and 100."""
    x = 100 * INCOME.rvs(N, random_state=data)
    found = dp.mean(x, bounds=(0, 100), epsilon=epsilon, adjacency=adjacency, source=source)
    half = Z * float(x.std(ddof=1)) / math.sqrt(N)
    return Interval(found.estimate, *limits_of(found), half, half)


def quantile_interval(epsilon: float, adjacency: Adjacency, data: np.random.Generator, source: Simulated) -> Interval:
    """Return the interval of an upper quartile of the same values; naive: that of the order statistics."""
    x = np.sort(100 * INCOME.rvs(N, random_state=data))
    found = dp.quantile(x, QUANTILE, bounds=(0, 100), epsilon=epsilon, adjacency=adjacency, source=source)
    ranks = [int(stats.binom.ppf(tail, N, QUANTILE)) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)]
    at = float(np.quantile(x, QUANTILE))
    below, above = at - float(x[ranks[0] - 1]), float(x[ranks[1]]) - at
    return Interval(found.estimate, *limits_of(found), below, above)


def slope_interval(epsilon: float, adjacency: Adjacency, data: np.random.Generator, source: Simulated) -> Interval:
    """Return the interval of a regression slope."""
    x = data.uniform(-1, 1, N)
    y = 1 + SLOPE * x + RESIDUAL_SD * data.standard_normal(N)
    found = dp.ols(
        y, [x], bounds_y=(-0.5, 2.5), bounds_x=[(-1, 1)], epsilon=epsilon, adjacency=adjacency, source=source
    )
    plain = stats.linregress(x, y)
    half = float(stats.t.ppf((1 + LEVEL) / 2, N - 2) * plain.stderr)
    return Interval(*found["x1"], half, half)


STATISTICS: dict[str, tuple[Callable[..., Interval], float]] = {
    "mean": (mean_interval, 100 * float(INCOME.mean())),
    "quantile 0.75": (quantile_interval, 100 * float(INCOME.ppf(QUANTILE))),
    "ols slope": (slope_interval, SLOPE),
}
CASES = [(name, adjacency, epsilon) for name in STATISTICS for adjacency in ADJACENCIES for epsilon in EPSILONS]


def one_replication(r: int, *, seed: int) -> list[list[float]]:
    """Return covered, width, naive covered and naive width of every case, each on data of its own."""
    streams = Streams(seed)
    rows = []
    for name, adjacency, epsilon in CASES:
        make, truth = STATISTICS[name]
        data = streams.generator("data", name, adjacency, str(epsilon), r)
        source = Simulated(streams.generator("noise", name, adjacency, str(epsilon), r))
        found = make(epsilon, adjacency, data, source)
        low, high = found.estimate - found.naive_half_below, found.estimate + found.naive_half_above
        rows.append(
            [
                float(found.low <= truth <= found.high),
                found.high - found.low,
                float(low <= truth <= high),
                high - low,
                (found.estimate - truth) ** 2,
            ]
        )
    return rows


def summarise(draws: Floats) -> list[dict[str, Any]]:
    """Return coverage with its Monte Carlo error and mean width, released and naive."""
    rows = []
    for (name, adjacency, epsilon), values in zip(CASES, draws.swapaxes(0, 1), strict=True):
        covered = float(values[:, 0].mean())
        rows.append(
            {
                "statistic": name,
                "adjacency": adjacency,
                "epsilon": epsilon,
                "coverage": round(covered, 4),
                "mc_error": round(math.sqrt(covered * (1 - covered) / len(values)), 4),
                "width": round(float(values[:, 1].mean()), 4),
                "naive_coverage": round(float(values[:, 2].mean()), 4),
                "naive_width": round(float(values[:, 3].mean()), 4),
                "rmse": round(math.sqrt(float(values[:, 4].mean())), 4),
            }
        )
    return rows


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    rows = results["rows"]
    inside = sum(BAND[0] <= row["coverage"] <= BAND[1] for row in rows)
    low, high = (pick(row["coverage"] for row in rows) for pick in (min, max))
    worst = min(rows, key=lambda row: row["naive_coverage"])
    return f"""# Do the intervals of DP statistics cover?

n = {settings["n"]}, {settings["replications"]} data sets for each line, nominal 95%. Mean and upper quartile of
100·Beta(2, 5) with bounds 0 to 100; slope of y = 1 + 0.5x + N(0, 0.2²), x uniform on [−1, 1], bounds −0.5 to 2.5 and
−1 to 1. ε pays for estimate and interval together. Noise is simulated (seeded). `naive` puts the interval of ordinary
statistics around the released estimate, as if it had no noise. Regenerate: `python -m reports dp_intervals`.

{table_of(rows)}

* {inside} of {len(rows)} lines lie in [{BAND[0]}, {BAND[1]}]; the lowest coverage is {low}, the highest {high}.
* Intervals of quantiles cover more, because they hold whatever the distribution (reports/dp_quantiles).
* The naive interval covers least for the {worst["statistic"]} at ε = {worst["epsilon"]:g} under {worst["adjacency"]}:
  {worst["naive_coverage"]}.
"""


STUDY = replicated(
    "dp_intervals", 1000, one_replication, summarise, page, seed=20267, n=N, level=LEVEL, noise="simulated"
)
