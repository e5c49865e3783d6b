"""The five sources counted: every method, study, table and figure of theirs, and what became of it.

``rows.csv`` holds a row for each; whoever builds or removes something changes its row, and the page follows.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from reports.markdown import table_of
from reports.study import Results, Study

STATUSES = ("works", "partly", "left out", "nothing to build")
ROWS = Path(__file__).with_name("rows.csv")
COLUMNS = ("item", "place", "now", "where")


def counted() -> Results:
    """Return the rows and, by source, how many there are of each status."""
    rows = pd.read_csv(ROWS, dtype=str, keep_default_na=False)
    unknown = sorted(set(rows["now"]) - set(STATUSES))
    if unknown or (rows["where"] == "").any():
        raise ValueError(f"rows.csv: every row needs a status of {STATUSES} and a place; found {unknown}.")
    totals = []
    for source, mine in [*rows.groupby("source"), ("all", rows)]:
        count = Counter(mine["now"])
        totals.append({"source": source, "rows": len(mine), **{status: count[status] for status in STATUSES}})
    before = Counter(rows["before"])
    return {
        "totals": totals,
        "before": {status: before[status] for status in sorted(before)},
        "rows": rows.drop(columns="before").to_dict("records"),
    }


def page(results: Results, settings: Results) -> str:
    """Return the page."""
    whole = results["totals"][-1]
    possible = whole["rows"] - whole["nothing to build"]
    parts = [
        f"## {source}\n\n{_table([row for row in results['rows'] if row['source'] == source])}"
        for source in dict.fromkeys(row["source"] for row in results["rows"])
    ]
    open_rows = [row for row in results["rows"] if row["now"] in ("partly", "left out")]
    return f"""# The five sources, counted

A row for each method, study, table and figure of the five documents that synthdp grew out of (figures that belong
together share one). *works*: there, tested, and drawn or run by one command; *partly*: with what is missing;
*left out*: with the reason; *nothing to build*: an open problem, future work, or named without a procedure. What is
printed wrong in them is in [Sources](../../docs/sources.md). Rows that worked when they were first audited were
carried over and are held by their tests. Regenerate from `rows.csv`: `python -m reports sources_count`.

{table_of(results["totals"])}

Of {possible} that can be built, {whole["works"]} work.

## What is left

{table_of([{"source": row["source"], **_plain(row)} for row in open_rows])}

{chr(10).join(part + chr(10) for part in parts)}"""


def _table(rows: list[dict[str, Any]]) -> str:
    return table_of([_plain(row) for row in rows])


def _plain(row: dict[str, Any]) -> dict[str, str]:
    return {name: str(row[name]).replace("|", "∣") for name in COLUMNS}


STUDY = Study(
    name="sources_count",
    cells=lambda _: [{}],
    work=counted,
    results=lambda lines: dict(lines[0]),
    page=page,
)
