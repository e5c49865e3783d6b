"""The gate's decision on a run: the mechanism over its draws, earlier releases of the same data, what was accepted."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from synthdp.config import Config
from synthdp.drawing import beside, count_of, repeat
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.gate import Check, Thresholds, Verdict
from synthdp.evaluation.gate.judging import USE_DRAWS, Averages, Drawn, Inquiry
from synthdp.evaluation.gate.targets import choose
from synthdp.evaluation.gate.tally import Bound
from synthdp.evaluation.gate.verdict import check, undecided
from synthdp.evaluation.measure import Measure
from synthdp.evaluation.risk.exposure import evaluate_exposure
from synthdp.evaluation.risk.registry import risks
from synthdp.release.register import NAME, Register
from synthdp.seeding import Streams
from synthdp.synthesis.protocol import Advance, Plan, Release
from synthdp.synthesis.sampler import in_order

NONE = "none"
VARIABLE = "SYNTHDP_REGISTER"


@dataclass(frozen=True, repr=False)
class Judged:
    """What the draws of a mechanism came to.

    Parameters
    ----------
    verdict
        On the mechanism, and on it beside earlier releases.
    averages
        Over the draws of this release alone; None when nothing was drawn.
    draws
        How many there were.
    """

    verdict: Verdict
    averages: Averages | None
    draws: int

    def section(self) -> dict[str, Any]:
        """Return the ``gate`` section of metrics.json, advice and attempt apart."""
        basis = {"basis": "draws", "draws": self.draws}
        return {**basis, **self.verdict.section(), **self.figures()}

    def figures(self) -> dict[str, Any]:
        """Return why measures that the limits read could not be taken."""
        return {"not_measured": dict(self.averages.reasons)} if self.averages and self.averages.reasons else {}


def judge(
    config: Config,
    plan: Plan,
    *,
    streams: Streams,
    informed: Mapping[str, Measure],
    earlier: Sequence[Sequence[pd.DataFrame]] = (),
    holdout: pd.DataFrame | None = None,
    jobs: int = 1,
    advance: Advance | None = None,
    draws: int | None = None,
) -> Judged:
    """Judge what the config would publish, over draws that are not published.

    Every draw is attacked by every intruder that a limit reads; earlier releases of the same data, as they were
    published, stand beside each. The verdict does not depend on which copies go out.

    Parameters
    ----------
    streams
        Of the draws: their names begin with ``draw``, so that no draw shares anything with the published copies.
    informed
        Measures that know how the copies are made.
    earlier
        The copies of every earlier release, row i standing for record i.
    draws
        How many; by default as :func:`synthdp.drawing.count_of` says.

    Notes
    -----
    Cost: the draws (see :func:`synthdp.drawing.repeat`) and their attacks. Above 2,500 records at most about 2,500
    are attacked, so that a draw costs O(M n log n).
    """
    limits = config.limits
    known = exposure_checks(plan, limits)
    if not limits.judged():
        return Judged(Verdict(known), None, 0)
    inquiry = inquiry_of(config, plan, informed)
    count = draws or count_of(config, len(plan.data))
    first = Comparison(plan.released.frame, (), plan.released.schema, aligned=True)
    chosen = choose(first, plan.tags.neighbours, rng=streams.generator("draw", "targets"))
    targets, typical = chosen if chosen is not None else (None, None)
    alone, together = Averages(typical), Averages(typical)
    # a few draws at a time are held, as many as are worked on
    batch: list[tuple[int, Release]] = []

    def work(number: int) -> tuple[Drawn, Drawn | None]:
        place, made = batch[number - 1]
        files = replace(beside(plan, made), targets=targets, holdout=holdout)
        mine = streams.within("draw", place)
        found = inquiry.ask(files, mine, use=place < USE_DRAWS)
        if not earlier:
            return found, None
        everything = (*(copy for copies in earlier for copy in copies), *made.copies)
        return found, inquiry.ask(replace(files, copies=everything), mine.within("together"), use=False)

    for place, made in enumerate(repeat(config, plan, streams=streams, count=count, jobs=jobs)):
        batch.append((place, made))
        if len(batch) < max(1, jobs) and place + 1 < count:
            continue
        for found, joint in in_order(work, len(batch), jobs):
            alone.add(found)
            if joint is not None:
                together.add(joint)
        batch.clear()
        if advance is not None:
            advance(place + 1, count)
    verdict = Verdict((*known, *alone.checks(limits)))
    if earlier:
        verdict = verdict.beside(Verdict(tuple(together.checks(limits))), len(earlier))
    return Judged(verdict, alone, count)


def inquiry_of(config: Config, plan: Plan, informed: Mapping[str, Measure]) -> Inquiry:
    """Return everything the gate asks of the copies of a plan."""
    return Inquiry(
        limits=config.limits,
        measures={**risks(config.evaluation.targets), **informed},
        intruders=config.evaluation.intruders,
        analyses=config.analyses,
        propensity=config.evaluation.propensity,
    )


def exposure_checks(plan: Plan, limits: Thresholds) -> tuple[Check, ...]:
    """Return what needs no draw: who is alone on kept keys."""
    limit = limits.limit("max_exposed")
    if limit is None:
        return ()
    data = plan.released
    found = evaluate_exposure(Comparison(data.frame, (), data.schema, aligned=True)).section()
    return (check("max_exposed", "exposure", Bound(float(found["alone"])), limit),)


def register_of(config: Config, out: Path) -> tuple[Register | None, tuple[str, ...]]:
    """Return the register of releases, and what a person should know of where it is.

    The config says where, else the environment variable ``SYNTHDP_REGISTER`` (one place for a whole agency). Without
    either it lies beside the data; where nothing may be written there, beside the folder of the run.
    """
    chosen = config.release.recorded_in or os.environ.get(VARIABLE)
    if chosen is not None:
        return (None if chosen == NONE else Register(Path(chosen))), ()
    home = config.data.path.resolve().parent
    if os.access(home, os.W_OK):
        return Register(home / NAME), ()
    beside_run = out.resolve().parent / NAME
    caution = (
        "Nothing may be written beside the data, so this release is recorded beside the folder of the run: a release "
        "made elsewhere is not judged together with it. Name one place for all by release.recorded_in."
    )
    return Register(beside_run), (caution,)
