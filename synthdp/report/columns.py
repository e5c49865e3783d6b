"""One column at a time, original against copies: a plot and a table of each, and whether kept ones are the same."""

import math
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.blocks import Table, listing, number, percent
from synthdp.report import ReportContent, plots
from synthdp.report.marginals import Histogram, Marginal, Shares, Summary, differing, kept_but_changed, marginals
from synthdp.report.plots import Figure
from synthdp.report.words import day

LABEL = 18
FEW_BINS = 13
MOST_POWERS = 4


@dataclass(frozen=True)
class View:
    """One column: its plot and the table beside it."""

    figure: Figure
    table: Table


def columns(content: ReportContent) -> tuple[View, ...]:
    """Return every replaced column, original against copies.

    Files of other tools may come without a word on what was replaced: what differs is then shown as well.
    """
    shapes = marginals(content.comparison)
    if content.method == "external":
        shapes += differing(content.comparison)
    return tuple(View(drawn(shape), tabled(shape)) for shape in shapes)


def kept(content: ReportContent) -> str:
    """Return what can be said about the kept columns."""
    names = [column.name for column in content.comparison.schema.kept()]
    if not names:
        return "No column was kept as it is."
    aligned = content.comparison.aligned
    others = differing(content.comparison) if not aligned else ()
    changed = kept_but_changed(content.comparison) if aligned else tuple(shape.column.name for shape in others)
    if changed:
        verb = "differs" if len(changed) == 1 else "differ"
        said = f"Attention: {listing(list(changed))} should be as in the original, but {verb} in at least one copy."
        return said + (" If they were replaced, say so (role: replace)." if content.method == "external" else "")
    if not aligned:
        return (
            f"The kept columns ({listing(names)}) are meant to be identical to the original. The rows of these files "
            "are not lined up with the original records, so this was not checked."
        )
    return (
        f"The kept columns ({listing(names)}) are identical to the original in every copy by construction, and this "
        "was checked; there is nothing to compare."
    )


def tabled(shape: Marginal) -> Table:
    """Return the table beside the plot of a column."""
    return _numbers(shape) if isinstance(shape, Histogram) else _levels(shape)


def _numbers(shape: Histogram) -> Table:
    def row(name: str, found: Summary) -> tuple[str, ...]:
        name += f", {percent(found.missing)} missing" if found.missing > 0 else ""
        if shape.scale == "date":
            return name, day(found.q05), day(found.median), day(found.q95)
        return name, *(number(value) for value in (found.mean, found.sd, found.q05, found.median, found.q95))

    head = ("", *(() if shape.scale == "date" else ("Mean", "SD")), "5%", "Median", "95%")
    rows = (row("Original", shape.summaries[0]), row("Copies", shape.summaries[1]))
    return Table(f"{shape.column.name}: original, and mean over copies", head, rows, "l" + "r" * (len(head) - 1))


def _levels(shape: Shares) -> Table:
    rows = tuple(
        (
            level,
            percent(original),
            percent(sum(cells) / len(cells)),
            f"{number(100 * min(cells))} to {percent(max(cells))}",
        )
        for level, original, *cells in zip(shape.levels, shape.original, *shape.copies, strict=True)
    )
    head = ("Level", "Original", "Copies", "lowest to highest")
    return Table(f"{shape.column.name}: share of records", head, rows, "lrrr")


def drawn(shape: Marginal) -> Figure:
    """Return the plot of one column, original against copies."""
    return _density(shape) if isinstance(shape, Histogram) else _bars(shape)


def _density(shape: Histogram) -> Figure:
    edges: list[Any] = (
        [day(edge) for edge in shape.edges] if shape.scale == "date" else [plots.tidy(e) for e in shape.edges]
    )
    axis: dict[str, Any] = {"type": "date" if shape.scale == "date" else "linear", "nticks": 6}
    if shape.scale == "linear" and shape.edges[1] - shape.edges[0] == 1 and len(edges) <= FEW_BINS:
        axis |= {"dtick": 1}
    if shape.scale == "log":
        ticks = _log_ticks(shape)
        axis |= {"tickvals": [plots.tidy(math.log1p(tick - shape.origin)) for tick in ticks]}
        axis |= {"ticktext": [_short(tick) for tick in ticks], "tickangle": 0}
    layout = plots.layout(210, x=axis)
    layout["yaxis"] |= {"ticksuffix": "%", "rangemode": "tozero", "nticks": 5}
    original, copies = shape.summaries
    say = day if shape.scale == "date" else number
    alt = (
        f"Distribution of {shape.column.name}: original has mean {say(original.mean)} and median "
        f"{say(original.median)}, the copies {say(copies.mean)} and {say(copies.median)} on average."
    )
    scale = ", log axis" if shape.scale == "log" else ""
    scale += f" (values below {number(shape.origin)} shown there)" if shape.clipped else ""
    caption = f"{shape.column.kind}{scale}, % of records"
    if shape.zeros is not None:
        caption += f"; exactly 0: {percent(shape.zeros[0])} of the original, {percent(shape.zeros[1])} of the copies"
    data = plots.outlined(edges, shape.original, shape.copies)
    return Figure(shape.column.name, data, layout, alt, caption, 210)


def _bars(shape: Shares) -> Figure:
    places = list(range(shape.common))[::-1]
    original, cells = shape.original[: shape.common], list(zip(*shape.copies, strict=True))[: shape.common]
    means = [sum(shares) / len(shares) for shares in cells]
    above = [max(shares) - mean for shares, mean in zip(cells, means, strict=True)]
    below = [mean - min(shares) for shares, mean in zip(cells, means, strict=True)]
    bar = {"type": "bar", "orientation": "h", "y": places, "hovertemplate": "%{x}%"}
    whiskers = {"array": plots.percents(above), "arrayminus": plots.percents(below)}
    error = {"type": "data", **whiskers, "color": plots.INK, "width": 3}
    copies = {"name": "copies", "x": plots.percents(means), "error_x": error}
    data: list[dict[str, Any]] = [
        bar | copies | {"marker": plots.hatched(plots.ORANGE, "/")},
        bar | {"name": "original", "x": plots.percents(original), "marker": plots.hatched(plots.BLUE, "")},
    ]
    height = max(210, 60 + 30 * len(places))
    layout = plots.layout(height, x={"ticksuffix": "%", "rangemode": "tozero", "nticks": 6})
    layout |= {"yaxis": plots.labels(places, shape.levels[: shape.common], LABEL), "bargap": 0.3}
    gap = max((abs(o - m) for o, m in zip(original, means, strict=True)), default=0.0)
    alt = f"Shares of {shape.column.name}: the copies' average and the original differ by at most {percent(gap)}."
    return Figure(shape.column.name, data, layout, alt, f"{shape.column.kind}, % of records", height)


def _log_ticks(shape: Histogram) -> list[float]:
    highest = max(math.expm1(shape.edges[-1]), 1.0)
    powers = math.floor(math.log10(highest))
    steps = [0.0, *(10.0**power for power in range(powers % 2 if powers > MOST_POWERS else 0, powers + 1))]
    return [shape.origin + step for step in (steps if powers <= MOST_POWERS else [0.0, *steps[1::2]])]


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{number(value / size)}{letter}"
    return number(value)
