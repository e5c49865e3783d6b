"""Whether the intervals of DP quantiles cover, at extreme quantiles and with few records too, and how long they are.

``before`` is how limits were told until now: by the exponential mechanism, aimed at ranks of a Laplace-normal law.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from reports.markdown import table
from reports.study import Results, replicated
from synthdp import dp
from synthdp.dp.noise import laplace_normal_quantile
from synthdp.privacy.mechanisms import Adjacency, Simulated
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

SIZES = (30, 100, 300, 1000, 10_000)
EPSILONS = (0.1, 0.5, 1.0, 3.0)
ADJACENCIES: tuple[Adjacency, ...] = ("replace", "add_remove")
PROBABILITIES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
LEVEL, CANDIDATES = 0.95, 2001
Draw = Callable[[int, np.random.Generator], Floats]
# a rule to draw n values, the quantiles of the population, and the bounds
DATA: dict[str, tuple[Draw, Callable[[float], float], tuple[float, float]]] = {
    "normal": (lambda n, rng: rng.standard_normal(n), lambda q: float(stats.norm.ppf(q)), (-6.0, 6.0)),
    "lognormal": (lambda n, rng: rng.lognormal(size=n), lambda q: float(stats.lognorm.ppf(q, 1)), (0.0, 100.0)),
    "ties": (
        lambda n, rng: rng.poisson(3, n).astype(np.float64),
        lambda q: float(stats.poisson.ppf(q, 3)),
        (0.0, 20.0),
    ),
    "narrow": (lambda n, rng: rng.random(n), lambda q: q, (-5.0, 10.0)),
}
CASES = [(adjacency, epsilon, n) for adjacency in ADJACENCIES for epsilon in EPSILONS for n in SIZES]


def before(
    x: Floats,
    probability: float,
    bounds: tuple[float, float],
    epsilon: float,
    adjacency: Adjacency,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the limits as they were told before; for comparison only."""
    grid, ordered, size = np.linspace(*bounds, CANDIDATES), np.sort(np.clip(x, *bounds)), float(len(x))
    each = epsilon / 3
    if adjacency == "add_remove":
        size, each = max(size + rng.laplace(scale=10 / epsilon), 1.0), 0.9 * epsilon / 3
    scale = 2 * (1.0 if adjacency == "replace" else max(probability, 1 - probability)) / each
    shift = laplace_normal_quantile((1 + LEVEL) / 2, math.sqrt(size * probability * (1 - probability)), scale)
    below, upto = (np.searchsorted(ordered, grid, side) - probability * len(x) for side in ("left", "right"))
    limits = []
    for aim in (-shift, shift):
        scores = -np.maximum(np.maximum(below - aim, aim - upto), 0.0)
        limits.append(float(grid[np.argmax(scores / scale + rng.gumbel(size=CANDIDATES))]))
    return min(limits), max(limits)


