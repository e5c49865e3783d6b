r"""Noisy tables over the whole declared domain: dense, sparse, and with exactly n records.

Dense: every count plus noise of ℓ1 sensitivity 2 under ``replace`` (scale 2/ε, integer-valued), or of ℓ2 sensitivity
√2 when δ > 0. ℓ1 error about 2p/ε for p cells, so a table is useless once nε < p.

Sparse, δ = 0: counts whose noisy value is at most τ = (2/ε) ln p are set to 0. That is post-processing of the dense
table, so ε-DP; but an empty cell passes with P(Z > τ) each, so their number is binomial and the p − q empty cells need
never be held. Sparse, δ > 0: empty cells never pass, occupied ones when above a τ with P(1 + Z > τ) ≤ δ.

Notes
-----
Why δ is enough. Neighbours D, D' differ in one record; let c be occupied in D alone (its count is 1). With c suppressed
the outcomes of D are possible under D' too, and the others' densities differ by at most e^ε; c passes with at most δ.
If c' is occupied in D' alone, outcomes without it have probability P'(c' suppressed) ≥ 1 − δ less, which the half of ε
that is unspent in this case pays for when δ ≤ 1 − e^{−ε/2}; τ is chosen for the smaller of the two.

References
----------
Hall (2012, PhD thesis, CMU), section 2.4, (2.3)–(2.4), Proposition 2.4.3. The error bound there, ((2q+1)/α)(ln p + 1),
exceeds 2p/α on the thesis's own example; it is no reason to prefer one of the two. Proposition 2.4.4's lower bound is
proved with η twice too large.
Korolova, Kenthapadi, Mishra, Ntoulas (2009), WWW (stability); Cormode, Procopiuc, Srivastava, Tran (2012), ICDT
(sampling the empty cells that pass).

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
from pydantic import Field, FiniteFloat

from synthdp.dp.noise import projected
from synthdp.errors import Unfinished
from synthdp.privacy.events import Approximate, Event, Pure
from synthdp.privacy.mechanisms import DiscreteLaplace, Gaussian, Source, sensitivity
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.private.domain import Domain, random_generator, rows, thin
from synthdp.synthesis.private.synthesizer import Draw, Private
from synthdp.table.microdata import Codes, Floats

MOST_FALSE = 10**6


class DpHistogram(Private):
    """A count with noise for every cell of the declared domain; negative ones taken away, the total set right.

    Examples
    --------
    >>> DpHistogram(epsilon=0.5).copies
    5
    """

    method: Literal["dp_histogram"] = "dp_histogram"
    most_cells: ClassVar[float] = 10**6

    def notes(self, plan: Plan) -> list[str]:
        """Return a sentence when the noise leaves nothing of the data: about where nε < p (Hall 2012, section 2.4)."""
        sd = noise_of_counts(self.epsilon, self.delta).sd
        return thin(sd, len(plan.data), self.domain(plan).size, "of the table")

    def pay(self, plan: Plan, domain: Domain, source: Source) -> tuple[Draw, Event]:
        """Add noise to all counts. Cost O(n + p)."""
        n = len(plan.data)
        counts = np.bincount(domain.flat(domain.encode(plan.data)), minlength=domain.size)
        noisy, event = noisy_counts(counts, self.epsilon, self.delta, source)
        weights = projected(noisy, n)
        return (lambda rng: domain.unflat(rows(weights, n, rng=rng))), event


def noisy_counts(counts: Codes, epsilon: float, delta: float, source: Source) -> tuple[Floats, Event]:
    """Return the counts of one partition with noise, and what it costs under ``replace``."""
    noise = noise_of_counts(epsilon, delta)
    if isinstance(noise, DiscreteLaplace):
        return noise.release(counts, source=source).astype(np.float64), noise.event()
    return noise.release(counts.astype(np.float64), source=source), noise.event()


def noise_of_counts(epsilon: float, delta: float) -> DiscreteLaplace | Gaussian:
    """Return the noise of every count of one partition under ``replace``."""
    if not delta:
        return DiscreteLaplace.calibrated(sensitivity.table("replace"), epsilon=epsilon)
    return Gaussian.calibrated(sensitivity.table("replace", norm="l2"), epsilon=epsilon, delta=delta)


class DpSparseHistogram(Private):
    """The cells whose noisy counts pass a threshold; empty cells are never held, so 10¹² of them are no trouble.

    Parameters
    ----------
    threshold
        For δ = 0, in records: counts at most this high are set to 0. By default (2/ε) ln p, at which fewer than one
        empty cell in two files is expected to pass. It must not be chosen by looking at the data.

    Examples
    --------
    >>> round(DpSparseHistogram(epsilon=1.0).threshold_for(64), 3)
    8.318
    """

    method: Literal["dp_sparse_histogram"] = "dp_sparse_histogram"
    threshold: FiniteFloat | None = Field(default=None, ge=0)

    def threshold_for(self, cells: int) -> float:
        """Return τ for a domain of this many cells."""
        if not self.delta:
            return 2 / self.epsilon * math.log(cells) if self.threshold is None else self.threshold
        scale = 2 / self.epsilon
        allowed = min(self.delta, -math.expm1(-self.epsilon / 2))
        # P(Z ≥ k) = e^{−k/b}/(1 + e^{−1/b}) for k ≥ 1, and a count of 1 passes when Z ≥ τ
        return float(max(1, math.ceil(-scale * math.log(allowed * (1 + math.exp(-1 / scale))))))

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        if self.delta and self.threshold is not None:
            found.append(
                "synthesis.threshold: with a delta it follows from epsilon and delta; leave out one of the two."
            )
        if not found and not self.delta:
            size = self.domain(plan).size
            expected = size * _chance(2 / self.epsilon, math.floor(self.threshold_for(size)))
            if expected > MOST_FALSE:
                found.append(
                    f"synthesis.threshold: {expected:.2g} empty cells would pass it; raise it, or leave it out for "
                    f"{DpSparseHistogram(epsilon=self.epsilon).threshold_for(size):.3g}."
                )
        return found

    def notes(self, plan: Plan) -> list[str]:
        """Return a sentence when fewer cells can pass the threshold than the column with the most levels has."""
        domain, n = self.domain(plan), len(plan.data)
        threshold, widest = self.threshold_for(domain.size), max(axis.size for axis in domain.axes)
        if n >= threshold * widest:
            return []
        return [
            f"synthesis.epsilon: only cells with more than about {threshold:.3g} records are kept, of {n:,} records "
            f"at most {n / threshold:.3g} such cells: the copies are mostly noise. Raise epsilon, or use fewer bins."
        ]

    def pay(self, plan: Plan, domain: Domain, source: Source) -> tuple[Draw, Event]:
        """Add noise to the occupied cells, and draw the empty ones that pass. Cost O(n log n + those that pass)."""
        n, size = len(plan.data), domain.size
        cells, counts = np.unique(domain.flat(domain.encode(plan.data)), return_counts=True)
        mechanism = DiscreteLaplace.calibrated(sensitivity.table("replace"), epsilon=self.epsilon)
        noisy = mechanism.release(counts.astype(np.int64), source=source)
        threshold = math.floor(self.threshold_for(size))
        passed = noisy > threshold
        found, weights = cells[passed], noisy[passed]
        if not self.delta:
            extra, values = empty_cells(cells, size, mechanism.scale, threshold, source)
            found, weights = np.concatenate([found, extra]), np.concatenate([weights, values])
        event = Approximate(self.epsilon, self.delta) if self.delta else mechanism.event()

        def draw(rng: np.random.Generator) -> Codes:
            if not len(found):  # nothing passed: the table is empty, and all cells are as good
                return domain.unflat(rng.integers(0, size, n))
            return domain.unflat(found[rows(weights.astype(np.float64), n, rng=rng)])

        return draw, event


def _chance(scale: float, threshold: int) -> float:
    """Return P(Z > τ) of an empty cell."""
    return math.exp(-(threshold + 1) / scale) / (1 + math.exp(-1 / scale))


def empty_cells(occupied: Codes, size: int, scale: float, threshold: int, source: Source) -> tuple[Codes, Codes]:
    """Return the empty cells whose noise passes the threshold, and their noisy counts.

    P(Z > τ) = e^{−(τ+1)/b}/(1 + e^{−1/b}); given that, Z − τ − 1 is geometric with ratio e^{−1/b}. Cost: as many as
    pass, which is less than 1 in the mean at the default threshold.
    """
    rng = random_generator(source)
    wanted = int(rng.binomial(size - len(occupied), _chance(scale, threshold)))
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < wanted:
        offered = rng.integers(0, size, wanted - len(chosen) + 8)
        place = np.minimum(np.searchsorted(occupied, offered), len(occupied) - 1)
        fresh = offered[occupied[place] != offered]
        joined = np.concatenate([chosen, fresh])
        first = np.sort(np.unique(joined, return_index=True)[1])
        chosen = joined[first][:wanted]
    return chosen, threshold + rng.geometric(-math.expm1(-1 / scale), wanted)


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
    most_cells: ClassVar[float] = 10**5

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
