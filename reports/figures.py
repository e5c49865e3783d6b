"""Figures of the studies, drawn with matplotlib (an extra: ``pip install 'synthdp[studies]'``).

Everything the package itself draws is plotly. The committed figures are SVG that must come out the same anywhere, and
plotly writes SVG only through a browser: its version would be in the files, and a study would need one to run.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

COLOURS = ("#0072B2", "#009E73", "#E69F00", "#D55E00", "#CC79A7")
MARKERS = ("o", "s", "^", "v", "D")


def panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[list[Any], Any]:
    """Return the panels of an empty figure, row by row, and the figure."""
    try:
        import matplotlib as mpl
    except ImportError as missing:
        raise SystemExit("Figures of studies need matplotlib: pip install 'synthdp[studies]'.") from missing

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "synthdp"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    return list(axes.ravel()), figure


def save(figure: Any, path: Path) -> None:
    """Write a figure; the same results give the same bytes."""
    figure.savefig(path, metadata={"Date": None})


def coverage(rows: Sequence[Mapping[str, Any]], valid: Sequence[str], band: tuple[float, float], path: Path) -> None:
    """Draw the coverage of every coefficient by mask and scheme."""
    axes, figure = panels(2, 1, (8.5, 7))
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
    save(figure, path)


def tuning(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw error and risk against the information in W, one column of panels per dial."""
    frame = pd.DataFrame(rows)
    axes, figure = panels(2, 2, (9, 7))
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
    save(figure, path)


def trees(rows: Sequence[Mapping[str, Any]], plain: str, path: Path) -> None:
    """Draw overlap against the mask and against both risks, one row of panels per analysis."""
    frame = pd.DataFrame(rows)
    axes, figure = panels(2, 3, (13, 7.5))
    masks = list(dict.fromkeys(frame.loc[frame["curve"] != plain, "setting"]))
    risks = {"mean_individual": "copies as they are", "mean_individual_averaged": "copies averaged first"}
    for row, analysis in enumerate(("straight", "curved")):
        by_mask, *by_risk = axes[3 * row : 3 * row + 3]
        for k, (curve, part) in enumerate(frame.groupby("curve", sort=False)):
            overlap, error = part[f"overlap_{analysis}"], part[f"overlap_{analysis}_error"]
            style = {"color": COLOURS[k], "fmt": f"-{MARKERS[k]}", "markersize": 5, "capsize": 2, "label": curve}
            if curve != plain:
                by_mask.errorbar([masks.index(name) for name in part["setting"]], overlap, error, **style)
            for ax, risk in zip(by_risk, risks, strict=True):
                ax.errorbar(part[risk], overlap, error, **style)
                if curve == plain:
                    for name, x, y in zip(part["setting"], part[risk], overlap, strict=True):
                        ax.annotate(name, (x, y), (4, -11), textcoords="offset points", fontsize=7, color=COLOURS[k])
        by_mask.set_xticks(range(len(masks)), [name.replace(", ", "\n") for name in masks], fontsize=8)
        by_mask.set_ylabel(f"mean interval overlap, {analysis}")
        for ax, words in zip(by_risk, risks.values(), strict=True):
            ax.set_xscale("log")
            ax.set_xticks([0.002, 0.005, 0.01, 0.02, 0.05], ["0.002", "0.005", "0.01", "0.02", "0.05"], fontsize=8)
            ax.set_xticks([], minor=True)
            ax.set_xlim(0.0014, 0.07)
            ax.set_xlabel(f"mean individual risk, {words}")
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside upper center", ncols=5, fontsize=9)
    save(figure, path)


