"""Pairs of distributions on finitely many outputs: everything about them is exact.

The best test at each level rejects the outputs with the largest likelihood ratio first (Neyman and Pearson), so the
trade-off function is piecewise linear, with one piece per value of the ratio.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy.guarantees import floats
from synthdp.table.microdata import Floats

# ratios closer than this are one ratio: they differ by the rounding of the masses they come from
SAME_LOSS = 1e-12


@dataclass(frozen=True)
class Moments:
    """Moments of the privacy loss log(q/p) under the first distribution, as the central limit theorem needs them.

    Attributes
    ----------
    kl
        Minus the mean: the Kullback–Leibler divergence of P from Q.
    second, third, third_central
        E of the loss squared, of its absolute third power, and of the absolute third power about its mean.
    """

    kl: float
    second: float
    third: float
    third_central: float


class Pair:
    """Two distributions on the same finitely many outputs; as a function, the least FN at each FP.

    Parameters
    ----------
    p, q
        Probabilities of the outputs on the first and on the second data set. A mass where the other has none is
        allowed: such an output gives the data set away.

    Notes
    -----
    Cost: O(n log n) for n outputs, once; O(log n) for each value afterwards.

    Examples
    --------
    >>> coin = Pair([0.75, 0.25], [0.25, 0.75])
    >>> coin([0.0, 0.25, 1.0]).tolist()
    [1.0, 0.25, 0.0]
    >>> round(float(coin.delta(0.0)), 3)
    0.5
    """

    def __init__(self, p: npt.ArrayLike, q: npt.ArrayLike) -> None:
        first, second = _masses("p", p), _masses("q", q)
        if first.shape != second.shape:
            raise InputError(f"p and q: must be of one length, found {len(first)} and {len(second)}.")
        kept = (first > 0) | (second > 0)
        first, second = first[kept], second[kept]
        with np.errstate(divide="ignore"):
            losses = np.log(second) - np.log(first)
        order = np.argsort(-losses, kind="stable")
        losses = losses[order]
        with np.errstate(invalid="ignore"):
            starts = np.flatnonzero(np.r_[True, ~(np.abs(np.diff(losses)) <= SAME_LOSS) & (losses[1:] != losses[:-1])])
        self.p: Floats = np.add.reduceat(first[order], starts)
        self.q: Floats = np.add.reduceat(second[order], starts)

    def __repr__(self) -> str:
        return f"Pair({len(self.p)} likelihood ratios)"

    @cached_property
    def losses(self) -> Floats:
        """The values of log(q/p), from large to small; infinite where one of the two has no mass."""
        with np.errstate(divide="ignore"):
            return np.log(self.q) - np.log(self.p)

    @cached_property
    def knots(self) -> tuple[Floats, Floats]:
        """The corners (α, f(α)), from α = 0 to α = 1."""
        alpha = np.concatenate([[0.0], np.cumsum(self.p)])
        # summed from the far end, so that small values of f keep their digits
        beta = np.concatenate([np.cumsum(self.q[::-1])[::-1], [0.0]])
        if self.p[0] == 0:
            alpha, beta = alpha[1:], beta[1:]
        return alpha / alpha[-1], beta

    def __call__(self, alpha: npt.ArrayLike) -> Floats:
        """Return the least FN of all tests whose FP is α."""
        return np.asarray(np.interp(np.asarray(alpha, dtype=float), *self.knots))

    def delta(self, epsilon: npt.ArrayLike) -> Floats:
        """Return δ(ε) = Σ max(q − e^ε p, 0), the hockey-stick divergence of q from p, for any real ε."""
        eps = np.asarray(epsilon, dtype=float)
        q, p = np.cumsum(self.q), np.cumsum(self.p)
        # the losses fall, so those above ε are the first ``count``
        count = np.searchsorted(-self.losses, -eps, side="left")
        at = np.maximum(count - 1, 0)
        return np.asarray(np.where(count > 0, np.maximum(q[at] - np.exp(eps) * p[at], 0.0), 0.0))

    def reversed(self) -> "Pair":
        """Return the pair with the data sets exchanged: its curve is the inverse of this one's."""
        return Pair(self.q, self.p)

    def product(self, other: "Pair") -> "Pair":
        """Return the pair of both outputs seen together, independent given the data: O(nm) outputs."""
        return Pair(np.outer(self.p, other.p).ravel(), np.outer(self.q, other.q).ravel())

    def moments(self) -> Moments:
        """Return the moments of the loss; infinite where an output gives the data set away."""
        if self.p[0] == 0 or self.q[-1] == 0:
            return Moments(math.inf, math.inf, math.inf, math.inf)
        kl = float(-self.p @ self.losses)
        size = np.abs(self.losses)
        return Moments(
            kl, float(self.p @ size**2), float(self.p @ size**3), float(self.p @ np.abs(self.losses + kl) ** 3)
        )

    @cached_property
    def step(self) -> float | None:
        """The spacing of the lattice on which all finite losses lie, or None; composition on a lattice is exact."""
        losses = np.sort(self.losses[np.isfinite(self.losses)])
        sizes = np.abs(losses)
        candidates = np.concatenate([sizes[sizes > SAME_LOSS], np.diff(losses)])
        if not len(candidates):
            return 1.0
        step = float(candidates.min())
        for divisor in (1, 2):
            places = losses / (step / divisor)
            if np.abs(places - np.round(places)).max() < 1e-7:
                return step / divisor
        return None


def from_knots(alpha: Floats, beta: Floats) -> Pair:
    """Return the pair whose curve goes through given corners of a convex curve, in order of α from 0 to 1."""
    return Pair(np.concatenate([[0.0], np.diff(alpha)]), np.concatenate([[max(1.0 - beta[0], 0.0)], -np.diff(beta)]))


def hull(alpha: Floats, beta: Floats) -> Pair:
    """Return the largest convex curve below all given points: Andrew's monotone chain, O(n log n)."""
    kept: list[tuple[float, float]] = []
    for a, b in sorted(zip(alpha.tolist(), beta.tolist(), strict=True)):
        if kept and a - kept[-1][0] <= 0:
            continue
        while len(kept) > 1 and _above(kept[-2], kept[-1], (a, b)):
            kept.pop()
        kept.append((a, b))
    corners = np.asarray(kept)
    return from_knots(corners[:, 0], np.minimum.accumulate(corners[:, 1]))


def maximum(one: Pair, other: Pair) -> Pair:
    """Return the pair whose curve is the larger of two at every α: the intersection of their regions, exact."""
    alpha = np.unique(np.concatenate([one.knots[0], other.knots[0]]))
    gap = one(alpha) - other(alpha)
    crossed = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    share = gap[crossed] / (gap[crossed] - gap[crossed + 1])
    alpha = np.unique(np.concatenate([alpha, alpha[crossed] + share * (alpha[crossed + 1] - alpha[crossed])]))
    return from_knots(alpha, np.maximum(one(alpha), other(alpha)))


def _above(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


def _masses(name: str, values: npt.ArrayLike) -> Floats:
    masses = floats(values, name).ravel()
    if not len(masses) or not np.isfinite(masses).all():
        raise InputError(f"{name}: probabilities must be finite numbers, at least one.")
    lowest = float(masses.min())
    if lowest < -1e-12:
        raise InputError(f"{name}: probabilities must not be negative, found {lowest:g}.")
    total = math.fsum(masses)
    if abs(total - 1) > 1e-6:
        raise InputError(f"{name}: probabilities must sum to 1, found {total:g}.")
    return np.asarray(np.maximum(masses, 0.0))
