"""Values by area: the column by which leaves deal their values, and what share of them each of its levels gets.

Leaves of a tree are large, so that nobody is remembered, and then most of them mix people of many areas. What an area
has of a value is told all the same, by two-way tables of area and value, in which people are many. With p(c | leaf) the
share of class c among a leaf's donors,

    P(c | leaf, area)  ∝  p(c | leaf) · r(area, c)

and r is such that the expected table of the original's records is nearly its own: counts O where the leaves alone
expect E are aimed at as E (O + 10) / (E + 10), so that cells of few people say little. Classes are levels, tenths of a
number, and whether there is a value. With r = 1 everywhere a leaf deals the same in every area.

References
----------
Deming and Stephan (1940), Annals of Mathematical Statistics 11(4), 427-444 (r by proportional fitting).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from synthdp.arrays import compiled
from synthdp.imputation.trees.donors import Leaves
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Kind

# as many people as a cell must outweigh to be believed, and rounds of fitting
FEW, ROUNDS = 10.0, 5
TENTHS = 10
# an area-like column: so many equal levels would be as many as it has, and no larger share of the file than this has a
# level of fewer records
EQUAL_LEVELS, COMMON, MOST_RARE = 6.0, 50, 0.05


def area_of(data: Microdata, kept: Sequence[str], visits: Sequence[str]) -> str | None:
    """Return the column that values are dealt by, where none is named: the one most like an area; None without any.

    Its levels have no order, hardly anybody has a rare one, and they divide the file evenly: tables by such a column
    are what is asked of it, and its levels have people enough to make them. It is kept, or among the first half of the
    columns that are drawn, so that most columns can be dealt by it.
    """
    early = visits[: len(visits) // 2]
    best, most = None, EQUAL_LEVELS
    for name in (*kept, *early):
        if data.schema[name].kind is not Kind.NOMINAL or data.frame[name].isna().any():
            continue
        share = np.bincount(data.codes(name)) / max(len(data), 1)
        rare = share[share * len(data) < COMMON].sum()
        equal = 1 / max(float((share**2).sum()), 1e-300)
        if rare <= MOST_RARE and equal > most:
            best, most = name, equal
    return best


@dataclass(frozen=True, repr=False)
class Areas:
    """How a tree's leaves deal in every area.

    Parameters
    ----------
    offsets, classes, mass
        The classes of leaf k's donors and their shares: ``classes[offsets[k] : offsets[k + 1]]``, in the donors' order.
    ratio
        By area and class: r.
    """

    offsets: Codes
    classes: Codes
    mass: Floats
    ratio: Floats

    def __repr__(self) -> str:
        return f"Areas({self.ratio.shape[0]} areas, {self.ratio.shape[1]} classes)"

    @classmethod
    def of(cls, leaves: Leaves, at: Codes, rows: Codes, classes: Codes, areas: Codes, weights: Floats | None) -> Self:
        """Learn the shares. Cost O(n) times the classes of a leaf.

        Parameters
        ----------
        leaves
            The tree, its donors sorted by class.
        at, rows
            The records it was grown on, and the leaf of each.
        classes, areas, weights
            Of every record of the file.
        """
        weight = np.ones(len(classes)) if weights is None else weights
        many, kinds = int(areas.max(initial=0)) + 1, int(classes.max(initial=0)) + 1
        count = len(leaves.offsets) - 1
        leaf = np.repeat(np.arange(count), np.diff(leaves.offsets))
        runs, place = np.unique(leaf * kinds + classes[leaves.rows], return_inverse=True)
        mass: Floats = np.bincount(place, weights=weight[leaves.rows]).astype(np.float64)
        mass /= np.bincount(runs // kinds, weights=mass, minlength=count)[runs // kinds]
        offsets = np.searchsorted(runs // kinds, np.arange(count + 1)).astype(np.int64)
        pairs, place = np.unique(at * many + areas[rows], return_inverse=True)
        size: Floats = np.bincount(place, weights=weight[rows]).astype(np.float64)
        found = np.bincount(areas[rows] * kinds + classes[rows], weights=weight[rows], minlength=many * kinds)
        observed: Floats = found.astype(np.float64).reshape(many, kinds)
        ratio, aim = np.ones((many, kinds)), observed
        for step in range(ROUNDS + 1):
            expected = np.zeros((many, kinds))
            _expect(offsets, runs % kinds, mass, ratio, pairs // many, pairs % many, size, expected)
            if step == 0:
                aim = expected * (observed + FEW) / (expected + FEW)
                total = observed.sum(axis=1, keepdims=True)
                aim *= total / np.where(total > 0, aim.sum(axis=1, keepdims=True), 1.0)
            if step < ROUNDS:
                ratio *= np.where(expected > 0, aim / np.where(expected > 0, expected, 1.0), 1.0)
        return cls(offsets, runs % kinds, mass, ratio)

    def moved(self, chance: Floats, leaves: Codes, areas: Codes) -> Floats:
        """Return at which share of its leaf's donors each record finds the share ``chance`` of its area's.

        Cost O(n) times the classes of a leaf.
        """
        found = np.empty(len(chance))
        _move(self.offsets, self.classes, self.mass, self.ratio, chance, leaves, areas, found)
        return np.minimum(found, 1.0 - 1e-12)


def classes_of(values: Floats, rows: Codes, *, levels: int) -> Codes:
    """Return the class of every record: its level, or its tenth of the numbers of some records; 0 of a missing one.

    A number on which a tenth ends, which may be a heap, is a class of its own.
    """
    if levels:
        return np.where(np.isnan(values), 0, values).astype(np.int64)
    edges = np.unique(np.quantile(values[rows], np.arange(1, TENTHS) / TENTHS))
    places = np.searchsorted(edges, values) + np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), 0, places).astype(np.int64)


@compiled
def _expect(
    offsets: Codes,
    classes: Codes,
    mass: Floats,
    ratio: Floats,
    leaf: Codes,
    area: Codes,
    size: Floats,
    expected: Floats,
) -> None:
    """Add to ``expected`` the table of area and class, given how many records of each area are in each leaf."""
    for i in range(len(leaf)):
        total = 0.0
        for k in range(offsets[leaf[i]], offsets[leaf[i] + 1]):
            total += mass[k] * ratio[area[i], classes[k]]
        for k in range(offsets[leaf[i]], offsets[leaf[i] + 1]):
            expected[area[i], classes[k]] += size[i] * mass[k] * ratio[area[i], classes[k]] / total


@compiled
def _move(
    offsets: Codes,
    classes: Codes,
    mass: Floats,
    ratio: Floats,
    chance: Floats,
    leaves: Codes,
    areas: Codes,
    found: Floats,
) -> None:
    """Write to ``found`` where in its leaf each record's chance falls."""
    for i in range(len(leaves)):
        begin, end, area = offsets[leaves[i]], offsets[leaves[i] + 1], areas[i]
        total = 0.0
        for k in range(begin, end):
            total += mass[k] * ratio[area, classes[k]]
        left, before = chance[i] * total, 0.0
        for k in range(begin, end):
            own = mass[k] * ratio[area, classes[k]]
            if left < own or k == end - 1:
                before += mass[k] * min(left / own, 1.0) if own > 0 else 0.0
                break
            left -= own
            before += mass[k]
        found[i] = before
