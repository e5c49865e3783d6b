"""Cases for the auditor: private functions on neighbouring files that are hard for them; see `audited`."""

from typing import Any

import numpy as np

from synthdp.dp.density import density
from synthdp.dp.functions import OnlineRelease, release_function
from synthdp.dp.kernels import Kernel, gaussian_gram, gaussian_sensitivity
from synthdp.dp.svm import svm
from synthdp.privacy.audit.cases import Case
from synthdp.privacy.audit.runs import Sampler, repeated
from synthdp.privacy.mechanisms import Simulated, Source
from synthdp.privacy.tradeoff.curves import approximate, pure

EPSILON = 1.0
DELTA = 1e-3
# one call per run, and each draws many times
COST = 8.0
PLACES = (0.2, 0.8)
WIDTH = 0.1


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
