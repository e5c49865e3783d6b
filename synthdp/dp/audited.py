"""Cases for the auditor: whole algorithms on neighbouring files that are hard for them.

Mechanisms have theirs in `synthdp.privacy.audit.cases`. What an algorithm adds is that it releases several times and
chooses what to ask next by what it was told, so that the sum of its parts is what has to be audited.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from synthdp.dp.aggregation import aggregate
from synthdp.dp.density import density
from synthdp.dp.functions import OnlineRelease, release_function
from synthdp.dp.gram_noise import Calibration
from synthdp.dp.kernels import Kernel, gaussian_gram, gaussian_sensitivity
from synthdp.dp.kmeans import kmeans
from synthdp.dp.learning import gradient_descent, sgd
from synthdp.dp.regression import adassp
from synthdp.dp.smoothed import smooth_median
from synthdp.dp.svm import svm
from synthdp.privacy.audit.cases import Case
from synthdp.privacy.audit.runs import Sampler, repeated
from synthdp.privacy.guarantees import Adjacency
from synthdp.privacy.mechanisms import Simulated, Source
from synthdp.privacy.tradeoff.curves import approximate, pure

EPSILON = 1.0
DELTA = 1e-3
OTHERS = 60
# one call per run, and each draws many times
COST = 8.0
PLACES = (0.2, 0.8)
WIDTH = 0.1


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


def curve(source: Source | None, *, kernel: Kernel, delta: float, gamma: bool = False) -> Sampler:
    """Return a density told at two points, far apart for the kernel, where the one record is or is not.

    Under a Gaussian process the difference of the two values says all there is to know; of Fourier coefficients only
    those of the first frequency are released, and both values are told.
    """
    more: dict[str, Any] = {} if kernel != "fourier" else {"frequencies": 1, "noise": "gamma" if gamma else "laplace"}

    def once(data: Any, rng: np.random.Generator) -> Any:
        found = density(
            data,
            bounds=(0, 1),
            bandwidth=0.2 if kernel == "fourier" else 0.1,
            kernel=kernel,
            grid=PLACES,
            epsilon=EPSILON,
            delta=delta,
            source=source if source is not None else Simulated(rng),
            **more,
        ).estimate
        return found if kernel == "fourier" else found[1] - found[0]

    return repeated(once)


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
                learnt(sgd, delta=DELTA, steps=2, batch=0.7, adjacency=adjacency, size=2),
                other,
                second,
                approximately,
                DELTA,
                cost=COST,
            )
            for adjacency, other in (("replace", first), ("add_remove", np.append(second, 0.0)))
        ),
    )


def function(source: Source | None, *, online: bool) -> Sampler:
    """Return a function that is given, told at the two points: released at once, or asked for point by point."""

    def kernel(x: Any, y: Any) -> Any:
        return gaussian_gram(x, y, WIDTH)

    def once(data: Any, rng: np.random.Generator) -> Any:
        records, at = np.asarray(data), np.asarray(PLACES)

        def f(x: Any) -> Any:
            return kernel(x, records).mean(axis=1)

        moved = gaussian_sensitivity(len(records), [WIDTH]) * np.sqrt(2 * np.pi) * WIDTH
        price: dict[str, Any] = {"sensitivity": moved, "epsilon": EPSILON, "delta": DELTA}
        price["source"] = source if source is not None else Simulated(rng)
        if online:
            low, high, _ = OnlineRelease(f, kernel, **price).at([*PLACES, PLACES[0]])
        else:
            low, high = release_function(f(at), kernel(at, at), **price).estimate
        return high - low

    return repeated(once)


def classified(source: Source | None) -> Sampler:
    """Return a support vector machine in which every record is on the margin, told at the place of all records."""

    def once(data: Any, rng: np.random.Generator) -> Any:
        found = svm(
            np.full(len(data), 0.5),
            data,
            bounds=[(0, 1)],
            bandwidth=0.5,
            regularisation=1.0,
            epsilon=EPSILON,
            delta=DELTA,
            source=source if source is not None else Simulated(rng),
        )
        return float(found.decision([0.5])[0])

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


def functions(source: Source | None = None) -> tuple[Case, ...]:
    """Return the cases of private functions: densities, curves and the support vector machine."""
    # all others in the middle, where neither point hears of them; one record moves from the one to the other
    middle = np.full(9, 0.5)
    here, there = np.append(middle, PLACES[0]), np.append(middle, PLACES[1])
    balanced = np.repeat([1, 0], 4)
    exact, slack = pure(EPSILON), approximate(EPSILON, DELTA)
    told: tuple[tuple[str, Sampler, float], ...] = (
        ("density, gaussian", curve(source, kernel="gaussian", delta=DELTA), DELTA),
        ("density, sobolev", curve(source, kernel="sobolev", delta=DELTA), DELTA),
        ("density, fourier", curve(source, kernel="fourier", delta=0.0), 0.0),
        ("density, fourier with δ", curve(source, kernel="fourier", delta=DELTA), DELTA),
        ("function, at once", function(source, online=False), DELTA),
        ("function, online", function(source, online=True), DELTA),
    )
    if source is None or source.name != "secure":
        told = (*told, ("density, fourier, gamma noise", curve(source, kernel="fourier", delta=0.0, gamma=True), 0.0))
    return (
        *(Case(name, sample, here, there, slack if delta else exact, delta, cost=COST) for name, sample, delta in told),
        Case(
            "support vector machine",
            classified(source),
            np.append(balanced, 0),
            np.append(balanced, 1),
            slack,
            DELTA,
            cost=COST,
        ),
    )
