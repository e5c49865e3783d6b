"""The common look of all plots: colours, axes, hatching.

Colours are Okabe and Ito's, told apart by every common kind of colour vision; shape, dash or hatching always says
the same thing again.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from synthdp.report.words import shorten

BLUE, ORANGE, GREEN, PURPLE, GREY, INK, SKY = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#8A8A8A",
    "#222222",
    "#56B4E9",
)
FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif'
SERIES: tuple[tuple[str, str], ...] = ((GREY, "/"), (BLUE, ""), (ORANGE, "."), (GREEN, "x"), (PURPLE, "-"), (SKY, "|"))


def escape(text: str) -> str:
    """Return text that plotly shows letter by letter; it would read < and & as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def layout(height: int, *, x: Mapping[str, Any]) -> dict[str, Any]:
    """Return axes and margins that all plots share; zooming is off so that a finger scrolls the page."""
    axis = {"fixedrange": True, "gridcolor": "#E3E3E3", "linecolor": GREY, "zeroline": False, "automargin": True}
    return {
        "height": height,
        "font": {"family": FONT, "size": 12, "color": INK},
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "dragmode": False,
        "xaxis": axis | {"showline": True, "ticks": "outside", "ticklen": 4} | dict(x),
        "yaxis": axis,
    }


def labels(places: Sequence[int], names: Sequence[str], length: int) -> dict[str, Any]:
    """Return an upright axis with names instead of numbers."""
    return {
        "tickvals": list(places),
        "ticktext": [escape(shorten(name, length)) for name in names],
        "fixedrange": True,
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "ticklabelstandoff": 6,
    }


def steps(edges: Sequence[Any], shares: Sequence[float]) -> dict[str, Any]:
    """Return the outline of a histogram."""
    # starts and ends on the ground, so that the outermost bins have walls
    heights = percents(shares)
    line = {"color": BLUE, "width": 2, "shape": "hv"}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [edges[0], *edges],
        "y": [0, *heights, 0],
        "line": line,
        "hovertemplate": "%{y}%",
    }


def thin(copies: int) -> dict[str, Any]:
    """Return the line of one copy, thinner where there are many."""
    return {"color": ORANGE, "width": 1.4 if copies <= 10 else 0.8, "shape": "hv", "dash": "3px,2px"}


def hatched(colour: str, shape: str) -> dict[str, Any]:
    """Return the filling of a bar."""
    pattern = {"shape": shape, "fillmode": "replace", "fgcolor": colour, "bgcolor": "#FFFFFF", "size": 6}
    pattern |= {"solidity": 0.4}
    return {"color": colour, "pattern": pattern, "line": {"color": colour, "width": 1.2}}


def percents(shares: Sequence[float]) -> list[float]:
    """Return shares as percentages."""
    return [tidy(100 * share) for share in shares]


def tidy(value: float) -> float:
    """Return a number with no more digits than a plot can show."""
    return float(f"{value:.6g}")
