"""θ under constraints: learnt from the records and from what the model drew in vain.

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

The chain starts at the fit that knows of no constraint. All copies share its first turns; then each goes ``apart`` turns
of its own, so that the θ of two copies lie twice as many turns apart. How many turns are enough is measured: ``memory``
is the integrated autocorrelation time of what θ makes of the same random numbers.

Cost: a turn is one fit to n·(1 + r) rows and one draw of about as many, r the draws rejected per record; 40 turns and 5
for each copy where little is cut off, several hundred where most is.

References
----------
Rao, Lin, Dunson (2016), Data augmentation for models based on rejection sampling, Biometrika 103(2), 319-335.
Sokal (1997), Monte Carlo methods in statistical mechanics, in Functional Integration, 131-192, section 3 (windows).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd

from synthdp.applicability import holds
from synthdp.errors import Unfinished
from synthdp.imputation.protocol import ImputationModel, Movable, Parameters, Posterior, Task
from synthdp.microdata import Codes, Floats, Microdata
from synthdp.synthesis.cells import flat
from synthdp.synthesis.constraints import violated

# turns after which the chain is looked at, and how many times its memory it must have run
LENGTHS = (80, 160, 320, 640, 1280)
SETTLED = 8
FEWEST_APART = 10
WINDOW = 5
# the same random numbers for every θ: what differs between two probes is θ; nothing that is released depends on it
PROBE_SEED, PROBE_RECORDS = 0, 500
SMALLEST = 1e-12
# tries of each record in one go, so many goes; most records need one or two. So many rows cost next to nothing
CHEAP = 4_096
TRIES = (2, 10, 40, 150, 800, 4_000, 15_000)
MOST_TRIES = sum(TRIES)
# on the mean of all records, and of a thousand where there are fewer
MOST_REJECTED = 50
FEW = 1_000
ROWS_AT_ONCE = 2**18

# drawn values of some records as they would be released, the rest of each record as it is
Write = Callable[[Codes, Mapping[str, Floats]], pd.DataFrame]


@dataclass(frozen=True, repr=False)
class Tried:
    """Draws of the model: of which record each is a try, and its working values."""

    rows: Codes
    drawn: Mapping[str, Floats]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"Tried({len(self)} draws)"


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
    records
        The records that are taken for draws which kept the constraints.
    rejected
        The state of the chain where the copies' own chains part from it.
    turns, apart
        How long the shared chain was, and how long each copy's own is.
    """

    model: ImputationModel
    task: Task
    constraints: tuple[str, ...]
    write: Write
    records: Codes
    rejected: Tried
    turns: int = 0
    apart: int = FEWEST_APART

    @classmethod
    def of(
        cls,
        model: ImputationModel,
        task: Task,
        posterior: Posterior,
        constraints: Sequence[str],
        write: Write,
        *,
        rng: np.random.Generator,
        records: Codes | None = None,
    ) -> Self:
        """Return the posterior, its chain started at one that knows of no constraint and run until it has settled.

        Raises
        ------
        Unfinished
            When it does not settle, or the model hardly ever draws what is asked for.
        """
        chosen = np.arange(len(task.data)) if records is None else records
        nothing = Tried(np.empty(0, dtype=np.int64), {name: np.empty(0) for name in task.working})
        found = cls(model, task, tuple(constraints), write, chosen, nothing)
        rejected, trace = found.reject(posterior.draw(rng=rng), rng=rng), list[Floats]()
        for turns in LENGTHS:
            while len(trace) < turns:
                theta = found.theta(rejected, rng=rng)
                rejected = found.reject(theta, rng=rng)
                trace.append(found.probe(theta))
            # from the very start, which is off where it matters: a chain that still comes from there has a long memory
            length = memory(np.asarray(trace))
            if turns >= SETTLED * length:
                return replace(found, rejected=rejected, turns=turns, apart=max(FEWEST_APART, int(np.ceil(length))))
        raise Unfinished(
            f"constraints: the model's parameters have not settled after {LENGTHS[-1]} turns, with "
            f"{len(rejected) / len(chosen):.1f} draws rejected for each record: too much is cut off to tell what the law "
            "was. Loosen the constraint, or replace only one of its columns."
        )

    def __repr__(self) -> str:
        return f"Truncated({len(self.records)} records, {self.rejected})"

    def draw(self, *, rng: np.random.Generator) -> Parameters:
        """Draw θ, ``apart`` turns from where the copies' chains part."""
        rejected = self.rejected
        for _ in range(self.apart - 1):
            rejected = self.reject(self.theta(rejected, rng=rng), rng=rng)
        return self.theta(rejected, rng=rng).of(np.arange(len(self.task.data)))

    def theta(self, rejected: Tried, *, rng: np.random.Generator) -> Movable:
        """Draw θ given the records and the rejected draws; it is θ of the longer table, the file's records first."""
        return _movable(self.model.fit(self.longer(rejected), rng=rng).draw(rng=rng))

    def reject(self, parameters: Parameters, *, rng: np.random.Generator) -> Tried:
        """Draw every record until the constraints hold, and return the draws before that one.

        Raises
        ------
        Unfinished
            When a record takes more than ``MOST_TRIES`` draws, or all together ``MOST_REJECTED`` each.
        """
        theta = _movable(parameters)
        columns = self.task.data.schema.replaced()

        def draw(rows: Codes) -> dict[str, Floats]:
            return theta.unbounded(rows).draw({c.name: flat(c, len(rows)) for c in columns}, rng=rng)

        vain = [part for part, _ in tries(self.records, draw, self.write, self.constraints)]
        names = self.task.working
        return Tried(
            np.concatenate([part.rows for part in vain]),
            {name: np.concatenate([part.drawn[name] for part in vain]) for name in names},
        )

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
        task, n = self.task, len(self.task.data)
        rows = np.concatenate([np.arange(n), rejected.rows])
        tried = self.write(rejected.rows, rejected.drawn)
        applies = {
            name: np.concatenate([known, holds(task.data.schema[name], tried)]) for name, known in task.applies.items()
        }
        working = {name: np.concatenate([x, rejected.drawn[name]]) for name, x in task.working.items()}
        return replace(
            task,
            data=Microdata(pd.concat([task.data.frame, tried], ignore_index=True), task.data.schema),
            predictors=replace(task.predictors, matrix=task.predictors.matrix[rows]),
            working={name: np.where(applies[name], x, np.nan) if name in applies else x for name, x in working.items()},
            applies=applies,
            own=n,
        )


