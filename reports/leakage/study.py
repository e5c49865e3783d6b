"""Figures 6.1 to 6.5 of Biswal (2024): ε' against ρ and the series, by the text, by its code, and exactly."""

from pathlib import Path
from typing import Any

import numpy as np

from reports import figures
from reports.markdown import table_of
from reports.study import Results, Study
from synthdp.privacy.leakage import Attack, Form, Knowledge, var_leakage
from synthdp.privacy.planning import plan
from synthdp.table.microdata import Floats

TEXT: dict[str, Any] = {"epsilon": 1.0, "delta": 0.05, "sensitivity": 0.5}
CODE: dict[str, Any] = {"epsilon": 0.5, "delta": 0.05, "sensitivity": 0.5, "constant": 1.25}
"""The code has Δ/ε = 1 under the root: the text's formula at ε = 1/2, and 1.25 for 1.26."""
A = [k / 10 for k in range(1, 10)]
RHOS = (-1.0, -0.5, 0.0, 0.5, 1.0)
FIRST = ((1.0, 0.0), (1.0, 0.0))
SECOND = ((0.5, 0.1), (0.0, 0.5))
THIRD = ((0.9, 0.5), (0.0, 0.9))


def shocks(rho: float) -> Floats:
    """Return Σ of two units."""
    return np.array([[1.0, rho], [rho, 1.0]])


def found(
    transition: Any, rho: float, settings: dict[str, Any], attack: Attack, knowledge: Knowledge, form: Form
) -> float:
    """Return ε'."""
    one = var_leakage(transition, shocks(rho), **settings, attack=attack, knowledge=knowledge, form=form)
    return round(one.found, 4)


def coded_first(rho: float) -> float:
    """Return what the code of Figure 6.1 draws: the logarithm multiplies where it should divide."""
    return float(round(1 / np.sqrt(1 + (1 + rho) / 4 * np.log(1.25 / 0.05)), 4))


def along(a: float, other: float) -> dict[str, float]:
    """Return a row of Figure 6.4 or 6.5: A = [[a, 1/2], [0, other]], by ρ, as coded and exactly."""
    transition, rhos = ((a, 0.5), (0.0, other)), (-1, 0, 1)
    coded = {f"ρ = {rho:g}": found(transition, rho, CODE, "A2", "N1", "printed") for rho in rhos}
    exact = {f"exact, ρ = {rho:g}": found(transition, rho, TEXT, "A2", "N1", "exact") for rho in rhos}
    return {"a": a, "Δg": round(1 / (2 * a), 3), **coded, **exact}


def measured() -> Results:
    """Return every figure in numbers."""
    first = [
        {
            "rho": rho,
            "code": coded_first(rho),
            "text": found(FIRST, rho, TEXT, "A1", "N2", "printed"),
            "n² for n": found(FIRST, rho, TEXT, "A1", "N2", "corrected"),
            "exact": found(FIRST, rho, TEXT, "A1", "N2", "exact"),
            "exact, both seen": found(FIRST, rho, TEXT, "A1", "N3", "exact"),
        }
        for rho in RHOS
    ]
    second, third = (
        [
            {
                "rho": rho,
                "code": found(a, rho, CODE, "A2", "N1", "printed"),
                "text": found(a, rho, TEXT, "A2", "N1", "printed"),
                "exact": found(a, rho, TEXT, "A2", "N1", "exact"),
            }
            for rho in RHOS
        ]
        for a in (SECOND, THIRD)
    )
    fourth, fifth = ([along(a, a if equal else 1 - a) for a in A] for equal in (True, False))
    months = plan(12, epsilon=1.0, delta=1e-6, sensitivity=1.0).round(4).to_dict(orient="records")
    return {"6.1": first, "6.2": second, "6.3": third, "6.4": fourth, "6.5": fifth, "plan": months}


def draw(results: Results, out: Path) -> None:
    """Draw the five figures."""
    axes, figure = figures.panels(2, 3, (12.5, 7.2))
    for ax, name in zip(axes, ("6.1", "6.2", "6.3"), strict=False):
        rows = results[name]
        for k, column in enumerate(name for name in rows[0] if name != "rho"):
            values = [row[column] for row in rows]
            ax.plot(
                [row["rho"] for row in rows], values, marker=figures.MARKERS[k], color=figures.COLOURS[k], label=column
            )
        ax.set(xlabel="ρ", ylabel="ε'", ylim=(0, None))
        ax.set_title(f"Figure {name}", fontsize=9, loc="left")
        ax.legend(fontsize=7)
    for ax, name in zip(axes[3:], ("6.4", "6.5"), strict=False):
        rows = results[name]
        for k, rho in enumerate((-1, 0, 1)):
            for style, column in (("-", f"ρ = {rho:g}"), (":", f"exact, ρ = {rho:g}")):
                ax.plot(
                    [row["Δg"] for row in rows],
                    [row[column] for row in rows],
                    style,
                    marker=figures.MARKERS[k],
                    color=figures.COLOURS[k],
                    label=column,
                )
        ax.axhline(1, color="#555555", linewidth=0.8)
        ax.set(xlabel="Δg", ylabel="ε'", ylim=(0, None))
        ax.set_title(f"Figure {name} (code)", fontsize=9, loc="left")
        ax.legend(fontsize=7)
    axes[5].axis("off")
    figures.save(figure, out / "leakage.svg")


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    return f"""# What a published mean says about other periods

Biswal (2024), chapter 6: two units, two periods, X₂ = AX₁ + B, Gaussian noise for ε = 1, δ = 0.05 on each mean, B of
variances 1 and correlation ρ. ε' is what the release of one period costs a value of the other. *code* is what the
source's R code draws, *text* its formula at the settings the text states, *exact* one Gaussian release of the shift and
the variance that there are (`synthdp.privacy.leakage`). The code has Δ/ε = 1 where the text has 1/2, so that its
figures are those of ε = 1/2: what they show below 1 is above 1 by the formula. Regenerate: `python -m reports leakage`.

![leakage](leakage.svg)

## Figure 6.1: the first value from the second mean (A1)

{table_of(results["6.1"])}

*text* divides the variance of a mean of n by n; with n² it is the fourth column. The exact values are smaller than the
formula's: the classical calibration, made for ε below 1, has room to spare.

## Figures 6.2 and 6.3: the second value from the first mean (A2)

A looking back, under a flat prior: heuristic in every form. A = [[.5, .1], [0, .5]], then [[.9, .5], [0, .9]]:

{table_of(results["6.2"])}

{table_of(results["6.3"])}

## Figures 6.4 and 6.5: by a, with .5 off the diagonal

As coded (the printed code has .7 there; only .5 gives what the text says), [[a, .5], [0, a]] and [[a, .5], [0, 1 − a]]:

{table_of(results["6.4"])}

{table_of(results["6.5"])}

## Twelve means

Noise of each of twelve means that keep ε = 1, δ = 10⁻⁶ together, Δ = 1, whatever the series does (`privacy.planning`):

{table_of(results["plan"])}
"""


STUDY = Study(
    name="leakage",
    cells=lambda _: [{}],
    work=measured,
    results=lambda lines: dict(lines[0]),
    page=page,
    settings={"epsilon": 1.0, "delta": 0.05},
    draw=draw,
)
