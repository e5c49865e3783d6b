"""Pieces that every view is made of: tables, figures with their words, selects.

Text reaches the page as text nodes, which the browser never reads as markup; figures are escaped where they are made.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dash import dcc, html

from synthdp.evaluation.blocks import Block, Forest, Table
from synthdp.explore.words import heads
from synthdp.report.charts import draw
from synthdp.report.plots import Figure
from synthdp.report.words import shorten

# plotly's own buttons that send or save elsewhere are off, and so is its address for pictures
QUIET: Mapping[str, Any] = {"displaylogo": False, "plotlyServerURL": "", "displayModeBar": False, "responsive": True}
LONGEST_NAME = 60
PAIR = "● and the solid line: the original. ◇ and the dotted line: all copies together."
# cells of more letters need room on a narrow screen
LONG = 16
# a sign and its word stay in one line
MARKS = frozenset("✔✘▲")


def select(about: str, label: str, options: Sequence[str], chosen: str, *, disabled: bool = False) -> html.Select:
    """Return a browser's own select; what is chosen is sent as an edit of what ``about`` says."""
    return html.Select(
        [html.Option(one, value=one, selected=one == chosen) for one in options],
        id=about,
        disabled=disabled,
        **{"aria-label": label, "data-chosen": chosen},
    )


def table(found: Table) -> html.Div:
    """Return a table as the report shows it, in a box of its own that scrolls, and what its heads mean."""
    head = html.Thead(
        html.Tr([html.Th(one, scope="col", className=_side(found, k)) for k, one in enumerate(found.head)])
    )
    rows = [html.Tr([_cell(found, k, line(cell)) for k, cell in enumerate(row)]) for row in found.rows]
    inside = html.Table([html.Caption(found.caption), head, html.Tbody(rows)])
    box = html.Div(inside, className="scroll", tabIndex=0, role="region", **{"aria-label": found.caption})
    return html.Div([box, heads(found.head)], className="table")


def _cell(found: Table, place: int, cell: str) -> html.Th | html.Td:
    side = _side(found, place, cell)
    return html.Td(cell, className=side) if place else html.Th(cell, scope="row", className=side)


def _side(found: Table, place: int, cell: str = "") -> str:
    side = "r" if place < len(found.align) and found.align[place] == "r" else "l"
    long = any(len(row[place]) > LONG for row in found.rows if place < len(row))
    return "mark" if cell[:1] in MARKS else f"{side} long" if long else side


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
            if isinstance(chart, Forest):
                shown.append(html.P(PAIR, className="small"))
            shown += [figure(drawn, f"{prefix}-{number}-{place}-{k}") for k, drawn in enumerate(draw(chart))]
        shown += [table(one_table) for one_table in one.tables]
        shown += [html.P(note, className="small") for note in (*one.notes, *one.missing)]
    return shown


def plain(name: str) -> str:
    """Return a name as one line that fits a cell."""
    return shorten(line(name), LONGEST_NAME)


def line(text: str) -> str:
    """Return text in one line, without letters that are not seen but turn others around."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def note(sentence: str, kind: str = "note") -> html.P:
    """Return a sentence that stands out."""
    return html.P(sentence, className=kind)
