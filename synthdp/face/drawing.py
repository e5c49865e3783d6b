"""The report's own figures as plotly figures, which notebooks show and files keep."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from synthdp.errors import InputError
from synthdp.evaluation.blocks import find
from synthdp.report.plots import BLUE, INK, ORANGE, Figure, escape

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEADING = 34
BELOW = 26
# the page explains its marks once, a figure on its own has to say it itself
SIDES = (("●", BLUE, "original"), ("◇", ORANGE, "synthetic"))
SYMBOLS = {"diamond": "◆", "circle-open": "○", "line-ns-open": "|", "circle": "●"}

Key = tuple[str, str, str]


def figure_of(figures: Sequence[Figure], called: str, why: str, keys: Sequence[Key] | None = None) -> "go.Figure":
    """Return figures one below the other in a single one; each keeps its axes, its marks and its title.

    Parameters
    ----------
    figures
        As the report has them.
    called
        What was asked for, for the message.
    why
        There is nothing to draw, where that is so.
    keys
        Symbol, colour and meaning of the marks; by default those of marks that have names.
    """
    import plotly.graph_objects as go

    if not figures:
        raise InputError(f"plot.{called}: there is nothing to draw: {why.rstrip('.')}.")
    heights = [HEADING + figure.height + BELOW for figure in figures]
    whole = sum(heights)
    data: list[dict[str, Any]] = []
    # what is said of the page as a whole is the same in all figures
    layout: dict[str, Any] = {key: said for one in figures for key, said in one.layout.items() if _shared(key)}
    layout |= {"height": whole, "annotations": [], "shapes": [], "template": "none"}
    layout["margin"] = {"l": 8, "r": 12, "t": 8, "b": 8}
    above = whole
    for place, (figure, height) in enumerate(zip(figures, heights, strict=True), start=1):
        ends = ((above - height + BELOW) / whole, (above - HEADING) / whole)
        mark = "" if place == 1 else str(place)
        data += [{**trace, "xaxis": f"x{mark}", "yaxis": f"y{mark}"} for trace in figure.data]
        layout[f"xaxis{mark}"] = {**figure.layout["xaxis"], "anchor": f"y{mark}"}
        layout[f"yaxis{mark}"] = {**figure.layout["yaxis"], "anchor": f"x{mark}", "domain": list(ends)}
        layout["annotations"].append(_heading(figure, (above - HEADING / 4) / whole, keys))
        layout["shapes"] += [_moved(shape, mark) for shape in figure.layout.get("shapes", ())]
        above -= height
    return go.Figure({"data": data, "layout": layout})


def _shared(key: str) -> bool:
    return not key.startswith(("xaxis", "yaxis")) and key not in ("height", "shapes", "margin")


def _heading(figure: Figure, y: float, keys: Sequence[Key] | None) -> dict[str, Any]:
    said = _named(figure) if keys is None else keys
    words = [f"<b>{escape(figure.title)}</b>"]
    words += [f'<span style="color:{colour}">{symbol} {name}</span>' for symbol, colour, name in said]
    place = {"x": 0, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top"}
    return {"text": "   ".join(words), "showarrow": False, **place}


def _named(figure: Figure) -> list[Key]:
    """Return what marks with a name are called, the most important first."""
    found: list[Key] = []
    beyond = False
    for trace in figure.data[::-1]:
        symbols = find(trace, "marker", "symbol")
        if trace.get("name") and trace.get("mode") == "markers" and symbols:
            usual = next((SYMBOLS[one] for one in symbols if one in SYMBOLS), "●")
            found.append((usual, str(find(trace, "marker", "color")), str(trace["name"])))
            beyond = beyond or "triangle-right" in symbols
    return [*found, ("▶", INK, "beyond the axis")] if beyond else found


def _moved(shape: Mapping[str, Any], mark: str) -> dict[str, Any]:
    """Return a line across the whole figure as one across its own axes."""
    return {**shape, "xref": f"x{mark}", "yref": f"y{mark} domain"}
