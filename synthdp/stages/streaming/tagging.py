"""Risk groups and neighbour counts of a file in shards, where masks depend on them: those of ``tagging.groups.tag``.

Neighbours share all categorical keys, so records are dealt out by what they have there: all records of a combination
come to lie in one part, whatever shard they are from. In each part neighbours are counted as in a whole file, exactly,
and every shard fetches the counts of its own records. Memory is that of a part; a part grows with the file only where
many records share one combination, or no key is categorical.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path

import numpy as np
import pandas as pd

from synthdp.arrays import Codes, Floats, added, mean_of, squared
from synthdp.config import Config
from synthdp.engine import Engine
from synthdp.imputation.predictors import AsLevels, AsPredictor
from synthdp.masking.mask import ColumnMask, MaskSettings, Target
from synthdp.stages.streaming.job import Job, once
from synthdp.stages.streaming.reading import frame_of
from synthdp.table.coded import coded, merge
from synthdp.table.links import Link
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Column, Schema
from synthdp.tagging.groups import HIGH, LOW, MEDIUM, Neighbours, Rules, Tags, by_rules, names_of
from synthdp.tagging.neighbours import Keys, count_neighbours, encode_column

TAGS, DEALT, COUNTED = "tags", "dealt", "counted"
SETTINGS = "groups.pickle"
# of the linear congruential generator of Knuth's MMIX: which part a combination comes to says nothing
MIX = np.uint64(6364136223846793005)


@dataclass(frozen=True, repr=False)
class Grouping:
    """How records are told apart by risk, where masks depend on it.

    Parameters
    ----------
    by_group
        Masks of groups, as the config has them.
    names
        The groups there may be.
    order
        Those that occur, in the order in which they first do: W is drawn group by group.
    entries
        How the group and the number of neighbours enter the regressions.
    fewest
        The number of neighbours below which graded strength does not change; None where no mask is graded.
    """

    by_group: Mapping[str, Mapping[str, MaskSettings]] = field(default_factory=dict)
    names: tuple[str, ...] = (LOW,)
    order: tuple[str, ...] = (LOW,)
    entries: tuple[AsLevels | AsPredictor, ...] = ()
    fewest: int | None = None

    def mask(self, target: Target, default: MaskSettings | None, groups: Codes) -> ColumnMask:
        """Return the mask of some records, given the group of each."""
        name = target.column.name
        by_group = {group: block[name] for group, block in self.by_group.items() if name in block}
        labels = np.asarray(self.names, dtype=object)[groups]
        found = ColumnMask.plan(target, default, by_group, labels)
        if not by_group:
            return found
        return ColumnMask(target, tuple(sorted(found.parts, key=lambda part: self.order.index(part.group))))

    def columns(self, neighbours: Codes, groups: Codes) -> list[Floats]:
        """Return what the regressions see of the group and the neighbours of some records."""
        found: list[Floats] = []
        for entry in self.entries:
            if isinstance(entry, AsLevels):
                found += entry.columns(groups)
            else:
                found += entry.columns(logged(neighbours, self.fewest or 1))
        return found


def logged(neighbours: Codes, fewest: int) -> Floats:
    """Return the log number of neighbours, as the regressions see it."""
    return np.log(np.maximum(np.maximum(neighbours, fewest), 1))


def needed(config: Config) -> bool:
    """Return whether the masks of the config depend on who else looks like a record."""
    masks = [*config.masks.values(), *(mask for block in config.masks_by_group.values() for mask in block.values())]
    return config.synthesis.mask_drawn is not None and (
        bool(config.masks_by_group) or any(mask.depends_on_neighbours() for mask in masks)
    )


def tag(job: Job, engine: Engine, config: Config, schema: Schema, links: Mapping[str, Link]) -> Grouping:
    """Put every record into a risk group, and count its neighbours; return what masks and regressions need of that."""
    job.keep(SETTINGS, (schema, config.groups))
    shards = range(len(job))
    if schema.keys():
        for work in (_deal, _count):
            for _ in engine.each(partial(work, job), shards):
                pass
    orders = list(engine.each(partial(_collect, job), shards))
    rules = config.groups.rules if isinstance(config.groups, Rules) else None
    names = names_of(rules) if rules is not None else (LOW, MEDIUM, HIGH)
    order = tuple(names[code] for code in dict.fromkeys(code for found, _ in orders for code in found))
    plain = Grouping(config.masks_by_group, names, order)
    masks = [_empty(c, links.get(c.name), config, plain) for c in schema.replaced()]
    entries: list[AsLevels | AsPredictor] = []
    if len(order) > 1 and any(settings for settings, _ in masks):
        counts = reduce(np.add, (found for _, found in orders))
        there = np.flatnonzero(counts)
        entries.append(AsLevels.of("risk group", there, counts[there]))
    graded = [one for _, several in masks for one in several if one.depends_on_neighbours()]
    fewest = None
    if graded:
        fewest = min(_fewest(several) for _, several in masks if any(m.depends_on_neighbours() for m in several))
        sums = engine.each(partial(_sums, job, fewest), shards)
        mean = mean_of(block for part in sums for block in part)[1]
        squares = engine.each(partial(_squares, job, fewest, mean), shards)
        sd = float(np.sqrt(sum(block for part in squares for block in part) / job.records))
        entries.append(AsPredictor("log neighbours", mean, sd, gaps=False))
    return Grouping(config.masks_by_group, names, order, tuple(entries), fewest)


def tags_of(job: Job, shard: int) -> tuple[Codes, Codes]:
    """Return how many neighbours each record of a shard has, and its group."""
    found = np.load(job.place(TAGS, shard, "npy"))
    return found[0], found[1]


def tags_of_rows(config: Config, grouping: Grouping, neighbours: Codes, groups: Codes) -> Tags:
    """Return the tags of some records, as they are in the whole file."""
    labels = pd.Categorical.from_codes(groups, pd.Index(grouping.names), ordered=True)
    rules = config.groups.rules if isinstance(config.groups, Rules) else {}
    return Tags(pd.Series(labels, name="group"), neighbours, config.groups.public, rules)


def _empty(column: Column, link: Link | None, config: Config, grouping: Grouping) -> tuple[bool, list[MaskSettings]]:
    """Return whether a column's masks differ by group, and which masks some record has."""
    own = [
        grouping.by_group[group][column.name]
        for group in grouping.order
        if column.name in grouping.by_group.get(group, {})
    ]
    stated = any(column.name in block for block in grouping.by_group.values())
    default = config.masks.get(column.name)
    rest = any(column.name not in grouping.by_group.get(group, {}) for group in grouping.order)
    return stated, [*own, *([default] if default is not None and rest else [])]


