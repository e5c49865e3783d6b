"""What the report shows of tables of counts: whom and what the copies serve worst, so that staff know what to fix."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from synthdp.evaluation.blocks import (
    HALVES,
    NOT_COMPUTED,
    Block,
    Chart,
    Dots,
    Marks,
    Pairs,
    Table,
    entries,
    find,
    is_number,
    listing,
    number,
    percent,
)
from synthdp.evaluation.comparison import Comparison

MOST_ROWS = 30
MOST_TABLES = 12
MOST_SUBGROUPS = 12
MOST_NAMED = 5
MOST_COLUMNS = 60
# Raab, Nowok and Dibben (2021): under 3 good, over 10 a warning
NOTABLE, WARNING = 3.0, 10.0
# S_pMSE below this is as good as none and would stretch a logarithmic axis
LEAST = 0.1
TITLE = "Which columns and subgroups are served worst"
WORDS = (
    "Counts of each column, and of every two columns together, are compared with those of the original. **S_pMSE** is "
    "their pMSE over what chance gives: about 1 is as good as it gets, over 3 deserves a look, over 10 is a warning "
    "(▲). What two halves of the original give says how much of it is noise."
)


def tables_blocks(utility: Mapping[str, Any], files: Comparison | None = None) -> tuple[Block, Block]:
    """Return what the copies serve worst: columns and pairs of columns, then subgroups."""
    tables = entries(utility.get("tables"))
    changed = [table for table in tables if not _identical(table, files)]
    groups = [line for line in entries(utility.get("subgroups")) if is_number(line.get("value"))]
    groups.sort(key=lambda line: -(_beside_noise(line) or 0.0))
    worst = _tables(changed, len(tables) - len(changed))
    notes = tuple(str(note) for note in find(utility, "table_summary", "notes") or ())
    charts: list[Chart | None] = [_columns(changed), pairs(changed)]
    return Block(
        TITLE,
        WORDS,
        tables=worst,
        absent="" if worst else "tables of counts were not asked for (evaluation.utility)",
        notes=notes,
        charts=tuple(chart for chart in charts if chart is not None),
        first=(*_worst_served(changed), *_filled(changed, files), *_worst_subgroup(groups)),
    ), Block(TITLE, "", tables=_subgroups(groups))


def _identical(table: Mapping[str, Any], files: Comparison | None) -> bool:
    """Return whether a table holds kept columns only and is therefore the same in every copy."""
    kept = {column.name for column in files.schema.kept()} if files is not None else set()
    return not table.get("s_pmse") and all(name in kept for name in table.get("columns") or ())


def _worst(tables: Sequence[Mapping[str, Any]], ways: int | None = None) -> list[Mapping[str, Any]]:
    judged = [table for table in tables if is_number(table.get("s_pmse"))]
    judged = [table for table in judged if ways is None or len(table.get("columns") or ()) == ways]
    return sorted(judged, key=lambda table: -float(table["s_pmse"]))


def _name(table: Mapping[str, Any]) -> str:
    return " × ".join(str(name) for name in table.get("columns") or ())


def _worst_served(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one sentence each on columns and on pairs of columns."""
    found = []
    for ways, noun, plural in ((1, "column", "columns"), (2, "pair of columns", "pairs of columns")):
        worst = _worst(tables, ways)
        bad = [f"{_name(table)} ({number(table['s_pmse'])})" for table in worst if table["s_pmse"] > NOTABLE]
        if bad:
            more = len(bad) - MOST_NAMED
            text = f"{', '.join(bad[:MOST_NAMED])} and {number(more)} more" if more > 0 else listing(bad)
            found.append(f"Worst-served {plural}, S_pMSE over 3 (1 is chance): {text}.")
        elif worst:
            found.append(
                f"No {noun} has an S_pMSE over 3; the largest is {number(worst[0]['s_pmse'])} ({_name(worst[0])})."
            )
    return found


def _filled(tables: Sequence[Mapping[str, Any]], files: Comparison | None) -> list[str]:
    """Return a sentence on the replaced columns whose missing values no copy has any more."""
    if files is None or not tables:
        return []
    filled = [
        column.name
        for column in files.schema.replaced()
        if files.original[column.name].isna().any() and not any(copy[column.name].isna().any() for copy in files.copies)
    ]
    said = (
        f"Missing values of {listing(filled)} are filled in the copies. The original's are a class of their own in "
        "these tables, so that much of the S_pMSE there reflects the filling."
    )
    return [said] if filled else []


