"""One shard of one draw before every intruder: what comes back is small and adds up."""

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from synthdp import seeding
from synthdp.arrays import Codes
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.records import FEW
from synthdp.evaluation.sharded import likelihood, public
from synthdp.evaluation.sharded.likelihood import Lesson
from synthdp.evaluation.sharded.matching import Matched, match_rows
from synthdp.evaluation.sharded.public import PublicLesson
from synthdp.evaluation.sharded.verbatim import Copied, copied
from synthdp.evaluation.sharded.weighing import Weighed
from synthdp.files import write_atomic
from synthdp.parallel import one_blas_thread
from synthdp.stages.sharded import informed
from synthdp.stages.sharded.informed import Informed
from synthdp.stages.sharded.sample import fetch, store, within
from synthdp.table.coded import coded, still
from synthdp.table.links import Link
from synthdp.table.schema import Schema
from synthdp.table.shards import Shards
from synthdp.tagging.neighbours import average

IDENTITY, AVERAGED = "identity", "identity_averaged"
LIKELIHOOD, PUBLIC, BAYES = "identity_likelihood", "identity_public", "identity_bayes"
# rows at either end of a number that may hold an extreme
ENDS = 64
# and of one copy by itself
EXTREMES_OF_ONE = 4
LESSONS = "lessons.pickle"


@dataclass(frozen=True, repr=False)
class Lessons:
    """What every shard needs to know: the people looked for, and what intruders were taught.

    Parameters
    ----------
    schema
        With the keys that are judged.
    held, rows
        The targets' true values, and which records they are.
    folds
        Of the targets.
    laws, shown, told
        What the intruders by likelihood, with the public files only, and who know how copies are made were taught; None
        where one is not asked.
    verbatim
        Whether rows and values copied over are looked for.
    """

    schema: Schema
    held: pd.DataFrame
    rows: Codes
    folds: Codes
    laws: Lesson | None = None
    shown: PublicLesson | None = None
    told: Informed | None = None
    verbatim: bool = False

    def __repr__(self) -> str:
        return f"Lessons({len(self.rows)} targets)"

    def keep(self, folder: Path) -> None:
        """Write the lessons for whoever works on a shard; the folder is the job's, confidential."""
        write_atomic(folder / LESSONS, pickle.dumps(self))


@lru_cache(maxsize=2)
def _read(path: Path, _changed: int) -> Lessons:
    # written by this run into a folder that only its owner may enter
    found: Lessons = pickle.loads(path.read_bytes())
    return found


@dataclass(frozen=True, repr=False)
class Said:
    """What one shard of one draw says.

    Parameters
    ----------
    matched, weighed
        By attack, of intruders who match and of those who weigh all rows.
    copied
        What was copied over, block by block, where anybody asks.
    """

    matched: Mapping[str, Matched]
    weighed: Mapping[str, Weighed]
    copied: tuple[Copied, ...] = ()

    def __repr__(self) -> str:
        return f"Said({', '.join((*self.matched, *self.weighed))})"

    def __add__(self, other: "Said") -> "Said":
        """Return what two parts of a file say."""
        return Said(
            {name: one + other.matched[name] for name, one in self.matched.items()},
            {name: one + other.weighed[name] for name, one in self.weighed.items()},
            (*self.copied, *other.copied),
        )


def attack(shards: Shards, folder: Path, name: str, wanted: Codes, shard: int) -> Said:
    """Attack one shard of one draw, and store the rows of it that are wanted, with those at the ends of numbers.

    Parameters
    ----------
    folder
        With the lessons; the rows go there too.
    name
        Of the draw.
    wanted
        Records whose rows are stored as they were drawn.
    """
    path = folder / LESSONS
    lessons = _read(path, path.stat().st_mtime_ns)
    rows = shards.rows(shard)
    original = shards.original(shard).frame
    copies = [shards.copy(shard, copy) for copy in range(1, shards.copies + 1)]
    with one_blas_thread(), still((original, *copies)):
        inside = wanted[np.searchsorted(wanted, rows.start) : np.searchsorted(wanted, rows.stop)] - rows.start
        stored = np.union1d(inside, _ends(lessons.schema, copies)).astype(np.int64)
        lay(folder, name, shard, original, copies, stored, rows.start)
        own = within(lessons.rows, rows)
        keys = lessons.schema.keys()
        matched = {}
        if keys:
            matched[IDENTITY] = match_rows(lessons.held, copies, keys, own)
            matched[AVERAGED] = match_rows(lessons.held, [average(copies, keys)], keys, own)
        weighed = {}
        if lessons.laws is not None:
            laws, blocks = lessons.laws, lessons.laws.blocks
            weighed[LIKELIHOOD] = likelihood.look(laws, lessons.held, lessons.folds, copies, own)
            if lessons.shown is not None:
                weighed[PUBLIC] = public.look(lessons.shown, blocks, lessons.held, copies, own)
            if lessons.told is not None:
                groups = shards.groups(shard)
                weighed[BAYES] = informed.look(lessons.told, blocks, lessons.held, copies, own, groups)
        given = _copied(lessons.schema, original, copies, rows) if lessons.verbatim else ()
    return Said(matched, weighed, given)


