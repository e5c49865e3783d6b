"""Verbatim rows and values over several draws of the copies: what the mechanism gives out, not what chance did once."""

from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from scipy.special import bdtrc

from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.finding import NEIGHBOURS, chance_limit
from synthdp.evaluation.leaks.pairing import Beside, Original, mark, replaced_values, side_by_side, stand_ins
from synthdp.evaluation.leaks.records import FEW
from synthdp.evaluation.leaks.verbatim import (
    LEVEL,
    LIKELIER,
    ValueCounts,
    count_values,
    lonely_values,
    value_line,
)
from synthdp.table.microdata import Codes, Floats

# the level is shared by four tests: rows and values, all together and one by one
TESTS = 4


@dataclass(frozen=True, repr=False)
class Read:
    """One draw beside the original: the copies, whose values came back in any of them, and counts by column."""

    pairs: tuple[Beside, ...]
    asked: Codes
    counts: tuple[ValueCounts, ...]

    def __repr__(self) -> str:
        return f"Read({len(self.pairs)} copies)"


class VerbatimOverDraws:
    """Counts verbatim rows and values draw after draw.

    A mechanism that copies a record copies it in every draw, and a coincidence comes once: after R draws a record that
    is always there has R matches, its ten stand-ins hardly any. Every record is judged by itself (Bonferroni over
    records), and all together.

    Notes
    -----
    In a draw a record counts once, in however many copies it stands, because copies of one draw may share their mask.
    Given the sum of its own matches K and those of its stand-ins G, K is binomial with a share of 2/12 if its own row
    has its values at most twice as often as each stand-in's row has them. That "twice" is for coarse columns, where a
    record comes back to its own row more often than to a neighbour's under any mask.

    Measured with 12 draws of 3 copies: none of 208 clean mechanisms of eight designs refused (integers, one and six
    decimals, heavy ties, 60 to 2,000 records, sd 0.5 and 1); three rows planted in one copy of every draw refused in 30
    of 30 among fine columns and in 60 of 60 among coarse ones, where 6 of 60 single draws were. Rows that change from
    draw to draw are seen among fine columns; among coarse ones they pass for coincidences.

    Memory O(n) and the stand-ins of records that matched; each draw costs O(M n log n).

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> draw = np.random.default_rng(1)
    >>> frame = pd.DataFrame({"z": np.arange(50.0), "x": draw.normal(size=50)})
    >>> data = resolve(frame, {"x": Variable(role="replace")})
    >>> found = VerbatimOverDraws()
    >>> for number in range(12):
    ...     made = data.frame.assign(x=draw.normal(size=50))
    ...     made.loc[7, "x"] = frame.loc[7, "x"]
    ...     found.add(Comparison(data.frame, (made,), data.schema, aligned=True), rng=draw)
    >>> found.section()["records"]
    1
    """

    def __init__(self) -> None:
        self.draws = 0
        self._per_copy: list[list[int]] = []
        self._known: Original | None = None
        self._lock = Lock()

    def __repr__(self) -> str:
        return f"VerbatimOverDraws({self.draws} draws)"

    def add(self, comparison: Comparison, *, rng: np.random.Generator) -> None:
        """Count what one more draw of the copies gives out.

        Raises
        ------
        InputError
            As :func:`~synthdp.evaluation.leaks.verbatim.evaluate_verbatim`, and when the original is another one.
        """
        self.take(self.read(comparison), rng=rng)

    def read(self, comparison: Comparison) -> "Read":
        """Read one draw: everything that does not depend on other draws, so that several can be read at once.

        Raises
        ------
        InputError
            As :meth:`add`.
        """
        with self._lock:
            if self._known is None:
                self._start(comparison)
        if len(comparison.original) != len(self._values):
            raise InputError("verbatim: all draws must be of one original, found another number of records.")
        pairs = side_by_side(comparison, self._known)
        asked = np.flatnonzero(np.any([pair.given_out() for pair in pairs], axis=0))
        counts = tuple(count_values(found, pairs, aligned=comparison.aligned) for found in self._lonely)
        return Read(tuple(pairs), asked, counts)

    def take(self, read: "Read", *, rng: np.random.Generator) -> None:
        """Count what one draw gives out that has been read."""
        asked = read.asked
        fresh = asked[self._near[asked, 0] < 0]
        if len(fresh):
            self._near[fresh] = stand_ins(self._values, rng=rng, rows=fresh)
        marks = [mark(pair, asked, self._near[asked]) for pair in read.pairs]
        if len(asked):
            self._own[asked] += np.any([one.own for one in marks], axis=0)
            self._others[asked] += np.any([one.others for one in marks], axis=0).sum(axis=1)
        self._per_copy.append([int(one.own.sum()) for one in marks])
        for number, counts in enumerate(read.counts):
            self._counts[number] += counts
        self.draws += 1

    def section(self) -> dict[str, Any]:
        """Return the ``verbatim`` section of all draws.

        Returns
        -------
        dict
            ``rows``: matches of records with a row of theirs, over all draws, and ``chance``: how many chance explains.
            ``records``: how many records came back more often than their stand-ins explain, each judged by itself.
            ``values``: the same for values that one record has (``owners``: those given out in their owner's row).
            ``per_copy``: matches in each copy, mean over draws. ``in_all`` is null: draws have taken its place.
            ``excess``: the largest of all, 0 when chance explains everything.
        """
        if not self.draws:
            raise InputError("verbatim: needs at least one draw of the copies, found none.")
        level = LEVEL / TESTS
        rows, n = int(self._own.sum()), len(self._own)
        chance = chance_limit(
            int(self._others.sum()), times=self._times, most=self.draws * n, level=level, likelier=LIKELIER
        )
        records = individually(self._own, self._others, times=self._times, level=level)
        lines = []
        for found, counts in zip(self._lonely, self._counts, strict=True):
            share = level / len(self._lonely)
            line = value_line(found, counts, draws=self.draws, level=share)
            owners = individually(counts.own, counts.others, times=NEIGHBOURS, level=share)
            lines.append(line | {"owners": owners, "excess": max(line["excess"], owners)})
        return {
            "rows": rows,
            "chance": chance,
            "records": records,
            "excess": max([0, rows - chance, records, *(line["excess"] for line in lines)]),
            "per_copy": np.mean(self._per_copy, axis=0).tolist(),
            "in_all": None,
            "values": lines,
            "draws": self.draws,
        }

    def _start(self, comparison: Comparison) -> None:
        known = Original(comparison.original)
        pairs = side_by_side(comparison, known)
        self._values = replaced_values(comparison.original, comparison.schema, pairs)
        n = len(self._values)
        if not self._values.shape[1] or n < FEW:
            raise InputError(f"verbatim: needs a replaced column and {FEW} records, else equal rows say nothing.")
        self._times = min(NEIGHBOURS, n - 1)
        self._near = np.full((n, self._times), -1, dtype=np.int64)
        self._own, self._others = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self._lonely = lonely_values(comparison.schema, pairs)
        self._counts = [ValueCounts(*np.zeros((4, len(one.rows)), dtype=np.int64)) for one in self._lonely]
        self._known = known


def individually(own: Codes, others: Codes, *, times: int, level: float) -> int:
    """Return how many records have more matches of their own than their stand-ins explain, each judged by itself.

    Parameters
    ----------
    own, others
        Matches of each record over all draws, and of its stand-ins together.
    times
        How many stand-ins a record has.
    level
        The probability that any record is counted wrongly, at most (Bonferroni).

    Examples
    --------
    >>> individually(np.array([12, 1, 3]), np.array([0, 0, 20]), times=10, level=0.01)
    1
    """
    if not len(own):
        return 0
    return int(np.sum(tail_of(own, others, times=times) <= level / len(own)))


def tail_of(own: Codes, others: Codes, *, times: int) -> Floats:
    """Return how probable so many matches of a record are, or more, given those of its stand-ins."""
    return np.asarray(bdtrc(own - 1, own + others, LIKELIER / (LIKELIER + times)), dtype=np.float64)
