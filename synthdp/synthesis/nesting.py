"""Copies of one original, or of each of m completed ones: missing values are drawn m times first (Reiter 2004).

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

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from synthdp.arrays import Booleans
from synthdp.imputation.cells import completed, flat, released
from synthdp.imputation.model import Association, Movable, Posterior, Task
from synthdp.imputation.predictors import Predictors
from synthdp.masking.mask import MaskDraw
from synthdp.parallel import Advance, each
from synthdp.seeding import Streams
from synthdp.synthesis.constraints import binding, constrained
from synthdp.synthesis.plan import Plan, Release
from synthdp.synthesis.rejection import Draw, Tried, mended
from synthdp.synthesis.ruling import retagged, ruled
from synthdp.synthesis.sampler import Drawn, Imputing, draw_copies, links_of, masks_of, predictors_of
from synthdp.synthesis.truncation import Truncated
from synthdp.table.applies import blanked, conditional, holds, needs, visits
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Role, Schema

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
    model: Association,
    data: Microdata,
    see: See,
    constraints: tuple[str, ...],
    *,
    rng: np.random.Generator,
    jobs: int = 1,
) -> tuple[Complete, tuple[Mapping[str, object], ...]]:
    """Return what draws a completed original from streams of its own, and what is to be said of the fit behind it."""
    names = incomplete(data, model.exclude)
    if model.completes == "chained":
        return lambda streams, number: _chained(model, data, names, see, constraints, streams, number), ()
    if model.completes is None:
        raise TypeError("this model cannot impute")
    kept = with_roles(data, ())
    task = Task(kept, see(kept, model.exclude), {}, {}, jobs=jobs)
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
    model: Association,
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
    model: Association,
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
    link = None if column.kind.categorical else model.scale(_as_known(alone, name, known, model), name)
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
    changed = model.of_one(exclude)
    posterior: Posterior = changed.fit(task, rng=streams.generator("fit"))
    dependent = with_roles(data, decided).schema
    bound = binding(constraints, (name, *decided))
    if bound and model.keeps_constraints == "learnt":

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


def _as_known(data: Microdata, name: str, known: Booleans, model: Association) -> Microdata:
    """Return the records without what was filled in, where a model keeps gaps: its scale is the margin of the known.

    Values that were filled in repeat those of few, which would look like values that many share.
    """
    if not model.keeps_gaps:
        return data
    return Microdata(data.frame.assign(**{name: data.frame[name].where(known)}), data.schema)


def with_roles(data: Microdata, replaced: Sequence[str]) -> Microdata:
    """Return the records with these columns replaced and all others kept."""
    columns = tuple(
        column.model_copy(update={"role": Role.REPLACE if column.name in replaced else Role.KEEP})
        for column in data.schema.columns
    )
    return Microdata(data.frame, Schema(columns=columns))


# what is drawn for a missing cell depends on the record's true values, and of a kept column it is released unmasked
IMPUTED = "missing values were imputed from the records' own values before anything was masked"


def sample(
    plan: Plan,
    settings: Imputing,
    mask_draw: MaskDraw | None,
    *,
    streams: Streams,
    jobs: int = 1,
    advance: Advance | None = None,
) -> Release:
    """Draw the copies of a plan: of the original, or of each of its completed originals, in that order.

    Cost O(n·d²) to fit d predictors; per copy O(n·d) for θ and for X. Copies (completed originals, where there are
    several) run in parallel threads; each depends on its own streams only, so the result is the same for any number of
    jobs.

    Parameters
    ----------
    mask_draw
        When W is drawn; None for no W at all.
    """
    # one BLAS thread: sums taken in another order would change the last digit with the number of jobs
    with threadpool_limits(limits=1, user_api="blas"):
        several = settings.imputations > 1
        way = _of_completed if several else draw_copies
        drawn = way(plan, settings, mask_draw, streams=streams, jobs=jobs, advance=advance)
    masks = masks_of(plan, links_of(plan.data, settings.model)).values()
    terms = draws_of(settings, mask_draw), withdrawn(plan, settings, mask_draw)
    rows = (row for mask in masks for row in mask.statements(*terms))
    seconds = {"fit": drawn.fit, "draw": drawn.draw}
    return Release.of(settings, plan, drawn.copies, masking=tuple(rows), chain=drawn.chain, seconds=seconds)


def _of_completed(
    plan: Plan,
    settings: Imputing,
    mask_draw: MaskDraw | None,
    *,
    streams: Streams,
    jobs: int,
    advance: Advance | None,
) -> Drawn:
    """Draw copies of each completed original (see ``completer``), to which the model is fitted again."""
    started = time.perf_counter()
    m, r = settings.imputations, settings.copies
    masks = masks_of(plan, links_of(plan.data, settings.model))
    unseen = ruled(plan, settings.model)
    complete, rows = completer(
        settings.model,
        plan.data,
        lambda data, exclude: predictors_of(
            plan, masks, data, exclude, getattr(settings.model, "splines", 0), ruled=unseen
        ),
        plan.constraints,
        rng=streams.generator("complete"),
        jobs=jobs,
    )
    prepared = time.perf_counter() - started
    # few originals, many threads: what is left over goes to the copies of each
    outer, inner = min(jobs, m), max(1, jobs // m)

    def nest(number: int) -> Drawn:
        began = time.perf_counter()
        own = streams.within("imputation", number)
        original = replace(plan, data=complete(own.within("complete"), number))
        if unseen:
            original = retagged(original)
        seconds = time.perf_counter() - began

        def told(done: int, _: int) -> None:
            if advance is not None:
                advance((number - 1) * r + done, m * r)

        of_one = partial(draw_copies, streams=own, jobs=inner, advance=told if outer == 1 else None)
        drawn = of_one(original, settings, mask_draw)
        return replace(drawn, fit=drawn.fit + seconds)

    def through(done: int, _: int) -> None:
        if advance is not None and outer > 1:
            advance(done * r, m * r)

    nests = tuple(each(nest, range(1, m + 1), jobs=outer, advance=through))
    said = [{**row, "imputation": number} for number, one in enumerate(nests, start=1) for row in one.chain]
    left_out = [row["column"] for row in rows if "left_out" in row]
    return Drawn(
        copies=tuple(copy for one in nests for copy in one.copies),
        chain=(*rows, *(row for row in said if not ("left_out" in row and row["column"] in left_out))),
        fit=prepared + sum(one.fit for one in nests),
        draw=sum(one.draw for one in nests),
    )


def draws_of(settings: Imputing, mask_draw: str | None) -> int:
    """Return how often W is drawn for a release."""
    return settings.imputations * (settings.copies if mask_draw == "per_copy" else 1)


def withdrawn(plan: Plan, settings: Imputing, mask_draw: str | None) -> str | None:
    """Return why no formal statement about the masks can stand, or None."""
    if settings.imputations > 1:
        return IMPUTED
    if mask_draw == "once_orthogonal":
        return "the noise was orthogonalised against the data"
    if plan.masks_by_group and not plan.tags.public:
        return "risk groups were computed from the data and are not public"
    return plan.selection
