r"""A private table with exactly n records, by the exponential mechanism.

    P(w) ∝ exp(−(ε/4) ‖w − θ‖₁)   over all w ∈ ℕ^p with Σw = n

‖w − θ‖₁ moves by at most 2 when one record is replaced, and the normaliser depends on the data: hence 4 = 2·2. The
result is whole, non-negative and has the right total; records are its cells, repeated.

How it is drawn. Multiplying every weight by e^{λ w_j} changes nothing once Σw = n is given. With λ chosen so that the
expected total is n, cells are drawn independently (two geometric pieces each) until the total is right: about √(2π)·sd
attempts, sd that of the total. λ depends on the data, the law that is drawn from does not depend on λ. The law is that
of double arithmetic, and results are whole numbers.

References
----------
Hall (2012, PhD thesis, CMU), Proposition 1.3.5. McSherry, Talwar (2007), FOCS, Theorem 6. Direct convolution over the
cells would cost O(p n²).
"""

import math
from typing import ClassVar, Literal

import numpy as np

from synthdp.errors import Unfinished
from synthdp.microdata import Codes, Floats
from synthdp.privacy.accounting.events import Event, Pure
from synthdp.privacy.mechanisms import Source
from synthdp.synthesis.private.domain import Domain
from synthdp.synthesis.private.settings import Draw, Private
from synthdp.synthesis.private.tables import random_generator, thin
from synthdp.synthesis.protocol import Plan

MOST_DRAWS = 3 * 10**9
BATCH = 2**20


class DpExponential(Private):
    """A table of whole counts with the right total; every copy holds its records, drawn with values of their own.

    Examples
    --------
    >>> DpExponential(epsilon=2.0).delta
    0.0
    """

    method: Literal["dp_exponential"] = "dp_exponential"
    pure_only: ClassVar[bool] = True
    most_cells: ClassVar[int] = 10**5

    def notes(self, plan: Plan) -> list[str]:
        """Return a sentence when the noise leaves nothing: a cell's is about Laplace of scale 4/ε."""
        sd = math.sqrt(2) * 4 / self.epsilon
        return thin(sd, len(plan.data), self.domain(plan).size, "of the table")

    def pay(self, plan: Plan, domain: Domain, source: Source) -> tuple[Draw, Event]:
        """Draw the table. Cost O(n + p · attempts)."""
        counts = np.bincount(domain.flat(domain.encode(plan.data)), minlength=domain.size)
        table = fixed_total(counts, self.epsilon / 4, rng=random_generator(source))
        records = domain.unflat(np.repeat(np.arange(domain.size), table))
        return (lambda rng: rng.permutation(records, axis=0)), Pure(self.epsilon)


def fixed_total(counts: Codes, rate: float, *, rng: np.random.Generator) -> Codes:
    """Return w ≥ 0 with the total of ``counts`` and P(w) ∝ exp(−rate·‖w − counts‖₁).

    Raises
    ------
    Unfinished
        When the total was not met in three thousand million draws.
    """
    n, p = int(counts.sum()), len(counts)
    tilt = _balanced(counts, rate)
    at_once, drawn = 1, 0
    while drawn <= MOST_DRAWS:
        offered = _tilted(counts, rate, tilt, at_once, rng)
        right = np.flatnonzero(offered.sum(axis=1) == n)
        if len(right):
            return np.asarray(offered[right[0]], dtype=np.int64)
        drawn += p * at_once
        at_once = min(2 * at_once, max(1, BATCH // p))
    raise Unfinished("dp_exponential: no table with the right total was drawn; use fewer bins, or dp_histogram.")


def _balanced(counts: Codes, rate: float) -> float:
    """Return λ such that the expected total is that of the counts; it grows with λ, which is below ``rate``."""
    n = counts.sum()
    low, high = rate - 1.0, rate
    while _means(counts, rate, low).sum() > n:
        low = rate - 2 * (rate - low)
    for _ in range(40):  # any λ is right, a balanced one is quick
        middle = (low + high) / 2
        if _means(counts, rate, middle).sum() > n:
            high = middle
        else:
            low = middle
    return low


def _pieces(counts: Codes, rate: float, tilt: float) -> tuple[float, Floats, Floats]:
    """Return s = rate + λ, and the log masses of w ≤ θ and of w > θ relative to w = θ.

    Below θ the weights are e^{−s k}, k = 0..θ; above it e^{−(rate − λ) k}, k = 1, 2, ….
    """
    s = rate + tilt
    if s == 0:
        s = 1e-300  # an even piece, as the limit
    size = counts + 1.0
    # Σ e^{−sk} = (1 − e^{−s·size})/(1 − e^{−s}); for s < 0 taken from its largest term
    turn = np.where(s > 0, 0.0, -s * counts)
    below = turn + np.log(-np.expm1(-abs(s) * size)) - math.log(-math.expm1(-abs(s)))
    up = rate - tilt
    above = np.full(len(counts), -up - math.log(-math.expm1(-up)))
    return s, below, above


def _means(counts: Codes, rate: float, tilt: float) -> Floats:
    s, below, above = _pieces(counts, rate, tilt)
    share = 1 / (1 + np.exp(np.clip(below - above, -700, 700)))
    # mean of a geometric variable cut at θ: 1/(e^s − 1) − size/(e^{s·size} − 1)
    size, up = counts + 1.0, rate - tilt
    with np.errstate(over="ignore"):
        cut = 1 / math.expm1(abs(s)) - size / np.expm1(abs(s) * size)
    down = counts - cut if s > 0 else cut
    return np.asarray((1 - share) * down + share * (counts + 1 / -math.expm1(-up)), dtype=np.float64)


def _tilted(counts: Codes, rate: float, tilt: float, times: int, rng: np.random.Generator) -> Codes:
    """Return tables of independent cells, one per row."""
    s, below, above = _pieces(counts, rate, tilt)
    share = 1 / (1 + np.exp(np.clip(below - above, -700, 700)))
    shape = (times, len(counts))
    uniform = rng.random(shape)
    cut = np.floor(np.log1p(uniform * np.expm1(-abs(s) * (counts + 1.0))) / -abs(s))
    cut = np.minimum(cut, counts).astype(np.int64)
    down = counts - cut if s > 0 else cut
    higher = rng.random(shape) < share
    return np.where(higher, counts + rng.geometric(-math.expm1(-(rate - tilt)), shape), down)
