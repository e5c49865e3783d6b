"""The charts that measures hand over, drawn."""

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from synthdp.evaluation.blocks import (
    Bars,
    Crowds,
    Curves,
    Dots,
    Forest,
    Marks,
    Outlines,
    Pairs,
    is_number,
    number,
    percent,
)
from synthdp.report import crowds, plots
from synthdp.report.plots import Figure

ROW_LABEL = 26
ROW = 24
# a value further out than this many times all others would squeeze them into one place
OFF_SCALE = 4.0


LOOKS = {
    "found": (plots.ORANGE, "diamond"),
    "single": (plots.BLUE, "circle-open"),
    "halves": (plots.BLUE, "line-ns-open"),
    "chance": (plots.INK, "line-ns-open"),
}


@singledispatch
def draw(chart: object) -> tuple[Figure, ...]:
    """Return what a measure wants drawn."""
    raise TypeError(f"nobody draws {type(chart).__name__}")


draw.register(Forest, plots.forest)
draw.register(Bars, plots.bars)
draw.register(Crowds, crowds.crowded)


@draw.register
def dots(chart: Dots) -> tuple[Figure]:
    """Return rows of marks."""
    rows, marks, least, line = chart.rows, chart.marks, chart.least, chart.line
    places = list(range(len(rows)))[::-1]
    top = _top(marks)
    data = [_ranges(mark, places, least, top) for mark in marks if mark.low and mark.high]
    # drawn last, the most important mark lies on top
    data += [_points(mark, rows, places, least, top) for mark in marks[::-1]]
    ends = [x for trace in data for x in trace["x"] if x is not None] + ([line] if line is not None else [])
    height = 64 + ROW * len(rows)
    layout = plots.layout(height, x={"title": {"text": chart.axis}} | _range(ends, least))
    layout["yaxis"] = plots.labels(places, rows, ROW_LABEL) | {"range": [-0.7, len(rows) - 0.3], "showgrid": True}
    layout["yaxis"] |= {"gridcolor": "#EFEFEF"}
    if line is not None:
        stroke = {"color": plots.INK, "width": 1.5, "dash": "dash"}
        upright = {"type": "line", "x0": line, "x1": line, "yref": "paper", "y0": 0, "y1": 1, "line": stroke}
        layout["shapes"] = [upright | {"layer": "below"}]
    caption = chart.caption
    if top is not None:
        caption += " A triangle at the right end stands for a value beyond it."
    said = [f"{row}: {number(mark)}" for row, mark in zip(rows, marks[0].values, strict=True)]
    alt = f"{chart.title}, {marks[0].name}. " + "; ".join(said) + "."
    return (Figure(chart.title, data, layout, alt, caption, height),)


def _points(
    mark: Marks, rows: Sequence[str], places: Sequence[int], least: float | None, top: float | None
) -> dict[str, Any]:
    drawn = [_place(value, least, top) for value in mark.values]
    beyond = [is_number(value) and top is not None and value > top for value in mark.values]
    said = [f"{row}, {mark.name}: {number(value)}" for row, value in zip(rows, mark.values, strict=True)]
    colour, symbol = LOOKS[mark.look]
    style = {"color": colour, "size": 10, "line": {"width": 2, "color": colour}}
    style["symbol"] = ["triangle-right" if far else symbol for far in beyond]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plots.escape(mark.name),
        "x": drawn,
        "y": list(places),
        "marker": style,
        "text": [plots.escape(text) for text in said],
        "cliponaxis": False,
        "hovertemplate": "%{text}<extra></extra>",
    }


def _ranges(mark: Marks, places: Sequence[int], least: float | None, top: float | None) -> dict[str, Any]:
    x: list[float | None] = []
    y: list[float | None] = []
    for low, high, place in zip(mark.low, mark.high, places, strict=True):
        x += [_place(low, least, top), _place(high, least, top), None]
        y += [place, place, None]
    return plots.ranges(x, y, {"color": LOOKS[mark.look][0], "width": 2})


def _place(value: Any, least: float | None, top: float | None) -> float | None:
    if not is_number(value):
        return None
    return plots.tidy(min(max(value, -math.inf if least is None else least), math.inf if top is None else top))


