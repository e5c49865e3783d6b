"""The measures the config asks for, taken on one set of copies: by a run after its verdict, and by ``evaluate``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from synthdp.config import Config
from synthdp.evaluation.assessment import Assessment, assess
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.leaks.memorised import evaluate_memorised
from synthdp.evaluation.measure import Figures, Measure, Need, Plain
from synthdp.evaluation.risk.attacks import risks
from synthdp.evaluation.risk.shadow import evaluate_shadow
from synthdp.release.held import Earlier
from synthdp.seeding import Streams
from synthdp.stages.draws import PlanShadows, refitting
from synthdp.stages.informed_intruder import informed_intruder
from synthdp.stages.judging import bayes, origins, published_before
from synthdp.synthesis.making import Repaired, finish, make
from synthdp.synthesis.plan import Plan, Release

# permutations and folds behind a measure need no secrecy, and the same copies should give the same numbers
EVALUATION = Streams(0)


def assess_comparison(
    config: Config, comparison: Comparison, informed: Mapping[str, Measure] | None = None
) -> Assessment:
    """Take the measures the config asks for; ``informed`` ones know how the copies were made."""
    return assess(
        comparison,
        analyses=config.analyses,
        utility=config.evaluation.utility,
        risk=config.evaluation.risk,
        streams=EVALUATION,
        settings=config.evaluation.utility_settings(),
        intruders=config.evaluation.intruders,
        propensity=config.evaluation.propensity,
        measures={**risks(config.evaluation.targets), **(informed or {})},
    )


def informed_measures(
    config: Config, plan: Plan, jobs: int, advance: Callable[[int, int], None] | None = None
) -> dict[str, Measure]:
    """Return the measures that make the copies of a plan again; ``advance`` is told of the one that takes long."""

    def remake(streams: Streams) -> Sequence[pd.DataFrame]:
        return finish(config.synthesis, make(config.synthesis, plan, streams=streams, jobs=jobs), plan)[0].copies

    informed = bayes(informed_intruder(plan, remake))
    refit = refitting(config.synthesis, plan, repaired=config.synthesis.repair, jobs=jobs)
    memorised = Plain(
        "memorised",
        "Do the copies reproduce people because they were in the file, or because such people are common?",
        lambda files, rng: Figures(evaluate_memorised(files, refit=refit, rng=rng)),
        frozenset({Need.PLAN}),
        ("max_memorised",),
    )
    shadows = Plain(
        "membership_shadow",
        "Can somebody who refits the method with and without a person tell whether that person was in the data?",
        lambda files, rng: evaluate_shadow(
            files,
            PlanShadows(config.synthesis, plan, config.groups),
            rng=rng,
            jobs=jobs,
            advance=advance,
            **config.evaluation.shadow.model_dump(),
        ),
        frozenset({Need.PLAN}),
    )
    return {measure.name: measure for measure in (informed, memorised, shadows)}


def further_sections(
    config: Config,
    comparison: Comparison,
    before_repair: Comparison,
    made: Release,
    mended: Repaired | None,
    earlier: Sequence[Earlier],
) -> dict[str, Any]:
    """Return what the risk was before repair, and what it is beside earlier releases of the same data."""
    # an intruder who knows how copies are made knows that of this release as it goes out, not of other files
    plain = tuple(name for name in config.evaluation.risk if name in risks(config.evaluation.targets))
    asked = config.evaluation.model_copy(update={"utility": (), "risk": plain})
    blind = config.model_copy(update={"evaluation": asked})
    found: dict[str, Any] = {}
    if mended is not None:
        before = assess_comparison(blind, before_repair).risk
        found["repair"] = {"records": mended.touched, "left": mended.left, "before": before}
    beside = [one for one in earlier if one.aligned]
    if beside:
        copies = (*published_before(beside, made), *comparison.copies)
        whose = origins(beside, made)
        joint = assess_comparison(blind, replace(comparison, copies=copies, origins=whose)).risk
        found["releases"] = {"earlier": [one.when for one in earlier], "copies": len(copies), **joint}
    return found
