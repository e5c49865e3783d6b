"""The pictures of a search: the front, strength against error and risk, and which column pays."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from synthdp.evaluation.gate import LIMITS
from synthdp.report import plots
from synthdp.report.plots import Figure
from synthdp.tuning.leaves import TREES
from synthdp.tuning.picturing import FEW, MANY, SHOWN, weakened
from synthdp.tuning.rays import factor_of
from synthdp.tuning.space import Space, named
from synthdp.tuning.trials import Trial

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Drawn

HEIGHT, HEADING = 430, 56
# how many times over its limit a risk may be to be told apart from others
FURTHEST = 8.0
# plotly would write the digits of .4 and 4 alike
MULTIPLES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4, 8)
TICKS = {"tickvals": list(MULTIPLES), "ticktext": [f"{one:g}" for one in MULTIPLES]}
STAGES = {
    "explore": ("tried", plots.GREY, "circle-open"),
    "refine": ("tried with every limit", plots.BLUE, "circle"),
    "confirm": ("on fresh draws", plots.GREEN, "square"),
}


def figure(found: Figure) -> "Drawn":
    """Return a figure that stands on its own, with its title."""
    from plotly.graph_objects import Figure as Drawn

    room = {"height": found.height + HEADING, "margin": found.layout["margin"] | {"t": HEADING}}
    return Drawn(data=found.data, layout=found.layout | room | {"title": {"text": found.title}})


class Searched(Protocol):
    """What pictures are drawn of: all trials, and the one of the answer."""

    @property
    def space(self) -> Space:
        """What there was to choose from."""

    @property
    def trials(self) -> Sequence[Trial]:
        """Every trial, in order."""

    @property
    def chosen(self) -> Trial:
        """The trial of the answer."""


def front(tuned: Searched) -> Figure:
    """Return risk against usefulness: every trial, the limit at 1, and the chosen point."""
    data = []
    for stage, (name, colour, symbol) in STAGES.items():
        mine = [
            one for one in tuned.trials if one.stage == stage and math.isfinite(one.ratio) and math.isfinite(one.use)
        ]
        style = {"color": colour, "size": 9, "symbol": symbol, "line": {"width": 1.6, "color": colour}}
        data.append(_marks(tuned, mine, name, style))
    style = {"color": plots.ORANGE, "size": 15, "symbol": "star", "line": {"width": 1, "color": plots.INK}}
    data.append(_marks(tuned, [tuned.chosen], "chosen", style))
    layout = plots.layout(
        HEIGHT, x={"title": {"text": "largest risk, as a multiple of its limit"}, "type": "log", **TICKS}
    )
    layout["yaxis"] = layout["yaxis"] | {"title": {"text": f"usefulness ({tuned.space.config.tuning.goal})"}}
    layout["shapes"] = [_upright(1.0)]
    layout |= {"showlegend": True, "legend": {"orientation": "h", "y": -0.22}}
    return Figure(
        "Risk against usefulness",
        data,
        layout,
        f"Map of {len(data)} kinds of trials; the chosen one has a usefulness of {tuned.chosen.use:.3f} and its "
        f"largest risk is {tuned.chosen.ratio:.2f} of its limit.",
        "Each mark is a trial that was thrown away. Left of the dashed line every risk is within its limit, the upper "
        f"end of its interval; risks more than {FURTHEST:g} times their limit are drawn there. Trials that explore "
        "have fewer draws, so that their bounds are wider.",
        HEIGHT,
    )


def has_strengths(trials: Sequence[Trial]) -> bool:
    """Return whether there are enough trials for a line: a budget may be spent before them."""
    few = {one.rung for one in trials if one.stage == "lambda" and one.shape.copies == FEW and not one.problem}
    return len(few) > 1


def has_columns(trials: Sequence[Trial]) -> bool:
    """Return whether there is a column to lay beside the chosen settings."""
    return sum(one.stage == "column" and not one.problem for one in trials) > 1


def strengths(tuned: Searched) -> Figure:
    """Return what is lost and what is risked against the common strength of all masks."""
    name = next((one for one in SHOWN if tuned.space.config.limits.limit(one) is not None), SHOWN[0])
    data: list[dict[str, Any]] = []
    for copies, dash, symbol in ((FEW, "dot", "circle-open"), (MANY, "solid", "circle")):
        mine = sorted(
            (one for one in tuned.trials if one.stage == "lambda" and one.shape.copies == copies and not one.problem),
            key=lambda one: one.rung,
        )
        x = [plots.tidy(factor_of(one.rung)) for one in mine]
        lost = [plots.tidy(1 - one.use) for one in mine]
        risk = [plots.tidy(_value(one, name)) for one in mine]
        for values, colour, what, axis in (
            (lost, plots.BLUE, "lost usefulness", "y"),
            (risk, plots.ORANGE, "risk", "y2"),
        ):
            data.append(
                {
                    "type": "scatter",
                    "mode": "lines+markers",
                    "name": f"{what}, {copies} copies",
                    "x": x,
                    "y": values,
                    "yaxis": axis,
                    "line": {"color": colour, "dash": dash, "width": 2},
                    "marker": {"color": colour, "symbol": symbol, "size": 8},
                    "hovertemplate": f"{what}, {copies} copies: %{{y}} at %{{x}}<extra></extra>",
                }
            )
    layout = plots.layout(HEIGHT, x={"title": {"text": "strength of all masks"}})
    layout["xaxis"] |= {"type": "log"}
    axis = layout["yaxis"]
    layout["yaxis"] = axis | {"title": {"text": "1 − usefulness", "font": {"color": plots.BLUE}}, "rangemode": "tozero"}
    words = {"text": plots.escape(LIMITS[name].brief), "font": {"color": plots.ORANGE}}
    layout["yaxis2"] = axis | {
        "title": words,
        "overlaying": "y",
        "side": "right",
        "showgrid": False,
        "rangemode": "tozero",
        # round figures of its own, not those that lie beside the other axis's
        "tickmode": "auto",
        "tickformat": "~%" if LIMITS[name].share else "",
    }
    layout["shapes"] = [_upright(factor_of(tuned.chosen.rung))]
    layout |= {"showlegend": True, "legend": {"orientation": "h", "y": -0.22}}
    return Figure(
        "Error and risk against the strength of the masks",
        data,
        layout,
        f"Lost usefulness and {LIMITS[name].brief} against the strength of all masks, for {FEW} and {MANY} copies.",
        f"The shape that was chosen, all its masks made weaker and stronger by one factor, with {FEW} copies and with "
        f"{MANY}. At a strength of 1 noise is as large as the column's own spread; the dashed line is the chosen one. "
        "Few draws: read the run of the lines, not their points.",
        HEIGHT,
    )


def columns(tuned: Searched) -> Figure:
    """Return what a mask half as strong would gain and cost, column by column."""
    mine = {one.shape: one for one in tuned.trials if one.stage == "column" and not one.problem}
    base = mine.get(tuned.chosen.shape)
    rows: list[tuple[str, float, float]] = []
    for place, one in enumerate(tuned.space.columns):
        other = mine.get(weakened(tuned.chosen, place))
        if base is not None and other is not None:
            rows.append((one.name, other.use - base.use, other.ratio - base.ratio))
    rows.sort(key=lambda row: row[1])
    places = list(range(len(rows)))
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": what,
            "x": [plots.tidy(float(row[number])) for row in rows],
            "y": places,
            "xaxis": axis,
            "marker": plots.hatched(colour, shape),
            "hovertemplate": f"{what}: %{{x}}<extra></extra>",
        }
        for number, what, axis, colour, shape in (
            (1, "usefulness gained", "x", plots.BLUE, ""),
            (2, "risk added, in limits", "x2", plots.ORANGE, "/"),
        )
    ]
    height = 110 + 30 * max(len(rows), 1)
    layout = plots.layout(height, x={"title": {"text": "usefulness gained"}, "domain": [0, 0.47], "nticks": 4})
    other_axis = layout["xaxis"] | {"title": {"text": "risk added, in limits"}, "domain": [0.53, 1], "nticks": 4}
    layout["xaxis2"] = other_axis
    layout["yaxis"] = plots.labels(places, [row[0] for row in rows], 20)
    said = "; ".join(f"{name} {gained:+.3f} and {added:+.2f}" for name, gained, added in rows)
    return Figure(
        "Which column pays",
        data,
        layout,
        f"Usefulness gained and risk added if one column's mask were half as strong: {said or 'one column only'}.",
        "The chosen settings with the mask of one column half as strong: a column with a long bar on the left and a "
        "short one on the right pays more for its protection than it buys. Few draws, under the same noise.",
        height,
    )


def _marks(tuned: Searched, mine: list[Trial], name: str, style: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [plots.tidy(min(max(one.ratio, 1 / FURTHEST**2), FURTHEST)) for one in mine],
        "y": [plots.tidy(one.use) for one in mine],
        "marker": style,
        "customdata": [[plots.escape(_named(tuned, one))] for one in mine],
        "hovertemplate": "%{customdata[0]}<br>usefulness %{y}, risk %{x}<extra></extra>",
    }


def _named(tuned: Searched, trial: Trial) -> str:
    said = named(tuned.space, trial.shape, trial.rung)
    return said if trial.shape.model == TREES else f"{said}, all ×{factor_of(trial.rung):.2g}"


def _upright(x: float) -> dict[str, Any]:
    stroke = {"color": plots.INK, "width": 1.5, "dash": "dash"}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": stroke, "layer": "below"}


def _value(trial: Trial, name: str) -> float:
    check = trial.worst().get(name)
    return 0.0 if check is None or check.value is None else max(0.0, check.value)
