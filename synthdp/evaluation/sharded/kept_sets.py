"""Kept columns that together make many records unique, over shards: whole cells are counted, a part of them.

As :func:`synthdp.evaluation.risk.exposure.smallest_sets` beyond 50,000 records: only cells whose hash falls into one of
K parts are counted, in all shards alike, so that who is unique among them is unique in the file, and K times their
number is unbiased, with a standard error of √(K·U) for U unique records.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synthdp.evaluation.risk.exposure import LARGEST_SET, SHARE, KeptSet, candidates, knowable
from synthdp.evaluation.sharded.alike import Hashes, hashed
from synthdp.table.coded import Coded
from synthdp.table.schema import Column, Schema

# records that are counted of a set, about
COUNTED = 20_000
# sets counted in one go: of each about COUNTED hashes stand in memory
SETS = 400
# values up to which a column's are counted exactly
FEW_VALUES = 2_000

Sets = Sequence[tuple[int, ...]]
# what all shards have of some sets: for every shard a list, one array for each set
Ask = Callable[[Sets, int], Iterator[list[Hashes]]]


@dataclass(frozen=True)
class Cells:
    """How many values a column has, and how many of them one record has."""

    values: int
    alone: int


def part_of(file: Coded, columns: Sequence[Column], sets: Sets, parts: int) -> list[Hashes]:
    """Return for each set of columns the hashes of the shard's records that fall into the part that is counted.

    Hashes of the columns are added up, so that a set costs one sum a column. No parts at all ask for the first few
    values instead, each once.
    """
    each = {place: hashed(file, [columns[place]]) for one in sets for place in one}
    mask = np.uint64(max(parts, 1) - 1)
    found = []
    for one in sets:
        together = np.zeros(len(file), dtype=np.uint64)
        for place in one:
            together = together + each[place] * np.uint64(2 * place + 1)
        found.append(
            np.unique(together)[: FEW_VALUES + 1] if parts == 0 else together[(together >> np.uint64(20)) & mask == 0]
        )
    return found


def smallest_sets(
    schema: Schema, records: int, ask: Ask, *, share: float = SHARE, size: int = LARGEST_SET
) -> tuple[KeptSet, ...]:
    """Return the minimal sets of up to ``size`` kept columns that make more than ``share`` of the records unique.

    Parameters
    ----------
    ask
        Returns, for every shard, what :func:`part_of` returns for these sets of positions among the columns that an
        intruder may know, and so many parts.
    """
    columns = knowable(schema)
    parts = 1
    while records > COUNTED * parts:
        parts *= 2
    known: list[frozenset[int]] = []
    found: list[KeptSet] = []
    cells: list[int] = []
    places: list[int] = []

    def keep(chosen: tuple[int, ...], unique: int) -> None:
        known.append(frozenset(chosen))
        names = tuple(columns[place].name for place in chosen)
        found.append(KeptSet(names, unique, unique / records, exact=parts == 1))

    single = [(place,) for place in range(len(columns))]
    few = [one.values for one in _counted(single, 0, ask)]
    for (place,), counted, values in zip(single, _counted(single, parts, ask), few, strict=True):
        if counted.alone > share * records:
            keep((place,), counted.alone)
        elif values > 1:
            places.append(place)
            cells.append(values if values <= FEW_VALUES else max(values, counted.values))
    for number in range(2, min(size, len(places)) + 1):
        sets = [tuple(places[at] for at in chosen) for chosen in candidates(cells, number, fewest=share * records)]
        sets = [chosen for chosen in sets if not any(one <= set(chosen) for one in known)]
        for begin in range(0, len(sets), SETS):
            some = sets[begin : begin + SETS]
            for chosen, counted in zip(some, _counted(some, parts, ask), strict=True):
                if counted.alone > share * records:
                    keep(chosen, counted.alone)
    return tuple(sorted(found, key=lambda one: (len(one.columns), -one.unique)))


def _counted(sets: Sets, parts: int, ask: Ask) -> list[Cells]:
    """Return how many cells each set has, and how many records are alone in one."""
    if not sets:
        return []
    gathered: list[list[Hashes]] = [[] for _ in sets]
    for shard in ask(sets, parts):
        for place, hashes in enumerate(shard):
            gathered[place].append(hashes)
    found = []
    for pieces in gathered:
        distinct, counts = np.unique(np.concatenate(pieces), return_counts=True)
        found.append(Cells(len(distinct) * max(parts, 1), int(np.sum(counts == 1)) * parts))
    return found
