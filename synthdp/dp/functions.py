r"""Functions of the data, released as wholes: Gaussian noise shaped by the kernel of the space they live in.

For f in the space H of a kernel K, whose norm one record moves by at most Δ, f + σG with G a Gaussian process of
covariance K and σ = Δ·r(ε, δ), r the analytic calibration, is (ε, δ)-DP at all points together: for any points x with
Gram matrix M = K(x, x),

    f(x)ᵀ M⁻¹ f(x) ≤ ‖f‖²,     so N(f(x), σ²M) is a Gaussian mechanism of ℓ2 sensitivity Δ.

What is drawn are the coordinates of f in an orthonormal basis of the span of K at the points: Qf(x), with QMQᵀ = I, has
ℓ2 sensitivity Δ and independent noise, which comes from the safe source; the values at the points are computed from
it. Directions in which K is all but flat (10⁻¹⁰ of the largest) are left out: what a function has there is lost, and
nothing else.

References
----------
Hall (2012, PhD thesis, CMU), Propositions 3.2.1–3.2.3 and section 3.2.5. Misprints: in (3.5) Δ/α stands inside the
root; the noise's covariance lacks a square; the online rule drops the mean f and the scale of the noise, and so would
answer every question after the first without looking at the data. Its constant √(2 ln(2/β)) is proved for α ≤ 1 only
(at α = 8, β = .1 its δ is .14); the analytic one holds for every ε and is smaller.
Hall, Rinaldo, Wasserman (2013), "Differential privacy for functions and functional data", JMLR 14.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from synthdp.dp.declarations import Budget
from synthdp.dp.request import NoisePrice, Priced, Request, priced
from synthdp.errors import InputError
from synthdp.privacy.guarantees import floats, positive
from synthdp.privacy.mechanisms import Gaussian, Sensitivity, Source
from synthdp.table.microdata import Floats

FLAT = 1e-10
NEGATIVE = 1e-8
OWN = 1e-8
"""Of K(x, x): the variance of the noise that an answer of `OnlineRelease` has of its own."""


@dataclass(frozen=True, repr=False)
class ReleasedFunction(Priced):
    """Values of a function at public points with their noise, and the pointwise interval of the noise.

    ``noise_sd`` is the standard deviation of the noise at every point.
    """

    estimate: Floats
    noise_sd: Floats
    budget: Budget
    notes: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def low(self) -> Floats:
        """Lower end of the interval, at every point on its own."""
        return np.asarray(self.estimate - reach(self.budget) * self.noise_sd)

    @property
    def high(self) -> Floats:
        """Upper end of the interval, at every point on its own."""
        return np.asarray(self.estimate + reach(self.budget) * self.noise_sd)

    def __repr__(self) -> str:
        return f"ReleasedFunction({self.estimate.size} points; {self.guarantee()})"

    def table(self) -> pd.DataFrame:
        """Return one row per point."""
        columns = {"estimate": self.estimate, "low": self.low, "high": self.high, "noise_sd": self.noise_sd}
        index = pd.RangeIndex(1, self.estimate.size + 1, name="point")
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)


def reach(budget: Budget) -> float:
    """Return how many standard deviations of normal noise the interval goes to each side."""
    from scipy.special import ndtri

    return float(ndtri(budget.tails[1]))


@dataclass(frozen=True)
class Basis:
    """An orthonormal basis of the span of a kernel at points: coordinates are ``into @ f``, values ``back @ c``."""

    into: Floats
    back: Floats

    @classmethod
    def of(cls, gram: ArrayLike) -> "Basis":
        """Return the basis of one Gram matrix. Cost O(N³)."""
        matrix = floats(gram, "gram")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix).all():
            raise InputError("gram: must be a square matrix of finite numbers, one row for each point.")
        if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-10 * max(float(np.abs(matrix).max()), 1e-300)):
            raise InputError("gram: must be symmetric, K(x, y) = K(y, x).")
        values, vectors = np.linalg.eigh(matrix)
        if not values[-1] > 0:
            raise InputError("gram: all of it is 0, so the kernel holds no function at these points.")
        if values[0] < -NEGATIVE * values[-1]:
            raise InputError("gram: is no Gram matrix, as it has an eigenvalue below 0; check the kernel.")
        kept = values > FLAT * values[-1]
        root = np.sqrt(values[kept])
        return cls((vectors[:, kept] / root).T, vectors[:, kept] * root)


def along(arrays: Sequence[Floats], tensor: Floats) -> Floats:
    """Return a tensor with one matrix applied to each of its axes."""
    for axis, matrix in enumerate(arrays):
        tensor = np.moveaxis(np.tensordot(matrix, tensor, axes=(1, axis)), 0, axis)
    return tensor


def mechanism_of(budget: Budget, sensitivity: float, where: str) -> Gaussian:
    """Return the noise of every coordinate."""
    if budget.pure:
        raise InputError(f"{where}: Gaussian noise needs a delta above 0, such as 1e-6, found 0.")
    moved = Sensitivity(positive(sensitivity, f"{where}: sensitivity"), "l2", budget.adjacency)
    return Gaussian.calibrated(moved, epsilon=budget.epsilon, delta=budget.delta)


@priced(NoisePrice)
def release_function(
    values: Any, gram: Any, *, sensitivity: float, what: str = "function", **price: Unpack[NoisePrice]
) -> ReleasedFunction:
    """Release a function at public points with noise N(0, σ²·Gram).

    Parameters
    ----------
    values
        The function at the points: a vector, or an array with an axis for each axis of a grid.
    gram
        The kernel between all points, or for a grid a list of one Gram matrix per axis (a product kernel).
    sensitivity
        The most by which one record moves the function in the norm of the kernel's space; proved, not measured.
    what
        What is released, for the ledger.
    delta
        Above 0: the noise is Gaussian.

    Notes
    -----
    The points must not depend on the data. In double arithmetic a coordinate may be off by 10⁻¹⁶ of the values times
    10⁵; `synthdp.dp.density` avoids that by computing coordinates from records. Cost O(N³) for N points on an axis.

    Examples
    --------
    >>> from synthdp.dp.kernels import gaussian_gram
    >>> from synthdp.privacy.mechanisms import Simulated
    >>> x = np.linspace(0, 1, 5)
    >>> noise = Simulated(np.random.default_rng(1))
    >>> found = release_function(
    ...     np.sin(x), gaussian_gram(x, x, 0.3), sensitivity=0.01, epsilon=1, delta=1e-5, source=noise
    ... )
    >>> found
    ReleasedFunction(5 points; ε = 1, δ = 1e-05, adjacency replace)
    """
    request = Request(**price)
    mechanism = mechanism_of(request.budget, sensitivity, what)
    # rows of numbers are one matrix
    each = isinstance(gram, list | tuple) and all(hasattr(one, "__len__") and np.ndim(one[0]) == 1 for one in gram)
    grams = list(gram) if each else [gram]
    bases = [Basis.of(one) for one in grams]
    f = floats(values, "values")
    shape = tuple(basis.back.shape[0] for basis in bases)
    if f.shape != shape:
        raise InputError(f"values: must have one number for each point, {shape}, found {f.shape}.")
    source = request.source(what)
    noisy = mechanism.release(along([basis.into for basis in bases], f), source=source)
    backs = [basis.back for basis in bases]
    notes = ("the intervals are of the privacy noise, at each point on its own",)
    return ReleasedFunction(along(backs, noisy), spread(backs, mechanism.sd), request.budget, notes)


def spread(backs: Sequence[Floats], sd: float) -> Floats:
    """Return the sd of the noise at every point of a grid."""
    found = np.ones(())
    for back in backs:
        found = np.multiply.outer(found, np.sqrt((back**2).sum(axis=1)))
    return np.asarray(sd * found)


class OnlineRelease:
    """A function that is asked for point by point, as often as one likes, at one price.

    Each new point adds one coordinate of f to those that were released; a point asked before gets the same answer.
    Answers follow the law of one release at all points together, so any number of them costs the one price.

    Parameters
    ----------
    function
        The confidential function: values at an array of points.
    kernel
        K of two arrays of points: a matrix.
    sensitivity, epsilon, delta, adjacency, source, ledger
        As for `release_function`; the ledger is charged before the first answer.

    Notes
    -----
    Points may be chosen by looking at earlier answers: all are answers of one noisy function. Cost O(k²) for point k.

    Every point has a little noise of its own, 10⁻⁴ of the rest in sd: to K is added 10⁻⁸ of its diagonal, in whose
    space f has no larger norm. Without it a row of points close together would have coordinates that are nothing but
    rounding, as a smooth function is all but known from its last few values. With it a coordinate may be off by 10⁻¹²
    of the values.

    Examples
    --------
    >>> from synthdp.dp.kernels import gaussian_gram
    >>> from synthdp.privacy.mechanisms import Simulated
    >>> noise = Simulated(np.random.default_rng(1))
    >>> asked = OnlineRelease(
    ...     np.sin, lambda x, y: gaussian_gram(x, y, 0.2), sensitivity=0.01, epsilon=1, delta=1e-5, source=noise
    ... )
    >>> bool(asked.at([0.3])[0] == asked.at([0.7, 0.3])[1])
    True
    """

    def __init__(
        self,
        function: Callable[[Floats], ArrayLike],
        kernel: Callable[[Floats, Floats], Floats],
        *,
        sensitivity: float,
        what: str = "function",
        **price: Unpack[NoisePrice],
    ) -> None:
        request = Request(**price)
        self.budget = request.budget
        self._function, self._kernel = function, kernel
        self._mechanism = mechanism_of(self.budget, sensitivity, what)
        self._source: Source = request.source(what)
        self._points: list[Floats] = []
        self._answered: dict[bytes, float] = {}
        # rows: coordinates of the kernel at each point; beside them f's and the released coordinates
        self._root: Floats = np.zeros((0, 0))
        self._true: Floats = np.zeros(0)
        self._noisy: Floats = np.zeros(0)

    def __repr__(self) -> str:
        return f"OnlineRelease({len(self._noisy)} coordinates; ε = {self.budget.epsilon:g}, δ = {self.budget.delta:g})"

    @property
    def noise_sd(self) -> float:
        """σ: the sd of an answer where K(x, x) = 1."""
        return self._mechanism.sd

    def at(self, points: ArrayLike) -> Floats:
        """Return the noisy function at points: numbers, or rows where the function takes several."""
        asked = floats(points, "points")
        if not asked.ndim or not np.isfinite(asked).all():
            raise InputError("points: must be a list of finite numbers, or of rows of them.")
        return np.array([self._once(asked[k : k + 1]) for k in range(len(asked))])

    def _once(self, point: Floats) -> float:
        # −0 and 0 are one place
        place = (point + 0.0).tobytes()
        if place not in self._answered:
            self._answered[place] = self._answer(point)
        return self._answered[place]

    def _answer(self, point: Floats) -> float:
        from scipy.linalg import solve_triangular

        itself = float(self._between(point, point)[0])
        known: Floats = np.zeros(0)
        if self._points:
            between = self._between(np.concatenate(self._points), point)
            known = np.asarray(solve_triangular(self._root, between, lower=True), dtype=np.float64)
        left = itself - float(known @ known)
        if itself < 0 or left < -NEGATIVE * itself:
            raise InputError("kernel: is none, as the Gram matrix of the points asked has an eigenvalue below 0.")
        if itself == 0:
            return 0.0
        root = math.sqrt(max(left, 0.0) + OWN * itself)
        value = float(np.asarray(self._function(point), dtype=np.float64).ravel()[0])
        coordinate = (value - float(known @ self._true)) / root
        noisy = self._mechanism.release(np.array([coordinate]), source=self._source)
        size = len(self._noisy)
        grown = np.zeros((size + 1, size + 1))
        grown[:size, :size], grown[size, :size], grown[size, size] = self._root, known, root
        self._root, self._points = grown, [*self._points, point]
        self._true, self._noisy = np.append(self._true, coordinate), np.append(self._noisy, noisy)
        return float(known @ self._noisy[:-1] + root * self._noisy[-1])

    def _between(self, points: Floats, point: Floats) -> Floats:
        """Return the kernel between points and one point."""
        found = floats(self._kernel(points, point), "kernel")
        if found.shape != (len(points), 1) or not np.isfinite(found).all():
            raise InputError(
                "kernel: must return finite numbers, a row for each first and a column for each second point."
            )
        return found[:, 0]
