"""Cases for the auditor: whole algorithms on neighbouring files that are hard for them.

Mechanisms have theirs in `synthdp.privacy.audit.cases`. What an algorithm adds is that it releases several times and
chooses what to ask next by what it was told, so that the sum of its parts is what has to be audited.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from synthdp.dp.aggregation import aggregate
from synthdp.dp.audited_functions import COST, DELTA, EPSILON
from synthdp.dp.audited_functions import functions as functions
from synthdp.dp.gram_noise import Calibration
from synthdp.dp.kmeans import kmeans
from synthdp.dp.learning import gradient_descent, sgd
from synthdp.dp.regression import adassp
from synthdp.dp.smoothed import smooth_median
from synthdp.privacy.audit.cases import Case
from synthdp.privacy.audit.runs import Sampler, repeated
from synthdp.privacy.guarantees import Adjacency
from synthdp.privacy.mechanisms import Simulated, Source
from synthdp.privacy.tradeoff.curves import approximate, pure

OTHERS = 60


def clustered(source: Source | None, *, rounds: int, adjacency: Adjacency, epsilon: float = EPSILON) -> Sampler:
    """Return k-means on one column in [−1, 1], told by the one number that speaks most for the record on the right.

    The auditor knows both files, and so what sizes and sums would be without noise. The logarithm of the ratio of two
    Laplace densities is linear between their centres and flat beyond: sizes and sums are clipped there, and added.
    """

    def once(data: Any, rng: np.random.Generator) -> Any:
        found = kmeans(
            [data],
            2,
            bounds=[(-1, 1)],
            rounds=rounds,
            epsilon=epsilon,
            adjacency=adjacency,
            source=source if source is not None else Simulated(rng),
        )
        left, right = np.argsort(found.centres[:, 0])
        sizes, sums = found.sizes, found.sizes * found.centres[:, 0]
        half = OTHERS / 2
        more = np.clip(sizes[right] - half, 0, 1) - np.clip(sizes[left] - half, 0, 1)
        return float(more + np.clip(sums[right] - half / 2, 0, 1) + np.clip(sums[left] + half / 2, -1, 0))

    return repeated(once)


def regressed(source: Source | None, *, calibration: Calibration, adjacency: Adjacency) -> Sampler:
    """Return AdaSSP on one predictor, with its ridge."""

    def once(data: Any, rng: np.random.Generator) -> Any:
        x, y = np.asarray(data, dtype=np.float64).T
        fit = adassp(
            x[:, None],
            y,
            x_norm=1.0,
            y_bound=1.0,
            epsilon=EPSILON,
            delta=DELTA,
            calibration=calibration,
            adjacency=adjacency,
            source=source if source is not None else Simulated(rng),
        )
        return [*fit.theta, fit.ridge]

    return repeated(once)


def released(source: Source | None, release: Callable[..., Any], **asked: Any) -> Sampler:
    """Return a release of one number or of coefficients, ``release(data, …)``, with noise from the source."""

    def once(data: Any, rng: np.random.Generator) -> Any:
        found = release(data, **asked, epsilon=EPSILON, source=source if source is not None else Simulated(rng))
        return found.estimate if hasattr(found, "estimate") else list(found.theta)

    return repeated(once)


def algorithms(source: Source | None = None) -> tuple[Case, ...]:
    """Return the cases; noise comes from ``source``, seeded numpy noise from the auditor's generator when absent."""
    # one record crosses from one cluster to the other, as far as the bounds allow
    sides = np.repeat([-0.5, 0.5], OTHERS // 2)
    left, right = np.append(sides, -1.0), np.append(sides, 1.0)
    # the one record that says anything of the slope, and its reverse; or is not there
    quiet = np.zeros((OTHERS, 2))
    rising, falling = np.vstack([quiet, [1.0, 1.0]]), np.vstack([quiet, [1.0, -1.0]])
    added: tuple[tuple[Adjacency, Any], ...] = (("replace", falling), ("add_remove", quiet))
    calibrations: tuple[Calibration, ...] = ("analytic", "joint")
    promise, approximately = pure(EPSILON), approximate(EPSILON, DELTA)
    return (
        Case("k-means, 1 round", clustered(source, rounds=1, adjacency="replace"), left, right, promise, cost=COST),
        Case("k-means, 3 rounds", clustered(source, rounds=3, adjacency="replace"), left, right, promise, cost=COST),
        Case(
            "k-means, add_remove", clustered(source, rounds=1, adjacency="add_remove"), sides, right, promise, cost=COST
        ),
        *(
            Case(
                f"AdaSSP {calibration}, {adjacency}",
                regressed(source, calibration=calibration, adjacency=adjacency),
                first,
                rising,
                approximately,
                DELTA,
                cost=COST,
            )
            for calibration in calibrations
            for adjacency, first in added
        ),
        *beyond_global(source),
    )


def _lowest_of(block: Any) -> float:
    return float(np.min(block))


def beyond_global(source: Source | None = None) -> tuple[Case, ...]:
    """Return the cases of smooth sensitivity, sample and aggregate, and learning in steps."""
    within = {"bounds": (-1.0, 1.0)}
    columns = {"bounds": [(-1.0, 1.0)]}
    # one record is the median between two halves, or joins one of them
    halves = np.repeat([-0.2, 0.2], OTHERS // 2)
    between, joined = np.append(halves, 0.0), np.append(halves, 0.2)
    ones = np.ones(8)
    lowest, none_low = np.append(ones, -1.0), np.append(ones, 1.0)
    # with so few records, most lots fall on the one that differs
    first, second = np.asarray([0.0, -1.0]), np.asarray([0.0, 1.0])
    promise, approximately = pure(EPSILON), approximate(EPSILON, DELTA)

    def learnt(fit: Callable[..., Any], **asked: Any) -> Sampler:
        return released(source, lambda data, **price: fit("mean", [data], **price), **columns, **asked)

    return (
        Case(
            "smooth median",
            released(source, smooth_median, **within, delta=DELTA),
            between,
            joined,
            approximately,
            DELTA,
            cost=COST,
        ),
        Case(
            "aggregate",
            released(source, aggregate, **within, estimator=_lowest_of, blocks=4),
            lowest,
            none_low,
            promise,
            cost=COST,
        ),
        Case("gradient descent, last iterate", learnt(gradient_descent, steps=2), first, second, promise, cost=COST),
        *(
            Case(
                f"DP-SGD, {adjacency}",
                learnt(sgd, delta=DELTA, steps=2, batch=0.7, adjacency=adjacency, size=size),
                other,
                second,
                approximately,
                DELTA,
                cost=COST,
            )
            for adjacency, other, size in (("replace", first, None), ("add_remove", np.append(second, 0.0), 2))
        ),
    )
