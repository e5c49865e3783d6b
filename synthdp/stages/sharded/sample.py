"""Whom the judgement of a file in shards rests on: a random sample of its records, and all who are most exposed.

The random part teaches intruders and stands for the file where a figure is a mean; the most exposed (fewest neighbours
on the keys, outlying, the extremes of every number) are looked for because the largest risk is theirs. They are found
by going through the file three times, each time with something small coming back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.engine import Engine
from synthdp.evaluation.sharded import alike
from synthdp.evaluation.sharded.alike import NOBODY, Alike
from synthdp.evaluation.sharded.matching import match_rows
from synthdp.table.coded import Coded, coded
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Column, Schema
from synthdp.table.shards import Shards

# records drawn at random: what laws are learnt from, and what usefulness is measured on
SAMPLE = 100_000
# of them so many are looked for; and so many of those with fewest neighbours, of the outlying, and at either end
TYPICAL, LONELY, OUTLYING, EXTREMES = 400, 60, 60, 4
# records with the fewest alike whose neighbours are counted
CANDIDATES = 2_000
# numbers are put into classes so many tolerances wide, to see who could be lonely
WIDE = 4.0
NEAR, ALONE, ALONE_UNDECIDED, ALONE_KEPT = "near", "alone", "alone_undecided", "alone_kept"


@dataclass(frozen=True, repr=False)
class Sample:
    """Some records of a file in shards.

    Parameters
    ----------
    rows
        Which they are, increasing.
    data
        The records themselves.
    drawn
        Which of them are a simple random sample of the file.
    targets
        Whom intruders look for, as positions among these records.
    typical
        Which of the targets are a simple random sample.
    records
        How many records the file has.
    alone
        How many records of the file no other equals, on sets of columns by name.
    """

    rows: Codes
    data: Microdata
    drawn: Booleans
    targets: Codes
    typical: Booleans
    records: int
    alone: Mapping[str, int]

    def __repr__(self) -> str:
        return f"Sample({len(self.rows)} of {self.records} records, {len(self.targets)} targets)"

    @property
    def held(self) -> pd.DataFrame:
        """The targets' true values."""
        return self.data.frame.iloc[self.targets].reset_index(drop=True)

    def told(self) -> dict[str, object]:
        """Return what metrics.json says of the sample."""
        return {
            "records": int(self.drawn.sum()),
            "of": self.records,
            "targets": int(self.typical.sum()),
            "exposed": int((~self.typical).sum()),
            "candidates": "all",
        }


def within(rows: Codes, part: slice) -> Codes:
    """Return the places of records in a part of the file, −1 where they are not in it."""
    return np.where((rows >= part.start) & (rows < part.stop), rows - part.start, -1)