def _fewest(masks: list[MaskSettings]) -> int:
    return min((int(getattr(mask, "fewest", 1)) for mask in masks), default=1)


def _deal(job: Job, shard: int) -> None:
    """Write what the keys of a shard's records are, by the part that their combination comes to."""
    schema, _ = job.kept(SETTINGS)

    def make(to: Path) -> None:
        file = coded(frame_of(job, shard))
        encoded = [encode_column(file, column) for column in schema.keys()]
        labels = np.stack([label for label, _ in encoded])
        alike = np.zeros(labels.shape[1], dtype=np.uint64)
        for place, column in enumerate(schema.keys()):
            if column.kind.categorical:
                alike = (alike + labels[place].astype(np.uint64) + np.uint64(1)) * MIX
        part = ((alike >> np.uint64(33)) % np.uint64(len(job))).astype(np.int64)
        order = np.argsort(part, kind="stable")
        numbers = [
            values for column, (_, values) in zip(schema.keys(), encoded, strict=True) if not column.kind.categorical
        ]
        stacked = np.stack(numbers) if numbers else np.empty((0, labels.shape[1]))
        ends = np.searchsorted(part[order], np.arange(len(job) + 1))
        with to.open("wb") as sink:
            np.savez(sink, rows=order, ends=ends, labels=labels[:, order], numbers=stacked[:, order])

    once(job.place(DEALT, shard, "npz"), make)


