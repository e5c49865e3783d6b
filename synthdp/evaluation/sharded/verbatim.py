"""Rows and values copied over, draw after draw, over shards: the measure in memory, block of records by block.

Every record's own row is looked at. Who stands in for a record, and where else a value that one record has may have
gone, is looked for within the record's block: stand-ins are a little farther off than in the whole file, so that chance
explains a little less, and a value handed on to another block is not seen.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from synthdp.arrays import Codes
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.draws import TESTS, VerbatimOverDraws, tail_of
from synthdp.evaluation.leaks.finding import NEIGHBOURS, chance_limit
from synthdp.evaluation.leaks.pairing import mark, replaced_values, side_by_side, stand_ins
from synthdp.evaluation.leaks.records import FEW
from synthdp.evaluation.leaks.verbatim import LEVEL, LIKELIER, count_values, lonely_values

# records of which matches are kept one by one
MOST_KEPT = 10**6


@dataclass(frozen=True, repr=False)
class Copied:
    """What one draw gives out, of one block or of several.

    Parameters
    ----------
    rows, own, others
        Records that a row of theirs equals, or a row of their stand-ins: the record, whether its own does, how many of
        the others do.
    per_copy
        How many records equal their own row, copy by copy.
    values
        By column, with values that one record of the block has: how many there are, how many stand in the owner's row,
        in rows of stand-ins, anywhere, and how many values beside them do.
    owners
        By column: the records whose own value stands in their row, and how many stand-ins' rows have it.
    """

    rows: Codes
    own: Codes
    others: Codes
    per_copy: tuple[int, ...]
    values: dict[str, tuple[int, int, int, int, int]]
    owners: dict[str, tuple[Codes, Codes]]

    def __repr__(self) -> str:
        return f"Copied({len(self.rows)} records)"


def copied(comparison: Comparison, first: int, *, rng: np.random.Generator) -> Copied:
    """Read one block of one draw; ``first`` is the number of the block's first record.

    Raises
    ------
    InputError
        Where no column is replaced, or a block is too small to tell.
    """
    pairs = side_by_side(comparison)
    values = replaced_values(comparison.original, comparison.schema, pairs)
    if not values.shape[1] or len(values) < FEW:
        raise InputError(f"verbatim: needs a replaced column and {FEW} records, else equal rows say nothing.")
    asked = np.flatnonzero(np.any([pair.given_out() for pair in pairs], axis=0))
    near = stand_ins(values, rng=rng, rows=asked)
    marks = [mark(pair, asked, near) for pair in pairs]
    own = np.any([one.own for one in marks], axis=0).astype(np.int64)
    others = np.any([one.others for one in marks], axis=0).sum(axis=1).astype(np.int64)
    seen = (own > 0) | (others > 0)
    counts, owners = {}, {}
    for lonely in lonely_values(comparison.schema, pairs):
        found = count_values(lonely, pairs, aligned=True)
        own_row, near_by, there, beside = (
            int(part.sum()) for part in (found.own, found.others, found.there, found.beside)
        )
        counts[lonely.column] = (len(lonely.rows), own_row, near_by, there, beside)
        mine = found.own > 0
        owners[lonely.column] = (lonely.rows[mine] + first, found.others[mine].astype(np.int64))
    return Copied(
        asked[seen] + first, own[seen], others[seen], tuple(int(one.own.sum()) for one in marks), counts, owners
    )


@dataclass(repr=False)
class _Tallied:
    """Matches of records over draws, those of their stand-ins beside them."""

    own: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    others: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, rows: Codes, own: Codes, others: Codes) -> None:
        for row, mine, theirs in zip(rows.tolist(), own.tolist(), others.tolist(), strict=True):
            if row in self.own or len(self.own) < MOST_KEPT:
                self.own[row] += mine
                self.others[row] += theirs

    def surprising(self, times: int, level: float, among: int) -> int:
        """Return how many records came back more often than their stand-ins explain, each judged by itself."""
        own = np.fromiter(self.own.values(), dtype=np.int64, count=len(self.own))
        others = np.fromiter((self.others[row] for row in self.own), dtype=np.int64, count=len(self.own))
        return int(np.sum(tail_of(own, others, times=times) <= level / max(among, 1))) if len(own) else 0


class VerbatimOverShards(VerbatimOverDraws):
    """Counts verbatim rows and values draw after draw, from what blocks of records came to."""

    def __init__(self, records: int) -> None:
        super().__init__()
        self._records = records
        self._rows = _Tallied()
        self._hits = np.zeros(2, dtype=np.int64)
        self._sums: dict[str, Codes] = {}
        self._unique: dict[str, int] = {}
        self._owners: dict[str, _Tallied] = defaultdict(_Tallied)

    def draw(self, blocks: Sequence[Copied]) -> None:
        """Take one draw: all of its blocks."""
        self.draws += 1
        self._per_copy.append(np.sum([one.per_copy for one in blocks], axis=0).tolist())
        self._unique = {}
        for one in blocks:
            self._hits += (int(one.own.sum()), int(one.others.sum()))
            self._rows.add(one.rows, one.own, one.others)
            for name, (unique, *sums) in one.values.items():
                self._unique[name] = self._unique.get(name, 0) + unique
                self._sums[name] = self._sums.get(name, np.zeros(4, dtype=np.int64)) + np.asarray(sums)
            for name, (rows, others) in one.owners.items():
                self._owners[name].add(rows, np.ones(len(rows), dtype=np.int64), others)

    def section(self) -> dict[str, Any]:
        """Return the ``verbatim`` section of all draws, as in memory."""
        if not self.draws:
            raise InputError("verbatim: needs at least one draw of the copies, found none.")
        level = LEVEL / TESTS
        rows, hits = (int(one) for one in self._hits)
        most = self.draws * self._records
        chance = chance_limit(hits, times=NEIGHBOURS, most=most, level=level, likelier=LIKELIER)
        records = self._rows.surprising(NEIGHBOURS, level, self._records)
        lines: list[dict[str, Any]] = []
        for name, unique in self._unique.items():
            share = level / len(self._unique)
            own, others, there, beside = (int(one) for one in self._sums[name])
            limits = [
                chance_limit(count, times=NEIGHBOURS, most=self.draws * unique, level=share / 2, likelier=LIKELIER)
                for count in (others, beside)
            ]
            owners = self._owners[name].surprising(NEIGHBOURS, share, unique)
            excess = max(0, own - limits[0], there - limits[1], owners)
            lines.append(
                {
                    "column": name,
                    "unique": unique,
                    "own_row": own,
                    "own_row_chance": limits[0],
                    "anywhere": there,
                    "chance": limits[1],
                    "excess": excess,
                    "owners": owners,
                }
            )
        return {
            "rows": rows,
            "chance": chance,
            "records": records,
            "excess": max([0, rows - chance, records, *(line["excess"] for line in lines)]),
            "per_copy": np.mean(self._per_copy, axis=0).tolist(),
            "in_all": None,
            "values": lines,
            "draws": self.draws,
            "sampled": "stand-ins, and values handed on, are looked for among the records of one block",
        }
