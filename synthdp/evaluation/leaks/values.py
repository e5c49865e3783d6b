"""Numbers that one person has, given out as they stand: in that person's own row, or anywhere in a copy.

Two questions are asked of a value that one record has. Does its owner's row have it more often than the rows of ten
*stand-ins*, the records with the nearest other values, have it? And does any row have it more often than the ten values
beside it? A mask and a smooth model cannot tell a value from those beside it; a donor is given out as it stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.evaluation.combinations import Booleans
from synthdp.evaluation.leaks.finding import NEIGHBOURS, chance_limit
from synthdp.evaluation.leaks.pairing import Beside
from synthdp.microdata import Codes, Floats
from synthdp.neighbours.loops import _compiled
from synthdp.schema import Column

# how much likelier than at a stand-in a match may be: what is coarse, or far from its neighbours, comes back to its own
# row a little more often under any mask
LIKELIER = 2.0
STEPS = tuple(step for step in range(-NEIGHBOURS // 2, NEIGHBOURS // 2 + 1) if step)
ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Lonely:
    """The values of one column that exactly one record has, and what stands in for each.

    Parameters
    ----------
    column
        Its name.
    rows, values
        The records and their values, smallest first.
    near
        Of each, up to ten records with the nearest other values: shape (u, stand-ins), -1 where there are fewer.
    gap
        The smallest difference of two values of the column: the step to the values beside one.
    decimals
        To how many decimals values are equal.
    """

    column: str
    rows: Codes
    values: Floats
    near: Codes
    gap: float
    decimals: int | None

    def __repr__(self) -> str:
        return f"Lonely({len(self.rows)} values of {self.column})"

    def same(self, a: Floats, b: Floats) -> Booleans:
        """Return where values are equal, up to the rounding of their last decimal."""
        if self.decimals is None:
            return np.asarray(a == b)
        return np.asarray(np.abs(a - b) < 0.5 * 10.0**-self.decimals - ROUNDING)

    def among(self, released: Floats) -> Booleans:
        """Return which values and which values beside them are released, shape (u, 1 + steps). O(u + n log n)."""
        scale = 1.0 if self.decimals is None else 10.0**self.decimals
        shown = np.sort(released if self.decimals is None else np.round(released * scale))
        found = np.empty((len(self.values), 1 + len(STEPS)), dtype=np.bool_)
        for place, step in enumerate((0, *STEPS)):
            # in order, as the values are: whatever is the same for all of them leaves it so
            wanted = self.values + step * self.gap
            found[:, place] = within(wanted if self.decimals is None else np.round(wanted * scale), shown)
        return found


@_compiled
def within(wanted: Floats, released: Floats) -> Booleans:
    """Return which of some numbers in order are among others in order."""
    found = np.zeros(len(wanted), dtype=np.bool_)
    place = 0
    for k in range(len(wanted)):
        while place < len(released) and released[place] < wanted[k]:
            place += 1
        if place == len(released):
            break
        found[k] = released[place] == wanted[k]
    return found


def lonely(column: Column, x: Floats) -> Lonely | None:
    """Return the values that one record has; None for levels, and where no value is alone.

    The bounds of a column are left out: whatever is drawn beyond them is given out as they are. O(n log n).
    """
    if column.kind.categorical:
        return None
    order = np.argsort(x, kind="stable")
    order = order[np.isfinite(x[order])]
    distinct, first, counts = np.unique(x[order], return_index=True, return_counts=True)
    alone = (counts == 1) & ~np.isin(distinct, column.bounds or ())
    if len(distinct) < 2 or not alone.any() or len(order) <= NEIGHBOURS:
        return None
    place = first[alone]
    # five below and five above, or the ten nearest the end
    start = np.clip(place - NEIGHBOURS // 2, 0, len(order) - NEIGHBOURS - 1)
    around = start[:, None] + np.arange(NEIGHBOURS + 1)
    others = around[around != place[:, None]].reshape(len(place), NEIGHBOURS)
    return Lonely(
        column.name, order[place], distinct[alone], order[others], float(np.diff(distinct).min()), column.decimals
    )


@dataclass(frozen=True)
class ValueCounts:
    """How many values of one column came back in one draw of the copies, and how many stand-ins for them.

    Parameters
    ----------
    own
        By value: whether the row of its owner has it, in any copy.
    others
        By value: how many of the ten stand-ins' rows have it.
    there
        By value: whether any row has it.
    beside
        By value: how many of the ten values beside it any row has.
    """

    own: Codes
    others: Codes
    there: Codes
    beside: Codes

    def __add__(self, other: "ValueCounts") -> "ValueCounts":
        return ValueCounts(
            self.own + other.own, self.others + other.others, self.there + other.there, self.beside + other.beside
        )


def count_values(found: Lonely, pairs: Sequence[Beside], *, aligned: bool) -> ValueCounts:
    """Look for the values of a column in the copies of one draw. O(M n) and a sort of the column."""
    size = len(found.rows)
    own = np.zeros(size, dtype=np.bool_)
    others = np.zeros(found.near.shape, dtype=np.bool_)
    for pair in pairs:
        released = pair.copy[found.column]
        made = _rows_of(pair, len(pair.kept)) if not aligned else np.arange(len(pair.kept))
        known = made >= 0
        row = np.where(known, released[made], np.nan)
        own |= found.same(found.values, row[found.rows])
        others |= found.same(found.values[:, None], row[found.near])
    everywhere = np.concatenate([pair.copy[found.column] for pair in pairs])
    there = found.among(everywhere[np.isfinite(everywhere)])
    return ValueCounts(own.astype(np.int64), others.sum(axis=1), there[:, 0].astype(np.int64), there[:, 1:].sum(axis=1))


def value_line(found: Lonely, counts: ValueCounts, *, draws: int, level: float) -> dict[str, Any]:
    """Return the line of one column: what came back, what chance explains, and how much is beyond it.

    Given the sum of its own matches and those of its stand-ins, the former are binomial (see
    :func:`~synthdp.evaluation.leaks.finding.chance_limit`); two tests, each at half of the level.
    """
    most = draws * len(found.rows)
    limits = [
        chance_limit(int(hits.sum()), times=NEIGHBOURS, most=most, level=level / 2, likelier=LIKELIER)
        for hits in (counts.others, counts.beside)
    ]
    own, there = int(counts.own.sum()), int(counts.there.sum())
    return {
        "column": found.column,
        "unique": len(found.rows),
        "own_row": own,
        "own_row_chance": limits[0],
        "anywhere": there,
        "chance": limits[1],
        "excess": max(0, own - limits[0], there - limits[1]),
    }


def _rows_of(pair: Beside, n: int) -> Codes:
    """Return the row of each record that kept columns tell apart, -1 for the others."""
    rows, records = pair.links()
    made = np.full(n, -1, dtype=np.int64)
    made[records] = rows
    return made
