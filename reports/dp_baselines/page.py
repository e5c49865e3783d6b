"""The page and the figures of the study of DP baselines."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.dp_baselines.cases import FILES, METHODS, TREE
from reports.figures import COLOURS, panels, save
from reports.markdown import table

MST = "dp_mst"
TABLES = ("dp_histogram", "dp_sparse_histogram", "dp_exponential")
WORDS = {
    "pmse_cart": "pMSE ratio, CART",
    "pmse_logit": "pMSE ratio, logit",
    "overlap": "mean CI overlap",
    "total_variation": "two-way total variation",
    "links": "identity_likelihood, links",
    "gain": "attribute gain",
}
UP = {"overlap"}
FORMS = {"pmse_cart": "{:.3g}", "pmse_logit": "{:.3g}", "overlap": "{:.2f}", "total_variation": "{:.3f}"}
FORMS |= {"links": "{:.1f}", "gain": "{:+.3f}"}
_BESIDE = {
    "MST at ε = 1": (MST, 1.0),
    "independent margins at ε = 1": ("dp_margins", 1.0),
    "the histogram at ε = 1": ("dp_histogram", 1.0),
    "MI": ("MI", None),
    "CART": ("CART", None),
}
LOWEST_OVERLAP = -1.0
SHADES = (*COLOURS, "#56B4E9", "#999999")
SHAPES = {0.1: "v", 1.0: "o", 5.0: "^", None: "*"}
Line = Mapping[str, Any]


def draw(lines: Sequence[Line], out: Path) -> None:
    """Draw the map (usefulness against risk) and every measure against ε."""
    _map(lines, out / "map.svg")
    _by_epsilon(lines, out / "by_epsilon.svg")


def _map(lines: Sequence[Line], path: Path) -> None:
    axes, figure = panels(len(FILES), 2, (13, 4.9 * len(FILES)))
    private = [method.name for method in METHODS if method.private]
    for row, file in enumerate(FILES):
        here = [line for line in lines if line["file"] == file.name]
        for ax, (risk, use) in zip(
            axes[2 * row : 2 * row + 2], (("links", "overlap"), ("gain", "total_variation")), strict=True
        ):
            for line in here:
                if line[use] is None:
                    continue
                known = line["method"] in private
                colour = SHADES[private.index(line["method"])] if known else "black"
                at = [_shown(line[name], name) for name in (risk, use)]
                bars = [[[max(0.0, at[k][0] - at[k][1])], [max(0.0, at[k][2] - at[k][0])]] for k in (0, 1)]
                ax.errorbar(
                    at[0][0], at[1][0], bars[1], bars[0], fmt=SHAPES[line["epsilon"]], color=colour, alpha=0.75,
                    markersize=9 if known else 12, linewidth=0.8,
                    label=f"{line['method']}, ε = {line['epsilon']:g}" if known else line["method"],
                )  # fmt: skip
                if not known:
                    ax.annotate(line["method"], (at[0][0], at[1][0]), (7, 5), textcoords="offset points", fontsize=9)
            if risk == "links":
                ax.set_xscale("log")
                ax.axvline(
                    sum(line["links_chance"]["mean"] for line in here) / len(here), color="#555555", linewidth=0.8
                )
            else:
                ax.axvline(0, color="#555555", linewidth=0.8)
            if use == "overlap":
                ax.set_ylim(LOWEST_OVERLAP - 0.1, 1.05)
            else:
                ax.invert_yaxis()
            worst = f" ({LOWEST_OVERLAP:g}: that or less)" if use == "overlap" else " (better upwards)"
            ax.set_title(file.name, fontsize=10, loc="left")
            ax.set_xlabel(
                WORDS[risk] + (" (line: the 95% point of chance; 0 is shown at 0.3)" if risk == "links" else "")
            )
            ax.set_ylabel(WORDS[use] + worst)
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
    save(figure, path)


def _shown(found: Mapping[str, float], name: str) -> tuple[float, float, float]:
    least = {"overlap": LOWEST_OVERLAP, "links": 0.3}.get(name, -1e9)  # no links at all have no place on a log axis
    return max(found["mean"], least), max(found["low"], least), max(found["high"], least)


def _by_epsilon(lines: Sequence[Line], path: Path) -> None:
    shown = ("pmse_cart", "overlap", "total_variation")
    axes, figure = panels(len(FILES), len(shown), (14, 4.2 * len(FILES)))
    for row, file in enumerate(FILES):
        here = [line for line in lines if line["file"] == file.name]
        for ax, name in zip(axes[len(shown) * row :], shown, strict=False):
            for k, method in enumerate(method.name for method in METHODS if method.private):
                part = [line for line in here if line["method"] == method and line[name] is not None]
                values = [_shown(line[name], name) for line in part]
                at = [line["epsilon"] for line in part]
                ax.plot(at, [value[0] for value in values], "-o", color=SHADES[k], label=method)
                ax.fill_between(at, [v[1] for v in values], [v[2] for v in values], color=SHADES[k], alpha=0.15)
            for line in here:
                if line["epsilon"] is None and line[name] is not None:
                    style = ":" if line["method"] == TREE else "--"
                    ax.axhline(line[name]["mean"], color="black", linewidth=0.7, linestyle=style)
                    ax.annotate(line["method"], (0.105, line[name]["mean"]), fontsize=7, va="bottom")
            ax.set_xscale("log")
            ax.set_xticks([0.1, 1, 5], ["0.1", "1", "5"])
            ax.set_xlabel("ε")
            ax.set_ylabel(WORDS[name])
            ax.set_title(file.name, fontsize=10, loc="left")
            if name == "pmse_cart":
                ax.set_yscale("log")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7, fontsize=9)
    save(figure, path)


def page(results: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return the page."""
    lines = results["lines"]
    parts = "\n\n".join(_file(file.name, lines) for file in FILES)
    return f"""# DP synthesizers beside methods that are not private

Runs each: {settings["runs"]}. A run draws its own records ({_numbers(settings["records"])}) and its own holdout
({_numbers(settings["held_out"])}), replaces every column and makes {settings["copies"]} copies (local noise: one).
Means over the runs, in brackets the lowest and highest. `fair`: 7 columns, 60,480 cells. `adult`: 8 columns, a random
part of the file; methods that hold the whole table cut its numbers into few bins (90,720 cells), the others into single
years and hours (113,097,600 cells). δ = 0 but for `dp_mst` ({settings["delta"]:g}; `dp_mst, δ = 0` beside it). Noise is
simulated. Bounds, levels and bins come from the codebooks, not from the data; neighbours replace a record. DA-MI has
medium masks on all columns; it and MI draw the numbers of `adult` from regressions with normal errors, which keep no
heaps (40 hours a week). Methods without a guarantee have no ε. `{TREE}` is MST with so much budget that only what a
tree cannot hold is lost: a diagnosis, not a method. Regenerate: `python -m reports dp_baselines --data DIR`.

![map](map.svg)

Up is useful, left is safe. Every measure is the pipeline's own: pMSE ratios to their expectation under a right
synthesis (1 is perfect), overlap of 95% intervals as the design's combining rule has them (below 0: apart), total
variation of all two-way tables, links of the likelihood intruder (records pointed at correctly), and by how much the
copies help to guess `affair` or `rich` of people in the data more than of people who are not. An analysis is not
estimable when a level that its formula names is in no copy (two races have about 1% of `adult` each, which the noise of
a small ε hides), or when it separates the response in one.

![by epsilon](by_epsilon.svg)

## What was found

{_findings(lines, results["trees"])}

{parts}
"""


