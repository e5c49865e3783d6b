r"""Theorems in closed form.

From one kind of guarantee to another, and what k releases on the same records prove together.

zCDP: ρ-zCDP gives (ρ + 2√(ρ ln 1/δ), δ)-DP (``simple``), or the best over Rényi orders (``tight``)

    δ(ε) = inf_{α>1}  e^{(α−1)(αρ−ε)} / (α−1) · (1 − 1/α)^α.

ε-DP gives ε²/2-zCDP. GDP: δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2), which Gaussian noise of sd σ reaches with
μ = Δ/σ: ``analytic_ratio`` solves it for σ/Δ, ``classical_ratio`` is √(2 ln(1.25/δ))/ε and holds for ε < 1 only.

``optimal`` is exact for releases of which only (ε, δ) is known; ``total_variation`` is exact when a bound η on the
total variation is known as well; the general accountants are in ``accountants``. A ``Region`` is the list of all (ε, δ)
that hold at once.

References
----------
Bun, Steinke (2016), TCC, Propositions 1.3 and 1.4 (zCDP). Canonne, Kamath, Steinke (2020), NeurIPS, Proposition 12
(tight). Dong, Roth, Su (2022), JRSS B 84(1), Corollary 2.13 (GDP).
Balle, Wang (2018), "Improving the Gaussian mechanism for differential privacy", ICML, Theorem 8, Algorithm 1
(analytic). Dwork, Roth (2014), Theorem A.1 (classical).
Biswal (2024), Remark 5.8.7, solves the quadratic for σ wrongly and concludes against zCDP; the solution is
σ² = Δ²/(4ε²)·(√(2L) + √(2L + 2ε))², L = ln 1/δ (tested). Najib (2025), group privacy, prints δ·k·e^{k−1}; it is
δ·Σ_{j<k} e^{jε} ≤ k·e^{(k−1)ε}·δ.
Kairouz, Oh, Viswanath (2017), "The composition theorem for differential privacy", IEEE Trans. Inf. Theory 63(6),
Theorems 3.3 (optimal) and 3.5 (simplified, different ε).
Ghazi, Issa (2024), "Total variation meets differential privacy", IEEE JSAIT 5 (DP-TV).
Najib (2025, EPFL) restates the DP-TV theorem twice (29 and 53); the two disagree with each other, and both with the
truth in a sign and a ratio. The sum below is the hockey-stick divergence of the dominating pair (point masses δ and
three atoms with likelihood ratios e^ε, 1, e^−ε), checked against enumeration of the product for k ≤ 6.
Hall (2012), Proposition 1.2.4, leaves the δ of composed approximate guarantees unsaid: they add.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy.special import log_ndtr

from synthdp.errors import InputError
from synthdp.privacy.accounting.losses import widest_variation as widest_variation
from synthdp.privacy.guarantees import delta_of, epsilon_of, positive, slack_of

Conversion = Literal["simple", "tight"]


def epsilon_of_rho(rho: float, delta: float, *, xi: float = 0.0, method: Conversion = "simple") -> float:
    """Return ε such that (ξ, ρ)-zCDP implies (ε, δ)-DP."""
    rho, delta = positive(rho, "rho"), delta_of(delta)
    simple = xi + rho + 2 * math.sqrt(rho * -math.log(delta))
    if method == "simple":
        return simple

    from scipy.optimize import minimize_scalar

    def epsilon(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        return xi + order * rho + (-math.log(delta * (order - 1)) + order * math.log1p(-1 / order)) / (order - 1)

    # any order gives a valid ε, so an inexact minimum is on the private side
    found = minimize_scalar(epsilon, bounds=(-15.0, 25.0), method="bounded", options={"xatol": 1e-10})
    return min(simple, max(0.0, float(found.fun)))


def bisected(
    beyond: Callable[[float], bool], *, low: float = 0.0, high: float = 1.0, precision: float = 1e-14
) -> tuple[float, float]:
    """Return two numbers next to each other, of which the second lies beyond a bound and the first does not.

    ``high`` is doubled until it lies beyond. Whoever keeps a promise takes the end that is on the private side.
    """
    while not beyond(high):
        low, high = high, 2 * high
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return low, high


def rho_of_epsilon(epsilon: float, delta: float, *, method: Conversion = "simple") -> float:
    """Return the largest ρ that still implies (ε, δ)-DP; the simple one is (√(ε + ln 1/δ) − √(ln 1/δ))²."""
    epsilon, delta = epsilon_of(epsilon), delta_of(delta)
    lot = -math.log(delta)
    simple = (epsilon / (math.sqrt(epsilon + lot) + math.sqrt(lot))) ** 2 * (1 - 1e-14)
    if method == "simple":
        return simple

    def too_much(rho: float) -> bool:
        return epsilon_of_rho(rho, delta, method="tight") > epsilon

    return bisected(too_much, low=simple, high=2 * simple, precision=1e-12)[0]


def gaussian_sd_of_epsilon(sensitivity: float, epsilon: float, delta: float) -> float:
    """Return σ that reaches (ε, δ)-DP through simple zCDP: Δ/(2ε)·(√(2L) + √(2L + 2ε)), L = ln 1/δ."""
    epsilon, lot = epsilon_of(epsilon), -math.log(delta_of(delta))
    return sensitivity / (2 * epsilon) * (math.sqrt(2 * lot) + math.sqrt(2 * lot + 2 * epsilon))


def gaussian_delta(near: Any, far: Any, epsilon: Any) -> Any:
    """Return Φ(near) − e^ε Φ(far): δ(ε) of Gaussian noise, near and far from the other data set's answer."""
    first, second = log_ndtr(near), epsilon + log_ndtr(far)
    # the difference of two nearly equal numbers keeps its digits only as e^a(1 − e^{b−a})
    return np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))