def _copied(schema: Schema, original: pd.DataFrame, copies: Sequence[pd.DataFrame], rows: slice) -> tuple[Copied, ...]:
    found = []
    for start in range(0, rows.stop - rows.start, seeding.BLOCK):
        block = slice(start, start + seeding.BLOCK)
        here = original.iloc[block].reset_index(drop=True)
        if len(here) < FEW:
            # the last few records of a file
            continue
        there = tuple(copy.iloc[block].reset_index(drop=True) for copy in copies)
        # who stands in for whom among equals: it needs no secrecy, and the same shards should give the same
        rng = np.random.default_rng([rows.start + start, 1])
        found.append(copied(Comparison(here, there, schema, aligned=True), rows.start + start, rng=rng))
    return tuple(found)


def _ends(schema: Schema, copies: Sequence[pd.DataFrame]) -> Codes:
    """Return the rows at either end of the average of the copies, of every number that is a key."""
    found = [np.empty(0, dtype=np.int64)]
    files = [coded(copy) for copy in copies]
    for key in schema.keys():
        if key.kind.categorical:
            continue
        link = Link(0.0, 1.0, key.transform, key.bounds)
        with np.errstate(invalid="ignore", divide="ignore"):
            values = np.stack([link.forward(file.numbers(key)) for file in files])
        known = np.isfinite(values)
        count = known.sum(axis=0)
        mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(count, 1)
        held = np.flatnonzero(count)
        order = held[np.argsort(mean[held], kind="stable")]
        found += [order[:ENDS], order[-ENDS:]]
        # one copy alone is looked at too
        for one in values:
            there = np.flatnonzero(np.isfinite(one))
            order = there[np.argsort(one[there], kind="stable")]
            found += [order[:EXTREMES_OF_ONE], order[-EXTREMES_OF_ONE:]]
    return np.unique(np.concatenate(found))


def lay(
    folder: Path,
    name: str,
    shard: int,
    original: pd.DataFrame,
    copies: Sequence[pd.DataFrame],
    rows: Codes,
    first: int,
) -> None:
    """Store some rows of a shard, the original's beside those of every copy."""
    for number, frame in enumerate((original, *copies)):
        store(frame.iloc[rows], folder / f"{name}-{shard}-{number}.parquet")
    np.save(folder / f"{name}-{shard}.npy", rows + first)


def gather(folder: Path, name: str, shards: int, copies: int) -> tuple[Codes, list[pd.DataFrame]]:
    """Return the rows that were stored of a draw, and their frames: the original's, then those of every copy."""
    rows = []
    for shard in range(shards):
        place = folder / f"{name}-{shard}.npy"
        rows.append(np.load(place))
        place.unlink()
    frames = []
    for number in range(copies + 1):
        parts = [fetch(folder / f"{name}-{shard}-{number}.parquet") for shard in range(shards)]
        frames.append(pd.concat(parts, ignore_index=True))
    return np.concatenate(rows), frames


def only_lay(shards: Shards, folder: Path, name: str, wanted: Codes, shard: int) -> Codes | None:
    """Store the rows of a draw that intruders are taught by; return the risk groups of their records."""
    rows = shards.rows(shard)
    inside = wanted[np.searchsorted(wanted, rows.start) : np.searchsorted(wanted, rows.stop)] - rows.start
    copies = [shards.copy(shard, copy) for copy in range(1, shards.copies + 1)]
    lay(folder, name, shard, shards.original(shard).frame, copies, inside, rows.start)
    groups = shards.groups(shard)
    return None if groups is None else groups[inside]


def some_of(frames: Sequence[pd.DataFrame], rows: Codes, wanted: Codes) -> list[pd.DataFrame]:
    """Return the rows of some records, all of which were stored."""
    place = np.searchsorted(rows, wanted)
    return [frame.iloc[place].reset_index(drop=True) for frame in frames]