def plain(x: Floats, probability: float, bounds: tuple[float, float]) -> float:
    """Return the length of the interval of order statistics that ordinary statistics would give."""
    n, ordered = len(x), np.sort(np.clip(x, *bounds))
    low, high = (int(stats.binom.ppf(tail, n, probability)) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    left = float(ordered[low - 1]) if low > 0 else bounds[0]
    right = float(ordered[high]) if high < n else bounds[1]
    return max(right - left, (bounds[1] - bounds[0]) / (CANDIDATES - 1))


def one_replication(r: int, *, seed: int) -> Floats:
    """Return, for every case, distribution and quantile: covered before, length ratio before, both now; NaN for none.

    Cases × distributions × quantiles × 4.
    """
    found = np.full((len(CASES), len(DATA), len(PROBABILITIES), 4), np.nan)
    for c, (adjacency, epsilon, n) in enumerate(CASES):
        for d, (name, (draw, ppf, bounds)) in enumerate(DATA.items()):
            x = draw(n, Streams(seed).generator("data", name, adjacency, str(epsilon), n, r))
            rng = Streams(seed).generator("noise", name, adjacency, str(epsilon), n, r)
            for p, q in enumerate(PROBABILITIES):
                usual, truth = plain(x, q, bounds), ppf(q)
                limits: list[tuple[float | None, float | None]] = [before(x, q, bounds, epsilon, adjacency, rng)]
                released = dp.quantile(x, q, bounds=bounds, epsilon=epsilon, adjacency=adjacency, source=Simulated(rng))
                limits.append((released.low, released.high))
                for k, (low, high) in enumerate(limits):
                    if low is not None and high is not None:
                        # the grid is not exact in its last digit
                        covered = low - 1e-9 <= truth <= high + 1e-9
                        found[c, d, p, 2 * k : 2 * k + 2] = covered, (high - low) / usual
    return found


def summarise(draws: Floats) -> list[dict[str, Any]]:
    """Return coverage and median length, before and now, and how often there was no interval."""
    rows = []
    for c, (adjacency, epsilon, n) in enumerate(CASES):
        for d, name in enumerate(DATA):
            for p, q in enumerate(PROBABILITIES):
                one = draws[:, c, d, p]
                given = ~np.isnan(one[:, 2])
                rows.append(
                    {
                        "adjacency": adjacency,
                        "epsilon": epsilon,
                        "n": n,
                        "data": name,
                        "q": q,
                        "before": round(float(one[:, 0].mean()), 4),
                        "before_length": round(float(np.median(one[:, 1])), 2),
                        "given": round(float(given.mean()), 4),
                        # too few intervals to judge are not judged
                        "coverage": round(float(one[given, 2].mean()), 4) if given.mean() >= 0.2 else None,
                        "length": round(float(np.median(one[given, 3])), 2) if given.any() else None,
                    }
                )
    return rows


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    rows = results["rows"]
    judged = [row for row in rows if row["coverage"] is not None]
    low = min(row["coverage"] for row in judged)
    missed = sum(row["before"] < 0.93 for row in rows)
    error = math.sqrt(0.95 * 0.05 / settings["replications"])
    lines = []
    for epsilon in EPSILONS:
        for n in SIZES:
            for name, some in (
                ("0.05 to 0.95", (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)),
                ("0.01 and 0.99", (0.01, 0.99)),
            ):
                part = [row for row in rows if row["epsilon"] == epsilon and row["n"] == n and row["q"] in some]
                here = [row for row in part if row["coverage"] is not None]
                now = f"{min(row['coverage'] for row in here):.3f}" if here else "none given"
                length = f"{np.median([row['length'] for row in here]):.1f}" if here else ""
                lines.append(
                    (
                        epsilon,
                        n,
                        name,
                        f"{min(row['before'] for row in part):.3f}",
                        f"{np.median([row['before_length'] for row in part]):.1f}",
                        now,
                        length,
                        f"{np.mean([row['given'] for row in part]):.2f}",
                    )
                )
    head = ("ε", "n", "quantiles", "lowest before", "length before", "lowest now", "length now", "given")
    return f"""# Do the intervals of DP quantiles cover?

{settings["replications"]} data sets for each of {len(rows)} cases, nominal 95%: nine quantiles, replace and add_remove,
and four populations: normal with bounds ±6, lognormal with bounds 0 and 100, Poisson(3) counts with bounds 0 and 20
(ties), uniform on [0, 1] with bounds −5 and 10 (bounds far from the data). Noise is simulated (seeded). `lowest` is the
lowest coverage over adjacencies, populations and quantiles; Monte Carlo error {error:.3f} at 0.95, so that of
{len(judged)} coverages of 0.95 the lowest would be about {0.95 - 3.2 * error:.2f}. Lengths are medians, in lengths of
the interval of order statistics that ordinary statistics would give. `given` is how often there was an interval: the
rest of the time there is none that is narrower than the bounds, and it says so. Regenerate:
`python -m reports dp_quantiles`.

{table(head, lines)}

* The lowest coverage is {low:.3f}; before, {missed} of {len(rows)} cases were below 0.93 and the lowest was
  {min(row["before"] for row in rows):.3f}.
* Intervals cover more than 95% because they hold for every distribution: the scan for a limit stops a little early.
"""


STUDY = replicated("dp_quantiles", 500, one_replication, summarise, page, seed=20269, level=LEVEL, noise="simulated")
