"""Whom and what the copies serve worst, the worst first: so that staff know what to fix."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthdp.evaluation.blocks import (
    HALVES,
    NOT_COMPUTED,
    Table,
    counted,
    entries,
    find,
    is_number,
    listing,
    number,
    percent,
)
from synthdp.report import plots
from synthdp.report.charts import Marks, dots, heatmap, pairs
from synthdp.report.content import ReportContent
from synthdp.report.plots import Figure
from synthdp.report.words import plain_term

MOST_ROWS = 30
MOST_TABLES = 12
MOST_SUBGROUPS = 12
MOST_NAMED = 5
# Raab, Nowok and Dibben (2021): under 3 good, over 10 a warning
NOTABLE, WARNING = 3.0, 10.0
LOW_OVERLAP = 0.5
# S_pMSE below this is as good as none and would stretch a logarithmic axis
LEAST = 0.1


@dataclass(frozen=True)
class Served:
    """What to look at first, then the pictures and tables behind it; empty where tables were not asked for."""

    first: tuple[str, ...]
    columns: Figure | None
    pairs: Figure | None
    tables: Table | None
    subgroups: Table | None
    within: Table | None
    notes: tuple[str, ...]


def served(content: ReportContent) -> Served:
    """Return what the copies serve worst."""
    tables = entries(find(content.metrics, "utility", "tables"))
    changed = [table for table in tables if not _identical(content, table)]
    shape = pairs(changed)
    return Served(
        first=_first(content, changed),
        columns=_columns(changed),
        pairs=heatmap(shape) if shape is not None else None,
        tables=_tables(changed, len(tables) - len(changed)),
        subgroups=_subgroups(content),
        within=_told_apart(content),
        notes=tuple(str(note) for note in find(content.metrics, "utility", "table_summary", "notes") or ()),
    )


def _identical(content: ReportContent, table: Mapping[str, Any]) -> bool:
    """Return whether a table holds kept columns only and is therefore the same in every copy."""
    kept = {column.name for column in content.comparison.schema.kept()}
    return not table.get("s_pmse") and all(name in kept for name in table.get("columns") or ())


def _worst(tables: Sequence[Mapping[str, Any]], ways: int | None = None) -> list[Mapping[str, Any]]:
    judged = [table for table in tables if is_number(table.get("s_pmse"))]
    judged = [table for table in judged if ways is None or len(table.get("columns") or ()) == ways]
    return sorted(judged, key=lambda table: -float(table["s_pmse"]))


def _name(table: Mapping[str, Any]) -> str:
    return " × ".join(str(name) for name in table.get("columns") or ())


def _first(content: ReportContent, tables: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return one sentence each on columns, pairs, subgroups and coefficients."""
    found = []
    for ways, noun in ((1, "column"), (2, "pair of columns")):
        worst = _worst(tables, ways)
        bad = [table for table in worst if table["s_pmse"] > NOTABLE]
        if bad:
            named = [f"{_name(table)} ({number(table['s_pmse'])})" for table in bad[:MOST_NAMED]]
            more = f" and {number(len(bad) - MOST_NAMED)} more" if len(bad) > MOST_NAMED else ""
            plural = noun.replace("column", "columns", 1) if ways == 1 else "pairs of columns"
            text = ", ".join(named) + more if more else listing(named)
            found.append(f"Worst-served {plural}, S_pMSE over 3 (1 is chance): {text}.")
        elif worst:
            found.append(
                f"No {noun} has an S_pMSE over 3; the largest is {number(worst[0]['s_pmse'])} ({_name(worst[0])})."
            )
    filled = _filled(content)
    if tables and filled:
        found.append(
            f"Missing values of {listing(filled)} are filled in the copies. The original's are a class of their own in "
            "these tables, so that much of the S_pMSE there reflects the filling."
        )
    found += _first_subgroup(content)
    terms = [
        (float(term["ci_overlap"]), str(analysis.get("name", "")), plain_term(str(term.get("term", ""))))
        for analysis in entries(find(content.metrics, "utility", "analyses"))
        for term in entries(analysis.get("terms"))
        if is_number(term.get("ci_overlap")) and term["ci_overlap"] < LOW_OVERLAP
    ]
    if terms:
        named = [f"{term} in “{name}” ({number(overlap)})" for overlap, name, term in sorted(terms)[:MOST_NAMED]]
        found.append(f"Coefficients whose intervals overlap by less than one half: {listing(named)}.")
    return tuple(found)


def _filled(content: ReportContent) -> list[str]:
    """Return the replaced columns whose missing values no copy has any more."""
    original, copies = content.comparison.original, content.comparison.copies
    return [
        column.name
        for column in content.comparison.schema.replaced()
        if original[column.name].isna().any() and not any(copy[column.name].isna().any() for copy in copies)
    ]


def _first_subgroup(content: ReportContent) -> list[str]:
    worst = max(_groups(content), key=lambda line: _beside_noise(line) or 0.0, default=None)
    ratio = None if worst is None else _beside_noise(worst)
    if worst is None or ratio is None:
        return []
    return [
        f"Worst-served subgroup: {worst.get('by')} {worst.get('group')}, whose tables differ {number(ratio)} times as "
        f"much as two halves of the original ({_columns_of(worst)})."
    ]


