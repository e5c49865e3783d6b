r"""Noise in the shape of a convex body: density ∝ exp(−ε‖x − value‖_K/Δ_K).

A draw is value + r·V, r ~ Gamma(d + 1, Δ_K/ε), V uniform in K; then ‖r·V‖_K ~ Gamma(d, Δ_K/ε), mean d·Δ_K/ε. The ℓ2
ball gives the "gamma" mechanism, the ℓ1 ball Laplace noise, the ℓ∞ ball noise for vectors whose every entry may move.

These laws have no sampler that is safe in floating point: the secure source refuses them.

References
----------
Hardt, Talwar (2010), STOC, section 4. Hall (2012, PhD thesis, CMU), Propositions 1.3.2 and 1.3.4; there "Δ_K ≤ 2 if
every value lies in K" needs K = −K, which the text does not say: for its trigonometric body the right value is m + 1,
not 2, so the printed noise is only ((m + 1)/2)ε-DP. Bodies here are symmetric.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from synthdp.errors import InputError
from synthdp.microdata import Floats
from synthdp.privacy.accounting.events import Event, Pure
from synthdp.privacy.mechanisms.protocol import Source
from synthdp.privacy.mechanisms.sensitivity import Norm, Sensitivity
from synthdp.privacy.parameters import epsilon_of, positive

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
class KNorm:
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
        rng = source.generator("k-norm")
        centre = np.asarray(value, dtype=np.float64)
        rows = np.atleast_2d(centre)
        if not np.isfinite(rows).all():
            raise InputError("k-norm: values must be finite.")
        size, dimension = rows.shape
        noise = rng.gamma(dimension + 1, self.scale, (size, 1)) * uniform(self.ball, dimension, size, rng=rng)
        return np.asarray((rows + noise @ self._root(dimension)).reshape(centre.shape))

    def event(self) -> Event:
        """Return what the release costs."""
        return self.sensitivity.guard(Pure(self.epsilon))

    def describe(self) -> str:
        """Return mechanism, noise and sensitivity in plain words."""
        body = f"the {self.ball} ball, scale {self.scale:g}"
        return f"Noise in the shape of {body} ({self.sensitivity}): {self.epsilon:.4g}-DP"

    def caution(self, width: float, dimension: int = 1) -> str | None:
        """Return a sentence when the noise is longer than the answers can differ; None when it is not."""
        length = self.mean_gauge(dimension)
        if length <= positive(width, "k-norm: width of possible answers") / 2:
            return None
        return (
            f"k-norm: the noise (mean length {length:.3g}) is wider than the answers can differ ({width:.3g}); "
            "the output is noise. Raise epsilon or use more records."
        )

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
