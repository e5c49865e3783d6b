"""The gate's verdict with its reasons, and analyses of the original beside those of the copies."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dash import html

from synthdp.evaluation.blocks import Bars, Table
from synthdp.explore.elements import blocks, figure, note, table
from synthdp.explore.words import what
from synthdp.explore.working import Checked, Judgement
from synthdp.report.charts import draw
from synthdp.report.decision import Decision

UNRECORDED = (
    "Judged on draws that were thrown away, as a run would judge; earlier releases of the same data are laid beside a "
    "run only. Nothing was published, and nothing counts as an attempt."
)
CONFIDENTIAL = "Confidential: row numbers of single records, no values. Do not pass this view on."


def decided(found: Decision) -> list[Any]:
    """Return the verdict in words, with the table behind it."""
    shown: list[Any] = [
        html.P(
            [html.Span(found.sign, className="sign", **{"aria-hidden": "true"}), " ", found.headline],
            className="headline",
        )
    ]
    if found.explanation:
        shown.append(html.P(found.explanation))
    if found.answers:
        told = [f"{one.question} {one.word}{': ' if one.note else '.'}{one.note}" for one in found.answers]
        shown += [html.Ul([html.Li(one) for one in told]), what("overlap")]
    reasons = [*found.reasons, *found.more]
    if reasons:
        shown.append(html.Ul([html.Li([one.sentence, " ", one.beside, what(one.name)]) for one in reasons]))
    shown += [html.P(fact, className="small") for fact in found.facts]
    box = [html.Div(shown, className=f"verdict {found.state}")]
    every = [html.Details([html.Summary("All checks"), table(found.checks)])] if found.checks is not None else []
    return [*box, *([table(found.worst)] if found.worst is not None else []), *every]


def judged(found: Judgement) -> list[Any]:
    """Return everything that a judgement says."""
    return [
        note(UNRECORDED),
        *decided(found.decision),
        *(note(one) for one in found.notes),
        html.H2("Analyses side by side"),
        *(
            blocks(found.blocks, "analysis")
            or [html.P("The config names no analyses, and the panel was not measured.")]
        ),
    ]


def single(rows: Sequence[Sequence[str]]) -> list[Any]:
    """Return the records that stand out most: by row number, never by value, and only when somebody asks."""
    if len(rows) < 2:
        return [note("No single record stands out in the last judgement; judge first if there was none.")]
    head, *lines = rows
    shown = tuple(tuple(_short(cell) for cell in line) for line in lines)
    return [
        note(CONFIDENTIAL, "warning"),
        table(Table("Records that an attack finds or comes close to finding", tuple(head), shown, "llllr")),
    ]


def _short(cell: str) -> str:
    try:
        return cell if cell.isdigit() else f"{float(cell):.2f}"
    except ValueError:
        return cell


def checked(found: Checked) -> list[Any]:
    """Return what ``check`` says of the settings."""
    return (
        [html.Ul([html.Li(one) for one in found.messages])] if found.messages else [note("check has nothing to say.")]
    )


def at_risk(found: Checked) -> list[Any]:
    """Return the risk groups as counts and as a picture of crowds, in which nobody's values are."""
    if not found.groups:
        return [note(one, "warning") for one in found.messages]
    total = sum(count for _, count in found.groups)
    rows = tuple((name, f"{count:,}", f"{100 * count / total:.1f}%") for name, count in found.groups)
    shown: list[Any] = [
        html.P(
            "Records are put into groups by how many others look like them on the keys. Those with few look-alikes are "
            "the ones that somebody could find."
        ),
        what("risk group"),
    ]
    shares = [count / total for _, count in found.groups]
    (bars,) = draw(Bars("Records by risk group", [name for name, _ in found.groups], {"records": shares}, ""))
    axis = bars.layout["xaxis"] | {"title": {"text": "% of all records"}}
    shown.append(figure(replace(bars, layout=bars.layout | {"xaxis": axis}), "groups"))
    for number, chart in enumerate(found.charts):
        shown += [figure(one, f"crowd-{number}-{k}") for k, one in enumerate(draw(chart))]
    if found.absent:
        shown.append(note(found.absent))
    return [*shown, table(Table("Records by risk group", ("Group", "Records", "Share"), rows, "lrr"))]
