"""Who is alike on some columns, in a file that is never in memory: counted shard by shard, by sorted hashes on disk.

Every record gets a 64-bit hash of its values. A shard writes which hashes it has and how often; they are sorted, so
that every part of the range of hashes is a stretch of each shard's file, and one part at a time is put together. Two
combinations of values share a hash with probability 2⁻⁶⁴.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from synthdp.arrays import Booleans, Codes
from synthdp.evaluation.combinations import ROUNDING
from synthdp.table.coded import Coded
from synthdp.table.schema import Column

Hashes = npt.NDArray[np.uint64]
# hashes put together in one go: 16 bytes each, and sorting takes as much again
AT_ONCE = 4 * 10**6


def hashed(file: Coded, columns: Sequence[Column], widths: Mapping[str, float] | None = None) -> Hashes:
    """Return a hash of each record's values; missing is a value.

    Parameters
    ----------
    widths
        Numbers of these columns are alike when they fall into one class of this width; all others to the digit.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.table.coded import coded
    >>> age = Column(name="age", kind="continuous", role="keep", key=True)
    >>> table = coded(pd.DataFrame({"age": [0.0, -0.0, None, 1.0]}))
    >>> len(np.unique(hashed(table, [age]))), len(np.unique(hashed(table, [age], {"age": 2.0})))
    (3, 2)
    """
    found = np.zeros(len(file), dtype=np.uint64)
    for number, column in enumerate(columns, start=1):
        if column.kind.categorical:
            # missing and foreign are levels of their own, beyond the others
            bits = file.codes(column, missing=-1, foreign=-2).view(np.uint64)
        else:
            values = file.numbers(column)
            width = (widths or {}).get(column.name, 0.0)
            values = np.floor(values / width + ROUNDING) if width > 0 else values + 0.0
            bits = np.where(np.isfinite(values), values, np.nan).view(np.uint64)
        # in a chain, so that the order of columns counts and equal columns do not cancel
        found = _mixed(found * np.uint64(0xD1342543DE82EF95) + bits + np.uint64(number))
    return found


def lots(rows: Codes) -> Hashes:
    """Return a number for each record by which some may be taken of many, the same however the file is cut."""
    return _mixed(rows.astype(np.uint64))


def _mixed(values: Hashes) -> Hashes:
    """Return the finaliser of SplitMix64 (Steele, Lea and Flood 2014, OOPSLA, figure 17, mix64variant13)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def note(found: Hashes, folder: Path, name: str, shard: int) -> int:
    """Write which hashes a shard has and how often; return how many there are."""
    distinct, counts = np.unique(found, return_counts=True)
    np.save(folder / f"{name}-{shard}.npy", np.stack([distinct, counts.astype(np.uint64)]))
    return len(distinct)


@dataclass(frozen=True, repr=False)
class Alike:
    """How records are alike in one part of the hashes, or in all.

    Parameters
    ----------
    alone
        How many records no other is alike.
    rarest, holders
        The hashes that fewest records have, and how many have each; of equals those with the smallest hash.
    """

    alone: int
    rarest: Hashes
    holders: Codes

    def __repr__(self) -> str:
        return f"Alike({self.alone} alone)"

    def merged(self, other: "Alike", most: int) -> "Alike":
        """Return what two parts come to, with at most so many hashes."""
        rarest, holders = np.append(self.rarest, other.rarest), np.append(self.holders, other.holders)
        order = np.lexsort((rarest, holders))[:most]
        return Alike(self.alone + other.alone, rarest[order], holders[order])

    def among(self, found: Hashes) -> tuple[Booleans, Codes]:
        """Return which of some hashes are among the rarest, and how many records have each (0 for the others)."""
        order = np.argsort(self.rarest)
        place = np.minimum(np.searchsorted(self.rarest[order], found), max(len(order) - 1, 0))
        if not len(order):
            return np.zeros(len(found), dtype=np.bool_), np.zeros(len(found), dtype=np.int64)
        here = self.rarest[order][place] == found
        return here, np.where(here, self.holders[order][place], 0)


NOBODY = Alike(0, np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64))


def parts_of(noted: int) -> int:
    """Return into how many parts so many hashes are cut."""
    return max(1, -(-noted // AT_ONCE))


def put_together(folder: Path, name: str, shards: int, parts: int, most: int, part: int) -> Alike:
    """Count who is alike in one part of the hashes, from the files that :func:`note` wrote."""
    low = np.uint64((part << 64) // parts)
    high = None if part + 1 == parts else np.uint64(((part + 1) << 64) // parts)
    pieces = []
    for shard in range(shards):
        held = np.load(folder / f"{name}-{shard}.npy", mmap_mode="r")
        begin = int(np.searchsorted(held[0], low))
        end = held.shape[1] if high is None else int(np.searchsorted(held[0], high))
        pieces.append(np.array(held[:, begin:end]))
    together = np.concatenate(pieces, axis=1)
    together = together[:, np.argsort(together[0], kind="stable")]
    if not together.shape[1]:
        return NOBODY
    first = np.flatnonzero(np.append(True, together[0, 1:] != together[0, :-1]))
    holders = np.add.reduceat(together[1], first).astype(np.int64)
    rarest = together[0, first]
    alone = int(np.sum(holders == 1))
    if len(rarest) > most:
        few = np.argpartition(holders, most - 1)
        # whole classes of equal numbers, so that which of them are named does not depend on the parts
        few = np.flatnonzero(holders <= holders[few[most - 1]])
        rarest, holders = rarest[few], holders[few]
    order = np.lexsort((rarest, holders))[:most]
    return Alike(alone, rarest[order], holders[order])