def _worst_subgroup(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    ratio = _beside_noise(groups[0]) if groups else None
    if ratio is None:
        return []
    return [
        f"Worst-served subgroup: {groups[0].get('by')} {groups[0].get('group')}, whose tables differ {number(ratio)} "
        f"times as much as two halves of the original ({_columns_of(groups[0])})."
    ]


def _columns(tables: Sequence[Mapping[str, Any]]) -> Dots | None:
    worst = _worst(tables, 1)
    shown = worst[:MOST_ROWS]
    low, high = ([find(table, end, "s_pmse") for table in shown] for end in ("low", "high"))
    marks = (
        Marks("copies", [table["s_pmse"] for table in shown], "found", low, high),
        Marks("two halves of the original", [_noise(table) for table in shown], "halves"),
    )
    left = f" {number(len(worst) - len(shown))} columns served better are not drawn." if len(worst) > len(shown) else ""
    caption = (
        "S_pMSE of each column by itself: the mean over copies, from the lowest to the highest copy. The dashed line "
        f"marks 1, what chance gives; over 3 deserves a look, over 10 is a warning.{left}"
    )
    names, axis = [_name(table) for table in shown], "S_pMSE, logarithmic"
    return Dots("Each column by itself", names, marks, axis, caption, line=1, least=LEAST) if shown else None


def pairs(tables: Sequence[Mapping[str, Any]]) -> Pairs | None:
    """Return the matrix of one- and two-way tables, columns with the largest values first; None without pairs.

    A column counts by the mean of log S_pMSE over its tables, values below 1 (chance) counting as 1.
    """
    found: dict[tuple[str, str], float] = {}
    names: dict[str, list[float]] = {}
    for table in tables:
        columns = [str(name) for name in table.get("columns") or ()]
        if not 1 <= len(columns) <= 2:
            continue
        value = table.get("s_pmse")
        known = [float(value)] if value is not None and is_number(value) else []
        for name in columns:
            names.setdefault(name, []).extend(math.log10(max(one, 1.0)) for one in known)
        for one in known:
            found[columns[0], columns[-1]] = found[columns[-1], columns[0]] = one
    if not any(one != other for one, other in found):
        return None
    order = sorted(names, key=lambda name: -sum(names[name]) / max(len(names[name]), 1))
    shown = order[:MOST_COLUMNS]
    values = tuple(tuple(found.get((row, column)) for column in shown) for row in shown)
    return Pairs(tuple(shown), values, len(order) - len(shown))


def _noise(found: Mapping[str, Any]) -> Any:
    """Return the S_pMSE that two halves of the original give, or None."""
    floor = found.get("noise")
    return floor.get("s_pmse") if isinstance(floor, Mapping) else floor


def _tables(tables: Sequence[Mapping[str, Any]], identical: int) -> tuple[Table, ...]:
    unjudged = [table for table in tables if not is_number(table.get("s_pmse"))]
    rows = tuple(
        (
            _name(table),
            _marked(table.get("s_pmse")),
            _spread(table),
            number(_noise(table)),
            number(table.get("pmse")),
            percent(table.get("total_variation")),
            number(table.get("df")),
        )
        for table in [*_worst(tables), *unjudged][:MOST_TABLES]
    )
    said = f"Tables of counts: the {len(rows)} worst of {number(len(tables))}"
    said += f" ({number(identical)} more hold kept columns only and are the same)" if identical else ""
    said = said if len(tables) > len(rows) else "Tables of counts, the worst first"
    head = (
        "Columns",
        "S_pMSE (1 = chance)",
        "Lowest to highest copy",
        HALVES,
        "pMSE",
        "In the wrong cell",
        "Cells − 1",
    )
    return (Table(said, head, rows, "lrrrrrr"),) if rows else ()


def _marked(value: Any) -> str:
    return ("▲ " if is_number(value) and value > WARNING else "") + number(value)


def _spread(table: Mapping[str, Any]) -> str:
    low, high = find(table, "low", "s_pmse"), find(table, "high", "s_pmse")
    return f"{number(low)} to {number(high)}" if is_number(low) and is_number(high) else NOT_COMPUTED


def _beside_noise(line: Mapping[str, Any]) -> float | None:
    floor = _noise(line)
    return float(line["value"]) / float(floor) if is_number(floor) and floor > 0 else None


def _columns_of(line: Mapping[str, Any]) -> str:
    worst = [one for one in entries(line.get("columns")) if is_number(one.get("s_pmse"))][:3]
    return listing([f"{one.get('column')} {number(one['s_pmse'])}" for one in worst])


def _subgroups(groups: Sequence[Mapping[str, Any]]) -> tuple[Table, ...]:
    rows = tuple(
        (
            f"{line.get('by')}: {line.get('group')}",
            number(line.get("records")),
            number(line["value"]),
            number(_noise(line)),
            _columns_of(line),
        )
        for line in groups[:MOST_SUBGROUPS]
    )
    head = ("Subgroup", "Records", "Mean S_pMSE of its columns", HALVES, "Its worst columns")
    caption = "Subgroups, the worst served first (compared with their own halves)"
    return (Table(caption, head, rows, "lrrrl"),) if rows else ()
