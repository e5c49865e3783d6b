"""The mixed-noise mechanism of Biswal (2024), section 5.3, as claimed, and its true δ beside it.

It adds N(0, 2(Δ/ε)²) where Δ ≤ √π·δε/2 and Laplace noise of the same variance elsewhere, and is said to be (ε, δ)-DP.
Additive noise knows no units, so a threshold on Δ itself cannot decide that: wherever the normal branch is taken, σ/Δ
is √2/ε and δ is what `exact_delta` says. Nothing here can be chosen outside this study.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from reports import figures
from reports.markdown import table_of
from reports.study import Results, replicated
from synthdp.privacy.accounting.closed_forms import exact_delta
from synthdp.privacy.mechanisms import local
from synthdp.seeding import Streams
from synthdp.table.microdata import Floats

N, EPSILON, LEVEL = 500, 1.0, 0.99
DELTAS = {"1/n": 1 / N, "1/(2n)": 1 / (2 * N), "n^-1.5": N**-1.5, "n^-2": float(N) ** -2}
FAMILIES = {
    "Pareto": (2, 5, 10),
    "Exp": (1, 5, 10),
    "N(0, .)": (1, 5, 10),
    "t": (1, 5, 10),
}
CASES = [(family, number) for family, numbers in FAMILIES.items() for number in numbers]
MECHANISMS = ("Laplace", "Gaussian", "mixed")
BOXES = {"N(0, .)": 10, "t": 10, "Exp": 5, "Pareto": 5}
Z = float(stats.norm.ppf((1 + LEVEL) / 2))
PRINTED = {
    "Pareto": ((96.8, 66.5, 100), (98.9, 82.9, 99.2), (99.7, 89.9, 99.8)),
    "Exp": ((99.8, 95.4, 100), (100, 96.6, 99.9), (99.9, 95.5, 99.8)),
    "N(0, .)": ((100, 99.7, 100), (100, 100, 100), (100, 100, 100)),
    "t": ((91.1, 51.9, 91.5), (99.9, 96.8, 99.9), (100, 99.7, 100)),
}
"""Table 5.1 at δ = 1/n: hits of Laplace, Gaussian and mixed noise, in percent."""


def threshold(epsilon: float, delta: float) -> float:
    """Return t_0 = √π·δε/2, up to which the source takes normal noise."""
    return math.sqrt(math.pi) * delta * epsilon / 2


def takes_normal(sensitivity: float, epsilon: float, delta: float) -> bool:
    """Return which branch the mechanism takes."""
    return sensitivity <= threshold(epsilon, delta)


def true_delta(epsilon: float) -> float:
    """Return the exact δ of its normal branch, the same for every Δ."""
    return exact_delta(math.sqrt(2) / epsilon, epsilon)


def classical(delta: float, epsilon: float = EPSILON) -> float:
    """Return σ/Δ of "approximate DP" in the source: the classical constant, which holds for ε < 1 only."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def outlier_limits() -> dict[str, float]:
    """Return the hits in percent where one outlier is all of Δ: the half width of the interval is Z·Δ."""
    found = {"Laplace": 1 - math.exp(-EPSILON * Z), "mixed": 2 * stats.norm.cdf(EPSILON * Z / math.sqrt(2)) - 1}
    found |= {f"Gaussian {name}": 2 * stats.norm.cdf(Z / classical(DELTAS[name])) - 1 for name in DELTAS}
    return {name: round(100 * float(value), 2) for name, value in found.items()}


def sample(family: str, number: int, rng: np.random.Generator) -> Floats:
    """Return records of one of the twelve populations; Pareto from 1 on."""
    if family == "Pareto":
        return np.asarray(1 + rng.pareto(number, N))
    if family == "Exp":
        return rng.exponential(1 / number, N)
    return rng.normal(0, number, N) if family == "N(0, .)" else rng.standard_t(number, N)