def sample_of(
    shards: Shards,
    schema: Schema,
    folder: Path,
    engine: Engine,
    *,
    rng: np.random.Generator,
    size: int = SAMPLE,
    typical: int = TYPICAL,
    exposed: tuple[int, int] = (LONELY, OUTLYING),
) -> Sample:
    """Go through the original and return whom the judgement rests on.

    Parameters
    ----------
    schema
        With the keys that are judged.
    folder
        Where what shards say is written that is not small; confidential.
    size, typical, exposed
        How many records are drawn at random, how many of these are looked for, and how many of the loneliest and of the
        most outlying ones.

    Notes
    -----
    O(n log n) for the whole file, and O(n/shards) memory.
    """
    n, count = shards.records, len(shards)
    drawn = np.sort(rng.choice(n, min(n, size), replace=False, shuffle=False))
    looked_for = np.sort(rng.choice(drawn, min(len(drawn), typical), replace=False))
    sets = _sets(schema)
    counting = partial(_count, shards, schema, folder, drawn, sets)
    counted = list(engine.each(counting, range(count)))
    levels = {
        key.name: np.sum([one.levels[key.name] for one in counted], axis=0)
        for key in schema.keys()
        if key.kind.categorical
    }
    alone: dict[str, int] = {}
    rare = NOBODY
    for name in sets:
        parts = alike.parts_of(sum(one.noted[name] for one in counted))
        most = CANDIDATES if name == NEAR else 1
        put = partial(alike.put_together, folder, name, count, parts, most)
        found = NOBODY
        for piece in engine.each(put, range(parts)):
            found = found.merged(piece, most)
        alone[name] = found.alone
        rare = found if name == NEAR else rare
        for shard in range(count):
            (folder / f"{name}-{shard}.npy").unlink()
    data = Microdata(_gathered(folder, "drawn", count), schema)
    scale = _scale(data, levels)
    lonely_most, outlying_most = exposed
    search = partial(_search, shards, schema, folder, scale, rare, outlying_most)
    seen = list(engine.each(search, range(count)))
    others = _gathered(folder, "seen", count)
    rows = np.concatenate([one.rows for one in seen])
    chosen = _standing_out(seen, outlying_most)
    holders, alike_rows = (np.concatenate([one.lonely[part] for one in seen]) for part in (0, 1))
    alike_rows = np.sort(alike_rows[_loneliest(holders, alike_rows)])
    if len(alike_rows) and lonely_most:
        held = others.iloc[np.searchsorted(rows, alike_rows)].reset_index(drop=True)
        pieces = list(engine.each(partial(_neighbours, shards, schema, held), range(count)))
        neighbours = np.sum(pieces, axis=0)
        order = np.lexsort((rng.random(len(alike_rows)), neighbours))
        chosen = np.append(chosen, alike_rows[order[:lonely_most]])
    targets = np.union1d(looked_for, chosen)
    extra = np.setdiff1d(targets, drawn)
    every = np.concatenate([drawn, extra])
    frame = pd.concat([data.frame, others.iloc[np.searchsorted(rows, extra)]], ignore_index=True)
    order = np.argsort(every)
    every = every[order]
    return Sample(
        rows=every,
        data=Microdata(frame.iloc[order].reset_index(drop=True), schema),
        drawn=np.isin(every, drawn),
        targets=np.searchsorted(every, targets),
        typical=np.isin(targets, looked_for),
        records=n,
        alone=alone,
    )


def _sets(schema: Schema) -> dict[str, tuple[Column, ...]]:
    """Return the sets of columns on which it is counted who is alike."""
    kept = schema.kept()
    keys = tuple(column for column in kept if column.key)
    decided = tuple(column for column in keys if column.key_decided)
    sets = {NEAR: schema.keys(), ALONE: decided, ALONE_UNDECIDED: keys, ALONE_KEPT: kept}
    return {name: columns for name, columns in sets.items() if columns}


@dataclass(frozen=True, repr=False)
class _Counted:
    """What one shard counts: levels of keys, and how many hashes it wrote."""

    levels: dict[str, Codes]
    noted: dict[str, int]


def _count(
    shards: Shards,
    schema: Schema,
    folder: Path,
    drawn: Codes,
    sets: Mapping[str, Sequence[Column]],
    shard: int,
) -> _Counted:
    frame = shards.original(shard).frame
    file, rows = coded(frame), shards.rows(shard)
    store(frame.iloc[_inside(drawn, rows) - rows.start], folder / f"drawn-{shard}.parquet")
    noted = {}
    for name, columns in sets.items():
        widths = {key.name: WIDE * key.tolerance for key in columns} if name == NEAR else None
        noted[name] = alike.note(alike.hashed(file, columns, widths), folder, name, shard)
    levels = {
        key.name: np.bincount(file.codes(key) + 1, minlength=len(key.levels) + 1)
        for key in schema.keys()
        if key.kind.categorical
    }
    return _Counted(levels, noted)


@dataclass(frozen=True, repr=False)
class _Scale:
    """By which it is told how far a record stands out: middle and spread of numbers, shares of levels."""

    numbers: Mapping[str, tuple[float, float]]
    rarity: Mapping[str, Floats]

    def outlying(self, file: Coded, keys: Sequence[Column]) -> Floats:
        """Return the squared robust distance, or the rarity, added up over the keys."""
        found = np.zeros(len(file))
        for key in keys:
            if key.kind.categorical:
                found += self.rarity[key.name][file.codes(key) + 1]
            elif key.name in self.numbers:
                middle, spread = self.numbers[key.name]
                values = file.numbers(key)
                found += np.where(np.isfinite(values), ((values - middle) / spread) ** 2, 0.0)
        return found


