"""Markdown tables of pages."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def table_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = (), head: Sequence[str] = ()) -> str:
    """Return a table of results.

    Parameters
    ----------
    columns
        What to show of each row, all if nothing is said: names of entries, as they are or with a format behind a
        colon ("overlap:.3f"), or several of them in braces ("{low:.2f} to {high:.2f}"); – where there is none.
    head
        What they are called, if not by their own names.

    Examples
    --------
    >>> print(table_of([{"a": 1, "b": 0.5}, {"a": 2, "b": None}], ("a", "b:.2f")))
    | a | b |
    | --- | --- |
    | 1 | 0.50 |
    | 2 | – |
    """
    columns = columns or list(rows[0])
    head = head or [name.split(":")[0] for name in columns]
    return table(head, [[_cell(row, name) for name in columns] for row in rows])


def _cell(row: Mapping[str, Any], column: str) -> str:
    if "{" in column:
        return column.format_map(row)
    name, _, form = column.partition(":") if column not in row else (column, "", "")
    return "–" if row[name] is None else format(row[name], form)
