"""Noise on records (before) against noise on statistics (after), and the laws that sums with Laplace noise have.

Figures 4.1 and 5.15 of Biswal (2024). The file of 659 ages is not public: a surrogate is uniform inside its bins.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from reports import figures
from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp.dp.noise import laplace_normal_pdf
from synthdp.dp.noisy_records import noise_variance, variance_of_noisy
from synthdp.privacy.mechanisms import Bounds, Laplace, Sensitivity, Simulated, sensitivity
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

COUNTS = (32, 100, 121, 81, 62, 79, 84, 57, 31, 9, 2, 1)
"""Published counts of the ages in bins of 5 years from 19 to 79."""
WITHIN, EPSILON = Bounds(0.0, 110.0), 1.0
N = sum(COUNTS)
KINDS = ("mean before", "mean after", "median before", "median after", "median after, Δ of the code")
CODED = 1.0
"""What the source's code takes for the sensitivity of a median on [0, 110]."""


def ages(*, rng: np.random.Generator) -> Floats:
    """Return the surrogate."""
    return np.concatenate([rng.uniform(19 + 5 * i, 24 + 5 * i, count) for i, count in enumerate(COUNTS)])


def on_records(x: Floats, source: Simulated) -> Floats:
    """Return records with noise of their own, ε-DP each."""
    noise = Laplace.calibrated(sensitivity.identity(WITHIN), epsilon=EPSILON)
    return noise.release(x, source=source)


def after(value: float, step: float, source: Simulated) -> float:
    """Return a statistic with noise for this sensitivity."""
    noise = Laplace.calibrated(Sensitivity(step, "l1", "replace"), epsilon=EPSILON)
    return float(noise.release(value, source=source))


def one_replication(r: int, *, seed: int) -> list[float]:
    """Return the five statistics, the variance of noisy records, and what remains without the noise's share."""
    x = ages(rng=Streams(seed).generator("ages"))
    source = Simulated(Streams(seed).generator("noise", r))
    noisy = on_records(x, source)
    mean, middle = float(x.mean()), float(np.median(x))
    return [
        float(noisy.mean()),
        after(mean, sensitivity.mean(WITHIN, N, "replace").value, source),
        float(np.median(noisy)),
        after(middle, sensitivity.order_statistic(WITHIN, "replace").value, source),
        after(middle, CODED, source),
        float(noisy.var(ddof=1)),
        variance_of_noisy(noisy, scale=WITHIN.width / EPSILON).estimate,
    ]


def expected() -> dict[str, float]:
    """Return the sds that follow from the noise: of the means exactly, of medians for Laplace noise alone."""
    scale = WITHIN.width / EPSILON
    roots = math.sqrt(2) * scale
    return {
        "mean before": roots / math.sqrt(N),
        "mean after": roots / N,
        "median before": scale / math.sqrt(N),
        "median after": roots,
        "median after, Δ of the code": math.sqrt(2) * CODED / EPSILON,
    }


def sum_log_ratio(q: Floats, shift: float = 1.0) -> Floats:
    """Return the log density ratio of the sum of two standard Laplace noises at q, for answers ``shift`` apart."""

    def log_density(z: Floats) -> Floats:
        return np.asarray(np.log1p(np.abs(z)) - np.abs(z) - math.log(4))

    return log_density(q) - log_density(q - shift)


def summarise(draws: Floats) -> Results:
    """Return means and sds of each statistic, and of the variance before and after its correction."""
    x = ages(rng=Streams(SEED).generator("ages"))
    truth = {"mean": float(x.mean()), "median": float(np.median(x))}
    rows = [
        {
            "statistic": kind,
            "truth": round(truth[kind.split()[0]], 2),
            "mean": round(float(draws[:, k].mean()), 2),
            "sd": round(float(draws[:, k].std()), 3),
            "sd expected": round(expected()[kind], 3),
        }
        for k, kind in enumerate(KINDS)
    ]
    spread = float(x.var(ddof=1))
    scale = WITHIN.width / EPSILON
    variance = [
        {"of": name, "truth": round(spread, 1), "mean": round(float(draws[:, k].mean()), 1)}
        | {"sd": round(float(draws[:, k].std()), 1), "sd expected": round(noise_variance(N, spread, scale) ** 0.5, 1)}
        for k, name in ((5, "noisy records"), (6, "less 2b²"))
    ]
    boxes = {kind: [round(float(q), 3) for q in np.quantile(draws[:, k], QUANTILES)] for k, kind in enumerate(KINDS)}
    grid = np.linspace(-30, 30, 6001)
    density = laplace_normal_pdf(grid, 1.0, 2.0)
    law = {
        "f(0)": round(float(density[3000]), 6),
        "f(3)": round(float(density[3300]), 7),
        "variance": round(float((grid**2 * density).sum() * 0.01), 3),
        "largest log ratio of a sum": round(float(np.abs(sum_log_ratio(np.linspace(-200, 200, 40_001))).max()), 4),
    }
    return {"rows": rows, "variance": variance, "boxes": boxes, "law": law}


