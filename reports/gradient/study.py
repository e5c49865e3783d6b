"""Gradient descent with adaptive Laplace noise beside DP-SGD: bounds, rates, and errors at the same ε.

Biswal (2024), sections 7.6 to 7.8, and what nobody should miss beside them.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from reports import figures
from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp import dp
from synthdp.dp.descent import convergence_bound, descend, noise_factors, rates
from synthdp.dp.losses import Name
from synthdp.privacy.mechanisms import Simulated
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

KAPPAS, STEPS, RECORDS = (0.0, 1.0, 1.5), 200, 50
FIRST_RATE, POWER, DIAMETER = 0.125, 0.5, 2.0
SIZES, EPSILONS, DELTA = (1000, 10_000), (0.5, 2.0), 1e-6
LOSSES: tuple[Name, ...] = ("mean", "ridge", "logistic")
WAYS = ("gradient_descent", "sgd", "direct")
PATHS = 50
TRUTH = {"mean": np.array([0.5]), "ridge": np.array([1.0, 2.0]), "logistic": np.array([0.0, 1.0])}


def numbers() -> Floats:
    """Return the numbers whose mean is looked for."""
    return Streams(SEED).generator("numbers").random(RECORDS)


def gap_of(kappa: float, r: int, *, seed: int, steps: int = STEPS) -> float:
    """Return Ψ(θ̄) − Ψ* of one path."""
    x = numbers()
    eta = rates(steps, FIRST_RATE, POWER)
    path = descend(
        lambda at, lot: 2 * (at - x[lot]),
        np.zeros(1),
        eta,
        DIAMETER * noise_factors(eta, kappa=kappa),
        records=RECORDS,
        rng=Streams(seed).generator("path", str(kappa), steps, r),
    )
    return float((path.average[0] - x.mean()) ** 2)


def bound_of(kappa: float, steps: int = STEPS) -> float:
    """Return the bound on its mean."""
    x = numbers()
    eta = rates(steps, FIRST_RATE, POWER)
    return convergence_bound(
        eta,
        DIAMETER * noise_factors(eta, kappa=kappa),
        distance=float(x.mean()),
        gradient_variance=float((4 * (x - x.mean()) ** 2).mean()),
        coordinates=1,
    )


def task(name: str, n: int, rng: np.random.Generator) -> tuple[list[Floats], list[tuple[float, float]]]:
    """Return columns, the response first, and their bounds."""
    x = rng.normal(0, 1, n)
    if name == "mean":
        return [x + 0.5], [(-4, 4)]
    if name == "ridge":
        return [1 + 2 * x + rng.normal(0, 0.5, n), x], [(-10, 10), (-4, 4)]
    return [(rng.random(n) < 1 / (1 + np.exp(-x))).astype(float), x], [(0, 1), (-4, 4)]


def direct(name: str, columns: list[Floats], bounds: list[tuple[float, float]], **price: Any) -> Floats:
    """Return what the shipped statistic says, where there is one."""
    if name == "mean":
        return np.array([dp.mean(columns[0], bounds=bounds[0], **price).estimate])
    if name == "ridge":
        fit = dp.adassp(
            columns[1][:, None], columns[0], bounds_x=bounds[1:], bounds_y=bounds[0], adjacency="replace", **price
        )
        return np.asarray(fit.coefficients)  # type: ignore[attr-defined]
    return np.full(2, math.nan)


def one_replication(r: int, *, seed: int) -> list[float]:
    """Return the gaps, then the root mean squared errors of coefficients by loss, size, ε and way."""
    found = [float(np.mean([gap_of(kappa, PATHS * r + k, seed=seed) for k in range(PATHS)])) for kappa in KAPPAS]
    for name in LOSSES:
        for n in SIZES:
            columns, bounds = task(name, n, Streams(seed).generator("data", name, n, r))
            for epsilon in EPSILONS:
                source = Simulated(Streams(seed).generator("noise", name, n, str(epsilon), r))
                price: dict[str, Any] = {"epsilon": epsilon, "source": source}
                rate: dict[str, Any] = {"rate": 4.0} if name == "logistic" else {}
                fits = (
                    dp.gradient_descent(name, columns, bounds=bounds, **price).coefficients,
                    dp.sgd(name, columns, bounds=bounds, delta=DELTA, steps=300, **rate, **price).coefficients,
                    direct(name, columns, bounds, delta=DELTA, **price),
                )
                found += [float(np.sqrt(((fit - TRUTH[name]) ** 2).mean())) for fit in fits]
    return found


def summarise(draws: Floats) -> Results:
    """Return gaps beside their bounds, noise factors, and median errors."""
    gaps = [
        {
            "kappa": kappa,
            "gap": float(f"{draws[:, k].mean():.3g}"),
            "error": float(f"{draws[:, k].std() / math.sqrt(len(draws)):.1g}"),
            "bound": float(f"{bound_of(kappa):.4g}"),
            "last iterate costs": f"{STEPS**kappa:g}·ε",
        }
        for k, kappa in enumerate(KAPPAS)
    ]
    medians = np.median(draws[:, len(KAPPAS) :], axis=0).reshape(len(LOSSES), len(SIZES), len(EPSILONS), len(WAYS))
    errors = [
        {"loss": name, "n": n, "epsilon": epsilon}
        | {
            way: None if math.isnan(medians[k, i, j, w]) else float(f"{medians[k, i, j, w]:.3g}")
            for w, way in enumerate(WAYS)
        }
        for k, name in enumerate(LOSSES)
        for i, n in enumerate(SIZES)
        for j, epsilon in enumerate(EPSILONS)
    ]
    factors = noise_factors(rates(100, FIRST_RATE, POWER))
    shown = [{"t": t, "γ_t·ε/D": round(float(factors[t - 1]), 5)} for t in (1, 2, 3, 5, 10, 100)]
    return {"gaps": gaps, "errors": errors, "factors": shown}


def draw(results: Results, out: Path) -> None:
    """Draw the bound against the number of steps, and the errors."""
    axes, figure = figures.panels(1, 2, (10, 4))
    steps = [int(s) for s in np.geomspace(10, 100_000, 30)]
    for k, kappa in enumerate((0.0, 0.5, 0.75, 1.0, 1.5)):
        axes[0].plot(steps, [bound_of(kappa, s) for s in steps], color=figures.COLOURS[k], label=f"κ = {kappa:g}")
    axes[0].set(xscale="log", yscale="log", xlabel="steps", ylabel="bound on Ψ(θ̄) − Ψ*, ρ = 1/2, ε = 1")
    axes[0].legend(fontsize=7)
    rows = results["errors"]
    for k, way in enumerate(WAYS):
        places = [place for place, row in enumerate(rows) if row[way] is not None]
        axes[1].plot(
            places, [rows[place][way] for place in places], figures.MARKERS[k], color=figures.COLOURS[k], label=way
        )
    names = [f"{row['loss']}, n {row['n']}, ε {row['epsilon']:g}" for row in rows]
    axes[1].set_xticks(range(len(rows)), names, rotation=70, fontsize=7)
    axes[1].set(yscale="log", ylabel="median error of the coefficients")
    axes[1].legend(fontsize=7)
    figures.save(figure, out / "gradient.svg")


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    ratios = [row["gradient_descent"] / row["sgd"] for row in results["errors"]]
    return f"""# Gradient descent with adaptive Laplace noise, and DP-SGD

**Which to take.** `synthdp.dp.sgd`. At the same ε (and δ = {DELTA:g}) the error of `synthdp.dp.gradient_descent`, which
follows Biswal (2024), is {min(ratios):.0f} to {max(ratios):.0f} times as large: its proof covers the last iterate only,
by noise for the worst path there could be, which grows with the steps and not with the records.
*direct* is `dp.mean` and `dp.adassp`, which need no steps at all. Regenerate: `python -m reports gradient`.

{table_of(results["errors"])}

Root mean squared error of the coefficients, median of {settings["replications"]} files; `gradient_descent` is pure.

![bounds and errors](gradient.svg)

## The bound (Theorem 7.7.1)

The mean of {RECORDS} numbers in [0, 1], {STEPS} steps, η_t = (1 + t)^−½/8, D = 2, ε = 1, β_t = t^κ. The gap of the
weighted average of the path, which is not released, is below its bound; the bound falls only if 2κ + ρ > 2 (left
panel), and then the last iterate costs N^κ times as much:

{table_of(results["gaps"])}

Noise factors for this rate at κ = 0:

{table_of(results["factors"])}
"""


SEED = 20285
STUDY = replicated("gradient", 40, one_replication, summarise, page, seed=SEED, draw=draw, delta=DELTA)
