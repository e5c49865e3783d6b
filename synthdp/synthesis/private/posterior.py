r"""What noisy tables say of the parameters of a log-linear model: a posterior that knows of the noise.

Records are independent draws from p_θ ∝ exp Σ_t θ_t(x_t) (`junction`). Their counts s of all tables have mean nμ(θ) and
covariance nΣ(θ), Σ that of one record's indicators, and what was released is y = s + N(0, D), D known. So

    y | θ ≈ N(nμ(θ), C),   C = nΣ(θ̂) + D,        θ ~ N(0, τ²) for every cell of every table,

with C at the mode θ̂. Laplace's approximation N(θ̂, H⁻¹), H = n²ΣC⁻¹Σ + 1/τ², is too symmetric where noise is as large
as counts, so it is used as the metric of Hamiltonian Monte Carlo on the posterior itself. Directions of θ that change
no probability (tables overlap) are drawn from the prior, which changes nothing.

Each copy is drawn with a θ of its own, so copies differ by what sampling and noise leave unknown, and the rule
``noise_aware`` turns that into intervals.

Notes
-----
How tables were chosen is not part of the likelihood: right for a workload fixed beforehand, a simplification for tables
chosen by their scores. What no table holds is taken to follow from those that were measured.

References
----------
Räisä, Jälkö, Kaski, Honkela (2023), "Noise-aware statistical inference with differentially private synthetic data",
AISTATS (NAPSU-MQ): the likelihood, by the normal approximation of the counts, and Laplace as a start for NUTS; there C
moves with θ and every marginal query is canonical, here C is fixed and the model need not be enumerated. Neal (2011),
Handbook of MCMC, chapter 5 (HMC). Nesterov's averaging of the step: Hoffman, Gelman (2014), JMLR 15, Algorithm 5.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from synthdp.synthesis.private.fitting import Noisy, nearest
from synthdp.synthesis.private.junction import Junction, Weights, cells_of
from synthdp.table.microdata import Codes, Floats

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PRIOR_SD = 6.0
MOST_ENUMERATED = 250_000
"""Cells of the whole domain up to which margins are taken from all of them at once, which is quicker than by blocks."""
SIMULATED = 100_000
"""Records that tell Σ where the domain is larger: its eigenvalues are within √(cells of the tables/records)."""
REFRESHED = 4
WARM_UP = 100
LEAPS = 12
THINNED = 4
TARGET = 0.8
STEP = 1e-20


Toward = Callable[[Floats], Floats]


class Map(Protocol):
    """From θ to margins, as vectors over all cells of all tables."""

    def means(self, theta: Floats) -> Floats:
        """Return μ(θ)."""
        ...

    def pushed(self, theta: Floats, toward: Toward) -> tuple[Floats, Floats]:
        """Return μ(θ), and Σ(θ) times the vector that ``toward`` makes of it."""
        ...

    def covariance(self, theta: Floats, *, rng: np.random.Generator) -> Floats:
        """Return Σ(θ)."""
        ...


def _indicators(cells: Codes, noisy: Noisy) -> "csr_array":
    """Return one row per record with a 1 in the cell of every table."""
    from scipy import sparse

    columns, offset = [], 0
    for table, (counts, _) in noisy.tables.items():
        flat = np.zeros(len(cells), dtype=np.int64)
        for v in table:
            flat = flat * noisy.sizes[v] + cells[:, v]
        columns.append(offset + flat)
        offset += counts.size
    place = np.column_stack(columns)
    starts = np.arange(len(cells) + 1) * place.shape[1]
    return sparse.csr_array((np.ones(place.size), place.ravel(), starts), shape=(len(cells), offset))


class Enumerated:
    """All cells of the domain, each with its row of indicators."""

    def __init__(self, noisy: Noisy) -> None:
        every = np.indices(noisy.sizes).reshape(len(noisy.sizes), -1).T
        rows = _indicators(every, noisy)
        # small ones are quicker without their zeros left out
        self._rows = rows.toarray() if rows.shape[0] * rows.shape[1] <= 10**5 else rows
        self._columns = self._rows.T if isinstance(self._rows, np.ndarray) else rows.T.tocsr()

    def _chances(self, theta: Floats) -> Floats:
        height = self._rows @ theta
        weights = np.exp(height - height.max())
        return np.asarray(weights / weights.sum())

    def means(self, theta: Floats) -> Floats:
        """Return μ."""
        return np.asarray(self._columns @ self._chances(theta))

    def pushed(self, theta: Floats, toward: Toward) -> tuple[Floats, Floats]:
        """Return μ and Σu."""
        p = self._chances(theta)
        mu = np.asarray(self._columns @ p)
        u = toward(mu)
        return mu, np.asarray(self._columns @ (p * (self._rows @ u)) - mu * (mu @ u))

    def covariance(self, theta: Floats, *, rng: np.random.Generator) -> Floats:
        """Return Σ exactly."""
        from scipy import sparse

        p = self._chances(theta)
        mu = np.asarray(self._columns @ p)
        both = self._columns @ (
            self._rows * p[:, None] if isinstance(self._rows, np.ndarray) else sparse.diags_array(p) @ self._rows
        )
        both = both if isinstance(both, np.ndarray) else both.toarray()
        return np.asarray(both - np.outer(mu, mu))


class ByBlocks:
    """Margins by passing messages between the blocks of a junction tree."""

    def __init__(self, noisy: Noisy) -> None:
        self._noisy, self.model = noisy, Junction.of(noisy.sizes, noisy.columns)
        self._shapes = [counts.shape for counts, _ in noisy.tables.values()]
        self._ends = np.cumsum([counts.size for counts, _ in noisy.tables.values()])[:-1]

    def tables(self, theta: Weights) -> list[Weights]:
        """Return θ by table."""
        pieces = np.split(theta, self._ends)
        return [piece.reshape(shape) for piece, shape in zip(pieces, self._shapes, strict=True)]

    def means(self, theta: Floats) -> Floats:
        """Return μ."""
        return np.asarray(self._flat(theta))

    def pushed(self, theta: Floats, toward: Toward) -> tuple[Floats, Floats]:
        """Return μ and Σu, by a complex step."""
        mu = self.means(theta)
        return mu, np.asarray(self._flat(theta + 1j * STEP * toward(mu)).imag / STEP)

    def _flat(self, theta: Weights) -> Weights:
        return np.concatenate([margin.ravel() for margin in self.model.margins(self.model.beliefs(self.tables(theta)))])

    def covariance(self, theta: Floats, *, rng: np.random.Generator) -> Floats:
        """Return Σ of many records drawn from the model."""
        n = max(SIMULATED, 20 * len(theta))
        rows = _indicators(self.model.draw(self.model.beliefs(self.tables(theta)), n, rng=rng), self._noisy)
        mu = np.asarray(rows.sum(axis=0)) / n
        return np.asarray((rows.T @ rows).toarray() / n - np.outer(mu, mu))


Prior = Callable[[Floats], tuple[float, Floats, Floats]]
"""−log density of θ, its gradient, and how much it is curved in each direction (or a bound that is no less)."""


def normal(theta: Floats) -> tuple[float, Floats, Floats]:
    """Return the prior N(0, 6²) of every parameter."""
    return 0.5 * float(theta @ theta) / PRIOR_SD**2, theta / PRIOR_SD**2, np.full(len(theta), 1 / PRIOR_SD**2)


@dataclass(frozen=True)
class Posterior:
    """The posterior density of θ, and Laplace's approximation to it: mode and Cholesky factor of H.

    Parameters
    ----------
    means
        From θ to margins.
    y, total
        The noisy counts, and the number of records.
    precision
        C⁻¹.
    mode, shape
        θ̂, and a factor S of H⁻¹ = SSᵀ.
    prior
        Of θ.
    """

    means: Map
    y: Floats
    total: float
    precision: Floats
    mode: Floats
    shape: Floats
    prior: Prior = normal

    def at(self, z: Floats) -> Floats:
        """Return θ at whitened coordinates z, in which the approximation is standard normal."""
        return np.asarray(self.mode + self.shape @ z)

    def energy(self, z: Floats) -> tuple[float, Floats]:
        """Return −log density and its gradient, in whitened coordinates."""
        theta = self.at(z)

        def weighed(mu: Floats) -> Floats:
            return np.asarray(self.precision @ (self.y - self.total * mu))

        mu, pulled = self.means.pushed(theta, weighed)
        gap = self.y - self.total * mu
        before, slope, _ = self.prior(theta)
        value = 0.5 * float(gap @ self.precision @ gap) + before
        return value, np.asarray((slope - self.total * pulled) @ self.shape)


def map_of(noisy: Noisy) -> Map:
    """Return the quickest way from θ to margins."""
    small = cells_of(noisy.sizes, [tuple(range(len(noisy.sizes)))]) <= MOST_ENUMERATED
    return Enumerated(noisy) if small else ByBlocks(noisy)


def posterior_of(noisy: Noisy, *, rng: np.random.Generator, means: Map | None = None) -> Posterior:
    """Return the posterior given noisy tables. Cost O(d³) for d cells of all tables, and that of Σ, a few times."""
    theta = np.concatenate([one.ravel() for one in nearest(noisy, turns=50).theta])
    # steps of mirror descent push empty cells far out; the prior would have to bring them back
    theta = np.clip(theta, -2 * PRIOR_SD, 2 * PRIOR_SD)
    known = Known(noisy.flat(), np.diag(noisy.variances()), float(noisy.total))
    return found_from(theta, known, means or map_of(noisy), normal, rng=rng)


@dataclass(frozen=True)
class Known:
    """Noisy sums over all records, the covariance of their noise, and the number of records."""

    y: Floats
    noise: Floats
    total: float


def found_from(theta: Floats, known: Known, means: Map, prior: Prior, *, rng: np.random.Generator) -> Posterior:
    """Return the posterior, its mode looked for from θ on; C and H are taken anew where a search has led."""
    from scipy.optimize import minimize

    for _ in range(REFRESHED):
        sigma = known.total * means.covariance(theta, rng=rng)
        precision = _inverse(sigma + known.noise)
        curved = sigma @ precision @ sigma
        curved[np.diag_indices_from(curved)] += prior(theta)[2]
        root = np.linalg.cholesky((curved + curved.T) / 2)
        shape = np.asarray(solve_triangular(root, np.eye(len(theta)), lower=True).T)
        found = Posterior(means, known.y, known.total, precision, theta, shape, prior)
        best = minimize(found.energy, np.zeros(len(theta)), jac=True, method="L-BFGS-B", options={"maxiter": 60})
        moved = float(np.linalg.norm(best.x))
        theta = found.at(best.x)
        if moved < 0.1:
            break
    return Posterior(means, known.y, known.total, precision, theta, shape, prior)


def _inverse(covariance: Floats) -> Floats:
    """Return the inverse of a positive definite matrix, exactly symmetric."""
    found = cho_solve(cho_factor(covariance, lower=True), np.eye(len(covariance)))
    return np.asarray((found + found.T) / 2)


def draws(posterior: Posterior, count: int, *, rng: np.random.Generator, laplace: bool = False) -> tuple[Floats, float]:
    """Return θ for every copy, one per row, and the share of proposals that were accepted.

    The first ones are the same for a larger count. ``laplace`` draws from the approximation, without a chain.
    """
    d = len(posterior.mode)
    if laplace:
        return np.stack([posterior.at(rng.standard_normal(d)) for _ in range(count)]), 1.0
    z = np.zeros(d)
    value, slope = posterior.energy(z)
    step, averaged, held, kept, accepted = 0.5 * d**-0.25, 0.0, 0.0, [], 0.0
    centre = math.log(10 * step)
    for turn in range(1, WARM_UP + count * THINNED + 1):
        moment = rng.standard_normal(d)
        offered, new, new_slope, final = _leapt(
            posterior.energy, z, moment, slope, step, int(rng.integers(1, LEAPS + 1))
        )
        change = value + 0.5 * float(moment @ moment) - new - 0.5 * float(final @ final)
        chance = math.exp(min(0.0, change)) if math.isfinite(change) else 0.0
        if rng.random() < chance:
            z, value, slope = offered, new, new_slope
        if turn <= WARM_UP:
            held += (TARGET - chance - held) / (turn + 10)
            log_step = centre - math.sqrt(turn) / 0.05 * held
            averaged += turn**-0.75 * (log_step - averaged)
            step = math.exp(averaged if turn == WARM_UP else log_step)
            continue
        accepted += chance
        if (turn - WARM_UP) % THINNED == 0:
            kept.append(posterior.at(z))
    return np.stack(kept), accepted / (count * THINNED)


def _leapt(
    energy: Callable[[Floats], tuple[float, Floats]], z: Floats, moment: Floats, slope: Floats, step: float, leaps: int
) -> tuple[Floats, float, Floats, Floats]:
    """Return where so many leapfrog steps lead: position, energy, gradient and momentum."""
    value = math.inf
    for _ in range(leaps):
        moment = moment - 0.5 * step * slope
        z = z + step * moment
        value, slope = energy(z)
        moment = moment - 0.5 * step * slope
        if not math.isfinite(value):
            break
    return z, value, slope, moment
