"""θ from passes over the shards: sums added in the order of the blocks, as ``Regression.fit`` adds them in memory.

A normal regression needs D'D, D'y and y'y, one pass for all of them. The mode of a binary regression is climbed to by
Newton's method, a pass per step. Its draws compare proposals by their likelihood: what all copies (or all draws of a
verdict) propose is noted first, weighed in one pass, and the draws are then made again from the same streams with the
answers at hand, so that their number costs no passes. Nothing is approximated: θ is that of the whole file, to the bit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from synthdp.engine import Engine
from synthdp.imputation.families.links import LinkName
from synthdp.imputation.families.normal import LinearPosterior, LinearSums
from synthdp.imputation.families.sampling import IndependenceSampler
from synthdp.imputation.families.unordered import binary_sampler_of, gain_of, height_of, slope_of, together, with_prior
from synthdp.imputation.predictors import AsLevels, AsPredictor, Predictors
from synthdp.imputation.regression.association import (
    Regression,
    RegressionParameters,
    RegressionPosterior,
    exact_parts,
    limits_of,
)
from synthdp.parallel import Advance
from synthdp.seeding import Streams
from synthdp.stages.streaming.job import Job, once
from synthdp.stages.streaming.looking import Facts
from synthdp.stages.streaming.reading import frame_of
from synthdp.stages.streaming.tagging import Grouping, tags_of
from synthdp.table.coded import MISSING, coded
from synthdp.table.links import Link, working
from synthdp.table.microdata import Floats
from synthdp.table.schema import Column

LAYOUT, DESIGN, WORKING = "layout.pickle", "design", "working"


@dataclass(frozen=True, repr=False)
class Layout:
    """How records enter the regressions.

    Parameters
    ----------
    entries
        The kept columns that the model sees, each with how it enters the design.
    replaced
        The replaced columns in the order of their regressions, each with its working scale.
    binary
        How many of them are binary.
    grouping
        Who needs more protection, where the masks depend on that: the regressions then see it too.
    """

    entries: tuple[tuple[Column, AsLevels | AsPredictor], ...]
    replaced: tuple[tuple[Column, Link | None], ...]
    binary: int
    grouping: Grouping | None = None

    @classmethod
    def of(cls, facts: Facts, model: Regression, grouping: Grouping | None = None) -> "Layout":
        """Return the layout of a file that was looked at."""
        parts = exact_parts(facts.schema, model.arranged(facts.schema))
        if parts is None:  # refused before
            raise TypeError("the joint draw is not exact")
        entries = [(c, _entry(c, facts)) for c in facts.schema.kept() if c.name not in model.exclude]
        names = (*parts[0], *parts[1])
        replaced = tuple((facts.schema[name], facts.links.get(name)) for name in names)
        return cls(tuple(entries), replaced, len(parts[0]), grouping)

    def predictors(self) -> Predictors:
        """Return the design of no records: its names and priors."""
        groups = self.grouping.entries if self.grouping is not None else ()
        strength = tuple(name for entry in groups for name in entry.names)
        names = ("constant", *(name for _, entry in self.entries for name in entry.names), *strength)
        return Predictors(np.empty((0, len(names))), names, len(strength))


def prepare(job: Job, engine: Engine, layout: Layout, advance: Advance | None = None) -> None:
    """Write what the regressions see of every shard: the design, and the working values of the replaced columns."""
    job.keep(LAYOUT, layout)
    for _ in engine.each(partial(_prepared, job), range(len(job)), advance=advance):
        pass


def fit(job: Job, engine: Engine, model: Regression, *, rng: np.random.Generator) -> RegressionPosterior:
    """Return the posterior of all regressions, as ``model.fit`` gives it in memory."""
    layout: Layout = job.kept(LAYOUT)
    names = [column.name for column, _ in layout.replaced]
    binary_fits: list[IndependenceSampler] = []
    for j in range(layout.binary):
        records = _Records(job, engine, j, model.link)
        binary_fits.append(binary_sampler_of(records, _prior(layout, model, j), rng=rng))
    parts = list(engine.each(partial(_sums, job), range(len(job))))
    number_fits = []
    for place in range(len(names) - layout.binary):
        total = reduce(LinearSums.__add__, (block[place] for part in parts for block in part))
        number_fits.append(LinearPosterior.known(total, _prior(layout, model, layout.binary + place)))
    binary, numbers = tuple(names[: layout.binary]), tuple(names[layout.binary :])
    links = {column.name: link for column, link in layout.replaced if link is not None}
    limits = limits_of(links, numbers)
    return RegressionPosterior(
        layout.predictors().matrix, binary, numbers, tuple(binary_fits), tuple(number_fits), limits, model.link
    )


def draw(
    job: Job,
    engine: Engine,
    model: Regression,
    posterior: RegressionPosterior,
    copies: Sequence[tuple[Streams, int]],
) -> list[RegressionParameters]:
    """Draw θ of every copy, each from its own stream, with one pass for each binary column.

    The stream of a draw is read in the same way whatever the likelihood is, so that the first reading finds out what
    will be asked, and the second has the answers.
    """
    layout: Layout = job.kept(LAYOUT)
    asked: list[list[Floats]] = [[] for _ in posterior.binary_fits]

    def note(j: int, betas: Floats) -> Floats:
        asked[j].append(betas)
        return np.zeros(len(betas))

    _drawn(posterior, note, copies)
    answers = []
    for j, (one, sets) in enumerate(zip(posterior.binary_fits, asked, strict=True)):
        records, prior = _Records(job, engine, j, model.link), _prior(layout, model, j)
        gains = records.gains([np.vstack([one.mode, betas]) for betas in sets])
        answers.append(
            iter([with_prior(gain, betas, one.mode, prior) for gain, betas in zip(gains, sets, strict=True)])
        )
    return _drawn(posterior, lambda j, _: next(answers[j]), copies)


def _drawn(
    posterior: RegressionPosterior, answer: Callable[[int, Floats], Floats], copies: Sequence[tuple[Streams, int]]
) -> list[RegressionParameters]:
    fits = tuple(replace(one, log_posterior=partial(answer, j)) for j, one in enumerate(posterior.binary_fits))
    told = replace(posterior, binary_fits=fits)
    return [told.draw(rng=streams.generator("parameters", m)) for streams, m in copies]


def _prior(layout: Layout, model: Regression, place: int) -> Floats:
    binary = place < layout.binary
    sd = model.prior_sd if binary else model.linear_prior_sd
    return np.concatenate([layout.predictors().prior_sd(sd), np.full(place, sd)])


@dataclass(frozen=True, repr=False)
class _Records:
    """The records of a binary regression in the shards; what is asked is answered by a pass."""

    job: Job
    engine: Engine
    place: int
    link: LinkName
    known: dict[bytes, tuple[Floats, Floats]] = field(default_factory=dict)

    def height(self, beta: Floats) -> float:
        """Return the log likelihood; the slope is found on the way."""
        parts = self._pass(_climbed, beta)
        self.known.clear()
        self.known[beta.tobytes()] = (together([part[1] for part in parts]), together([part[2] for part in parts]))
        return float(sum(part[0] for part in parts))

    def slope(self, beta: Floats) -> tuple[Floats, Floats]:
        """Return its gradient, and minus the matrix of its second derivatives."""
        if beta.tobytes() not in self.known:
            self.height(beta)
        return self.known[beta.tobytes()]

    def gain(self, betas: Floats) -> Floats:
        """Return the log likelihood of each row but the first, less that of the first."""
        return self.gains([betas])[0]

    def gains(self, sets: Sequence[Floats]) -> list[Floats]:
        """Return the same of several sets, from one pass."""
        parts = self._pass(_weighed, sets) if sets else []
        return [together([part[k] for part in parts]) for k in range(len(sets))]

    def _pass(self, work: Callable[..., list[Any]], what: object) -> list[Any]:
        parts = self.engine.each(partial(work, self.job, self.place, self.link, what), range(len(self.job)))
        return [block for part in parts for block in part]


def _entry(column: Column, facts: Facts) -> AsLevels | AsPredictor:
    if not column.kind.categorical:
        return AsPredictor(
            column.name, *facts.moments.get(column.name, (np.nan, np.nan)), gaps=facts.missing[column.name] > 0
        )
    counts = np.roll(facts.counts[column.name], 1)  # missing ones first, as their code is the lowest
    there = np.flatnonzero(counts)
    return AsLevels.of(column.name, there + MISSING, counts[there])


def _prepared(job: Job, shard: int) -> None:
    layout: Layout = job.kept(LAYOUT)
    file = coded(frame_of(job, shard))
    rows = job.rows(shard)
    columns = [np.ones(rows.stop - rows.start)]
    for column, entry in layout.entries:
        columns += entry.columns(file.codes(column) if isinstance(entry, AsLevels) else file.numbers(column))  # type: ignore[arg-type]
    if layout.grouping is not None:
        columns += layout.grouping.columns(*tags_of(job, shard))
    values = [working(file, column, link) for column, link in layout.replaced]
    once(job.place(DESIGN, shard, "npy"), partial(_save, np.column_stack(columns)))
    once(job.place(WORKING, shard, "npy"), partial(_save, np.stack(values)))


def _save(values: Floats, to: Path) -> None:
    with to.open("wb") as file:
        np.save(file, np.ascontiguousarray(values))


def arrays_of(job: Job, shard: int) -> tuple[Floats, Floats]:
    """Return the design of a shard, and the working values of the replaced columns, one per row."""
    design = np.load(job.place(DESIGN, shard, "npy"), mmap_mode="r")
    return design, np.load(job.place(WORKING, shard, "npy"), mmap_mode="r")


def _designs(job: Job, shard: int, place: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield by block the design of a column's regression, and its values."""
    design, values = arrays_of(job, shard)
    for _, rows in job.within(shard):
        earlier = [values[k, rows][:, None] for k in range(place)]
        yield np.column_stack([design[rows], *earlier]), np.array(values[place, rows])


def _climbed(job: Job, place: int, link: LinkName, beta: Floats, shard: int) -> list[tuple[float, Floats, Floats]]:
    found = []
    for design, y in _designs(job, shard, place):
        signed = design * (2 * y - 1)[:, None]
        found.append((height_of(signed, beta, link), *slope_of(signed, beta, link)))
    return found


def _weighed(job: Job, place: int, link: LinkName, sets: Sequence[Floats], shard: int) -> list[list[Floats]]:
    found = []
    for design, y in _designs(job, shard, place):
        signed = design * (2 * y - 1)[:, None]
        found.append([gain_of(signed, betas, link) for betas in sets])
    return found


def _sums(job: Job, shard: int) -> list[list[LinearSums]]:
    layout: Layout = job.kept(LAYOUT)
    places = range(layout.binary, len(layout.replaced))
    each = [[LinearSums.of(design, y) for design, y in _designs(job, shard, place)] for place in places]
    return [list(block) for block in zip(*each, strict=True)] if each else [[] for _ in job.within(shard)]
