"""Three pictures of the report: dots in rows, the map of pairs, and the curve of the membership test."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.blocks import is_number, number, percent
from synthdp.report import plots
from synthdp.report.plots import Figure

ROW_LABEL = 26
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
    layout = plots.layout(height, x={"title": {"text": axis}} | _range(ends, least))
    layout["yaxis"] = plots.labels(places, rows, ROW_LABEL) | {"range": [-0.7, len(rows) - 0.3], "showgrid": True}
    layout["yaxis"] |= {"gridcolor": "#EFEFEF"}
    if line is not None:
        stroke = {"color": plots.INK, "width": 1.5, "dash": "dash"}
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
    line = {"color": mark.colour, "width": 2}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, "hoverinfo": "skip"}


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
MOST_COLUMNS = 60
# with more columns the numbers would not fit into the cells
FEW_COLUMNS = 12
MOST_DECADES = 3.0
# light to dark, so that it also reads in grey; white is what chance gives
COLOURS = [[0.0, "#FFFFFF"], [0.24, "#FDD9B5"], [0.5, "#F08A3C"], [0.75, "#B84A00"], [1.0, "#4A1B00"]]
UNKNOWN = "#E4E6E8"


@dataclass(frozen=True)
class Pairs:
    """S_pMSE of every two columns, of single columns on the diagonal; ``left_out`` columns found no place."""

    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    left_out: int


def pairs(tables: Sequence[Mapping[str, Any]]) -> Pairs | None:
    """Return the matrix of one- and two-way tables, columns with the largest values first; None without pairs.

    A column counts by the mean of log S_pMSE over its tables, values below 1 (chance) counting as 1.
    """
    found: dict[tuple[str, str], float] = {}
    names: dict[str, list[float]] = {}
    for table in tables:
        columns = [str(name) for name in table.get("columns") or ()]
        value = table.get("s_pmse")
        if not 1 <= len(columns) <= 2:
            continue
        for name in columns:
            names.setdefault(name, [])
        if is_number(value):
            found[columns[0], columns[-1]] = found[columns[-1], columns[0]] = float(value)  # type: ignore[arg-type]
            for name in columns:
                names[name].append(_height(float(value)))  # type: ignore[arg-type]
    if not any(one != other for one, other in found):
        return None
    order = sorted(names, key=lambda name: -sum(names[name]) / max(len(names[name]), 1))
    shown = order[:MOST_COLUMNS]
    values = tuple(tuple(found.get((row, column)) for column in shown) for row in shown)
    return Pairs(tuple(shown), values, len(order) - len(shown))


def heatmap(shown: Pairs) -> Figure:
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
    return Figure("Every two columns", [cells], layout, alt, caption, height, width=240 + 14 * len(places))


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


def curve(curves: Mapping[str, Sequence[Sequence[float]]]) -> Figure:
    """Return the receiver operating characteristic of every way to claim membership.

    Parameters
    ----------
    curves
        By name, pairs of the share of outsiders wrongly accused and the share of members recognised.
    """
    coin = {"type": "scatter", "mode": "lines", "name": "a coin", "x": [0, 100], "y": [0, 100], "hoverinfo": "skip"}
    data: list[dict[str, Any]] = [coin | {"line": {"color": plots.GREY, "width": 1}}]
    for k, (name, points) in enumerate(curves.items()):
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
    said = ", ".join(f"{name} {percent(_at(points))}" for name, points in curves.items())
    return Figure(
        title="Members recognised against outsiders wrongly accused",
        data=data,
        layout=layout,
        alt=f"Curves of the membership test. At {percent(CHOSEN)} wrongly accused, members recognised: {said}.",
        caption="A line along the diagonal is a coin; the further above it, the more an intruder learns.",
        height=SIZE,
    )


def _at(points: Sequence[Sequence[float]]) -> float:
    """Return the largest share recognised when no more than the chosen share is wrongly accused."""
    return max(true for false, true in points if false <= CHOSEN)
