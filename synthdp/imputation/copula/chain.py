"""The sampler of p(Σ, Γ, latents | records).

Gibbs with exact steps, overrelaxed, and the prior of the covariance matrix.

A column's own margin tells the order of its latents, not their location and scale: both are learnt from the records
along with everything else, and only the correlations R of the covariance Σ and effects in units of the latents' sds are
used. Were both taken as known once a margin is plugged in, strong correlations would come out too sure of themselves,
by √(1 + ρ²) for two numbers, however many records there are. That location and scale are enough is a theorem: unknown
margins cost as much information on R as unknown means and variances of a multivariate normal do (Hoff, Niu and Wellner
2014, Bernoulli 20(2), 604-622; for two columns Klaassen and Wellner 1997, Bernoulli 3(1), 55-77).

The coordinates come in blocks, first the utilities of each nominal column, then every other coordinate by itself, and
each block is a regression on all coordinates before it:

    E_b | E_before ~ N(B_b' E_before, ω_b C_b),   B_b | ω_b ~ N(0, I ⊗ ω_b C_b)
    ω_b ~ inverse gamma(k (a + 2)/2, tr(C_b⁻¹)/2)   for k coordinates after a others

with C_b = 1, or correlations of ½ for utilities (differences of independent ones have these). Without nominal columns
Σ is inverse Wishart (q + 1, I), whatever the order: every single correlation is uniform on (−1, 1) beforehand (Barnard,
McCulloch and Meng 2000, Statistica Sinica 10(4), 1281-1311); with them correlations are a little smaller (root mean
square .50 to .54 instead of .58 with one of three or six levels), and nominal columns are not exchangeable. Given
residuals all blocks have conjugate draws, from one triangular factor of E'E + I. As the scale of a binary column or of
utilities is free, a chain of latents and Σ is one with expanded parameters, which needs fewer sweeps (Liu and Wu 1999,
JASA 94(448), 1264-1274).

The prior may be worth w_j unrelated records more for coordinate j: E'E + I becomes E'E + diag(1 + w), and k (a + 2)
becomes k (a + 2) + Σ w_j, the sum over the block.

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
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr, ndtri

from synthdp.imputation.copula.latent import Flags, Latent, Shape, Singles
from synthdp.table.microdata import Floats

EXTREME = 8.0  # where a quantile has no digits left


class Covariance:
    """Draws of Σ given residuals.

    Parameters
    ----------
    shape
        Which coordinate is what.
    records
        Of each coordinate how many unrelated records of variance one the prior is worth beyond that. They draw to zero
        what the coordinate says of later ones: within either part, coordinates with more of them come first.
    """

    def __init__(self, shape: Shape, records: Floats | None = None) -> None:
        owner, q = shape.owner(), shape.width
        records = np.zeros(q) if records is None else records
        self._order = np.lexsort((-records, np.where(owner < 0, len(shape.first), owner)))
        self._back = np.argsort(self._order)
        together: Flags = shape.together()[self._order][:, self._order]
        self._together, self._earlier = together, np.triu(~together)
        self._block = np.cumsum(~np.tril(together, -1).any(axis=1)) - 1  # of each coordinate
        self._sizes = np.bincount(self._block).astype(np.float64)
        within = shape.start()[self._order][:, self._order]
        self._root = np.linalg.cholesky(within)
        self._inverse = np.linalg.inv(within)
        first = np.cumsum(self._sizes) - self._sizes
        self._weight = np.diag(1 + records[self._order])
        self._freedom = self._sizes * (first + 2) + np.bincount(self._block, weights=records[self._order])

    def draw_prior(self, *, rng: np.random.Generator) -> Floats:
        """Draw Σ from its prior."""
        nothing = np.zeros((len(self._order), len(self._order)))
        return self.step(np.eye(len(nothing)), nothing, 0.0, rng=rng)

    def step(self, sigma: Floats, cross: Floats, n: float, *, rng: np.random.Generator, alpha: float = 0.0) -> Floats:
        """Return Σ after a step that leaves p(Σ | E) as it is, E'E = ``cross`` of n residuals. O(q³).

        With M = I − B, the columns of B the regressions' coefficients, E M has unrelated columns. In T = L'M, where
        LL' = E'E + I, coefficients are independent normals and the scales independent gammas, each step's.

        Parameters
        ----------
        alpha
            Zero: independent of where Σ was. Negative: overrelaxed, on the other side of the distribution than before
            (Adler 1981, Physical Review D 23(12), 2901-2904).
        """
        q = len(self._order)
        root = np.linalg.cholesky(cross[self._order][:, self._order] + self._weight)
        own = np.where(self._together, root, 0.0)
        # tr(C⁻¹LL') of each block, which ω has for its rate
        rate = np.bincount(self._block, weights=((self._inverse * (own @ own.T)).sum(axis=1)))
        freedom = self._freedom + n * self._sizes
        noise, old = rng.standard_normal((q, q)), None
        if alpha < 0:
            factor = np.linalg.cholesky(sigma[self._order][:, self._order])
            scales = np.where(self._together, factor, 0.0)
            unscaled = np.linalg.inv(scales)
            before = root.T @ np.linalg.inv(factor @ unscaled).T
            noise = np.sqrt(1 - alpha**2) * noise - alpha * np.where(self._earlier, before, 0.0) @ unscaled.T
            first = np.flatnonzero(np.diff(self._block, prepend=-1))
            old = rate / (2 * scales[first, first] ** 2)
        omega = rate / (2 * _gammas(freedom / 2, old, alpha, rng=rng))
        scales = self._root * np.sqrt(omega)[self._block]
        triangle = own.T - np.where(self._earlier, noise, 0.0) @ scales.T
        factor = np.linalg.solve(triangle, root.T).T @ scales  # M⁻ᵀ = L T⁻ᵀ
        found = factor @ factor.T
        return np.asarray(found[self._back][:, self._back])


def _gammas(shape: Floats, old: Floats | None, alpha: float, *, rng: np.random.Generator) -> Floats:
    """Draw gammas, overrelaxed from old ones if there are any."""
    score = rng.standard_normal(len(shape))
    if old is not None:
        before = np.where(old < shape, ndtri(gammainc(shape, old)), -ndtri(gammaincc(shape, old)))
        before = np.where(np.abs(before) < EXTREME, before, rng.standard_normal(len(shape)))
        score = alpha * before + np.sqrt(1 - alpha**2) * score
    return np.asarray(np.where(score > 0, gammainccinv(shape, ndtr(-score)), gammaincinv(shape, ndtr(score))))


def correlations(sigma: Floats) -> tuple[Floats, Floats]:
    """Return the correlations and standard deviations of a covariance matrix."""
    sd = np.sqrt(np.diag(sigma))
    return np.asarray(sigma / (sd[:, None] * sd)), np.asarray(sd)


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
        latent, state = self._latent, self.state
        settled = self._sweeps >= SETTLING
        alpha = ALPHA if settled and self._sweeps % FRESH_EVERY else 0.0
        precision: Floats = np.asarray(np.linalg.inv(state.sigma), dtype=np.float64)
        cross, moved = self._move_latents(precision, overrelaxed=settled)
        if len(self._free[0]):
            by = self._step_of_gamma(precision, moved, alpha)
            # E'E of the residuals after the step, without another look at the records
            cross += by.T @ self._gram @ by - by.T @ moved - moved.T @ by
            state.gamma = state.gamma + by
        state.sigma = self._covariance.step(state.sigma, cross, len(latent), rng=self._rng, alpha=alpha)
        self._sweeps += 1

    def refresh(self, gamma: Floats, sigma: Floats, sweeps: int = 1) -> None:
        """Draw the latents given parameters from elsewhere, which are kept as they are. O(n q²) per sweep."""
        self.state.gamma, self.state.sigma = gamma.copy(), sigma.copy()
        precision = np.asarray(np.linalg.inv(sigma), dtype=np.float64)
        for _ in range(sweeps):
            self._move_latents(precision, overrelaxed=False)

    def _move_latents(self, precision: Floats, *, overrelaxed: bool) -> tuple[Floats, Floats]:
        """Draw the latents given Γ and Σ⁻¹; return E'E and H'E of the residuals."""
        from synthdp.imputation.copula.rows import sweep_rows

        latent, state, packed = self._latent, self.state, self._latent.packed
        q = len(precision)
        reach = np.where(self._tossed(), REACH, 1.0) if overrelaxed else np.ones(q)
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
        return cross, moved

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
