"""Two-part regression: a point mass, and a normal regression for the rest.

    P(y ≠ a) = Φ(η₁),     y | y ≠ a  ~  N(η₂, σ²),     η = x'(β₁, β₂)

The point a (often zero) and the numbers are on the working scale. Given evidence of precision k around c, the point
keeps the weight Φ(-η₁) · exp(-k(a - c)²/2), and the rest Φ(η₁) · exp(-k(η₂ - c)²/(2(1 + kσ²))) / √(1 + kσ²).

References
----------
Duan, Manning, Morris, Newhouse (1983), Journal of Business & Economic Statistics 1(2) (two-part models).
"""

from dataclasses import dataclass

import numpy as np

from synthdp.evidence import Evidence, GaussianEvidence
from synthdp.imputation.binary import BinaryPosterior, LinkName, log_probability
from synthdp.imputation.families.normal import draw_normal, gaussian, log_norm, log_normal
from synthdp.imputation.families.protocol import LOCATION_SD, proper
from synthdp.imputation.linear import LinearPosterior
from synthdp.microdata import Floats

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
        (shape, rate) of an inverse gamma prior of σ²; default: the classical degrees of freedom (see ``linear``), and
        a weak proper prior where no more records than coefficients are off the point.

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
        presence = BinaryPosterior.fit(design, off.astype(np.float64), prior, link=self.link, rng=rng)
        few = int(off.sum()) <= design.shape[1]
        # with few records off the point nothing else keeps the level of the numbers or their spread finite
        wide = (prior if few else prior_sd) * self.linear_widening
        variance_prior = FEW_VARIANCE_PRIOR if few and self.variance_prior is None else self.variance_prior
        amount = LinearPosterior.fit(design[off], y[off], wide, prior=variance_prior)
        return SemicontinuousPosterior(self.atom, presence, amount)


@dataclass(frozen=True, repr=False)
class SemicontinuousPosterior:
    """The posteriors of both parts."""

    atom: float
    presence: BinaryPosterior
    amount: LinearPosterior

    def draw(self, *, rng: np.random.Generator) -> "SemicontinuousDraw":
        """Draw (β₁, β₂, σ²)."""
        presence = self.presence.draw(rng=rng)
        amount = self.amount.draw(rng=rng)
        beta = np.column_stack([presence, amount.beta])
        return SemicontinuousDraw(beta, amount.variance, self.atom, self.presence.link)


@dataclass(frozen=True, repr=False)
class SemicontinuousDraw:
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
        about = gaussian(evidence)
        log_atom, log_rest = self._weights(eta, about)
        numbers = draw_normal(eta[:, 1], self.amount_variance, about, rng=rng)
        at_atom = np.log(rng.random(len(eta))) < log_atom - np.logaddexp(log_atom, log_rest)
        return np.where(at_atom, self.atom, numbers)

    def log_norm(self, eta: Floats, evidence: Evidence) -> Floats:
        """Return the log weight of both parts under evidence that is counted from its peak."""
        return np.asarray(np.logaddexp(*self._weights(eta, gaussian(evidence))))

    def _weights(self, eta: Floats, about: GaussianEvidence) -> tuple[Floats, Floats]:
        """Return the log weights of the point and of the rest."""
        log_atom = log_probability(-eta[:, 0], self.link) - 0.5 * about.precision * (self.atom - about.mean()) ** 2
        return log_atom, log_probability(eta[:, 0], self.link) + log_norm(eta[:, 1], self.amount_variance, about)
