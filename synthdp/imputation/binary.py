"""Probit and logit regression with a normal prior; draws by Metropolis with an independent proposal.

    P(y = 1) = F(D β),  F = Φ or logistic,   β_j ~ N(0, τ_j²)

The sampler is in ``families.laplace``. The prior keeps the mode finite under separation.

References
----------
Gelman, Jakulin, Pittau, Su (2008), Annals of Applied Statistics 2(4) (weakly informative priors and separation).
"""

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

from synthdp.errors import Unfinished
from synthdp.imputation.families.laplace import STEPS as STEPS
from synthdp.imputation.families.laplace import IndependenceSampler
from synthdp.imputation.probit import log_normal_cdf
from synthdp.microdata import Floats

LinkName = Literal["probit", "logit"]
ROWS_AT_ONCE = 65_536


def log_probability(eta: Floats, link: LinkName) -> Floats:
    """Return log F(eta)."""
    return log_normal_cdf(eta) if link == "probit" else np.asarray(log_expit(eta), dtype=np.float64)


@dataclass(frozen=True, repr=False)
class BinaryPosterior:
    """The posterior of one binary regression, ready to be drawn from.

    Parameters
    ----------
    signed
        The design with the sign of each record's outcome: log L(β) = Σ log F(signed β).
    """

    signed: Floats
    prior_sd: Floats
    link: LinkName
    mode: Floats
    factor: Floats
    steps: int

    @classmethod
    def fit(cls, design: Floats, y: Floats, prior_sd: Floats, *, link: LinkName, rng: np.random.Generator) -> Self:
        """Find the mode by Newton's method and choose the number of steps. Cost O(n·d²) per iteration."""
        signed = design * (2 * y - 1)[:, None]
        mode, curvature = _newton(signed, prior_sd, link)
        factor: Floats = np.asarray(np.linalg.cholesky(curvature), dtype=np.float64)
        found = cls(signed, prior_sd, link, mode, factor, STEPS[1])
        sampler = IndependenceSampler.pilot(mode, factor, found.log_posterior, rng=rng)
        return replace(found, steps=sampler.steps)

    def log_posterior(self, betas: Floats) -> Floats:
        """Return the log posterior density, up to a constant near its mode, of each row of ``betas``.

        Cost O(n·d) per row.
        """
        reference = np.zeros(len(betas))
        for start in range(0, len(self.signed), ROWS_AT_ONCE):
            eta = self.signed[start : start + ROWS_AT_ONCE] @ np.vstack([self.mode, betas]).T
            contributions = log_probability(eta, self.link)
            # differences from the mode keep the sums small, so that no digits are lost at large n
            reference += (contributions[:, 1:] - contributions[:, :1]).sum(axis=0)
        scaled = betas / self.prior_sd
        result: Floats = reference - 0.5 * (scaled**2).sum(axis=1) + 0.5 * ((self.mode / self.prior_sd) ** 2).sum()
        return result

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw β: the end of a chain of independent proposals."""
        return IndependenceSampler(self.mode, self.factor, self.log_posterior, self.steps).draw(rng=rng)


def _newton(signed: Floats, prior_sd: Floats, link: LinkName) -> tuple[Floats, Floats]:
    """Return the posterior mode and the curvature there; the log posterior is concave, so steps are only halved."""
    beta = np.zeros(signed.shape[1])
    prior_precision = prior_sd**-2.0
    value = _objective(signed, beta, prior_precision, link)
    for _ in range(100):
        gradient, weights = _derivatives(signed @ beta, link)
        slope = signed.T @ gradient - prior_precision * beta
        curvature = (signed * weights[:, None]).T @ signed + np.diag(prior_precision)
        step = np.linalg.solve(curvature, slope)
        size = 1.0
        while (trial := _objective(signed, beta + size * step, prior_precision, link)) < value and size > 1e-8:
            size /= 2
        beta, value = beta + size * step, max(trial, value)
        if float(slope @ step) < 1e-10:
            return beta, curvature
    raise Unfinished(
        "regression: a binary column's model has no stable mode; exclude kept columns that nearly determine it."
    )


def _objective(signed: Floats, beta: Floats, prior_precision: Floats, link: LinkName) -> float:
    return float(log_probability(signed @ beta, link).sum() - 0.5 * (prior_precision * beta**2).sum())


def _derivatives(eta: Floats, link: LinkName) -> tuple[Floats, Floats]:
    """Return first and minus second derivative of log F(eta)."""
    if link == "logit":
        up = expit(-eta)
        return up, up * (1 - up)
    ratio = np.exp(-0.5 * eta**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(eta))
    return ratio, np.maximum(ratio * (ratio + eta), 0.0)
