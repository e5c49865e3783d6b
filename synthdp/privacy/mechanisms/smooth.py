r"""Smooth sensitivity: noise as wide as these records need, and no guarantee lost.

A bound S with S(x) ≥ local sensitivity and S(x) ≤ e^β S(y) for all neighbours (replace adjacency) may scale noise. The
least is S*(x) = max_k e^{−kβ} A_k(x), A_k the largest local sensitivity within k replaced records. For the value of
rank m of n sorted ones, with x_0 = low and x_{n+1} = high,

    S*(x) = max_{i ≤ m ≤ j, i < j} (x_j − x_i) e^{−(j−i−1)β}.

The best j does not fall as i rises (the logarithm of x_j − x_i has increasing differences), so all are found by
halving: O(n log n), and only for the values near m, since what lies k places away is divided by e^{kβ}.

The release is f(x) + S(x)/a·Z. A neighbour's law is this one shifted by at most a·scale and stretched by at most e^β.
For both noises a shift is allowed ε/2 and a stretch ε/2, and what each leaves over is

* ``laplace``: a = ε/2, shift 0, stretch e^{−t}(1 − e^{−β}), t = (ε/2 + β)/(e^β − 1);
* ``gaussian``: shift the exact δ(ε/2) of N(0, 1) and N(a, 1), stretch 2Φ(−t) − 2e^{ε/2}Φ(−e^β t),
  t² = (ε + 2β)/(e^{2β} − 1);
* ``heavy_tail``: density ∝ 1/(1 + \|z\|^γ), whose logarithm falls by at most (γ−1)^{(γ−1)/γ} per unit of shift and
  max(1, γ − 1) per unit of log stretch: a and β are ε/2 over these, nothing is left over, the release is ε-DP.

δ = shift + e^{ε/2}·stretch. All are exact suprema. The sources' constants are bounds on them: ε/(2(γ+1)) for the heavy
tail (three times the noise at γ = 2), β = ε/(2 ln(2/δ')) for Laplace noise (0.034 where 0.048 does at ε = 1, δ = 10⁻⁶),
and for Gaussian noise a = ε/(5√(2 ln(2/δ))) (a scale of 26.9 where 8.3 does, at β of 0.034 and 0.025).

Because the scale depends on the records, the grid of a safe sampler must not: noise of scale 1 is drawn, multiplied and
added as a fraction without rounding, and the answer rounded to 2⁻²⁴ of the widest noise there can be. The noise itself
is a double, and doubles below 64 are at most 2⁻⁴⁷ apart: each end of a cell, which is 2⁻²⁴ wide or wider where noise
has scale 1, is off by half of that at most, so the cell's probability by 2⁻²³, and two files' by 2⁻²², which is paid.
Beyond 64 lies less than 10⁻²⁷ of the law.

References
----------
Nissim, Raskhodnikova, Smith (2007), "Smooth sensitivity and sampling in private data analysis", STOC.
Biswal (2024, PhD thesis, U. Ottawa), section 5.2.1: no boundary values x_0 and x_{n+1} in Example 5.2.15, without which
S* is not smooth; Example 5.2.13 takes |f(x) − f(y)| for the local sensitivity of y, here it is max(local, e^{−β}Λ/n).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, Self, get_args

import numpy as np
from scipy.special import log_ndtr

from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import bisected, exact_delta
from synthdp.privacy.events import Approximate, Event, NonPrivate, Pure
from synthdp.privacy.guarantees import delta_of, epsilon_of, positive
from synthdp.privacy.mechanisms import local
from synthdp.privacy.mechanisms.mechanism import Source
from synthdp.privacy.mechanisms.sensitivity import Bounds, Origin, required
from synthdp.table.microdata import Floats

Law = Literal["laplace", "heavy_tail", "gaussian"]
LEAST = 2.0**-40
"""S is never below this share of the width: a smooth bound still, and one that does not vanish."""
GRID = 2.0**-24
ROUNDED = 2.0**-22
"""Of ε: what noise costs for being a double."""
TAIL = 4.0
STEEPEST = 300.0


def smooth_mean(values: Floats, bounds: Bounds | None, beta: float) -> float:
    """Return S* of the mean: max(local, e^{−β}·width/n); with one record changed, another may lie at a bound."""
    given = required(bounds, "smooth mean")
    step = math.exp(-positive(beta, "beta")) * given.width / max(len(values), 1)
    return max(local.mean(values, given), step)


def smooth_median(values: Floats, bounds: Bounds | None, beta: float) -> float:
    """Return S* of the median; for an even n the mean of those of the two middle values, which is smooth as well.

    Notes
    -----
    Cost: O(n log n), most of it for sorting.

    Examples
    --------
    >>> round(smooth_median(np.arange(1.0, 12.0), Bounds(0, 12), 0.1), 7)
    4.0656966
    """
    given = required(bounds, "smooth median")
    x = np.sort(given.clip(values).values)
    if not len(x):
        raise InputError("smooth median: at least 1 record needed, found 0.")
    padded = np.concatenate([[given.low], x, [given.high]])
    ranks = {(len(x) + 1) // 2, len(x) // 2 + 1}
    return math.fsum(smooth_rank(padded, rank, positive(beta, "beta")) for rank in ranks) / len(ranks)


def smooth_rank(padded: Floats, rank: int, beta: float) -> float:
    """Return S* of one order statistic: ``padded`` are sorted values between the two bounds, ``rank`` counts from 1.

    Never below `LEAST` of the width, which leaves it smooth.
    """
    right, left = padded[rank:] - padded[rank], padded[rank] - padded[: rank + 1][::-1]
    width = padded[-1] - padded[0]
    least = max(LEAST * width, *(_discounted(side[1:], beta).max() for side in (right, left)))
    # e^{−kβ}·width is below what is there already for all k beyond this
    reach = math.ceil(math.log(width / least) / beta) + 2
    first, last = max(rank - reach, 0), min(rank + reach, len(padded) - 1)
    rows, columns = padded[first : rank + 1], padded[rank : last + 1]
    best = np.zeros(len(rows), dtype=np.int64)
    steps = [(0, len(rows) - 1, 0, len(columns) - 1)]
    found = float(least)
    while steps:
        top, bottom, low, high = steps.pop()
        if top > bottom:
            continue
        middle = (top + bottom) // 2
        places = np.arange(low, high + 1)
        between = places + (len(rows) - 1 - middle) - 1
        gains = np.where(between < 0, 0.0, (columns[low : high + 1] - rows[middle]) * np.exp(-beta * between))
        best[middle] = low + int(gains.argmax())
        found = max(found, float(gains.max()))
        steps += [(top, middle - 1, low, int(best[middle])), (middle + 1, bottom, int(best[middle]), high)]
    return found


def _discounted(gaps: Floats, beta: float) -> Floats:
    return np.asarray(gaps * np.exp(-beta * np.arange(len(gaps))))


def stretch_delta(law: Law, epsilon: float, beta: float) -> float:
    """Return sup over events of P(Z ∈ B) − e^ε P(e^−λ Z ∈ B), |λ| ≤ β ≤ ε: what stretching leaves over.

    Only λ = β does: a law set against a wider one has a ratio of at most e^β.
    """
    if law == "laplace":
        t = (epsilon + beta) / math.expm1(beta)
        return math.exp(-t) * -math.expm1(-beta)
    t = math.sqrt(2 * (epsilon + beta) / math.expm1(2 * beta))
    near, far = log_ndtr(-t), epsilon + log_ndtr(-math.exp(beta) * t)
    return float(2 * math.exp(near) * -math.expm1(min(far - near, 0.0)))


def slopes(tail: float) -> tuple[float, float]:
    """Return how fast log 1/(1 + |z|^γ) can fall, by shift and by log stretch."""
    return (tail - 1) ** ((tail - 1) / tail), max(1.0, tail - 1)


@dataclass(frozen=True)
class SmoothNoise:
    """Noise scaled by a smooth bound on the local sensitivity.

    Parameters
    ----------
    law
        ``laplace`` and ``gaussian`` cost a δ; ``heavy_tail`` is pure and has no safe sampler.
    epsilon, delta
        The guarantee under replace.
    beta
        How smooth S must be.
    reach
        a: the noise has scale S/a.
    tail
        γ of the heavy tail; its variance is finite above 3.

    Examples
    --------
    >>> noise = SmoothNoise.calibrated("laplace", epsilon=1, delta=1e-6)
    >>> round(noise.beta, 4), round(noise.factor, 3)
    (0.0475, 2.0)
    """

    law: Law
    epsilon: float
    delta: float
    beta: float
    reach: float
    tail: float = TAIL
    origin: Origin = "config"

    name: ClassVar[str] = "smooth noise"

    @classmethod
    def calibrated(
        cls, law: Law, *, epsilon: float, delta: float = 0.0, tail: float = TAIL, origin: Origin = "config"
    ) -> Self:
        """Return the noise that is (ε, δ)-DP for any statistic of one number with a β-smooth bound.

        ``origin`` is that of the bounds which S was found with; from the data, nothing is claimed.
        """
        if law not in get_args(Law):
            raise InputError(f"noise: must be laplace, heavy_tail or gaussian, found {law!r}.")
        if epsilon_of(epsilon) < 4 * ROUNDED:
            raise InputError(f"epsilon: must be at least {4 * ROUNDED:.2g} for smooth noise, found {epsilon:g}.")
        half = (epsilon - ROUNDED) / 2
        if law == "heavy_tail":
            if delta:
                raise InputError(f"delta: the heavy tail is pure and needs none, found {delta:g}.")
            if not tail > 1:
                raise InputError(f"tail: must be above 1, found {tail:g}.")
            shift, stretch = slopes(tail)
            return cls(law, epsilon, 0.0, half / stretch, half / shift, tail, origin)
        if delta == 0:
            raise InputError(f"delta: smooth {law} noise needs one above 0; without it the heavy tail remains.")
        left = delta_of(delta) * math.exp(-half)
        reach = half
        if law == "gaussian":
            left /= 2
            reach = 1 / bisected(lambda ratio: exact_delta(ratio, half) <= delta / 2)[1]
        # over the whole range of β that a stretch allows, what it leaves over grows
        beta = min(half, STEEPEST)
        if stretch_delta(law, half, beta) > left:
            beta = bisected(lambda at: stretch_delta(law, half, at) > left, high=beta)[0]
        return cls(law, epsilon, delta, beta, reach, TAIL, origin)

    @property
    def factor(self) -> float:
        """The scale of the noise per unit of S."""
        return 1 / self.reach

    def release(self, value: float, smooth: float, *, bounds: Bounds, source: Source) -> float:
        """Return the value of a statistic with noise of scale ``smooth``·``factor``, on the grid of the bounds.

        ``smooth`` is S(x) for this ``beta``. Moved into the bounds: what lies outside cannot be the answer.
        """
        unit = float(self._draw(source))
        step = Fraction(bounds.width) * Fraction(GRID * self.factor)
        exact = Fraction(value) + Fraction(smooth) * Fraction(self.factor) * Fraction(unit)
        rounded = float(Fraction(bounds.low) + round((exact - Fraction(bounds.low)) / step) * step)
        return min(max(rounded, bounds.low), bounds.high)

    def event(self) -> Event:
        """Return what a release costs."""
        if self.origin == "data":
            return NonPrivate("the bounds come from the data and were not paid for")
        return Pure(self.epsilon) if self.delta == 0 else Approximate(self.epsilon, self.delta)

    def describe(self) -> str:
        """Return mechanism and guarantee in plain words."""
        claim = f"{self.epsilon:.4g}-DP" if self.delta == 0 else f"({self.epsilon:.4g}, {self.delta:.3g})-DP"
        words = self.law.replace("_", " ")
        return f"{words} noise of scale {self.factor:.4g}·S, S smooth with β = {self.beta:.4g}: {claim} under replace"

    def _draw(self, source: Source) -> float:
        zero = np.zeros(1)
        if self.law == "laplace":
            return float(source.laplace(zero, scale=1.0, sensitivity=1.0)[0])
        if self.law == "gaussian":
            return float(source.gaussian(zero, sd=1.0, sensitivity=1.0)[0])
        # |z|^γ/(1 + |z|^γ) follows Beta(1/γ, 1 − 1/γ)
        rng = source.generator("smooth noise, heavy tail")
        share = rng.beta(1 / self.tail, 1 - 1 / self.tail)
        return float(rng.choice([-1.0, 1.0]) * (share / (1 - share)) ** (1 / self.tail))
