"""The sampler of p(Σ, Γ, latents | records): Gibbs with exact steps, overrelaxed.

1. every unknown latent given the others of its record (truncated normal; free where the cell is missing),
2. Γ given latents and Σ (normal),
3. Σ given residuals (a regression of each block on those before; see ``covariance``).

Overrelaxed means on the other side of the conditional distribution than before: then a chain of many steps, each small
against what the records leave open, does not wander about (Neal 1998, in Learning in Graphical Models, 205-228).
Latents are overrelaxed in every other column, by a coin: in all of them, the products of two would hardly change.

O(n q²) per sweep for n records of q coordinates, plus O(q³) for Σ and O((q d)³) for d covariates.
"""

from dataclasses import dataclass

import numpy as np

from synthdp.imputation.copula.covariance import Covariance, correlations
from synthdp.imputation.copula.latent import Flags, Latent, Singles
from synthdp.microdata import Floats

ALPHA = -0.9  # of Γ and Σ
REACH = 0.1  # of latents, where they are overrelaxed
SETTLING = 60  # sweeps without overrelaxation: from afar it would overshoot
FRESH_EVERY = 16  # sweeps, of which one is not overrelaxed


@dataclass(repr=False)
class State:
    """Where a chain stands: latents (n × q), Γ and Σ."""

    y: Singles
    gamma: Floats
    sigma: Floats


@dataclass(frozen=True, repr=False)
class Trace:
    """What a chain leaves: draws × d × q of Γ in units of the latents' sds, and draws × q × q of R."""

    gamma: Floats
    r: Floats

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
    start
        Where another chain of these records, or of some with slightly other intervals, stands.
    prior_records
        How many unrelated records the prior of Σ is worth, of each coordinate.
    """

    def __init__(
        self,
        latent: Latent,
        *,
        rng: np.random.Generator,
        start: State | None = None,
        prior_records: Floats | None = None,
    ) -> None:
        from synthdp.imputation.copula.rows import BLOCK

        self._latent, self._rng = latent, rng
        self._owner, self._covariance = latent.shape.owner(), Covariance(latent.shape, prior_records)
        self._gram = latent.covariates.T @ latent.covariates
        self._free = np.nonzero(latent.prior_sd > 0)
        h, j = self._free
        self._free_gram = self._gram[h[:, None], h]
        self._free_precision = np.diag(latent.prior_sd[h, j] ** -2.0)
        self._sweeps = 0
        self._words = rng.integers(0, 2**32, (4, BLOCK), dtype=np.uint32)
        if start is None:
            start = State(
                latent.start(rng=rng).astype(np.float32), np.zeros(latent.prior_sd.shape), latent.shape.start()
            )
        packed = latent.packed
        y = np.array(start.y.T, dtype=np.float32, order="C")
        plain = self._owner < 0
        y[plain] = np.clip(y[plain], packed.lower[plain], packed.upper[plain])
        self.state = State(y.T, start.gamma.copy(), start.sigma.copy())

    def sweep(self) -> None:
        """Update everything once."""
        from synthdp.imputation.copula.rows import sweep_rows

        latent, state, packed = self._latent, self.state, self._latent.packed
        settled = self._sweeps >= SETTLING
        alpha = ALPHA if settled and self._sweeps % FRESH_EVERY else 0.0
        q = len(state.sigma)
        reach = np.where(self._tossed(), REACH, 1.0) if settled else np.ones(q)
        precision: Floats = np.asarray(np.linalg.inv(state.sigma), dtype=np.float64)
        diagonal = np.diag(precision)
        weights = -precision / diagonal[:, None]
        np.fill_diagonal(weights, 0.0)
        cross, moved = np.empty((q, q)), np.empty(latent.prior_sd.shape)
        sweep_rows(
            state.y.T,
            packed.covariates,
            state.gamma.astype(np.float32),
            packed.lower,
            packed.upper,
            self._owner,
            latent.shape.first,
            latent.shape.size,
            packed.codes,
            packed.kind,
            packed.open_from,
            packed.open_rows,
            weights.astype(np.float32),
            (1 / np.sqrt(diagonal)).astype(np.float32),
            reach,
            self._words,
            cross,
            moved,
        )
        if len(self._free[0]):
            by = self._step_of_gamma(precision, moved, alpha)
            # E'E of the residuals after the step, without another look at the records
            cross += by.T @ self._gram @ by - by.T @ moved - moved.T @ by
            state.gamma = state.gamma + by
        state.sigma = self._covariance.step(state.sigma, cross, len(latent), rng=self._rng, alpha=alpha)
        self._sweeps += 1

    def run(self, draws: int, *, every: int = 1) -> Trace:
        """Run the chain and return a draw of every so many sweeps."""
        state, kept = self.state, []
        for _ in range(draws):
            for _ in range(every):
                self.sweep()
            r, sd = correlations(state.sigma)
            kept.append((state.gamma / sd, r))
        gamma, r = (np.asarray(part) for part in zip(*kept, strict=True))
        return Trace(gamma, r)

    def _tossed(self) -> Flags:
        """Return which coordinates are overrelaxed, by a coin for each column."""
        coin: Flags = self._rng.random(len(self._owner)) < 0.5
        for first, size in zip(self._latent.shape.first, self._latent.shape.size, strict=True):
            coin[first : first + size] = coin[first]
        return coin

    def _step_of_gamma(self, precision: Floats, moved: Floats, alpha: float) -> Floats:
        """Return by how much Γ | Y, Σ moves: precision of its free entries is Σ⁻¹ ⊗ H'H plus the prior's."""
        h, j = self._free
        now = self.state.gamma
        inside = precision[j[:, None], j] * self._free_gram + self._free_precision
        linear = ((moved + self._gram @ now) @ precision)[h, j]
        root = np.linalg.cholesky(inside)
        noise = np.sqrt(1 - alpha**2) * np.linalg.solve(root.T, self._rng.standard_normal(len(h)))
        mode = np.linalg.solve(root.T, np.linalg.solve(root, linear))
        by = np.zeros(now.shape)
        by[h, j] = (1 - alpha) * (mode - now[h, j]) + noise
        return by
