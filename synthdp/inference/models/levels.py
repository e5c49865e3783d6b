"""Responses with several levels: multinomial logit, and ordered logit and probit."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy.special import expit, log_softmax, ndtr

from synthdp.errors import InputError
from synthdp.inference.formulas import Design, check_rank
from synthdp.inference.models.likelihood import orthogonal
from synthdp.inference.models.newton import conclude, maximise
from synthdp.inference.models.protocol import Fit
from synthdp.microdata import Floats

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


def multinomial(design: Design, weights: Floats | None, where: str) -> Fit:
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


def ordered(shape: Literal["logit", "probit"], design: Design, weights: Floats | None, where: str) -> Fit:
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


def _indicators(design: Design, model: str, where: str) -> tuple[Floats, tuple[str, ...]]:
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
