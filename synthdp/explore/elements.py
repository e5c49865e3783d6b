"""Pieces that every view is made of: tables, figures with their words, selects, and "what is this?".

Text reaches the page as text nodes, which the browser never reads as markup; figures are escaped where they are made.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dash import dcc, html

from synthdp.evaluation.blocks import Block, Table
from synthdp.evaluation.gate.limits import LIMITS
from synthdp.evaluation.measures import RISK, UTILITY
from synthdp.report.charts import draw
from synthdp.report.plots import Figure
from synthdp.report.words import shorten

# plotly's own buttons that send or save elsewhere are off, and so is its address for pictures
QUIET: Mapping[str, Any] = {"displaylogo": False, "plotlyServerURL": "", "displayModeBar": False, "responsive": True}
LONGEST_NAME = 60


def select(about: str, label: str, options: Sequence[str], chosen: str, *, disabled: bool = False) -> html.Select:
    """Return a browser's own select; what is chosen is sent as an edit of what ``about`` says."""
    return html.Select(
        [html.Option(one, value=one, selected=one == chosen) for one in options],
        id=about,
        disabled=disabled,
        **{"aria-label": label},
    )


def table(found: Table, name: str | None = None) -> html.Div:
    """Return a table as the report shows it, in a box of its own that scrolls."""
    head = html.Thead(
        html.Tr([html.Th(one, scope="col", className=_side(found, k)) for k, one in enumerate(found.head)])
    )
    rows = [
        html.Tr(
            [
                html.Th(cell, scope="row") if k == 0 else html.Td(cell, className=_side(found, k))
                for k, cell in enumerate(row)
            ]
        )
        for row in found.rows
    ]
    inside = html.Table([html.Caption(found.caption), head, html.Tbody(rows)])
    return html.Div(inside, className="scroll", tabIndex=0, role="region", **_named(name, found.caption))


def _named(name: str | None, label: str) -> dict[str, Any]:
    return {"aria-label": label} | ({"id": name} if name else {})


def _side(found: Table, place: int) -> str:
    return "r" if place < len(found.align) and found.align[place] == "r" else "l"


def figure(found: Figure, name: str, *, brush: bool = False) -> html.Figure:
    """Return a picture with its words for those who cannot see it."""
    layout = {**found.layout, "height": found.height}
    if brush:
        layout |= {"dragmode": "select"}
        layout["xaxis"] = {**layout["xaxis"], "fixedrange": False}
        layout["yaxis"] = {**layout["yaxis"], "fixedrange": False}
    drawn = dcc.Graph(id=name, figure={"data": found.data, "layout": layout}, config=dict(QUIET), className="paper")
    return html.Figure(
        [
            html.Div(drawn, id=f"{name}-words", role="img", className="canvas", **{"aria-label": found.alt}),
            html.Figcaption([html.Strong(found.title), " ", found.caption]),
        ]
    )


def blocks(found: Iterable[Block], prefix: str) -> list[Any]:
    """Return measures as the report shows them: words, sentences, tables, charts."""
    shown: list[Any] = []
    for number, one in enumerate(found):
        shown.append(html.H3(one.title))
        shown.append(html.P(one.words.replace("**", ""), className="lead"))
        shown += [html.P(sentence.replace("**", "")) for sentence in (*one.first, *one.sentences)]
        if one.absent and not one.sentences and not one.tables:
            shown.append(html.P(f"Not computed: {one.absent}."))
        for place, chart in enumerate(one.charts):
            shown += [figure(drawn, f"{prefix}-{number}-{place}-{k}") for k, drawn in enumerate(draw(chart))]
        shown += [table(one_table) for one_table in one.tables]
        shown += [html.P(note, className="small") for note in (*one.notes, *one.missing)]
    return shown


def what(name: str) -> html.Details | str:
    """Return "what is this?" for a limit or a measure in the words of its registry; empty where it has none."""
    said = meaning(name)
    if not said:
        return ""
    return html.Details(
        [html.Summary("what is this?", **{"aria-label": f"what is {name}?"}), html.P(said)], className="what"
    )


def meaning(name: str) -> str:
    """Return what a limit or a measure asks.

    Examples
    --------
    >>> meaning("panel")[:3]
    'How'
    """
    if name in LIMITS:
        asked = [one.asks for side in (RISK, UTILITY) for one in side.values() if name in one.limits]
        brief = LIMITS[name].brief
        return f"{name}: {brief}." + (f" {asked[0]}" if asked else "")
    return next((str(side[name].asks) for side in (UTILITY, RISK) if name in side), "")


def plain(name: str) -> str:
    """Return a name as one line that fits a cell."""
    return shorten("".join(letter if letter.isprintable() else " " for letter in name), LONGEST_NAME)


def note(sentence: str, kind: str = "note") -> html.P:
    """Return a sentence that stands out."""
    return html.P(sentence, className=kind)