def authors(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw overlap against risk, one panel per number of copies, for all records replaced."""
    frame = pd.DataFrame(rows)
    frame = frame[frame["share"] == 1]
    counts = sorted(frame["copies"].unique())
    axes, figure = panels(1, len(counts), (4.2 * len(counts), 4.2))
    for ax, copies in zip(axes, counts, strict=True):
        here = frame[frame["copies"] == copies]
        for k, (label, part) in enumerate(here.fillna(0).groupby(["method", "variance"], sort=False)):
            name = f"{label[0]}, σ² = {label[1]:g}" if label[0] == "DA-MI" else label[0]
            ax.plot(part["mean_individual_0.5"], part["overlap"], f"-{MARKERS[k]}", color=COLOURS[k], label=name)
        ax.set_title(f"M = {copies} (along each line α = 1, 3, 5)", fontsize=9, loc="left")
        ax.set_xlabel("mean individual risk, tolerance 0.5")
        ax.set_ylabel("mean overlap of intervals")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    save(figure, path)


def scaling(rows: Sequence[Mapping[str, float]], path: Path) -> None:
    """Draw seconds against records on logarithmic axes, with a line of slope one."""
    axes, figure = panels(1, 1, (6, 4.2))
    ax = axes[0]
    sizes, seconds = [row["n"] for row in rows], [row["seconds"] for row in rows]
    ax.loglog(sizes, seconds, f"-{MARKERS[0]}", color=COLOURS[0], label="fit + draw, M = 5")
    linear = [seconds[0] * size / sizes[0] for size in sizes]
    ax.loglog(sizes, linear, "--", color="#555555", label="linear growth")
    ax.set_xlabel("records")
    ax.set_ylabel("seconds")
    ax.legend()
    save(figure, path)


def reliability(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw how often an intruder is right against how sure they are, one panel per release."""
    frame = pd.DataFrame(rows)
    kinds = list(dict.fromkeys(frame["release"]))
    axes, figure = panels(1, len(kinds), (3.6 * len(kinds), 3.8))
    for k, (ax, kind) in enumerate(zip(axes, kinds, strict=True)):
        here = frame[frame["release"] == kind]
        ax.plot([0, 1], [0, 1], color="#999999", linewidth=0.8)
        ax.errorbar(here["predicted"], here["right"], 2 * here["error"], fmt=MARKERS[k], color=COLOURS[k], capsize=2)
        ax.set_title(kind, fontsize=9, loc="left")
        ax.set_xlabel("probability claimed")
        ax.set_ylabel("share right (± 2 errors)")
    save(figure, path)


def regions(shown: Mapping[str, Sequence[tuple[str, Any, Any]]], path: Path) -> None:
    """Draw privacy regions, one panel per title, each region a name with its FP and FN, larger ones first."""
    rows = -(-len(shown) // 3)
    axes, figure = panels(rows, 3, (12, 4.2 * rows))
    for spare in axes[len(shown) :]:
        spare.set_axis_off()
    dashes = ("-", "--", ":", "-.", (0, (6, 2)))
    for ax, (title, found) in zip(axes, shown.items(), strict=False):
        ax.plot([0, 1], [1, 0], color="#999999", linewidth=0.8)
        for k, (name, fp, fn) in enumerate(found):
            ax.fill([*fp, 0], [*fn, 1], color=COLOURS[k], alpha=0.12, linewidth=0)
            ax.plot(fp, fn, color=COLOURS[k], linestyle=dashes[k], label=name)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="FP", ylabel="FN")
        ax.set_title(title, fontsize=9, loc="left")
        ax.legend(fontsize=7)
    save(figure, path)


def moves(rows: Sequence[Mapping[str, Any]], groups: Mapping[str, int], path: Path) -> None:
    """Draw how far a number moves in each risk group, one panel per strategy, from quantiles."""
    axes, figure = panels(1, len(rows), (3.2 * len(rows), 3.8))
    farthest = 1.05 * max(abs(of[end]) for row in rows for of in row["moved"].values() for end in ("p2", "p97"))
    for ax, row in zip(axes, rows, strict=True):
        boxes = [
            {
                "whislo": of["p2"],
                "q1": of["p25"],
                "med": of["p50"],
                "q3": of["p75"],
                "whishi": of["p97"],
                "label": f"{group}\n{groups[group]}",
            }
            for group, of in row["moved"].items()
        ]
        drawn = ax.bxp(boxes, showfliers=False, patch_artist=True, widths=0.6, medianprops={"color": "black"})
        for k, box in enumerate(drawn["boxes"]):
            box.set(facecolor=COLOURS[k], alpha=0.5)
        ax.axhline(0, color="#555555", linewidth=0.8)
        ax.set_title(row["strategy"], fontsize=9, loc="left")
        ax.set_ylim(-farthest, farthest)
    axes[0].set_ylabel("synthetic minus true Age, years")
    figure.supxlabel("risk group and its number of records", fontsize=9)
    save(figure, path)


def strength(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the largest individual risk against mask strength, the band reaching to the bound that decides."""
    axes, figure = panels(1, 1, (8.5, 4))
    ax = axes[0]
    frame = pd.DataFrame(rows)
    ax.axhline(0.33, color="#555555", linewidth=0.8, linestyle="--", label="limit")
    for k, (name, here) in enumerate(frame.groupby("file", sort=False)):
        line = here.sort_values("sd")
        ax.plot(line["sd"], line["value"], marker=MARKERS[k], color=COLOURS[k], label=str(name))
        ax.fill_between(line["sd"], line["value"], line["high"], color=COLOURS[k], alpha=0.2, linewidth=0)
    ax.set_xscale("log")
    ax.set_xticks(sorted(set(frame["sd"])), [f"{sd:g}" for sd in sorted(set(frame["sd"]))])
    ax.set_xlabel("sd of all masks, in the columns' own sds")
    ax.set_ylabel("largest individual risk")
    ax.set_ylim(0, 1.02)
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=5, fontsize=8)
    save(figure, path)
