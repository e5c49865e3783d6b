"""Whether the model's chains can be trusted, as a table of the report."""

from collections.abc import Mapping
from typing import Any

from synthdp.report.content import ReportContent, Table, entries, find
from synthdp.report.words import number

WORST = "Of the entry that fares worst"


def chains(content: ReportContent) -> Table | None:
    """Return R-hat and effective sample sizes of every fit by chains; None where the model has none.

    One row per fit: of the original, or of each completed original.
    """
    rows = [row for row in entries(find(content.metrics, "chain")) if "r_hat" in row]
    if not rows:
        return None
    head = ("Fit", "Sweeps", "R-hat", "Bulk effective sample size", "Tail")
    return Table(
        f"How far the chains agree. {WORST}: R-hat near 1, and sizes of 60 or more, are what a release needs",
        head,
        tuple(_line(number_of, row) for number_of, row in enumerate(rows, start=1)),
        "lrrrr",
    )


def _line(place: int, row: Mapping[str, Any]) -> tuple[str, ...]:
    fitted = row.get("imputation")
    what = f"{row.get('model', row.get('column', place))}" + (f", completed file {fitted}" if fitted else "")
    size = number(row["sweeps"]) if "sweeps" in row else "–"
    shown = (number(row[name]) if name in row else "–" for name in ("ess", "tail_ess"))
    return (what, size, f"{float(row['r_hat']):.3f}", *shown)
