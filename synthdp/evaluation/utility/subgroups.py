"""Is everybody served equally well? One-way tables inside each subgroup, the worst-served first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.classes import Classes
from synthdp.evaluation.utility.spread import Halves, summarise
from synthdp.evaluation.utility.tables import compare, count, count_halves
from synthdp.microdata import Codes

RISK_GROUP = "risk group"


@dataclass(frozen=True, eq=False, repr=False)
class Grouping:
    """To which subgroup each record of each file belongs.

    Parameters
    ----------
    by
        What the subgroups are: ``risk group``, or a column.
    labels
        Their names.
    files
        The codes of the original's records, then of each copy's.
    """

    by: str
    labels: tuple[str, ...]
    files: tuple[Codes, ...]

    def __repr__(self) -> str:
        return f"Grouping({len(self.labels)} subgroups by {self.by})"


def risk_groups(comparison: Comparison) -> Grouping | None:
    """Return the risk groups, where row i of a copy is record i and there is more than one group."""
    if comparison.groups is None or not comparison.aligned:
        return None
    labels = comparison.groups.astype("category")
    if labels.nunique() < 2:
        return None
    codes = labels.cat.codes.to_numpy().astype(np.int64)
    names = tuple(str(name) for name in labels.cat.categories)
    return Grouping(RISK_GROUP, names, (codes,) * (1 + len(comparison.copies)))


def levels_of(classes: Classes, column: str) -> Grouping:
    """Return the classes of a column as subgroups; a copy's records belong where the copy's own value says."""
    place = classes.names.index(column)
    return Grouping(column, classes.labels[place], tuple(file[place] for file in classes.files))


def evaluate_subgroups(classes: Classes, grouping: Grouping, halves: Halves) -> list[dict[str, Any]]:
    """Return one entry per subgroup: how far the one-way tables of its records are from those in the copies.

    Each entry has the mean of ``s_pmse`` over the columns (``value``, with ``per_copy``, ``low``, ``high`` and
    ``noise``) and the measures of every column; subgroups come worst first. A small subgroup has a large noise floor:
    compare the value with ``noise``, not with other subgroups.

    Notes
    -----
    Cost O(n M p), one pass per column and file.
    """
    groups = len(grouping.labels)
    columns = [place for place, name in enumerate(classes.names) if name != grouping.by]
    tables = [_by_group(classes, place, grouping, halves) for place in columns]
    records = np.bincount(grouping.files[0], minlength=groups)
    entries = []
    for group in np.flatnonzero(records):
        found = [{"column": classes.names[place]} | table[group] for place, table in zip(columns, tables, strict=True)]
        entries.append(
            {"by": grouping.by, "group": grouping.labels[group], "records": int(records[group]), **_mean(found)}
            | {"columns": sorted(found, key=lambda entry: -(entry["s_pmse"] or 0.0))}
        )
    return sorted(entries, key=lambda entry: -(entry["value"] or 0.0))


def _by_group(classes: Classes, place: int, grouping: Grouping, halves: Halves) -> list[dict[str, Any]]:
    """Return the measures of one column in every subgroup."""
    groups, size = len(grouping.labels), classes.sizes[place]
    shape, sizes = (groups, size), (groups, size)
    pairs = [(group, file[place]) for group, file in zip(grouping.files, classes.files, strict=True)]
    copies = [count(pair, sizes).reshape(shape) for pair in pairs[1:]]
    original, first = count_halves(pairs[0], sizes, halves)
    rows = [half.reshape(shape) for half in first]
    whole = original.reshape(shape)
    return [compare(whole[g], [copy[g] for copy in copies], [half[g] for half in rows]) for g in range(groups)]


def _mean(columns: Sequence[dict[str, Any]]) -> dict[str, Any]:
    judged = [found for found in columns if found["s_pmse"] is not None]
    per_copy = zip(*(found["per_copy"]["s_pmse"] for found in judged), strict=True)
    means = [_average(values) for values in per_copy]
    return summarise(means, [_average([found["noise"]["s_pmse"] for found in judged])])


def _average(values: Sequence[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present else None
