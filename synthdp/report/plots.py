"""Plots as plain descriptions that plotly.js draws in the reader's browser, all with one look.

Colours are Okabe and Ito's, told apart by every common kind of colour vision; shape, dash or hatching always says
the same thing again.

Figures are dicts of rounded numbers, so a person can read in the page's source what it holds.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.blocks import Bars, Forest, interval, is_number, number, percent, plain_term
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


def outlined(
    edges: Sequence[Any], original: Sequence[float], copies: Sequence[Sequence[float]]
) -> list[dict[str, Any]]:
    """Return the outlines of histograms: the original's filled, each copy's thin, and thinner where there are many."""
    filled = {"fill": "tozeroy", "fillcolor": "rgba(0,114,178,0.28)", "name": "original"}
    thin = {"color": ORANGE, "width": 1.4 if len(copies) <= 10 else 0.8, "shape": "hv", "dash": "3px,2px"}
    return [
        _steps(edges, original, {"color": BLUE, "width": 2, "shape": "hv"}) | filled,
        *(_steps(edges, shares, thin) | {"name": f"copy {k}"} for k, shares in enumerate(copies, start=1)),
    ]


def _steps(edges: Sequence[Any], shares: Sequence[float], line: Mapping[str, Any]) -> dict[str, Any]:
    # starts and ends on the ground, so that the outermost bins have walls
    x, y = [edges[0], *edges], [0, *percents(shares), 0]
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, "hovertemplate": "%{y}%"}


def hatched(colour: str, shape: str) -> dict[str, Any]:
    """Return the filling of a bar."""
    size = {"size": 6, "solidity": 0.4}
    pattern = {"shape": shape, "fillmode": "replace", "fgcolor": colour, "bgcolor": "#FFFFFF", **size}
    return {"color": colour, "pattern": pattern, "line": {"color": colour, "width": 1.2}}


def ranges(x: Sequence[Any], y: Sequence[Any], line: Mapping[str, Any]) -> dict[str, Any]:
    """Return lines from a lower to an upper end, one per row; None stands between two."""
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, "hoverinfo": "skip"}


def percents(shares: Sequence[float]) -> list[float]:
    """Return shares as percentages."""
    return [tidy(100 * share) for share in shares]


def tidy(value: float) -> float:
    """Return a number with no more digits than a plot can show."""
    return float(f"{value:.6g}")


@dataclass(frozen=True)
class Figure:
    """A plot, what it shows in words for those who cannot see it, its height and the least width it needs in pixels."""

    title: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    alt: str
    caption: str
    height: int
    width: int = 0


def plotly_js() -> str:
    """Return the drawing library itself, to be put into the page once."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


LABEL = 24
MOST_TERMS = 24
# coefficients whose intervals differ more than this in width cannot share an axis in their own units
COMPARABLE = 6.0


def forest(chart: Forest) -> tuple[Figure, ...]:
    """Return coefficients with 95% intervals, original above synthetic, one figure per 24 terms."""
    usable = [term for term in chart.terms if _drawable(term.get("original")) and _drawable(term.get("synthetic"))]
    if not usable:
        return ()
    widths = [term["original"]["high"] - term["original"]["low"] for term in usable]
    own_units = max(widths) <= COMPARABLE * min(widths)
    pages = math.ceil(len(usable) / MOST_TERMS)
    size = math.ceil(len(usable) / pages)
    chunks = [usable[k : k + size] for k in range(0, len(usable), size)]
    absent = len(chart.terms) - len(usable)
    note = f" Not drawn for want of an interval: {absent}; see the table." if absent else ""
    return tuple(_forest(chart.name, chunk, note, own_units=own_units) for chunk in chunks)


