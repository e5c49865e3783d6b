"""The page and the map."""

import math
from pathlib import Path
from typing import Any

from reports import figures
from reports.markdown import table, table_of

OTHER_TOOLS = {
    "synthpop": {
        "synthpop_cart": "synthpop, CART",
        "synthpop_norm_logit": "synthpop, norm+logreg",
        "synthpop_full": "synthpop, CART, all columns",
    },
    "sdv": {"sdv_copula": "SDV, copula, all columns"},
}
"""Folders of files, and what their methods are called."""
RISKS = {
    "identity.rate": "matching each copy",
    "identity_averaged.rate": "averaging first",
    "linkage.attack": "nearest row",
    "linkability.attack": "two halves of a record meet",
}
# only these may be empty: matching needs to know which row is whose
ALIGNED = ("identity.rate", "identity_averaged.rate")
OUTCOMES = {"work": "Work disability", "ild": "One-year lung disease (ILD), which no partial synthesis saw"}
ASKED = {
    "DA-MI": (0.989, 0.977),
    "mi": (0.954, 0.793),
    "CART": (0.899, 0.862),
    "norm+logit": (0.968, 0.784),
}
"""Overlaps (work, ILD) of reports/registry at M = 15 before repair, which does not go through `compare`."""
NEAR = 2.0


def distance(mean: float, error: float, asked: float) -> float:
    """Return how many standard errors of their difference two means of as many draws each lie apart."""
    return (mean - asked) / (math.sqrt(2) * error)


