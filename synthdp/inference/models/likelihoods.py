"""Models whose likelihood is maximised here.

Multinomial and ordered responses, the negative binomial, Cox's proportional hazards.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import digamma, expit, gammaln, log_softmax, ndtr, polygamma

from synthdp.errors import InputError
from synthdp.inference.formulas import ModelMatrix, Positions, check_rank
from synthdp.inference.models.fit import Fit, conclude, maximise
from synthdp.inference.models.generalised import counts, generalised, numeric_response, orthogonal
from synthdp.table.microdata import Floats

MOST_LEVELS = 50


@dataclass(frozen=True, eq=False, repr=False)
class Softmax:
    """log p(y = k | x) = x'β_k − log Σ_j exp(x'β_j), β of the first level zero; θ stacks the other β."""

    x: Floats
    y: Floats  # n × K, 0/1

    def log_likelihood(self, theta: Floats, weights: Floats) -> float:
        """Return Σ w_i ℓ_i(θ)."""
        return float(weights @ (self.y * log_softmax(self._linear(theta), axis=1)).sum(axis=1))

    def scores(self, theta: Floats, weights: Floats) -> Floats:
        """Return w_i (y_ik − p_ik) x_i for every level k but the first."""
        gap = weights[:, None] * (self.y - self._shares(theta))[:, 1:]
        return (gap[:, :, None] * self.x[:, None, :]).reshape(len(self.x), -1)

    def information(self, theta: Floats, weights: Floats) -> Floats:
        """Return the blocks Σ w_i p_ij (δ_jk − p_ik) x_i x_i'."""
        shares = self._shares(theta)[:, 1:]
        levels, terms = shares.shape[1], self.x.shape[1]
        blocks = np.empty((levels, terms, levels, terms))
        for j in range(levels):
            for k in range(j, levels):
                each = weights * shares[:, j] * ((j == k) - shares[:, k])
                blocks[j, :, k] = blocks[k, :, j] = self.x.T @ (self.x * each[:, None])
        return blocks.reshape(levels * terms, levels * terms)

    def _linear(self, theta: Floats) -> Floats:
        return np.column_stack([np.zeros(len(self.x)), self.x @ theta.reshape(-1, self.x.shape[1]).T])

    def _shares(self, theta: Floats) -> Floats:
        return np.asarray(np.exp(log_softmax(self._linear(theta), axis=1)))


