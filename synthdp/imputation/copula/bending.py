"""How covariances of features answer to correlations beyond first order: the slope of S(r) for every pair of latents.

    f = Σ c_m h_m,   h_m = He_m/√m! (Hermite's polynomials, of variance one),   cov(f(y), g(z)) = Σ c_m d_m r^m
    slope over the one at r = 0:   Σ m (c_m d_m)/(c_1 d_1) r^(m−1)

(Mehler's formula; Pearson 1900, Philosophical Transactions A 195, 1-47, for two binary columns: the tetrachoric
series.) One for a number and anything; 1/√(1 − r²) for two binary columns cut in the middle. A utility is taken for a
binary column of its level's share.
"""

import numpy as np
from scipy.special import ndtr, ndtri

from synthdp.imputation.copula.features import SQRT_TAU, Features, Steps
from synthdp.table.microdata import Floats

TERMS = 40
MOST_STEPS = 2000  # a column of more intervals is as good as a number


def _inside(edges: Floats) -> Floats:
    """Return h_{m−1}(x)φ(x)/√m at some edges for m = 1 to TERMS + 1, which is ∫ h_m φ from there on."""
    finite = np.where(np.isfinite(edges), edges, 0.0)
    density = np.where(np.isfinite(edges), np.exp(-(finite**2) / 2) / SQRT_TAU, 0.0)
    before, now, found = np.zeros(len(edges)), np.ones(len(edges)), []
    for m in range(1, TERMS + 2):
        found.append(now * density / np.sqrt(m))
        before, now = now, (finite * now - np.sqrt(m - 1) * before) / np.sqrt(m)
    return np.asarray(found)


def coefficients(lower: Floats, upper: Floats, score: Floats) -> Floats:
    """Return c_1 to c_TERMS of a feature that is its score in some intervals and the latent itself elsewhere."""
    m = np.arange(1, TERMS + 1)
    inside = _inside(lower) - _inside(upper)
    mass = np.concatenate([[ndtr(upper) - ndtr(lower)], inside])  # ∫ h_m φ over each interval, m = 0, 1, …
    # y h_m = √(m + 1) h_{m+1} + √m h_{m−1}
    latent = np.sqrt(m + 1)[:, None] * mass[2:] + np.sqrt(m)[:, None] * mass[:-2]
    found = (score * mass[1:-1] - latent).sum(axis=1)
    found[0] += 1.0
    return np.asarray(found)


def _of_steps(steps: Steps) -> Floats:
    parts = (steps.lower, steps.upper, steps.score)
    if len(steps.lower) > MOST_STEPS:
        parts = (steps.lower[:0],) * 3
    lower, upper, score = (part.astype(np.float64) for part in parts)
    return coefficients(lower, upper, score)


def _of_share(share: float) -> Floats:
    edge = np.array([ndtri(1 - share)])
    return _inside(edge)[:TERMS, 0]


class Bends:
    """The slopes of covariances in the correlations of their latents.

    Parameters
    ----------
    features
        What is compared.
    center
        Means of the features: of indicators, the shares of levels.
    """

    def __init__(self, features: Features, center: Floats) -> None:
        owner = features.shape.owner()
        found = [
            _of_steps(features.steps[j]) if owner[j] < 0 else _of_share(float(np.clip(center[j], 1e-9, 1 - 1e-9)))
            for j in range(len(owner))
        ]
        self._relative = np.asarray([c / c[0] for c in found])

    def slopes(self, r: Floats) -> Floats:
        """Return the slopes at these correlations, over those at zero. O(q² terms)."""
        found = np.zeros(r.shape)
        for m in range(TERMS, 0, -1):  # Horner's scheme
            found = found * r + m * np.outer(self._relative[:, m - 1], self._relative[:, m - 1])
        return found

    def shortened(self, r: Floats) -> Floats:
        """Return by how much steps are shorter than to first order; never longer, though rare levels may repel."""
        return np.asarray(1 / np.maximum(self.slopes(r), 1.0))
