"""The picture of risk groups: records as dots, each somewhere in its tile."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from synthdp.evaluation.blocks import Crowds, number
from synthdp.report import plots
from synthdp.report.plots import Figure

LOOKS = (("#8A8A8A", "circle-open"), (plots.BLUE, "square"), (plots.ORANGE, "diamond"))
MOST_DOTS = 1500
HEIGHT = 620


def crowded(chart: Crowds) -> tuple[Figure]:
    """Return up to four panels, two beside each other."""
    data: list[dict[str, Any]] = []
    layout = plots.layout(HEIGHT, x={})
    bare = {
        "showticklabels": False,
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "showline": True,
        "mirror": True,
    }
    rows = 2 if len(chart.panels) > 2 else 1
    columns = 2 if len(chart.panels) > 1 else 1
    notes = []
    for place, (title, groups) in enumerate(chart.panels.items()):
        end = "" if place == 0 else str(place + 1)
        steps = len(next(iter(groups.values())))
        left, top = place % columns / columns, 1 - place // columns / rows
        axis = bare | {"range": [0, steps], "fixedrange": True, "linecolor": plots.GREY}
        layout[f"xaxis{end}"] = axis | {
            "domain": [plots.tidy(left + 0.01), plots.tidy(left + 1 / columns - 0.02)],
            "anchor": f"y{end}",
            "title": {"text": f"{plots.escape(chart.axes[0])} →", "standoff": 4},
        }
        layout[f"yaxis{end}"] = axis | {
            "domain": [plots.tidy(top - 1 / rows + 0.07), plots.tidy(top - 0.06)],
            "anchor": f"x{end}",
            "title": {"text": f"{plots.escape(chart.axes[1])} →", "standoff": 4},
        }
        where = {
            "xref": f"x{end} domain",
            "yref": f"y{end} domain",
            "x": 0,
            "y": 1,
            "yanchor": "bottom",
            "xanchor": "left",
        }
        notes.append(where | {"text": plots.escape(title), "showarrow": False})
        total = sum(count for counts in groups.values() for row in counts for count in row)
        for k, group in enumerate(chart.groups):
            colour, symbol = LOOKS[min(k, len(LOOKS) - 1)]
            x, y = scattered(groups[group], total)
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": plots.escape(group),
                    "legendgroup": group,
                    "showlegend": place == 0,
                    "x": x,
                    "y": y,
                    "xaxis": f"x{end}",
                    "yaxis": f"y{end}",
                    "marker": {"color": colour, "symbol": symbol, "size": 5 + k, "opacity": 0.8},
                    "hoverinfo": "name",
                }
            )
    layout |= {"annotations": notes, "showlegend": True, "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"}}
    caption = chart.caption
    counts = {g: sum(map(sum, next(iter(chart.panels.values()))[g])) for g in chart.groups}
    if sum(counts.values()) > MOST_DOTS:
        caption += " Of so many records, a dot stands for several; a tile that is not empty has at least one."
    alt = f"{chart.title}: " + ", ".join(f"{name} {number(count)} records" for name, count in counts.items()) + "."
    return (Figure(chart.title, data, layout, alt, caption, HEIGHT, width=560),)


def scattered(counts: Sequence[Sequence[int]], total: int) -> tuple[list[float], list[float]]:
    """Return where the dots are: in their tile at a place that depends on the counts alone."""
    # no secret and no estimate hangs on it: the same counts give the same page
    rng = np.random.default_rng(0)
    share = min(1.0, MOST_DOTS / max(total, 1))
    dots = np.ceil(np.asarray(counts, dtype=np.float64) * share).astype(np.int64)
    up, across = (np.repeat(index.ravel(), dots.ravel()) for index in np.indices(dots.shape))
    x, y = (side + rng.uniform(0.06, 0.94, len(side)) for side in (across, up))
    return [round(float(one), 2) for one in x], [round(float(one), 2) for one in y]
