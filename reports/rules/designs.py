"""A small world with a known truth, and the designs of the study of combining rules.

    z ~ N(0, 1),    x | z ~ N(0.5 + 0.6 z, 1),    y | x, z ~ N(1 + 0.5 x + 0.3 z, 1),
    P(d = 1 | x, z) = 1/(1 + exp(0.3 − 0.6 x + 0.4 z))

Every array is copies × records. Normal regressions are drawn from their posterior under the prior 1/σ²; the logistic
one from its large-sample normal posterior. O(C n) for C copies of n records.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import expit

from synthdp.inference.analyses import Estimates
from synthdp.table.microdata import Floats

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


MASK_SD = 1.0
MASK_SHIFT = 1.0
Make = Callable[[World, np.random.Generator], World]


@dataclass(frozen=True)
class Scheme:
    """A way of making copies, and the rules tried on them.

    Parameters
    ----------
    name, words
        What it is called, and what is done.
    make
        From the original to the copies.
    fits, known, wrong
        Rules that fit and must cover; that fit but are known not to do well with so few copies; that do not fit.
    nests, ratio
        The layout and size of the copies.
    """

    name: str
    words: str
    make: Make
    fits: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    nests: int | None = None
    ratio: float = 1.0

    @property
    def rules(self) -> tuple[tuple[str, str], ...]:
        """Every rule with its standing."""
        standing = {"fits": self.fits, "few copies": self.known, "wrong": self.wrong}
        return tuple((rule, label) for label, rules in standing.items() for rule in rules)


def partial_synthesis(data: World, rng: np.random.Generator, *, copies: int, proper: bool) -> World:
    """Draw x, y and d anew; z is kept."""
    return draw_given_z(data.times(copies), fit(data).times(copies), proper=proper, rng=rng)


def full_synthesis(data: World, rng: np.random.Generator, *, copies: int, proper: bool, size: int = 1) -> World:
    """Draw every column anew."""
    return draw_all(fit(data).times(copies), size * data.z.shape[1], proper=proper, rng=rng)


def imputed(data: World, rng: np.random.Generator, *, imputations: int) -> World:
    """Impute y and d where they are missing; whether they are depends on z."""
    seen = (rng.random(data.z.shape) > expit(-0.4 + 0.5 * data.z)).astype(np.float64)
    return _filled(data, seen, fit(data, seen), imputations, rng)


def imputed_then_synthesised(data: World, rng: np.random.Generator, *, imputations: int, copies: int) -> World:
    """Impute, then draw x, y and d anew several times for each completed original."""
    completed = imputed(data, rng, imputations=imputations)
    return draw_given_z(completed.times(copies), fit(completed).times(copies), proper=True, rng=rng)


def imputed_twice(data: World, rng: np.random.Generator, *, first: int, second: int) -> World:
    """Impute a quarter of the records, then, given each of these, another quarter several times."""
    part = rng.integers(4, size=data.z.shape)
    known = (part > 1).astype(np.float64)
    stage = _filled(data, 1.0 - (part == 0), fit(data, known), first, rng)
    return _filled(stage, 1.0 - (part == 1), fit(stage, 1.0 - (part == 1)), second, rng)


def masked(data: World, rng: np.random.Generator, *, draws: int, copies: int) -> World:
    """Draw y and d given x, z and a W of each; every draw of W serves several copies."""
    w_y = np.repeat(data.y + MASK_SD * rng.normal(size=(draws, data.y.shape[1])), copies, axis=0)
    w_d = np.repeat(MASK_SHIFT * data.d + rng.normal(size=(draws, data.d.shape[1])), copies, axis=0)
    model, repeated = fit(data).times(draws * copies), data.times(draws * copies)
    beta, sd = model.y.parameters(proper=True, rng=rng)
    centre = np.einsum("cnp,cp->cn", repeated.design(), beta)
    weight = (sd**2 / (sd**2 + MASK_SD**2))[:, None]
    spread = np.sqrt(weight) * MASK_SD
    y = centre + weight * (w_y - centre) + spread * rng.normal(size=centre.shape)
    chance = chances(repeated, model, proper=True, rng=rng)
    # odds of the model times the likelihood ratio of W ~ N(shift · d, 1)
    odds = chance / (1 - chance) * np.exp(MASK_SHIFT * w_d - MASK_SHIFT**2 / 2)
    return replace(repeated, y=y, d=(rng.random(odds.shape) < odds / (1 + odds)).astype(np.float64))


def _filled(data: World, seen: Floats, model: Model, copies: int, rng: np.random.Generator) -> World:
    drawn = draw_outcomes(data.times(copies), model.times(copies), proper=True, rng=rng)
    kept = np.broadcast_to(seen, drawn.y.shape).astype(bool)
    repeated = data.times(copies)
    return replace(drawn, y=np.where(kept, repeated.y, drawn.y), d=np.where(kept, repeated.d, drawn.d))


SCHEMES: tuple[Scheme, ...] = (
    Scheme(
        "partial, proper, M = 5",
        "x, y, d drawn anew with parameters of their own, z kept",
        partial(partial_synthesis, copies=5, proper=True),
        fits=("reiter2003",),
        wrong=("rubin1987", "mean_se"),
    ),
    Scheme(
        "partial, plug-in, M = 5",
        "the same from a model fitted once",
        partial(partial_synthesis, copies=5, proper=False),
        fits=("reiter2003",),
        wrong=("rubin1987", "raghunathan2003"),
    ),
    Scheme(
        "missing data, m = 5",
        "y and d missing for 40% of the records (depending on z) and imputed",
        partial(imputed, imputations=5),
        fits=("rubin1987",),
        wrong=("reiter2003", "mean_se"),
    ),
    Scheme(
        "missing data, then partial, m = 5, r = 5",
        "imputed as before, then x, y, d drawn anew",
        partial(imputed_then_synthesised, imputations=5, copies=5),
        fits=("reiter2004",),
        wrong=("reiter2003", "rubin1987"),
        nests=5,
    ),
    Scheme(
        "missing data in two stages, m = 5, r = 4",
        "y and d missing for half of the records, imputed for one half of these, then for the other",
        partial(imputed_twice, first=5, second=4),
        fits=("rubin2003",),
        wrong=("rubin1987", "reiter2003"),
        nests=5,
    ),
    Scheme(
        "full, plug-in, M = 1",
        "every column drawn anew from a model fitted once",
        partial(full_synthesis, copies=1, proper=False),
        fits=("raab2016", "raab2016_sample"),
        wrong=("mean_se",),
    ),
    Scheme(
        "full, plug-in, M = 5",
        "the same",
        partial(full_synthesis, copies=5, proper=False),
        fits=("raab2016", "raab2016_sample", "reiter2003"),
        wrong=("raghunathan2003", "rubin1987"),
    ),
    Scheme(
        "full, proper, M = 5",
        "every column drawn anew with parameters of its own",
        partial(full_synthesis, copies=5, proper=True),
        fits=("raab2016_proper", "raab2016_sample_proper", "reiter2003"),
        known=("raghunathan2003",),
        wrong=("raab2016", "rubin1987"),
    ),
    Scheme(
        "full, proper, M = 20",
        "the same",
        partial(full_synthesis, copies=20, proper=True),
        fits=("raab2016_proper",),
        known=("raghunathan2003",),
        wrong=("mean_se", "rubin1987"),
    ),
    Scheme(
        "full, proper, M = 100",
        "the same",
        partial(full_synthesis, copies=100, proper=True),
        fits=("raghunathan2003", "raab2016_proper"),
        wrong=("rubin1987",),
    ),
    Scheme(
        "full, proper, twice the records, M = 100",
        "the same, copies of 2n records",
        partial(full_synthesis, copies=100, proper=True, size=2),
        fits=("raghunathan2003", "raab2016_proper"),
        wrong=("reiter2003", "mean_se"),
        ratio=2.0,
    ),
    Scheme(
        "masked, W drawn 5 times, r = 4",
        f"y and d drawn given x, z and W; mask sd {MASK_SD:g}, shift {MASK_SHIFT:g}",
        partial(masked, draws=5, copies=4),
        fits=("reiter2003_nested",),
        wrong=("reiter2003", "mean_se"),
        nests=5,
    ),
    Scheme(
        "masked, W drawn once, M = 20",
        "the same W for all copies",
        partial(masked, draws=1, copies=20),
        wrong=("reiter2003",),
    ),
)
CASES = tuple((scheme, rule, standing) for scheme in SCHEMES for rule, standing in scheme.rules)
