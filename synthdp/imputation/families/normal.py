"""Normal linear regression on the working scale with a conjugate prior, y = η + e, and two-part regression.

A point mass, and a normal regression for the rest.

    y = D β + e,  e ~ N(0, σ²),   β_j | σ² ~ N(0, σ² τ_j²),   p(σ²) ∝ (σ²)^(-a-1) exp(-c/σ²)

Then β | σ², y ~ N(b, σ² V), V = (D'D + diag τ⁻²)⁻¹, b = V D'y, and σ² | y is inverse gamma with shape a + n/2 and
rate c + (y'y - b'V⁻¹b)/2.

References
----------
Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., sections 14.2 and 14.8.

    P(y ≠ a) = Φ(η₁),     y | y ≠ a  ~  N(η₂, σ²),     η = x'(β₁, β₂)

The point a (often zero) and the numbers are on the working scale. Given evidence of precision k around c, the point
keeps the weight Φ(-η₁) · exp(-k(a - c)²/2), and the rest Φ(η₁) · exp(-k(η₂ - c)²/(2(1 + kσ²))) / √(1 + kσ²).

References
----------
Duan, Manning, Morris, Newhouse (1983), Journal of Business & Economic Statistics 1(2) (two-part models).
"""

from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from synthdp.imputation.families.family import LOCATION_SD, Regressed, proper
from synthdp.imputation.families.links import LinkName, add_probit, log_probability
from synthdp.imputation.families.sampling import IndependenceSampler
from synthdp.imputation.families.unordered import binary_sampler
from synthdp.masking.evidence import Evidence, GaussianEvidence, about_numbers
from synthdp.seeding import in_blocks
from synthdp.table.microdata import Floats

SMALLEST_VARIANCE = 1e-12


@dataclass(frozen=True, repr=False)
class LinearSums:
    """What a normal regression needs to know of some records: D'D, D'y, y'y and how many they are."""

    gram: Floats
    moment: Floats
    square: float
    count: int

    @classmethod
    def of(cls, design: Floats, y: Floats) -> Self:
        """Return the sums of a block of records."""
        return cls(design.T @ design, design.T @ y, float(y @ y), len(y))

    def __add__(self, other: "LinearSums") -> "LinearSums":
        return LinearSums(
            self.gram + other.gram, self.moment + other.moment, self.square + other.square, self.count + other.count
        )


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
        """Return the posterior; arguments as in :meth:`known`. Cost O(n·d² + d³)."""
        parts = (LinearSums.of(design[rows], y[rows]) for _, rows in in_blocks(len(y)))
        return cls.known(reduce(LinearSums.__add__, parts), prior_sd, prior=prior)

    @classmethod
    def known(cls, sums: LinearSums, prior_sd: Floats, *, prior: tuple[float, float] | None = None) -> Self:
        """Return the posterior given the sums of all blocks, added in their order.

        Parameters
        ----------
        prior_sd
            τ_j, in units of σ; infinite for a flat prior.
        prior
            (a, c) of the inverse gamma prior of σ². The default a = -(effective number of coefficients)/2, c = 0
            is the choice that makes the posterior of σ² the classical scaled inverse χ² with n - d degrees of freedom
            when τ is infinite; with a = 0 the n·p weak priors would count as data and σ² come out too small.
        """
        n, gram = sums.count, sums.gram
        precision = gram + np.diag(prior_sd**-2.0)
        lower = np.tril(cho_factor(precision, lower=True)[0])
        mean = cho_solve((lower, True), sums.moment)
        quadratic = max(float(sums.square - mean @ precision @ mean), 0.0)
        if prior is None:
            effective = float(np.trace(cho_solve((lower, True), gram)))
            shape, rate = max(n - effective, 1.0) / 2, quadratic / 2
        else:
            shape, rate = prior[0] + n / 2, prior[1] + quadratic / 2
        return cls(mean, lower, shape, max(rate, SMALLEST_VARIANCE * n))

    def draw(self, *, rng: np.random.Generator) -> "NormalDraw":
        """Draw (β, σ²) from the posterior."""
        variance = self.rate / rng.gamma(self.shape)
        noise = solve_triangular(self.factor, rng.standard_normal(len(self.mean)), lower=True, trans=1)
        return NormalDraw((self.mean + np.sqrt(variance) * noise)[:, None], float(variance))


@dataclass(frozen=True)
class Normal:
    """Normal linear regression with a conjugate prior; coefficients' prior sds are in units of the residual sd.

    Parameters
    ----------
    variance_prior
        (shape, rate) of an inverse gamma prior of the residual variance; default: the classical n - d degrees of
        freedom (see ``LinearPosterior``).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> design = np.column_stack([np.ones(50), rng.normal(size=50)])
    >>> drawn = Normal().fit(design, design[:, 1], np.array([np.inf, 10.0]), rng=rng).draw(rng=rng)
    >>> drawn.beta.shape
    (2, 1)
    """

    variance_prior: tuple[float, float] | None = None

    def fit(self, design: Floats, y: Floats, prior_sd: Floats, *, rng: np.random.Generator) -> LinearPosterior:
        """Return the posterior in closed form. Cost O(n·d²); uses no randomness."""
        return LinearPosterior.fit(design, y, prior_sd, prior=self.variance_prior)


