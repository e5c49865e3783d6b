r"""Noise in a shape: Laplace noise conditioned on an interval, and noise in the shape of a convex body.

Density e^{−|v−q|/b}/(2b·C_q) on [l, u], C_q = 1 − (e^{−(q−l)/b} + e^{−(u−q)/b})/2. The normaliser depends on q, so
b = Δ/ε is not enough; (ε, δ)-DP holds when  b ≥ Δ/(ε − ln(C_{l+Δ}/C_l) − ln(1 − δ)),  a fixed point in b.

A draw is value + r·V, r ~ Gamma(d + 1, Δ_K/ε), V uniform in K; then ‖r·V‖_K ~ Gamma(d, Δ_K/ε), mean d·Δ_K/ε. The ℓ2
ball gives the "gamma" mechanism, the ℓ1 ball Laplace noise, the ℓ∞ ball noise for vectors whose every entry may move.

These laws have no sampler that is safe in floating point: the secure source refuses them.

References
----------
Holohan, Antonatos, Braghin, Mac Aonghusa (2020), "The bounded Laplace mechanism in differential privacy",
J. Privacy and Confidentiality 10(1), section 3. Biswal (2024), section 5.5, has a bracket of C_q in the wrong place.
Hardt, Talwar (2010), STOC, section 4. Hall (2012, PhD thesis, CMU), Propositions 1.3.2 and 1.3.4; there "Δ_K ≤ 2 if
every value lies in K" needs K = −K, which the text does not say: for its trigonometric body the right value is m + 1,
not 2, so the printed noise is only ((m + 1)/2)ε-DP. Bodies here are symmetric.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import bisected
from synthdp.privacy.events import Approximate, Event, Pure
from synthdp.privacy.guarantees import epsilon_of, positive, slack_of
from synthdp.privacy.mechanisms.mechanism import Mechanism, Source
from synthdp.privacy.mechanisms.sensitivity import Bounds, Norm, Sensitivity
from synthdp.table.microdata import Floats

MOST_TRIES = 10_000


def normaliser(q: float, bounds: Bounds, scale: float) -> float:
    """Return C_q, the probability that unconditioned noise stays inside."""
    return -(math.expm1(-(q - bounds.low) / scale) + math.expm1(-(bounds.high - q) / scale)) / 2


def bounded_scale(bounds: Bounds, sensitivity: float, epsilon: float, delta: float = 0.0) -> float:
    """Return the smallest b of the fixed point, by bisection that ends on the private side."""
    epsilon, delta = epsilon_of(epsilon), slack_of(delta)
    if sensitivity > bounds.width:
        raise InputError("bounded laplace: the sensitivity is larger than the width of the output's bounds.")
    budget = epsilon - math.log1p(-delta)

    def needed(scale: float) -> float:
        ratio = normaliser(bounds.low + sensitivity, bounds, scale) / normaliser(bounds.low, bounds, scale)
        left = budget - math.log(ratio)
        return sensitivity / left if left > 0 else math.inf

    least = sensitivity / budget
    return bisected(lambda scale: scale >= needed(scale), low=least, high=least, precision=1e-13)[1]


@dataclass(frozen=True)
class BoundedLaplace(Mechanism):
    """Laplace noise conditioned on the output's bounds, for one number.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms.sensitivity import Sensitivity
    >>> age = BoundedLaplace.calibrated(Sensitivity(1, "l1", "replace"), Bounds(0, 110), epsilon=1)
    >>> round(age.scale, 6)
    1.612605
    """

    sensitivity: Sensitivity
    bounds: Bounds
    epsilon: float
    delta: float
    scale: float

    name: ClassVar[str] = "bounded laplace"

    def __post_init__(self) -> None:
        self.sensitivity.within(("l1",), self.name)
        positive(self.scale, f"{self.name} scale")

    @property
    def sd(self) -> float:
        """Standard deviation of the noise before it is conditioned, √2·scale."""
        return math.sqrt(2) * self.scale

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, bounds: Bounds, *, epsilon: float, delta: float = 0.0) -> Self:
        """Return the least noise that is (ε, δ)-DP."""
        scale = bounded_scale(bounds, sensitivity.value, epsilon, delta)
        return cls(sensitivity, bounds, epsilon, delta, scale)

    def release(self, value: Floats | float, *, source: Source) -> Floats:
        """Return each value with noise, drawn again while it is outside; each is a release of its own.

        How long it takes depends on the value: do not let a stranger time it. Expected rounds grow as scale/width.
        """
        centre = np.asarray(value, dtype=np.float64)
        outside = int(np.count_nonzero(~((centre >= self.bounds.low) & (centre <= self.bounds.high))))
        if outside:
            raise InputError(f"bounded laplace: {outside} of {centre.size} values are outside the bounds; clip them.")
        flat = centre.ravel()
        noisy = np.empty(flat.size)
        todo = np.arange(flat.size)
        for _ in range(MOST_TRIES):
            if not todo.size:
                break
            drawn = source.laplace(flat[todo], scale=self.scale, sensitivity=self.sensitivity.value)
            inside = (drawn >= self.bounds.low) & (drawn <= self.bounds.high)
            noisy[todo[inside]] = drawn[inside]
            todo = todo[~inside]
        if todo.size:
            raise InputError("bounded laplace: the noise is so wide that no draw stays inside; raise epsilon.")
        return noisy.reshape(centre.shape)

    def log_density(self, output: Floats, value: float) -> Floats:
        """Return the log density of outputs inside the bounds, given the true value."""
        norm = 2 * self.scale * normaliser(value, self.bounds, self.scale)
        return np.asarray(-np.abs(np.asarray(output) - value) / self.scale - math.log(norm))

    def _cost(self) -> Event:
        paid = Pure(self.epsilon) if not self.delta else Approximate(self.epsilon, self.delta)
        return replace(self.sensitivity, origin=self.bounds.origin).guard(paid)

    def _claim(self) -> str:
        return f"({self.epsilon:.4g}, {self.delta:.2g})-DP" if self.delta else super()._claim()

    def _noise(self) -> str:
        return f"Laplace noise of scale {self.scale:g} kept inside [{self.bounds.low:g}, {self.bounds.high:g}]"


Ball = Literal["l1", "l2", "linf"]


def gauge(x: Floats, ball: Ball) -> Floats:
    """Return the norm of each row whose unit ball is the body."""
    order = {"l1": 1, "l2": 2, "linf": np.inf}[ball]
    return np.asarray(np.linalg.norm(np.atleast_2d(x), ord=order, axis=1))


def uniform(ball: Ball, dimension: int, size: int, *, rng: np.random.Generator) -> Floats:
    """Draw uniformly from a unit ball: rows are draws."""
    if ball == "linf":
        return rng.uniform(-1.0, 1.0, (size, dimension))
    radius = rng.random((size, 1)) ** (1 / dimension)
    if ball == "l2":
        direction = rng.standard_normal((size, dimension))
        return np.asarray(radius * direction / np.linalg.norm(direction, axis=1, keepdims=True))
    share = rng.dirichlet(np.ones(dimension), size)
    return np.asarray(radius * share * rng.choice([-1.0, 1.0], (size, dimension)))


@dataclass(frozen=True)
class KNorm(Mechanism):
    """Noise in the shape of a unit ball, or of a linear image of the ℓ2 ball.

    Parameters
    ----------
    sensitivity
        In the norm of the ball; ``gauge`` when a ``shape`` is given.
    epsilon
        The pure guarantee.
    ball
        The body.
    shape
        With the ℓ2 ball: a matrix S, rows as nested tuples. Distances are √(xᵀS⁻¹x), noise has the shape S^{1/2}.

    Examples
    --------
    >>> from synthdp.privacy.mechanisms.sensitivity import Sensitivity
    >>> KNorm(Sensitivity(1, "l2", "replace"), epsilon=0.5).mean_gauge(3)
    6.0
    """

    sensitivity: Sensitivity
    epsilon: float
    ball: Ball = "l2"
    shape: tuple[tuple[float, ...], ...] | None = None

    name: ClassVar[str] = "k-norm"

    def __post_init__(self) -> None:
        epsilon_of(self.epsilon)
        if self.shape is not None and self.ball != "l2":
            raise InputError("k-norm: a shape goes with the l2 ball only.")
        needed: Norm = "gauge" if self.shape is not None else self.ball
        self.sensitivity.within((needed,), "k-norm")

    @classmethod
    def calibrated(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: float,
        ball: Ball = "l2",
        shape: tuple[tuple[float, ...], ...] | None = None,
    ) -> Self:
        """Return the mechanism that is ε-DP."""
        return cls(sensitivity, epsilon, ball, shape)

    @property
    def scale(self) -> float:
        """Scale of the noise's gauge, Δ/ε."""
        return self.sensitivity.value / self.epsilon

    def mean_gauge(self, dimension: int) -> float:
        """Return the expected norm of the noise, d·Δ/ε."""
        return dimension * self.scale

    def release(self, value: Floats, *, source: Source) -> Floats:
        """Return a vector with noise; rows of a matrix are separate releases."""
        rng = source.generator(self.name)
        centre = np.asarray(value, dtype=np.float64)
        rows = np.atleast_2d(centre)
        if not np.isfinite(rows).all():
            raise InputError("k-norm: values must be finite.")
        size, dimension = rows.shape
        noise = rng.gamma(dimension + 1, self.scale, (size, 1)) * uniform(self.ball, dimension, size, rng=rng)
        return np.asarray((rows + noise @ self._root(dimension)).reshape(centre.shape))

    def caution(self, width: float, dimension: int = 1) -> str | None:
        """Return a sentence when the noise is longer than the answers can differ; None when it is not."""
        length = self.mean_gauge(dimension)
        if length <= positive(width, "k-norm: width of possible answers") / 2:
            return None
        return (
            f"k-norm: the noise (mean length {length:.3g}) is wider than the answers can differ ({width:.3g}); "
            "the output is noise. Raise epsilon or use more records."
        )

    def _noise(self) -> str:
        return f"Noise in the shape of the {self.ball} ball, scale {self.scale:g}"

    def _root(self, dimension: int) -> Floats:
        if self.shape is None:
            return np.eye(dimension)
        matrix = np.array(self.shape)
        if matrix.shape != (dimension, dimension) or not np.allclose(matrix, matrix.T):
            raise InputError(f"k-norm: the shape must be a symmetric matrix of {dimension} rows.")
        values, vectors = np.linalg.eigh(matrix)
        if values.min() <= 0:
            raise InputError("k-norm: the shape must be positive definite.")
        return np.asarray((vectors * np.sqrt(values)) @ vectors.T)


def gamma(sensitivity: Sensitivity, *, epsilon: float) -> KNorm:
    """Return the ℓ2 mechanism: direction uniform, length Gamma(d, Δ₂/ε)."""
    return KNorm(sensitivity, epsilon, "l2")
