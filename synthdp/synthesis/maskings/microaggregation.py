"""Microaggregation: numbers become the means of groups of k records that lie close together.

References
----------
Domingo-Ferrer, Mateo-Sanz (2002), IEEE TKDE 14(1), 189–201 (MDAV, fixed group size); Defays, Nanopoulos (1993),
individual ranking. Checked against sdcMicro 5.8.0 in tests/golden/test_sdcmicro.py.
"""

from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from synthdp.synthesis.maskings.classes import classes, mean_of
from synthdp.synthesis.maskings.exchange import exchanged, uniform_matrix
from synthdp.synthesis.maskings.masking import Masking, as_levels, written
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Codes, Floats, Microdata


class Microaggregation(Masking):
    """Groups of k records (the last ones up to 2k − 1), each of which shows its means; levels as in ``pram``.

    Missing values count as lying below all others when groups are made, and stay missing. A group in which only one
    record has a value of some column shows that value.

    Parameters
    ----------
    k
        How many records a group holds.
    together
        Whether groups are made of all replaced numbers together (MDAV). Otherwise each column has groups of its own,
        neighbours in rank: much closer to the original, and the columns together are not k-anonymous.
    part
        Files of more records than this are first cut at medians into parts, and each is grouped by itself: within a
        part the cost is quadratic.
    keep
        Probability that a level stays.

    Examples
    --------
    >>> Microaggregation(k=3).together
    True
    """

    method: Literal["microaggregation"] = "microaggregation"
    k: int = Field(default=3, ge=2)
    together: bool = True
    part: int = Field(default=5000, ge=100)
    keep: float = Field(default=0.8, ge=0, le=1)
    copies: Literal[1] = 1

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        columns = plan.data.schema.replaced()
        if columns and all(column.kind.categorical for column in columns):
            found.append("variables: microaggregation averages numbers, and no replaced column has any; use pram.")
        if len(plan.data) < self.k:
            found.append(f"synthesis.k: {self.k} records are needed for one group, found {len(plan.data)}.")
        if self.part < 2 * self.k:
            found.append(f"synthesis.part: must hold two groups of k = {self.k} records; use {2 * self.k} or more.")
        return found

    def masked(self, data: Microdata, *, rng: np.random.Generator) -> dict[str, pd.Series]:
        """Return the means of groups. Cost O(n · part/k · columns), O(n log n) where columns are not taken together."""
        columns, found = data.schema.replaced(), {}
        for column in columns:
            if column.kind.categorical:
                matrix = uniform_matrix(self.keep, len(column.levels))
                found[column.name] = as_levels(exchanged(data.codes(column.name), matrix, rng), column, data)
        numeric = [column for column in columns if not column.kind.categorical]
        values = np.column_stack([data.numbers(column.name) for column in numeric])
        for part in [slice(None)] if self.together else [slice(j, j + 1) for j in range(len(numeric))]:
            values[:, part] = averaged(values[:, part], self.k, part=self.part)
        found |= {column.name: written(values[:, j], column, data) for j, column in enumerate(numeric)}
        return {column.name: found[column.name] for column in columns}


def averaged(values: Floats, k: int, *, part: int = 5000) -> Floats:
    """Return each row as the mean of its group; missing values stay missing.

    Examples
    --------
    >>> averaged(np.array([[1.0], [9.0], [2.0], [10.0]]), 2).ravel().tolist()
    [1.5, 9.5, 1.5, 9.5]
    """
    shown = values.copy()
    groups = _ranked(values[:, 0], k) if values.shape[1] == 1 else _parted(values, k, part)
    for members in groups:
        for j in range(values.shape[1]):
            shown[members, j] = np.where(np.isnan(values[members, j]), np.nan, mean_of(values[members, j]))
    return shown


def _ranked(values: Floats, k: int) -> list[Codes]:
    """Return groups of k neighbours in rank among those that are not missing; the last one holds the rest."""
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    starts = np.arange(0, max(len(order) - k + 1, 1), k)
    return [part for part in np.split(order, starts[1:]) if len(part)]


def _parted(values: Floats, k: int, part: int) -> list[Codes]:
    found = []
    spread = np.nanstd(np.where(np.isnan(values).all(axis=0), 0.0, values), axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    low = np.nanmin(np.where(np.isnan(values).all(axis=0), 0.0, values), axis=0)
    filled = np.where(np.isnan(values), low - scale, values) / scale
    for members in classes(filled, max(k, part // 4), largest=part) if len(values) > part else [np.arange(len(values))]:
        found += [members[inside] for inside in mdav(filled[members], k)]
    return found


def mdav(values: Floats, k: int) -> list[Codes]:
    """Return groups of k by maximum distance to the average vector; the last one holds k to 2k − 1.

    The record r farthest from the mean of those that are left takes its k − 1 nearest, then the record farthest from r
    takes its own; with 2k to 3k − 1 left only the first of the two. Distances are Euclidean in the units given.

    Notes
    -----
    Cost O(n²/k · columns) in time and O(n · columns) in memory. Among equal distances the first record is taken.

    Examples
    --------
    >>> [sorted(group.tolist()) for group in mdav(np.array([[0.0], [0.1], [5.0], [5.1]]), 2)]
    [[0, 1], [2, 3]]
    """
    left, found = np.arange(len(values)), []
    while len(left) >= 2 * k:
        both = len(left) >= 3 * k
        farthest = int(np.argmax(_squares(values[left], values[left].mean(axis=0))))
        for _ in range(2 if both else 1):
            apart = _squares(values[left], values[left[farthest]])
            across = left[int(np.argmax(apart))]
            nearest = np.zeros(len(left), dtype=np.bool_)
            nearest[_smallest(apart, k)] = True
            found.append(left[nearest])
            left = left[~nearest]
            # records that all lie in one place: the farthest one may have gone already
            farthest = min(int(np.searchsorted(left, across)), len(left) - 1)
    return [*found, left] if len(left) else found


def _squares(values: Floats, point: Floats) -> Floats:
    difference = values - point
    return np.asarray(np.einsum("ij,ij->i", difference, difference), dtype=np.float64)


def _smallest(apart: Floats, k: int) -> Codes:
    """Return the places of the k smallest, the first of equal ones."""
    edge = np.partition(apart, k - 1)[k - 1]
    under = np.flatnonzero(apart < edge)
    return np.concatenate([under, np.flatnonzero(apart == edge)[: k - len(under)]])