def delta_of_mu(mu: float, epsilon: float) -> float:
    """Return the exact δ(ε) of μ-GDP."""
    ends = -epsilon / positive(mu, "mu") + mu / 2, -epsilon / mu - mu / 2
    return float(gaussian_delta(*ends, epsilon))


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the smallest ε with δ(ε) ≤ δ under μ-GDP; 0 when total variation alone is below δ."""
    delta = delta_of(delta)
    if delta_of_mu(mu, 0.0) <= delta:
        return 0.0
    return bisected(lambda epsilon: delta_of_mu(mu, epsilon) <= delta)[1]


def mu_of_epsilon(epsilon: float, delta: float) -> float:
    """Return the largest μ whose GDP implies (ε, δ)-DP."""
    epsilon, delta = epsilon_of(epsilon), delta_of(delta)
    return bisected(lambda mu: delta_of_mu(mu, epsilon) > delta)[0]


def exact_delta(ratio: float, epsilon: float) -> float:
    """Return δ(ε) of Gaussian noise whose sd is ``ratio`` times the sensitivity (Balle and Wang 2018, Theorem 8)."""
    return float(gaussian_delta(1 / (2 * ratio) - epsilon * ratio, -1 / (2 * ratio) - epsilon * ratio, epsilon))


def analytic_ratio(epsilon: float, delta: float) -> float:
    """Return the smallest σ/Δ with δ(ε) ≤ δ: the least Gaussian noise that is (ε, δ)-DP."""
    epsilon, delta = epsilon_of(epsilon), delta_of(delta)
    return bisected(lambda ratio: exact_delta(ratio, epsilon) <= delta)[1]


def classical_ratio(epsilon: float, delta: float) -> float:
    """Return √(2 ln(1.25/δ))/ε, for ε below 1."""
    if epsilon_of(epsilon) >= 1:
        raise InputError(f"epsilon: the classical Gaussian holds below 1, found {epsilon:g}; use analytic.")
    return math.sqrt(2 * math.log(1.25 / delta_of(delta))) / epsilon


def hall_ratio(epsilon: float, delta: float) -> float:
    """Return c(δ)/ε = √(2 ln(2/δ))/ε, for ε up to 1: Hall (2012), Proposition 1.3.3, as its proof has it."""
    if epsilon_of(epsilon) > 1:
        raise InputError(f"epsilon: the constant √(2 ln(2/δ)) is proved up to 1, found {epsilon:g}; use analytic.")
    return math.sqrt(2 * math.log(2 / delta_of(delta))) / epsilon


def group(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """Return what (ε, δ)-DP for one record says of ``size`` records: (kε, δ·Σ_{j<k} e^{jε})."""
    if size < 1:
        raise InputError(f"group: at least one record needed, found {size}.")
    epsilon, delta = epsilon_of(epsilon), slack_of(delta)
    return size * epsilon, min(1.0, delta * math.fsum(math.exp(j * epsilon) for j in range(size)))


Pair = tuple[float, float]


@dataclass(frozen=True)
class Region:
    """All (ε, δ) that hold at once, ε falling.

    Examples
    --------
    >>> region = optimal(0.6, 0.0, 2)
    >>> [round(epsilon, 3) for epsilon, _ in region.pairs]
    [1.2, 0.0]
    """

    pairs: tuple[Pair, ...]

    def delta(self, epsilon: float) -> float:
        """Return the least δ known at ε: an exact point, or the line between two through the hockey stick's convexity.

        δ(ε) is convex in e^ε, so between two known points the chord is above it and valid.
        """
        points = sorted((math.exp(e), d) for e, d in self.pairs)
        x = math.exp(epsilon)
        if x >= points[-1][0]:
            return points[-1][1]
        if x < points[0][0]:
            # e^ε falling by s raises δ by at most s
            return min(1.0, points[0][1] + points[0][0] - x)
        return float(np.interp(x, [e for e, _ in points], [d for _, d in points]))

    def epsilon(self, delta: float) -> float:
        """Return the least ε at which δ is known to hold; infinite when no point reaches it."""
        points = sorted((math.exp(e), d) for e, d in self.pairs)
        if delta < points[-1][1]:
            return math.inf
        if delta >= points[0][1]:
            return math.log(points[0][0])
        for (left, above), (right, below) in pairwise(points):
            if delta >= below:
                share = (delta - below) / (above - below)
                return math.log(right - share * (right - left))
        return math.log(points[-1][0])


def basic(pairs: Sequence[Pair]) -> Pair:
    """Return (Σε, Σδ)."""
    epsilons, deltas = _checked(pairs)
    return math.fsum(epsilons), min(1.0, math.fsum(deltas))


def parallel(pairs: Sequence[Pair], *, touched: int) -> Pair:
    """Return the cost of releases on the parts of a fixed partition.

    The worst ``touched`` parts are paid for: 1 when one step of the adjacency changes one part (add_remove; replace
    inside a part), 2 when a replaced record can leave one part and enter another, which is the case for parts
    defined by values. Biswal (2024), section 4.5.4, takes the maximum although its neighbours differ by replacement.
    """
    if touched not in (1, 2):
        raise InputError(f"parallel composition: one step changes 1 or 2 parts, found {touched}.")
    epsilons, deltas = _checked(pairs)
    return math.fsum(sorted(epsilons)[-touched:]), math.fsum(sorted(deltas)[-touched:])


def gaussian(mus: Sequence[float]) -> float:
    """Return √Σμ², exact for Gaussian DP."""
    return math.sqrt(math.fsum(epsilon_of(mu, "mu") ** 2 for mu in mus))


def concentrated(rhos: Sequence[float]) -> float:
    """Return Σρ: zCDP adds."""
    return math.fsum(epsilon_of(rho, "rho") for rho in rhos)


def optimal(epsilon: float, delta: float, times: int) -> Region:
    """Return the exact region of ``times`` equal (ε, δ) releases (Kairouz et al. 2017, Theorem 3.3). Cost k².

    ((k−2i)ε, 1 − (1−δ)^k (1−δ_i)) for i = 0..⌊k/2⌋,
    δ_i = Σ_{l<i} C(k,l)·(e^{(k−l)ε} − e^{(k−2i+l)ε})/(1+e^ε)^k.

    With nothing known of the total variation every answer tells, so every second loss of `total_variation` is empty.
    """
    return Region(total_variation(epsilon, delta, widest_variation(epsilon, delta), times).pairs[::2])


def simplified(pairs: Sequence[Pair], slack: float) -> Pair:
    """Return a guarantee for releases of different (ε, δ) at a chosen slack (Kairouz et al. 2017, Theorem 3.5).

    ε is the least of Σε; A + √(2B ln 1/s); A + √(2B ln(e + √B/s)), A = Σε·tanh(ε/2), B = Σε²; δ = 1 − (1−s)Π(1−δ).
    """
    slack = delta_of(slack, "slack")
    epsilons, deltas = _checked(pairs)
    spread = math.fsum(e**2 for e in epsilons)
    drift = math.fsum(e * math.tanh(e / 2) for e in epsilons)
    best = min(
        math.fsum(epsilons),
        drift + math.sqrt(2 * spread * -math.log(slack)),
        drift + math.sqrt(2 * spread * math.log(math.e + math.sqrt(spread) / slack)),
    )
    return best, -math.expm1(math.log1p(-slack) + math.fsum(math.log1p(-d) for d in deltas))


def total_variation(epsilon: float, delta: float, eta: float, times: int) -> Region:
    """Return the exact region of ``times`` equal releases that are (ε, δ)-DP with total variation η. Cost k².

    μ = 1 − (η−δ)/(1−δ)·(e^ε+1)/(e^ε−1) is the chance of an answer that says nothing; the others have losses ε and −ε
    with odds e^ε. So the loss of k answers is jε with the probabilities q of a sum of k such steps, and
    (jε, 1 − (1−δ)^k(1−δ_j)) holds for j = 0..k, δ_j = Σ_{l>j} q_l (1 − e^{(j−l)ε}); j = 0 is the total variation.
    """
    epsilon, delta = epsilon_of(epsilon), slack_of(delta)
    if times < 1:
        raise InputError(f"composition: at least one release needed, found {times}.")
    widest = widest_variation(epsilon, delta)
    if not delta <= eta <= widest * (1 + 1e-12):
        raise InputError(f"eta: must lie between delta and {widest:.6g} for this epsilon and delta, found {eta:g}.")
    telling = min(1.0, (eta - delta) / (1 - delta) / math.tanh(epsilon / 2))
    step = np.array([telling / (1 + math.exp(epsilon)), 1 - telling, telling / (1 + math.exp(-epsilon))])
    chances = reduce(lambda sums, one: np.convolve(sums, one), [step] * times)[times:]
    places = np.arange(times + 1)
    gaps = -np.expm1(np.minimum(places[:, None] - places, 0) * epsilon)
    found = zip(places[::-1], (gaps @ chances)[::-1], strict=True)
    return Region(tuple((int(j) * epsilon, _joined(delta, times, float(inner))) for j, inner in found))


def _joined(delta: float, times: int, inner: float) -> float:
    """Return 1 − (1−δ)^k (1−inner) without losing small numbers."""
    return -math.expm1(times * math.log1p(-delta) + math.log1p(-inner)) if inner < 1 else 1.0


def _checked(pairs: Sequence[Pair]) -> tuple[list[float], list[float]]:
    if not pairs:
        raise InputError("composition: at least one release needed, found 0.")
    return [epsilon_of(e) for e, _ in pairs], [slack_of(d) for _, d in pairs]
