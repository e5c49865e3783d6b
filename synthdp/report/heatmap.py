"""The map of pairs: how well each two columns are kept together, the worst in one corner."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.report import drawing
from synthdp.report.plots import Figure
from synthdp.report.words import is_number, number

LABEL = 20
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
        "z": [[None if v is None else drawing.tidy(min(_height(v), top)) for v in row] for row in shown.values],
        "zmin": 0,
        "zmax": drawing.tidy(top),
        "colorscale": COLOURS,
        "xgap": 1,
        "ygap": 1,
        "hoverinfo": "text",
        "hovertext": [
            [drawing.escape(_said(a, b, value)) for b, value in zip(shown.columns, row, strict=True)]
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
    layout = drawing.layout(height, x=drawing.labels(places, shown.columns, LABEL) | names | {"tickangle": -60})
    layout["yaxis"] = drawing.labels(places, shown.columns, LABEL) | names | {"autorange": "reversed"}
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
        "tickvals": [drawing.tidy(math.log10(tick)) for tick in ticks],
        "ticktext": [f"{text} = chance" if text == "1" else text for text in texts],
        "thickness": 12,
        "len": 0.6,
        "lenmode": "fraction",
        "outlinewidth": 1,
        "outlinecolor": drawing.GREY,
    }
