"""Figures of the studies, drawn with matplotlib (an extra: ``pip install synthdp[studies]``)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

COLOURS = ("#0072B2", "#009E73", "#E69F00", "#D55E00", "#CC79A7")
MARKERS = ("o", "s", "^", "v", "D")


def coverage(rows: Sequence[Mapping[str, Any]], valid: Sequence[str], band: tuple[float, float], path: Path) -> None:
    """Draw the coverage of every coefficient by mask and scheme."""
    axes, figure = _axes(2, 1, (8.5, 7))
    frame = pd.DataFrame(rows)
    frame = frame[frame["scheme"] != "original"]
    masks = list(dict.fromkeys(zip(frame["sd"], frame["alpha"], strict=True)))
    schemes = list(dict.fromkeys(frame["scheme"]))
    for ax, limits in zip(axes, ((0.9, 0.98), (0.0, 1.0)), strict=True):
        ax.axhspan(*band, color="#999999", alpha=0.25, label=f"{band[0]} to {band[1]}")
        ax.axhline(0.95, color="#555555", linewidth=0.8)
        for k, scheme in enumerate(schemes):
            here = frame[frame["scheme"] == scheme]
            places = [masks.index(mask) + (k - 1.5) * 0.18 for mask in zip(here["sd"], here["alpha"], strict=True)]
            label = scheme + ("" if scheme in valid else " (not valid)")
            ax.plot(places, here["coverage"], MARKERS[k], color=COLOURS[k], markersize=5, alpha=0.7, label=label)
        ax.set_ylim(*limits)
        ax.set_xticks(range(len(masks)), [f"sd {sd:g}, α {alpha:g}" for sd, alpha in masks])
        ax.set_ylabel("coverage of 95% intervals")
    axes[0].set_title(
        "close to the nominal rate (points below 0.9 are in the lower panel only)", fontsize=9, loc="left"
    )
    axes[1].set_title("everything", fontsize=9, loc="left")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8)
    figure.savefig(path)


def tuning(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw error and risk against the information in W, one column of panels per dial."""
    frame = pd.DataFrame(rows)
    axes, figure = _axes(2, 2, (9, 7))
    dials = (("information", "K/σ² (in units of 1/sd²)"), ("alpha", "α"))
    for column, (dial, label) in enumerate(dials):
        here = frame[frame["dial"] == dial]
        for row, (measure, name) in enumerate(
            (("rmse", "RMSE of the coefficients"), ("mean_individual", "mean individual risk"))
        ):
            ax = axes[2 * row + column]
            for k, (copies, part) in enumerate(here.groupby("copies")):
                ax.plot(part["value"], part[measure], f"-{MARKERS[k]}", color=COLOURS[k], label=f"M = {copies}")
            ax.set_xlabel(label)
            ax.set_ylabel(name)
            if dial == "information":
                ax.set_xscale("log")
            ax.legend(fontsize=8)
    figure.savefig(path)


def _axes(rows: int, columns: int, size: tuple[float, float]) -> tuple[list[Any], Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "synthdp"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    return list(axes.ravel()), figure


def scaling(rows: Sequence[Mapping[str, float]], path: Path) -> None:
    """Draw seconds against records on logarithmic axes, with a line of slope one."""
    axes, figure = _axes(1, 1, (6, 4.2))
    ax = axes[0]
    sizes, seconds = [row["n"] for row in rows], [row["seconds"] for row in rows]
    ax.loglog(sizes, seconds, f"-{MARKERS[0]}", color=COLOURS[0], label="fit + draw, M = 5")
    linear = [seconds[0] * size / sizes[0] for size in sizes]
    ax.loglog(sizes, linear, "--", color="#555555", label="linear growth")
    ax.set_xlabel("records")
    ax.set_ylabel("seconds")
    ax.legend()
    figure.savefig(path)
