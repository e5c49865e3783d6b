"""Levels that follow from another column: a chain for their utilities would never end.

Someone under 15 has no marital status, and a house that nobody rents or owns is an institution: then the utility of the
level is all but a function of the other column, and of how strong the relation is the records say only that it is
strong. Looked for before any chain runs, in tables of two columns.
"""

from dataclasses import dataclass

import numpy as np

from synthdp.imputation.copula.coding import Coding, Item
from synthdp.imputation.copula.margins import LevelMargin
from synthdp.table.microdata import Codes

IMPURE = 0.02  # of the records with the level, or of those without if these are fewer, as many may be otherwise
FEWEST = 10  # records with the level, and without


@dataclass(frozen=True)
class Implied:
    """A column with a level that another column implies."""

    column: str
    by: str


def implied(coding: Coding) -> tuple[Implied, ...]:
    """Return which columns have levels that follow from another column's value, each pair once. O(n p²) in all."""
    return tuple(
        Implied(item.column.name, other.column.name)
        for item in coding.items
        if item.nominal or isinstance(item.margin, LevelMargin)
        for other in coding.items
        if other is not item and _follows(item, other)
    )


def _places(item: Item) -> Codes:
    return item.codes if item.margin is None else item.margin.rows


def _follows(item: Item, other: Item) -> bool:
    """Return whether a level (of ordered ones: at least the level) follows from the other's, or from a side of it."""
    mine, places = _places(item), _places(other)
    both = np.flatnonzero((mine >= 0) & (places >= 0))
    if not len(both):
        return False
    levels, values = int(mine.max()) + 1, int(places.max()) + 1
    table = np.bincount(mine[both] * values + places[both], minlength=levels * values).reshape(levels, values)
    total = table.sum(axis=0)
    ones = table if item.nominal else np.cumsum(table[::-1], axis=0)[::-1][1:]
    having = ones.sum(axis=1)
    fewer = np.minimum(having, len(both) - having)
    return any(
        _wrong(has, total, other.nominal) <= IMPURE * few for has, few in zip(ones, fewer, strict=True) if few >= FEWEST
    )


def _wrong(has: Codes, total: Codes, nominal: bool) -> int:
    """Return how many records are not as the other column's value says, by the best rule there is."""
    if nominal:
        return int(np.minimum(has, total - has).sum())
    with_it, without = np.cumsum(has), np.cumsum(total - has)
    # nobody up to some value and everybody above, or the other way round
    return int(min((with_it[-1] - with_it + without).min(), (without[-1] - without + with_it).min()))
