"""Local suppression: values left out until every record agrees with at least k − 1 others on what is left of its keys.

A value that is left out agrees with any other, as in sdcMicro's ``freqCalc`` and μ-Argus, so that what one record loses
never takes a look-alike from another, and every record can be served by itself: it loses as few values as do, counting
only records that agree with it in full on the rest.

References
----------
Samarati, Sweeney (1998), SRI-CSL-98-04; Templ, Kowarik, Meindl (2015), Journal of Statistical Software 67(4), section
4.2.1, for the convention on missing values.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from synthdp.synthesis.maskings.masking import Masking, written
from synthdp.synthesis.plan import Plan
from synthdp.table.coded import distinct
from synthdp.table.microdata import MISSING, Codes, Microdata

MOST_KEYS = 12
Table = npt.NDArray[np.int64]


class LocalSuppression(Masking):
    """Values of replaced keys left out until at least k records agree with each one on the keys.

    Replaced columns that are no keys stay as they are. Numbers are told apart by their values: coarsen them first
    (``round``, ``topcode`` of the variable), or nearly all are left out. Whole numbers turn into decimals where some
    are left out.

    Parameters
    ----------
    k
        How many records agree at least.
    importance
        Keys whose values are to stay, the most important first; by default those of fewest values.

    Examples
    --------
    >>> LocalSuppression(k=3, importance=("sex",)).k
    3
    """

    method: Literal["local_suppression"] = "local_suppression"
    k: int = Field(default=3, ge=2)
    importance: tuple[str, ...] = ()
    copies: Literal[1] = 1

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        keys = plan.data.schema.keys()
        open_to = [column for column in keys if column in plan.data.schema.replaced()]
        found = super().problems(plan)
        found += [
            f"synthesis.importance: no replaced key named {name!r}; name columns with role: replace and key: true."
            for name in self.importance
            if name not in {column.name for column in open_to}
        ]
        if len(plan.data) < self.k:
            return [*found, f"synthesis.k: {self.k} records are needed to agree, found {len(plan.data)}."]
        if not open_to:
            return [*found, "variables: local_suppression needs a replaced key; set role: replace and key: true."]
        if len(keys) > MOST_KEYS:
            return [
                *found,
                f"variables: local_suppression takes {MOST_KEYS} keys at most, found {len(keys)}; drop some.",
            ]
        kept = sum(1 << j for j, column in enumerate(keys) if column not in open_to)
        few = stranded(coded(plan.data, [key.name for key in keys]), self.k, kept)
        if few:
            found.append(
                f"synthesis.k: {few} records agree with fewer than {self.k} on kept keys, which stay as they are; "
                "replace or "
                "coarsen those."
            )
        return found

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know."""
        return [
            *super().notes(plan),
            f"local_suppression: {self.k} records agree where a value that was left out agrees with any other. "
            "Whoever takes "
            "it for a value of its own counts fewer, and which values were left out tells who is rare.",
        ]

    def masked(self, data: Microdata, *, rng: np.random.Generator) -> dict[str, pd.Series]:
        """Return the replaced columns with values left out. Cost O(2^keys · n log n) at the most."""
        keys = data.schema.keys()
        table = coded(data, [key.name for key in keys])
        left_out = suppressed(table, self.k, self._order(data, table))
        found = {}
        for column in data.schema.replaced():
            found[column.name] = data.frame[column.name]
            if column in keys and (gone := left_out[:, keys.index(column)]).any():
                values = np.where(gone, np.nan, data.values(column.name))
                found[column.name] = written(values, column, data)
        return found

    def _order(self, data: Microdata, table: Table) -> tuple[int, ...]:
        """Return the keys that may be left out, the first to go first."""
        keys, replaced = data.schema.keys(), data.schema.replaced()
        spread = {j: len(np.unique(table[:, j])) for j, key in enumerate(keys) if key in replaced}
        asked = {name: -place for place, name in enumerate(reversed(self.importance))}
        # named columns go last, the most important of all
        return tuple(sorted(spread, key=lambda j: (-asked.get(keys[j].name, 1), -spread[j], j)))


def coded(data: Microdata, names: list[str]) -> Table:
    """Return columns as codes of their values; missing is -1."""
    return np.column_stack([distinct(data.frame[name], missing="none") for name in names])


def suppressed(table: Table, k: int, order: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Return which values are left out.

    Parameters
    ----------
    table
        Codes of the keys, missing -1.
    k
        How many records agree with each one at least, missing values agreeing with all.
    order
        The columns that may be left out, the first to go first.

    Examples
    --------
    >>> table = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]])
    >>> suppressed(table, 2, (1, 0)).astype(int).tolist()
    [[0, 0], [0, 0], [0, 1], [0, 0], [0, 0]]
    """
    there, pattern = table != MISSING, patterns(table)
    gone = np.zeros(table.shape, dtype=np.bool_)
    waiting = np.ones(len(table), dtype=np.bool_)
    counts: dict[int, Codes] = {}
    for drop in _choices(order):
        # who lacks one of these values anyhow was served by a smaller choice
        able = waiting & there[:, list(drop)].all(axis=1)
        for known in np.unique(pattern[able]):
            rest = int(known) & ~sum(1 << j for j in drop)
            if rest not in counts:
                counts[rest] = agreeing(table, rest)
            served = able & (pattern == known) & (counts[rest] >= k)
            gone[np.ix_(served, drop)] = True
            waiting &= ~served
        if not waiting.any():
            break
    return gone


def _choices(order: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for size in range(len(order) + 1):
        yield from combinations(order, size)


def stranded(table: Table, k: int, kept: int) -> int:
    """Return how many records agree with fewer than k on columns that must stay, whatever else is left out."""
    pattern = patterns(table) & kept
    return sum(int((agreeing(table, int(one))[pattern == one] < k).sum()) for one in np.unique(pattern))


def patterns(table: Table) -> Codes:
    """Return which columns each record has, as bits of a number."""
    return np.asarray((table != MISSING) @ (1 << np.arange(table.shape[1])), dtype=np.int64)


def agreeing(table: Table, columns: int) -> Codes:
    """Return with how many records, itself included, each one agrees in full on some columns.

    Parameters
    ----------
    columns
        The columns as bits of a number. Records that lack a value of theirs count for nobody.
    """
    chosen = [j for j in range(table.shape[1]) if columns >> j & 1]
    whole = (table[:, chosen] != MISSING).all(axis=1)
    cell = np.zeros(len(table), dtype=np.int64)
    for j in chosen:
        # packed again after every column, so that codes stay small
        cell = np.unique(cell * (int(table[:, j].max()) + 2) + table[:, j] + 1, return_inverse=True)[1].ravel()
    return np.asarray(np.bincount(cell, weights=whole)[cell], dtype=np.int64)
