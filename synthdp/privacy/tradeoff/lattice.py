"""Privacy losses on a lattice, where composition is convolution.

A loss that lies between two lattice points is split between them so that its mass under both distributions is kept.
The result is the largest curve below f whose losses lie on the lattice, so a promise made from it is safe; and each
loss has moved by less than one step, which bounds the error from the other side.

References
----------
Doroshenko, Ghazi, Kamath, Kumar, Manurangsi (2022), "Connect the dots: tighter discrete approximations of privacy
loss distributions", PoPETs 2022(4): Section 4, for the splitting; here also for finite pairs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft

from synthdp.errors import Unfinished
from synthdp.microdata import Floats
from synthdp.privacy.tradeoff.curves import Tradeoff
from synthdp.privacy.tradeoff.pairs import Pair

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
        whole = np.ones(1)
        for masses, times in parts:
            whole = np.convolve(whole, _power(masses, times))
        return whole
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
