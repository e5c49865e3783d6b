"""Negative binomial regression for counts, with the Poisson as its limit.

    log p(y | η) = Σ_{j<y} log(1 + αj) - log y! + y η - (y + 1/α) log(1 + α e^η)

Mean μ = e^η, variance μ + αμ²; α → 0 is the Poisson, and the sum over j stays exact there where differences of
log Γ do not. The support ends at ``largest``: p is divided by P(Y ≤ largest) wherever more than one in ten million lies
beyond. The fit leaves that divisor out: a count that piles up at its bound is not negative binomial, and belongs to an
ordered regression.

References
----------
Lawless (1987), Canadian Journal of Statistics 15(3), equations 2.1 and 2.2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betaincc, expit, gammaincc, gammaln, logsumexp

from synthdp.imputation.families.family import LOCATION_SD, Enumerated, blocks, proper
from synthdp.imputation.families.sampling import Sampled, sampler
from synthdp.table.links import Link
from synthdp.table.microdata import Floats

IMMATERIAL = 1e-10
NEARLY_POISSON = 1e-9
LARGEST_EXPONENT = 700.0


@dataclass(frozen=True)
class NegativeBinomial:
    """Negative binomial regression with log link of a count in 0, …, largest.

    Parameters
    ----------
    link
        The count's working scale, where Gaussian evidence about it lives.
    location_sd
        Prior sd of the constant, where its prior would be flat.
    log_dispersion
        Mean and sd of the normal prior of log α. The default reaches from one hundredth of the Poisson's variance
        beyond it (at μ = 1) to twenty times.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> design = np.column_stack([np.ones(90), rng.normal(size=90)])
    >>> y = rng.poisson(np.exp(1 + 0.3 * design[:, 1])).astype(float)
    >>> drawn = NegativeBinomial(largest=30).fit(design, y, np.array([np.inf, 2.5]), rng=rng).draw(rng=rng)
    >>> drawn.log_levels(design @ drawn.beta).shape
    (90, 31)
    """

    largest: int
    link: Link | None = None
    location_sd: float = LOCATION_SD
    log_dispersion: tuple[float, float] = (-1.0, 2.0)

    def fit(
        self, design: Floats, y: Floats, prior_sd: Floats, *, rng: np.random.Generator
    ) -> "Sampled[NegativeBinomialDraw]":
        """Return the posterior. Cost O(n·d²) per Newton iteration."""
        exceed = len(y) - np.cumsum(np.bincount(y.astype(np.int64)))[:-1]
        target = CountTarget(design, y, exceed.astype(np.float64), proper(prior_sd, self.location_sd), self)
        start = np.zeros(design.shape[1] + 1)
        start[0] = np.log(y.mean() + 0.5 / len(y))
        start[-1] = self.log_dispersion[0]

        def drawn(theta: Floats) -> NegativeBinomialDraw:
            return NegativeBinomialDraw(theta[:-1, None], float(np.exp(theta[-1])), self.largest, self.link)

        return Sampled(sampler(target, start, rng=rng), drawn)


@dataclass(frozen=True, repr=False)
class NegativeBinomialDraw(Enumerated):
    """One draw of the coefficients and of the dispersion α; α = 0 is the Poisson."""

    beta: Floats
    dispersion: float
    largest: int
    link: Link | None = None

    def log_levels(self, eta: Floats) -> Floats:
        """Return log P(y | η) of every count up to the largest, n × (largest + 1)."""
        return np.asarray(self._relative(eta) - self._log_total(eta)[:, None])

    def log_weights(self, eta: Floats) -> Floats:
        """Return log P(y | η) up to a constant for each record, (largest + 1) × n: a chain needs no more."""
        return np.asarray(self._constants[:, None] + self.level_values()[:, None] * self._slope(eta[:, 0]))

    def level_values(self) -> Floats:
        """Return 0, …, largest."""
        return np.arange(self.largest + 1.0)

    def working_values(self) -> Floats | None:
        """Return the counts on the working scale."""
        return None if self.link is None else self.link.forward(self.level_values())

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return log P(y | η) of each record; minus infinity beyond the largest."""
        inside = (y >= 0) & (y <= self.largest)
        count = np.where(inside, y, 0)
        own = self._constants[count.astype(np.int64)] + count * self._slope(eta[:, 0])
        return np.where(inside, own - self._log_total(eta), -np.inf)

    @cached_property
    def _constants(self) -> Floats:
        """The part of log p that does not depend on η, for every count."""
        counts = np.arange(self.largest + 1.0)
        rising = np.concatenate([[0.0], np.cumsum(np.log1p(self.dispersion * counts[:-1]))])
        return np.asarray(rising - gammaln(counts + 1))

    def _softplus(self, linear: Floats) -> Floats:
        """Return log(1 + α e^η)."""
        return np.asarray(np.logaddexp(0.0, linear + np.log(self.dispersion)))

    def _slope(self, linear: Floats) -> Floats:
        """Return what each further count adds: η - log(1 + α e^η)."""
        return linear if self.dispersion == 0 else linear - self._softplus(linear)

    def _relative(self, eta: Floats) -> Floats:
        """Return log p of every count up to what all counts share."""
        return np.asarray(self._constants + self.level_values() * self._slope(eta[:, :1]))

    def _log_total(self, eta: Floats) -> Floats:
        """Return the log of the summed ``_relative`` weights; in closed form where counts beyond do not matter."""
        linear = eta[:, 0]
        if self.dispersion == 0:
            total = np.exp(np.minimum(linear, LARGEST_EXPONENT))
        else:
            total = self._softplus(linear) / self.dispersion
        rows = np.flatnonzero(linear > self._harmless)
        if len(rows) == 0:
            return total
        # a sum over the counts is exact and, at some tens of counts, forty times faster than the incomplete beta
        for part in blocks(len(rows), self.largest + 1):
            total[rows[part]] = logsumexp(self._relative(eta[rows[part]]), axis=1)
        return total

    def _inside(self, linear: Floats) -> Floats:
        """Return P(Y ≤ largest) of the unbounded count."""
        if self.dispersion < NEARLY_POISSON:
            return np.asarray(gammaincc(self.largest + 1.0, np.exp(np.minimum(linear, LARGEST_EXPONENT))))
        # the complement, because near the Poisson its other argument would be 1 but for the last digits
        return np.asarray(betaincc(self.largest + 1.0, 1 / self.dispersion, expit(linear + np.log(self.dispersion))))

    @cached_property
    def _harmless(self) -> float:
        """The largest η at which P(Y > largest) does not matter: the incomplete beta is slow, a comparison is not."""
        low, high = -50.0, 50.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self._inside(np.full(1, middle))[0] > 1 - IMMATERIAL else (low, middle)
        return low