def _numbers(given: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in given.items())


def _file(name: str, lines: Sequence[Line]) -> str:
    rows = [
        (
            line["method"],
            "none" if line["epsilon"] is None else f"{line['epsilon']:g}",
            *(_cell(line, measure) for measure in WORDS),
        )
        for line in lines
        if line["file"] == name
    ]
    chance = max(line["links_chance"]["mean"] for line in lines if line["file"] == name)
    return f"""## {name}

The 95% point of links by chance is at most {chance:.1f} on average.

{table(("method", "ε", *WORDS.values()), rows)}"""


def _cell(line: Line, measure: str) -> str:
    found = line[measure]
    if found is None:
        return "not estimable"
    form = FORMS[measure]
    said = f"{form.format(found['mean'])} ({form.format(found['low'])} to {form.format(found['high'])})"
    if measure == "overlap" and line["not_estimable"]:
        return f"{said}, {line['not_estimable']} of {line['runs']} not estimable"
    return said


def beaten(lines: Sequence[Line], file: str, epsilon: float) -> dict[str, list[str]]:
    """Return for each measure of usefulness the table methods that MST does not beat in the mean."""
    here = {line["method"]: line for line in lines if line["file"] == file and line["epsilon"] == epsilon}
    found: dict[str, list[str]] = {}
    for measure in ("pmse_cart", "pmse_logit", "overlap", "total_variation"):
        mine = here[MST][measure]
        found[measure] = [
            name
            for name in TABLES
            if here[name][measure] is not None
            and (mine is None or (mine["mean"] <= here[name][measure]["mean"]) is (measure in UP))
        ]
    return found