def noises(sensitivity: float, delta: float, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return noise of the three mechanisms."""
    scale = sensitivity / EPSILON
    third = rng.normal(0, math.sqrt(2) * scale) if takes_normal(sensitivity, EPSILON, delta) else rng.laplace(0, scale)
    return rng.laplace(0, scale), rng.normal(0, sensitivity * classical(delta)), third


def one_replication(r: int, *, seed: int) -> Floats:
    """Return, for each population and δ: noises on the mean, hits, branch, noises on the median over its Δ, and Δ.

    Sensitivities are local, leaving one out, as in the source: the populations have no bounds, so nothing is private.
    """
    found = np.zeros((len(CASES), len(DELTAS), 11))
    for c, (family, number) in enumerate(CASES):
        x = sample(family, number, Streams(seed).generator("data", family, number, r))
        half = Z * x.std(ddof=1) / math.sqrt(N)
        of_mean = local.mean(x, neighbours="leave_one_out")
        of_median = local.median(x, neighbours="leave_one_out")
        rng = Streams(seed).generator("noise", family, number, r)
        for d, delta in enumerate(DELTAS.values()):
            mean, middle = noises(of_mean, delta, rng), noises(of_median, delta, rng)
            hits = [abs(noise) <= half for noise in mean]
            middle_steps = [noise / of_median for noise in middle]
            found[c, d] = [*mean, *hits, takes_normal(of_mean, EPSILON, delta), *middle_steps, of_mean]
    return found


def summarise(draws: Floats) -> Results:
    """Return ratios of squared errors, hits, how often the normal branch was taken, and boxes."""
    rows = []
    # in units of Δ: otherwise the one run with the largest outlier would decide for t(1) and Pareto(2)
    squares = ((draws[..., :3] / draws[..., 10:]) ** 2).sum(axis=0)
    middles = (draws[..., 7:10] ** 2).sum(axis=0)
    for c, (family, number) in enumerate(CASES):
        for d, name in enumerate(DELTAS):
            hits = 100 * draws[:, c, d, 3:6].mean(axis=0)
            rows.append(
                {
                    "family": family,
                    "number": number,
                    "delta": name,
                    "ratio_gaussian": round(float(squares[c, d, 0] / squares[c, d, 1]), 4),
                    "ratio_mixed": round(float(squares[c, d, 0] / squares[c, d, 2]), 4),
                    **{f"hits_{m}": round(float(hit), 1) for m, hit in zip(MECHANISMS, hits, strict=True)},
                    "normal_branch": round(float(draws[:, c, d, 6].mean()), 3),
                    "median_gaussian": round(float(middles[c, d, 0] / middles[c, d, 1]), 4),
                    "median_mixed": round(float(middles[c, d, 0] / middles[c, d, 2]), 4),
                }
            )
    boxes = {
        family: {
            m: [round(float(q), 5) for q in np.quantile(draws[:, CASES.index((family, n)), 0, k], QUANTILES)]
            for k, m in enumerate(MECHANISMS)
        }
        for family, n in BOXES.items()
    }
    claims = [
        {"epsilon": e, "claimed (δ = 1/n)": 1 / N, "true": round(true_delta(e), 6)} for e in (0.1, 0.5, 1.0, 2.0, 4.0)
    ]
    expected = {name: round(1 / math.log(1.25 / delta), 4) for name, delta in DELTAS.items()}
    return {"rows": rows, "boxes": boxes, "claims": claims, "expected": expected, "limits": outlier_limits()}


QUANTILES = (0.005, 0.25, 0.5, 0.75, 0.995)


def draw(results: Results, out: Path) -> None:
    """Draw ratios and boxes of each family (Figures 5.6–5.13), and the ratios of the median (5.14)."""
    rows = results["rows"]
    axes, figure = figures.panels(2, 4, (13, 6.6))
    for k, (family, numbers) in enumerate(FAMILIES.items()):
        ax = axes[k]
        for c, number in enumerate(numbers):
            here = [row for row in rows if row["family"] == family and row["number"] == number]
            for style, kind in (("--", "gaussian"), ("-", "mixed")):
                values = [row[f"ratio_{kind}"] for row in here]
                named = family.replace(".", str(number)) if "." in family else f"{family}({number})"
                label = named if kind == "mixed" else None
                ax.plot(
                    range(4), values, style, marker=figures.MARKERS[c], color=figures.COLOURS[c], label=label, alpha=0.8
                )
        ax.axhline(1, color="#555555", linewidth=0.8)
        ax.set_xticks(range(4), list(DELTAS))
        ax.set(xlabel="δ", ylim=(0, 1.5))
        ax.set_title(f"{family}: Laplace over mixed (solid), Gaussian", fontsize=9, loc="left")
        ax.legend(fontsize=7, ncols=3, loc="center", bbox_to_anchor=(0.5, 0.34), handlelength=1.5, columnspacing=1)
        _boxes(axes[4 + k], results["boxes"][family])
        axes[4 + k].set_title(f"{family}, parameter {BOXES[family]}: noise on the mean", fontsize=9, loc="left")
    axes[0].set_ylabel("ratio of squared errors")
    axes[4].set_ylabel("noise")
    figures.save(figure, out / "mean.svg")
    axes, figure = figures.panels(1, 2, (9, 3.8))
    names = [f"{family.replace('(0, .)', '')} {number}" for family, number in CASES]
    last = [row for row in rows if row["delta"] == "n^-2"]
    for ax, kind, colour in zip(axes, ("gaussian", "mixed"), figures.COLOURS, strict=False):
        ax.bar(range(len(names)), [row[f"median_{kind}"] for row in last], color=colour)
        ax.set_xticks(range(len(names)), names, rotation=60, fontsize=8)
        ax.set_title(f"median, δ = n^-2: Laplace over {kind.replace('gauss', 'Gauss')}", fontsize=9, loc="left")
        ax.set_ylabel("ratio of squared errors")
        ax.axhline(1, color="#555555", linewidth=0.8)
    figures.save(figure, out / "median.svg")
    axes, figure = figures.panels(1, 1, (5.5, 3.8))
    epsilons = np.linspace(0.02, 4, 200)
    axes[0].plot(epsilons, [true_delta(e) for e in epsilons], color=figures.COLOURS[3], label="true δ")
    axes[0].axhline(1 / N, color=figures.COLOURS[0], linestyle="--", label="claimed, δ = 1/500")
    axes[0].set(xlabel="ε", ylabel="δ", yscale="log")
    axes[0].legend(fontsize=8)
    figures.save(figure, out / "claims.svg")


def _boxes(ax: Any, boxes: dict[str, list[float]]) -> None:
    drawn = [
        dict(zip(("whislo", "q1", "med", "q3", "whishi"), box, strict=True)) | {"label": name}
        for name, box in boxes.items()
    ]
    ax.bxp(drawn, showfliers=False, widths=0.6, medianprops={"color": "black"})
    ax.axhline(0, color="#555555", linewidth=0.8)


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    rows = results["rows"]
    for row in rows:
        printed = PRINTED[row["family"]][FAMILIES[row["family"]].index(row["number"])]
        row["printed"] = " ".join(f"{value:g}" for value in printed) if row["delta"] == "1/n" else None
    claims = results["claims"]
    ratios = [
        {
            "δ": name,
            "expected": results["expected"][name],
            "found": round(float(np.mean([row["ratio_gaussian"] for row in rows if row["delta"] == name])), 4),
        }
        for name in DELTAS
    ]
    mixed = [row["ratio_mixed"] for row in rows]
    limits = results["limits"]
    taken = ", ".join(
        f"{row['family']} {row['number']} at {row['delta']} ({row['normal_branch']:.0%})"
        for row in rows
        if row["normal_branch"] > 0
    )
    return f"""# The mixed-noise mechanism: what it claims, and what is true

Biswal (2024), section 5.3, adds normal noise of variance 2(Δ/ε)² where Δ ≤ √π·δε/2, else Laplace noise, and claims
(ε, δ)-DP. With that variance σ/Δ is √2/ε whatever Δ is, and the exact δ is far above the claim:

{table_of(claims)}

![claims](claims.svg)

At ε = 1 and δ = 1/500, the settings of its experiments, the promise is broken by a factor of 20; the audits find it
([reports/audits](../audits/README.md)). It cannot be chosen anywhere in synthdp. Nothing below is private in any case:
as in the source, sensitivities are those of the very data, leaving one out. Regenerate: `python -m reports mixed_noise`
({settings["replications"]} runs, n = {N}, ε = {EPSILON:g}, new data in each run).

## Squared errors (Figures 5.6 to 5.14)

![mean](mean.svg)

Dashed: Gaussian; solid: mixed. Above 1 means less error than Laplace noise; errors are in units of each run's Δ, since
otherwise the run with the largest outlier would decide for t(1) and Pareto(2). For Gaussian noise the ratio is
1/ln(1.25/δ) whatever the data:

{table_of(ratios)}

For mixed noise it is 1, as both branches have one variance; {min(mixed):.2f} to {max(mixed):.2f} was found, which is
what {settings["replications"]} runs leave to chance. The source reads advantages for skewed data out of such numbers.
The normal branch was taken only for {taken}.

![median](median.svg)

## Hits of the 99% interval (Table 5.1)

How often the noisy mean lies in the interval of the true one, in percent; *printed* are Laplace, Gaussian and mixed at
δ = 1/n. Levels differ from the printed ones for light tails (the source's n may have been smaller), orders do not.

{table_of(rows, ("family", "number", "delta", "hits_Laplace", "hits_Gaussian", "hits_mixed", "printed"))}

Where one outlier is all there is, hits tend to {limits["Laplace"]} (Laplace), {limits["Gaussian 1/n"]},
{limits["Gaussian n^-1.5"]} and {limits["Gaussian n^-2"]} (Gaussian at 1/n, n^-1.5, n^-2) and {limits["mixed"]} (mixed):
the row of t(1).
"""


STUDY = replicated(
    "mixed_noise", 1000, one_replication, summarise, page, seed=20282, draw=draw, n=N, epsilon=EPSILON, level=LEVEL
)
