"""Are associations preserved? Differences of correlations, Cramér's V and mutual information."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.classes import Classes
from synthdp.evaluation.utility.spread import Halves, Sizes, sizes_of, summarise
from synthdp.evaluation.utility.tables import count, count_halves
from synthdp.microdata import Codes, Floats, numbers


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
        np.column_stack([numbers(frame[name], comparison.schema[name]) for name in names] or [np.empty(len(frame))])
        for frame in (comparison.original, *comparison.copies)
    ]
    linear = [pearson(values) for values in columns]
    split = [(pearson(columns[0][mask]), pearson(columns[0][~mask])) for mask in halves.masks]
    files = sizes_of(comparison)
    shrink = [math.sqrt(files.variance / Sizes(mask.sum(), (~mask).sum()).variance) for mask in halves.masks]
    entries = []
    for a, b in itertools.combinations(range(len(classes.names)), 2):
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
