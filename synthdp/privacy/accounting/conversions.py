r"""From one kind of guarantee to another, both ways; every rounding goes to the weaker claim.

zCDP: ρ-zCDP gives (ρ + 2√(ρ ln 1/δ), δ)-DP (``simple``), or the best over Rényi orders (``tight``)

    δ(ε) = inf_{α>1}  e^{(α−1)(αρ−ε)} / (α−1) · (1 − 1/α)^α.

ε-DP gives ε²/2-zCDP. GDP: δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2).

References
----------
Bun, Steinke (2016), TCC, Propositions 1.3 and 1.4 (zCDP). Canonne, Kamath, Steinke (2020), NeurIPS, Proposition 12
(tight). Dong, Roth, Su (2022), JRSS B 84(1), Corollary 2.13 (GDP).
Biswal (2024), Remark 5.8.7, solves the quadratic for σ wrongly and concludes against zCDP; the solution is
σ² = Δ²/(4ε²)·(√(2L) + √(2L + 2ε))², L = ln 1/δ (tested). Najib (2025), group privacy, prints δ·k·e^{k−1}; it is
δ·Σ_{j<k} e^{jε} ≤ k·e^{(k−1)ε}·δ.
"""

import math
from typing import Literal

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from synthdp.errors import InputError
from synthdp.privacy.parameters import delta_of, epsilon_of, positive, slack_of

Conversion = Literal["simple", "tight"]
STEPS = 200


def epsilon_of_rho(rho: float, delta: float, *, xi: float = 0.0, method: Conversion = "simple") -> float:
    """Return ε such that (ξ, ρ)-zCDP implies (ε, δ)-DP."""
    rho, delta = positive(rho, "rho"), delta_of(delta)
    simple = xi + rho + 2 * math.sqrt(rho * -math.log(delta))
    if method == "simple":
        return simple

    def epsilon(log_order: float) -> float:
        order = 1 + math.exp(log_order)
        return xi + order * rho + (-math.log(delta * (order - 1)) + order * math.log1p(-1 / order)) / (order - 1)

    # any order gives a valid ε, so an inexact minimum is on the private side
    found = minimize_scalar(epsilon, bounds=(-15.0, 25.0), method="bounded", options={"xatol": 1e-10})
    return min(simple, max(0.0, float(found.fun)))


def rho_of_epsilon(epsilon: float, delta: float, *, method: Conversion = "simple") -> float:
    """Return the largest ρ that still implies (ε, δ)-DP; the simple one is (√(ε + ln 1/δ) − √(ln 1/δ))²."""
    epsilon, delta = epsilon_of(epsilon), delta_of(delta)
    lot = -math.log(delta)
    simple = (epsilon / (math.sqrt(epsilon + lot) + math.sqrt(lot))) ** 2 * (1 - 1e-14)
    if method == "simple":
        return simple
    low, high = simple, 2 * simple
    while epsilon_of_rho(high, delta, method="tight") <= epsilon:
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        if epsilon_of_rho(middle, delta, method="tight") <= epsilon:
            low = middle
        else:
            high = middle
        if high - low <= 1e-12 * high:
            break
    return low


def rho_of_pure(epsilon: float) -> float:
    """Return ε²/2: ε-DP implies it (Bun and Steinke 2016, Proposition 1.4)."""
    return epsilon_of(epsilon) ** 2 / 2


def gaussian_sd_of_epsilon(sensitivity: float, epsilon: float, delta: float) -> float:
    """Return σ that reaches (ε, δ)-DP through simple zCDP: Δ/(2ε)·(√(2L) + √(2L + 2ε)), L = ln 1/δ."""
    epsilon, lot = epsilon_of(epsilon), -math.log(delta_of(delta))
    return sensitivity / (2 * epsilon) * (math.sqrt(2 * lot) + math.sqrt(2 * lot + 2 * epsilon))


def delta_of_mu(mu: float, epsilon: float) -> float:
    """Return the exact δ(ε) of μ-GDP."""
    first = log_ndtr(-epsilon / positive(mu, "mu") + mu / 2)
    second = epsilon + log_ndtr(-epsilon / mu - mu / 2)
    return float(np.exp(first) * -np.expm1(min(second - first, 0.0)))


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the smallest ε with δ(ε) ≤ δ under μ-GDP; 0 when total variation alone is below δ."""
    delta = delta_of(delta)
    if delta_of_mu(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while delta_of_mu(mu, high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of_mu(mu, middle) <= delta else (middle, high)
    return high


def mu_of_epsilon(epsilon: float, delta: float) -> float:
    """Return the largest μ whose GDP implies (ε, δ)-DP."""
    epsilon, delta = epsilon_of(epsilon), delta_of(delta)
    low, high = 0.0, 1.0
    while delta_of_mu(high, epsilon) <= delta:
        low, high = high, 2 * high
    while high - low > 1e-14 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of_mu(middle, epsilon) <= delta else (low, middle)
    return low


def group(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """Return what (ε, δ)-DP for one record says of ``size`` records: (kε, δ·Σ_{j<k} e^{jε})."""
    if size < 1:
        raise InputError(f"group: at least one record needed, found {size}.")
    epsilon, delta = epsilon_of(epsilon), slack_of(delta)
    return size * epsilon, min(1.0, delta * math.fsum(math.exp(j * epsilon) for j in range(size)))
