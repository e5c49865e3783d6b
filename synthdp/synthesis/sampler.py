"""The sampler behind DA-MI and MI.

What a model is fitted to, fit once, then every copy drawn from its own named streams.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from synthdp.imputation import predictors
from synthdp.imputation.cells import completed, flat, released
from synthdp.imputation.model import Association, Movable, Posterior, Task
from synthdp.imputation.predictors import Predictors
from synthdp.imputation.regression.gibbs import drift
from synthdp.masking.mask import ColumnMask, MaskDraw, MaskSettings, Residuals, Target, residual_maker
from synthdp.parallel import Advance, each
from synthdp.seeding import Streams
from synthdp.synthesis.blockwise import About, Piece, draw_all, known_of, noisy, pieces, some
from synthdp.synthesis.blockwise import drawn as draw_some
from synthdp.synthesis.constraints import binding, constrained, quick_check
from synthdp.synthesis.plan import Method, Plan
from synthdp.synthesis.rejection import Tried, mended
from synthdp.synthesis.ruling import Ruling, ruled
from synthdp.synthesis.truncation import Truncated, writer
from synthdp.table.applies import blanked, holds, visits
from synthdp.table.links import Link, working
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column

__all__ = ["Drawn", "Imputing", "draw_copies", "links_of", "masks_of", "predictors_of", "prepare"]


def prepare(plan: Plan, model: Association, sweeps: int) -> tuple[Task, dict[str, ColumnMask]]:
    """Return what the model is fitted to, and the mask of every replaced column."""
    data = plan.data
    links = links_of(data, model)
    masks = masks_of(plan, links)
    replaced = data.schema.replaced()
    values = {c.name: working(data.coded, c, links.get(c.name)) for c in replaced}
    applies = {c.name: holds(c, data.frame) for c in replaced if c.applies_when is not None}
    seen = predictors_of(plan, masks, data, model.exclude, getattr(model, "splines", 0), ruled=ruled(plan, model))
    return Task(data, seen, values, links, sweeps, applies), masks


def links_of(data: Microdata, model: Association) -> dict[str, Link]:
    """Return the working scale of every replaced number."""
    return {c.name: model.scale(data, c.name) for c in data.schema.replaced() if not c.kind.categorical}


def masks_of(plan: Plan, links: Mapping[str, Link]) -> dict[str, ColumnMask]:
    """Return the mask of every replaced column, groups and all."""
    return {c.name: _column_mask(plan, c, links.get(c.name)) for c in plan.data.schema.replaced()}


def predictors_of(
    plan: Plan,
    masks: Mapping[str, ColumnMask],
    data: Microdata,
    exclude: Sequence[str],
    splines: int,
    *,
    ruled: bool = False,
) -> Predictors:
    """Return what a model sees of the kept columns of the data, and of the strength of the plan's masks.

    Parameters
    ----------
    ruled
        Whether the draws know that the strength is a function of the values (see ``ruling``): then the model does not
        see the group.
    """
    tags = plan.tags
    grouped, graded = (any(test(mask) for mask in masks.values()) for test in (ColumnMask.grouped, ColumnMask.graded))
    return predictors.build(
        data,
        exclude=exclude,
        splines=splines,
        groups=np.asarray(tags.labels.cat.codes, dtype=np.int64) if grouped and not ruled else None,
        # the model sees no more of the counts than the masks do
        neighbours=np.maximum(tags.neighbours, min(m.fewest() for m in masks.values() if m.graded()))
        if graded
        else None,
    )


def _column_mask(plan: Plan, column: Column, link: Link | None) -> ColumnMask:
    by_group: dict[str, MaskSettings] = {
        group: block[column.name] for group, block in plan.masks_by_group.items() if column.name in block
    }
    target = Target(column, link, plan.tags.neighbours)
    return ColumnMask.plan(target, plan.masks.get(column.name), by_group, plan.tags.labels.to_numpy(dtype=object))


class Imputing(Method):
    """What the sampler needs to know of a method."""

    if TYPE_CHECKING:  # fields of every method that imputes, each with bounds and a default of its own
        model: Association
        missing: str
        sweeps: int


@dataclass(frozen=True, repr=False)
class Drawn:
    """The copies of one original, what is to be said of the chains behind them, and seconds of fitting and drawing."""

    copies: tuple[pd.DataFrame, ...]
    chain: tuple[Mapping[str, object], ...]
    fit: float
    draw: float


def draw_copies(
    plan: Plan,
    settings: Imputing,
    mask_draw: MaskDraw | None,
    *,
    streams: Streams,
    jobs: int,
    advance: Advance | None,
) -> Drawn:
    """Fit the model to the records of a plan and draw every copy from its own named streams."""
    started = time.perf_counter()
    task, masks = prepare(plan, settings.model, settings.sweeps)
    task = replace(task, jobs=jobs, advance=advance)
    fit = settings.model.fit if plan.fits is None else partial(plan.fits.of, settings.model)
    posterior: Posterior = fit(task, rng=streams.generator("fit"))
    chain: list[Mapping[str, object]] = [*posterior.diagnostics()]
    bound = binding(plan.constraints, task.working)
    if bound and settings.model.keeps_constraints == "learnt":
        rng = streams.generator("truncation")
        quick = quick_check(task, bound)
        posterior = Truncated.of(settings.model, task, posterior, bound, writer(task), rng=rng, quick=quick)
        chain += posterior.diagnostics()
    ruling = Ruling.of(plan, task, masks) if mask_draw is not None and ruled(plan, settings.model) else None
    fitted = time.perf_counter()
    impute = settings.missing == "impute"
    # what has no value is masked as if it had one, so that whether there is a W tells nothing
    unfilled = bool(task.applies) or settings.model.keeps_gaps
    by_block = settings.model.by_block
    shared: About | None = None
    if mask_draw in ("once", "once_orthogonal"):
        known = task.working
        if unfilled:
            parameters = posterior.draw(rng=streams.generator("parameters", "all copies"))
            known = known_of(task, parameters, streams, "all copies", by_block=by_block)
        residuals = _residuals(task, known) if mask_draw == "once_orthogonal" else None
        shared = _draw_masks(masks, known, streams, "all copies", residuals, ruling)

    def copy(m: int) -> pd.DataFrame:
        parameters = posterior.draw(rng=streams.generator("parameters", m))
        evidence: About
        if mask_draw is None:
            evidence = {name: flat(mask.target.column, len(plan.data)) for name, mask in masks.items()}
        elif shared is not None:
            evidence = shared
        else:
            known = known_of(task, parameters, streams, m, by_block=by_block) if unfilled else task.working
            evidence = _draw_masks(masks, known, streams, m, None, ruling)
        parts = pieces(task, parameters, evidence, streams, m, by_block=by_block)
        frame, trace = _draw_copy(task, parts, m, plan.constraints, impute=impute)
        if m == 1 and trace is not None:
            chain.extend({str(k): v for k, v in row.items()} for row in drift(trace).to_dict("records"))
        return frame

    copies = tuple(each(copy, range(1, settings.copies + 1), jobs=jobs, advance=advance))
    return Drawn(copies, tuple(chain), fitted - started, time.perf_counter() - fitted)


def _draw_masks(
    masks: Mapping[str, ColumnMask],
    working: Mapping[str, Floats],
    streams: Streams,
    copy: int | str,
    residuals: Residuals | None,
    ruling: Ruling | None,
) -> About:
    def w(name: str) -> Floats:
        return noisy(masks[name], working[name], lambda number: streams.block(number, "mask", name, copy), residuals)

    if ruling is None:
        return {name: mask.about(w(name)) for name, mask in masks.items()}
    return ruling.about({name: w(name) for name in masks})


def _residuals(task: Task, known: Mapping[str, Floats]) -> Residuals:
    return residual_maker(np.column_stack([task.predictors.matrix, *known.values()]))


def _draw_copy(
    task: Task, parts: Sequence[Piece], m: int, constraints: tuple[str, ...], *, impute: bool = False
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    traces: list[pd.DataFrame] = []

    def draw() -> pd.DataFrame:
        drawn, trace = draw_all(parts)
        traces.extend([] if trace is None else [trace])
        original = task.data.frame
        # copies share the columns that are kept, and what these are coded as (``table.coded``)
        frame = original.assign()
        for column in task.data.schema.replaced():
            link = task.links.get(column.name)
            frame[column.name] = released(drawn[column.name], column, link, original[column.name])
        # each after those that decide whether it applies
        for name in visits(task.data.schema.kept()) if impute else ():
            if name in drawn:
                frame[name] = completed(drawn[name], task.data.schema[name], frame)
        return blanked(frame, task.data.schema)

    if isinstance(parts[0].parameters, Movable):
        write, starts = writer(task), [piece.rows.start or 0 for piece in parts]

        def again(rows: Codes) -> Tried:
            # records of one block only: see ``mended``
            number = int(np.searchsorted(starts, rows[0], side="right")) - 1
            theta, about = cast(Movable, parts[number].parameters), parts[number].about
            within = rows - starts[number]
            drawn = draw_some(theta.of(within), some(about, within), rng=parts[number].rng)[0]
            return Tried(rows, drawn, write(rows, drawn))

        frame = mended(draw(), again, constraints, blocks=[piece.rows for piece in parts])
    else:
        frame = constrained(draw, constraints, copy=m)
    return frame, traces[0] if traces else None
