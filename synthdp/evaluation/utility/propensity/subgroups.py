"""Whom the copies serve worst: the pMSE of each risk group and of each level of every categorical column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.propensity.nulls import Null
from synthdp.evaluation.utility.propensity.scores import Scores
from synthdp.evaluation.utility.propensity.stacking import Encoded
from synthdp.microdata import Codes

RISK_GROUP = "risk group"
# fewer records than this say little of a subgroup
FEWEST = 20
MOST_LEVELS = 50
MOST_LISTED = 30


@dataclass(frozen=True, repr=False)
class Grouping:
    """To which subgroup each record of each file belongs: ``files`` holds the original's codes, then each copy's."""

    by: str
    labels: tuple[str, ...]
    files: tuple[Codes, ...]


def groupings(comparison: Comparison, original: Encoded, copies: Sequence[Encoded]) -> list[Grouping]:
    """Return the risk groups, where rows can be traced, and the levels of the columns that have at most 50."""
    found = []
    if comparison.groups is not None and comparison.aligned:
        labels = comparison.groups.astype("category")
        codes = labels.cat.codes.to_numpy().astype(np.int64)
        names = tuple(str(name) for name in labels.cat.categories)
        found.append(Grouping(RISK_GROUP, names, (codes,) * (1 + len(copies))))
    for number, column in enumerate(comparison.schema.columns):
        if column.kind.categorical and 1 < len(column.levels) <= MOST_LEVELS:
            files = tuple(np.asarray(file.columns[number], dtype=np.int64) for file in (original, *copies))
            found.append(Grouping(column.name, tuple(str(level) for level in column.levels), files))
    return found


def by_subgroup(
    groupings: Sequence[Grouping], scores: Sequence[Scores], nulls: Sequence[Null | None]
) -> list[dict[str, Any]]:
    """Return the subgroups with at least 20 original records, the worst-served first.

    ``value`` is the mean (p̂ − c)² over the subgroup's records in both files, ``share`` its part of the sum over all
    records, ``ratio`` the value over what a right synthesis gives in this very subgroup (small subgroups vary more
    and have a larger null), each the mean over copies. ``synthetic`` is the mean number of synthetic records.

    Notes
    -----
    Cost O(N) per grouping and copy. A main-effects regression sees a subgroup through its own level only; the tree
    also sees what is wrong inside it.
    """
    squares = [score.squares for score in scores]
    entries: list[dict[str, Any]] = []
    for grouping in groupings:
        parts = [
            _parts(np.concatenate([grouping.files[0], codes]), square, null, len(grouping.labels))
            for codes, square, null in zip(grouping.files[1:], squares, nulls, strict=True)
        ]
        sizes = _counts(grouping.files[0], len(grouping.labels))
        made = np.mean([_counts(codes, len(grouping.labels)) for codes in grouping.files[1:]], axis=0)
        values, shares, ratios = (np.mean([part[i] for part in parts], axis=0) for i in range(3))
        for k, label in enumerate(grouping.labels):
            if sizes[k] >= FEWEST:
                entries.append(
                    {
                        "by": grouping.by,
                        "level": label,
                        "original": int(sizes[k]),
                        "synthetic": float(made[k]),
                        "value": float(values[k]),
                        "share": float(shares[k]),
                        "ratio": float(ratios[k]) if np.isfinite(ratios[k]) else None,
                    }
                )
    entries.sort(key=lambda entry: (entry["ratio"] is None, -(entry["ratio"] or 0.0), -entry["value"]))
    return entries[:MOST_LISTED]


def _counts(codes: Codes, groups: int) -> Codes:
    inside = codes[(codes >= 0) & (codes < groups)]
    return np.asarray(np.bincount(inside, minlength=groups), dtype=np.int64)


def _parts(codes: Codes, squares: Any, null: Null | None, groups: int) -> tuple[Any, Any, Any]:
    inside = (codes >= 0) & (codes < groups)
    sizes = np.maximum(np.bincount(codes[inside], minlength=groups), 1)
    sums = np.bincount(codes[inside], squares[inside], minlength=groups)
    whole = squares.sum()
    ratio = np.full(groups, np.nan)
    if null is not None and null.per_record is not None:
        expected = np.bincount(codes[inside], null.per_record[inside], minlength=groups)
        np.divide(sums, expected, out=ratio, where=expected > 0)
    return sums / sizes, sums / whole if whole > 0 else np.zeros(groups), ratio
