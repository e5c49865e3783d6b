"""The page and the figure of the course's tables."""

from pathlib import Path
from typing import Any

import numpy as np

from reports import figures
from reports.course.printed import CONDITIONS, PRINTED, TERMS
from reports.markdown import table, table_of
from synthdp.evaluation.utility.analyses import ci_overlap

ORDER = {
    "complete": (
        "unperturbed",
        *(f"{n}, M = {m}" for m in (3, 20) for n in ("CART", "norm+logit", "mi", "DA-MI", "DA-MI per copy")),
    ),
    "imputed": ("unperturbed", "CART", "norm+logit", "mi", "DA-MI", "DA-MI per copy"),
}
TITLES = {"work": "Work disability", "ild": "One-year lung disease (ILD), which no synthesis saw"}


def printed_overlaps() -> dict[tuple[str, str], dict[str, float]]:
    """Return the mean overlap of the four printed intervals with the printed original's, by table and column."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for key, (columns, rows) in PRINTED.items():
        ends = np.array([[[low, high] for _, low, high in rows[term]] for term in CONDITIONS])
        shares = ci_overlap(ends[:, :1, 0], ends[:, :1, 1], ends[:, 1:, 0], ends[:, 1:, 1])
        found[key] = dict(zip(columns[1:], shares.mean(axis=0).tolist(), strict=True))
    return found


def estimates(results: dict[str, Any], part: str, outcome: str) -> str:
    """Return one of the course's tables, one line per method; an effect shown by its interval is marked."""
    lines = _by_key(results)

    def cell(method: str, term: str) -> str:
        one = lines[part, outcome, method, TERMS[term]]
        said = f"{one['estimate']:.3f} ({one['low']:.3f}, {one['high']:.3f})"
        return f"**{said}**" if one["low"] > 0 or one["high"] < 0 else said

    rows = [(method, *(cell(method, term) for term in CONDITIONS)) for method in ORDER[part]]
    return table(("method", *CONDITIONS), rows)


