"""What is each column, found by passes over the shards: the same schema as ``table.microdata.resolve`` gives in memory.

First what values there are where that decides about kind or levels, then ranges, decimals and counts, then the squared
distances from the means. Sums are added in the order of the blocks, so that they do not depend on the shards.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import added, mean_of, squared
from synthdp.engine import Engine
from synthdp.errors import InputError
from synthdp.parallel import Advance
from synthdp.stages.streaming.job import Job
from synthdp.stages.streaming.reading import frame_of
from synthdp.table.facts import LevelFacts, NumberFacts, kind_of, level_column, levels_of, number_column
from synthdp.table.links import Link
from synthdp.table.microdata import declared, empty_problems, not_numbers, numbers
from synthdp.table.schema import Column, Schema, Variable

COLUMNS, MEANS = "columns.pickle", "means.pickle"
FEW, MOST_LEVELS = 3, 200_000


@dataclass(frozen=True, repr=False)
class Facts:
    """What the passes found.

    Parameters
    ----------
    schema
        Of the whole file.
    moments
        Mean and standard deviation of each column of numbers.
    links
        The working scale of each replaced number.
    counts
        By column of levels, how many records have each; missing ones last.
    missing
        How many values each column lacks.
    """

    schema: Schema
    moments: Mapping[str, tuple[float, float]]
    links: Mapping[str, Link]
    counts: Mapping[str, Any]
    missing: Mapping[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns there are."""
        return self.schema.names()


@dataclass(frozen=True, repr=False)
class Means:
    """What the last passes look at: means of numbers, and scales before they are centred."""

    raw: Mapping[str, float] = field(default_factory=dict)
    plain: Mapping[str, Link] = field(default_factory=dict)
    scaled: Mapping[str, float] = field(default_factory=dict)


def look(job: Job, engine: Engine, variables: Mapping[str, Variable], advance: Advance | None = None) -> Facts:
    """Return the facts of a file, or list everything that is wrong with it."""
    shards = range(len(job))
    frame = frame_of(job, 0)
    problems = [f"variables.{name}: no such column in the data." for name in variables if name not in frame.columns]
    if problems:
        raise InputError(*problems)
    names = [str(name) for name in frame.columns]
    variable = {name: variables.get(name, Variable()) for name in names}
    seen = _merged(engine.each(partial(_values, job, variable), shards, advance=advance))
    columns: dict[str, Column] = {}
    for name in names:
        known = seen[name].astype(frame[name].dtype) if len(seen[name]) else frame[name].iloc[:0]
        kind = variable[name].kind or kind_of(frame[name], partial(len, known), variable[name])
        column = declared(name, variable[name], kind)
        if kind.categorical:
            column = column.model_copy(update={"levels": variable[name].levels or levels_of(known)})
        columns[name] = column
    too_many = [
        f"streaming: column {name!r} has more than {MOST_LEVELS:,} levels; drop it, or set kind: continuous."
        for name, column in columns.items()
        if column.kind.categorical and len(column.levels) > MOST_LEVELS
    ]
    if too_many:
        raise InputError(*too_many)
    job.keep(COLUMNS, (columns, variable))
    parts = list(engine.each(partial(_facts, job), shards, advance=advance))
    return _resolved(job, engine, columns, variable, parts, advance)


def _resolved(
    job: Job,
    engine: Engine,
    columns: Mapping[str, Column],
    variables: Mapping[str, Variable],
    parts: list[dict[str, Any]],
    advance: Advance | None,
) -> Facts:
    shards, found, problems = range(len(job)), dict[str, Any](), list[str]()
    missing = {name: sum(part[name][0] for part in parts) for name in columns}
    numeric = [name for name, column in columns.items() if not column.kind.categorical and missing[name] < job.records]
    for name in columns:
        pieces = [part[name][1] for part in parts]
        wrong = any(piece is None for piece in pieces)
        found[name] = None if wrong else reduce(lambda one, other: one + other, pieces)
    numeric = [name for name in numeric if found[name] is not None]
    raw = {name: mean_of(sums for part in parts for sums in part[name][2])[1] for name in numeric}
    job.keep(MEANS, Means(raw=raw))
    squares = list(engine.each(partial(_squares, job), shards, advance=advance))
    sds = {name: _sd(job.records - missing[name], (part[name] for part in squares)) for name in numeric}
    settled: list[Column] = []
    for name, column in columns.items():
        if missing[name] == job.records:
            problems += empty_problems(name, variables[name])
            settled.append(column.model_copy(update={"levels": variables[name].levels or ()}))
        elif found[name] is None:
            problems.append(not_numbers(column))
        elif column.kind.categorical:
            settled.append(level_column(column, found[name], problems))
        else:
            sd = sds[name]
            settled.append(number_column(column, variables[name], found[name], partial(float, sd), problems))
    if not settled and not problems:
        problems.append("variables: every column is dropped; keep or replace at least one.")
    if problems:
        raise InputError(*problems)
    schema = Schema(columns=tuple(settled))
    moments = {name: (raw[name], sds[name]) for name in numeric}
    counts = {name: found[name].counts for name, column in columns.items() if isinstance(found[name], LevelFacts)}
    return Facts(schema, moments, _links(job, engine, schema, moments, missing, advance), counts, missing)


