"""What a model is fitted to, and the masks that go with it: the same for every original, complete or completed."""

from collections.abc import Mapping, Sequence

import numpy as np

from synthdp.applicability import holds
from synthdp.imputation import predictors
from synthdp.imputation.predictors import Predictors
from synthdp.imputation.protocol import ImputationModel, Task
from synthdp.links import Link
from synthdp.masking.columns import ColumnMask
from synthdp.masking.protocol import MaskSettings, Target
from synthdp.microdata import Floats, Microdata
from synthdp.schema import Column
from synthdp.synthesis.protocol import Plan
from synthdp.synthesis.ruling import ruled


def prepare(plan: Plan, model: ImputationModel, sweeps: int) -> tuple[Task, dict[str, ColumnMask]]:
    """Return what the model is fitted to, and the mask of every replaced column."""
    data = plan.data
    links = links_of(data)
    masks = masks_of(plan, links)
    replaced = data.schema.replaced()
    working = {c.name: _working(data, c, links.get(c.name)) for c in replaced}
    applies = {c.name: holds(c, data.frame) for c in replaced if c.applies_when is not None}
    seen = predictors_of(plan, masks, data, model.exclude, model.splines, ruled=ruled(plan, model))
    return Task(data, seen, working, links, sweeps, applies), masks


def links_of(data: Microdata) -> dict[str, Link]:
    """Return the working scale of every replaced number."""
    return {c.name: Link.of(data, c.name) for c in data.schema.replaced() if not c.kind.categorical}


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
