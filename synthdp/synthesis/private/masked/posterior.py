r"""Draws of the moments given W: normal around their estimate, among the moments that records can have.

Records in bounds have π ≥ 0, 0 ≤ s_c ≤ π_c, G ≥ 0 and G_jj ≤ Σ_c s_cj (as x² ≤ x on the unit scale), and a covariance
within cells that is non-negative: G − Σ_c s_c s_cᵀ/π_c ⪰ 0. That set is convex. With a flat prior on it the posterior
is the normal law of the estimate, cut off at its border; where the noise is large, the border is most of what is known.

Where few draws of the normal law fall outside, those inside are the posterior, independent of each other. Otherwise a
chain of hit-and-run moves is used: a random direction, the part of the line inside the set, and a draw from the normal
law on it. Neither touches a record: n has left with the estimate, so that a step costs the same for any file.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from synthdp.synthesis.private.masked.moments import Estimated, Shape
from synthdp.table.microdata import Floats

TRIED = 400
ENOUGH = 40
BURNT = 60
THINNED = 12
"""Moves before the first draw and between two, per moment."""
WITHIN = 1e-9
"""The least variance of a number within cells, in squared widths of its bounds."""
RIDGE = 1e-10
FARTHEST = 1e6
INSIDE = 1 - 1e-9


@dataclass(frozen=True, repr=False)
class Posterior:
    """What is known of the moments.

    Parameters
    ----------
    estimated
        What W says.
    """

    estimated: Estimated

    def draws(self, count: int, *, rng: np.random.Generator) -> Floats:
        """Return so many draws, one a row; the first ones are the same however many are asked for."""
        root = _root(self.estimated.covariance)
        tried = self.estimated.value + rng.standard_normal((TRIED, len(root))) @ root.T
        good = feasible(tried, self.shape)
        if good.sum() >= ENOUGH:
            return self._by_rejection(root, tried[good], count, rng)
        return self._by_chain(root, count, rng)

    @property
    def shape(self) -> Shape:
        """How many cells and numbers there are."""
        return self.estimated.shape

    def _by_rejection(self, root: Floats, found: Floats, count: int, rng: np.random.Generator) -> Floats:
        while len(found) < count:
            tried = self.estimated.value + rng.standard_normal((TRIED, len(root))) @ root.T
            found = np.concatenate([found, tried[feasible(tried, self.shape)]])
        return found[:count]

    def _by_chain(self, root: Floats, count: int, rng: np.random.Generator) -> Floats:
        size = len(root)
        state = self.start()
        found = np.empty((count, size))
        for m in range(count):
            for _ in range((BURNT if m == 0 else THINNED) * size):
                state = self.moved(state, root, rng)
            found[m] = state
        return found

    def start(self) -> Floats:
        """Return moments inside the set: as far as it goes from its middle towards the estimate, less a tenth."""
        middle = centre(self.shape)
        _, high = _segment(middle, self.estimated.value - middle, self.shape)
        return np.asarray(middle + 0.9 * min(high, 1.0) * (self.estimated.value - middle))

    def moved(self, state: Floats, root: Floats, rng: np.random.Generator) -> Floats:
        """Return the state after one move of hit-and-run, which leaves the posterior as it is."""
        direction = self._direction(root, rng)
        low, high = _segment(state, direction, self.shape)
        precision, slope = self._along(state, direction)
        return np.asarray(state + _cut_normal(precision, slope, low, high, rng) * direction)

    def _direction(self, root: Floats, rng: np.random.Generator) -> Floats:
        """Return a direction: one moment alone, or all of them as the error goes."""
        if rng.random() < 0.5:
            found = np.zeros(len(root))
            found[rng.integers(len(root))] = 1.0
            return found
        found = root @ rng.standard_normal(len(root))
        return np.asarray(found / np.abs(found).max())

    @cached_property
    def _factor(self) -> tuple[Floats, bool]:
        covariance = self.estimated.covariance
        ridge = RIDGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        lower, flag = cho_factor(covariance + ridge, lower=True)
        return lower, flag

    def _along(self, state: Floats, direction: Floats) -> tuple[float, float]:
        """Return precision and linear term of the normal law on a line through the state."""
        weighed = cho_solve(self._factor, direction)
        return float(direction @ weighed), float(weighed @ (self.estimated.value - state))


def centre(shape: Shape) -> Floats:
    """Return moments well inside the set: cells alike, numbers in the middle, half of the variance they may have."""
    k, p = shape.cells, shape.numbers
    sums = np.full((k, p), 0.5 / k)
    return shape.join(np.full(k, 1 / k), sums, np.full((p, p), 0.25) + np.eye(p) / 8)


def feasible(vectors: Floats, shape: Shape) -> np.ndarray:
    """Return which of several vectors are moments that records can have."""
    shares, sums, squares = shape.split(np.atleast_2d(vectors))
    good = (shares > 0).all(axis=1)
    if not shape.numbers:
        return np.asarray(good)
    good &= (sums >= 0).all(axis=(1, 2)) & (sums <= shares[:, :, None]).all(axis=(1, 2))
    diagonal = np.diagonal(squares, axis1=1, axis2=2)
    good &= (diagonal <= sums.sum(axis=1)).all(axis=1) & (squares >= 0).all(axis=(1, 2))
    within = within_cells(np.where(shares > 0, shares, 1.0), sums, squares)
    good &= np.linalg.eigvalsh(within).min(axis=1) >= WITHIN
    return np.asarray(good)


def within_cells(shares: Floats, sums: Floats, squares: Floats) -> Floats:
    """Return the covariance of the numbers within cells."""
    between = np.einsum("...kp,...kq->...pq", sums / shares[..., None], sums)
    return np.asarray(squares - between)


def _segment(state: Floats, direction: Floats, shape: Shape) -> tuple[float, float]:
    """Return how far a line through a point of the set stays inside, to either side: where the first condition ends.

    That the covariance within cells is non-negative is a condition on a matrix that is linear in the moments,
    [[diag π, s], [sᵀ, G]] ⪰ 0 (Schur), so that it ends at an eigenvalue.
    """
    left, speed = _slacks(state, shape, 1.0), _slacks(direction, shape, 0.0)
    if shape.numbers:
        root = np.linalg.inv(np.linalg.cholesky(_stacked(state, shape, 1.0)))
        values = np.linalg.eigvalsh(root @ _stacked(direction, shape, 0.0) @ root.T)
        left, speed = np.append(left, [1.0, 1.0]), np.append(speed, values[[0, -1]])
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = -left / speed
    low = ends[speed > 0].max(initial=-FARTHEST)
    high = ends[speed < 0].min(initial=FARTHEST)
    # rounding must not lead outside
    return min(float(low) * INSIDE, 0.0), max(float(high) * INSIDE, 0.0)


def _slacks(vector: Floats, shape: Shape, one: float) -> Floats:
    """Return what is left of every linear condition; with ``one`` = 0 how fast it changes along a direction."""
    shares, sums, squares = shape.split(vector)
    if not one:
        shares = shares - np.eye(shape.cells)[0]  # the first share is 1 less the others
    within = shares[:, None] - sums
    square = sums.sum(axis=0) - np.diag(squares)
    return np.concatenate([shares, sums.ravel(), within.ravel(), square, squares.ravel()])


def _stacked(vector: Floats, shape: Shape, one: float) -> Floats:
    shares, sums, squares = shape.split(vector)
    if not one:
        shares = shares - np.eye(shape.cells)[0]
    least = one * WITHIN * np.eye(shape.numbers)
    return np.block([[np.diag(shares), sums], [sums.T, squares - least]])


def _cut_normal(precision: float, slope: float, low: float, high: float, rng: np.random.Generator) -> float:
    """Return a draw of t with log density slope·t − precision·t²/2 between two ends."""
    if high <= low:
        return 0.0
    mean, sd = slope / precision, 1 / np.sqrt(precision)
    a, b = (low - mean) / sd, (high - mean) / sd
    if a > 0:  # the lower tail keeps its digits
        return float(np.clip(mean - sd * _lower(-b, -a, rng), low, high))
    return float(np.clip(mean + sd * _lower(a, b, rng), low, high))


def _lower(a: float, b: float, rng: np.random.Generator) -> float:
    share = rng.random()
    if b - a < 1e-6 or ndtr(b) - ndtr(a) > 1e-3:
        bottom, top = ndtr(a), ndtr(b)
        if top > bottom:
            return float(ndtri(bottom + share * (top - bottom)))
        return a + share * (b - a)
    la, lb = log_ndtr(a), log_ndtr(b)
    return float(ndtri_exp(lb + np.log(share + (1 - share) * np.exp(la - lb))))


def _root(covariance: Floats) -> Floats:
    """Return a square root of a covariance that may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
