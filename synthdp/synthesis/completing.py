"""Completed originals: the missing values drawn, m times, before copies are made of each.

    D_l = (observed, missing_l),   missing_l ~ p(missing | observed),   l = 1 … m

Missing at random given the other columns is assumed. What does not apply (``applies_when``) stays missing; where a
column that decides about others was missing itself, they apply or not as its drawn value says.

*The copula* is fitted to what is observed, missing cells are free; every l has parameters of its own.

*Regressions and trees* need complete records, so they are chained: started from values of other records, every
incomplete column in turn is drawn given all others as they stand, by its own regression (or tree) with parameters drawn
from their posterior given the records in which it is known. With one incomplete column that is exact; with more it is
the usual approximation of a joint posterior by its conditionals (exact in the limit for linear regressions). A column
is never predicted from those that apply or not because of it: their gaps would repeat its own.

Under ``constraints`` a value is drawn where they hold, and regressions are learnt as of records that all keep them (see
``truncation``).

Neither looks at masks: D_l is the original as far as the copies are concerned, W is made from it.

References
----------
Reiter (2004), Survey Methodology 30(2), 235-242 (completed first, then synthesised). van Buuren, Brand,
Groothuis-Oudshoorn, Rubin (2006), J. Statistical Computation and Simulation 76(12), 1049-1064 (chained equations).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from synthdp.applicability import Booleans, blanked, conditional, holds, needs, visits
from synthdp.imputation.copula.model import Copula
from synthdp.imputation.predictors import Predictors
from synthdp.imputation.protocol import ImputationModel, Movable, Posterior, Task
from synthdp.imputation.regression import Regression
from synthdp.imputation.trees.masked import MaskedCart
from synthdp.links import Link
from synthdp.microdata import Codes, Floats, Microdata
from synthdp.schema import Role, Schema
from synthdp.seeding import Streams
from synthdp.synthesis.cells import completed, flat, released
from synthdp.synthesis.constraints import binding, constrained
from synthdp.synthesis.truncation import Truncated, truncates
from synthdp.synthesis.trying import Draw, Tried, mended

Chainable = Regression | MaskedCart
# what a model may see of records: the kept columns of the data but those excluded, and the strength of their masks
See = Callable[[Microdata, Sequence[str]], Predictors]
Complete = Callable[[Streams, int], Microdata]
ROUNDS = 10


def incomplete(data: Microdata, exclude: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the columns with values missing where they apply, or where they may apply once others are filled in."""
    names = {
        column.name
        for column in data.schema.columns
        if column.name not in exclude and bool((data.frame[column.name].isna() & holds(column, data.frame)).any())
    }
    for column in conditional(data.schema):
        if column.name not in exclude and needs(column) & names:
            names.add(column.name)
    return tuple(name for name in visits(data.schema.columns) if name in names)


def completer(
    model: ImputationModel, data: Microdata, see: See, constraints: tuple[str, ...], *, rng: np.random.Generator
) -> tuple[Complete, tuple[Mapping[str, object], ...]]:
    """Return what draws a completed original from streams of its own, and what is to be said of the fit behind it."""
    names = incomplete(data, model.exclude)
    if isinstance(model, Regression | MaskedCart):
        return lambda streams, number: _chained(model, data, names, see, constraints, streams, number), ()
    if not isinstance(model, Copula):
        raise TypeError("this model cannot impute")
    kept = with_roles(data, ())
    task = Task(kept, see(kept, model.exclude), {}, {})
    posterior = model.fit(task, rng=rng)

    def complete(streams: Streams, number: int) -> Microdata:
        parameters = posterior.draw(rng=streams.generator("parameters"))
        values = streams.generator("values")

        def draw() -> pd.DataFrame:
            drawn = parameters.draw({}, rng=values)
            frame = data.frame
            for name in names:
                if name in drawn:
                    frame = frame.assign(**{name: completed(drawn[name], data.schema[name], frame)})
            return frame

        return Microdata(constrained(draw, constraints, copy=number), data.schema)

    return complete, posterior.diagnostics()


