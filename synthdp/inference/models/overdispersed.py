"""Counts that vary more than a Poisson's: the negative binomial with variance μ + α μ² (NB2)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from synthdp.errors import InputError
from synthdp.inference.formulas import Design
from synthdp.inference.models.generalised import generalised
from synthdp.inference.models.likelihood import counts, orthogonal
from synthdp.inference.models.newton import conclude, maximise
from synthdp.inference.models.protocol import Fit
from synthdp.microdata import Floats


@dataclass(frozen=True, eq=False, repr=False)
class GammaPoisson:
    """y | x ~ negative binomial with mean μ = exp(x'β) and size r = 1/α; θ = (β, log α)."""

    x: Floats
    y: Floats

    def log_likelihood(self, theta: Floats, weights: Floats) -> float:
        """Return Σ w_i ℓ_i(θ)."""
        mean, r = self._parts(theta)
        y = self.y
        each = gammaln(y + r) - gammaln(r) - gammaln(y + 1) + r * np.log(r / (r + mean)) + y * np.log(mean / (r + mean))
        return float(weights @ each)

    def scores(self, theta: Floats, weights: Floats) -> Floats:
        """Return w_i ∂ℓ_i/∂θ."""
        mean, r = self._parts(theta)
        linear = (self.y - mean) * r / (r + mean)
        return weights[:, None] * np.column_stack([linear[:, None] * self.x, -r * self._size_score(mean, r)])

    def information(self, theta: Floats, weights: Floats) -> Floats:
        """Return −Σ w_i ∂²ℓ_i/∂θ∂θ'; with r = exp(−log α), ∂²/∂(log α)² is r² ∂²/∂r² + r ∂/∂r."""
        mean, r = self._parts(theta)
        y, total = self.y, r + mean
        slopes = self.x.T @ (self.x * (weights * mean * r * (r + y) / total**2)[:, None])
        cross = self.x.T @ (weights * r * (y - mean) * mean / total**2)
        bend = polygamma(1, y + r) - polygamma(1, r) + 1 / r - 2 / total + (r + y) / total**2
        size = -float(weights @ (r**2 * bend + r * self._size_score(mean, r)))
        return np.block([[slopes, cross[:, None]], [cross[None, :], np.array([[size]])]])

    def _parts(self, theta: Floats) -> tuple[Floats, float]:
        return np.exp(self.x @ theta[:-1]), float(np.exp(-theta[-1]))

    def _size_score(self, mean: Floats, r: float) -> Floats:
        y = self.y
        return np.asarray(digamma(y + r) - digamma(r) + np.log(r / (r + mean)) + 1 - (r + y) / (r + mean))


def negative_binomial(design: Design, weights: Floats | None, where: str) -> Fit:
    """Return the fit, α last (as statsmodels' NegativeBinomial has it).

    References
    ----------
    Cameron and Trivedi (2013), Regression Analysis of Count Data, 2nd edition, section 3.3.1.
    """
    y = counts(design, "negative_binomial", where)[0]
    start = generalised("poisson", design, weights, link=None, power=1.0, where=where)
    each = np.ones(len(y)) if weights is None else weights
    mean = np.exp(design.matrix @ start.values)
    alpha = float(each @ ((y - mean) ** 2 - y) / (each @ mean**2))
    if alpha <= 0:
        raise InputError(f"{where}: the counts vary no more than a Poisson's, so alpha is zero; use model poisson.")
    basis, upper = orthogonal(design.matrix)
    likelihood = GammaPoisson(basis, y)
    first = np.r_[upper @ start.values, np.log(alpha)]
    found = maximise(likelihood, first, each, where=where, model="negative_binomial")
    terms = len(design.names)
    back = np.eye(terms + 1)
    back[:terms, :terms] = np.linalg.inv(upper)
    # the last of θ is log α: its derivative takes the fit to α
    back[-1, -1] = np.exp(found[0][-1])
    fit = conclude(likelihood, found, each, (*design.names, "alpha"), back)
    values = np.r_[fit.values[:-1], back[-1, -1]]
    return Fit(fit.names, values, fit.covariance, fit.influence, None)
