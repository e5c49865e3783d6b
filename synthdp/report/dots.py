"""Dots in rows: one line per column, attack or subgroup, with what to compare it with on the same line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.report import drawing
from synthdp.report.plots import Figure
from synthdp.report.words import is_number, number

LABEL = 26
ROW = 24
# a value further out than this many times all others would squeeze them into one place
OFF_SCALE = 4.0


@dataclass(frozen=True)
class Marks:
    """One kind of mark: its values from the top row down, and the range over copies where there is one."""

    name: str
    values: Sequence[Any]
    colour: str
    symbol: str
    low: Sequence[Any] = ()
    high: Sequence[Any] = ()


def dots(
    title: str,
    rows: Sequence[str],
    marks: Sequence[Marks],
    *,
    axis: str,
    caption: str,
    line: float | None = None,
    least: float | None = None,
) -> Figure:
    """Return rows of marks.

    Parameters
    ----------
    title
        What is measured.
    rows
        Names, from top to bottom.
    marks
        What is drawn in each row, the most important first.
    axis
        Words under the axis.
    line
        Where an upright line marks what is expected.
    least
        Makes the axis logarithmic; anything smaller is drawn there.
    """
    places = list(range(len(rows)))[::-1]
    top = _top(marks)
    data = [_ranges(mark, places, least, top) for mark in marks if mark.low and mark.high]
    # drawn last, the most important mark lies on top
    data += [_points(mark, rows, places, least, top) for mark in marks[::-1]]
    ends = [x for trace in data for x in trace["x"] if x is not None] + ([line] if line is not None else [])
    height = 64 + ROW * len(rows)
    layout = drawing.layout(height, x={"title": {"text": axis}} | _range(ends, least))
    layout["yaxis"] = drawing.labels(places, rows, LABEL) | {"range": [-0.7, len(rows) - 0.3], "showgrid": True}
    layout["yaxis"] |= {"gridcolor": "#EFEFEF"}
    if line is not None:
        stroke = {"color": drawing.INK, "width": 1.5, "dash": "dash"}
        upright = {"type": "line", "x0": line, "x1": line, "yref": "paper", "y0": 0, "y1": 1, "line": stroke}
        layout["shapes"] = [upright | {"layer": "below"}]
    if top is not None:
        caption += " A triangle at the right end stands for a value beyond it."
    said = [f"{row}: {number(mark)}" for row, mark in zip(rows, marks[0].values, strict=True)]
    return Figure(title, data, layout, f"{title}, {marks[0].name}. " + "; ".join(said) + ".", caption, height)


def _points(
    mark: Marks, rows: Sequence[str], places: Sequence[int], least: float | None, top: float | None
) -> dict[str, Any]:
    drawn = [_place(value, least, top) for value in mark.values]
    beyond = [is_number(value) and top is not None and value > top for value in mark.values]
    said = [f"{row}, {mark.name}: {number(value)}" for row, value in zip(rows, mark.values, strict=True)]
    style = {"color": mark.colour, "size": 10, "line": {"width": 2, "color": mark.colour}}
    style["symbol"] = ["triangle-right" if far else mark.symbol for far in beyond]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": drawing.escape(mark.name),
        "x": drawn,
        "y": list(places),
        "marker": style,
        "text": [drawing.escape(text) for text in said],
        "cliponaxis": False,
        "hovertemplate": "%{text}<extra></extra>",
    }


def _ranges(mark: Marks, places: Sequence[int], least: float | None, top: float | None) -> dict[str, Any]:
    x: list[float | None] = []
    y: list[float | None] = []
    for low, high, place in zip(mark.low, mark.high, places, strict=True):
        x += [_place(low, least, top), _place(high, least, top), None]
        y += [place, place, None]
    line = {"color": mark.colour, "width": 2}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, "hoverinfo": "skip"}


def _place(value: Any, least: float | None, top: float | None) -> float | None:
    if not is_number(value):
        return None
    return drawing.tidy(min(max(value, -math.inf if least is None else least), math.inf if top is None else top))


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
        return {"range": [drawing.tidy(-0.02 * high), drawing.tidy(1.06 * high)], "nticks": 6}
    high = max(max(ends, default=1.0), 10 * least)
    decades = range(math.floor(math.log10(least)), math.ceil(math.log10(high)) + 1)
    steps = (1.0, 3.0) if len(decades) <= 4 else (1.0,)
    ticks = [tick for power in decades for step in steps if (tick := step * 10.0**power) >= least * (1 - 1e-9)]
    room = 0.03 * math.log10(high / least)
    return {
        "type": "log",
        "range": [math.log10(least) - room, math.log10(high) + room],
        "tickvals": [drawing.tidy(tick) for tick in ticks],
        "ticktext": [f"≤ {number(tick)}" if tick <= least else number(tick) for tick in ticks],
        "tickangle": 0,
    }
