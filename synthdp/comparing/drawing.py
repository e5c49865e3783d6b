"""The map drawn: risk to the right, usefulness upwards, ranges over seeds, and the line of those whom nobody beats."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from synthdp.comparing.axes import Axis, points, rows_of
from synthdp.evaluation.blocks import number
from synthdp.report import plots
from synthdp.report.plots import Figure
from synthdp.report.words import shorten

HEIGHT = 500
LABEL = 22
# around its mark, in the order of preference
PLACES: tuple[str, ...] = ("middle right", "top center", "bottom center", "middle left")
PLACES += ("top right", "bottom right", "top left", "bottom left")
# pixels of the plot on a usual screen, and of a letter
WIDE, HIGH, LETTER = 900.0, 400.0, 6.6
CAPTION = (
    "Each mark is a method: its mean over seeds, with bars from the smallest to the largest seed. Files of other tools "
    "were measured once and have no bars. The line joins the methods that no other one beats in both."
)


def drawn_map(lines: pd.DataFrame, methods: Sequence[str], risk: Axis, utility: Axis) -> Figure:
    """Return the map of two measures; a method that lacks one is named below it, with the reason."""
    where = points(lines, methods, risk, utility)
    where = where.assign(place=range(len(where)))
    known = where[where["risk"].notna() & where["utility"].notna()].reset_index(drop=True)
    front = known[known["front"]].sort_values(["risk", "utility"])
    data: list[dict[str, Any]] = [_front(front)] if len(front) > 1 else []
    data += [_marks(known, on) for on in (False, True)]
    layout = plots.layout(HEIGHT, x={"title": {"text": plots.escape(risk.words)}, "nticks": 7} | _room(known, "risk"))
    layout["yaxis"] = layout["yaxis"] | {
        "title": {"text": plots.escape(utility.words)},
        "showline": True,
        "nticks": 7,
        **_room(known, "utility"),
    }
    layout["margin"] = {"l": 8, "r": 12, "t": 24, "b": 8}
    said = [
        f"{row.method} {number(row.risk)}, {number(row.utility)}" + (", on the front" if row.front else "")
        for row in rows_of(known)
    ]
    alt = f"Map of {risk.title} and {utility.title} by method. " + "; ".join(said) + "."
    absent = [f"{row.method} ({row.reason})" for row in rows_of(where) if row.reason]
    caption = CAPTION + (f" Not on the map: {'; '.join(absent)}." if absent else "")
    return Figure(f"{utility.title} against {risk.title}", data, layout, alt, caption, HEIGHT)


def _front(front: pd.DataFrame) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "nobody beats these in both",
        "x": [plots.tidy(value) for value in front["risk"]],
        "y": [plots.tidy(value) for value in front["utility"]],
        "line": {"color": plots.GREY, "width": 1.5, "dash": "dot"},
        "hoverinfo": "skip",
    }


def _marks(known: pd.DataFrame, on: bool) -> dict[str, Any]:
    """Return the marks of the methods on the front, or of the others, with bars over seeds."""
    places = pd.Series(_label_places(known), index=known.index, dtype=object)
    mine = known[known["front"] == on]
    colour = plots.BLUE if on else plots.ORANGE
    style = {"color": colour, "size": 11, "symbol": "circle" if on else "diamond-open", "line": {"width": 2}}
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": "on the front" if on else "beaten by another",
        "x": [plots.tidy(value) for value in mine["risk"]],
        "y": [plots.tidy(value) for value in mine["utility"]],
        "error_x": _bars(mine, "risk", colour),
        "error_y": _bars(mine, "utility", colour),
        "text": [plots.escape(shorten(str(name), LABEL)) for name in mine["method"]],
        # on a narrow screen the page shows these in place of the names
        "ids": [str(row + 1) for row in mine["place"]],
        "textposition": [places[row] for row in mine.index],
        "textfont": {"color": colour, "size": 12},
        "marker": style | {"line": {"width": 2, "color": colour}},
        "customdata": [
            [plots.escape(f"{row.method}: risk {_range(row, 'risk')}, usefulness {_range(row, 'utility')}")]
            for row in rows_of(mine)
        ],
        "hovertemplate": "%{customdata[0]}<extra></extra>",
        "cliponaxis": False,
    }


def _range(row: Any, side: str) -> str:
    value, low, high = (getattr(row, name) for name in (side, f"{side}_low", f"{side}_high"))
    return number(value) if low == high else f"{number(value)} ({number(low)} to {number(high)})"


def _bars(mine: pd.DataFrame, side: str, colour: str) -> dict[str, Any]:
    up, down = mine[f"{side}_high"] - mine[side], mine[side] - mine[f"{side}_low"]
    ends = {"array": [plots.tidy(one) for one in up], "arrayminus": [plots.tidy(one) for one in down]}
    return {"type": "data", "symmetric": False, "color": colour, "thickness": 1.2, "width": 3, **ends}


def _room(known: pd.DataFrame, side: str) -> dict[str, Any]:
    """Return a range with room for bars and names."""
    if known.empty:
        return {}
    low, high = float(known[f"{side}_low"].min()), float(known[f"{side}_high"].max())
    room = 0.12 * ((high - low) or abs(high) or 1.0)
    return {"range": [plots.tidy(low - room), plots.tidy(high + room)]}


def _label_places(known: pd.DataFrame) -> list[str]:
    """Return where each name goes: where it covers least of marks, bars, and names that are placed already."""
    if known.empty:
        return []
    (across, left, right), (down, low, high) = (
        [_pixels(known, side, size, end) for end in ("", "_low", "_high")]
        for side, size in (("risk", WIDE), ("utility", HIGH))
    )
    taken = [_Box(x - 7, x + 7, y - 7, y + 7) for x, y in zip(across, down, strict=True)]
    taken += [_Box(one, two, y - 2, y + 2) for one, two, y in zip(left, right, down, strict=True)]
    taken += [_Box(x - 2, x + 2, one, two) for one, two, x in zip(low, high, across, strict=True)]
    chosen: list[str] = []
    for row, name in enumerate(known["method"]):
        length = LETTER * min(len(str(name)), LABEL)
        boxes = {place: _Box.beside(across[row], down[row], length, place) for place in PLACES}
        best = min(PLACES, key=lambda place: boxes[place].covers(taken))
        taken.append(boxes[best])
        chosen.append(best)
    return chosen


def _pixels(known: pd.DataFrame, side: str, size: float, end: str) -> list[float]:
    low, high = _room(known, side)["range"]
    return [float((value - low) / (high - low) * size) for value in known[f"{side}{end}"].fillna(known[side])]


@dataclass(frozen=True)
class _Box:
    """A rectangle of the picture, in pixels from the lower left."""

    left: float
    right: float
    bottom: float
    top: float

    @classmethod
    def beside(cls, x: float, y: float, length: float, place: str) -> "_Box":
        """Return the box of a name beside a mark."""
        up, along = place.split()
        middle = y + {"top": 15, "middle": 0, "bottom": -15}[up]
        left = x + {"left": -length - 8, "center": -length / 2, "right": 8}[along]
        return cls(left, left + length, middle - 7, middle + 7)

    def covers(self, others: Sequence["_Box"]) -> float:
        """Return how much of the others lies under this one, and how much of it lies outside the picture."""
        shared = sum(
            max(0.0, min(self.right, one.right) - max(self.left, one.left))
            * max(0.0, min(self.top, one.top) - max(self.bottom, one.bottom))
            for one in others
        )
        return shared + 14 * (max(0.0, -self.left) + max(0.0, self.right - WIDE))