@dataclass(frozen=True, repr=False)
class NormalDraw(Regressed):
    """One draw of the coefficients and of the residual variance."""

    beta: Floats
    variance: float

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return log N(y; η, σ²)."""
        return log_normal(y, eta[:, 0], self.variance)

    def draw(self, eta: Floats, evidence: Evidence, *, rng: np.random.Generator) -> Floats:
        """Draw y from the product of N(η, σ²) and the evidence, itself normal."""
        return draw_normal(eta[:, 0], self.variance, about_numbers(evidence), rng=rng)

    def log_norm(self, eta: Floats, evidence: Evidence) -> Floats:
        """Return log ∫ p(y | η) exp(evidence(y)) dy, the evidence counted from its peak."""
        return log_norm(eta[:, 0], self.variance, about_numbers(evidence))


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


FEW_VARIANCE_PRIOR = (1.0, 0.5)


@dataclass(frozen=True)
class Semicontinuous:
    """A binary regression for being at the point, a normal regression for the others.

    Parameters
    ----------
    atom
        The point on the working scale; records at exactly this value are at the point.
    linear_widening
        Prior sds of the normal part are this many times those of the binary part (and in units of the residual sd).
    variance_prior
        (shape, rate) of an inverse gamma prior of σ²; default: the classical degrees of freedom (as ``LinearPosterior``
        has them), and a weak proper prior where no more records than coefficients are off the point.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> design = np.column_stack([np.ones(50), rng.normal(size=50)])
    >>> y = np.maximum(design[:, 1], 0)
    >>> drawn = Semicontinuous(atom=0.0).fit(design, y, np.array([np.inf, 2.5]), rng=rng).draw(rng=rng)
    >>> drawn.beta.shape
    (2, 2)
    """

    atom: float
    link: LinkName = "probit"
    location_sd: float = LOCATION_SD
    linear_widening: float = 1.0
    variance_prior: tuple[float, float] | None = None

    def fit(
        self, design: Floats, y: Floats, prior_sd: Floats, *, rng: np.random.Generator
    ) -> "SemicontinuousPosterior":
        """Return the posteriors of both parts, which are independent. Cost O(n·d²) per Newton iteration."""
        off = y != self.atom
        prior = proper(prior_sd, self.location_sd)
        presence = binary_sampler(design, off.astype(np.float64), prior, link=self.link, rng=rng)
        few = int(off.sum()) <= design.shape[1]
        # with few records off the point nothing else keeps the level of the numbers or their spread finite
        wide = (prior if few else prior_sd) * self.linear_widening
        variance_prior = FEW_VARIANCE_PRIOR if few and self.variance_prior is None else self.variance_prior
        amount = LinearPosterior.fit(design[off], y[off], wide, prior=variance_prior)
        return SemicontinuousPosterior(self, presence, amount)


@dataclass(frozen=True, repr=False)
class SemicontinuousPosterior:
    """The posteriors of both parts."""

    family: Semicontinuous
    presence: IndependenceSampler
    amount: LinearPosterior

    def draw(self, *, rng: np.random.Generator) -> "SemicontinuousDraw":
        """Draw (β₁, β₂, σ²)."""
        presence = self.presence.draw(rng=rng)
        amount = self.amount.draw(rng=rng)
        beta = np.column_stack([presence, amount.beta])
        return SemicontinuousDraw(beta, amount.variance, self.family.atom, self.family.link)


@dataclass(frozen=True, repr=False)
class SemicontinuousDraw(Regressed):
    """One draw of both parts' coefficients and of the variance off the point."""

    beta: Floats
    amount_variance: float
    atom: float
    link: LinkName

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return the log probability at the point, and the log density elsewhere."""
        off = y != self.atom
        part = log_probability(np.where(off, eta[:, 0], -eta[:, 0]), self.link)
        return np.where(off, part + log_normal(y, eta[:, 1], self.amount_variance), part)

    def draw(self, eta: Floats, evidence: Evidence, *, rng: np.random.Generator) -> Floats:
        """Draw whether y is at the point, then the number, both given the evidence."""
        about = about_numbers(evidence)
        log_atom, log_rest = self._weights(eta, about)
        numbers = draw_normal(eta[:, 1], self.amount_variance, about, rng=rng)
        at_atom = np.log(rng.random(len(eta))) < log_atom - np.logaddexp(log_atom, log_rest)
        return np.where(at_atom, self.atom, numbers)

    def log_norm(self, eta: Floats, evidence: Evidence) -> Floats:
        """Return the log weight of both parts under evidence that is counted from its peak."""
        return np.asarray(np.logaddexp(*self._weights(eta, about_numbers(evidence))))

    def add_log_density(self, log_weights: Floats, added: Floats, rest: Floats, y: Floats) -> None:
        """Add log p(y | rest + added) for each column of ``added``, up to a constant per record."""
        if self.link != "probit":
            super().add_log_density(log_weights, added, rest, y)
            return
        off = y != self.atom
        add_probit(log_weights, added[0], rest[0], off)
        shifts, left = added[1][:, None], np.where(off, y - rest[1], 0.0)
        log_weights += (shifts * left - 0.5 * shifts**2 * off) / self.amount_variance

    def _weights(self, eta: Floats, about: GaussianEvidence) -> tuple[Floats, Floats]:
        """Return the log weights of the point and of the rest."""
        log_atom = log_probability(-eta[:, 0], self.link) - 0.5 * about.precision * (self.atom - about.mean()) ** 2
        return log_atom, log_probability(eta[:, 0], self.link) + log_norm(eta[:, 1], self.amount_variance, about)