def _scale(data: Microdata, levels: Mapping[str, Codes]) -> _Scale:
    numbers = {}
    for key in data.schema.keys():
        if key.kind.categorical:
            continue
        values = data.numbers(key.name)
        values = values[np.isfinite(values)]
        if len(values):
            low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
            numbers[key.name] = float(middle), float((high - low) / 3.29) or 1.0
    rarity = {name: -2 * np.log(np.maximum(counts, 1) / counts.sum()) for name, counts in levels.items()}
    return _Scale(numbers, rarity)


@dataclass(frozen=True, repr=False)
class _Seen:
    """Who stands out in one shard: rows whose records were stored, and among them who is far out, extreme or lonely."""

    rows: Codes
    outlying: tuple[Floats, Codes]
    ends: Mapping[tuple[str, int], tuple[Floats, Codes]]
    lonely: tuple[Codes, Codes]


def _search(shards: Shards, schema: Schema, folder: Path, scale: _Scale, rare: Alike, most: int, shard: int) -> _Seen:
    frame = shards.original(shard).frame
    file, first = coded(frame), shards.rows(shard).start
    keys = schema.keys()
    far = scale.outlying(file, keys)
    order = np.argsort(-far, kind="stable")[:most]
    ends = {}
    for key in keys:
        if key.kind.categorical:
            continue
        values = file.numbers(key)
        known = np.flatnonzero(np.isfinite(values))
        for sign in (1, -1):
            some = known[np.argsort(-sign * values[known], kind="stable")[:EXTREMES]]
            ends[key.name, sign] = values[some], some + first
    widths = {key.name: WIDE * key.tolerance for key in keys}
    found, holders = rare.among(alike.hashed(file, keys, widths))
    lonely = np.flatnonzero(found) if keys else order[:0]
    lonely = lonely[_loneliest(holders[lonely], lonely + first)]
    rows = np.unique(np.concatenate([order, lonely, *(some - first for _, some in ends.values())])).astype(np.int64)
    store(frame.iloc[rows], folder / f"seen-{shard}.parquet")
    return _Seen(rows + first, (far[order], order + first), ends, (holders[lonely], lonely + first))


def _loneliest(holders: Codes, rows: Codes) -> Codes:
    """Return the places of so many records at most with the fewest in their class; of equal ones some by lot.

    Where keys have few classes, these hold the whole file: nobody is lonely then, and nobody needs all of them.
    """
    return np.lexsort((alike.lots(rows), holders))[:CANDIDATES]


def _standing_out(seen: Sequence[_Seen], most: int) -> Codes:
    """Return the records farthest out of all, and those at the ends of the numbers."""
    far, rows = (np.concatenate([one.outlying[part] for one in seen]) for part in (0, 1))
    found = [rows[np.lexsort((rows, -far))[:most]]]
    for name, sign in seen[0].ends:
        values, who = (np.concatenate([one.ends[name, sign][part] for one in seen]) for part in (0, 1))
        found.append(who[np.lexsort((who, -sign * values))[:EXTREMES]])
    return np.concatenate(found).astype(np.int64)


def _neighbours(shards: Shards, schema: Schema, held: pd.DataFrame, shard: int) -> Codes:
    """Return how many records of a shard have the keys of each of some people, within the tolerances."""
    nobody = np.full(len(held), -1, dtype=np.int64)
    found = match_rows(held, [shards.original(shard).frame], schema.keys(), nobody)
    return np.bincount(found.target, weights=found.count, minlength=len(held)).astype(np.int64)


def _inside(rows: Codes, part: slice) -> Codes:
    """Return those of some records, in order, that are in a part of the file."""
    return rows[np.searchsorted(rows, part.start) : np.searchsorted(rows, part.stop)]


def store(frame: pd.DataFrame, path: Path) -> None:
    """Write some records that are confidential, for as long as a judgement takes."""
    frame.reset_index(drop=True).to_parquet(path, index=False)


def fetch(path: Path) -> pd.DataFrame:
    """Read what :func:`store` wrote, and remove it."""
    frame = pd.read_parquet(path)
    path.unlink()
    return frame


def _gathered(folder: Path, name: str, count: int) -> pd.DataFrame:
    return pd.concat([fetch(folder / f"{name}-{shard}.parquet") for shard in range(count)], ignore_index=True)
