"""What several releases of the same data say together: privacy losses on a lattice, where composition is convolution.

A loss that lies between two lattice points is split between them so that its mass under both distributions is kept.
The result is the largest curve below f whose losses lie on the lattice, so a promise made from it is safe; and each
loss has moved by less than one step, which bounds the error from the other side.

References
----------
Doroshenko, Ghazi, Kamath, Kumar, Manurangsi (2022), "Connect the dots: tighter discrete approximations of privacy
loss distributions", PoPETs 2022(4): Section 4, for the splitting; here also for finite pairs.
Dong, Roth, Su (2022): Definition 3.1 (tensor product), Theorem 3.2 (composition), Theorem 3.4 (central limit
theorem with its error), Theorem 3.6 (limit of pure ε). In Najib (2025) the sum of the δ, not its square, tends to δ
in the limit theorem for (ε, δ); and the closed form printed for DP with total variation (Theorems 29 and 53) is wrong
in a sign and a ratio: here it is not needed, as the three-outcome pair lies on a lattice and composes exactly.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import fft

from synthdp.errors import InputError, Unfinished
from synthdp.privacy.guarantees import positive, whole
from synthdp.privacy.tradeoff.curves import Gaussian, Tradeoff
from synthdp.privacy.tradeoff.pairs import Moments, Pair
from synthdp.table.microdata import Floats

# up to so many products the plain sum is quick, and it keeps the digits of the smallest masses
DIRECT = 30_000_000
LARGEST_LATTICE = 2**24
# what lies further out is counted as giving the data set away
TAIL = 1e-15
FURTHEST_LOSS = 600.0


@dataclass(frozen=True)
class Lattice:
    """Masses of the losses ``step · (first + i)`` under both distributions, and what lies at infinity.

    Attributes
    ----------
    q, p
        Mass under the second and the first distribution.
    revealing, absent
        Mass of the second where the first has none, and of the first where the second has none.
    tail
        How much of ``revealing`` was moved there from far losses: the error that moving made.
    """

    step: float
    first: int
    q: Floats
    p: Floats
    revealing: float
    absent: float
    tail: float = 0.0

    def pair(self) -> Pair:
        """Return the pair of distributions with these losses."""
        return Pair([0.0, *self.p, self.absent], [self.revealing, *self.q, 0.0])


def place(pair: Pair, step: float) -> Lattice:
    """Return a finite pair on a lattice, each loss split between its two neighbours; exact where it lies on one."""
    finite = np.isfinite(pair.losses)
    losses, q, p = pair.losses[finite], pair.q[finite], pair.p[finite]
    places = losses / step
    nearest = np.round(places)
    on = np.abs(places - nearest) < 1e-7
    low = np.where(on, nearest, np.floor(places)).astype(int)
    # the share of p that goes up, from q = e^low (p − up) + e^(low + step) up
    up = np.where(on, 0.0, p * np.expm1(losses - low * step) / np.expm1(step))
    over = np.where(on, 0.0, up * np.exp((low + 1) * step))
    first = int(low.min())
    length = _bearable(int(low.max()) - first + 2)

    def gather(stays: Floats, rises: Floats) -> Floats:
        total = np.bincount(low - first, stays, length) + np.bincount(low + 1 - first, rises, length)
        return np.asarray(total, dtype=float)

    revealing, absent = float(pair.q[~finite].sum()), float(pair.p[~finite].sum())
    return Lattice(step, first, gather(q - over, over), gather(p - up, up), revealing, absent)


def sample(curve: Tradeoff, step: float) -> Lattice:
    """Return a smooth symmetric curve on a lattice, from its δ at the lattice points.

    The tangents of slope −e^ε at lattice points ε have the envelope that the splitting gives. δ is linear in e^ε
    between lattice points, so the mass p beyond ε is minus its slope; losses below 0 follow from symmetry.
    """
    reach = _reach(curve, step)
    ends = step * np.arange(reach + 1)
    delta = curve.delta(ends)
    beyond = np.maximum(-np.diff(delta) / np.diff(np.exp(ends)), 0.0)
    small = np.maximum(beyond - np.concatenate([beyond[1:], [0.0]]), 0.0)
    large = small * np.exp(ends[1:])
    outside = float(delta[-1])
    middle = max(1 - small.sum() - large.sum() - outside, 0.0)
    q = np.concatenate([small[::-1], [middle], large])
    return Lattice(step, -reach, q, q[::-1].copy(), outside, outside, outside)


def convolve(parts: Sequence[tuple[Lattice, int]]) -> Lattice:
    """Return the losses of all parts together, each repeated so many times."""
    step = parts[0][0].step
    first = sum(part.first * times for part, times in parts)
    length = sum((len(part.q) - 1) * times for part, times in parts) + 1
    _bearable(length)
    q, p = (_powers([(getattr(part, side), times) for part, times in parts], length) for side in ("q", "p"))
    kept_q = math.prod((1 - part.revealing) ** times for part, times in parts)
    kept_p = math.prod((1 - part.absent) ** times for part, times in parts)
    tail = sum(part.tail * times for part, times in parts)
    # rounding in a transform changes the sums in the last digits; the masses at infinity are known exactly
    return Lattice(step, first, q * (kept_q / q.sum()), p * (kept_p / p.sum()), 1 - kept_q, 1 - kept_p, tail)


def _reach(curve: Tradeoff, step: float) -> int:
    reach = step
    while reach < FURTHEST_LOSS and float(curve.delta(reach)) > TAIL:
        reach *= 1.25
    return _bearable(max(int(np.ceil(reach / step)), 1))


def _bearable(length: int) -> int:
    if length > LARGEST_LATTICE:
        raise Unfinished(f"compose: {length} lattice points are too many; allow a larger slack.")
    return length


def _powers(parts: Sequence[tuple[Floats, int]], length: int) -> Floats:
    if length**2 <= DIRECT:
        return reduce(lambda sums, part: np.convolve(sums, _power(*part)), parts, np.ones(1))
    size = fft.next_fast_len(length, real=True)
    transform = np.ones(size // 2 + 1, dtype=complex)
    for masses, times in parts:
        transform *= fft.rfft(masses, size) ** times
    return np.maximum(fft.irfft(transform, size)[:length], 0.0)


def _power(masses: Floats, times: int) -> Floats:
    result, square = np.ones(1), masses
    while times:
        if times & 1:
            result = np.convolve(result, square)
        times >>= 1
        if times:
            square = np.convolve(square, square)
    return result


# products of finite pairs are multiplied out up to so many outcomes
LARGEST_PRODUCT = 2_000_000
SLACK = 0.01
# constant of Shevtsova in the Berry–Esseen theorem for summands of different laws
BERRY_ESSEEN = 0.56


@dataclass(frozen=True)
class Composition:
    """The curve of several releases together: exact, or between two bounds.

    Attributes
    ----------
    curve
        Exact when ``slack`` and ``tail`` are 0; otherwise a lower bound on f, so δ(ε) from it is never too small.
    slack, tail
        The true f at α is at most ``curve(e^−slack α) + tail``; the true δ(ε) at least ``δ(ε + slack) − tail``.
    """

    curve: Tradeoff
    slack: float = 0.0
    tail: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether the curve is the true one."""
        return self.slack == 0 and self.tail == 0

    def __call__(self, alpha: npt.ArrayLike) -> Floats:
        """Return f(α), or its lower bound."""
        return self.curve(alpha)

    def upper(self, alpha: npt.ArrayLike) -> Floats:
        """Return the upper bound on f(α)."""
        return np.minimum(self.curve(np.exp(-self.slack) * np.asarray(alpha, dtype=float)) + self.tail, 1.0)

    def delta(self, epsilon: npt.ArrayLike) -> Floats:
        """Return δ(ε), or its upper bound."""
        return self.curve.delta(epsilon)

    def delta_lower(self, epsilon: npt.ArrayLike) -> Floats:
        """Return the lower bound on δ(ε)."""
        return np.maximum(self.curve.delta(np.asarray(epsilon, dtype=float) + self.slack) - self.tail, 0.0)

    def moments(self) -> Moments:
        """Return the moments of the loss of the curve."""
        return self.curve.moments()


