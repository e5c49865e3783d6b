"""Results as a notebook shows them: one small table with a heading above it and sentences below."""

from collections.abc import Iterable, Sequence
from html import escape


def html(
    title: str, head: Sequence[str] = (), rows: Iterable[Sequence[object]] = (), notes: Iterable[object] = ()
) -> str:
    """Return a heading, a table and notes; whatever stands in them is shown letter by letter.

    Parameters
    ----------
    title
        What it is.
    head, rows
        Headings of the columns, and the cells; the first cell of a row is its heading.
    notes
        Sentences below the table.

    Examples
    --------
    >>> html("mean <age>", ["", "estimate"], [["age", 47.5]], ["2 copies"])  # doctest: +NORMALIZE_WHITESPACE
    '<div><strong>mean &lt;age&gt;</strong><table><thead><tr><th></th><th>estimate</th></tr></thead><tbody><tr><th
    style="text-align:left">age</th><td>47.5</td></tr></tbody></table><p style="margin:0">2 copies</p></div>'
    """
    cells = [
        f'<tr><th style="text-align:left">{escape(str(first))}</th>'
        + "".join(f"<td>{escape(str(cell))}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    ]
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    table = f"<table>{f'<thead><tr>{top}</tr></thead>' if head else ''}<tbody>{''.join(cells)}</tbody></table>"
    said = "".join(f'<p style="margin:0">{escape(str(note))}</p>' for note in notes)
    return f"<div><strong>{escape(title)}</strong>{table if cells else ''}{said}</div>"
