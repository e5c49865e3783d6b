"""The figure of the study: every file's share that held, and how close its risks come to their limits."""

from pathlib import Path

from reports import figures
from reports.study import Results


def draw(results: Results, out: Path) -> None:
    """Draw how often every file's answer held, and its usefulness beside the oracle's."""
    axes, figure = figures.panels(1, 2, (9, 3.8))
    families = [one["name"] for one in results["families"]]
    for place, family in enumerate(families):
        mine = [one for one in results["files"] if one["family"] == family]
        style = {"color": figures.COLOURS[place], "marker": figures.MARKERS[place], "linestyle": "", "alpha": 0.75}
        held = [one for one in mine if one["judged"]]
        axes[0].plot(
            [one["ratio"] for one in held], [one["held"] / one["judged"] for one in held], label=family, **style
        )
        known = [one for one in mine if one["gap"] is not None]
        useful = [one["oracle_use"] * (1 - one["gap"]) for one in known]
        axes[1].plot([one["oracle_use"] for one in known], useful, **style)
    axes[0].axhline(0.95, color="#555555", linewidth=0.8, linestyle="--")
    axes[0].axvline(1.0, color="#555555", linewidth=0.8)
    axes[0].set_xlabel("largest risk of a judgement, as a multiple of its limit (mean)")
    axes[0].set_ylabel("share of fresh judgements that held")
    axes[0].set_ylim(-0.03, 1.03)
    values = [one["oracle_use"] for one in results["files"] if one["oracle_use"]] or [0.5, 1.0]
    ends = (min(values) - 0.03, max(values) + 0.03)
    axes[1].plot(ends, ends, color="#555555", linewidth=0.8, label="as useful")
    axes[1].plot(ends, [0.98 * end for end in ends], color="#555555", linewidth=0.8, linestyle="--", label="2% less")
    axes[1].set_xlabel("usefulness of the oracle's answer")
    axes[1].set_ylabel("usefulness of what tune found")
    axes[1].legend(fontsize=8, frameon=False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8)
    figures.save(figure, out / "tune_holds.svg")
