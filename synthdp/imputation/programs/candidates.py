"""Candidates for a number, re-weighted: the draw where nothing is closed-form.

    target(x)  ∝  p(x | parents, θ) · p(w | x) · Π_k p(x_k | x, …),      weight(x) = target(x) / q(x)

One of K candidates is chosen with probability proportional to its weight. The current value is one of them, which
makes the choice a step that leaves the target as it is, exactly and for any K (iterated sampling importance
resampling); fresh candidates alone would be biased by 1/K. They come from q: the model, the mask, and a normal
compromise of both, in equal parts, so that weights stay even when the mask says nothing and when it says everything.

References
----------
Andrieu, Lee, Vihola (2018), Bernoulli 24(2), 842-872 (i-SIR leaves its target invariant). Owen, Zhou (2000), Journal
of the American Statistical Association 95(449) (the mixture's density in the weights).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import logsumexp

from synthdp.evidence import Evidence, GaussianEvidence
from synthdp.imputation.families.normal import gaussian
from synthdp.imputation.families.protocol import FamilyDraw
from synthdp.microdata import Floats


class Proposal(Protocol):
    """Where the candidates of some records come from."""

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw one candidate per record."""
        ...

    def log_weight(self, x: Floats) -> Floats:
        """Return log p(x | parents) p(w | x) / q(x) of each record, up to a constant."""
        ...


class Simulated(Protocol):
    """A family that can be drawn from and weighed, but not given evidence."""

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return log p(y | η) of each record."""
        ...

    def simulate(self, eta: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw y from the model alone."""
        ...

    def around(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return center and sd of a normal density like it."""
        ...


@dataclass(frozen=True, repr=False)
class Exact:
    """Candidates from p(x | parents) p(w | x) itself, where the family knows how: they weigh the same."""

    family: FamilyDraw
    eta: Floats
    about: Evidence

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw one candidate per record."""
        return self.family.draw(self.eta, self.about, rng=rng)

    def log_weight(self, x: Floats) -> Floats:
        """Return zeros."""
        return np.zeros(len(x))


class Mixture:
    """Candidates from the model, the mask, and a compromise of both, where the mask says something."""

    def __init__(self, family: Simulated, eta: Floats, about: Evidence) -> None:
        self._family, self._eta, self._about = family, eta, gaussian(about)
        k = self._about.precision
        self._informed = k > 0
        mask_sd = 1 / np.sqrt(np.where(self._informed, k, 1.0))
        center, sd = family.around(eta)
        left = 1 / (1 + k * sd**2)
        middle = center + (1 - left) * (self._about.mean() - center)
        self._normals = ((self._about.mean(), mask_sd), (middle, sd * np.sqrt(left)))

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw one candidate per record."""
        x = self._family.simulate(self._eta, rng=rng)
        source = rng.integers(len(self._normals) + 1, size=len(x))
        noise = rng.standard_normal(len(x))
        for number, (center, sd) in enumerate(self._normals, start=1):
            x = np.where(self._informed & (source == number), center + sd * noise, x)
        return x

    def log_weight(self, x: Floats) -> Floats:
        """Return log p p(w | x) / q; the mixture's own density is q, wherever a candidate came from."""
        own = self._family.log_density(x, self._eta)
        parts = [own, *(_log_normal(x, center, sd) for center, sd in self._normals)]
        mixed = np.where(self._informed, logsumexp(parts, axis=0), own)
        # beyond the support of the model the target is zero, whatever the mask proposes
        weight = np.where(np.isfinite(own), own - np.where(np.isfinite(own), mixed, 0.0), -np.inf)
        return np.asarray(weight + log_evidence(self._about, x))


def _log_normal(x: Floats, center: Floats, sd: Floats) -> Floats:
    return np.asarray(-0.5 * ((x - center) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi))


def log_evidence(about: GaussianEvidence, x: Floats) -> Floats:
    """Return what Gaussian evidence says of each record's value, up to a constant."""
    return np.asarray(-0.5 * about.precision * (x - about.mean()) ** 2)


def effective(log_weights: Floats) -> Floats:
    """Return the effective number of the candidates of each row: (Σ w)² / Σ w²; zero where all are impossible.

    Examples
    --------
    >>> effective(np.log(np.array([[1.0, 1.0, 1e-300], [1.0, 1e-300, 1e-300]]))).round(3).tolist()
    [2.0, 1.0]
    """
    top = log_weights.max(axis=1, keepdims=True)
    weights = np.exp(log_weights - np.where(np.isfinite(top), top, 0.0))
    squares = (weights**2).sum(axis=1)
    return np.asarray(np.divide(weights.sum(axis=1) ** 2, squares, out=np.zeros(len(squares)), where=squares > 0))


def choose(values: Floats, log_weights: Floats, *, rng: np.random.Generator) -> Floats:
    """Return one of each row's values, by weight; its first where all are impossible."""
    top = log_weights.max(axis=1, keepdims=True)
    weights = np.exp(log_weights - np.where(np.isfinite(top), top, 0.0))
    cumulative = weights.cumsum(axis=1)
    threshold = rng.random(len(values)) * cumulative[:, -1]
    at = np.where(cumulative[:, -1] > 0, (threshold[:, None] >= cumulative[:, :-1]).sum(axis=1), 0)
    return np.asarray(values[np.arange(len(values)), at])
