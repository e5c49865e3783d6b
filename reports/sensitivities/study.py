"""Sensitivities beyond the global one: weighted (Biswal 2024, section 5.2.2), and smooth, beside the shipped median.

Weighted: noise of scale N(x) = (2/ε)(a·local + b·global), a + b = 1, on f(x). Neighbours' scales differ by a factor of
at least b, and the source claims δ = e^{ε/2 − ε/(2|ln b|)}.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from reports import figures
from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp import dp
from synthdp.privacy.accounting.closed_forms import analytic_ratio
from synthdp.privacy.mechanisms import Bounds, Simulated, local
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

EPSILONS = (0.5, 1.0, 2.0, 10.0, 15.0)
MOST_DELTA, N, HIGH = 0.1, 100, 1.0
WITHIN = Bounds(0.0, HIGH)
POPULATIONS = ("uniform", "exponential")
"""U[0, Λ], and an exponential of mean Λ/5 cut at Λ; the source states neither Λ nor the rate."""


def claimed_delta(epsilon: float, b: float) -> float:
    """Return δ(ε, b) of the source; 0 for b = 1, which is Laplace noise of twice the usual scale."""
    return math.exp(epsilon / 2 - epsilon / (2 * -math.log(b))) if b < 1 else 0.0


def least_b(epsilon: float, delta: float) -> float:
    """Return the least b whose claimed δ is at most ``delta``: e^{−1/(1 + 2 ln(1/δ)/ε)}."""
    return math.exp(-1 / (1 + 2 * -math.log(delta) / epsilon))


def exact_delta(epsilon: float, b: float, *, points: int = 20_001, grid: int = 9) -> float:
    """Return the largest hockey-stick divergence of two Laplace laws that weighted noise can have, by quadrature.

    Local sensitivities l and l' of neighbours lie in [0, 1] (times the global one), answers at most min(l, l') apart.
    """
    sizes = np.linspace(0, 1, grid)
    scales = 2 / epsilon * ((1 - b) * sizes + b)
    z, step = np.linspace(-60 * scales.max(), 60 * scales.max(), points, retstep=True)
    worst = 0.0
    for one, first in zip(sizes, scales, strict=True):
        for two, second in zip(sizes, scales, strict=True):
            for shift in (0.0, min(one, two)):
                p = np.exp(-np.abs(z) / first) / (2 * first)
                q = np.exp(-np.abs(z - shift) / second) / (2 * second)
                worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * step))
    return worst


def variance(epsilon: float, share: float, b: float) -> float:
    """Return Var of the noise, 8/ε²·(a·share + b)², the global sensitivity 1; the source prints 4 for 8."""
    return 8 / epsilon**2 * ((1 - b) * share + b) ** 2


def release(value: float, share: float, epsilon: float, b: float, *, rng: np.random.Generator) -> float:
    """Return a value with weighted noise; ``share`` is local over global sensitivity, the global one is 1."""
    return value + 2 / epsilon * ((1 - b) * share + b) * rng.laplace()


def useful_b(share: float) -> float:
    """Return up to which b the variance is below that of plain Laplace noise, 2/ε²: (1/2 − r)/(1 − r)."""
    return max(0.0, (0.5 - share) / (1 - share))


def sample(name: str, n: int, rng: np.random.Generator) -> Floats:
    """Return records of a population."""
    return rng.uniform(0, HIGH, n) if name == "uniform" else np.minimum(rng.exponential(HIGH / 5, n), HIGH)


SIZES, PRICES, DELTA = (100, 1000, 10_000), (0.1, 1.0), 1e-6
WAYS = ("smooth laplace", "smooth gaussian", "smooth heavy tail", "dp.median")
TRUTH = {"uniform": 0.5, "exponential": math.log(2) / 5}


def one_replication(r: int, *, seed: int) -> Floats:
    """Return the errors of each private median as an estimate of the median of the very records."""
    found = np.zeros((len(POPULATIONS), len(SIZES), len(PRICES), len(WAYS)))
    for p, name in enumerate(POPULATIONS):
        for k, n in enumerate(SIZES):
            x = sample(name, n, Streams(seed).generator("data", name, n, r))
            for e, epsilon in enumerate(PRICES):
                source = Simulated(Streams(seed).generator("noise", name, n, e, r))
                asked: dict[str, Any] = {"bounds": (0, HIGH), "epsilon": epsilon, "source": source}
                estimates = [
                    dp.smooth_median(x, **asked, delta=DELTA).estimate,
                    dp.smooth_median(x, **asked, delta=DELTA, noise="gaussian").estimate,
                    dp.smooth_median(x, **asked, noise="heavy_tail").estimate,
                    dp.median(x, **asked).estimate,
                ]
                found[p, k, e] = np.array(estimates) - np.median(x)
    return found


def summarise(draws: Floats) -> Results:
    """Return root mean squared errors of the medians, and what the weighted noise claims and does."""
    medians = [
        {"data": name, "n": n, "epsilon": epsilon}
        | {way: float(f"{np.sqrt((draws[:, p, k, e, w] ** 2).mean()):.3g}") for w, way in enumerate(WAYS)}
        for p, name in enumerate(POPULATIONS)
        for k, n in enumerate(SIZES)
        for e, epsilon in enumerate(PRICES)
    ]
    weighted = [
        {
            "epsilon": epsilon,
            "least b": round(least_b(epsilon, MOST_DELTA), 4),
            "useful up to b": 0.5,
            "claimed δ": round(claimed_delta(epsilon, least_b(epsilon, MOST_DELTA)), 4),
            "exact δ": float(f"{exact_delta(epsilon, least_b(epsilon, MOST_DELTA)):.3g}"),
        }
        for epsilon in EPSILONS
    ]
    return {"medians": medians, "weighted": weighted, "at_0.84": round(exact_delta(1.0, 0.84, grid=3), 7)}


def draw(results: Results, out: Path) -> None:
    """Draw Figures 5.1 to 5.4: utility on five files of each population, δ against b, and variance against δ."""
    axes, figure = figures.panels(2, 2, (9.5, 7.4))
    b = np.linspace(0.02, 0.999, 200)
    for ax, name in zip(axes, POPULATIONS, strict=False):
        for k in range(5):
            x = sample(name, N, Streams(SEED).generator("figure", name, k))
            share = local.median(x, WITHIN) / HIGH
            ax.plot(b, [variance(1.0, share, at) for at in b], color=figures.COLOURS[k])
        ax.axhline(2, color="black", linestyle="--", label="global sensitivity alone")
        ax.plot(b, b**2 * 4, ":", color="#555555", label="as printed, half of it (local 0)")
        ax.set(xlabel="b", ylabel="variance of the noise, ε = 1")
        ax.set_title(f"{name}: median of {N}, five files", fontsize=9, loc="left")
        ax.legend(fontsize=7)
    for k, epsilon in enumerate(EPSILONS):
        axes[2].plot(
            b, [claimed_delta(epsilon, at) for at in b], color=figures.COLOURS[k], label=f"ε = {epsilon:g}, claimed"
        )
        few = np.linspace(0.3, 0.98, 18)
        exact = [exact_delta(epsilon, at, points=8001, grid=2) for at in few]
        axes[2].plot(few, exact, ":", color=figures.COLOURS[k])
    axes[2].axhline(MOST_DELTA, color="black", linestyle="--")
    axes[2].set(xlabel="b", ylabel="δ (dotted: exact)", ylim=(0, 0.5))
    axes[2].legend(fontsize=7)
    deltas = np.geomspace(1e-8, 0.1, 100)
    axes[3].plot(deltas, 2 * np.log(1.25 / deltas), color=figures.COLOURS[0], label="classical, 2 ln(1.25/δ)/ε²")
    least = [analytic_ratio(1.0, float(delta)) ** 2 for delta in deltas]
    axes[3].plot(deltas, least, color=figures.COLOURS[1], label="least that keeps (1, δ)")
    axes[3].axhline(2, color="black", linestyle="--", label="Laplace")
    axes[3].set(xlabel="δ", ylabel="σ²/Δ² of Gaussian noise, ε = 1", xscale="log")
    axes[3].legend(fontsize=7)
    figures.save(figure, out / "weighted.svg")


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    medians = results["medians"]
    wins = sum(row["dp.median"] <= min(row[way] for way in WAYS[:3]) for row in medians)
    return f"""# Beyond global sensitivity: weighted and smooth