def _forest(name: str, terms: Sequence[Mapping[str, Any]], note: str, *, own_units: bool) -> Figure:
    rows, names = list(range(len(terms)))[::-1], [plain_term(str(term.get("term", ""))) for term in terms]
    data: list[dict[str, Any]] = []
    units = [1.0 if own_units else float(term["original"]["se"]) for term in terms]
    for side, colour, symbol, dash, shift in (
        ("original", BLUE, "circle", "solid", 0.16),
        ("synthetic", ORANGE, "diamond-open", "dot", -0.16),
    ):
        x: list[float | None] = []
        y: list[float | None] = []
        for row, term, unit in zip(rows, terms, units, strict=True):
            x += [tidy(term[side]["low"] / unit), tidy(term[side]["high"] / unit), None]
            y += [row + shift, row + shift, None]
        data.append(ranges(x, y, {"color": colour, "width": 2.5, "dash": dash}))
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [tidy(term[side]["estimate"] / unit) for term, unit in zip(terms, units, strict=True)],
                "y": [row + shift for row in rows],
                "marker": {"color": colour, "symbol": symbol, "size": 9, "line": {"width": 2, "color": colour}},
                "text": [
                    escape(f"{said}, {side}: {interval(term[side])}") for said, term in zip(names, terms, strict=True)
                ],
                "hovertemplate": "%{text}<extra></extra>",
            }
        )
    ends = [end for trace in data for end in trace["x"] if end is not None] + [0.0]
    room = 0.04 * (max(ends) - min(ends))
    height = 64 + 34 * len(terms)
    title = "Coefficient" if own_units else "Coefficient ÷ its standard error"
    axis = {"title": {"text": title}, "range": [tidy(min(ends) - room), tidy(max(ends) + room)], "nticks": 7}
    layout_ = layout(height, x=axis | {"zeroline": True, "zerolinecolor": INK, "zerolinewidth": 1})
    layout_["yaxis"] = labels(rows, names, LABEL) | {"range": [-0.6, len(terms) - 0.4]}
    overlaps = [term["ci_overlap"] for term in terms if is_number(term.get("ci_overlap"))]
    said = f" Overlaps run from {number(min(overlaps))} to {number(max(overlaps))}." if overlaps else ""
    alt = f"Coefficients of {name} with 95% intervals, original and synthetic, {len(terms)} terms.{said}"
    caption = "Dots and diamonds are estimates, lines their 95% confidence intervals; the thin upright line marks zero."
    if not own_units:
        caption += (
            " Everything is divided by the coefficient's standard error in the original, so that all fit one axis."
        )
    return Figure(name, data, layout_, alt, caption + note, height)


def _drawable(estimate: Mapping[str, Any] | None) -> bool:
    if not estimate or not all(is_number(estimate.get(name)) for name in ("estimate", "se", "low", "high")):
        return False
    return bool(estimate["se"] > 0 and estimate["high"] > estimate["low"])


def bars(chart: Bars) -> tuple[Figure]:
    """Return shares of records by risk group: before, then after under each attack."""
    groups, series = chart.groups, chart.series
    places = list(range(len(groups)))[::-1]
    known = [share for shares in series.values() for share in shares if share is not None and is_number(share)]
    top = max(known, default=0.0) or 0.01
    drawn = [
        {
            "type": "bar",
            "orientation": "h",
            "name": escape(name),
            "x": [tidy(100 * share) if share is not None and is_number(share) else None for share in shares],
            "y": places,
            "text": [percent(share) for share in shares],
            "textposition": "outside",
            "cliponaxis": False,
            "hovertemplate": "%{text}",
            "marker": hatched(*SERIES[k % len(SERIES)]),
        }
        for k, (name, shares) in enumerate(series.items())
    ]
    height = 64 + len(groups) * (17 * len(series) + 12)
    layout_ = layout(height, x={"title": {"text": "% of the group's records"}, "range": [0, 130 * top], "nticks": 5})
    layout_ |= {"yaxis": labels(places, groups, LABEL // 2), "bargap": 0.25, "barmode": "group"}
    # plotly stacks a group from below; readers start at the top
    said = [
        f"{group}: " + ", ".join(f"{name} {percent(shares[row])}" for name, shares in series.items())
        for row, group in enumerate(groups)
    ]
    alt = f"{chart.title}. " + "; ".join(said) + "."
    return (Figure(chart.title, drawn[::-1], layout_, alt, chart.caption, height),)
