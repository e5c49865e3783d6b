r"""Bounded Laplace: Laplace noise conditioned on an output inside [l, u], so that ages stay ages.

Density e^{−|v−q|/b}/(2b·C_q) on [l, u], C_q = 1 − (e^{−(q−l)/b} + e^{−(u−q)/b})/2. The normaliser depends on q, so
b = Δ/ε is not enough; (ε, δ)-DP holds when  b ≥ Δ/(ε − ln(C_{l+Δ}/C_l) − ln(1 − δ)),  a fixed point in b.

References
----------
Holohan, Antonatos, Braghin, Mac Aonghusa (2020), "The bounded Laplace mechanism in differential privacy",
J. Privacy and Confidentiality 10(1), section 3. Biswal (2024), section 5.5, has a bracket of C_q in the wrong place.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from synthdp.errors import InputError
from synthdp.microdata import Floats
from synthdp.privacy.accounting.events import Approximate, Event, Pure
from synthdp.privacy.mechanisms.protocol import Source
from synthdp.privacy.mechanisms.sensitivity import Bounds, Sensitivity
from synthdp.privacy.mechanisms.strength import drowned
from synthdp.privacy.parameters import epsilon_of, positive, slack_of

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

    low = high = sensitivity / budget
    while high < needed(high):
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if middle >= needed(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class BoundedLaplace:
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

    def __post_init__(self) -> None:
        self.sensitivity.within(("l1",), "bounded laplace")
        positive(self.scale, "bounded laplace scale")

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

    def event(self) -> Event:
        """Return what the release costs."""
        pure = Pure(self.epsilon) if not self.delta else Approximate(self.epsilon, self.delta)
        if self.bounds.origin == "data":
            return Sensitivity(self.sensitivity.value, "l1", self.sensitivity.adjacency, "data").guard(pure)
        return self.sensitivity.guard(pure)

    def describe(self) -> str:
        """Return mechanism, noise and sensitivity in plain words."""
        claim = f"{self.epsilon:.4g}-DP" if not self.delta else f"({self.epsilon:.4g}, {self.delta:.2g})-DP"
        where = f"[{self.bounds.low:g}, {self.bounds.high:g}]"
        return f"Laplace noise of scale {self.scale:g} kept inside {where} ({self.sensitivity}): {claim}"

    def caution(self, width: float) -> str | None:
        """Return a sentence when the noise is wider than the answers can differ; None when it is not."""
        return drowned("bounded laplace", math.sqrt(2) * self.scale, width)