def _columns(tables: Sequence[Mapping[str, Any]]) -> Figure | None:
    worst = _worst(tables, 1)
    shown = worst[:MOST_ROWS]
    if not shown:
        return None
    marks = [
        Marks(
            "copies",
            [table["s_pmse"] for table in shown],
            plots.ORANGE,
            "diamond",
            [find(table, "low", "s_pmse") for table in shown],
            [find(table, "high", "s_pmse") for table in shown],
        ),
        Marks("two halves of the original", [noise(table) for table in shown], plots.BLUE, "line-ns-open"),
    ]
    left = f" {number(len(worst) - len(shown))} columns served better are not drawn." if len(worst) > len(shown) else ""
    caption = (
        "S_pMSE of each column by itself: the mean over copies, from the lowest to the highest copy. The dashed line "
        f"marks 1, what chance gives; over 3 deserves a look, over 10 is a warning.{left}"
    )
    axis = "S_pMSE, logarithmic"
    return dots(
        "Each column by itself", [_name(t) for t in shown], marks, axis=axis, caption=caption, line=1, least=LEAST
    )


def noise(found: Mapping[str, Any]) -> Any:
    """Return the S_pMSE that two halves of the original give, or None."""
    floor = found.get("noise")
    return floor.get("s_pmse") if isinstance(floor, Mapping) else floor


def _tables(tables: Sequence[Mapping[str, Any]], identical: int) -> Table | None:
    worst = _worst(tables)
    unjudged = [table for table in tables if not is_number(table.get("s_pmse"))]
    rows = tuple(
        (
            _name(table),
            _marked(table.get("s_pmse")),
            _spread(table),
            number(noise(table)),
            number(table.get("pmse")),
            percent(table.get("total_variation")),
            number(table.get("df")),
        )
        for table in [*worst, *unjudged][:MOST_TABLES]
    )
    if not rows:
        return None
    said = f"Tables of counts: the {len(rows)} worst of {number(len(tables))}"
    said += f" ({number(identical)} more hold kept columns only and are the same)" if identical else ""
    head = (
        "Columns",
        "S_pMSE (1 = chance)",
        "Lowest to highest copy",
        HALVES,
        "pMSE",
        "In the wrong cell",
        "Cells − 1",
    )
    return Table(said if len(tables) > len(rows) else "Tables of counts, the worst first", head, rows, "lrrrrrr")


def _marked(value: Any) -> str:
    return ("▲ " if is_number(value) and value > WARNING else "") + number(value)


def _spread(table: Mapping[str, Any]) -> str:
    low, high = find(table, "low", "s_pmse"), find(table, "high", "s_pmse")
    return f"{number(low)} to {number(high)}" if is_number(low) and is_number(high) else NOT_COMPUTED


def _groups(content: ReportContent) -> list[Mapping[str, Any]]:
    return [line for line in entries(find(content.metrics, "utility", "subgroups")) if is_number(line.get("value"))]


def _beside_noise(line: Mapping[str, Any]) -> float | None:
    floor = noise(line)
    return float(line["value"]) / float(floor) if is_number(floor) and floor > 0 else None


def _columns_of(line: Mapping[str, Any]) -> str:
    worst = [one for one in entries(line.get("columns")) if is_number(one.get("s_pmse"))][:3]
    return listing([f"{one.get('column')} {number(one['s_pmse'])}" for one in worst])


def _subgroups(content: ReportContent) -> Table | None:
    found = sorted(_groups(content), key=lambda line: -(_beside_noise(line) or 0.0))
    rows = tuple(
        (
            f"{line.get('by')}: {line.get('group')}",
            number(line.get("records")),
            number(line["value"]),
            number(noise(line)),
            _columns_of(line),
        )
        for line in found[:MOST_SUBGROUPS]
    )
    head = ("Subgroup", "Records", "Mean S_pMSE of its columns", HALVES, "Its worst columns")
    caption = "Subgroups, the worst served first (compared with their own halves)"
    return Table(caption, head, rows, "lrrrl") if rows else None


def _told_apart(content: ReportContent) -> Table | None:
    """Return the subgroups whose records are told apart most easily, by the model that sees most."""
    section = find(content.metrics, "utility", "pmse") or {}
    for model in ("cart", "boosting", "logit_interactions", "logit"):
        lines = entries(find(section, model, "per_group"))
        rows = tuple(
            (
                f"{line.get('by')}: {line.get('level')}",
                f"{counted(line['original'], 'record')} → {number(line.get('synthetic'))}",
                number(line["ratio"]),
                percent(line.get("share")),
            )
            for line in lines
            if is_number(line.get("ratio")) and is_number(line.get("original"))
        )
        if rows:
            head = ("Subgroup", "Original → copies", "Ratio to expected", "Its part of all that is told apart")
            return Table("Subgroups whose records are told apart most easily", head, rows[:MOST_SUBGROUPS], "lrrr")
    return None
