"""Several audits judged at once, and every mechanism of the package on neighbours that are hard for it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy.audit.bounds import CurveCheck, EpsilonBound, bound, check
from synthdp.privacy.audit.runs import Sampler, repeated, score_runs
from synthdp.privacy.mechanisms import (
    BoundedLaplace,
    Bounds,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Kary,
    KNorm,
    Laplace,
    PermuteAndFlip,
    ReportNoisyMax,
    Sensitivity,
    Simulated,
    SmoothNoise,
    Source,
    SparseVector,
    Transition,
    gamma,
    optimal_count,
    sensitivity,
)
from synthdp.privacy.tradeoff.curves import Tradeoff, transition
from synthdp.privacy.tradeoff.duality import epsilon, promised

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


EPSILON = 1.0
DELTA = 1e-3
CANDIDATES = 12


def shipped(source: Source | None = None) -> tuple[Case, ...]:
    """Return one case or more per mechanism.

    Parameters
    ----------
    source
        Where noise comes from; seeded numpy noise from the auditor's generator when absent. Mechanisms that the secure
        source refuses, for want of a safe sampler, are left out with it.
    """

    def noise(rng: np.random.Generator) -> Source:
        return source if source is not None else Simulated(rng)

    def batch(
        name: str, mechanism: Any, first: Any, second: Any, delta: float = 0.0, promise: Tradeoff | None = None
    ) -> Case:
        def sample(data: Any, runs: int, rng: np.random.Generator) -> Any:
            rows = np.repeat(np.asarray(data)[None, ...], runs, axis=0)
            return mechanism.release(rows, source=noise(rng))

        return Case(name, sample, first, second, promise or promised(mechanism.event()), delta)

    def single(name: str, mechanism: Any, first: Any, second: Any, delta: float = 0.0) -> Case:
        def once(data: Any, rng: np.random.Generator) -> Any:
            return mechanism.release(np.asarray(data), source=noise(rng))

        return Case(name, repeated(once), first, second, promised(mechanism.event()), delta, cost=4)

    changed = Sensitivity(1.0, "linf", "replace")
    cells, cells_l2 = sensitivity.table("replace"), sensitivity.table("replace", norm="l2")
    count, count_l2 = sensitivity.counting("replace"), sensitivity.counting("replace", norm="l2")
    tables = np.asarray([3.0, 5.0]), np.asarray([4.0, 4.0])
    mean = sensitivity.mean(Bounds(0.0, 10.0), 20, "replace")
    laplace = Laplace.calibrated(cells, epsilon=EPSILON)
    gaussian = Gaussian.calibrated(cells_l2, epsilon=EPSILON, delta=DELTA)
    classical = Gaussian.calibrated(count_l2, epsilon=0.9, delta=DELTA, method="classical")
    levels = np.asarray([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    # one candidate rises and all others fall: with many others the ratio comes close to e^ε
    scores = np.zeros(CANDIDATES), np.where(np.arange(CANDIDATES) == 0, 1.0, -1.0)
    rising = np.zeros(CANDIDATES), np.where(np.arange(CANDIDATES) == 0, 0.0, -1.0)
    vectors = np.zeros(3), np.asarray([1.0, 0.0, 0.0])
    safe = (
        batch("Laplace on a mean", Laplace.calibrated(mean, epsilon=EPSILON), 4.0, 4.5),
        batch("Laplace on a table", laplace, *tables),
        batch("Gaussian on a table", gaussian, *tables, DELTA),
        batch("Gaussian, classical", classical, 0.0, 1.0, DELTA),
        batch("DiscreteLaplace on a count", DiscreteLaplace.calibrated(count, epsilon=EPSILON), 3, 4),
        batch("DiscreteLaplace on a table", DiscreteLaplace.calibrated(cells, epsilon=EPSILON), [3, 5], [4, 4]),
        single(
            "DiscreteGaussian", DiscreteGaussian.calibrated(count_l2, epsilon=EPSILON, delta=DELTA), [3], [4], DELTA
        ),
        single(
            "DiscreteGaussian on a table",
            DiscreteGaussian.calibrated(cells_l2, epsilon=EPSILON, delta=DELTA, coordinates=2),
            [3, 5],
            [4, 4],
            DELTA,
        ),
        batch("BoundedLaplace at its bound", BoundedLaplace.calibrated(count, Bounds(0, 5), epsilon=EPSILON), 0.0, 1.0),
        batch("Kary on 2 levels", Kary.calibrated(2, epsilon=EPSILON), 0, 1),
        batch("Kary on 5 levels", Kary.calibrated(5, epsilon=EPSILON), 0, 3),
        batch("Kary with δ", Kary.calibrated(3, epsilon=EPSILON, delta=0.05), 0, 1, 0.05),
        batch("Transition", Transition.of(levels), 0, 1, 0.0, transition(levels)),
        batch("CountResponse of the least risk", optimal_count(4, EPSILON), 1, 2),
        single("Exponential", Exponential.calibrated(changed, epsilon=EPSILON), *scores),
        single(
            "Exponential, monotonic",
            Exponential.calibrated(changed, epsilon=EPSILON, monotonic=True),
            *rising,
        ),
        single("PermuteAndFlip", PermuteAndFlip.calibrated(changed, epsilon=EPSILON), *scores),
        single("ReportNoisyMax", ReportNoisyMax.calibrated(changed, epsilon=EPSILON), *scores),
        _sparse(SparseVector.calibrated(changed, epsilon=EPSILON, cutoff=2), source),
        _smooth(SmoothNoise.calibrated("laplace", epsilon=EPSILON, delta=DELTA), source),
        _smooth(SmoothNoise.calibrated("gaussian", epsilon=EPSILON, delta=DELTA), source),
    )
    if source is not None and source.name == "secure":
        return safe
    return (
        *safe,
        batch("gamma (l2 noise)", gamma(Sensitivity(1.0, "l2", "replace"), epsilon=EPSILON), *vectors),
        batch("KNorm, l1 ball", KNorm(Sensitivity(1.0, "l1", "replace"), EPSILON, "l1"), *vectors),
        batch("KNorm, linf ball", KNorm(Sensitivity(1.0, "linf", "replace"), EPSILON, "linf"), *vectors),
        _smooth(SmoothNoise.calibrated("heavy_tail", epsilon=EPSILON), source),
    )


def _smooth(mechanism: SmoothNoise, source: Source | None) -> Case:
    # answers as far apart as the smaller bound allows, and bounds as unequal as neighbours can have
    bounds = Bounds(-1e4, 1e4)
    first, second = (0.0, math.exp(mechanism.beta)), (1.0, 1.0)

    def once(data: Any, rng: np.random.Generator) -> Any:
        return mechanism.release(*data, bounds=bounds, source=source if source is not None else Simulated(rng))

    name = f"SmoothNoise, {mechanism.law}"
    return Case(name, repeated(once), first, second, promised(mechanism.event()), mechanism.delta, cost=4)


def _sparse(mechanism: SparseVector, source: Source | None) -> Case:
    def once(data: Any, rng: np.random.Generator) -> Any:
        answers = mechanism.release(np.asarray(data), 0.0, source=source if source is not None else Simulated(rng))
        # above and below as 1 and 0; what was not answered any more as -1
        return np.concatenate([answers, np.full(len(data) - len(answers), -1.0)])

    first, second = [0.0] * 8, [-1.0] * 6 + [1.0] * 2
    return Case("SparseVector", repeated(once), first, second, promised(mechanism.event()), cost=4)
