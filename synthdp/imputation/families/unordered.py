"""Binary and multinomial regression: P(y = 1) = F(η) with F = Φ or logistic, and the multinomial logit.

    P(y = 1) = F(D β),  F = Φ or logistic,   β_j ~ N(0, τ_j²)

    P(y = k) = exp(η_k) / Σ_l exp(η_l),   η₀ = 0,   η_k = x'β_k,   β_kj ~ N(0, τ_j²)

The first level is the reference. The log posterior is concave, and the prior keeps its mode finite for levels that
are separated, rare or empty.

References
----------
McFadden (1974), in Zarembka (ed.), Frontiers in Econometrics, equation 12.
Gelman, Jakulin, Pittau, Su (2008), Annals of Applied Statistics 2(4) (weakly informative priors and separation).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np

from synthdp.errors import Unfinished
from synthdp.imputation.families.family import LOCATION_SD, Enumerated, blocks, proper
from synthdp.imputation.families.links import LinkName, add_probit, derivatives, log_probability
from synthdp.imputation.families.sampling import IndependenceSampler, Sampled, sampler
from synthdp.newton import maximise
from synthdp.seeding import in_blocks
from synthdp.table.microdata import Floats

# exp(t) of all coefficients, and sums of their products with numbers up to 1, stay far from overflow and from zero
LARGEST_COEFFICIENT = 300.0


def binary_sampler(
    design: Floats, y: Floats, prior_sd: Floats, *, link: LinkName, rng: np.random.Generator
) -> IndependenceSampler:
    """Return draws of the coefficients of one binary regression, log L(β) = Σ log F(± D β).

    The mode is found by Newton's method, O(n·d²) per iteration; a draw costs O(n·d) per step of its chain.
    """
    # each row of the design with the sign of the record's outcome
    return binary_sampler_of(Signed(design * (2 * y - 1)[:, None], link), prior_sd, rng=rng)


class BinaryRecords(Protocol):
    """Records of a binary regression, wherever they are; what is asked is added up block by block, in their order."""

    def height(self, beta: Floats) -> float:
        """Return the log likelihood."""
        ...

    def slope(self, beta: Floats) -> tuple[Floats, Floats]:
        """Return its gradient, and minus the matrix of its second derivatives."""
        ...

    def gain(self, betas: Floats) -> Floats:
        """Return the log likelihood of each row but the first, less that of the first."""
        ...


@dataclass(frozen=True, repr=False)
class Signed:
    """Records in memory: each row of the design with the sign of the record's outcome."""

    rows: Floats
    link: LinkName

    def height(self, beta: Floats) -> float:
        """Return the log likelihood."""
        return sum(height_of(self.rows[some], beta, self.link) for _, some in in_blocks(len(self.rows)))

    def slope(self, beta: Floats) -> tuple[Floats, Floats]:
        """Return its gradient, and minus the matrix of its second derivatives."""
        parts = [slope_of(self.rows[some], beta, self.link) for _, some in in_blocks(len(self.rows))]
        return together([slope for slope, _ in parts]), together([curvature for _, curvature in parts])

    def gain(self, betas: Floats) -> Floats:
        """Return the log likelihood of each row but the first, less that of the first."""
        return together([gain_of(self.rows[some], betas, self.link) for _, some in in_blocks(len(self.rows))])


def together(parts: Sequence[Floats]) -> Floats:
    """Return what blocks add up to, in their order."""
    return reduce(np.add, parts)


def height_of(signed: Floats, beta: Floats, link: LinkName) -> float:
    """Return the log likelihood of a block of records."""
    return float(log_probability(signed @ beta, link).sum())


def slope_of(signed: Floats, beta: Floats, link: LinkName) -> tuple[Floats, Floats]:
    """Return its gradient, and minus the matrix of its second derivatives."""
    gradient, weights = derivatives(signed @ beta, link)
    return signed.T @ gradient, (signed * weights[:, None]).T @ signed


def gain_of(signed: Floats, betas: Floats, link: LinkName) -> Floats:
    """Return the log likelihood of each row but the first, less that of the first."""
    contributions = log_probability(signed @ betas.T, link)
    # differences from the mode keep the sums small, so that no digits are lost at large n
    return np.asarray((contributions[:, 1:] - contributions[:, :1]).sum(axis=0))


def with_prior(gain: Floats, betas: Floats, mode: Floats, prior_sd: Floats) -> Floats:
    """Return the log posterior of each row less that of the mode, given what the likelihoods differ by."""
    return np.asarray(gain - 0.5 * ((betas / prior_sd) ** 2).sum(axis=1) + 0.5 * ((mode / prior_sd) ** 2).sum())


