"""Whether distributions and associations are preserved, for everybody.

Distances, correlations, Cramér's V, and one-way tables by subgroup.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.arrays import Codes, Floats
from synthdp.budget import go_on
from synthdp.evaluation.comparison import Comparison, Halves, Sizes, sizes_of, summarise
from synthdp.evaluation.utility.classes import Classes
from synthdp.evaluation.utility.tables import compare, count, count_halves
from synthdp.table.coded import coded


def kolmogorov_smirnov(first: Floats, second: Floats) -> float:
    """Return the largest difference of the two distribution functions, max |F − G|; both sorted.

    Examples
    --------
    >>> kolmogorov_smirnov(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.5
    """
    at = np.concatenate([first, second])
    return float(np.abs(_below(first, at) - _below(second, at)).max())


def wasserstein(first: Floats, second: Floats) -> float:
    """Return the area between the two distribution functions, ∫ |F − G| dx; both sorted.

    It is how far values have to be moved on average to make one file from the other.

    Examples
    --------
    >>> wasserstein(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    1.0
    """
    at = np.sort(np.concatenate([first, second]))
    gap = np.abs(_below(first, at[:-1]) - _below(second, at[:-1]))
    return float((gap * np.diff(at)).sum())


def _below(values: Floats, at: Floats) -> Floats:
    return np.searchsorted(values, at, side="right") / len(values)


def evaluate_distributions(comparison: Comparison, halves: Halves) -> list[dict[str, Any]]:
    """Return the ``distributions`` entries of metrics.json: one per numeric or date column.

    ``ks`` is the Kolmogorov–Smirnov distance, ``wasserstein`` the Wasserstein distance in standard deviations of the
    original (None for a constant column), both between the values that are present; ``missing`` is the share of
    missing values in the copy minus that in the original. The noise floor is what two halves of the original give,
    times √((1/n₁ + 1/n₂)/(1/h₁ + 1/h₂)), because halves are smaller than the files.

    Notes
    -----
    Cost O(n log n) per column and file.
    """
    return [
        _column(comparison, column.name, halves)
        for column in comparison.schema.columns
        if not column.kind.categorical and column.design != "cluster"
    ]


def _column(comparison: Comparison, name: str, halves: Halves) -> dict[str, Any]:
    go_on()
    column = comparison.schema[name]
    original = coded(comparison.original).numbers(column)
    copies = [coded(copy).numbers(column) for copy in comparison.copies]
    sd = float(np.nanstd(original)) if np.isfinite(original).any() else 0.0
    found = [_distances(original, copy, sd) for copy in copies]
    floors = []
    for mask in halves.masks:
        first, second = original[mask], original[~mask]
        n1, n2 = _present(first), _present(second)
        sizes = Sizes(_present(original), float(np.mean([_present(copy) for copy in copies])))
        if min(n1, n2, sizes.second) > 0:
            shrink = math.sqrt(sizes.variance / Sizes(n1, n2).variance)
            floors.append([None if value is None else shrink * value for value in _distances(first, second, sd)])
    ks, moved, missing = (summarise([one[j] for one in found], [_size(floor[j]) for floor in floors]) for j in range(3))
    return {"column": name, "ks": ks, "wasserstein": moved, "missing": missing}


def _distances(first: Floats, second: Floats, sd: float) -> list[float | None]:
    missing = float(np.isnan(second).mean() - np.isnan(first).mean())
    first, second = np.sort(first[~np.isnan(first)]), np.sort(second[~np.isnan(second)])
    if not len(first) or not len(second):
        return [None, None, missing]
    return [kolmogorov_smirnov(first, second), wasserstein(first, second) / sd if sd > 0 else None, missing]


def _size(value: float | None) -> float | None:
    return None if value is None else abs(value)


def _present(values: Floats) -> int:
    return int(np.count_nonzero(~np.isnan(values)))


def pearson(values: Floats) -> Floats:
    """Return the correlations of all columns, each pair over the records where both are present.

    A pair of which one column does not vary has no correlation: NaN. Cost O(n p²).
    """
    present = ~np.isnan(values)
    counts = np.maximum(present.sum(axis=0), 1)
    centred = np.where(present, values, 0.0)
    centred = np.where(present, centred - centred.sum(axis=0) / counts, 0.0)
    scale = np.sqrt((centred**2).sum(axis=0) / counts)
    centred = np.divide(centred, scale, out=np.zeros_like(centred), where=scale > 0)
    shown = present.astype(np.float64)
    n = shown.T @ shown
    with np.errstate(divide="ignore", invalid="ignore"):
        # of the row's variable over the records where the column's is present too
        mean = centred.T @ shown / n
        variance = (centred**2).T @ shown / n - mean**2
        covariance = centred.T @ centred / n - mean * mean.T
        found = covariance / np.sqrt(variance * variance.T)
    return np.where(np.minimum(variance, variance.T) > 1e-12, np.clip(found, -1, 1), np.nan)


def cramers_v(table: Codes) -> float | None:
    """Return Cramér's V of a two-way table, corrected for bias; None where a column has a single class.

    V = √(φ̃²/(min(r̃, c̃) − 1)), φ̃² = max(0, χ²/n − (r − 1)(c − 1)/(n − 1)), r̃ = r − (r − 1)²/(n − 1), c̃ likewise.

    References
    ----------
    Bergsma (2013), Journal of the Korean Statistical Society 42(3), 323–328.
    """
    table, n = _filled(table), int(table.sum())
    rows, columns = table.shape
    if min(rows, columns) < 2 or n < 2:
        return None
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    phi = max(0.0, float(((table - expected) ** 2 / expected).sum()) / n - (rows - 1) * (columns - 1) / (n - 1))
    fewest = min(size - (size - 1) ** 2 / (n - 1) for size in (rows, columns))
    return min(1.0, math.sqrt(phi / (fewest - 1))) if fewest > 1 else None


def mutual_information(table: Codes) -> float | None:
    """Return the mutual information of a two-way table in nats, minus its bias (r − 1)(c − 1)/(2n)."""
    table, n = _filled(table), int(table.sum())
    if n == 0:
        return None
    rows, columns = table.shape
    shares = table / n
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    filled = shares > 0
    found = float((shares[filled] * np.log(shares[filled] / expected[filled])).sum())
    return found - float((rows - 1) * (columns - 1)) / (2 * n)


def _filled(table: Codes) -> Codes:
    return table[table.any(axis=1)][:, table.any(axis=0)]


def evaluate_associations(comparison: Comparison, classes: Classes, halves: Halves) -> list[dict[str, Any]]:
    """Return the ``correlations`` entries of metrics.json: one per pair of columns.

    Each has ``pearson`` (numeric pairs), ``cramers_v`` and ``mutual_information`` (of the classes that tables use):
    the ``original`` value, and copy minus original as ``value`` with its spread. ``noise`` is the mean absolute
    difference between two halves of the original, times √((1/n₁ + 1/n₂)/(1/h₁ + 1/h₂)).

    Notes
    -----
    Cost O(n M p²).
    """
    names = [column.name for column in comparison.schema.columns if not column.kind.categorical]
    names = [name for name in names if name in classes.names]
    columns = [
        np.column_stack([coded(frame).numbers(comparison.schema[name]) for name in names] or [np.empty(len(frame))])
        for frame in (comparison.original, *comparison.copies)
    ]
    linear = [pearson(values) for values in columns]
    split = [(pearson(columns[0][mask]), pearson(columns[0][~mask])) for mask in halves.masks]
    files = sizes_of(comparison)
    shrink = [math.sqrt(files.variance / Sizes(mask.sum(), (~mask).sum()).variance) for mask in halves.masks]
    entries = []
    for a, b in itertools.combinations(range(len(classes.names)), 2):
        go_on()
        pair = [classes.names[a], classes.names[b]]
        entry: dict[str, Any] = {"columns": pair}
        if pair[0] in names and pair[1] in names:
            i, j = names.index(pair[0]), names.index(pair[1])
            floors = [(float(one[i, j]), float(other[i, j])) for one, other in split]
            entry["pearson"] = _difference([float(found[i, j]) for found in linear], floors, shrink)
        shape = (classes.sizes[a], classes.sizes[b])
        whole, first = count_halves([classes.files[0][a], classes.files[0][b]], shape, halves)
        tables = [whole, *(count([file[a], file[b]], shape) for file in classes.files[1:])]
        for name, of in (("cramers_v", cramers_v), ("mutual_information", mutual_information)):
            floor = [(of(half.reshape(shape)), of((whole - half).reshape(shape))) for half in first]
            entry[name] = _difference([of(table.reshape(shape)) for table in tables], floor, shrink)
        entries.append(entry)
    return entries


def _difference(
    found: Sequence[float | None],
    floors: Sequence[tuple[float | None, float | None]],
    shrink: Sequence[float],
) -> dict[str, Any]:
    original, *copies = [None if value is None or math.isnan(value) else value for value in found]
    differences = [None if copy is None or original is None else copy - original for copy in copies]
    noise = [
        factor * abs(one - other)
        for (one, other), factor in zip(floors, shrink, strict=True)
        if one is not None and other is not None
    ]
    return {"original": original} | summarise(differences, noise)


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


def risk_groups(comparison: Comparison, *, fewest: int = 2) -> Grouping | None:
    """Return the risk groups, where row i of a copy is record i and there are at least so many groups."""
    if comparison.groups is None or not comparison.aligned:
        return None
    labels = comparison.groups.astype("category")
    if labels.nunique() < fewest:
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
