"""The report as one HTML page that needs nothing but itself."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from synthdp.evaluation.blocks import NOT_COMPUTED, Block, entries, find, is_number, joined, number, percent
from synthdp.evaluation.measures import RISK, UTILITY, measure
from synthdp.report import risk, story, utility
from synthdp.report.charts import curve
from synthdp.report.content import ReportContent
from synthdp.report.decision import decision
from synthdp.report.plots import SERIES, Figure, plotly_js
from synthdp.report.propensity import propensity
from synthdp.report.served import served
from synthdp.report.story import chains


@dataclass(frozen=True)
class Tile:
    """One figure to take home."""

    title: str
    value: str
    note: str


class Sheet:
    """Collects the figures in the order the page shows them, so that one script at its end can draw them all."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._drawn: list[dict[str, Any]] = []

    def place(self, figure: Figure) -> str:
        """Return the name under which a figure will be drawn."""
        name = f"figure-{next(self._numbers)}"
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
    environment.globals["curve"] = curve
    template = environment.get_template("page.html")
    shown = risk.sections(content)
    analyses = utility.analyses(content)
    group_figures, group_table = risk.by_group(content, shown)
    private, epsilon = story.epsilon(content)
    return template.render(
        content=content,
        sheet=Sheet(),
        style=Markup(text("style.css")),
        plotly_js=Markup(plotly_js()),
        verdict=decision(content),
        tiles=_tiles(content, shown),
        done=story.done(content),
        analyses=analyses,
        served=served(content),
        propensity=propensity(content),
        panel=told(content.metrics, "utility", ["panel"]),
        further=told(content.metrics, "utility", [name for name in UTILITY if name != "panel"]),
        columns=utility.columns(content),
        kept=utility.kept(content),
        attacks=risk.attacks(content),
        keys=risk.keys(content),
        overall=risk.overall(shown),
        series=list(zip(shown, SERIES, strict=False)),
        group_figures=group_figures,
        group_table=group_table,
        overview=risk.overview(content, shown),
        intruders=risk.intruders(content),
        likelihood=risk.likelihood(content),
        together=risk.together(content),
        disclosures=told(content.metrics, "risk", RISK),
        private=private,
        epsilon=epsilon,
        masking=story.masking(content),
        formal=story.formal(content),
        timings=story.timings(content),
        chains=chains(content),
        versions=story.versions(content),
    )


def told(metrics: Mapping[str, Any], about: str, names: Iterable[str]) -> tuple[Block, ...]:
    """Return the blocks of measures that were asked for, in the order of their table; what was not is left out."""
    found = find(metrics, about) or {}
    return joined(block for name in names if name in found for block in measure(name).blocks(found[name]))


def write(content: ReportContent, path: Path) -> None:
    """Write the page; the file is confidential."""
    path.write_text(render(content), encoding="utf-8")


def _tiles(content: ReportContent, shown: Mapping[str, Mapping[str, Any]]) -> tuple[Tile, ...]:
    after = [section for title, section in shown.items() if title != risk.BEFORE]
    before = content.baseline_risk or {}
    records = number(len(content.comparison.original))
    found = entries(find(content.metrics, "utility", "analyses"))
    lowest = [one["min_ci_overlap"] for one in found if is_number(one.get("min_ci_overlap"))]
    means = [one["mean_ci_overlap"] for one in found if is_number(one.get("mean_ci_overlap"))]
    matches = _worst(section.get("expected_match") for section in after)
    highest = _worst(section.get("mean_individual") for section in after)
    return (
        Tile(
            "Expected matches",
            _change(number, before.get("expected_match"), matches),
            f"before → worst attack after, of {records} records",
        ),
        Tile(
            "Average chance per record",
            _change(percent, before.get("mean_individual"), highest),
            "of being found, by the worst attack",
        ),
        Tile(
            "Lowest overlap of intervals",
            number(min(lowest, default=None)),
            f"mean {number(sum(means) / len(means))}; 1 = the same" if means else "no analyses",
        ),
        Tile("Copies", number(content.copies), _each(content.comparison.nests, content.copies, records)),
    )


def _each(nests: int, copies: int, records: str) -> str:
    each = f"of {records} records each"
    return each if nests == 1 else f"{each}: {copies // nests} of each of {nests} completed originals"


def _worst(values: Iterable[Any]) -> Any:
    return max((value for value in values if is_number(value)), default=None)


def _change(say: Any, before: Any, after: Any) -> str:
    return say(after) if not is_number(before) or say(after) == NOT_COMPUTED else f"{say(before)} → {say(after)}"
