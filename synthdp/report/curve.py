"""How well members are told from outsiders: the curve of the membership test."""

from collections.abc import Mapping, Sequence
from typing import Any

from synthdp.report import drawing
from synthdp.report.plots import Figure
from synthdp.report.words import percent

SIZE = 400
LINES = ((drawing.BLUE, "solid"), (drawing.ORANGE, "dash"), (drawing.GREEN, "dot"), (drawing.PURPLE, "dashdot"))
CHOSEN = 0.05


def curve(curves: Mapping[str, Sequence[Sequence[float]]]) -> Figure:
    """Return the receiver operating characteristic of every way to claim membership.

    Parameters
    ----------
    curves
        By name, pairs of the share of outsiders wrongly accused and the share of members recognised.
    """
    coin = {"type": "scatter", "mode": "lines", "name": "a coin", "x": [0, 100], "y": [0, 100], "hoverinfo": "skip"}
    data: list[dict[str, Any]] = [coin | {"line": {"color": drawing.GREY, "width": 1}}]
    for k, (name, points) in enumerate(curves.items()):
        colour, dash = LINES[k % len(LINES)]
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": drawing.escape(name),
                "x": drawing.percents([point[0] for point in points]),
                "y": drawing.percents([point[1] for point in points]),
                "line": {"color": colour, "width": 2.2, "dash": dash},
                "hovertemplate": "%{y}% found at %{x}%",
            }
        )
    layout = drawing.layout(
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
