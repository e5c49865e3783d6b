"""Several audits at once, judged so that a row of kept promises is seldom called broken."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy.audit.bounds import EpsilonBound, bound
from synthdp.privacy.audit.curve import CurveCheck, check
from synthdp.privacy.audit.running import Sampler, score_runs
from synthdp.privacy.tradeoff.curves import Tradeoff
from synthdp.privacy.tradeoff.duality import epsilon

LEVEL = 0.001


@dataclass(frozen=True)
class Case:
    """A mechanism, two neighbouring data sets, and what is promised.

    Attributes
    ----------
    delta
        The δ at which ε is bounded from below; 0 for pure promises.
    cost
        Runs are divided by this: above 1 for mechanisms that take one call per run, below 1 where rare events tell.
    """

    name: str
    mechanism: Sampler
    first: Any
    second: Any
    promise: Tradeoff
    delta: float = 0.0
    cost: float = 1.0


@dataclass(frozen=True)
class Verdict:
    """What the audit of one case found.

    Attributes
    ----------
    adjusted
        The p-value times the number of cases, at most 1 (Bonferroni).
    broken
        Whether the promise is refuted, by the curve or by the bound on ε, at the level shared by all cases.
    """

    name: str
    promised: float
    found: EpsilonBound
    curve: CurveCheck
    adjusted: float
    broken: bool


def judge(cases: Sequence[Case], *, runs: int, rng: np.random.Generator, level: float = LEVEL) -> tuple[Verdict, ...]:
    """Audit every case; with probability 1 − level no kept promise is called broken.

    Each case has two chances to be refuted, the curve and the bound on ε, so each gets level/(2 · cases).
    """
    if not cases:
        raise InputError("judge: needs at least one case.")
    each = level / (2 * len(cases))
    verdicts = []
    for case in cases:
        scored = score_runs(case.mechanism, case.first, case.second, runs=round(runs / case.cost), rng=rng)
        found, curve = bound(scored, case.delta, 1 - each), check(scored, case.promise, each)
        promised = epsilon(case.promise, case.delta)
        adjusted = min(curve.p_value * 2 * len(cases), 1.0)
        broken = curve.p_value <= each or found.epsilon > promised
        verdicts.append(Verdict(case.name, promised, found, curve, adjusted, broken))
    return tuple(verdicts)
