"""How far two laws of an answer are apart: total variation, Kullback–Leibler, Rényi, max-divergence and E_γ.

    TV = ½ ∫ |p − q|    KL = ∫ p ln(p/q)    D_a = ln ∫ p^a q^{1−a} / (a − 1)    D_∞ = sup ln(p/q)    E_γ = ∫ (p − γq)₊

An answer is ε-DP where D_∞ ≤ ε both ways, and (ε, δ)-DP where E_γ ≤ δ both ways at γ = e^ε; TV is E_1.

References
----------
Biswal (2024, PhD thesis, U. Ottawa), section 2.3. van Erven, Harremoës (2014), IEEE Trans. Inf. Theory 60(7).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from synthdp.errors import InputError
from synthdp.privacy.guarantees import not_negative, positive
from synthdp.privacy.tradeoff.pairs import Pair
from synthdp.table.microdata import Floats

# log densities are looked at as far out as the laws have these tails; a ratio that still rises there has no bound
TAILS = (1e-250, 1e-200)
NODES = 64
PIECES = 400
RISING = 1e-6


@dataclass(frozen=True)
class Divergences:
    """Distances of p from q; infinite where p says something that q cannot.

    Attributes
    ----------
    total_variation, kl, renyi, maximum, hockey_stick
        TV, KL, D_a at ``order``, D_∞, and E_γ at γ = e^ε of ``epsilon``.
    """

    total_variation: float
    kl: float
    renyi: float
    maximum: float
    hockey_stick: float
    order: float
    epsilon: float


def divergences(p: Any, q: Any, *, order: float = 2.0, epsilon: float = 1.0) -> Divergences:
    """Return how far p is from q, from probabilities of the same outputs or two continuous laws of scipy.

    Parameters
    ----------
    p, q
        Both arrays of probabilities, or both frozen continuous distributions of ``scipy.stats``.
    order
        Of Rényi's divergence: above 0, not 1 (its limit there is KL).
    epsilon
        ln γ.

    Examples
    --------
    >>> from scipy import stats
    >>> found = divergences(stats.norm(0, 1), stats.norm(1, 1))
    >>> round(found.total_variation, 5), round(found.kl, 5), found.maximum
    (0.38292, 0.5, inf)
    """
    if positive(order, "order") == 1:
        raise InputError("order: Rényi's divergence of order 1 is KL; give another order.")
    not_negative(epsilon, "epsilon")
    laws = [hasattr(law, "logpdf") for law in (p, q)]
    if laws[0] != laws[1] or any(hasattr(law, "logpmf") for law in (p, q)):
        raise InputError("p and q: must both be probabilities, or both continuous laws of scipy.stats.")
    endless = (False, False)
    if laws[0]:
        low, high = p.support()
        endless = bool(np.isinf(low)), bool(np.isinf(high))
        weights, log_p, log_q, most = _continuous(p, q)
    else:
        pair = Pair(p, q)
        weights = np.ones(len(pair.p))
        with np.errstate(divide="ignore"):
            log_p, log_q = np.log(pair.p), np.log(pair.q)
        most = float(np.max((log_p - log_q)[pair.p > 0]))
    return _measured(weights, log_p, log_q, most, order, epsilon, endless)


def _measured(
    w: Floats,
    log_p: Floats,
    log_q: Floats,
    most: float,
    order: float,
    epsilon: float,
    endless: tuple[bool, bool],
) -> Divergences:
    p, q = np.exp(log_p), np.exp(log_q)
    # logarithms, as a density far out is not 0 but too small for a float
    held = ~np.isneginf(log_p)
    alone = bool((held & np.isneginf(log_q)).any())
    both = held & ~np.isneginf(log_q)
    # in logarithms: far apart, the integral is beyond a float where its logarithm is not
    grown = order * log_p[both] + (1 - order) * log_q[both]
    mixed = float(logsumexp(grown, b=w[both])) if both.any() else -math.inf
    # what still rises where a law has 10⁻²⁵⁰ left has no integral
    rising = any(far and end[0] > end[1] for far, end in zip(endless, (grown[:2], grown[:-3:-1]), strict=True))
    boundless = order > 1 and (alone or rising)
    renyi = math.inf if boundless or mixed == -math.inf else mixed / (order - 1)
    return Divergences(
        float(w @ np.abs(p - q)) / 2,
        math.inf if alone else float(w[both] @ (p[both] * (log_p[both] - log_q[both]))),
        renyi,
        most,
        float(w @ np.maximum(p - np.exp(np.minimum(epsilon + log_q, 700.0)), 0.0)),
        order,
        epsilon,
    )


def _continuous(p: Any, q: Any) -> tuple[Floats, Floats, Floats, float]:
    """Return weights and log densities at the nodes of Gauss–Legendre pieces, and the largest log ratio."""
    ends = [[law.ppf(TAILS[1]), law.isf(TAILS[1])] for law in (p, q)]
    low, high = min(end[0] for end in ends), max(end[1] for end in ends)
    # pieces end at quantiles, where a density may have a corner, and between them evenly
    shares = np.linspace(0, 1, PIECES // 2 + 1)[1:-1]
    inner = [law.ppf(shares) for law in (p, q)]
    edges = np.unique(np.concatenate([np.linspace(low, high, PIECES + 1), *inner]))
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges) / 2
    x = ((edges[:-1] + edges[1:]) / 2)[:, None] + half[:, None] * nodes
    w = half[:, None] * weights
    log_p, log_q = (np.asarray(law.logpdf(x.ravel()), dtype=np.float64) for law in (p, q))
    return w.ravel(), log_p, log_q, _most(p, q, log_p, log_q)


def _most(p: Any, q: Any, log_p: Floats, log_q: Floats) -> float:
    held = np.isfinite(log_p)
    if np.isneginf(log_q[held]).any():
        return math.inf
    inside = float(np.max(log_p[held] - log_q[held]))
    far = np.array([end for tail in TAILS for end in (p.ppf(tail), p.isf(tail))])
    beyond = np.asarray(p.logpdf(far) - q.logpdf(far), dtype=np.float64)
    # the farther of two points at each end
    rising = (beyond[:2] > beyond[2:] + RISING) & (beyond[:2] >= inside - RISING)
    return math.inf if rising.any() else max(inside, float(beyond.max()))
