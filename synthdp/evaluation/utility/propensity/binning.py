"""Columns as small whole numbers, the same for all files of a comparison: what trees split on."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from synthdp.microdata import MISSING, Codes, Floats

Bins = npt.NDArray[np.uint16]

MOST_BINS = 1000


def binned_columns(columns: Sequence[Sequence[Floats | Codes]], ordered: Sequence[bool]) -> list[Bins]:
    """Return the bins of each file, a row per column.

    With at most 999 distinct values every value has a bin of its own; otherwise bins hold about equally many records.
    Missing is a bin of its own: below all numbers, and one more level. Cost O(n log n) per column, once for all files.

    Parameters
    ----------
    columns
        For each column its values in every file.
    ordered
        Whether a column's bins follow the order of its values.
    """
    files = [np.empty((len(columns), len(values)), dtype=np.uint16) for values in columns[0]]
    for number, (parts, in_order) in enumerate(zip(columns, ordered, strict=True)):
        for file, found in zip(files, _numbers(parts) if in_order else _levels(parts), strict=True):
            file[number] = found
    return files


def widths(bins: Bins) -> Codes:
    """Return how many bins each column has."""
    return np.asarray(bins.max(axis=1, initial=0), dtype=np.int64) + 1


def _numbers(parts: Sequence[Floats | Codes]) -> list[Codes]:
    """Return bins from 1 in the order of the values; 0 is missing."""
    numbers = [np.where(part == MISSING, np.nan, part) if part.dtype.kind == "i" else part for part in parts]
    together = np.sort(np.concatenate([part[~np.isnan(part)] for part in numbers]))
    first = np.append(True, together[1:] != together[:-1])[: len(together)]
    lowest = together[first]
    if len(lowest) >= MOST_BINS:
        # the values at which so many groups of equally many records begin
        lowest = np.unique(together[(len(together) * np.arange(MOST_BINS - 1)) // (MOST_BINS - 1)])
    # NaN sorts after everything
    found = [np.searchsorted(lowest, part, side="right") for part in numbers]
    return [np.where(np.isnan(part), 0, place) for part, place in zip(numbers, found, strict=True)]


def _levels(parts: Sequence[Floats | Codes]) -> list[Codes]:
    """Return bins in the order of the levels; the rarest levels beyond 1,000 share one."""
    places = [part.astype(np.int64) - MISSING for part in parts]
    counts = np.asarray(sum(np.bincount(place, minlength=max(p.max() for p in places) + 1) for place in places))
    rank = np.cumsum(counts > 0) - 1
    if rank[-1] >= MOST_BINS:
        rank[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(len(counts)), MOST_BINS - 1)
    return [rank[place] for place in places]
