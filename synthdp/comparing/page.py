"""The comparison as one HTML page that needs nothing but itself: the map with a choice of axes, and the tables."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from synthdp import __version__
from synthdp.comparing.axes import axes_of, axis_of, rows_of, side_of
from synthdp.comparing.drawing import drawn_map
from synthdp.comparing.mapping import MethodMap
from synthdp.evaluation.blocks import DASH, Table, number
from synthdp.files import write_atomic
from synthdp.report.charts import draw
from synthdp.report.page import Sheet, marked
from synthdp.report.plots import plotly_js

TABLE: str = "comparison.csv"
NUMBERS: str = "comparison.json"
REPORT: str = "report.html"
# so many measures of either side can be chosen as axes: each pair is a figure in the page
MOST_AXES = 8
MOST_COLUMNS = 6
HIDDEN = ("analyses.estimate", "analyses.original", "analyses.std_diff", "analyses.term_overlap")


def write(found: MethodMap, out: Path) -> None:
    """Write table, numbers and page into a folder, for their owner only."""
    write_atomic(out / TABLE, found.lines.to_csv(index=False).encode())
    write_atomic(out / NUMBERS, (json.dumps(found.section(), indent=1, allow_nan=False) + "\n").encode())
    write_atomic(out / REPORT, render(found).encode())


def render(found: MethodMap) -> str:
    """Return the whole page; names in it may hold any character, everything is escaped."""

    def text(name: str) -> str:
        home = "synthdp.comparing" if name == "comparison.html" else "synthdp.report"
        return files(home).joinpath(name).read_text(encoding="utf-8")

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(text)
    )
    environment.globals["draw"] = draw
    environment.filters["marked"] = marked
    risks, utilities = (names[:MOST_AXES] for names in axes_of(found.lines, found.methods))
    risk, utility = found.axes()
    return environment.get_template("comparison.html").render(
        found=found,
        sheet=Sheet(),
        style=Markup(text("style.css")),
        plotly_js=Markup(plotly_js()),
        first=drawn_map(found.lines, found.methods, risk, utility),
        risks=risks,
        utilities=utilities,
        maps=_json(_maps(found, risks, utilities)),
        overview=_overview(found),
        truth=_truth(found),
        tables=_tables(found),
        front=found.front(),
        axes=(risk.title, utility.title),
        version=__version__,
    )


def _maps(found: MethodMap, risks: list[str], utilities: list[str]) -> dict[str, dict[str, Any]]:
    """Return every pair of axes, drawn."""
    made: dict[str, dict[str, Any]] = {}
    for one in risks:
        for other in utilities:
            axes = (
                axis_of(found.lines, one, risks, side="risk"),
                axis_of(found.lines, other, utilities, side="utility"),
            )
            figure = drawn_map(found.lines, found.methods, *axes)
            told = {"data": figure.data, "layout": figure.layout, "alt": figure.alt, "caption": figure.caption}
            made.setdefault(one, {})[other] = told
    return made


def _json(value: Any) -> Markup:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _overview(found: MethodMap) -> Table:
    """Return the methods, their places on the map, and what making them took."""
    risk, utility = found.axes()
    rows = []
    cost = found.lines.groupby("method")[["seconds", "memory"]].mean()
    for row in rows_of(found.points()):
        seconds, memory = (cost[name].get(row.method) for name in ("seconds", "memory"))
        rows.append(
            (
                f"{row.Index + 1} · {row.method}",
                _spread(row.risk, row.risk_low, row.risk_high),
                _spread(row.utility, row.utility_low, row.utility_high),
                "yes" if row.front else DASH,
                DASH if seconds is None or seconds != seconds else f"{seconds:.2g}",
                DASH if memory is None or memory != memory else f"{memory:.0f}",
            )
        )
    head = ("Method", risk.title, utility.title, "On the front", "Seconds", "Memory, MB")
    return Table("Methods: mean over seeds (smallest to largest)", head, tuple(rows), "lrrlrr")


def _spread(value: float, low: float, high: float) -> str:
    if value != value:
        return DASH
    return number(value) if low == high else f"{number(value)} ({number(low)} to {number(high)})"


def _tables(found: MethodMap) -> tuple[tuple[str, tuple[Table, ...], tuple[str, ...]], ...]:
    """Return all measures by side: methods down, targets across in batches, and why cells are empty."""
    summary = found.summary()
    sides = (("utility", "How useful"), ("risk", "How risky"), (None, "Measures of your own"))
    made = []
    for side, title in sides:
        names = [n for n in found.measures() if side_of(n) == side and n not in HIDDEN and not n.startswith("truth.")]
        tables: list[Table] = []
        mine = summary[summary["measure"].isin(names) & summary["value"].notna()]
        columns = list(dict.fromkeys(zip(mine["measure"], mine["target"], strict=True)))
        for start in range(0, len(columns), MOST_COLUMNS):
            batch = columns[start : start + MOST_COLUMNS]
            cells = {(r.method, r.measure, r.target): _spread(r.value, r.smallest, r.largest) for r in rows_of(mine)}
            rows = tuple(
                (method, *(cells.get((method, measure, target), DASH) for measure, target in batch))
                for method in found.methods
            )
            head = ("Method", *(f"{measure} {target}".strip() for measure, target in batch))
            tables.append(Table(f"{title}, mean over seeds (smallest to largest)", head, rows, "l" + "r" * len(batch)))
        empty = summary[summary["measure"].isin(names) & summary["value"].isna() & summary["reason"].ne("")]
        whys: dict[tuple[str, str], list[str]] = {}
        for row in rows_of(empty):
            whys.setdefault((str(row.measure), str(row.reason)), []).append(str(row.method))
        said = tuple(
            f"{measure} is empty for {', '.join(dict.fromkeys(methods))}: {why}"
            for (measure, why), methods in whys.items()
        )
        if tables or said:
            made.append((title, tuple(tables), said))
    return tuple(made)


def _truth(found: MethodMap) -> tuple[Table, ...]:
    """Return bias, RMSE, coverage and width by term, where the truth is known."""
    lines = found.lines[found.lines["measure"].str.startswith("truth.")]
    made = []
    for target in dict.fromkeys(lines["target"]):
        rows = []
        for method, mine in lines[lines["target"] == target].groupby("method", sort=False):
            cells = {row.measure: _spread(row.value, row.low, row.high) for row in rows_of(mine)}
            order = ("truth.bias", "truth.rmse", "truth.coverage", "truth.width")
            rows.append((str(method), *(cells.get(name, DASH).replace("(nan to nan)", "").strip() for name in order)))
        head = ("Method", "Bias (95% interval)", "RMSE", "Coverage (95% interval)", "Width")
        made.append(Table(f"The truth is known: {target}", head, tuple(rows), "lrrrr"))
    return tuple(made)