def page(results: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the page."""
    rows = results["rows"]
    shares = [f"{risk}:.2%" for risk in RISKS]
    columns = ("method", "{work:.3f} ± {work_error:.4f}", "work_lowest:.3f", "{ild:.3f} ± {ild_error:.4f}")
    head = ("method", "work", "lowest term", "ILD", "lowest term", *RISKS.values())
    versions = ", ".join(results["versions"].values())
    others = f"Files of other tools: {versions}." if versions else "Files of other tools were not given: ours alone."
    return f"""# Everybody on one map: the pseudo registry, M = {settings["copies"]}

The authors' pseudo registry, 595 complete records; age, sex, race and education are replaced, {settings["copies"]}
copies, before any repair. All figures are `synthdp.compare`'s: means over {settings["seeds"]} draws ± the standard
error of the mean. Overlap of the 95% intervals of ten coefficients with the original's, by the rule that the files call
for (`reiter2003` where columns are kept, `raab2016` where none is). {others}
Regenerate: `python -m reports.registry_map.others FILES --sdv PYTHON`, then
`python -m reports registry_map --data FOLDER --files FILES`.

*DA-MI* has the authors' masks (sd 1, 20 noisy copies of age, α 6, W once), *DA-MI per copy* a wider graded mask drawn
anew for each copy, *mi* is the same model without a mask, *CART* and *norm+logit* are sequential. *synthpop, CART* and
*norm+logreg* (`proper = FALSE`) replace the same four columns with the same predictors. *All columns*: synthpop's
default, and SDV's Gaussian copula, which cannot keep columns; these two also redraw the outcomes and saw ILD.

## The figures that were asked for

{asked(rows)}

### Both ways on fresh seeds

{ways(results["ways"])}

### The figures asked for, drawn again

{again(rows, results["again"], results["ways"])}

## The map

![overlap against risk](registry_map.svg)

{table_of(rows, (*columns, "ild_lowest:.3f", *shares), head)}

Risks are shares of people found: by matching on the four keys (age within 3 years) in each copy or in their average,
which needs to know which row is whose and is left empty (–) where nobody can; by the row that is nearest on the keys;
and by two rows, nearest on the keys and nearest on all other columns, that are the same one. The last is not defined
by whose row it is, so kept columns help it.

{told(rows)}
"""


def asked(rows: list[dict[str, Any]]) -> str:
    """Return the figures beside those of the other way, each with its distance in standard errors."""
    lines, outside = [], []
    named = {row["method"]: row for row in rows}
    for name, before in ASKED.items():
        for outcome, number in zip(OUTCOMES, before, strict=True):
            mean, error = named[name][outcome], named[name][f"{outcome}_error"]
            apart = distance(mean, error, number) if error else math.nan
            lines.append((name, outcome, f"{number:.3f}", f"{mean:.4f} ± {error:.4f}", f"{apart:+.1f}"))
            if not abs(apart) <= NEAR:
                outside.append(f"{name}, {outcome} ({mean:.4f} for {number:.3f}, {apart:+.1f})")
    within = f"**{len(lines) - len(outside)} of {len(lines)} lie within {NEAR:g} standard errors**"
    verdict = f"{within}; outside: {'; '.join(outside)}." if outside else f"{within}."
    return f"""{table(("method", "outcome", "reports/registry", "compare", "standard errors apart"), lines)}

reports/registry does without `compare`, by a loop and seeds of its own, and has twenty draws as well. Its scatter is
not recorded and taken to be the same, so a difference has √2 times the error shown. The rule of {NEAR:g} standard
errors was set before the run. {verdict}
With nothing amiss, at least one of eight would lie outside in about three such studies of ten, two in one of twenty."""


def ways(rows: list[dict[str, Any]]) -> str:
    """Return the long run of both ways beside the figures asked for."""
    lines = []
    for name, before in ASKED.items():
        ours, theirs = (next(r for r in rows if (r["method"], r["way"]) == (name, w)) for w in ("settings", "registry"))
        for outcome, number in zip(OUTCOMES, before, strict=True):
            error = math.hypot(ours[f"{outcome}_error"], theirs[f"{outcome}_error"])
            apart = (ours[outcome] - theirs[outcome]) / error if error else math.nan
            said = [f"{row[outcome]:.4f} ± {row[f'{outcome}_error']:.4f}" for row in (ours, theirs)]
            lines.append((name, outcome, f"{number:.3f}", *said, f"{apart:+.1f}"))
    head = ("method", "outcome", "asked", "by settings", "as reports/registry", "standard errors apart")
    return f"""Added after two of the eight had been seen to lie outside, to tell a fault from chance:
{rows[0]["draws"]} draws of each way, on seeds that neither had used, both read by reports/registry's estimators.

{table(head, lines)}"""


def again(rows: list[dict[str, Any]], lines: list[dict[str, Any]], fresh: list[dict[str, Any]]) -> str:
    """Return the draws that the figures asked for are means of, made anew, and the distances by their own scatter."""
    named, drawn = ({row["method"]: row for row in part} for part in (rows, lines))
    found, same = [], 0
    for name, before in ASKED.items():
        hundred = next(row for row in fresh if (row["method"], row["way"]) == (name, "registry"))
        for outcome, number in zip(OUTCOMES, before, strict=True):
            mean, error = drawn[name][outcome], drawn[name][f"{outcome}_error"]
            same += round(mean, 3) == number
            apart = [
                (other[outcome] - mean) / both if (both := math.hypot(other[f"{outcome}_error"], error)) else math.nan
                for other in (named[name], hundred)
            ]
            found.append((name, outcome, f"{number:.3f}", f"{mean:.4f} ± {error:.4f}", *(f"{z:+.1f}" for z in apart)))
    head = ("method", "outcome", "asked", "the same draws today", "`compare` from them", "100 fresh draws from them")
    changed = "" if same == len(found) else " The others are CART's, whose program has changed since."
    return f"""Added later still: the draws of reports/registry made anew, {lines[0]["draws"]} on its own seeds, by the
program of today. {same} of {len(found)} figures come back as they were, so what was asked for is one sample of the same
method, and its scatter is known now.{changed} Distances are in standard errors of the difference.

{table(head, found)}

The rule of {NEAR:g} standard errors stays missed. That both ways agree on 100 draws each says that the miss is one of
the sample, not of `compare`."""


def told(rows: list[dict[str, Any]]) -> str:
    """Return what the map shows of each pair that ought to agree, and who is beaten by whom."""
    named = {row["method"]: row for row in rows}
    lines = []
    for ours, theirs in (("CART", "synthpop, CART"), ("norm+logit", "synthpop, norm+logreg")):
        if theirs not in named:
            continue
        pairs = []
        for outcome in OUTCOMES:
            a, b = named[ours], named[theirs]
            gap = b[outcome] - a[outcome]
            error = math.hypot(a[f"{outcome}_error"], b[f"{outcome}_error"])
            pairs.append(f"{outcome} {gap:+.3f} ± {error:.3f}")
        lines.append(f"* *{theirs}* less our *{ours}*: {', '.join(pairs)}.")
    if "synthpop, CART" in named:
        shares = [f"{named[name]['linkability.attack']:.1%}" for name in ("synthpop, CART", "CART")]
        lines.append(
            f"* Beside that ILD gap: two halves of a record meet for {shares[0]} of the people with synthpop's trees, "
            f"for {shares[1]} with ours. Deeper trees would explain both; that was not examined."
        )
    for outcome in OUTCOMES:
        front = [
            row["method"]
            for row in rows
            if not any(
                other[outcome] >= row[outcome]
                and other["linkage.attack"] <= row["linkage.attack"]
                and (other[outcome], other["linkage.attack"]) != (row[outcome], row["linkage.attack"])
                for other in rows
            )
        ]
        lines.append(
            f"* {outcome}, by the means alone, beaten by nobody in overlap and nearest rows: {'; '.join(front)}."
        )
    return "\n".join(lines)


def draw(results: dict[str, Any], out: Path) -> None:
    """Draw overlap against the risk that holds for every file, a panel per outcome."""
    axes, figure = figures.panels(1, len(OUTCOMES), (12, 5))
    tools = list(dict.fromkeys(row["tool"] for row in results["rows"]))
    for ax, (outcome, title) in zip(axes, OUTCOMES.items(), strict=True):
        for row in results["rows"]:
            k = tools.index(row["tool"])
            ax.errorbar(
                row["linkage.attack"],
                row[outcome],
                2 * row[f"{outcome}_error"],
                2 * row["linkage.attack_error"],
                figures.MARKERS[k],
                color=figures.COLOURS[k],
                capsize=2,
                label=row["tool"],
            )
            # methods of one kind lie close together: ours are named above, others below, mi to the left
            place = (-6, -3) if row["method"] == "mi" else (6, 5 if row["tool"] == "synthdp" else -11)
            ax.annotate(row["method"], (row["linkage.attack"], row[outcome]), place, textcoords="offset points",
                        ha="right" if place[0] < 0 else "left", fontsize=7)  # fmt: skip
        ax.set_xlabel("share of people linked to their nearest row")
        ax.xaxis.set_major_formatter("{x:.0%}")
        ax.set_ylabel("mean overlap of intervals")
        ax.set_title(title, fontsize=9, loc="left")
        ax.margins(x=0.15)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(*zip(*dict(zip(labels, zip(handles, labels, strict=True), strict=True)).values(), strict=True),
                  loc="outside upper center", ncols=3, fontsize=8)  # fmt: skip
    figures.save(figure, out / "registry_map.svg")
