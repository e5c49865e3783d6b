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

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

from synthdp.errors import Unfinished
from synthdp.imputation.families.family import LOCATION_SD, Enumerated, blocks, proper
from synthdp.imputation.families.probit import log_normal_cdf
from synthdp.imputation.families.sampling import STEPS, IndependenceSampler, Sampler, sampler
from synthdp.newton import maximise
from synthdp.table.microdata import Floats

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
    prior_precision = prior_sd**-2.0

    def at(beta: Floats) -> tuple[float, Floats]:
        eta = signed @ beta
        return float(log_probability(eta, link).sum() - 0.5 * (prior_precision * beta**2).sum()), eta

    def newton(beta: Floats, eta: Floats) -> tuple[Floats, float, Floats]:
        gradient, weights = _derivatives(eta, link)
        slope = signed.T @ gradient - prior_precision * beta
        curvature = (signed * weights[:, None]).T @ signed + np.diag(prior_precision)
        step = np.asarray(np.linalg.solve(curvature, slope), dtype=np.float64)
        return step, float(slope @ step), curvature

    start = np.zeros(signed.shape[1])
    found = maximise(at, newton, start, steps=100, near=1e-10, rounding=0.0, last=True)
    if found.reached:
        return found.theta, found.curved
    raise Unfinished(
        "regression: a binary column's model has no stable mode; exclude kept columns that nearly determine it."
    )


def _derivatives(eta: Floats, link: LinkName) -> tuple[Floats, Floats]:
    """Return first and minus second derivative of log F(eta)."""
    if link == "logit":
        up = expit(-eta)
        return up, up * (1 - up)
    ratio = np.exp(-0.5 * eta**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(eta))
    return ratio, np.maximum(ratio * (ratio + eta), 0.0)


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

    def fit(self, design: Floats, y: Floats, prior_sd: Floats, *, rng: np.random.Generator) -> "BinaryFamilyPosterior":
        """Return the posterior. Cost O(n·d²) per Newton iteration."""
        prior = proper(prior_sd, self.location_sd)
        return BinaryFamilyPosterior(BinaryPosterior.fit(design, y, prior, link=self.link, rng=rng))


@dataclass(frozen=True, repr=False)
class BinaryFamilyPosterior:
    """The posterior of the coefficients."""

    fitted: BinaryPosterior

    def draw(self, *, rng: np.random.Generator) -> "BinaryDraw":
        """Draw β."""
        return BinaryDraw(self.fitted.draw(rng=rng)[:, None], self.fitted.link)


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

    def fit(self, design: Floats, y: Floats, prior_sd: Floats, *, rng: np.random.Generator) -> "MultinomialPosterior":
        """Return the posterior. Cost O(n·(L·d)²) per Newton iteration."""
        codes = y.astype(np.int64)
        chosen = np.stack([design[codes == level].sum(axis=0) for level in range(1, self.levels)])
        target = MultinomialTarget(design, chosen, proper(prior_sd, self.location_sd))
        counts = np.bincount(codes, minlength=self.levels) + 0.5
        start = np.zeros_like(chosen)
        start[:, 0] = np.log(counts[1:] / counts[0])
        return MultinomialPosterior(sampler(target, start.ravel(), rng=rng), self.levels)


@dataclass(frozen=True, repr=False)
class MultinomialPosterior:
    """The posterior of the coefficients."""

    sampler: Sampler
    levels: int

    def mode(self) -> "MultinomialDraw":
        """Return the parameters at the posterior mode."""
        return self._unpack(self.sampler.mode)

    def draw(self, *, rng: np.random.Generator) -> "MultinomialDraw":
        """Draw the coefficients of every level but the first."""
        return self._unpack(self.sampler.draw(rng=rng))

    def _unpack(self, theta: Floats) -> "MultinomialDraw":
        return MultinomialDraw(np.ascontiguousarray(theta.reshape(self.levels - 1, -1).T))


@dataclass(frozen=True, repr=False)
class MultinomialDraw(Enumerated):
    """One draw of the coefficients, d × (L - 1)."""

    beta: Floats

    def log_levels(self, eta: Floats) -> Floats:
        """Return log P(level | η), n × L."""
        full = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
        full -= full.max(axis=1, keepdims=True)
        return np.asarray(full - np.log(np.exp(full).sum(axis=1, keepdims=True)))

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