def page(results: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the page."""
    printed = printed_overlaps()
    columns = (
        "method",
        "{overlap:.3f} ± {error:.3f}",
        "lowest:.3f",
        "printed",
        "kept:.0%",
        "age_kept:.0%",
        "{found:.2%} / {found_averaged:.2%}",
    )
    head = (
        "method",
        "mean overlap",
        "lowest",
        "printed mean (4 terms)",
        "conclusions kept",
        "of age",
        "people found: copies / averaged",
    )
    parts = []
    for part, words in (("complete", "Complete cases"), ("imputed", "With imputed data")):
        for outcome, title in TITLES.items():
            rows = [
                {**row, "printed": _three(printed[part, outcome].get(row["method"]))}
                for method in ORDER[part][1:]
                for row in results["summary"]
                if (row["part"], row["outcome"], row["method"]) == (part, outcome, method)
            ]
            parts.append(
                f"## {words}: {title}\n\n{estimates(results, part, outcome)}\n\n"
                f"Over {settings['seeds']} draws, ten coefficients:\n\n{table_of(rows, columns, head)}"
            )
    return f"""# The tables of the course

Jiang (2025) prints estimates and 95% intervals of a probit for work disability and one for one-year lung disease, with
age, race, sex and education replaced. Its registry is confidential; these are the same tables from the authors' pseudo
registry: 595 complete records (345 and 28 events for ILD), and all 698 with gaps, where 5 completed originals × 3
copies are combined by Reiter (2004) and *unperturbed* is 20 completed originals by Rubin's rule. Other data, other
numbers: compare a method with its own original, and the overlaps with the printed ones.

*DA-MI* has the authors' masks (sd 1, 20 noisy copies of age, α 6, W once, repair), *DA-MI per copy* a wider graded mask
drawn anew for each copy (sd 0.45·√(30/s), α 5, repair), *mi* is the same model without a mask, *CART* and *norm+logit*
are sequential. All by `synthdp.compare`, at equal numbers of copies. Estimates are one draw (seed 1), as the course's
are; intervals that exclude 0 are bold. Below each, means over draws with the error of the mean: overlap of intervals
with the unperturbed ones, its lowest term, the share of coefficients (and of draws, for age) about which an analyst
concludes the same, and the share of people whom matching on the four keys (age within 3 years) is expected to find.
Regenerate: `python -m reports course --data FOLDER`.

![estimates](course.svg)

## What the course concludes, and what is found here

{_conclusions(results)}

{(chr(10) * 2).join(parts)}
"""


def _by_key(results: dict[str, Any]) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    return {(row["part"], row["outcome"], row["method"], row["term"]): row for row in results["first"]}


def _three(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _conclusions(results: dict[str, Any]) -> str:
    rows = {(row["part"], row["outcome"], row["method"]): row for row in results["summary"]}
    first = _by_key(results)
    lines = []
    for part, suffix in (("complete", ", M = 20"), ("imputed", "")):
        shown = {
            name: first[part, "ild", name + suffix, "Age_raw"]
            for name in ("CART", "norm+logit", "mi", "DA-MI", "DA-MI per copy")
        }
        seen = [name for name, one in shown.items() if one["low"] > 0]
        shares = ", ".join(f"{name} {rows[part, 'ild', name + suffix]['age_kept']:.0%}" for name in shown)
        original = first[part, "ild", "unperturbed", "Age_raw"]
        lines.append(
            f"* ILD on age, {part}: unperturbed {original['estimate']:.3f} "
            f"({original['low']:.3f}, {original['high']:.3f}); shown in the first draw by {', '.join(seen) or 'none'}. "
            f"Share of draws that show it: {shares}. The course has it in the original and DA-MI, not in CART (M = 20, "
            "and imputed) nor norm+logit."
        )
    best = {
        (part, outcome): max(
            (row for row in results["summary"] if (row["part"], row["outcome"]) == (part, outcome)),
            key=lambda row: row["overlap"],
        )
        for part in ("complete", "imputed")
        for outcome in TITLES
    }
    lines += [
        f"* {part}, {outcome}: the highest mean overlap is {row['overlap']:.3f}, {row['method']}."
        for (part, outcome), row in best.items()
    ]
    return "\n".join(lines)


def draw(results: dict[str, Any], out: Path) -> None:
    """Draw the intervals of four coefficients, outcomes and data in rows, one mark per method."""
    lines = _by_key(results)
    axes, figure = figures.panels(4, 4, (13, 13))
    panels = iter(axes)
    names = ("unperturbed", "CART", "norm+logit", "mi", "DA-MI", "DA-MI per copy")
    for part in ORDER:
        for outcome in TITLES:
            for term in CONDITIONS:
                ax = next(panels)
                base = lines[part, outcome, "unperturbed", TERMS[term]]
                ax.axvspan(base["low"], base["high"], color="#999999", alpha=0.2)
                ax.axvline(0, color="#555555", linewidth=0.8)
                for place, method in enumerate(ORDER[part][::-1]):
                    one = lines[part, outcome, method, TERMS[term]]
                    colour = (*figures.COLOURS, "#000000")[names.index(method.split(",")[0]) - 1]
                    ax.plot([one["low"], one["high"]], [place, place], color=colour)
                    ax.plot(one["estimate"], place, "o", color=colour, markersize=4)
                # an interval without end, as Reiter (2004) can give with 3 copies of each, would squeeze all others
                width = 2 * (base["high"] - base["low"])
                left, right = ax.get_xlim()
                ax.set_xlim(max(left, base["low"] - width), min(right, base["high"] + width))
                shown = list(ORDER[part][::-1]) if term == CONDITIONS[0] else []
                ax.set_yticks(range(len(ORDER[part])) if shown else [], shown, fontsize=7)
                ax.set_title(f"{part}, {outcome}: {term}", fontsize=9, loc="left")
    figures.save(figure, out / "course.svg")
