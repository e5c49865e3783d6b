"""Rows copied over, and numbers that one person has given out as they stand.

Are there more of them than coincidence explains?

Two questions are asked of a value that one record has. Does its owner's row have it more often than the rows of ten
*stand-ins*, the records with the nearest other values, have it? And does any row have it more often than the ten values
beside it? A mask and a smooth model cannot tell a value from those beside it; a donor is given out as it stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.arrays import Booleans, compiled
from synthdp.budget import go_on
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.finding import NEIGHBOURS, chance_limit
from synthdp.evaluation.leaks.pairing import (
    Beside,
    mark,
    replaced_values,
    side_by_side,
    stand_ins,
    unlike_stand_ins,
)
from synthdp.evaluation.leaks.records import FEW
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column, Schema

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


def within(wanted: Floats, released: Floats) -> Booleans:
    """Return which of some numbers in order are among others in order."""
    found = np.zeros(len(wanted), dtype=np.bool_)
    _within(wanted, released, found)
    return found


@compiled
def _within(wanted: Floats, released: Floats, found: Booleans) -> None:
    """Write what :func:`within` returns."""
    place = 0
    for k in range(len(wanted)):
        while place < len(released) and released[place] < wanted[k]:
            place += 1
        if place == len(released):
            break
        found[k] = released[place] == wanted[k]


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
        go_on()
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
    rows, records = pair.links
    made = np.full(n, -1, dtype=np.int64)
    made[records] = rows
    return made


# a clean release is refused for its verbatim rows by chance once in a hundred times; the scan for leaks, which every
# release passes too, is ten times as patient and would let three planted rows pass where a coincidence is among them
LEVEL = 0.01
# the same for records that are in every copy; a narrow mask brings a record back more often than its stand-ins bring
# it, and the difference grows from copy to copy, so it may be three times as often
LEVEL_IN_ALL, STAND_INS_IN_ALL, LIKELIER_IN_ALL = 0.005, 20, 3.0
# the same for values that one record has, over all columns
LEVEL_VALUES = 0.002


def evaluate_verbatim(comparison: Comparison, *, rng: np.random.Generator) -> dict[str, Any]:
    """Count the records that a row of a copy equals in every column, kept ones too, copy by copy and in all copies.

    Chance is what the records nearest to record i on the replaced columns, its *stand-ins*, give: a mask and a model
    can hardly tell them from i, so their rows have the replaced values of i as often as its own row has. Given the sum
    of both, the own matches are binomial (:func:`~synthdp.evaluation.leaks.finding.chance_limit`).

    Returns
    -------
    dict
        ``rows`` (records that a row equals) and ``chance`` (the largest number that chance explains: at 1% in this
        copy by itself, and at 1% over all copies when they are alike) of the worst copy; ``per_copy``: the rows of
        each; ``in_all``: ``rows`` and ``chance`` of records that are equal in every copy, None for one copy;
        ``values``: for each replaced column with numbers that one record has, how many there are (``unique``), how
        many stand in their owner's row of some copy (``own_row``, of which chance explains ``own_row_chance``) and how
        many stand anywhere (``anywhere``, ``chance``), see :mod:`~synthdp.evaluation.leaks.verbatim`;
        ``excess``: the largest difference of a count and its chance, 0 when there is none.

    Raises
    ------
    InputError
        If no row can be told to be a record's: kept columns tell no records apart and rows are not aligned.

    Notes
    -----
    A record that is alone with its kept values is looked for among rows with these values, wherever they stand; one
    that is not, in its own row where copies are aligned, else among all rows with its kept values.

    What cannot be seen: rows planted in *one* copy where coincidences are common, because few or coarse columns were
    replaced. With λ coincidences expected in a copy, three planted rows were refused in 98% of simulated releases at λ
    = 0.04, 72% at 0.2, 15% at 0.7, and hardly ever above 2. A test that knew λ exactly could refuse four equal rows
    only below λ = 0.82 and five only below 1.28, at 1%: what was planted looks like a coincidence, to an intruder too.
    Rows planted in all of M copies are seen far longer, as a coincidence in all has probability p^M: with M ≥ 3 and
    masks of sd 0.5 or more, three were refused in every simulated release, up to λ = 10; with two copies and a coarse
    column they may pass. Where no column is kept, a row that was copied to another place is not seen, and nothing is
    judged if rows cannot be traced. Where the mask is narrow (sd below 0.3) and columns are coarse, a record's own row
    brings its values back more often than its stand-ins' do, and a release may be refused for that: of 96 draws of 500
    records with two columns of integers and three binary ones under sd 0.5, 3 were. Where the copies can be made again,
    :class:`~synthdp.evaluation.leaks.draws.VerbatimOverDraws` sees more and is wrong less often.

    O(M n log n), and two searches for stand-ins of the records that can match at all.
    """
    if not comparison.copies:
        raise InputError("verbatim: needs at least one copy, found none.")
    pairs = side_by_side(comparison)
    values = replaced_values(comparison.original, comparison.schema, pairs)
    if not values.shape[1] or len(values) < FEW:
        raise InputError(f"verbatim: needs a replaced column and {FEW} records, else equal rows say nothing.")
    asked = np.flatnonzero(np.any([pair.given_out() for pair in pairs], axis=0))
    near = stand_ins(values, rng=rng, rows=asked)
    marks = [mark(pair, asked, near) for pair in pairs]
    rows = [int(one.own.sum()) for one in marks]
    limits = _limits([int(one.others.sum()) for one in marks], near.shape[1], len(values))
    worst = int(np.argmax(np.subtract(rows, limits)))
    lines = _value_lines(comparison, pairs)
    found: dict[str, Any] = {
        "rows": rows[worst],
        "chance": limits[worst],
        "excess": max([0, rows[worst] - limits[worst], *(line["excess"] for line in lines)]),
        "per_copy": rows,
        "in_all": None,
        "values": lines,
    }
    if len(pairs) == 1:
        return found
    everywhere = np.all([one.own for one in marks], axis=0)
    count, limit = int(everywhere.sum()), 0
    if count:
        unlike = unlike_stand_ins(values, rng=rng, rows=asked, most=STAND_INS_IN_ALL)
        others: Booleans = np.all([mark(pair, asked, unlike).others for pair in pairs], axis=0)
        limit = chance_limit(
            int(others.sum()),
            times=unlike.shape[1],
            most=len(values),
            level=LEVEL_IN_ALL,
            likelier=LIKELIER_IN_ALL,
        )
    return found | {"in_all": {"rows": count, "chance": limit}, "excess": max(found["excess"], count - limit)}


def lonely_values(schema: Schema, pairs: Sequence[Beside]) -> list[Lonely]:
    """Return the values that one record has, of each replaced column that all files have."""
    columns = [column for column in schema.replaced() if all(column.name in pair.copy for pair in pairs)]
    return [one for column in columns if (one := lonely(column, pairs[0].original[column.name])) is not None]


def _value_lines(comparison: Comparison, pairs: Sequence[Beside]) -> list[dict[str, Any]]:
    """Return for each replaced column with values that one record has how many of them came back."""
    found = lonely_values(comparison.schema, pairs)
    return [
        value_line(one, count_values(one, pairs, aligned=comparison.aligned), draws=1, level=LEVEL_VALUES / len(found))
        for one in found
    ]


def _limits(hits: Sequence[int], times: int, n: int) -> list[int]:
    """Return how many matches chance explains in each copy: by its own stand-ins, and by those of all copies."""
    m = len(hits)
    # copies of one release are alike, so all of them tell how often chance strikes in one; those of several are not
    pooled = chance_limit(sum(hits), times=times * m, most=n, level=LEVEL / m)
    return [max(pooled, chance_limit(hit, times=times, most=n, level=LEVEL)) for hit in hits]