def _top(marks: Sequence[Marks]) -> float | None:
    """Return where the axis ends although one row lies far beyond it; None where all fit."""
    rows = zip(*(mark.values for mark in marks), strict=True)
    found = sorted(max([float(value) for value in row if is_number(value)], default=0.0) for row in rows)
    if len(found) < 3 or found[-2] <= 0 or found[-1] <= OFF_SCALE * found[-2]:
        return None
    return 1.25 * found[-2]


def _range(ends: Sequence[float], least: float | None) -> dict[str, Any]:
    if least is None:
        high = max(ends, default=0.0) or 1.0
        return {"range": [plots.tidy(-0.02 * high), plots.tidy(1.06 * high)], "nticks": 6}
    high = max(max(ends, default=1.0), 10 * least)
    decades = range(math.floor(math.log10(least)), math.ceil(math.log10(high)) + 1)
    steps = (1.0, 3.0) if len(decades) <= 4 else (1.0,)
    ticks = [tick for power in decades for step in steps if (tick := step * 10.0**power) >= least * (1 - 1e-9)]
    room = 0.03 * math.log10(high / least)
    return {
        "type": "log",
        "range": [math.log10(least) - room, math.log10(high) + room],
        "tickvals": [plots.tidy(tick) for tick in ticks],
        "ticktext": [f"≤ {number(tick)}" if tick <= least else number(tick) for tick in ticks],
        "tickangle": 0,
    }


PAIR_LABEL = 20
# with more columns the numbers would not fit into the cells
FEW_COLUMNS = 12
MOST_DECADES = 3.0
# light to dark, so that it also reads in grey; white is what chance gives
COLOURS = [[0.0, "#FFFFFF"], [0.24, "#FDD9B5"], [0.5, "#F08A3C"], [0.75, "#B84A00"], [1.0, "#4A1B00"]]
UNKNOWN = "#E4E6E8"


@draw.register
def heatmap(shown: Pairs) -> tuple[Figure]:
    """Return the map; the columns run in the same order down and across."""
    places = list(range(len(shown.columns)))
    known = [value for row in shown.values for value in row if value is not None]
    # a fixed lower end, so that a good release looks good: 10 is where a warning begins
    top = min(max(1.0, max(_height(value) for value in known)), MOST_DECADES)
    cells: dict[str, Any] = {
        "type": "heatmap",
        "x": places,
        "y": places,
        "z": [[None if v is None else plots.tidy(min(_height(v), top)) for v in row] for row in shown.values],
        "zmin": 0,
        "zmax": plots.tidy(top),
        "colorscale": COLOURS,
        "xgap": 1,
        "ygap": 1,
        "hoverinfo": "text",
        "hovertext": [
            [plots.escape(_said(a, b, value)) for b, value in zip(shown.columns, row, strict=True)]
            for a, row in zip(shown.columns, shown.values, strict=True)
        ],
        "colorbar": _scale(top),
    }
    if len(places) <= FEW_COLUMNS:
        cells["text"] = [["" if value is None else _brief(value) for value in row] for row in shown.values]
        cells["texttemplate"] = "%{text}"
    size = 34 if len(places) <= FEW_COLUMNS else 17
    height = 130 + size * len(places)
    names = {"showline": False, "ticks": "", "tickfont": {"size": 12 if len(places) <= FEW_COLUMNS else 10}}
    layout = plots.layout(height, x=plots.labels(places, shown.columns, PAIR_LABEL) | names | {"tickangle": -60})
    layout["yaxis"] = plots.labels(places, shown.columns, PAIR_LABEL) | names | {"autorange": "reversed"}
    layout["plot_bgcolor"] = UNKNOWN
    worst, a, b = max(
        (value, row, column)
        for row, cells_ in enumerate(shown.values)
        for column, value in enumerate(cells_[:row])
        if value is not None
    )
    alt = (
        f"S_pMSE of every two of {len(places)} columns. Largest: {shown.columns[a]} with {shown.columns[b]}, "
        f"{number(worst)}."
    )
    caption = (
        "The darker, the worse a pair of columns is preserved; white is what chance gives (1) or better. On the "
        "diagonal: single columns. The worst columns come first, down and across alike."
    )
    if any(value is None for row in shown.values for value in row):
        caption += " Grey: the same in every copy because both columns were kept, or not measured."
    if shown.left_out:
        caption += f" {number(shown.left_out)} columns that are served better are not drawn."
    # narrower, the names across would run into each other
    return (Figure("Every two columns", [cells], layout, alt, caption, height, width=240 + 14 * len(places)),)