def _links(
    job: Job,
    engine: Engine,
    schema: Schema,
    moments: Mapping[str, tuple[float, float]],
    missing: Mapping[str, int],
    advance: Advance | None,
) -> dict[str, Link]:
    """Return the working scales, as ``Link.of`` gives them in memory."""
    numbers = [column for column in schema.replaced() if not column.kind.categorical]
    links = {c.name: Link(*moments[c.name], c.transform, c.bounds) for c in numbers if c.transform == "none"}
    plain = {c.name: Link(0.0, 1.0, c.transform, c.bounds) for c in numbers if c.transform != "none"}
    if not plain:
        return links
    job.keep(MEANS, Means(plain=plain))
    parts = list(engine.each(partial(_scaled, job), range(len(job)), advance=advance))
    means = {name: mean_of(sums for part in parts for sums in part[name])[1] for name in plain}
    job.keep(MEANS, Means(plain=plain, scaled=means))
    squares = list(engine.each(partial(_squares, job), range(len(job)), advance=advance))
    for name, link in plain.items():
        sd = _sd(job.records - missing[name], (part[name] for part in squares))
        links[name] = Link(means[name], sd, link.transform, link.bounds)
    return links


def _sd(count: int, parts: Iterable[list[float]]) -> float:
    total = sum(square for part in parts for square in part)
    return float(np.sqrt(total / count)) if count else np.nan


def _merged(parts: Iterable[dict[str, pd.Series]]) -> dict[str, pd.Series]:
    found: dict[str, pd.Series] = {}
    for part in parts:
        for name, values in part.items():
            before = found.get(name)
            both = values if before is None or not len(before) else pd.concat([before, values], ignore_index=True)
            found[name] = both.drop_duplicates().iloc[: MOST_LEVELS + 1]
    return found


def _values(job: Job, variables: Mapping[str, Variable], shard: int) -> dict[str, pd.Series]:
    """Return the distinct values of a shard's columns, as many as may matter."""
    frame, found = frame_of(job, shard), {}
    for name in frame.columns:
        series, variable = frame[name], variables[str(name)]
        kind = variable.kind or kind_of(series, partial(_count_of_few, series), variable)
        several = kind.categorical and variable.levels is None
        found[str(name)] = series.dropna().drop_duplicates() if several else _few(series)
    return found


def _count_of_few(series: pd.Series) -> int:
    return len(_few(series))


def _few(series: pd.Series) -> pd.Series:
    """Return two distinct values of a column, or a third where there is one."""
    known = series.dropna()
    first = known.iloc[:1000].drop_duplicates()
    return (first if len(first) >= FEW else known.drop_duplicates()).iloc[:FEW]


def _facts(job: Job, shard: int) -> dict[str, Any]:
    """Return for each column how many values are missing, what is known of the others, and their sums by block."""
    columns, variables = job.kept(COLUMNS)
    frame, start, found = frame_of(job, shard), job.rows(shard).start, dict[str, Any]()
    for name, column in columns.items():
        series = frame[name]
        present = series.notna().to_numpy()
        missing = int((~present).sum())
        if column.kind.categorical:
            found[name] = (missing, LevelFacts.of(series, column, start), [])
            continue
        try:
            values = numbers(series, column)
        except (ValueError, TypeError):
            found[name] = (missing, None, [])
            continue
        known = NumberFacts.of(values, present, variables[name].bounds, start)
        with np.errstate(all="ignore"):
            sums = [added(values[rows]) for _, rows in job.within(shard)]
        found[name] = (missing, known, sums)
    return found


def _squares(job: Job, shard: int) -> dict[str, list[float]]:
    """Return by block the squared distances from the means."""
    means: Means = job.kept(MEANS)
    columns, _ = job.kept(COLUMNS)
    frame, found = frame_of(job, shard), {}
    for name, mean in {**means.raw, **means.scaled}.items():
        values = numbers(frame[name], columns[name])
        if name in means.scaled:
            values = means.plain[name].forward(values)
        with np.errstate(all="ignore"):
            found[name] = [squared(values[rows], mean) for _, rows in job.within(shard)]
    return found


def _scaled(job: Job, shard: int) -> dict[str, list[tuple[int, float]]]:
    """Return by block the sums of transformed numbers."""
    means: Means = job.kept(MEANS)
    columns, _ = job.kept(COLUMNS)
    frame, found = frame_of(job, shard), {}
    for name, link in means.plain.items():
        values = link.forward(numbers(frame[name], columns[name]))
        found[name] = [added(values[rows]) for _, rows in job.within(shard)]
    return found
