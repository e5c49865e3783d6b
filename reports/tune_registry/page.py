"""Page and figure of the study."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reports import figures
from reports.cells import Line
from reports.markdown import table
from reports.study import Results

# after repair: overlaps at least, people expected to be found at most
WORK, ILD, AVERAGED, COPIES, LINKS = 0.97, 0.95, 13, 10, 12
HEAD = ("limit", "repair", "work", "ILD", "copies, tol 3", "averaged, tol 3", "averaged, tol 5", "links", "repaired")
NAMES = (
    "work_mean",
    "ild_mean",
    "copies_expected_3",
    "averaged_expected_3",
    "averaged_expected_5",
    "links",
    "repaired",
)


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    told = [line for line in results["front"] if line["found"] is not None]
    nothing = [line for line in results["front"] if line["found"] is None]
    unfinished = (
        f" {settings['cells']} of {settings['asked']} cells are finished."
        if settings["cells"] < settings["asked"]
        else ""
    )
    return "\n\n".join(
        [
            "# tune on the authors' pseudo registry, and under a wrong model",
            "595 complete records, age, sex, race and education replaced by regressions, 5 copies, W per copy, repair "
            "as reports/registry does it. `tune` alone chooses the masks: it is given one limit, the share of people "
            "whom the strongest of seven intruders finds after repair beyond blind guessing, both probits of the "
            f"authors as its goal, and {settings['trials']} trials. Each answer is then drawn {settings['draws']} "
            "times with seeds of its own and measured as reports/registry measures: mean ± standard error. `links`: "
            "people whom the likelihood intruder is expected to link, who needs no tolerance. Regenerate: "
            f"`python -m reports tune_registry --data FOLDER` (resumable).{unfinished}",
            "## The front",
            f"Wanted after repair: work ≥ {WORK}, ILD ≥ {ILD}, averaged ≤ {AVERAGED}, copies ≤ {COPIES} (tolerance 3), "
            f"links ≤ {LINKS}. {_reached(told)}",
            "![overlap against people found](tune_registry.svg)",
            table(HEAD, [row for line in told for row in _rows(line)]) if told else "Nothing was found yet.",
            *([_nothing(nothing)] if nothing else []),
            "The masks, as `tune` chose them:",
            "\n".join(
                f"* {line['share']:g}: {_masks(line['masks'])}{' by risk group' * line['by_group']}" for line in told
            ),
            "## The information in W that a limit on the mean risk allows",
            _wrong(results["wrong"], settings),
        ]
    )


def wanted(line: Line) -> dict[str, bool]:
    """Return which of the wishes an answer fulfils after repair."""
    found = {name: value[0] for name, value in line["found"]["True"].items()}
    return {
        "work": found["work_mean"] >= WORK,
        "ILD": found["ild_mean"] >= ILD,
        "averaged": found["averaged_expected_3"] <= AVERAGED,
        "copies": found["copies_expected_3"] <= COPIES,
        "links": found["links"] <= LINKS,
    }


def _reached(lines: Sequence[Line]) -> str:
    reached = [line for line in lines if all(wanted(line).values())]
    if reached:
        return "Reached with a limit of " + ", ".join(f"{line['share']:g}" for line in reached) + "."
    parts = [
        f"with {line['share']:g} {', '.join(name for name, met in wanted(line).items() if not met)} not met"
        for line in lines
    ]
    return f"**Not reached**: {'; '.join(parts)}."


def _rows(line: Line) -> list[tuple[str, ...]]:
    return [
        (
            f"{line['share']:g}",
            "yes" if repaired == "True" else "no",
            *(_figure(line["found"][repaired][name], 3 if name.endswith("mean") else 1) for name in NAMES),
        )
        for repaired in ("False", "True")
    ]


def _figure(value: list[float], digits: int) -> str:
    return f"{value[0]:.{digits}f} ± {value[1]:.{digits}f}"


def _nothing(lines: Sequence[Line]) -> str:
    said = "\n".join(f"* {line['share']:g}: {line['why'].splitlines()[0]}" for line in lines)
    return f"Nothing was found for:\n\n{said}"


def _masks(masks: dict[str, Any]) -> str:
    return "; ".join(
        f"{name} {', '.join(f'{key} {value:g}' for key, value in mask.items() if key != 'method')}"
        for name, mask in masks.items()
    )


def _wrong(lines: Sequence[Line], settings: Results) -> str:
    if not lines:
        return "Not computed yet."
    information = list(lines[0]["grid"])
    attacks = list(lines[0]["grid"][information[0]])
    rows = []
    for attack in attacks:
        means = [np.mean([line["grid"][one][attack][0] for line in lines]) for one in information]
        rows.append((attack, *(f"{mean:.5f}" for mean in means), _allowed(lines, [attack], settings["mean_risk"])))
    rows.append(("all of them", *("",) * len(information), _allowed(lines, attacks, settings["mean_risk"])))
    chosen = "; ".join(f"x1 {line['masks']['x1']['sd']:g}, x2 α {line['masks']['x2']['alpha']:g}" for line in lines)
    return (
        f"{len(lines)} data sets of reports/tuning, x2's mask held at α = 2, M = 3; mean probability that a record is "
        f"found, by intruder, and the most information K/σ² on the grid whose upper end is within "
        f"{settings['mean_risk']:g}, data set by data set. reports/tuning knows one intruder, `identity`, and has "
        ".01189 at 10 and .01759 at 30 as means over 300 data sets.\n\n"
        + table(("intruder", *information, "allowed"), rows)
        + f"\n\n`tune --max-risk max_mean_individual={settings['mean_risk']:g}`, which varies both masks and is held "
        f"to the strongest intruder, chose sd and α: {chosen}."
    )


def _allowed(lines: Sequence[Line], attacks: Sequence[str], limit: float) -> str:
    found = []
    for line in lines:
        fit = [float(one) for one, by in line["grid"].items() if all(by[attack][1] <= limit for attack in attacks)]
        found.append(f"{max(fit):g}" if fit else "none")
    return ", ".join(found)


def draw(results: Results, out: Path) -> None:
    """Draw both overlaps against the people found after repair, and what was wanted."""
    axes, figure = figures.panels(1, 2, (9, 3.8))
    told = [line for line in results["front"] if line["found"] is not None]
    for ax, name, least, words in zip(
        axes, ("work_mean", "ild_mean"), (WORK, ILD), ("work disability", "lung disease, unseen"), strict=True
    ):
        for place, (risk, most, label) in enumerate(
            (
                ("averaged_expected_3", AVERAGED, "averaged first"),
                ("copies_expected_3", COPIES, "each copy"),
                ("links", LINKS, "without a tolerance"),
            )
        ):
            after = [line["found"]["True"] for line in told]
            x, y = [one[risk][0] for one in after], [one[name][0] for one in after]
            error = [1.96 * one[name][1] for one in after]
            style = {"color": figures.COLOURS[place], "marker": figures.MARKERS[place], "markersize": 5}
            ax.errorbar(x, y, yerr=error, label=label, capsize=2, linewidth=1, **style)
            ax.axvline(most, color=figures.COLOURS[place], linewidth=0.8, linestyle=":")
        ax.axhline(least, color="#555555", linewidth=0.8, linestyle="--")
        ax.set_xlabel("people expected to be found after repair")
        ax.set_ylabel(f"overlap, {words}")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=8)
    figures.save(figure, out / "tune_registry.svg")