def compose(*curves: Tradeoff, times: int | Sequence[int] = 1, slack: float = SLACK) -> Composition:
    """Return the tensor product of trade-off functions: what all releases say together.

    Parameters
    ----------
    curves
        One curve per release.
    times
        How often each release is made: one number for all, or one for each.
    slack
        How far apart, in ε, the bounds may be where the result is not exact.

    Returns
    -------
    Composition
        Exact for Gaussians (μ = √Σμ²), for finite pairs whose losses lie on one lattice (every (ε, δ), DP-TV,
        randomised response or discrete noise with itself) and for pairs that are small when multiplied out.

    Notes
    -----
    Cost: O(N log N) for N = (range of one loss) · k²/slack lattice points, k releases; exact lattices have N ≤ k·n.

    Examples
    --------
    >>> from synthdp.privacy.tradeoff import approximate
    >>> five = compose(approximate(0.6, 0.05), times=5)
    >>> five.exact, round(float(five.delta(1.8)), 4)
    (True, 0.2869)
    """
    positive(slack, "slack")
    if not curves:
        raise InputError("compose: needs at least one curve.")
    counts = [times] * len(curves) if isinstance(times, int) else list(times)
    if len(counts) != len(curves):
        raise InputError(f"times: must be one number or one for each of {len(curves)} curves, found {len(counts)}.")
    parts = [(curve, whole(count, "times", 1)) for curve, count in zip(curves, counts, strict=True)]
    # what was composed before brings its own error, which adds up
    earlier = [(curve, count) for curve, count in parts if isinstance(curve, Composition)]
    if earlier:
        inner = [curve.curve if isinstance(curve, Composition) else curve for curve in curves]
        inside = compose(*inner, times=counts, slack=slack)
        wider = math.fsum(count * curve.slack for curve, count in earlier)
        further = math.fsum(count * curve.tail for curve, count in earlier)
        return Composition(inside.curve, inside.slack + wider, inside.tail + further)
    gaussians = [(curve.mu, count) for curve, count in parts if isinstance(curve, Gaussian)]
    others = [(curve, count) for curve, count in parts if not isinstance(curve, Gaussian)]
    if gaussians:
        together = Gaussian(math.sqrt(math.fsum(count * mu**2 for mu, count in gaussians)))
        if not others:
            return Composition(together)
        others.append((together, 1))
    if len(others) == 1 and others[0][1] == 1:
        return Composition(others[0][0])
    pairs = [(curve, count) for curve, count in others if isinstance(curve, Pair)]
    if len(pairs) == len(others):
        step = _common_step([pair for pair, _ in pairs])
        if step is not None:
            return _on_lattice([(place(pair, step), count) for pair, count in pairs])
        if math.prod(len(pair.p) ** count for pair, count in pairs) <= LARGEST_PRODUCT:
            return Composition(reduce(Pair.product, [pair for pair, count in pairs for _ in range(count)]))
    step = slack / sum(count for _, count in others)
    laid = [(place(c, step) if isinstance(c, Pair) else sample(c, step), count) for c, count in others]
    return _on_lattice(laid, slack=slack)


