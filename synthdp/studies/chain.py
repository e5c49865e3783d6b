"""A small world with a known truth, and exact or large-sample draws from its model for many copies at once.

    z ~ N(0, 1),    x | z ~ N(0.5 + 0.6 z, 1),    y | x, z ~ N(1 + 0.5 x + 0.3 z, 1),
    P(d = 1 | x, z) = 1/(1 + exp(0.3 − 0.6 x + 0.4 z))

Every array is copies × records. Normal regressions are drawn from their posterior under the prior 1/σ²; the logistic
one from its large-sample normal posterior. O(C n) for C copies of n records.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from synthdp.inference.analyses import Estimates
from synthdp.microdata import Floats

TERMS = ("mean of y", "OLS: y on x", "logit: d on x")
TRUTH = np.array([1.25, 0.5, 0.6])
NEWTON_STEPS = 30


@dataclass(frozen=True, eq=False)
class World:
    """Data sets of the same size: copies × records."""

    z: Floats
    x: Floats
    y: Floats
    d: Floats

    def times(self, count: int) -> "World":
        """Return every data set several times, one after the other."""
        return World(*(np.repeat(column, count, axis=0) for column in (self.z, self.x, self.y, self.d)))

    def design(self) -> Floats:
        """Return the predictors of y and d: copies × records × 3."""
        return np.stack([np.ones_like(self.x), self.x, self.z], axis=2)


@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted regression per copy: estimates, their covariance in units of σ², and the residual variance."""

    beta: Floats
    unit: Floats
    sum_of_squares: Floats
    df: Floats

    def times(self, count: int) -> "Regression":
        """Return every fit several times."""
        parts = (self.beta, self.unit, self.sum_of_squares, self.df)
        return Regression(*(np.repeat(part, count, axis=0) for part in parts))

    @property
    def variance(self) -> Floats:
        """The residual variance."""
        return np.asarray(self.sum_of_squares / self.df)

    def parameters(self, *, proper: bool, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return coefficients and residual sd per copy: drawn from the posterior, or the estimates."""
        if not proper:
            return self.beta, np.sqrt(self.variance)
        sd = np.sqrt(self.sum_of_squares / rng.chisquare(self.df))
        noise = np.einsum("cij,cj->ci", np.linalg.cholesky(self.unit), rng.normal(size=self.beta.shape))
        return self.beta + sd[:, None] * noise, sd


@dataclass(frozen=True, eq=False)
class Model:
    """The chain z, x, y, d, fitted to each data set."""

    z: Regression
    x: Regression
    y: Regression
    d: Regression

    def times(self, count: int) -> "Model":
        """Return every fit several times, so that as many copies come from each."""
        return Model(*(part.times(count) for part in (self.z, self.x, self.y, self.d)))


def original(n: int, *, rng: np.random.Generator) -> World:
    """Draw one data set."""
    z = rng.normal(size=(1, n))
    x = 0.5 + 0.6 * z + rng.normal(size=(1, n))
    y = 1 + 0.5 * x + 0.3 * z + rng.normal(size=(1, n))
    d = (rng.random((1, n)) < expit(-0.3 + 0.6 * x - 0.4 * z)).astype(np.float64)
    return World(z, x, y, d)


def fit(data: World, seen: Floats | None = None) -> Model:
    """Fit the chain; ``seen`` says of which records y and d are known."""
    ones = np.ones_like(data.z)
    weights = ones if seen is None else np.broadcast_to(seen, ones.shape)
    predictors = data.design()
    return Model(
        z=least_squares(data.z, ones[:, :, None], ones),
        x=least_squares(data.x, np.stack([ones, data.z], axis=2), ones),
        y=least_squares(data.y, predictors, weights),
        d=logistic(data.d, predictors, weights),
    )


def draw_outcomes(data: World, model: Model, *, proper: bool, rng: np.random.Generator) -> World:
    """Return the data sets with y and d drawn anew, given x and z."""
    beta, sd = model.y.parameters(proper=proper, rng=rng)
    y = _linear(data.design(), beta) + sd[:, None] * rng.normal(size=data.y.shape)
    chance = chances(data, model, proper=proper, rng=rng)
    return replace(data, y=y, d=(rng.random(chance.shape) < chance).astype(np.float64))


def chances(data: World, model: Model, *, proper: bool, rng: np.random.Generator) -> Floats:
    """Return the probability of d = 1 for every record."""
    gamma = model.d.beta
    if proper:
        gamma = gamma + np.einsum("cij,cj->ci", np.linalg.cholesky(model.d.unit), rng.normal(size=gamma.shape))
    return np.asarray(expit(_linear(data.design(), gamma)))


def draw_given_z(data: World, model: Model, *, proper: bool, rng: np.random.Generator) -> World:
    """Return the data sets with x, y and d drawn anew, given z."""
    beta, sd = model.x.parameters(proper=proper, rng=rng)
    x = beta[:, :1] + beta[:, 1:] * data.z + sd[:, None] * rng.normal(size=data.z.shape)
    return draw_outcomes(replace(data, x=x), model, proper=proper, rng=rng)


def draw_all(model: Model, n: int, *, proper: bool, rng: np.random.Generator) -> World:
    """Return data sets of n records with every column drawn."""
    mean, sd = model.z.parameters(proper=proper, rng=rng)
    z = mean + sd[:, None] * rng.normal(size=(len(mean), n))
    return draw_given_z(World(z, z, z, z), model, proper=proper, rng=rng)


def estimates(data: World) -> list[Estimates]:
    """Return the three estimates of every data set (their covariances with each other are not needed)."""
    n = data.y.shape[1]
    weights, predictors = np.ones_like(data.y), data.design()
    slope, odds = least_squares(data.y, predictors, weights), logistic(data.d, predictors, weights)
    values = np.column_stack([data.y.mean(axis=1), slope.beta[:, 1], odds.beta[:, 1]])
    variances = np.column_stack(
        [data.y.var(axis=1, ddof=1) / n, slope.variance * slope.unit[:, 1, 1], odds.unit[:, 1, 1]]
    )
    return [Estimates(TERMS, q, np.diag(v), None) for q, v in zip(values, variances, strict=True)]


def least_squares(y: Floats, predictors: Floats, weights: Floats) -> Regression:
    """Return the regression of every copy; weights are 0 or 1."""
    weighted = predictors * weights[:, :, None]
    unit = np.linalg.inv(np.matmul(weighted.transpose(0, 2, 1), predictors))
    beta = np.einsum("cij,cj->ci", unit, np.einsum("cnp,cn->cp", weighted, y))
    residual = y - _linear(predictors, beta)
    df = weights.sum(axis=1) - predictors.shape[2]
    return Regression(beta, unit, np.einsum("cn,cn->c", weights * residual, residual), df)


def logistic(d: Floats, predictors: Floats, weights: Floats) -> Regression:
    """Return the logistic regression of every copy by Newton's method; its unit is the covariance itself."""
    beta = np.zeros((len(d), predictors.shape[2]))
    for _ in range(NEWTON_STEPS):
        p = expit(_linear(predictors, beta))
        bend = predictors * (weights * p * (1 - p))[:, :, None]
        unit = np.linalg.inv(np.matmul(bend.transpose(0, 2, 1), predictors))
        step = np.einsum("cij,cj->ci", unit, np.einsum("cnp,cn->cp", predictors, weights * (d - p)))
        beta = beta + step
        if np.abs(step).max() < 1e-7:
            break
    nothing = np.zeros(len(d))
    return Regression(beta, unit, nothing, nothing + 1)


def _linear(predictors: Floats, beta: Floats) -> Floats:
    return np.asarray(np.matmul(predictors, beta[:, :, None])[:, :, 0])
