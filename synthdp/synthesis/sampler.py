"""The sampler behind DA-MI and MI: fit once, then draw every copy from its own named streams."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from synthdp.applicability import blanked, holds
from synthdp.designs import Design, rule_for
from synthdp.evidence import Evidence, GaussianEvidence, LevelEvidence
from synthdp.imputation import predictors
from synthdp.imputation.gibbs import drift
from synthdp.imputation.protocol import Chained, ImputationModel, Parameters, Task
from synthdp.imputation.writing import write
from synthdp.links import Link
from synthdp.masking.columns import ColumnMask, MaskDraw, Residuals, residual_maker
from synthdp.masking.protocol import MaskSettings, Target
from synthdp.microdata import Floats, Microdata, decode
from synthdp.schema import Column
from synthdp.seeding import Streams
from synthdp.synthesis.constraints import constrained
from synthdp.synthesis.protocol import Advance, Plan, Release


class Settings(Protocol):
    """What the sampler needs to know of a method."""

    @property
    def method(self) -> str:
        """The method's name."""
        ...

    @property
    def model(self) -> ImputationModel:
        """The association model."""
        ...

    @property
    def copies(self) -> int:
        """How many copies."""
        ...

    @property
    def sweeps(self) -> int:
        """How long a chain runs."""
        ...

    def design(self, plan: Plan) -> Design:
        """Return what inference from the copies depends on."""
        ...


def sample(
    plan: Plan,
    settings: Settings,
    mask_draw: MaskDraw | None,
    *,
    streams: Streams,
    jobs: int = 1,
    advance: Advance | None = None,
) -> Release:
    """Draw the copies of a plan.

    Cost O(n·d²) to fit d predictors; per copy O(n·d) for θ and for X. Copies run in parallel threads; each depends
    on its own streams only, so the result is the same for any number of jobs.

    Parameters
    ----------
    mask_draw
        When W is drawn; None for no W at all.
    """
    started = time.perf_counter()
    # one BLAS thread: sums taken in another order would change the last digit with the number of jobs
    with threadpool_limits(limits=1, user_api="blas"):
        task, masks = prepare(plan, settings.model, settings.sweeps)
        posterior = settings.model.fit(task, rng=streams.generator("fit"))
        fitted = time.perf_counter()
        impute = getattr(settings, "missing", "keep") == "impute"
        chain: list[Mapping[str, object]] = [*getattr(posterior, "diagnostics", tuple)()]
        shared = None
        if mask_draw in ("once", "once_orthogonal"):
            known = task.working
            if task.applies:
                parameters = posterior.draw(rng=streams.generator("parameters", "all copies"))
                known = parameters.complete(task, rng=streams.generator("latent", "all copies"))
            residuals = _residuals(task, known) if mask_draw == "once_orthogonal" else None
            shared = _draw_masks(masks, known, streams, "all copies", residuals)

        def copy(m: int) -> pd.DataFrame:
            parameters = posterior.draw(rng=streams.generator("parameters", m))
            if mask_draw is None:
                evidence = {name: _flat(mask, len(plan.data)) for name, mask in masks.items()}
            elif shared is not None:
                evidence = shared
            else:
                # a column that does not apply has no value to mask: it is masked as if it applied (see ``applying``)
                latent = streams.generator("latent", m)
                known = parameters.complete(task, rng=latent) if task.applies else task.working
                evidence = _draw_masks(masks, known, streams, m, None)
            frame, trace = _draw_copy(task, parameters, evidence, streams, m, plan.constraints, impute=impute)
            if m == 1 and trace is not None:
                chain.extend({str(k): v for k, v in row.items()} for row in drift(trace).to_dict("records"))
            return frame

        copies = _in_parallel(copy, settings.copies, jobs, advance)
    draws = settings.copies if mask_draw == "per_copy" else 1
    withdrawn = _withdrawn(plan, mask_draw)
    design = settings.design(plan)
    return Release(
        copies=copies,
        method=settings.method,
        rule=rule_for(design),
        mask_draw=design.mask_draw,
        masking=tuple(row for mask in masks.values() for row in mask.statements(draws, withdrawn)),
        seconds={"fit": fitted - started, "draw": time.perf_counter() - fitted},
        chain=tuple(chain),
        design=design,
    )


def prepare(plan: Plan, model: ImputationModel, sweeps: int) -> tuple[Task, dict[str, ColumnMask]]:
    """Return what the model is fitted to, and the mask of every replaced column."""
    data, tags = plan.data, plan.tags
    replaced = data.schema.replaced()
    links = {c.name: Link.of(data, c.name) for c in replaced if not c.kind.categorical}
    masks = {c.name: _column_mask(plan, c, links.get(c.name)) for c in replaced}
    grouped, graded = (any(test(mask) for mask in masks.values()) for test in (ColumnMask.grouped, ColumnMask.graded))
    seen = predictors.build(
        data,
        exclude=model.exclude,
        splines=model.splines,
        groups=np.asarray(tags.labels.cat.codes, dtype=np.int64) if grouped else None,
        # the model sees no more of the counts than the masks do
        neighbours=np.maximum(tags.neighbours, min(m.fewest() for m in masks.values() if m.graded()))
        if graded
        else None,
    )
    working = {c.name: _working(data, c, links.get(c.name)) for c in replaced}
    applies = {c.name: holds(c, data.frame) for c in replaced if c.applies_when is not None}
    return Task(data, seen, working, links, sweeps, applies), masks