def _height(value: float) -> float:
    return math.log10(max(value, 1.0))


def _said(one: str, other: str, value: float | None) -> str:
    names = one if one == other else f"{one} with {other}"
    return f"{names}: {number(value)}"


def _brief(value: float) -> str:
    return number(round(value)) if value >= 10 else f"{value:.1f}"


def _scale(top: float) -> dict[str, Any]:
    ticks = [tick for tick in (1, 3, 10, 30, 100, 300, 1000) if math.log10(tick) <= top + 1e-9]
    texts = [number(tick) for tick in ticks]
    return {
        "tickvals": [plots.tidy(math.log10(tick)) for tick in ticks],
        "ticktext": [f"{text} = chance" if text == "1" else text for text in texts],
        "thickness": 12,
        "len": 0.6,
        "lenmode": "fraction",
        "outlinewidth": 1,
        "outlinecolor": plots.GREY,
    }


SIZE = 400
LINES = ((plots.BLUE, "solid"), (plots.ORANGE, "dash"), (plots.GREEN, "dot"), (plots.PURPLE, "dashdot"))
CHOSEN = 0.05


@draw.register
def curve(chart: Curves) -> tuple[Figure]:
    """Return the receiver operating characteristic of every way to claim membership."""
    coin = {"type": "scatter", "mode": "lines", "name": "a coin", "x": [0, 100], "y": [0, 100], "hoverinfo": "skip"}
    data: list[dict[str, Any]] = [coin | {"line": {"color": plots.GREY, "width": 1}}]
    for k, (name, points) in enumerate(chart.points.items()):
        colour, dash = LINES[k % len(LINES)]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": plots.escape(name),
                "x": plots.percents([point[0] for point in points]),
                "y": plots.percents([point[1] for point in points]),
                "line": {"color": colour, "width": 2.2, "dash": dash},
                "hovertemplate": "%{y}% found at %{x}%",
            }
        )
    layout = plots.layout(
        SIZE, x={"title": {"text": "% of outsiders wrongly accused"}, "range": [-1, 101], "nticks": 6}
    )
    layout["yaxis"] = layout["yaxis"] | {
        "title": {"text": "% of members recognised"},
        "range": [-1, 101],
        "nticks": 6,
        "showline": True,
    }
    # nothing is drawn far below the diagonal
    corner = {"x": 0.99, "y": 0.02, "xanchor": "right", "yanchor": "bottom", "bgcolor": "rgba(255,255,255,0.85)"}
    layout |= {"showlegend": True, "legend": corner | {"font": {"size": 11}}}
    said = ", ".join(f"{name} {percent(_at(points))}" for name, points in chart.points.items())
    alt = f"Curves of the membership test. At {percent(CHOSEN)} wrongly accused, members recognised: {said}."
    caption = "A line along the diagonal is a coin; the further above it, the more an intruder learns."
    return (Figure("Members recognised against outsiders wrongly accused", data, layout, alt, caption, SIZE),)


def _at(points: Sequence[Sequence[float]]) -> float:
    """Return the largest share recognised when no more than the chosen share is wrongly accused."""
    return max(true for false, true in points if false <= CHOSEN)


@draw.register
def outlines(chart: Outlines) -> tuple[Figure]:
    """Return histograms over each other."""
    layout = plots.layout(230, x={"title": {"text": chart.axis}, "nticks": 6})
    layout["yaxis"] |= {"ticksuffix": "%", "rangemode": "tozero", "nticks": 5}
    mean = [sum(cells) / len(cells) for cells in zip(*chart.copies, strict=True)]
    apart = sum(abs(a - b) for a, b in zip(chart.original, mean, strict=True)) / 2
    alt = f"{chart.title}: the histograms of original and synthetic records differ in {percent(apart)} of their area."
    edges = [plots.tidy(edge) for edge in chart.edges]
    return (Figure(chart.title, plots.outlined(edges, chart.original, chart.copies), layout, alt, chart.caption, 230),)
