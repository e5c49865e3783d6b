"""Copies of one original, or of each of m completed ones (missing values imputed first: Reiter 2004)."""

import time
from dataclasses import replace
from functools import partial

from threadpoolctl import threadpool_limits

from synthdp.designs import rule_for
from synthdp.masking.columns import MaskDraw
from synthdp.seeding import Streams
from synthdp.synthesis.completing import completer
from synthdp.synthesis.protocol import Advance, Plan, Release
from synthdp.synthesis.ruling import retagged, ruled
from synthdp.synthesis.sampler import Drawn, Settings, draw_copies, in_order
from synthdp.synthesis.tasks import links_of, masks_of, predictors_of

# what is drawn for a missing cell depends on the record's true values, and of a kept column it is released unmasked
IMPUTED = "missing values were imputed from the records' own values before anything was masked"


def sample(
    plan: Plan,
    settings: Settings,
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
    design = settings.design(plan)
    # one BLAS thread: sums taken in another order would change the last digit with the number of jobs
    with threadpool_limits(limits=1, user_api="blas"):
        several = settings.imputations > 1
        way = _of_completed if several else draw_copies
        drawn = way(plan, settings, mask_draw, streams=streams, jobs=jobs, advance=advance)
    each = settings.copies if mask_draw == "per_copy" else 1
    withdrawn = IMPUTED if several else _withdrawn(plan, mask_draw)
    masks = masks_of(plan, links_of(plan.data))
    seconds = {"fit": drawn.fit, "draw": drawn.draw}
    return Release(
        copies=drawn.copies,
        method=settings.method,
        rule=rule_for(design),
        mask_draw=design.mask_draw,
        masking=tuple(
            row for mask in masks.values() for row in mask.statements(settings.imputations * each, withdrawn)
        ),
        seconds=seconds,
        chain=drawn.chain,
        design=design,
    )


def _of_completed(
    plan: Plan,
    settings: Settings,
    mask_draw: MaskDraw | None,
    *,
    streams: Streams,
    jobs: int,
    advance: Advance | None,
) -> Drawn:
    """Draw copies of each completed original (see ``completing``), to which the model is fitted again."""
    started = time.perf_counter()
    m, r = settings.imputations, settings.copies
    masks = masks_of(plan, links_of(plan.data))
    unseen = ruled(plan, settings.model)
    complete, rows = completer(
        settings.model,
        plan.data,
        lambda data, exclude: predictors_of(plan, masks, data, exclude, settings.model.splines, ruled=unseen),
        plan.constraints,
        rng=streams.generator("complete"),
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

    nests: list[Drawn] = []
    for drawn in in_order(nest, m, outer):
        nests.append(drawn)
        if advance is not None and outer > 1:
            advance(len(nests) * r, m * r)
    said = [{**row, "imputation": number} for number, one in enumerate(nests, start=1) for row in one.chain]
    left_out = [row["column"] for row in rows if "left_out" in row]
    return Drawn(
        copies=tuple(copy for one in nests for copy in one.copies),
        chain=(*rows, *(row for row in said if not ("left_out" in row and row["column"] in left_out))),
        fit=prepared + sum(one.fit for one in nests),
        draw=sum(one.draw for one in nests),
    )


def _withdrawn(plan: Plan, mask_draw: MaskDraw | None) -> str | None:
    """Return why no formal statement about the masks can stand, or None."""
    if mask_draw == "once_orthogonal":
        return "the noise was orthogonalised against the data"
    if plan.masks_by_group and not plan.tags.public:
        return "risk groups were computed from the data and are not public"
    return plan.selection
