"""θ under constraints: learnt from the records and from what the model drew in vain, for joint draws and for sequences.

Copies are drawn from p(x | z, w, θ) restricted to where the constraints C hold (see ``constraints``), so the records
must be taken for draws of the same restricted law, with the likelihood

    Π_i p(x_i | z_i, θ) / Pr(C | z_i, θ)

Fitted without the divisor, θ describes what the restriction left, copies restrict it a second time, and 95% intervals
held the truth in 0.43 to 0.75 of files. The divisor has no closed form, but needs none. Take every record for the first
of several tries that kept C, and the tries before it for data too. θ and the rejected tries are then drawn in turn,

    θ | records and rejected          the model's own posterior, of the longer table
    rejected | θ                      for each record: draws of p(x | z_i, θ) up to the first that keeps C

and θ has the posterior of the likelihood above (Rao, Lin and Dunson 2016, section 2: summed over the rejected tries,
the joint density of all tries is the restricted density of the last). Any model that can be fitted to a longer table
will do, whatever its families.

The chain starts at the fit that knows of no constraint. All copies share its first turns; then each goes some
turns of its own, so that the θ of two copies lie twice as many turns apart. How many turns are enough is measured on
what θ makes of the same random numbers (see ``rejection.settle``).

Cost: a turn is one fit to n·(1 + r) rows and one draw of about as many, r the draws rejected per record; 80 turns and
10 for each copy where little is cut off, several hundred where most is.

References
----------
Rao, Lin, Dunson (2016), Data augmentation for models based on rejection sampling, Biometrika 103(2), 319-335.

    θ | records and rejected          every column's regression, of the longer table
    rejected | θ                      for each record: forward draws up to the first that keeps the constraints

θ is a draw for every copy, never an estimate: the regressions are proper, whatever ``proper`` says.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np
import pandas as pd

from synthdp.imputation.cells import flat, released
from synthdp.imputation.model import Association, Movable, Parameters, Posterior, Task
from synthdp.imputation.regression.forward import ColumnModel, Regressions
from synthdp.synthesis.constraints import Check
from synthdp.synthesis.rejection import MOST_REJECTED, SMALLEST, Pace, Tried, Tries, believed, breaking, settle, tries
from synthdp.table.applies import blanked, holds
from synthdp.table.microdata import Codes, Floats

# the same random numbers for every θ: what differs between two probes is θ; nothing that is released depends on it
PROBE_SEED, PROBE_RECORDS = 0, 500

# drawn values of some records as they would be released, the rest of each record as it is
Write = Callable[[Codes, Mapping[str, Floats]], pd.DataFrame]


@dataclass(frozen=True, repr=False)
class Truncated:
    """The posterior of θ given records that all keep the constraints, drawn from as any other.

    Parameters
    ----------
    model, task
        What is fitted, and to what.
    constraints
        What every record and every copy keeps.
    write
        Gives draws as they would be released, on which the constraints are looked at.
    quick
        Does the same without writing them, where that is possible.
    records
        The records that are taken for draws which kept the constraints.
    rejected
        The state of the chain where the copies' own chains part from it.
    pace
        How long the shared chain was, and how long each copy's own is.
    """

    model: Association
    task: Task
    constraints: tuple[str, ...]
    write: Write
    quick: Check | None
    records: Codes
    rejected: Tried
    pace: Pace = field(default_factory=Pace)

    @classmethod
    def of(
        cls,
        model: Association,
        task: Task,
        posterior: Posterior,
        constraints: Sequence[str],
        write: Write,
        *,
        rng: np.random.Generator,
        quick: Check | None = None,
        records: Codes | None = None,
    ) -> Self:
        """Return the posterior, its chain started at one that knows of no constraint and run for long enough.

        Raises
        ------
        Seldom
            When the model hardly ever draws what is asked for.
        """
        chosen = np.arange(len(task.data)) if records is None else records
        nothing = Tried(np.empty(0, dtype=np.int64), {})
        found = cls(model, task, tuple(constraints), write, quick, chosen, nothing)

        def turn(rejected: Tried) -> tuple[Tried, Floats]:
            theta, new = found.turn(rejected, rng=rng)
            return new, found.probe(theta)

        first = believed(lambda: _movable(posterior.draw(rng=rng)), partial(found.reject, rng=rng))[1]
        rejected, pace = settle(first, turn)
        return replace(found, rejected=rejected, pace=pace)

    def __repr__(self) -> str:
        return f"Truncated({len(self.records)} records, {self.rejected})"

    def draw(self, *, rng: np.random.Generator) -> Parameters:
        """Draw θ, ``pace.apart`` turns from where the copies' chains part."""
        rejected = self.rejected
        for _ in range(self.pace.apart):
            theta, rejected = self.turn(rejected, rng=rng)
        return theta.of(np.arange(len(self.task.data)))

    def diagnostics(self) -> tuple[dict[str, object], ...]:
        """Return what the release says of the chain."""
        return self.pace.rows()

    def turn(self, rejected: Tried, *, rng: np.random.Generator) -> tuple[Movable, Tried]:
        """Return θ drawn given what was rejected, and what θ rejects."""
        posterior = self.model.fit(self.longer(rejected), rng=rng)
        return believed(lambda: _movable(posterior.draw(rng=rng)), partial(self.reject, rng=rng))

    def reject(self, theta: Movable, *, rng: np.random.Generator) -> Tried:
        """Draw every record until the constraints hold, and return the draws before that one.

        Raises
        ------
        Seldom
            When more than ``MOST_REJECTED`` draws are in vain, on the mean of the records.
        """
        columns, quick = self.task.data.schema.replaced(), self.quick

        def draw(rows: Codes) -> Tried:
            drawn = theta.unbounded(rows).draw({c.name: flat(c, len(rows)) for c in columns}, rng=rng)
            return Tried(rows, drawn, self.write(rows, drawn) if quick is None else None)

        broken = breaking(self.constraints) if quick is None else lambda made: quick(made.rows, made.drawn)
        return tries(self.records, draw, broken, most=MOST_REJECTED).vain()

    def probe(self, parameters: Movable) -> Floats:
        """Return means, log variances and correlations of what θ makes of the same random numbers."""
        columns = self.task.data.schema.replaced()
        rows = self.records[:: max(len(self.records) // PROBE_RECORDS, 1)]
        silent = {c.name: flat(c, len(rows)) for c in columns}
        drawn = parameters.unbounded(rows).draw(silent, rng=np.random.default_rng(PROBE_SEED))
        values = np.asarray([drawn[c.name] for c in columns])
        spread = np.cov(values, ddof=0).reshape(len(columns), -1) + SMALLEST * np.eye(len(columns))
        scale = np.sqrt(np.diag(spread))
        between = (spread / np.outer(scale, scale))[np.triu_indices(len(columns), 1)]
        return np.concatenate([values.mean(axis=1), np.log(scale), between])

    def longer(self, rejected: Tried) -> Task:
        """Return what the model is fitted to: the records, and the rejected draws as if they were records too."""
        task = self.task
        rows = np.concatenate([np.arange(len(task.data)), rejected.rows])
        applies = {
            name: np.concatenate([known, holds(task.data.schema[name], rejected.table())])
            for name, known in task.applies.items()
        }
        working = {name: np.concatenate([x, rejected.drawn[name]]) for name, x in task.working.items()}
        return replace(
            task,
            predictors=replace(task.predictors, matrix=task.predictors.matrix[rows]),
            working={name: np.where(applies[name], x, np.nan) if name in applies else x for name, x in working.items()},
            applies=applies,
        )


def writer(task: Task) -> Write:
    """Return what writes draws of some records as they would be released."""

    def write(rows: Codes, drawn: Mapping[str, Floats]) -> pd.DataFrame:
        frame = task.data.frame.take(rows).reset_index(drop=True)
        for column in task.data.schema.replaced():
            frame[column.name] = released(drawn[column.name], column, task.links.get(column.name), frame[column.name])
        return blanked(frame, task.data.schema)

    return write


def _movable(parameters: Parameters) -> Movable:
    if not isinstance(parameters, Movable):
        raise TypeError(f"{type(parameters).__name__} cannot be learnt under constraints")
    return parameters


Theta = dict[str, ColumnModel]


@dataclass(frozen=True, repr=False)
class TruncatedSequence:
    """The posterior of all regressions given records that all keep the constraints.

    Parameters
    ----------
    regressions
        Fitted to the records alone.
    rejected, pace
        As :class:`~synthdp.synthesis.truncation.Truncated` has them.
    """

    regressions: Regressions
    constraints: tuple[str, ...]
    rejected: Tried
    pace: Pace = field(default_factory=Pace)

    @classmethod
    def of(cls, regressions: Regressions, constraints: tuple[str, ...], *, rng: np.random.Generator) -> Self:
        """Return the posterior, its chain run until it has settled.

        Raises
        ------
        Seldom
            When the model hardly ever draws what is asked for.
        """
        nothing = Tried(np.empty(0, dtype=np.int64), {}, regressions.data.frame.head(0))
        found = cls(regressions, constraints, nothing)

        def turn(rejected: Tried) -> tuple[Tried, Floats]:
            theta, new = found.turn(rejected, rng=rng)
            return new, np.concatenate([column.numbers() for column in theta.values()])

        first = believed(lambda: _drawn(regressions, rng=rng), partial(found.reject, rng=rng))[1]
        rejected, pace = settle(first, turn)
        return replace(found, rejected=rejected, pace=pace)

    def __repr__(self) -> str:
        return f"TruncatedSequence({self.rejected})"

    def draw(self, *, rng: np.random.Generator) -> pd.DataFrame:
        """Return a copy: θ drawn some turns further along the chain, then the records until they keep them."""
        rejected = self.rejected
        for _ in range(self.pace.apart):
            theta, rejected = self.turn(rejected, rng=rng)
        last = self._tried(theta, rng=rng).last()
        return last.table().take(np.argsort(last.rows)).set_axis(self.regressions.data.frame.index)

    def turn(self, rejected: Tried, *, rng: np.random.Generator) -> tuple[Theta, Tried]:
        """Return θ drawn given what was rejected, and what θ rejects."""
        longer = self.regressions.longer(rejected.rows, rejected.table())
        return believed(lambda: _drawn(longer, rng=rng), partial(self.reject, rng=rng))

    def reject(self, theta: Theta, *, rng: np.random.Generator) -> Tried:
        """Draw every record until the constraints hold, and return the draws before that one."""
        return self._tried(theta, rng=rng, most=MOST_REJECTED).vain()

    def _tried(self, theta: Theta, *, rng: np.random.Generator, most: float = np.inf) -> Tries:
        def draw(rows: Codes) -> Tried:
            copy = self.regressions.some(rows)
            for column in theta.values():
                column.draw(copy, rng=rng)
            return Tried(rows, {}, copy.frame)

        return tries(np.arange(len(self.regressions.data)), draw, breaking(self.constraints), most=most)


def _drawn(regressions: Regressions, *, rng: np.random.Generator) -> Theta:
    return {name: regressions.fit(name, rng=rng) for name in regressions.visits}