def _findings(lines: Sequence[Line], trees: Mapping[str, Sequence[Sequence[str]]]) -> str:
    said = []
    for file in FILES:
        for epsilon in sorted({line["epsilon"] for line in lines if line["epsilon"] is not None}):
            lost = {WORDS[m]: names for m, names in beaten(lines, file.name, epsilon).items() if names}
            verdict = "; ".join(f"not {', '.join(names)} in {measure}" for measure, names in lost.items())
            said.append(
                f"* {file.name}, ε = {epsilon:g}: in the mean, MST beats every table method (histogram, sparse, "
                + (f"exponential) but {verdict}" if lost else "exponential) in both pMSE ratios, overlap and tables")
                + _of_runs(lines, file.name, epsilon)
            )
        by = {(line["method"], line["epsilon"]): line for line in lines if line["file"] == file.name}
        tree, mst, cart = by[TREE, None], by[MST, 1.0], by["CART", None]
        edges = ", ".join("–".join(edge) for edge in trees[file.name])
        touching = sum(file.target in edge for edge in trees[file.name])
        said.append(
            f"* {file.name}: mean overlap is {_mean(mst)} for MST at ε = 1, {_mean(tree)} for its tree without noise, "
            f"{_mean(cart)} for CART: the first step is the noise's, the second what a tree of pairs cannot hold. The "
            f"tree of the first run's records, without noise: {edges}. `{file.target}` has {touching} edges; what is "
            "not next to it acts on it through others alone, and coefficients of its own are lost however large ε is."
        )
        shown = {name: by[key]["total_variation"]["mean"] for name, key in _BESIDE.items() if key in by}
        said.append(
            f"* {file.name}: two-way total variation is "
            + ", ".join(f"{value:.3f} for {name}" for name, value in shown.items())
            + "."
        )
    return "\n".join(said)


def _of_runs(lines: Sequence[Line], file: str, epsilon: float) -> str:
    """Return over how few runs MST's overlap is a mean; a full stop when it is over all."""
    (mst,) = [line for line in lines if (line["file"], line["method"], line["epsilon"]) == (file, MST, epsilon)]
    lacking = mst["not_estimable"]
    return f"; its overlap over {mst['runs'] - lacking} of {mst['runs']} runs only." if lacking else "."


def _mean(line: Line) -> str:
    return "–" if line["overlap"] is None else f"{line['overlap']['mean']:.2f}"
