"""Finished work: maps of a comparison or a search to filter and brush, and the way from a verdict to its evidence."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from dash import html

from synthdp.comparing.axes import Axis, axes_of, rows_of
from synthdp.comparing.axes import points as points_of
from synthdp.comparing.drawing import drawn_map
from synthdp.comparing.mapping import MethodMap, table_of
from synthdp.errors import InputError
from synthdp.evaluation.blocks import Table, counted, number
from synthdp.explore.elements import figure, note, plain, select, table
from synthdp.explore.opening import Finished
from synthdp.explore.words import heads, what
from synthdp.report import plots
from synthdp.report.decision import tables
from synthdp.report.plots import Figure
from synthdp.report.reasons import by_limit, checks_of, reasons
from synthdp.report.summary import headline
from synthdp.report.words import check_title
from synthdp.tuning.drawing import TICKS

# the pages of a folder that may be shown, and what they are called
PAGES = {
    "report.html": "the report",
    "confidential/report.html": "the report: everything that was measured",
    "confidential/dossier.html": "the pages to sign",
}
MOST_ROWS = 200
BRUSH = "Draw a box on the map to see its points in the table; a double click takes it back."


def pages(found: Finished) -> dict[str, Path]:
    """Return the pages of a folder by the address at which they are served."""
    return {name: found.path / name for name in PAGES if (found.path / name).is_file()}


def links(found: Finished) -> html.Ul:
    """Return links to the pages of a folder."""
    shown = [
        html.Li(html.A(PAGES[name], href=f"/opened/{name}", target="_blank", rel="noopener noreferrer"))
        for name in pages(found)
    ]
    return html.Ul(shown)


@dataclass(frozen=True)
class Asked:
    """What of a folder is shown: rows that hold some words, two measures as axes, the points inside a brush."""

    words: str = ""
    risk: str = ""
    utility: str = ""
    chosen: tuple[str, ...] | None = None


def shown(found: Finished, asked: Asked) -> list[Any]:
    """Return a folder as the page shows it."""
    top: list[Any] = [html.P([html.Strong(found.kind), f": {plain(str(found.path))}"]), links(found)]
    if found.kind not in ("compare", "tune"):
        return [*top, *ended(found)]
    return [*top, *picture(found, asked), note(BRUSH), html.Div(points(found, asked), id="points")]


def picture(found: Finished, asked: Asked) -> list[Any]:
    """Return the map of a comparison or a search."""
    if found.kind == "tune":
        rows = _trials(found.path, asked.words)
        return [figure(_search_map(rows), "brushed", brush=True)] if rows else [note("No trial holds that text.")]
    mine = _compared(found.path, asked)
    risk, utility = mine.risk, mine.utility
    choose = html.Div(
        [
            html.Label(["risk ", select("axis|risk", "measure of risk", mine.risks, risk.name)]),
            html.Label(["usefulness ", select("axis|utility", "measure of usefulness", mine.utilities, utility.name)]),
        ],
        className="row",
    )
    said = heads((risk.measure.split(".")[0], utility.measure.split(".")[0]))
    if not mine.methods:
        return [choose, said, note("No method's name holds that text.")]
    return [choose, said, figure(drawn_map(mine.lines, mine.methods, risk, utility), "brushed", brush=True)]


def points(found: Finished, asked: Asked) -> list[Any]:
    """Return the table beside the map: all points, or those inside the brush."""
    if found.kind == "tune":
        rows = [
            row for row in _trials(found.path, asked.words) if asked.chosen is None or str(row.trial) in asked.chosen
        ]
        cells = tuple(
            (
                str(one.trial),
                one.stage,
                one.shape,
                f"× {one.factor:.2g}",
                number(one.use),
                number(one.ratio),
                "✔ within" if one.passed else "✘ over",
            )
            for one in rows[:MOST_ROWS]
        )
        head = ("Trial", "Stage", "Settings", "Noise", "Usefulness", "Risk / limit", "Limits")
        return [table(Table(counted(len(rows), "trial"), head, cells, "lllrrrl"))]
    mine = _compared(found.path, asked)
    if not mine.methods:
        return []
    where = points_of(mine.lines, mine.methods, mine.risk, mine.utility)
    inside = [place for place in range(len(where)) if asked.chosen is None or str(place + 1) in asked.chosen]
    lines = tuple(
        (plain(str(row.method)), number(_plain(row.risk)), number(_plain(row.utility)), "✔" if row.front else "")
        for row in rows_of(where.iloc[inside])
    )
    titles = ("Method", mine.risk.title, mine.utility.title, "Nobody beats it")
    return [table(Table(counted(len(lines), "method"), titles, lines, "lrrl"))]


def ended(found: Finished) -> list[Any]:
    """Return what the gate said of a run, each reason with its evidence."""
    metrics = _metrics(found.path / ("confidential/metrics.json" if found.kind == "run" else "metrics.json"))
    gate = metrics.get("gate") or {}
    public = (found.path / "public").is_dir()
    report = "confidential/report.html" if found.kind == "run" else "report.html"
    said = [
        html.Li([one.sentence, " ", one.beside, " ", _evidence(report, "checks"), what(one.name)])
        for one in reasons(gate)
    ]
    shown_: list[Any] = [html.P(headline(gate, published=public), className="headline"), html.Ul(said)]
    worst, every = tables(checks_of(gate))
    if worst is not None:
        shown_.append(table(worst))
    if every is not None:
        shown_.append(html.Details([html.Summary(f"All {len(every.rows)} checks"), table(every)]))
    asked = [
        html.Li([f"{check_title(name)}: ", _evidence(report, "useful" if some[0].useful else "risky"), what(name)])
        for name, some in by_limit(checks_of(gate)).items()
    ]
    return [*shown_, *([html.H2("The evidence, limit by limit"), html.Ul(asked, className="plain")] if asked else [])]


def _evidence(report: str, section: str) -> html.A:
    return html.A("evidence", href=f"/opened/{report}#{section}", target="_blank", rel="noopener noreferrer")


def _metrics(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(f"{path}: cannot be read as metrics of a run; make the run again.") from None
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Compared:
    """The methods of a comparison that are asked for with their lines, the axes of the map, and what may be an axis."""

    lines: pd.DataFrame
    methods: list[str]
    risk: Axis
    utility: Axis
    risks: list[str]
    utilities: list[str]


def _compared(folder: Path, asked: Asked) -> Compared:
    read = _csv(folder / "comparison.csv", ("method", "seed", "measure", "target", "value"))
    plainly = read.astype(object).where(read.notna(), None).to_dict("records")
    empty = {"target": "", "reason": ""}
    lines = table_of([empty | {str(name): said for name, said in row.items() if said is not None} for row in plainly])
    methods = [str(name) for name in dict.fromkeys(lines["method"])]
    risk, utility = MethodMap(lines, tuple(methods), ()).axes(asked.risk or None, asked.utility or None)
    named = [name for name in methods if asked.words.lower() in name.lower()]
    return Compared(lines[lines["method"].isin(named)], named, risk, utility, *axes_of(lines, methods))


@dataclass(frozen=True)
class Line:
    """One trial of a search, as its table tells it."""

    trial: int
    stage: str
    shape: str
    factor: float
    use: float
    ratio: float
    passed: bool


def _trials(folder: Path, words: str) -> list[Line]:
    lines = _csv(
        folder / "trials.csv", ("trial", "stage", "shape", "factor", "kind", "name", "value", "high", "limit", "passed")
    )
    found = []
    for trial, mine in lines.groupby("trial", sort=True):
        use = mine[(mine["kind"] == "use") & (mine["name"] == "usefulness")]["value"]
        risks = mine[(mine["kind"] == "risk") & (mine["limit"] > 0)]
        over = risks["high"].fillna(risks["value"]) / risks["limit"]
        first = mine.iloc[0]
        if len(use) and len(over) and words.lower() in f"{trial} {first['stage']} {first['shape']}".lower():
            passed = str(first["passed"]) == "True"
            one = (int(str(trial)), str(first["stage"]), str(first["shape"]), float(first["factor"]))
            found.append(Line(*one, float(use.iloc[0]), float(over.max()), passed))
    return found


def _search_map(rows: Sequence[Line]) -> Figure:
    data = []
    looks = ((True, "within every limit", plots.BLUE, "circle"), (False, "over a limit", plots.ORANGE, "x"))
    for passed, name, colour, symbol in looks:
        mine = [row for row in rows if row.passed == passed]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": name,
                "x": [plots.tidy(row.ratio) for row in mine],
                "y": [plots.tidy(row.use) for row in mine],
                "ids": [str(row.trial) for row in mine],
                "text": [
                    plots.escape(f"trial {row.trial}, {row.stage}: {row.shape}, noise × {row.factor:.2g}")
                    for row in mine
                ],
                "hovertemplate": "%{text}<br>usefulness %{y}, risk %{x}<extra></extra>",
                "marker": {"color": colour, "symbol": symbol, "size": 9},
            }
        )
    words = {"title": {"text": "largest risk, as a multiple of its limit"}, "type": "log"}
    layout = plots.layout(430, x=words | TICKS)
    stroke = {"color": plots.INK, "width": 1.5, "dash": "dash"}
    layout["shapes"] = [{"type": "line", "x0": 1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1, "line": stroke}]
    layout["yaxis"] = layout["yaxis"] | {"title": {"text": "usefulness"}}
    layout |= {"showlegend": True, "legend": {"orientation": "h", "y": -0.22}}
    alt = f"Map of {len(rows)} trials."
    return Figure("Risk against usefulness", data, layout, alt, "Every trial of the search.", 430)


def _csv(path: Path, needed: Sequence[str]) -> pd.DataFrame:
    try:
        found = pd.read_csv(path, dtype={"method": str, "target": str, "reason": str, "shape": str})
    except (OSError, ValueError):
        raise InputError(f"{path}: cannot be read; make it again with the command that wrote it.") from None
    if missing := [name for name in needed if name not in found.columns]:
        raise InputError(f"{path}: has no column {missing[0]}; make it again with the command that wrote it.")
    return found


def _plain(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)


def brushed(selected: Any) -> tuple[str, ...] | None:
    """Return the names of the points inside a brush, as a graph tells them; None where there is none."""
    if not isinstance(selected, dict) or "points" not in selected:
        return None
    return tuple(str(point.get("id")) for point in selected["points"])