def binary_sampler_of(records: BinaryRecords, prior_sd: Floats, *, rng: np.random.Generator) -> IndependenceSampler:
    """Return draws of the coefficients of one binary regression, given what answers for its records."""
    mode, curvature = _mode(records, prior_sd)

    def log_posterior(betas: Floats) -> Floats:
        return with_prior(records.gain(np.vstack([mode, betas])), betas, mode, prior_sd)

    factor = np.asarray(np.linalg.cholesky(curvature), dtype=np.float64)
    return IndependenceSampler.pilot(mode, factor, log_posterior, rng=rng)


def _mode(records: BinaryRecords, prior_sd: Floats) -> tuple[Floats, Floats]:
    """Return the posterior mode and the curvature there; the log posterior is concave, so steps are only halved."""
    prior_precision = prior_sd**-2.0

    def at(beta: Floats) -> tuple[float, None]:
        return records.height(beta) - float(0.5 * (prior_precision * beta**2).sum()), None

    def newton(beta: Floats, _: None) -> tuple[Floats, float, Floats]:
        rise, bend = records.slope(beta)
        slope = rise - prior_precision * beta
        curvature = bend + np.diag(prior_precision)
        step = np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
        return step, float(slope @ step), curvature

    start = np.zeros(len(prior_sd))
    found = maximise(at, newton, start, steps=100, near=1e-10, rounding=0.0, last=True)
    if found.reached:
        return found.theta, found.curved
    raise Unfinished(
        "regression: a binary column's model has no stable mode; exclude kept columns that nearly determine it."
    )


@dataclass(frozen=True)
class Binary:
    """Probit or logit regression with a normal prior.

    Parameters
    ----------
    location_sd
        Prior sd of the constant, where its prior would be flat: the mode stays finite when everybody has one level.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> design = np.column_stack([np.ones(50), rng.normal(size=50)])
    >>> drawn = Binary().fit(design, np.zeros(50), np.array([np.inf, 2.5]), rng=rng).draw(rng=rng)
    >>> drawn.log_levels(design @ drawn.beta).shape
    (50, 2)
    """

    link: LinkName = "probit"
    location_sd: float = LOCATION_SD

    def fit(self, design: Floats, y: Floats, prior_sd: Floats, *, rng: np.random.Generator) -> "Sampled[BinaryDraw]":
        """Return the posterior. Cost O(n·d²) per Newton iteration."""
        found = binary_sampler(design, y, proper(prior_sd, self.location_sd), link=self.link, rng=rng)
        return Sampled(found, lambda theta: BinaryDraw(theta[:, None], self.link))


