"""Levels that follow from another column: a chain for their utilities would never end.

Someone under 15 has no marital status, and a house that nobody rents or owns is an institution: then the utility of the
level is all but a function of the other column, and of how strong the relation is the records say only that it is
strong. Looked for before any chain runs, in tables of two columns.
"""

from dataclasses import dataclass

import numpy as np

from synthdp.imputation.copula.coding import Coding, Item
from synthdp.imputation.copula.margins import LevelMargin
from synthdp.table.microdata import Codes, Floats

IMPURE = 0.02  # of the records with the level, or of those without if these are fewer, as many may be otherwise
FEWEST = 10  # records with the level, and without


@dataclass(frozen=True)
class Implied:
    """A column with a level that another column implies."""

    column: str
    by: str


def implied(coding: Coding) -> tuple[Implied, ...]:
    """Return which columns have levels that follow from another column's value, each pair once. O(n p K) in all."""
    return tuple(
        Implied(item.column.name, other.column.name)
        for item in coding.items
        for other in coding.items
        if other is not item and any(_follows(has, _places(other), other.nominal) for has in _indicators(item))
    )


def _places(item: Item) -> Codes:
    return item.codes if item.margin is None else item.margin.rows


def _indicators(item: Item) -> list[Floats]:
    """Return of each record whether it has the level (of ordered ones: at least the level), NaN where missing."""
    if not item.nominal and not isinstance(item.margin, LevelMargin):
        return []
    places = _places(item)
    known = np.where(places < 0, np.nan, 0.0)
    levels = range(int(places.max()) + 1) if item.nominal else range(1, int(places.max()) + 1)
    return [known + (places == level if item.nominal else places >= level) for level in levels]


def _follows(has: Floats, places: Codes, nominal: bool) -> bool:
    """Return whether having the level follows from the other's level, or from being below or above some value."""
    both = np.isfinite(has) & (places >= 0)
    total = np.bincount(places[both])
    ones = np.bincount(places[both], weights=has[both])
    fewer = min(float(ones.sum()), float((total - ones).sum()))
    if fewer < FEWEST:
        return False
    if nominal:
        wrong = float(np.minimum(ones, total - ones).sum())
    else:
        with_it, without = (np.concatenate([[0.0], np.cumsum(part)]) for part in (ones, total - ones))
        wrong = float(min((with_it[-1] - with_it + without).min(), (without[-1] - without + with_it).min()))
    return wrong <= IMPURE * fewer
