"""Does each number have the same distribution? Kolmogorov–Smirnov and Wasserstein distances, column by column."""

import math
from typing import Any

import numpy as np

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.spread import Halves, Sizes, summarise
from synthdp.microdata import Floats, numbers


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
    column = comparison.schema[name]
    original = numbers(comparison.original[name], column)
    copies = [numbers(copy[name], column) for copy in comparison.copies]
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