@dataclass(frozen=True, repr=False)
class BinaryDraw(Enumerated):
    """One draw of the coefficients."""

    beta: Floats
    link: LinkName

    def log_levels(self, eta: Floats) -> Floats:
        """Return log P(y = 0) and log P(y = 1), n × 2."""
        return log_probability(eta[:, :1] * np.array([-1.0, 1.0]), self.link)

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return log P(y | η) of each record, without that of the other level."""
        return log_probability(np.where(y == 1, eta[:, 0], -eta[:, 0]), self.link)

    def add_log_density(self, log_weights: Floats, added: Floats, rest: Floats, y: Floats) -> None:
        """Add log P(y | rest + added) for each column of ``added``."""
        if self.link == "probit":
            add_probit(log_weights, added[0], rest[0], y == 1)
        else:
            super().add_log_density(log_weights, added, rest, y)

    def level_values(self) -> Floats:
        """Return the positions of the levels."""
        return np.arange(2.0)


@dataclass(frozen=True)
class Multinomial:
    """Multinomial logit regression of a column with L levels.

    Parameters
    ----------
    location_sd
        Prior sd of the constants, where their prior would be flat.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> design = np.column_stack([np.ones(90), rng.normal(size=90)])
    >>> y = rng.integers(3, size=90).astype(float)
    >>> drawn = Multinomial(levels=4).fit(design, y, np.array([np.inf, 2.5]), rng=rng).draw(rng=rng)
    >>> drawn.beta.shape
    (2, 3)
    """

    levels: int
    location_sd: float = LOCATION_SD

    def fit(
        self, design: Floats, y: Floats, prior_sd: Floats, *, rng: np.random.Generator
    ) -> "Sampled[MultinomialDraw]":
        """Return the posterior. Cost O(n·(L·d)²) per Newton iteration."""
        codes = y.astype(np.int64)
        chosen = np.stack([design[codes == level].sum(axis=0) for level in range(1, self.levels)])
        target = MultinomialTarget(design, chosen, proper(prior_sd, self.location_sd))
        counts = np.bincount(codes, minlength=self.levels) + 0.5
        start = np.zeros_like(chosen)
        start[:, 0] = np.log(counts[1:] / counts[0])
        return Sampled(
            sampler(target, start.ravel(), rng=rng),
            lambda theta: MultinomialDraw(np.ascontiguousarray(theta.reshape(chosen.shape).T)),
        )


@dataclass(frozen=True, repr=False)
class MultinomialDraw(Enumerated):
    """One draw of the coefficients, d × (L - 1)."""

    beta: Floats

    def log_levels(self, eta: Floats) -> Floats:
        """Return log P(level | η), n × L."""
        full = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
        full -= full.max(axis=1, keepdims=True)
        return np.asarray(full - np.log(np.exp(full).sum(axis=1, keepdims=True)))

    def log_weights(self, eta: Floats) -> Floats:
        """Return the linear predictors of all levels, levels × n."""
        return np.concatenate([np.zeros((1, len(eta))), eta.T])

    def add_log_density(self, log_weights: Floats, added: Floats, rest: Floats, y: Floats) -> None:
        """Add log P(y | rest + added) for each column of ``added``, by a matrix product over all of them."""
        if np.abs(added).max() > LARGEST_COEFFICIENT:
            super().add_log_density(log_weights, added, rest, y)
            return
        top = np.maximum(rest.max(axis=0), 0.0)
        parts = np.concatenate([np.exp(-top)[None, :], np.exp(rest - top)])
        full = np.concatenate([np.zeros((1, added.shape[1])), added]).T
        log_weights += np.take(full, y.astype(np.int64), axis=1) - np.log(np.exp(full) @ parts)

    def level_values(self) -> Floats:
        """Return the positions of the levels."""
        return np.arange(self.beta.shape[1] + 1.0)


@dataclass(frozen=True, repr=False)
class MultinomialTarget:
    """The log posterior of θ, the coefficients level after level.

    Parameters
    ----------
    chosen
        (L - 1) × d: the sum of x over the records of each level. With it the outcomes are no longer needed.
    """

    design: Floats
    chosen: Floats
    prior_sd: Floats

    def gradient(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log posterior up to a constant, and its gradient. Cost O(n·d·L)."""
        beta = theta.reshape(self.chosen.shape)
        value = float((self.chosen * beta).sum() - 0.5 * ((beta / self.prior_sd) ** 2).sum())
        slope = self.chosen - beta / self.prior_sd**2
        for rows in blocks(len(self.design), len(beta)):
            x = self.design[rows]
            log_total, p = _softmax(beta @ x.T)
            value -= float(log_total.sum())
            slope -= p @ x
        return value, slope.ravel()

    def curvature(self, theta: Floats) -> Floats:
        """Return minus the second derivatives: Σ (diag p - p p') ⊗ x x' and the prior's. Cost O(n·(L·d)²)."""
        beta = theta.reshape(self.chosen.shape)
        k, d = len(self.chosen), self.chosen.shape[1]
        result = np.diag(np.tile(self.prior_sd**-2.0, k))
        within = np.zeros((d, k * d))
        for rows in blocks(len(self.design), k * d):
            x = self.design[rows]
            _, p = _softmax(beta @ x.T)
            weighted = (p.T[:, :, None] * x[:, None, :]).reshape(len(x), k * d)
            within += x.T @ weighted
            result -= weighted.T @ weighted
        for level in range(k):
            own = slice(level * d, (level + 1) * d)
            result[own, own] += within[:, own]
        return result

    def relative(self, thetas: Floats, reference: Floats) -> Floats:
        """Return the log posterior of each row minus that of the reference. Cost O(n·d·L) per row."""
        k, d = len(self.chosen), self.chosen.shape[1]
        rows = np.vstack([reference, thetas])
        # level × d × row, so that sums over levels run along the first axis
        betas = np.ascontiguousarray(rows.reshape(len(rows), k, d).transpose(1, 2, 0))
        scaled = betas / self.prior_sd[:, None]
        total: Floats = np.einsum("kdr,kd->r", betas - betas[:, :, :1], self.chosen)
        total -= 0.5 * (scaled**2 - scaled[:, :, :1] ** 2).sum(axis=(0, 1))
        for some in blocks(len(self.design), k * len(rows)):
            log_total = _log_total(self.design[some] @ betas)[0]
            total -= (log_total - log_total[:, :1]).sum(axis=0)
        return total[1:]


def _log_total(eta: Floats) -> tuple[Floats, Floats, Floats]:
    """Return log(1 + Σ exp η) over the first axis, and the largest η (or 0) and the exp(η) relative to it."""
    top = np.maximum(eta.max(axis=0), 0.0)
    parts = np.exp(eta - top)
    return top + np.log(np.exp(-top) + parts.sum(axis=0)), top, parts


def _softmax(eta: Floats) -> tuple[Floats, Floats]:
    """Return log(1 + Σ exp η) and the probabilities of the levels but the first, levels × n."""
    log_total, top, parts = _log_total(eta)
    return log_total, parts * np.exp(top - log_total)
