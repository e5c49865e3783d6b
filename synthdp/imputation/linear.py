"""Normal linear regression with a conjugate prior: an exact posterior in closed form.

    y = D β + e,  e ~ N(0, σ²),   β_j | σ² ~ N(0, σ² τ_j²),   p(σ²) ∝ (σ²)^(-a-1) exp(-c/σ²)

Then β | σ², y ~ N(b, σ² V), V = (D'D + diag τ⁻²)⁻¹, b = V D'y, and σ² | y is inverse gamma with shape a + n/2 and
rate c + (y'y - b'V⁻¹b)/2.

References
----------
Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., sections 14.2 and 14.8.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from synthdp.microdata import Floats

SMALLEST_VARIANCE = 1e-12


@dataclass(frozen=True, repr=False)
class LinearDraw:
    """One draw of the coefficients and of the residual variance."""

    beta: Floats
    variance: float


@dataclass(frozen=True, repr=False)
class LinearPosterior:
    """The posterior of one normal linear regression.

    Parameters
    ----------
    mean
        Posterior mean b of the coefficients.
    factor
        Lower Cholesky factor of V⁻¹.
    shape, rate
        Of the inverse gamma posterior of σ².
    """

    mean: Floats
    factor: Floats
    shape: float
    rate: float

    @classmethod
    def fit(cls, design: Floats, y: Floats, prior_sd: Floats, *, prior: tuple[float, float] | None = None) -> Self:
        """Return the posterior. Cost O(n·d² + d³).

        Parameters
        ----------
        prior_sd
            τ_j, in units of σ; infinite for a flat prior.
        prior
            (a, c) of the inverse gamma prior of σ². The default a = -(effective number of coefficients)/2, c = 0
            is the choice that makes the posterior of σ² the classical scaled inverse χ² with n - d degrees of freedom
            when τ is infinite; with a = 0 the n·p weak priors would count as data and σ² come out too small.
        """
        n = len(y)
        gram = design.T @ design
        precision = gram + np.diag(prior_sd**-2.0)
        lower = np.tril(cho_factor(precision, lower=True)[0])
        mean = cho_solve((lower, True), design.T @ y)
        quadratic = max(float(y @ y - mean @ precision @ mean), 0.0)
        if prior is None:
            effective = float(np.trace(cho_solve((lower, True), gram)))
            shape, rate = max(n - effective, 1.0) / 2, quadratic / 2
        else:
            shape, rate = prior[0] + n / 2, prior[1] + quadratic / 2
        return cls(mean, lower, shape, max(rate, SMALLEST_VARIANCE * n))

    def draw(self, *, rng: np.random.Generator) -> LinearDraw:
        """Draw (β, σ²) from the posterior."""
        variance = self.rate / rng.gamma(self.shape)
        noise = solve_triangular(self.factor, rng.standard_normal(len(self.mean)), lower=True, trans=1)
        return LinearDraw(self.mean + np.sqrt(variance) * noise, float(variance))
