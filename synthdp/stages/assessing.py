"""The measures the config asks for, taken on one set of copies: by a run after its verdict, and by ``evaluate``."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from synthdp.config import Config
from synthdp.evaluation.assessment import Assessment, assess
from synthdp.evaluation.comparison import Comparison, Making
from synthdp.evaluation.measure import Need
from synthdp.evaluation.measures import RISK, UTILITY, measure
from synthdp.release.metrics import Metrics
from synthdp.release.register import Earlier
from synthdp.seeding import Streams
from synthdp.stages.draws import Copies, Draws, PlanShadows, beside, refitting
from synthdp.stages.informed_intruder import informed_intruder
from synthdp.stages.judging import origins, published_before
from synthdp.synthesis.making import finish, make
from synthdp.synthesis.plan import Plan

# permutations and folds behind a measure need no secrecy, and the same copies should give the same numbers
EVALUATION = Streams(0)


def assess_comparison(config: Config, comparison: Comparison, making: Making | None = None) -> Assessment:
    """Take the measures the config asks for; those that know how the copies were made need ``making``."""
    files = replace(comparison, request=config.request(), making=making)
    asked = {side: (*getattr(config.evaluation, side), *_own(config, side)) for side in ("utility", "risk")}
    return assess(files, utility=asked["utility"], risk=asked["risk"], streams=EVALUATION)


def _own(config: Config, side: str) -> tuple[str, ...]:
    """Return the measures that are made for the method, unless the config says which are taken."""
    known = UTILITY if side == "utility" else RISK
    written = side in config.evaluation.model_fields_set
    own = () if written else getattr(config.synthesis, "measures", ())
    return tuple(name for name in own if name in known)


def making_of(config: Config, plan: Plan, jobs: int, advance: Callable[[int, int], None] | None = None) -> Making:
    """Return how to make the copies of a plan again; ``advance`` is told of the measure that takes long."""

    def remake(streams: Streams) -> Sequence[pd.DataFrame]:
        return finish(config.synthesis, make(config.synthesis, plan, streams=streams, jobs=jobs), plan)[0].copies

    return Making(
        intruder=informed_intruder(plan, remake),
        refit=refitting(config.synthesis, plan, jobs=jobs),
        shadows=PlanShadows(config.synthesis, plan, config.groups),
        jobs=jobs,
        advance=advance,
    )


def assess_release(
    draws: Draws, copies: Copies, *, earlier: Sequence[Earlier], holdout: pd.DataFrame | None
) -> tuple[Comparison, Metrics]:
    """Lay the copies that would go out beside the original; return both, measured, with what may be claimed."""
    config, plan, made = draws.config, draws.plan, copies.made
    comparison = replace(beside(plan, made), holdout=holdout)
    found = assess_comparison(config, comparison, making_of(config, plan, draws.jobs, draws.advance))
    metrics = Metrics()
    metrics.measured(found, **further_sections(config, comparison, beside(plan, copies.drawn), copies, earlier))
    # what is known, without the data, of how much of a private release is noise
    metrics.claimed(made.privacy, made.masking, config.synthesis.notes(plan) if config.synthesis.private else ())
    return comparison, metrics


def further_sections(
    config: Config,
    comparison: Comparison,
    before_repair: Comparison,
    copies: Copies,
    earlier: Sequence[Earlier],
) -> dict[str, Any]:
    """Return what the risk was before repair, and what it is beside earlier releases of the same data."""
    # an intruder who knows how copies are made knows that of this release as it goes out, not of other files
    plain = tuple(name for name in config.evaluation.risk if Need.PLAN not in measure(name).needs)
    asked = config.evaluation.model_copy(update={"utility": (), "risk": plain})
    blind = config.model_copy(update={"evaluation": asked})
    found: dict[str, Any] = {}
    if (mended := copies.mended) is not None:
        before = assess_comparison(blind, before_repair).risk
        found["repair"] = {"records": mended.touched, "left": mended.left, "before": before}
    aligned = [one for one in earlier if one.aligned]
    if aligned:
        files = (*published_before(aligned, copies.made), *comparison.copies)
        whose = origins(aligned, copies.made)
        joint = assess_comparison(blind, replace(comparison, copies=files, origins=whose)).risk
        found["releases"] = {"earlier": [one.when for one in earlier], "copies": len(files), **joint}
    return found