@dataclass(frozen=True, eq=False, repr=False)
class Cumulative:
    """P(y ≤ k | x) = F(a_k − x'β), F logistic or normal; θ = (a_1, …, a_{K−1}, β).

    Both ends of a record's interval are linear in θ: u = U θ above and l = L θ below, so that the second derivative is
    (f'(u) U U' − f'(l) L L')/p minus the square of the first.
    """

    upper: Floats  # U, n × (K − 1 + p); rows of the last level do not count
    lower: Floats  # L; rows of the first level do not count
    first: Floats
    last: Floats
    shape: Literal["logit", "probit"]

    def log_likelihood(self, theta: Floats, weights: Floats) -> float:
        """Return Σ w_i ℓ_i(θ)."""
        share = self._ends(theta)[0]
        # a record of weight zero (of a replicate) must not turn −∞ into NaN
        return float(weights @ np.where(weights > 0, np.log(share), 0.0))

    def scores(self, theta: Floats, weights: Floats) -> Floats:
        """Return w_i (f(u) U − f(l) L)/p."""
        share, above, below, _, _ = self._ends(theta)
        return ((weights * above / share)[:, None] * self.upper) - ((weights * below / share)[:, None] * self.lower)

    def information(self, theta: Floats, weights: Floats) -> Floats:
        """Return −Σ w_i ∂²ℓ_i/∂θ∂θ'."""
        share, above, below, bend_above, bend_below = self._ends(theta)
        slope = (above / share)[:, None] * self.upper - (below / share)[:, None] * self.lower
        return np.asarray(
            slope.T @ (slope * weights[:, None])
            - self.upper.T @ (self.upper * (weights * bend_above / share)[:, None])
            + self.lower.T @ (self.lower * (weights * bend_below / share)[:, None])
        )

    def _ends(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        """Return p, and f and f' at both ends; an open end has neither."""
        u, low = self.upper @ theta, self.lower @ theta
        below_u, above_u, bend_u = self._cdf(u)
        below_l, above_l, bend_l = self._cdf(low)
        share = np.where(self.last, 1.0, below_u) - np.where(self.first, 0.0, below_l)
        closed_u, closed_l = 1.0 - self.last, 1.0 - self.first
        return share, above_u * closed_u, above_l * closed_l, bend_u * closed_u, bend_l * closed_l

    def _cdf(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        if self.shape == "logit":
            cdf = expit(at)
            density = cdf * expit(-at)
            return cdf, density, density * (1 - 2 * cdf)
        density = np.exp(-0.5 * at**2) / np.sqrt(2 * np.pi)
        return ndtr(at), density, -at * density


def multinomial(design: ModelMatrix, weights: Floats | None, where: str) -> Fit:
    """Return the multinomial logit fit; the first level is the reference, terms are called ``level: term``."""
    y, levels = _indicators(design, "multinomial", where)
    basis, upper = orthogonal(design.matrix)
    each = np.ones(len(y)) if weights is None else weights
    shares = _shares(y, each, where)
    start = np.outer(np.log(shares[1:] / shares[0]), basis.mean(axis=0)).ravel()
    likelihood = Softmax(basis, y)
    names = tuple(f"{level}: {name}" for level in levels[1:] for name in design.names)
    back = np.kron(np.eye(len(levels) - 1), np.linalg.inv(upper))
    return conclude(likelihood, maximise(likelihood, start, each, where=where, model="multinomial"), each, names, back)


def ordered(shape: Literal["logit", "probit"], design: ModelMatrix, weights: Floats | None, where: str) -> Fit:
    """Return the ordered fit: slopes first, then the thresholds, called ``lower|higher``.

    A positive slope moves records to higher levels, as in statsmodels' OrderedModel and R's ``polr``.
    """
    from scipy.stats import norm

    model = f"ordered_{shape}"
    y, levels = _indicators(design, model, where)
    slopes = [name != "Intercept" for name in design.names]  # the thresholds take its place
    names = tuple(name for name in design.names if name != "Intercept")
    matrix = design.matrix[:, slopes]
    centre = matrix.mean(axis=0)
    if names:
        check_rank(np.column_stack([np.ones(len(y)), matrix]), ("the thresholds", *names), where)
    basis, upper = orthogonal(matrix - centre) if names else (matrix, np.zeros((0, 0)))
    each = np.ones(len(y)) if weights is None else weights
    below = np.cumsum(_shares(y, each, where))[:-1]
    thresholds = np.log(below / (1 - below)) if shape == "logit" else norm.ppf(below)
    likelihood = Cumulative(
        upper=np.column_stack([y[:, :-1], -basis]),
        lower=np.column_stack([y[:, 1:], -basis]),
        first=y[:, 0],
        last=y[:, -1],
        shape=shape,
    )
    found = maximise(likelihood, np.r_[thresholds, np.zeros(len(names))], each, where=where, model=model)
    back = np.linalg.inv(upper)
    cuts = len(thresholds)
    turn = np.block([[np.zeros((len(names), cuts)), back], [np.eye(cuts), np.tile(centre @ back, (cuts, 1))]])
    called = tuple(f"{low}|{high}" for low, high in pairwise(levels))
    return conclude(likelihood, found, each, (*names, *called), turn)


def _indicators(design: ModelMatrix, model: str, where: str) -> tuple[Floats, tuple[str, ...]]:
    """Return one 0/1 column per level of the response, and the levels in order."""
    if design.response.shape[1] > 1:
        y, levels = design.response, design.levels
    else:
        found, codes = np.unique(design.response[:, 0], return_inverse=True)
        if len(found) > MOST_LEVELS:
            raise InputError(f"{where}: {model} takes at most {MOST_LEVELS} levels, the response has {len(found)}.")
        y, levels = np.eye(len(found))[codes], tuple(f"{level:g}" for level in found)
    if y.shape[1] < 2:
        raise InputError(f"{where}: {model} needs a response with at least two levels, found one.")
    return y, levels


def _shares(y: Floats, weights: Floats, where: str) -> Floats:
    shares = weights @ y / weights.sum()
    if (shares <= 0).any():
        raise InputError(f"{where}: {int((shares <= 0).sum())} levels of the response have no weight; merge levels.")
    return np.asarray(shares)


@dataclass(frozen=True, eq=False, repr=False)
class GammaPoisson:
    """y | x ~ negative binomial with mean μ = exp(x'β) and size r = 1/α; θ = (β, log α)."""

    x: Floats
    y: Floats

    def log_likelihood(self, theta: Floats, weights: Floats) -> float:
        """Return Σ w_i ℓ_i(θ)."""
        mean, r = self._parts(theta)
        y = self.y
        each = gammaln(y + r) - gammaln(r) - gammaln(y + 1) + r * np.log(r / (r + mean)) + y * np.log(mean / (r + mean))
        return float(weights @ each)

    def scores(self, theta: Floats, weights: Floats) -> Floats:
        """Return w_i ∂ℓ_i/∂θ."""
        mean, r = self._parts(theta)
        linear = (self.y - mean) * r / (r + mean)
        return weights[:, None] * np.column_stack([linear[:, None] * self.x, -r * self._size_score(mean, r)])

    def information(self, theta: Floats, weights: Floats) -> Floats:
        """Return −Σ w_i ∂²ℓ_i/∂θ∂θ'; with r = exp(−log α), ∂²/∂(log α)² is r² ∂²/∂r² + r ∂/∂r."""
        mean, r = self._parts(theta)
        y, total = self.y, r + mean
        slopes = self.x.T @ (self.x * (weights * mean * r * (r + y) / total**2)[:, None])
        cross = self.x.T @ (weights * r * (y - mean) * mean / total**2)
        bend = polygamma(1, y + r) - polygamma(1, r) + 1 / r - 2 / total + (r + y) / total**2
        size = -float(weights @ (r**2 * bend + r * self._size_score(mean, r)))
        return np.block([[slopes, cross[:, None]], [cross[None, :], np.array([[size]])]])

    def _parts(self, theta: Floats) -> tuple[Floats, float]:
        return np.exp(self.x @ theta[:-1]), float(np.exp(-theta[-1]))

    def _size_score(self, mean: Floats, r: float) -> Floats:
        y = self.y
        return np.asarray(digamma(y + r) - digamma(r) + np.log(r / (r + mean)) + 1 - (r + y) / (r + mean))


def negative_binomial(design: ModelMatrix, weights: Floats | None, where: str) -> Fit:
    """Return the fit, α last (as statsmodels' NegativeBinomial has it).

    References
    ----------
    Cameron and Trivedi (2013), Regression Analysis of Count Data, 2nd edition, section 3.3.1.
    """
    y = counts(design, "negative_binomial", where)[0]
    start = generalised("poisson", design, weights, link=None, power=1.0, where=where)
    each = np.ones(len(y)) if weights is None else weights
    mean = np.exp(design.matrix @ start.values)
    alpha = float(each @ ((y - mean) ** 2 - y) / (each @ mean**2))
    if alpha <= 0:
        raise InputError(f"{where}: the counts vary no more than a Poisson's, so alpha is zero; use model poisson.")
    basis, upper = orthogonal(design.matrix)
    likelihood = GammaPoisson(basis, y)
    first = np.r_[upper @ start.values, np.log(alpha)]
    found = maximise(likelihood, first, each, where=where, model="negative_binomial")
    terms = len(design.names)
    back = np.eye(terms + 1)
    back[:terms, :terms] = np.linalg.inv(upper)
    # the last of θ is log α: its derivative takes the fit to α
    back[-1, -1] = np.exp(found[0][-1])
    fit = conclude(likelihood, found, each, (*design.names, "alpha"), back)
    return replace(fit, values=np.r_[fit.values[:-1], back[-1, -1]])


@dataclass(frozen=True, eq=False, repr=False)
class PartialLikelihood:
    """Σ over events of w_i (x_i'β − log S0(t_i)), S0(t) the weighted risk exp(x'β) of everyone still there at t.

    Records are sorted by time; ``first`` and ``last`` are where the records of the same time begin and end.
    """

    x: Floats
    event: Floats
    first: Positions
    last: Positions

    def log_likelihood(self, theta: Floats, weights: Floats) -> float:
        """Return the weighted log partial likelihood."""
        linear = self.x @ theta
        peak = float(linear.max())
        at_risk = self._at_risk(weights * np.exp(linear - peak))
        events = weights * self.event
        each = np.where(events > 0, linear - peak - np.log(at_risk), 0.0)
        return float(events @ each)

    def scores(self, theta: Floats, weights: Floats) -> Floats:
        """Return what each record adds to the score: its own event, less its part in the risk of others' events.

        References
        ----------
        Lin and Wei (1989), JASA 84, 1074–1078; with weights Binder (1992), Biometrika 79, 139–147.
        """
        risk, events, mean, hazard, drift = self._parts(theta, weights)
        return events[:, None] * (self.x - mean) - risk[:, None] * (hazard[:, None] * self.x - drift)

    def information(self, theta: Floats, weights: Floats) -> Floats:
        """Return the weighted information; the risk sets are summed by cumulative hazard, so it costs O(n p²)."""
        risk, events, mean, hazard, _ = self._parts(theta, weights)
        return np.asarray(
            self.x.T @ (self.x * (risk * hazard)[:, None]) - mean.T @ (mean * events[:, None]),
        )

    def _parts(self, theta: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        linear = self.x @ theta
        risk = weights * np.exp(linear - linear.max())
        at_risk = self._at_risk(risk)
        # late records of weight zero (of a replicate) may leave a risk set empty; none of them is an event that counts
        share = np.divide(1.0, at_risk, out=np.zeros_like(at_risk), where=at_risk > 0)
        mean = self._at_risk(risk[:, None] * self.x) * share[:, None]
        events = weights * self.event
        hazard = np.cumsum(events * share)[self.last]
        drift = np.cumsum((events * share)[:, None] * mean, axis=0)[self.last]
        return risk, events, mean, hazard, drift

    def _at_risk(self, each: Floats) -> Floats:
        return np.asarray(np.cumsum(each[::-1], axis=0)[::-1][self.first])


def cox(design: ModelMatrix, status: Floats | None, weights: Floats | None, where: str) -> Fit:
    """Return the Cox fit; ``status`` is 1 where the time ends with the event, None when all do."""
    time = numeric_response(design, "cox", where)
    if (time < 0).any():
        raise InputError(f"{where}: cox needs times that are not negative, found {int((time < 0).sum())} that are.")
    chosen = [name != "Intercept" for name in design.names]  # the baseline hazard takes its place
    names = tuple(name for name in design.names if name != "Intercept")
    if not names:
        raise InputError(f"{where}: cox needs at least one term beside the intercept.")
    event = np.ones(len(time)) if status is None else status
    if not event.any():
        raise InputError(f"{where}: cox needs at least one event, found none.")
    matrix = design.matrix[:, chosen]
    basis, upper = orthogonal(matrix - matrix.mean(axis=0))
    if (np.abs(np.diag(upper)) < 1e-12 * np.abs(matrix).max()).any():
        raise InputError(f"{where}: a term is the same for every record; leave it out.")
    order = np.argsort(time, kind="stable")
    ranked = time[order]
    likelihood = PartialLikelihood(
        x=basis[order],
        event=event[order],
        first=np.searchsorted(ranked, ranked, side="left"),
        last=np.searchsorted(ranked, ranked, side="right") - 1,
    )
    each = (np.ones(len(time)) if weights is None else weights)[order]
    found = maximise(likelihood, np.zeros(len(names)), each, where=where, model="cox")
    fit = conclude(likelihood, found, each, names, np.asarray(np.linalg.inv(upper), dtype=np.float64))
    return replace(fit, influence=fit.influence[np.argsort(order)])
