"""The sampler of p(R, Γ, latents | records): Gibbs with exact steps.

1. every unknown latent given the others of its record (truncated normal; free where the cell is missing),
2. Γ given latents and R (normal),
3. every correlation given residuals and the other correlations (slice step on its exact density);

now and then, of every coordinate with unknown latents, its correlations and its part of Γ with these latents integrated
out. Steps 1 to 3 alone are right but slow where the records say little of a correlation: with 80 records of the
calibration study's five columns, a correlation's draws were independent after 100 to 2,000 sweeps, with this step each
time after 5 to 200.

O(n q²) per sweep for n records of q coordinates, plus O(q⁴) for the correlations and O((q d)³) for d covariates.
"""

from dataclasses import dataclass

import numpy as np

from synthdp.imputation.copula import correlation
from synthdp.imputation.copula.latent import Latent
from synthdp.microdata import Codes, Floats


@dataclass(repr=False)
class State:
    """Where a chain stands: latents, Γ and R."""

    y: Floats
    gamma: Floats
    r: Floats


@dataclass(frozen=True, repr=False)
class Trace:
    """What a chain leaves: draws × d × q of Γ, draws × q × q of R, and some latents at every draw.

    Parameters
    ----------
    gamma, r
        The parameters.
    cells
        draws × watched cells.
    """

    gamma: Floats
    r: Floats
    cells: Floats

    def __repr__(self) -> str:
        return f"Trace({len(self.r)} draws)"


class Sampler:
    """One chain.

    Parameters
    ----------
    latent
        What the records say.
    rng
        The chain's own stream.
    """

    def __init__(self, latent: Latent, *, rng: np.random.Generator) -> None:
        self._latent, self._rng = latent, rng
        self._owner, self._fixed = latent.shape.owner(), latent.shape.fixed()
        gram = latent.covariates.T @ latent.covariates
        self._free = np.nonzero(latent.prior_sd > 0)
        h, j = self._free
        self._free_gram = gram[h[:, None], h]
        self._free_precision = np.diag(latent.prior_sd[h, j] ** -2.0)
        self._mean = np.zeros(latent.lower.shape)
        self._sweeps = 0
        known = (latent.lower == latent.upper).all(axis=0) & (self._owner < 0)
        self._open = np.flatnonzero(~known)
        self.state = State(latent.start(rng=rng), np.zeros(latent.prior_sd.shape), latent.shape.start())

    def sweep(self) -> None:
        """Update everything once."""
        from synthdp.imputation.copula.loops import sweep_rows

        latent, state = self._latent, self.state
        precision: Floats = np.asarray(np.linalg.inv(state.r), dtype=np.float64)
        diagonal = np.diag(precision)
        weights = -precision / diagonal[:, None]
        np.fill_diagonal(weights, 0.0)
        sweep_rows(
            state.y,
            self._mean,
            latent.lower,
            latent.upper,
            self._owner,
            latent.shape.first,
            latent.shape.size,
            latent.codes,
            weights,
            1 / np.sqrt(diagonal),
            self._rng.random(state.y.shape),
        )
        if len(self._free[0]):
            state.gamma = self._draw_gamma(precision)
            self._mean = latent.covariates @ state.gamma
            residual = state.y - self._mean
        else:
            residual = state.y
        cross = residual.T @ residual
        state.r = correlation.step(state.r, precision, cross, len(latent), self._fixed, rng=self._rng)

    def collapse(self) -> None:
        """Update the parameters of every coordinate that has unknown latents, these integrated out. O(n q³)."""
        from synthdp.imputation.copula.collapsing import collapse

        latent, state, shape = self._latent, self.state, self._latent.shape
        r, gamma = state.r.copy(), state.gamma.copy()
        precision: Floats = np.asarray(np.linalg.inv(r), dtype=np.float64)
        known = (latent.lower, latent.upper, self._owner, shape.first, shape.size, latent.codes, latent.covariates)
        prior = (correlation.degrees(len(r)), self._fixed)
        for j in self._open:
            collapse(int(j), state.y, self._mean, *known, latent.prior_sd, gamma, r, precision, *prior, self._rng)
        state.r, state.gamma = r, gamma

    def run(
        self, draws: int, *, every: int = 1, collapse: int = 1, watched: tuple[Codes, Codes] | None = None
    ) -> Trace:
        """Run the chain and return a draw of every so many sweeps.

        Parameters
        ----------
        collapse
            After how many sweeps the costlier step with latents integrated out is taken.
        watched
            Rows and coordinates of latents to follow.
        """
        state, kept = self.state, []
        for _ in range(draws):
            for _ in range(every):
                self.sweep()
                self._sweeps += 1
                if self._sweeps % collapse == 0:
                    self.collapse()
            cells = state.y[watched] if watched is not None else np.zeros(0)
            kept.append((state.gamma.copy(), state.r.copy(), cells))
        gamma, r, cells = (np.asarray(part) for part in zip(*kept, strict=True))
        return Trace(gamma, r, cells)

    def _draw_gamma(self, precision: Floats) -> Floats:
        """Draw Γ | Y, R: precision of its free entries is R⁻¹ ⊗ H'H plus the prior's."""
        latent = self._latent
        h, j = self._free
        inside = precision[j[:, None], j] * self._free_gram + self._free_precision
        linear = (latent.covariates.T @ self.state.y @ precision)[h, j]
        root = np.linalg.cholesky(inside)
        noise = self._rng.standard_normal(len(h))
        solved = np.linalg.solve(root.T, np.linalg.solve(root, linear) + noise)
        gamma = np.zeros(latent.prior_sd.shape)
        gamma[h, j] = solved
        return gamma
