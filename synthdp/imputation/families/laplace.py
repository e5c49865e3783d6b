"""Metropolis with an independent proposal around the posterior mode.

The proposal is a multivariate t around the mode with the mode's curvature. Proposals do not depend on the chain, so
their log posteriors are evaluated together in one matrix product; the chain of accept/reject steps then corrects the
proposal's error, which after s steps is at most (1 - 1/w)^s in total variation, w the largest ratio of posterior to
proposal. The number of steps follows from a pilot estimate of w.

References
----------
Mengersen, Tweedie (1996), Annals of Statistics 24(1), Theorem 2.1 (convergence of the independence sampler).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from synthdp.microdata import Floats

PROPOSAL_DF = 10.0
PILOT_DRAWS = 64
TOTAL_VARIATION = 1e-3
STEPS = (8, 500)


@dataclass(frozen=True, repr=False)
class IndependenceSampler:
    """Draws from a posterior given as a function; each draw is the end of its own chain.

    Parameters
    ----------
    mode
        The posterior mode, d.
    factor
        Lower Cholesky factor of the curvature at the mode.
    log_posterior
        The log posterior, up to a constant near the mode, of each row of a matrix of parameters.
    steps
        The length of the chain.

    Examples
    --------
    >>> normal = lambda rows: -0.5 * (rows**2).sum(axis=1)
    >>> rng = np.random.default_rng(1)
    >>> sampler = IndependenceSampler.pilot(np.zeros(2), np.eye(2), normal, rng=rng)
    >>> sampler.draw(rng=rng).shape
    (2,)
    """

    mode: Floats
    factor: Floats
    log_posterior: Callable[[Floats], Floats]
    steps: int = STEPS[1]

    @classmethod
    def pilot(
        cls,
        mode: Floats,
        factor: Floats,
        log_posterior: Callable[[Floats], Floats],
        *,
        rng: np.random.Generator,
    ) -> Self:
        """Return the sampler with as many steps as a pilot run calls for."""
        found = cls(mode, factor, log_posterior)
        proposals, log_proposal = found._propose(PILOT_DRAWS, rng=rng)
        log_ratio = log_posterior(proposals) - log_proposal
        worst = np.exp(log_ratio.max()) / np.exp(log_ratio).mean() if np.ptp(log_ratio) < 700 else np.inf
        # twice the pilot's worst ratio: the pilot has not seen the far tail
        steps = np.ceil(np.log(TOTAL_VARIATION) / np.log1p(-1 / (2 * worst))) if np.isfinite(worst) else STEPS[1]
        return cls(mode, factor, log_posterior, int(np.clip(steps, *STEPS)))

    def draw(self, *, rng: np.random.Generator) -> Floats:
        """Draw the parameters: the end of a chain of independent proposals."""
        proposals, log_proposal = self._propose(self.steps + 1, rng=rng)
        log_ratio = self.log_posterior(proposals) - log_proposal
        thresholds = np.log(rng.random(self.steps + 1))
        current = 0
        for step in range(1, self.steps + 1):
            if thresholds[step] < log_ratio[step] - log_ratio[current]:
                current = step
        return np.asarray(proposals[current])

    def _propose(self, count: int, *, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return draws of the t proposal and their log densities relative to the mode's."""
        d = len(self.mode)
        normal = rng.standard_normal((count, d))
        widen = np.sqrt(PROPOSAL_DF / rng.chisquare(PROPOSAL_DF, size=count))
        standard = normal * widen[:, None]
        steps = solve_triangular(self.factor, standard.T, lower=True, trans=1).T
        log_density = -0.5 * (PROPOSAL_DF + d) * np.log1p((standard**2).sum(axis=1) / PROPOSAL_DF)
        log_density += gammaln((PROPOSAL_DF + d) / 2) - gammaln(PROPOSAL_DF / 2) - 0.5 * d * np.log(PROPOSAL_DF / 2)
        return self.mode + steps, np.asarray(log_density, dtype=np.float64)
