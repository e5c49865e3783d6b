"""The report as one HTML page that needs nothing but itself."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from synthdp.evaluation.blocks import (
    NOT_COMPUTED,
    Bars,
    Block,
    entries,
    find,
    is_number,
    joined,
    listing,
    number,
    percent,
)
from synthdp.evaluation.measure import Wide
from synthdp.evaluation.measures import RISK, UTILITY, measure
from synthdp.evaluation.measures.found import attacks, largest, pointing_blocks
from synthdp.report import ReportContent, columns, story
from synthdp.report.charts import draw
from synthdp.report.decision import decision
from synthdp.report.plots import SERIES, Figure, plotly_js

# measures of usefulness that the page has a place of their own for
PLACED = ("analyses", "panel", "pmse", "tables")


@dataclass(frozen=True)
class Tile:
    """One figure to take home."""

    title: str
    value: str
    note: str


class Sheet:
    """Collects the figures in the order the page shows them, so that one script at its end can draw them all."""

    def __init__(self) -> None:
        self._drawn: list[dict[str, Any]] = []

    def place(self, figure: Figure) -> str:
        """Return the name under which a figure will be drawn."""
        name = f"figure-{len(self._drawn) + 1}"
        self._drawn.append({"id": name, "data": figure.data, "layout": figure.layout})
        return name

    def script(self) -> Markup:
        """Return the figures as JSON that cannot end the script element it stands in."""
        text = json.dumps(self._drawn, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def render(content: ReportContent) -> str:
    """Return the whole page.

    Parameters
    ----------
    content
        What the page says. Names in it may hold any character; everything is escaped.
    """
    folder = files("synthdp.report")

    def text(name: str) -> str:
        return folder.joinpath(name).read_text(encoding="utf-8")

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(text),
    )
    environment.globals["draw"] = draw
    environment.filters["marked"] = marked
    template = environment.get_template("page.html")
    found, files_ = find(content.metrics, "risk"), content.comparison
    beside, groups, overall, *together = pointing_blocks(found, files_, before=content.baseline_risk)
    series = next((chart.series for chart in groups.charts if isinstance(chart, Bars)), {})
    private, epsilon = story.epsilon(content)
    own = {name: handed(content, "utility", name) for name in PLACED}
    return template.render(
        content=content,
        sheet=Sheet(),
        style=Markup(text("style.css")),
        plotly_js=Markup(plotly_js()),
        verdict=decision(content),
        tiles=_tiles(content),
        done=story.done(content),
        first=[sentence for name in ("tables", "analyses") for block in own[name] for sentence in block.first],
        **own,
        further=told(content, "utility", [name for name in UTILITY if name not in PLACED]),
        columns=columns.columns(content),
        kept=columns.kept(content),
        attacks=attacks(found, files_, content.intruders),
        keys=listing([column.name for column in files_.schema.keys()]),
        beside=beside,
        groups=groups,
        overall=overall,
        series=list(zip(series, SERIES, strict=False)),
        disclosures=(*together, *told(content, "risk", RISK)),
        private=private,
        epsilon=epsilon,
        masking=story.masking(content),
        formal=story.formal(content),
        timings=story.timings(content),
        chains=story.chains(content),
        versions=story.versions(content),
    )


def marked(text: str) -> Markup:
    """Return text with what stands between two pairs of asterisks emphasised.

    Examples
    --------
    >>> marked("**pMSE** < 1")
    Markup('<strong>pMSE</strong> &lt; 1')
    """
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(text))))


def handed(content: ReportContent, about: str, name: str) -> tuple[Block, ...]:
    """Return what a measure hands over, of the sections ``about`` usefulness or risk."""
    sections, one = find(content.metrics, about) or {}, measure(name)
    return one.shown(sections, content.comparison) if isinstance(one, Wide) else one.blocks(sections.get(name))


def told(content: ReportContent, about: str, names: Iterable[str]) -> tuple[Block, ...]:
    """Return the blocks of measures that were asked for, in the order of their table; what was not is left out."""
    asked = find(content.metrics, about) or {}
    return joined(block for name in names if name in asked for block in handed(content, about, name))


def _tiles(content: ReportContent) -> tuple[Tile, ...]:
    risk, before = find(content.metrics, "risk"), content.baseline_risk or {}
    records = number(content.records)
    found = entries(find(content.metrics, "utility", "analyses"))
    lowest = [one["min_ci_overlap"] for one in found if is_number(one.get("min_ci_overlap"))]
    means = [one["mean_ci_overlap"] for one in found if is_number(one.get("mean_ci_overlap"))]
    matches = _change(number, before.get("expected_match"), largest(risk, "expected_match"))
    chance = _change(percent, before.get("mean_individual"), largest(risk, "mean_individual"))
    mean = f"mean {number(sum(means) / len(means))}; 1 = the same" if means else "no analyses"
    return (
        Tile("Expected matches", matches, f"before → worst attack after, of {records} records"),
        Tile("Average chance per record", chance, "of being found, by the worst attack"),
        Tile("Lowest overlap of intervals", number(min(lowest, default=None)), mean),
        Tile("Copies", number(content.copies), _each(content.comparison.nests, content.copies, records)),
    )


def _each(nests: int, copies: int, records: str) -> str:
    each = f"of {records} records each"
    return each if nests == 1 else f"{each}: {copies // nests} of each of {nests} completed originals"


def _change(say: Any, before: Any, after: Any) -> str:
    return say(after) if not is_number(before) or say(after) == NOT_COMPUTED else f"{say(before)} → {say(after)}"