@dataclass(frozen=True, repr=False)
class CountTarget:
    """The log posterior of θ = (β, log α).

    Parameters
    ----------
    exceed
        How many records have more than j, for j = 0, …, largest seen - 1: Σ_i Σ_{j<y_i} g(j) = Σ_j exceed_j g(j).
    """

    design: Floats
    y: Floats
    exceed: Floats
    prior_sd: Floats
    family: NegativeBinomial

    def gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log posterior up to a constant, and its gradient. Cost O(n·d)."""
        beta, log_alpha, alpha = theta[:-1], theta[-1], np.exp(theta[-1])
        eta = self.design @ beta
        total, q = np.logaddexp(0.0, eta + log_alpha), expit(eta + log_alpha)
        steps = alpha * np.arange(len(self.exceed))
        mean, sd = self.family.log_dispersion
        value = np.log1p(steps) @ self.exceed + self.y @ eta - (self.y + 1 / alpha) @ total
        value -= 0.5 * (((beta / self.prior_sd) ** 2).sum() + ((log_alpha - mean) / sd) ** 2)
        on_beta = self.design.T @ (self.y - (self.y + 1 / alpha) * q) - beta / self.prior_sd**2
        on_alpha = (steps / (1 + steps)) @ self.exceed - (self.y * q - (total - q) / alpha).sum()
        on_alpha -= (log_alpha - mean) / sd**2
        return float(value), np.append(on_beta, on_alpha)

    def curvature(self, theta: Floats) -> Floats:
        """Return minus the second derivatives. Cost O(n·d²)."""
        log_alpha, alpha = theta[-1], np.exp(theta[-1])
        eta = self.design @ theta[:-1] + log_alpha
        total, q = np.logaddexp(0.0, eta), expit(eta)
        weights = (self.y + 1 / alpha) * q * (1 - q)
        steps = alpha * np.arange(len(self.exceed))
        d = len(theta) - 1
        result = np.empty((d + 1, d + 1))
        result[:d, :d] = (self.design * weights[:, None]).T @ self.design + np.diag(self.prior_sd**-2.0)
        result[d, :d] = result[:d, d] = self.design.T @ (weights - q / alpha)
        result[d, d] = self.family.log_dispersion[1] ** -2.0 - (steps / (1 + steps) ** 2) @ self.exceed
        result[d, d] += (weights - (2 * q - total) / alpha).sum()
        return result

    def relative(self, thetas: Floats, reference: Floats) -> Floats:
        """Return the log posterior of each row minus that of the reference. Cost O(n·d) per row."""
        rows = np.vstack([reference, thetas])
        betas, log_alphas, alphas = rows[:, :-1], rows[:, -1], np.exp(rows[:, -1])
        rising = np.zeros(len(rows))
        for some in blocks(len(self.exceed), len(rows)):
            rising += self.exceed[some] @ np.log1p(np.outer(np.arange(some.start, some.stop), alphas))
        mean, sd = self.family.log_dispersion
        total = rising - 0.5 * (((betas / self.prior_sd) ** 2).sum(axis=1) + ((log_alphas - mean) / sd) ** 2)
        total = total[1:] - total[0]
        for some in blocks(len(self.y), len(rows)):
            y = self.y[some, None]
            eta = self.design[some] @ betas.T
            part = y * eta - (y + 1 / alphas) * np.logaddexp(0.0, eta + log_alphas)
            total += (part[:, 1:] - part[:, :1]).sum(axis=0)
        return np.asarray(total)