def _count(job: Job, part: int) -> None:
    """Write how many neighbours each record of a part has, and how many share its categorical keys."""
    schema, _ = job.kept(SETTINGS)

    def make(to: Path) -> None:
        pieces = [_piece(job, shard, part) for shard in range(len(job))]
        labels = np.concatenate([labels for labels, _ in pieces], axis=1)
        numbers = np.concatenate([numbers for _, numbers in pieces], axis=1)
        tolerances = np.asarray([c.tolerance for c in schema.keys() if not c.kind.categorical], dtype=np.float64)
        levels = [place for place, column in enumerate(schema.keys()) if column.kind.categorical]
        all_keys = Keys(_cells(labels), np.ascontiguousarray(numbers.T), tolerances)
        some_keys = Keys(_cells(labels[levels]), np.empty((labels.shape[1], 0)), np.empty(0))
        found = np.stack([count_neighbours(keys, keys) for keys in (all_keys, some_keys)])
        ends = np.cumsum([0, *(labels.shape[1] for labels, _ in pieces)])
        with to.open("wb") as sink:
            np.savez(sink, ends=ends, counts=found)

    once(job.place(COUNTED, part, "npz"), make)


def _piece(job: Job, shard: int, part: int) -> tuple[Codes, Floats]:
    with np.load(job.place(DEALT, shard, "npz")) as dealt:
        start, stop = dealt["ends"][part : part + 2]
        return dealt["labels"][:, start:stop], dealt["numbers"][:, start:stop]


def _cells(labels: Codes) -> Codes:
    cells = np.zeros(labels.shape[1], dtype=np.int64)
    for label in labels:
        if label.any():
            cells = merge(cells, label)
    return cells


def _collect(job: Job, shard: int) -> tuple[list[int], Codes]:
    """Write neighbours and group of a shard's records; return the groups in the order they occur, and their sizes."""
    schema, settings = job.kept(SETTINGS)
    rows = job.rows(shard)
    records = rows.stop - rows.start

    def make(to: Path) -> tuple[list[int], Codes]:
        neighbours = np.full(records, job.records)
        sharing = neighbours.copy()
        if schema.keys():
            with np.load(job.place(DEALT, shard, "npz")) as dealt:
                order, ends = dealt["rows"], dealt["ends"]
            for part in range(len(job)):
                with np.load(job.place(COUNTED, part, "npz")) as counted:
                    start, stop = counted["ends"][shard : shard + 2]
                    here = order[ends[part] : ends[part + 1]]
                    neighbours[here], sharing[here] = counted["counts"][:, start:stop]
        groups = _groups(job, shard, schema, settings, neighbours, sharing)
        with to.open("wb") as sink:
            np.save(sink, np.stack([neighbours, groups]))
        return [int(code) for code in pd.unique(groups)], np.bincount(groups, minlength=100)

    return once(job.place(TAGS, shard, "npy"), make)


def _groups(
    job: Job, shard: int, schema: Schema, settings: Neighbours | Rules, neighbours: Codes, sharing: Codes
) -> Codes:
    if isinstance(settings, Rules):
        frame = frame_of(job, shard)[list(schema.names())]
        return np.asarray(by_rules(Microdata(frame, schema), settings.rules).cat.codes, dtype=np.int64)
    if not schema.keys():
        return np.zeros(len(neighbours), dtype=np.int64)
    return np.where(neighbours > settings.k, 0, np.where(sharing > settings.k, 1, 2)).astype(np.int64)


def _sums(job: Job, fewest: int, shard: int) -> list[tuple[int, float]]:
    values = logged(tags_of(job, shard)[0], fewest)
    return [added(values[rows]) for _, rows in job.within(shard)]


def _squares(job: Job, fewest: int, mean: float, shard: int) -> list[float]:
    values = logged(tags_of(job, shard)[0], fewest)
    return [squared(values[rows], mean) for _, rows in job.within(shard)]
