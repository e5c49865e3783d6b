"""The Fourier density estimate: means of cosines and sines with noise, damped; pure ε-DP, or (ε, δ) with less noise.

Records are moved into the middle of [0, 1], two bandwidths from either end, as the kernel is wrapped around the circle
and would otherwise lift one end by what lies at the other. Frequencies above m, where damping leaves less than
10⁻³, are not released: every one costs noise (4m/n in ℓ1). The constant coefficient is 1 and needs none.

References
----------
Hall (2012, PhD thesis, CMU), chapter 4; it takes m = ⌈ln n/h⌉, with which most of ε would go into coefficients that
damping sets to 0. Its K-norm noise (section 4.4.2) is left out: with the right sensitivity, (m + 1)/n in the gauge of
its body and not 2/n, it is worse than either noise here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np

from synthdp.dp.declarations import Budget
from synthdp.dp.functions import along
from synthdp.dp.kernels import damping, fourier_basis, fourier_l1, fourier_l2
from synthdp.dp.noise import Noise, bootstrap_generator
from synthdp.errors import InputError
from synthdp.privacy.guarantees import whole
from synthdp.privacy.mechanisms import KNorm, Sensitivity, Source, gamma
from synthdp.table.microdata import Floats

Shape = Literal["laplace", "gamma"]
SHAPES = ("laplace", "gamma")
MARGIN = 2.0
REACHED = 0.6
MOST_COEFFICIENTS = 40_000
DRAWS, AT_ONCE, LOOKED_AT = 4000, 2**23, 24


@dataclass(frozen=True)
class Circle:
    """Axes of [0, 1] moved into the middle of circles of length 1, with the frequencies that are kept of each."""

    bandwidths: tuple[float, ...]
    frequencies: tuple[int, ...]

    @classmethod
    def of(cls, bandwidths: Sequence[float], frequencies: int | None) -> "Circle":
        """Return the circles of these bandwidths, with frequencies from the damping unless they are given."""
        given = None if frequencies is None else whole(frequencies, "frequencies", 1)
        wanted = [math.ceil(REACHED * (1 + 2 * MARGIN * h) / h) if given is None else given for h in bandwidths]
        most = max(wanted)
        size = (2 * most + 1) ** len(wanted)
        if size > MOST_COEFFICIENTS:
            raise InputError(
                f"density: {size:,} Fourier coefficients, at most {MOST_COEFFICIENTS:,}; use a larger bandwidth."
            )
        return cls(tuple(bandwidths), (most,) * len(wanted))

    def place(self, axis: int, x: Floats) -> Floats:
        """Return where points of [0, 1] lie on their circle."""
        room = MARGIN * self.bandwidths[axis]
        return np.asarray((x + room) / (1 + 2 * room))

    def basis(self, axis: int, x: Floats) -> Floats:
        """Return the basis at points of [0, 1]."""
        return fourier_basis(self.place(axis, x), self.frequencies[axis])

    def damped(self, axis: int, x: Floats) -> Floats:
        """Return the basis times its damping, scaled back from the circle to [0, 1]."""
        length = 1 + 2 * MARGIN * self.bandwidths[axis]
        return self.basis(axis, x) * damping(self.frequencies[axis], self.bandwidths[axis] / length) / length


@dataclass(frozen=True)
class Coefficients:
    """The noise of all coefficients but the constant one."""

    noise: Noise | KNorm
    size: int

    @classmethod
    def of(cls, budget: Budget, n: int, circle: Circle, shape: Shape, widened: float) -> "Coefficients":
        """Return Laplace noise by 2((2m+1)^d − 1)/n, or Gaussian or gamma noise by the ℓ2 sensitivity."""
        m, columns = circle.frequencies[0], len(circle.frequencies)
        size = (2 * m + 1) ** columns - 1
        l1, l2 = fourier_l1(n, m, columns) * widened, fourier_l2(n, m, columns) * widened
        if shape == "gamma":
            if not budget.pure:
                raise InputError("noise: gamma is for delta 0; leave it out for Gaussian noise.")
            return cls(gamma(Sensitivity(l2, "l2", budget.adjacency), epsilon=budget.epsilon), size)
        return cls(Noise.of(budget, l1, l2), size)

    @property
    def sd(self) -> float:
        """The sd of the noise of one coefficient."""
        return self.noise.scale * math.sqrt(self.size + 1) if isinstance(self.noise, KNorm) else self.noise.sd

    def add(self, means: Floats, source: Source) -> Floats:
        """Return the coefficients with noise; the constant one is 1."""
        flat = means.ravel()
        rest = flat[1:]
        noisy = (
            self.noise.release(rest, source=source) if isinstance(self.noise, KNorm) else self.noise.add(rest, source)
        )
        return np.concatenate([[1.0], noisy]).reshape(means.shape)

    def draw(self, runs: int, rng: np.random.Generator) -> Floats:
        """Return draws of the same noise in columns, for the width of an interval; never part of a release."""
        if isinstance(self.noise, KNorm):
            directions = rng.standard_normal((self.size, runs))
            length = rng.gamma(self.size, self.noise.scale, runs)
            return np.asarray(directions / np.linalg.norm(directions, axis=0) * length)
        return self.noise.draw((self.size, runs), rng=rng)


def estimated(
    circle: Circle, coefficients: Coefficients, means: Floats, points: Sequence[Floats], level: float, source: Source
) -> tuple[Floats, Floats, float]:
    """Return the noisy density on a grid, the sd of its noise, and how many of them the interval goes to each side.

    A weighted sum of Laplace variables has no closed quantile: it is simulated at a few points of the grid, and the
    largest is taken.
    """
    bases = [circle.damped(axis, x) for axis, x in enumerate(points)]
    estimate = along(bases, coefficients.add(means, source))
    squares = reduce(np.multiply.outer, [(basis**2).sum(axis=1) for basis in bases])
    constant = reduce(np.multiply.outer, [basis[:, 0] ** 2 for basis in bases])
    sd = coefficients.sd * np.sqrt(squares - constant)
    rng = bootstrap_generator(source)
    places = np.unique(np.linspace(0, estimate.size - 1, LOOKED_AT).astype(int))
    at = np.unravel_index(places, estimate.shape)
    rows = np.stack(
        [
            reduce(np.multiply.outer, [basis[k] for basis, k in zip(bases, where, strict=True)]).ravel()[1:]
            for where in zip(*at, strict=True)
        ]
    )
    # coefficients that damping sets to nothing add nothing to any point
    loud = np.abs(rows).max(axis=0) > 1e-4 * np.abs(rows).max()
    kept = np.flatnonzero(loud) if not isinstance(coefficients.noise, KNorm) else np.arange(rows.shape[1])
    louder = Coefficients(coefficients.noise, len(kept))
    runs = [min(AT_ONCE // len(kept) + 1, DRAWS - done) for done in range(0, DRAWS, AT_ONCE // len(kept) + 1)]
    drawn = np.concatenate([rows[:, kept] @ louder.draw(some, rng) for some in runs], axis=1)
    ratio = np.abs(drawn) / sd.ravel()[places][:, None]
    return estimate, sd, float(np.quantile(ratio, level, axis=1).max())
