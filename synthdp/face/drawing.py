"""The report's own figures as plotly figures, which notebooks show and files keep."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from synthdp.errors import InputError
from synthdp.report.plots import Figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEADING = 34
BELOW = 26


def figure_of(figures: Sequence[Figure], called: str, why: str = "nothing of the kind was measured") -> "go.Figure":
    """Return figures one below the other in a single one; each keeps its axes, its marks and its title.

    Parameters
    ----------
    figures
        As the report has them.
    called
        What was asked for, for the message.
    why
        There is nothing to draw, where that is so.
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
        layout["annotations"].append(_heading(figure.title, (above - HEADING / 4) / whole))
        layout["shapes"] += [_moved(shape, mark) for shape in figure.layout.get("shapes", ())]
        above -= height
    return go.Figure({"data": data, "layout": layout})


def _shared(key: str) -> bool:
    return not key.startswith(("xaxis", "yaxis")) and key not in ("height", "shapes", "margin")


def _heading(title: str, y: float) -> dict[str, Any]:
    words = title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    place = {"x": 0, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top"}
    return {"text": f"<b>{words}</b>", "showarrow": False, **place}


def _moved(shape: Mapping[str, Any], mark: str) -> dict[str, Any]:
    """Return a line across the whole figure as one across its own axes."""
    return {**shape, "xref": f"x{mark}", "yref": f"y{mark} domain"}
