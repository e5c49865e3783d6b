"""Normal linear regression on the working scale: y = η + e, e ~ N(0, σ²), η = x'β."""

from dataclasses import dataclass

import numpy as np

from synthdp.evidence import Evidence, GaussianEvidence
from synthdp.imputation.linear import LinearPosterior
from synthdp.microdata import Floats


@dataclass(frozen=True)
class Normal:
    """Normal linear regression with a conjugate prior; coefficients' prior sds are in units of the residual sd.

    Parameters
    ----------
    variance_prior
        (shape, rate) of an inverse gamma prior of the residual variance; default: the classical n - d degrees of
        freedom (see ``linear``).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> design = np.column_stack([np.ones(50), rng.normal(size=50)])
    >>> drawn = Normal().fit(design, design[:, 1], np.array([np.inf, 10.0]), rng=rng).draw(rng=rng)
    >>> drawn.beta.shape
    (2, 1)
    """

    variance_prior: tuple[float, float] | None = None

    def fit(self, design: Floats, y: Floats, prior_sd: Floats, *, rng: np.random.Generator) -> "NormalPosterior":
        """Return the posterior in closed form. Cost O(n·d²); uses no randomness."""
        return NormalPosterior(LinearPosterior.fit(design, y, prior_sd, prior=self.variance_prior))


@dataclass(frozen=True, repr=False)
class NormalPosterior:
    """The posterior of the coefficients and of the residual variance."""

    linear: LinearPosterior

    def draw(self, *, rng: np.random.Generator) -> "NormalDraw":
        """Draw (β, σ²)."""
        drawn = self.linear.draw(rng=rng)
        return NormalDraw(drawn.beta[:, None], drawn.variance)


@dataclass(frozen=True, repr=False)
class NormalDraw:
    """One draw of the coefficients and of the residual variance."""

    beta: Floats
    variance: float

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return log N(y; η, σ²)."""
        return log_normal(y, eta[:, 0], self.variance)

    def draw(self, eta: Floats, evidence: Evidence, *, rng: np.random.Generator) -> Floats:
        """Draw y from the product of N(η, σ²) and the evidence, itself normal."""
        return draw_normal(eta[:, 0], self.variance, gaussian(evidence), rng=rng)

    def log_norm(self, eta: Floats, evidence: Evidence) -> Floats:
        """Return log ∫ p(y | η) exp(evidence(y)) dy, the evidence counted from its peak."""
        return log_norm(eta[:, 0], self.variance, gaussian(evidence))


def gaussian(evidence: Evidence) -> GaussianEvidence:
    """Return evidence about a number as what it is."""
    if not isinstance(evidence, GaussianEvidence):
        raise TypeError(
            f"this family draws numbers and needs evidence about a value, found evidence about a {evidence.axis}"
        )
    return evidence


def log_normal(y: Floats, mean: Floats, variance: float) -> Floats:
    """Return the log density of N(mean, variance)."""
    return np.asarray(-0.5 * (np.log(2 * np.pi * variance) + (y - mean) ** 2 / variance))


def draw_normal(mean: Floats, variance: float, evidence: GaussianEvidence, *, rng: np.random.Generator) -> Floats:
    """Draw from N(mean, variance) · exp(evidence).

    With k the evidence's precision and c its center: the mean moves to c by 1 - 1/(1 + kσ²), the variance becomes
    σ²/(1 + kσ²); written so, both ends are exact: k = 0 and k → ∞.
    """
    left = 1 / (1 + evidence.precision * variance)
    noise = np.sqrt(variance * left) * rng.standard_normal(len(mean))
    return np.asarray(mean + (1 - left) * (evidence.mean() - mean) + noise)


def log_norm(mean: Floats, variance: Floats | float, evidence: GaussianEvidence) -> Floats:
    """Return log ∫ N(y; mean, variance) exp(evidence(y)) dy, the evidence counted from its peak: 1 there, not 1 in all.

    >>> float(log_norm(np.zeros(1), 1.0, GaussianEvidence.flat(1))[0]) == 0
    True
    """
    widened = 1 + evidence.precision * variance
    return np.asarray(-0.5 * (np.log(widened) + evidence.precision * (mean - evidence.mean()) ** 2 / widened))
