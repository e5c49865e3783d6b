"""Exposure of the kept columns.

Who can be told from everybody else by values that are released as they are, and by which.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.evaluation.combinations import alone, classes
from synthdp.evaluation.comparison import Comparison
from synthdp.table.coded import merge
from synthdp.table.microdata import Codes, Floats
from synthdp.table.schema import Column, Schema

SHARE = 0.05
LARGEST_SET = 3
MOST_SETS = 4000  # of one size
MOST_COLUMNS = 60  # in sets of three
EXACT_RECORDS = 50_000
MOST_PARTS = 256  # what one byte of a hash can choose between

Hashes = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class KeptSet:
    """Kept columns that together make many records unique, while no fewer of them do.

    Parameters
    ----------
    columns
        Their names, in file order.
    unique, share
        How many records are unique on them, and which share of all records that is.
    exact
        Whether every record was counted; otherwise ``unique`` is an estimate with a standard error of about 3%.
    """

    columns: tuple[str, ...]
    unique: int
    share: float
    exact: bool = True


def knowable(schema: Schema) -> tuple[Column, ...]:
    """Return the kept columns that an intruder may know, as far as anybody has said.

    Left out are those declared ``key: false``, as who cannot know one column of a set cannot use the set; and the label
    of a survey's clusters, an arbitrary code that tells nothing unless somebody says that it is known (``key: true``).
    Weights and strata count: they are released as they are, and often follow from a person's region, sex and age.
    """
    return tuple(
        column for column in schema.kept() if column.key or not (column.key_decided or column.design == "cluster")
    )


def smallest_sets(
    frame: pd.DataFrame, schema: Schema, *, share: float = SHARE, size: int = LARGEST_SET
) -> tuple[KeptSet, ...]:
    """Return the minimal sets of up to ``size`` kept columns that make more than ``share`` of the records unique.

    A set is minimal when no part of it does so already. Columns are those of :func:`knowable`, compared to the digit:
    that is how they are released. Missing is a value. Smaller sets come first, then those that make more unique.

    Notes
    -----
    O(n) a set. Every cell of a table gets a 64-bit hash, the exclusive or of one hash per column, so that records are
    alike when their hashes are (two cells share one with probability 2⁻⁶⁴), and cells are counted by sorting. All of up
    to 50,000 records are counted. Beyond that only cells whose hash falls into one of K parts are, with K the power of
    two that leaves 25,000 to 50,000 records: whole cells are taken, so who is unique among them is unique in the file,
    and K times their number is unbiased, with a standard error of √(K·U) for U unique records.

    Not looked at are sets that hold a set already found; sets with too few cells, as no more records than cells can be
    unique; and, beyond 4,000 sets of one size, those with the fewest cells (for sets of three, also all but the
    60 columns with most values): 1,330 sets of 20 columns take 2 s of one core at n = 1,000,000.

    Examples
    --------
    >>> from synthdp.table.microdata import resolve
    >>> table = pd.DataFrame({"sex": list("FM") * 10, "age": [*range(10)] * 2, "site": [1] * 10 + [2] * 10})
    >>> data = resolve(table, {})
    >>> smallest_sets(data.frame, data.schema)
    (KeptSet(columns=('age', 'site'), unique=20, share=1.0, exact=True),)
    """
    n = len(frame)
    names: list[str] = []
    cells: list[int] = []
    found: list[KeptSet] = []
    counter = _Counter(n)
    for column in knowable(schema):
        codes = classes([frame], column, exact=True)[0]
        counts = np.bincount(codes)
        alone = int(np.sum(counts == 1))
        if alone > share * n:
            found.append(KeptSet((column.name,), alone, alone / n))
        elif len(counts) > 1:
            names.append(column.name)
            cells.append(len(counts))
            counter.add(codes)
    known: list[frozenset[int]] = []
    for number in range(2, min(size, len(names)) + 1):
        for chosen in candidates(cells, number, fewest=share * n):
            if any(part <= set(chosen) for part in known):
                continue
            alone = counter.unique(chosen)
            if alone > share * n:
                known.append(frozenset(chosen))
                columns = tuple(names[position] for position in chosen)
                found.append(KeptSet(columns, alone, alone / n, exact=counter.parts == 1))
    return tuple(sorted(found, key=lambda one: (len(one.columns), -one.unique)))


def unique_records(codes: Sequence[Codes]) -> tuple[int, bool]:
    """Return how many records no other equals on several coded columns, and whether all were counted (or a part)."""
    counter = _Counter(len(codes[0]))
    for one in codes:
        counter.add(one)
    return counter.unique(range(len(codes))), counter.parts == 1


def candidates(cells: Sequence[int], number: int, *, fewest: float) -> Iterator[tuple[int, ...]]:
    """Yield the sets that can make so many records unique, those of most cells first.

    ``cells`` says how many values each column has.
    """
    positions: Sequence[int] = range(len(cells))
    if number > 2 and len(cells) > MOST_COLUMNS:
        positions = sorted(sorted(positions, key=lambda position: -cells[position])[:MOST_COLUMNS])
    sets = np.array(list(combinations(positions, number)), dtype=np.int64).reshape(-1, number)
    size = np.prod(np.asarray(cells, dtype=np.float64)[sets], axis=1)
    order = np.argsort(-size, kind="stable")[:MOST_SETS]
    yield from (tuple(sets[place].tolist()) for place in order if size[place] > fewest)


class _Counter:
    """Counts who is unique on sets of coded columns, from the hashes of all cells or of one part of them."""

    def __init__(self, n: int) -> None:
        self.parts = 1
        while n > EXACT_RECORDS * self.parts and self.parts < MOST_PARTS:
            self.parts *= 2
        self._hashes: list[Hashes] = []
        self._part: list[Bytes] = []

    def add(self, codes: Codes) -> None:
        hashes = _hash(codes, len(self._hashes))
        self._hashes.append(hashes)
        if self.parts > 1:
            self._part.append((hashes & np.uint64(self.parts - 1)).astype(np.uint8))

    def unique(self, chosen: Sequence[int]) -> int:
        hashes = [self._hashes[position] for position in chosen]
        if self.parts > 1:
            rows = np.flatnonzero(np.bitwise_xor.reduce([self._part[position] for position in chosen]) == 0)
            hashes = [one[rows] for one in hashes]
        together = np.sort(np.bitwise_xor.reduce(hashes))
        new = np.ones(len(together) + 1, dtype=np.bool_)
        new[1:-1] = together[1:] != together[:-1]
        return self.parts * int(np.sum(new[1:] & new[:-1]))


def _hash(codes: Codes, column: int) -> Hashes:
    """Return a hash of each code that differs between columns: the finaliser of SplitMix64.

    References
    ----------
    Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators, OOPSLA, figure 17 (mix64variant13).
    """
    levels = np.arange(int(codes.max(initial=0)) + 1, dtype=np.uint64) + (np.uint64(column + 1) << np.uint64(40))
    mixed = levels * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((mixed ^ (mixed >> np.uint64(31)))[codes], dtype=np.uint64)


LARGEST_SUBSET = 3
MOST_SUBSETS = 2000


@dataclass(frozen=True, repr=False)
class Exposure:
    """How many records are alone with their kept values.

    The intruder holds some kept columns of a target, to the digit, and looks them up in a copy, where they stand
    unchanged. Success is a single row: everything else in it is then said of the target, and that the target is in
    the file is known. No mask protects against this; only coarser, replaced or dropped columns do.

    Parameters
    ----------
    columns
        The kept columns Z.
    unique
        Which records are unique on all of Z; confidential, not part of :meth:`section`.
    knowable
        The kept columns that are marked as keys: what an intruder may know.
    subsets
        For every subset of them of up to ``largest`` columns the number and share of records that are unique on it.
    unique_on_some
        By size, which records are unique on at least one subset of at most that size.
    largest
        Of the subsets looked at; smaller than asked where there are more than 2000 subsets.
    alone
        Which records are alone on all kept columns together that are declared ``key: true``: found with certainty.
    alone_undecided
        The same with the columns that count as keys because nobody has decided
        (:func:`synthdp.evaluation.risk.undecided.with_undecided_as_keys`).
    """

    columns: tuple[str, ...]
    unique: Booleans
    knowable: tuple[str, ...]
    subsets: tuple[dict[str, Any], ...]
    unique_on_some: tuple[Booleans, ...]
    largest: int
    alone: Booleans
    alone_undecided: Booleans

    @property
    def individual(self) -> Floats:
        """1 for who is alone on the kept keys, undecided ones included, and 0 for everybody else."""
        return self.alone_undecided.astype(np.float64)

    @property
    def true_match_mask(self) -> Booleans:
        """Who is found: the only row with the kept keys of a record is its own."""
        return self.alone_undecided

    def __repr__(self) -> str:
        return f"Exposure({len(self.unique)} records, {len(self.subsets)} subsets)"

    def section(self) -> dict[str, Any]:
        """Return the section of metrics.json: numbers about the file, none about a record."""
        return {
            "columns": list(self.columns),
            "unique": int(self.unique.sum()),
            "unique_rate": float(self.unique.mean()),
            "alone": int(self.alone.sum()),
            "alone_rate": float(self.alone.mean()),
            "alone_undecided": int(self.alone_undecided.sum()),
            "knowable": list(self.knowable),
            "largest_subset": self.largest,
            "subsets": [dict(line) for line in self.subsets],
            "unique_on_some": [
                {"size": size, "unique": int(found.sum()), "unique_rate": float(found.mean())}
                for size, found in enumerate(self.unique_on_some, start=1)
            ],
        }


def evaluate_exposure(comparison: Comparison, *, size: int = LARGEST_SUBSET) -> Exposure:
    """Count the records that are unique on the kept columns, and on every small subset of the knowable ones.

    Notes
    -----
    O(n) for each subset; with k knowable columns there are C(k, 1) + … + C(k, size) of them. Missing is a value.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> frame = pd.DataFrame({"sex": list("FFMM"), "region": list("NNNS"), "income": [1, 2, 3, 4]})
    >>> keys = {"sex": Variable(key=True), "region": Variable(key=True), "income": Variable(role="replace")}
    >>> data = resolve(frame, keys)
    >>> found = evaluate_exposure(Comparison(data.frame, (), data.schema, aligned=True))
    >>> found.section()["unique"], [(line["columns"], line["unique"]) for line in found.subsets]
    (2, [(['sex'], 0), (['region'], 1), (['sex', 'region'], 2)])
    >>> found.section()["alone"], found.individual.tolist()
    (2, [0.0, 0.0, 1.0, 1.0])
    """
    kept = comparison.schema.kept()
    knowable = [column for column in kept if column.key]
    decided = [column for column in knowable if column.key_decided]
    coded = {column.name: classes([comparison.original], column, exact=True)[0] for column in kept}
    nobody = np.zeros(len(comparison.original), dtype=np.bool_)
    largest = min(size, len(knowable))
    while largest > 1 and sum(comb(len(knowable), one) for one in range(1, largest + 1)) > MOST_SUBSETS:
        largest -= 1
    subsets: list[dict[str, Any]] = []
    some: list[Booleans] = []
    reached = nobody
    for number in range(1, largest + 1):
        for chosen in combinations(knowable, number):
            unique = _alone_on(chosen, coded)
            reached = reached | unique
            names = [column.name for column in chosen]
            subsets.append({"columns": names, "unique": int(unique.sum()), "unique_rate": float(unique.mean())})
        some.append(reached)
    return Exposure(
        columns=tuple(column.name for column in kept),
        unique=_alone_on(kept, coded) if kept else nobody,
        knowable=tuple(column.name for column in knowable),
        subsets=tuple(subsets),
        unique_on_some=tuple(some),
        largest=largest,
        alone=_alone_on(decided, coded) if decided else nobody,
        alone_undecided=_alone_on(knowable, coded) if knowable else nobody,
    )


def _alone_on(columns: Sequence[Column], coded: Mapping[str, Codes]) -> Booleans:
    """Return who is alone on all of several columns."""
    return alone(reduce(merge, (coded[column.name] for column in columns)))
