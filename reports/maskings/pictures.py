"""The figures: the published experiment in six panels, and the map of risk and usefulness of both files."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from reports import figures
from reports.study import Results
from synthdp.datasets.smokers import AGE_EDGES
from synthdp.synthesis.maskings.grouped import moving_widths

METHOD = "method"
HALF = 2.5
# which methods share a colour
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "DA-MI": ("DA-MI, half", "DA-MI", "DA-MI, double"),
    "CART": ("CART",),
    "noise, bins and groups": ("PRAM .8", "PRAM .5, invariant", "k-PRAM", "k-noise", "noise .25", "noise 1"),
    "averages and ranks": (
        "k-anonymity 5",
        "microaggregation 3",
        "microaggregation 25",
        "rank swap 5%",
        "rank swap 30%",
    ),
    "ends and gaps": ("top and bottom 5%", "suppression 3"),
}
TITLES = {"voters": "944 voters of 1996", "poland": "Social Diagnosis 2011, 2,000 people"}


def draw(results: Results, out: Path) -> None:
    """Write both figures."""
    _experiment(results, out / "ages.svg")
    _map(results["maps"], out / "map.svg")


def _experiment(results: Results, path: Path) -> None:
    axes, figure = figures.panels(3, 2, (9, 10))
    shown = {name: np.asarray(values) for name, values in results["shown"].items()}
    middles = [(low + high) / 2 for low, high in pairwise(AGE_EDGES)]
    for ax, name, number in ((axes[0], "k-PRAM", "3.2"), (axes[1], "k-noise", "3.3")):
        ax.bar(middles, results["counts"][name], width=4.6, color=figures.COLOURS[0], alpha=0.7, label=name)
        ax.step(AGE_EDGES, [*results["counts"]["original"], 0], where="post", color="black", label="original")
        ax.set_title(f"Figure {number}: counts after {name}", fontsize=10, loc="left")
        ax.set_ylabel("records")
    order = np.argsort(shown["ages"])
    for name, colour, size in (("k-PRAM", figures.COLOURS[4], 6), ("k-noise", figures.COLOURS[0], 3)):
        axes[2].scatter(shown["ages"][order], shown[name][order], s=size, color=colour, label=name, alpha=0.7)
    axes[2].set_title("Figure 3.4: masked age against age", fontsize=10, loc="left")
    axes[2].set_ylabel("masked age")
    axes[3].plot(shown["ages"][order], shown["near"][order], ".", color=figures.COLOURS[0], markersize=3)
    axes[3].axhline(float(shown["near"].mean()), color="black", linewidth=0.8, label="mean")
    axes[3].set_title("Figure 3.5: expected records within 2.5 years", fontsize=10, loc="left")
    axes[3].set_ylabel("records")
    grid = np.linspace(15, 82, 300)
    for name, label, colour in (
        ("ages", "original", "black"),
        ("k-PRAM", "k-PRAM", figures.COLOURS[4]),
        ("k-noise", "k-noise", figures.COLOURS[0]),
    ):
        axes[4].plot(grid, stats.gaussian_kde(shown[name])(grid), color=colour, label=label, linewidth=1.2)
    axes[4].set_title("Smoothed densities (code A.0.5)", fontsize=10, loc="left")
    axes[4].set_ylabel("density")
    widths = moving_widths(shown["ages"], HALF)
    axes[5].plot(shown["ages"][order], widths[order], ".", color=figures.COLOURS[3], markersize=3, label="moving")
    axes[5].axhline(HALF, color="black", linewidth=0.8, label="k-noise")
    axes[5].set_title("Half-widths of moving noise, in years", fontsize=10, loc="left")
    axes[5].set_ylabel("half-width")
    for ax in axes:
        ax.set_xlabel("age")
        ax.legend(fontsize=8)
    figures.save(figure, path)


def _map(maps: Mapping[str, list[dict[str, Any]]], path: Path) -> None:
    axes, figure = figures.panels(2, 1, (8.5, 10))
    for ax, (file, rows) in zip(axes, maps.items(), strict=True):
        known = [row for row in rows if row["linkage.attack"] is not None and row["panel.mean"] is not None]
        for number, (family, names) in enumerate(FAMILIES.items()):
            here = [row for row in known if row[METHOD] in names]
            ax.errorbar(
                [row["linkage.attack"] for row in here],
                [row["panel.mean"] for row in here],
                xerr=[2 * row["linkage.attack_error"] for row in here],
                yerr=[2 * row["panel.mean_error"] for row in here],
                fmt=figures.MARKERS[number],
                color=figures.COLOURS[number],
                markersize=5,
                elinewidth=0.8,
                label=family,
            )
        for row, (side, up) in zip(known, _places(known), strict=True):
            ax.annotate(
                row[METHOD],
                (row["linkage.attack"], row["panel.mean"]),
                xytext=(6 * side, up),
                textcoords="offset points",
                fontsize=7.5,
                ha="left" if side > 0 else "right",
            )
        ax.set_title(f"{TITLES[file]} (bars: 2 standard errors over draws)", fontsize=10, loc="left")
        ax.set_xlabel("share of records linked by the keys (linkage.attack, logarithmic; less is better)")
        ax.set_ylabel("overlap of intervals (panel.mean; more is better)")
        ax.set_xscale("log")
        ax.margins(x=0.2)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8)
    figures.save(figure, path)


def _places(rows: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Return on which side of its mark, and how far up, each name is written: where it covers least of the others."""
    at = np.array([[np.log(max(row["linkage.attack"], 1e-4)), row["panel.mean"]] for row in rows])
    at = (at - at.min(axis=0)) / np.maximum(np.ptp(at, axis=0), 1e-9)
    taken = [(x - 0.01, x + 0.01, y - 0.012, y + 0.012) for x, y in at.tolist()]
    found = []
    for (x, y), row in zip(at.tolist(), rows, strict=True):
        choices = [(side, up) for up in (-3, 8, -14, 19, -25) for side in (1, -1)]
        boxes = [_box(x, y, side, up, len(row[METHOD])) for side, up in choices]
        best = int(np.argmin([sum(_covered(box, other) for other in taken) for box in boxes]))
        taken.append(boxes[best])
        found.append(choices[best])
    return found


def _box(x: float, y: float, side: int, up: int, letters: int) -> tuple[float, float, float, float]:
    width, middle = 0.0125 * letters, y + (up + 3) / 290
    left = x + 0.015 if side > 0 else x - 0.015 - width
    return left, left + width, middle - 0.016, middle + 0.016


def _covered(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    wide = min(one[1], other[1]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[2], other[2])
    return max(wide, 0.0) * max(high, 0.0)
