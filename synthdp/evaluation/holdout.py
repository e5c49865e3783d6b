"""Parts of a file that hold whole clusters: nobody of a household is on both sides of a split."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.evaluation.comparison import Comparison
from synthdp.microdata import Codes

Booleans = npt.NDArray[np.bool_]


def split(n: int, *, share: float, cluster: Codes | None, rng: np.random.Generator) -> Booleans:
    """Return which of n records are held out.

    Without clusters these are ``round(share · n)`` records drawn at random. With clusters whole clusters are drawn
    until the held-out part comes closest to that number, but never all of them when there are two or more.

    Parameters
    ----------
    n
        How many records there are.
    share
        The share to hold out, between 0 and 1.
    cluster
        The cluster of each record as codes from 0; -1 is a record on its own. None: every record is.
    rng
        Draws the records or clusters.

    Notes
    -----
    Cost O(n log n).

    Examples
    --------
    >>> held = split(6, share=0.5, cluster=np.array([0, 0, 1, 1, 2, 2]), rng=np.random.default_rng(1))
    >>> bool((held[::2] == held[1::2]).all())
    True
    """
    unit, sizes = _units(n, cluster)
    order = rng.permutation(len(sizes))
    total = np.cumsum(sizes[order])
    chosen = int(np.argmin(np.abs(total - share * n))) + 1
    taken = np.zeros(len(sizes), dtype=np.bool_)
    taken[order[: min(chosen, max(1, len(sizes) - 1))]] = True
    return np.asarray(taken[unit], dtype=np.bool_)


def folds(n: int, *, parts: int, cluster: Codes | None, rng: np.random.Generator) -> Codes:
    """Return the fold (0 to parts − 1) of each of n records; a cluster is in one fold.

    Clusters are dealt the largest first, in random order among equals, each to the fold that has fewest records.
    """
    unit, sizes = _units(n, cluster)
    order = rng.permutation(len(sizes))
    dealt = np.empty(len(sizes), dtype=np.int64)
    if (sizes == 1).all():
        dealt[order] = np.arange(len(sizes)) % parts
        return dealt[unit]
    held = np.zeros(parts, dtype=np.int64)
    for one in order[np.argsort(-sizes[order], kind="stable")]:
        smallest = int(held.argmin())
        dealt[one] = smallest
        held[smallest] += sizes[one]
    return dealt[unit]


def clusters(comparison: Comparison) -> Codes | None:
    """Return the cluster of each original record as codes (missing: -1), or None when the data have none."""
    for column in comparison.schema.columns:
        if column.design == "cluster":
            return np.asarray(pd.factorize(comparison.original[column.name])[0], dtype=np.int64)
    return None


def _units(n: int, cluster: Codes | None) -> tuple[Codes, Codes]:
    """Return what is drawn as a whole: the unit of each record, and how many records each unit has."""
    if cluster is None:
        return np.arange(n), np.ones(n, dtype=np.int64)
    alone = cluster < 0
    unit = cluster.copy()
    unit[alone] = cluster.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    _, unit = np.unique(unit, return_inverse=True)
    return unit, np.bincount(unit)