def _working(data: Microdata, column: Column, link: Link | None) -> Floats:
    if link is not None:
        return link.forward(data.numbers(column.name))
    codes = data.codes(column.name)
    return np.where(codes < 0, np.nan, codes)


def _column_mask(plan: Plan, column: Column, link: Link | None) -> ColumnMask:
    by_group: dict[str, MaskSettings] = {
        group: block[column.name] for group, block in plan.masks_by_group.items() if column.name in block
    }
    target = Target(column, link, plan.tags.neighbours)
    return ColumnMask.plan(target, plan.masks.get(column.name), by_group, plan.tags.labels.to_numpy(dtype=object))


def _draw_masks(
    masks: Mapping[str, ColumnMask],
    working: Mapping[str, Floats],
    streams: Streams,
    copy: int | str,
    residuals: Residuals | None,
) -> dict[str, Evidence]:
    return {
        name: mask.draw(working[name], rng=streams.generator("mask", name, copy), residuals=residuals)
        for name, mask in masks.items()
    }


def _flat(mask: ColumnMask, n: int) -> Evidence:
    column = mask.target.column
    return LevelEvidence.flat(n, len(column.levels)) if column.kind.categorical else GaussianEvidence.flat(n)


def _residuals(task: Task, known: Mapping[str, Floats]) -> Residuals:
    return residual_maker(np.column_stack([task.predictors.matrix, *known.values()]))


def _draw_copy(
    task: Task,
    parameters: Parameters,
    evidence: Mapping[str, Evidence],
    streams: Streams,
    m: int,
    constraints: tuple[str, ...],
    *,
    impute: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    rng = streams.generator("values", m)
    traces: list[pd.DataFrame] = []

    def draw() -> pd.DataFrame:
        if isinstance(parameters, Chained):
            drawn, trace = parameters.chain(evidence, rng=rng)
            traces.append(trace)
        else:
            drawn = parameters.draw(evidence, rng=rng)
        frame = task.data.frame.copy()
        for column in task.data.schema.replaced():
            frame[column.name] = _released(drawn[column.name], column, task.links.get(column.name), frame[column.name])
        for column in task.data.schema.kept() if impute else ():
            if column.name in drawn:
                frame[column.name] = _imputed(drawn[column.name], column, frame)
        return blanked(frame, task.data.schema)

    frame = constrained(draw, constraints, copy=m)
    return frame, traces[0] if traces else None


def _released(drawn: Floats, column: Column, link: Link | None, like: pd.Series) -> pd.Series:
    """Return drawn values as they are written: levels by name, numbers rounded like the data, inside their bounds."""
    if link is None:
        return decode(drawn.astype(np.int64), column, like)
    values = link.inverse(drawn)
    if column.decimals is not None:
        values = np.round(values, column.decimals)
    if column.bounds is not None:
        values = np.clip(values, *column.bounds)
    numeric = pd.Series(values, index=like.index, name=like.name)
    whole = column.decimals == 0 and pd.api.types.is_integer_dtype(like.dtype)
    return numeric.astype(like.dtype) if whole else numeric


def _imputed(drawn: Floats, column: Column, frame: pd.DataFrame) -> pd.Series:
    """Return a kept column with its missing values filled in, where it applies."""
    series = frame[column.name]
    new = decode(drawn.astype(np.int64), column, series) if column.kind.categorical else write(drawn, column, series)
    return series.where(series.notna() | ~holds(column, frame), new)


def _in_parallel(
    copy: Callable[[int], pd.DataFrame], count: int, jobs: int, advance: Advance | None
) -> tuple[pd.DataFrame, ...]:
    copies: list[pd.DataFrame] = []
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        numbers = range(1, count + 1)
        for done, frame in enumerate(pool.map(copy, numbers) if jobs > 1 else map(copy, numbers), start=1):
            copies.append(frame)
            if advance is not None:
                advance(done, count)
    return tuple(copies)


def _withdrawn(plan: Plan, mask_draw: MaskDraw | None) -> str | None:
    """Return why no formal statement about the masks can stand, or None."""
    if mask_draw == "once_orthogonal":
        return "the noise was orthogonalised against the data"
    if plan.masks_by_group and not plan.tags.public:
        return "risk groups were computed from the data and are not public"
    return plan.selection
