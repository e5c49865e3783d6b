"""Regions and what they cost, drawn with plotly; larger regions behind smaller ones, the chosen one in front.

Computing and drawing are apart: ``outline`` and ``area`` give numbers, the other functions return figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy.tradeoff.curves import Tradeoff, intersect
from synthdp.table.microdata import Floats

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Okabe and Ito's colours; the dash says the same thing again
LOOKS: tuple[tuple[str, str], ...] = (
    ("#0072B2", "solid"),
    ("#D55E00", "dash"),
    ("#009E73", "dot"),
    ("#CC79A7", "dashdot"),
    ("#E69F00", "longdash"),
    ("#56B4E9", "longdashdot"),
)
INK = "#222222"
FINEST = 600


@dataclass(frozen=True)
class Region:
    """A trade-off function with the name it is shown under."""

    name: str
    curve: Tradeoff

    def renamed(self, name: str) -> Region:
        """Return the region under another name."""
        return Region(name, self.curve)


def crossing(title: str, *regions: Region) -> Region:
    """Return the intersection of regions under a title."""
    return Region(title, intersect(*(region.curve for region in regions)))


def outline(curve: Tradeoff) -> tuple[Floats, Floats]:
    """Return points of a curve that show it: its corners where they are few, else a grid closer near both ends."""
    knots = getattr(curve, "knots", None) or getattr(getattr(curve, "curve", None), "knots", None)
    if knots is not None and len(knots[0]) <= FINEST:
        alpha, beta = knots
    else:
        # squares of sines are dense where a curve is steep and where it is flat
        alpha = np.sin(np.linspace(0, np.pi / 2, FINEST)) ** 2
        beta = curve(alpha)
    if beta[0] < 1:
        alpha, beta = np.concatenate([[0.0], alpha]), np.concatenate([[1.0], beta])
    return alpha, beta


def area(curve: Tradeoff) -> float:
    """Return the area between the curve and the line α + β = 1: 0 says nothing leaks, 1/2 that all does."""
    alpha, beta = outline(curve)
    return float(0.5 - np.trapezoid(beta, alpha))


def regions(shown: Sequence[Region], *, title: str = "", selected: str | None = None) -> Figure:
    """Return a picture of regions.

    Parameters
    ----------
    shown
        The regions; colours follow this order, whatever the order of drawing.
    title
        Heading.
    selected
        Name of the region to bring to the front.
    """
    from plotly import graph_objects as go

    figure = go.Figure(layout=_layout(title))
    for trace in _traces(shown, selected):
        figure.add_trace(trace)
    figure.add_trace(_diagonal())
    return figure


def bands(limit: Region, low: Floats, high: Floats, alpha: Floats, exact: Region | None = None) -> Figure:
    """Return an approximate curve inside its error band, with the exact curve where it is known."""
    from plotly import graph_objects as go

    figure = go.Figure(layout=_layout(f"{limit.name} with its error band"))
    outside = {"x": alpha, "line": {"width": 0}, "hoverinfo": "skip"}
    figure.add_trace(go.Scatter(y=high, showlegend=False, **outside))
    figure.add_trace(go.Scatter(y=low, fill="tonexty", fillcolor="rgba(0,114,178,0.15)", name="band", **outside))
    for (colour, dash), region in zip(LOOKS, (limit, exact), strict=False):
        if region is not None:
            x, y = outline(region.curve)
            figure.add_trace(go.Scatter(x=x, y=y, mode="lines", name=region.name, line={"color": colour, "dash": dash}))
    figure.add_trace(_diagonal())
    return figure


def window(
    region: Region,
    utilities: dict[str, Callable[[float], float]],
    *,
    values: Floats,
    current: float,
    parameter: str,
    cost: str,
    logarithmic: bool = True,
) -> Figure:
    """Return utility against a parameter, a dotted line at its current value, and the region at that value beside it.

    Parameters
    ----------
    region
        The privacy region at the current value.
    utilities
        Curves of cost by name, each a function of the parameter.
    values, current
        Where to draw them, and where the dotted line stands.
    parameter, cost
        Titles of the axes.
    logarithmic
        Whether the cost is on a logarithmic axis.
    """
    from plotly import graph_objects as go
    from plotly.subplots import make_subplots

    if not values.min() <= current <= values.max():
        raise InputError(f"current: must lie in [{values.min():g}, {values.max():g}], found {current:g}.")
    figure = make_subplots(rows=1, cols=2, subplot_titles=(cost, region.name))
    for (colour, dash), (name, price) in zip(LOOKS, utilities.items(), strict=False):
        heights = [price(float(value)) for value in values]
        line = {"color": colour, "dash": dash}
        figure.add_trace(go.Scatter(x=values, y=heights, mode="lines", name=name, line=line), row=1, col=1)
    figure.add_vline(x=current, line={"dash": "dot", "color": INK}, row=1, col=1)
    for trace in [*_traces([region], None), _diagonal()]:
        figure.add_trace(trace, row=1, col=2)
    figure.update_xaxes(title_text=parameter, row=1, col=1)
    figure.update_yaxes(title_text=cost, type="log" if logarithmic else "linear", row=1, col=1)
    figure.update_xaxes(title_text="FP (type I error)", range=[0, 1], row=1, col=2)
    figure.update_yaxes(title_text="FN (type II error)", range=[0, 1], row=1, col=2)
    figure.update_layout(template="plotly_white", font={"color": INK})
    return figure


def _traces(shown: Sequence[Region], selected: str | None) -> list[object]:
    from plotly import graph_objects as go

    if strange := next((one for one in shown if not isinstance(one, Region)), None):
        raise InputError(f"shown: must be regions, such as Region('ε = 1', curve), found {type(strange).__name__}.")
    names = [region.name for region in shown]
    if selected is not None and selected not in names:
        raise InputError(f"selected: no region is called {selected}; there are {', '.join(names)}.")
    order = sorted(range(len(shown)), key=lambda i: (names[i] == selected, -area(shown[i].curve)))
    traces: list[object] = []
    for i in order:
        colour, dash = LOOKS[i % len(LOOKS)]
        x, y = outline(shown[i].curve)
        red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
        traces.append(
            go.Scatter(
                x=np.round(np.concatenate([x, [0.0]]), 6),
                y=np.round(np.concatenate([y, [1.0]]), 6),
                mode="lines",
                fill="toself",
                fillcolor=f"rgba({red},{green},{blue},0.18)",
                line={"color": colour, "dash": dash, "width": 3 if names[i] == selected else 2},
                name=names[i],
                hovertemplate="FP %{x:.3f}, FN %{y:.3f}",
            )
        )
    return traces


def _diagonal() -> object:
    from plotly import graph_objects as go

    line = {"color": INK, "width": 1}
    return go.Scatter(x=[0, 1], y=[1, 0], mode="lines", line=line, name="nothing learnt", hoverinfo="skip")


def _layout(title: str) -> dict[str, object]:
    axis = {"range": [0, 1], "constrain": "domain"}
    return {
        "title": {"text": title},
        "template": "plotly_white",
        "font": {"color": INK},
        "xaxis": axis | {"title": {"text": "FP (type I error)"}},
        "yaxis": axis | {"title": {"text": "FN (type II error)"}, "scaleanchor": "x"},
        "width": 620,
        "height": 560,
    }
