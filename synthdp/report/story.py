"""What was done, what is promised, how it was made, and whether the model's chains can be trusted."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from synthdp.evaluation.blocks import Table, counted, entries, find, is_number, listing, number, percent
from synthdp.evaluation.measures.found import GROUP_ORDER
from synthdp.privacy.events import LARGEST_USEFUL_MU
from synthdp.privacy.guarantees import NOT_PRIVATE
from synthdp.report import ReportContent
from synthdp.report.words import MASK_DRAWS, MASKINGS, METHODS
from synthdp.table.schema import Column, Kind

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


FALSE_ALARMS = 0.05


@dataclass(frozen=True)
class Done:
    """What happened to the columns, and by which method."""

    counts: str
    replaced: Table | None
    kept: str
    dropped: str
    method: str
    masks: Table | None
    mask_draw: tuple[str, str] | None


def done(content: ReportContent) -> Done:
    """Return what was done to which column."""
    schema = content.comparison.schema
    replaced, kept = schema.replaced(), schema.kept()
    counts = f"The file has {counted(content.records, 'record')}. "
    if content.method == "external" and not replaced:
        counts += "The configuration says of no column that it was replaced (role: replace)."
    else:
        counts += (
            f"Of its columns, {_were(len(replaced))} replaced by newly drawn values, "
            f"{'1 is released as it is' if len(kept) == 1 else f'{number(len(kept))} are released as they are'}, and "
            f"{_were(len(content.dropped))} removed."
        )
    if schema.derived():
        names = listing([column.name for column in schema.derived()])
        counts += f" Computed from the others in every copy: {names}."
    lines = content.masks
    covered = {line.column for line in lines}
    rows: list[tuple[str, ...]] = [(line.column, line.group, line.description) for line in lines]
    rows += [(c.name, "all", "none: drawn from the model alone") for c in replaced if lines and c.name not in covered]
    return Done(
        counts=counts,
        replaced=_columns(replaced),
        kept=listing([f"{c.name} ({c.kind}{', known to the intruder' if c.key else ''})" for c in kept]),
        dropped=listing(list(content.dropped)),
        method=METHODS.get(content.method, f"The copies were made by the method “{content.method}”."),
        masks=Table("The mask of each replaced column", ("Column", "Risk group", "Mask"), _in_order(rows), "lll")
        if rows
        else None,
        mask_draw=MASK_DRAWS.get(content.mask_draw) if lines else None,
    )


def _were(count: int) -> str:
    return f"{number(count)} {'was' if count == 1 else 'were'}"


def _columns(replaced: tuple[Column, ...]) -> Table | None:
    rows = tuple((c.name, c.kind.value, "yes" if c.key else "no", _match(c)) for c in replaced)
    head = ("Column", "Kind", "Intruder may know it", "What counts as a match")
    return Table("Replaced columns", head, rows, "llll") if rows else None


def _match(column: Column) -> str:
    if not column.key:
        return "not used for matching"
    if column.kind.categorical or column.tolerance == 0:
        return "the same value"
    unit = " days" if column.kind is Kind.DATE else ""
    source = " (default: a tenth of the column's standard deviation)" if column.tolerance_default else ""
    return f"within ±{number(column.tolerance)}{unit}{source}"


def epsilon(content: ReportContent) -> tuple[bool, str]:
    """Return whether the whole release is differentially private, and the sentence that says so."""
    value = find(content.metrics, "privacy", "epsilon")
    if is_number(value):
        plain = f"The release is differentially private with ε = {number(value)}."
        return True, str(find(content.metrics, "privacy", "statement") or plain)
    withdrawn = find(content.metrics, "privacy", "statement")
    if withdrawn:
        return False, str(withdrawn)
    return False, NOT_PRIVATE


def formal(content: ReportContent) -> str:
    """Return why nothing formal is said, where no mask has a statement of its own."""
    if content.method == "external":
        return "Nothing formal is claimed: how these files were made is not known here."
    if find(content.metrics, "privacy", "statement"):
        return "There is no mask to speak of: what is claimed of the whole release stands above."
    if content.method in MASKINGS:
        return "Nothing formal is claimed: this masking has no guarantee, and nothing bounds what it lets through."
    return (
        "Nothing formal is claimed: no mask was used. The new values come from a model fitted to the confidential "
        "records, and nothing bounds what they let through."
    )


def masking(content: ReportContent) -> Table | None:
    """Return the formal statements about the masks, with what each means at best for the intruder."""
    lines = find(content.metrics, "privacy", "masking") or ()
    rows = _in_order(
        [
            (
                str(line.get("column", "")),
                str(line.get("group") or "all"),
                number(line.get("mu")) if is_number(line.get("mu")) else "none",
                _bound(line.get("mu")),
                str(line.get("statement") or ""),
            )
            for line in lines
        ]
    )
    caption, head = "What can be stated about each mask", ("Column", "Risk group", "Statement")
    if any(is_number(line.get("mu")) for line in lines):
        return Table(caption, (*head[:2], "μ", "Intruder's best hit rate*", head[2]), rows, "llrrl")
    return Table(caption, head, tuple((*row[:2], row[4]) for row in rows), "lll") if rows else None


def _in_order(rows: list[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Return rows of one column together, its risk groups from low to high."""
    columns = list(dict.fromkeys(row[0] for row in rows))
    groups = list(dict.fromkeys([*GROUP_ORDER, *(row[1] for row in rows)]))
    return tuple(sorted(rows, key=lambda row: (columns.index(row[0]), groups.index(row[1]))))


def _bound(mu: Any) -> str:
    """Return Φ(Φ⁻¹(0.05) + μ), the most a test at 5% false alarms can detect (Dong, Roth and Su 2022, Eq. 6)."""
    if not is_number(mu):
        return "no bound"
    if mu > LARGEST_USEFUL_MU:
        return "no useful bound"
    normal = NormalDist()
    return percent(normal.cdf(normal.inv_cdf(FALSE_ALARMS) + mu))


def timings(content: ReportContent) -> Table | None:
    """Return how long each stage took."""
    found = find(content.metrics, "timings") or {}
    rows = [(str(stage).replace(".", ": "), f"{number(seconds)} s") for stage, seconds in found.items()]
    # a stage such as synthesise.fit is part of synthesise and must not count twice
    whole = [float(s) for stage, s in found.items() if is_number(s) and str(stage).rpartition(".")[0] not in found]
    if len(rows) > 1 and "total" not in found:
        rows.append(("together", f"{number(sum(whole))} s"))
    return Table("Time per stage", ("Stage", "Time"), tuple(rows), "lr") if rows else None


def versions(content: ReportContent) -> Table | None:
    """Return which programs made this."""
    rows = tuple((str(name), str(version)) for name, version in content.versions.items())
    return Table("Programs and versions", ("Program", "Version"), rows, "ll") if rows else None