def started(data: Microdata, names: Sequence[str], *, rng: np.random.Generator) -> Microdata:
    """Return the records with values of others, taken at random, where columns have none and apply."""
    frame = data.frame
    for name in names:
        series = frame[name]
        known = np.flatnonzero(series.notna())
        if len(known):
            taken = series.iloc[known[rng.integers(len(known), size=len(series))]].set_axis(series.index)
            frame = frame.assign(**{name: series.where(series.notna() | ~holds(data.schema[name], frame), taken)})
    return Microdata(frame, data.schema)


def _chained(
    model: Chainable,
    data: Microdata,
    names: Sequence[str],
    see: See,
    constraints: tuple[str, ...],
    streams: Streams,
    number: int,
) -> Microdata:
    """Draw a completed original by chained equations. O(rounds · n d²) per incomplete column with d predictors."""
    rng = streams.generator("start")
    # a record that no value of others suits starts with one that does not: its own draw will
    frame = constrained(lambda: started(data, names, rng=rng).frame, constraints, copy=number, strict=False)
    known = {name: data.frame[name].notna().to_numpy(dtype=bool) for name in names}
    # the chain of a column's parameters under constraints is settled once; later rounds go on from there
    settled: dict[str, Truncated] = {}
    for turn in range(ROUNDS if len(names) > 1 else 1):
        for name in names:
            here = Microdata(frame, data.schema)
            draw = _redraw(model, here, name, known[name], see, constraints, settled, streams.within(name, turn))
            everyone = np.arange(len(data))
            frame = mended(draw(everyone).table().set_axis(data.frame.index), draw, constraints)
    return Microdata(frame, data.schema)


def _redraw(
    model: Chainable,
    data: Microdata,
    name: str,
    known: Booleans,
    see: See,
    constraints: tuple[str, ...],
    settled: dict[str, Truncated],
    streams: Streams,
) -> Draw:
    """Fit one column given the others; return what draws its missing values, and blanks what does not apply then."""
    column = data.schema[name]
    decided = [other.name for other in conditional(data.schema) if name in needs(other)]
    exclude = (*model.exclude, *decided)
    alone = with_roles(data, (name,))
    link = None if column.kind.categorical else Link.of(alone, name)
    working = link.forward(data.numbers(name)) if link is not None else data.codes(name).astype(np.float64)
    task = Task(
        data=alone,
        predictors=see(alone, exclude),
        working={name: np.where(known, working, np.nan)},
        links={name: link} if link is not None else {},
        sweeps=1,
        # learnt from the records in which it is known
        applies={name: known},
    )
    change: dict[str, object] = {"order": None, "exclude": exclude}
    if isinstance(model, MaskedCart):
        change["proper"] = True  # imputations without parameters of their own would be too much alike
    changed = model.model_copy(update=change)
    posterior: Posterior = changed.fit(task, rng=streams.generator("fit"))
    dependent = with_roles(data, decided).schema
    bound = binding(constraints, (name, *decided))
    if bound and truncates(model):

        def write(rows: Codes, drawn: Mapping[str, Floats]) -> pd.DataFrame:
            frame = data.frame.take(rows).reset_index(drop=True)
            frame[name] = released(drawn[name], column, link, frame[name])
            return blanked(frame, dependent)

        if name not in settled:
            rng = streams.generator("truncation")
            # where it is missing it broke nothing: only the records in which it is known were restricted
            rows = np.flatnonzero(known)
            settled[name] = Truncated.of(changed, task, posterior, bound, write, rng=rng, records=rows)
        posterior = replace(settled[name], task=task, write=write)
    parameters = posterior.draw(rng=streams.generator("parameters"))
    if not isinstance(parameters, Movable):
        raise TypeError("this model cannot impute")
    values = streams.generator("values")

    def draw(rows: Codes) -> Tried:
        drawn = parameters.of(rows).draw({name: flat(column, len(rows))}, rng=values)
        frame = data.frame.take(rows).reset_index(drop=True)
        new = released(drawn[name], column, link, frame[name])
        frame = frame.assign(**{name: frame[name].where(known[rows] | ~holds(column, frame), new)})
        return Tried(rows, drawn, blanked(frame, dependent))

    return draw


def with_roles(data: Microdata, replaced: Sequence[str]) -> Microdata:
    """Return the records with these columns replaced and all others kept."""
    columns = tuple(
        column.model_copy(update={"role": Role.REPLACE if column.name in replaced else Role.KEEP})
        for column in data.schema.columns
    )
    return Microdata(data.frame, Schema(columns=columns))