def tries(
    records: Codes, draw: Callable[[Codes], Mapping[str, Floats]], write: Write, constraints: Sequence[str]
) -> Iterator[tuple[Tried, Tried]]:
    """Draw records until the constraints hold; yield what was drawn in vain, and what was drawn at last, in parts.

    Cost: as many rows as draws are needed, and a few more, because records are tried several times in one go.

    Parameters
    ----------
    draw
        Gives independent draws of the records it is asked for, a record as often as it is named.

    Raises
    ------
    Unfinished
        When a record takes more than ``MOST_TRIES`` draws, or all together ``MOST_REJECTED`` each.
    """
    pending, total = records, 0
    # of few records many tries in one go: it is the goes that cost
    for count in (int(np.clip(CHEAP // max(len(records), 1), *TRIES[:2])), *TRIES[1:]):
        left = []
        for some in _blocks(pending, count):
            rows = np.repeat(some, count)
            drawn = draw(rows)
            holds_so = ~violated(write(rows, drawn), constraints).reshape(-1, count)
            # tries after the first that holds were never made
            first = np.where(holds_so.any(axis=1), holds_so.argmax(axis=1), count)
            vain = np.flatnonzero(np.arange(count) < first[:, None])
            last = np.flatnonzero(np.arange(count) == first[:, None])
            yield (
                Tried(rows[vain], {name: values[vain] for name, values in drawn.items()}),
                Tried(rows[last], {name: values[last] for name, values in drawn.items()}),
            )
            total += len(vain)
            if total > MOST_REJECTED * max(len(records), FEW):
                raise Unfinished(_seldom(f"fewer than one draw in {MOST_REJECTED} keeps them"))
            left.append(some[first == count])
        pending = np.concatenate(left)
        if not len(pending):
            return
    raise Unfinished(_seldom(f"of {len(pending)} records none of {MOST_TRIES} draws keeps them"))


def memory(trace: Floats) -> float:
    """Return the longest integrated autocorrelation time of the columns of a trace; about 1 for independent rows.

    The larger of two estimates: 1 + 2 Σ ρ_k up to the first lag of ``WINDOW`` times the sum so far (Sokal 1997), and
    (1 + ρ₁)/(1 − ρ₁), the time of a series whose correlations decay by ρ₁. A short trace cannot show the first, and ρ₁
    is raised by (1 + 3ρ₁)/rows, which is what it is too small by (Kendall 1954, Biometrika 41, 403-404).

    Examples
    --------
    >>> memory(np.random.default_rng(1).normal(size=(4000, 1))) < 1.3
    True
    """
    rows, longest = len(trace), 1.0
    for series in (trace - trace.mean(axis=0)).T:
        total = float(series @ series)
        if total < SMALLEST * rows:
            continue
        found = 1.0
        for lag in range(1, rows):
            found += 2 * float(series[lag:] @ series[:-lag]) / total
            if lag >= WINDOW * found:
                break
        first = float(series[1:] @ series[:-1]) / total
        first = min(first + (1 + 3 * first) / rows, 1 - 1 / rows)
        longest = max(longest, found, (1 + first) / (1 - first))
    return longest


def _blocks(records: Codes, tries: int) -> Iterator[Codes]:
    """Yield the records so many at a time that their tries fit into memory."""
    step = max(ROWS_AT_ONCE // tries, 1)
    return (records[start : start + step] for start in range(0, len(records), step))


def _movable(parameters: Parameters) -> Movable:
    if not isinstance(parameters, Movable):
        raise TypeError(f"{type(parameters).__name__} cannot be learnt under constraints")
    return parameters


def _seldom(how: str) -> str:
    return (
        f"constraints: {how}; the model hardly ever draws what is asked for, and cannot be learnt under it. Loosen the "
        "constraint, give its columns bounds or a transform that suit it, or replace only one of them."
    )