## Weighted sensitivity (Biswal 2024, Figures 5.1 to 5.4)

Noise of scale (2/ε)(a·local + b·global) is private for b near 1 and useful for b near 0. *least b* keeps the claimed δ
at {MOST_DELTA:g}; *useful up to b* is where its variance, 8/ε²(…)² (the source prints 4/ε²), stays below that of plain
Laplace noise if the local sensitivity is 0. Only at ε = 15 the two leave a window. The exact δ is far below the claim,
so the claim is sound, and wasteful: at ε = 1 and b = 0.84 it is {results["at_0.84"]:.3g} where 0.0937 is claimed.
Regenerate: `python -m reports sensitivities`.

{table_of(results["weighted"])}

![weighted](weighted.svg)

Above left and right: each curve is a file of {N} records; below the dashed line, weighted noise is less than that of
global sensitivity. Below left: δ. Below right: what Gaussian noise costs as δ falls (Figure 5.4).

## Smooth sensitivity against the shipped median

Root mean squared error about the median of the records, bounds 0 and 1, {settings["replications"]} files each; δ is
{DELTA:g} for smooth Laplace and Gaussian noise and 0 for the others. `dp.median` (exponential mechanism) spends most of
its ε on its interval, and still has the least error in {wins} of {len(medians)} cases.

{table_of(medians)}
"""


SEED = 20283
STUDY = replicated("sensitivities", 60, one_replication, summarise, page, seed=SEED, draw=draw, delta=DELTA)