@dataclass(frozen=True)
class GaussianLimit:
    """What the central limit theorem says of a composition: near G_μ, within γ.

    For α in [γ, 1 − γ]: G_μ(α + γ) − γ ≤ f(α) ≤ G_μ(α − γ) + γ. Outside nothing is said, and the band is [0, 1 − α].
    """

    mu: float
    gamma: float

    def __call__(self, alpha: npt.ArrayLike) -> Floats:
        """Return G_μ(α), the approximation."""
        return Gaussian(self.mu)(alpha)

    def lower(self, alpha: npt.ArrayLike) -> Floats:
        """Return what f is at least."""
        return np.where(self._known(alpha), np.maximum(self._moved(alpha, self.gamma), 0.0), 0.0)

    def upper(self, alpha: npt.ArrayLike) -> Floats:
        """Return what f is at most."""
        most = 1 - np.asarray(alpha, dtype=float)
        return np.where(self._known(alpha), np.minimum(self._moved(alpha, -self.gamma), most), most)

    def _known(self, alpha: npt.ArrayLike) -> Any:
        return (np.asarray(alpha) >= self.gamma) & (np.asarray(alpha) <= 1 - self.gamma)

    def _moved(self, alpha: npt.ArrayLike, by: float) -> Floats:
        return self(np.clip(np.asarray(alpha, dtype=float) + by, 0, 1)) - by


def gaussian_limit(*curves: Tradeoff, times: int = 1) -> GaussianLimit:
    """Return the Gaussian limit of a composition with its error band, for symmetric curves with f(0) = 1.

    μ = 2 Σkl / √(Σκ₂ − Σkl²) and γ = 0.56 Σκ̄₃ / (Σκ₂ − Σkl²)^(3/2), with kl, κ₂, κ̄₃ the moments of each loss.
    """
    whole(times, "times", 1)
    if not curves:
        raise InputError("gaussian_limit: needs at least one curve.")
    moments = [curve.moments() for curve in curves]
    if not all(math.isfinite(moment.third) for moment in moments):
        raise InputError("gaussian_limit: an output that gives the data set away (δ > 0) has no limit; split δ off.")
    variance = times * math.fsum(moment.second - moment.kl**2 for moment in moments)
    drift = times * math.fsum(moment.kl for moment in moments)
    spread = times * math.fsum(moment.third_central for moment in moments)
    return GaussianLimit(2 * drift / math.sqrt(variance), BERRY_ESSEEN * spread / variance**1.5)


def _on_lattice(parts: list[tuple[Lattice, int]], slack: float = 0.0) -> Composition:
    together = convolve(parts)
    return Composition(together.pair(), slack, together.tail)


def _common_step(pairs: Sequence[Pair]) -> float | None:
    steps = [pair.step for pair in pairs]
    smallest = min((step for step in steps if step is not None), default=0.0)
    if None in steps or not smallest:
        return None
    for divisor in range(1, 9):
        step = smallest / divisor
        if all(abs(other / step - round(other / step)) < 1e-7 for other in steps if other is not None):
            return step
    return None