QUANTILES = (0.005, 0.25, 0.5, 0.75, 0.995)


def draw(results: Results, out: Path) -> None:
    """Draw Figure 4.1, a million draws and three laws of variance 9, and Figure 5.15, medians before and after."""
    axes, figure = figures.panels(1, 3, (13, 4.2))
    rng = Streams(SEED).generator("figure 4.1")
    drawn = rng.normal(size=1_000_000) + rng.laplace(scale=2, size=1_000_000)
    heights, edges = np.histogram(drawn, bins=120, range=(-12, 12))
    axes[0].stairs(heights / (1_000_000 * 0.2), edges, fill=True, color="#BBBBBB", label="N(0, 1) + Laplace(2), drawn")
    z = np.linspace(-12, 12, 601)
    axes[0].plot(z, laplace_normal_pdf(z, 1.0, 2.0), color="black", label="its density")
    axes[0].plot(z, np.exp(-(z**2) / 18) / math.sqrt(18 * math.pi), "--", color=figures.COLOURS[0], label="normal")
    axes[0].plot(z, laplace_normal_pdf(z, 1e-6, 3 / math.sqrt(2)), ":", color=figures.COLOURS[3], label="Laplace")
    axes[0].set_title("Figure 4.1: three laws of variance 9", fontsize=9, loc="left")
    axes[0].set(xlabel="noise", ylabel="density")
    axes[0].legend(fontsize=7)
    shown = {"before": "median before", "after, Δ = 110": "median after", "after, Δ = 1": KINDS[4]}
    for ax, names in ((axes[1], list(shown)), (axes[2], ["before", "after, Δ = 1"])):
        boxes = [
            dict(zip(("whislo", "q1", "med", "q3", "whishi"), results["boxes"][shown[name]], strict=True))
            | {"label": name}
            for name in names
        ]
        ax.bxp(boxes, showfliers=False, widths=0.6, medianprops={"color": "black"})
        ax.axhline(results["rows"][2]["truth"], color=figures.COLOURS[3], linewidth=0.8)
        ax.set_ylabel("noisy median of age")
    axes[1].set_title("Figure 5.15, with the sensitivity there is", fontsize=9, loc="left")
    axes[2].set_title("as the code draws it", fontsize=9, loc="left")
    figures.save(figure, out / "before_after.svg")


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    law: dict[str, Any] = results["law"]
    return f"""# Noise before and after

{N} ages (a surrogate: uniform inside the published bins), bounds 0 and 110, ε = {EPSILON:g},
{settings["replications"]} runs. *before*: every record carries Laplace noise of scale 110, and the statistic is that of
the noisy records; *after*: the statistic is taken, and noise for its sensitivity added. Regenerate:
`python -m reports before_after`.

{table_of(results["rows"])}

![before and after](before_after.svg)

For the mean, noise after is √n times less. For the median it is the other way round: its sensitivity is the whole
range, and noise of sd 156 says nothing, while the median of the noisy records is off by 4 or 5 years (and a little too
high). The source finds the opposite because its code takes 1 for the sensitivity of the median. `synthdp.dp.median`
needs neither ([reports/sensitivities](../sensitivities/README.md)).

## The variance of noisy records

Its mean is s² + 2b², b = 110. `synthdp.dp.variance_of_noisy` takes 2b² off, and says how much noise is left:

{table_of(results["variance"])}

## The laws of the sums

Figure 4.1: N(0, 1) + Laplace(2) has density {law["f(0)"]} at 0 and {law["f(3)"]} at 3, and variance {law["variance"]}.
The sum of two Laplace noises of scale 1, of which the source says that it is not private, has log ratios up to
{law["largest log ratio of a sum"]} for answers 1 apart: it is 1-DP, as post-processing must be.
"""


SEED = 20284
STUDY = replicated("before_after", 1000, one_replication, summarise, page, seed=SEED, draw=draw, n=N, epsilon=EPSILON)
