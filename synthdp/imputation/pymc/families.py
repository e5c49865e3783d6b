"""The families a user may name.

Which columns they suit, the PyMC program of each, and draws of Student-t and log-normal numbers.

    student_t:   t = η + σ e,  e ~ t(ν);        log_normal:   log(x - zero) = m + s (η + σ e),  e ~ N(0, 1)

Both are densities on the working scale, where the mask's evidence lives; given that evidence neither has a closed form,
so each says where a normal proposal should go (see ``joint_draw``).

    y_i | θ  ~  family(η_i, φ),    η_i = x_i'B;     slopes ~ N(0, prior_sd²) on standardised predictors

Weakly informative priors, on a standardised outcome for numbers: constant ~ N(0, 2.5²), residual sd ~ half-N(0, 2²),
ν ~ Gamma(2, 0.1) (Juárez and Steel 2010). For levels: constants and the middle cutpoint ~ N(0, 10²), log
distances between cutpoints as in ``families.ordered``. For counts: constant ~ N(log mean, 2.5²), log α ~ N(-1, 2²).

References
----------
Juárez, Steel (2010), Journal of Business & Economic Statistics 28(1) (degrees of freedom).
Gelman, Jakulin, Pittau, Su (2008), Annals of Applied Statistics 2(4) (weakly informative priors).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import gammaln

from synthdp.imputation.families.counts import NegativeBinomialDraw
from synthdp.imputation.families.family import LOCATION_SD, FamilyDraw
from synthdp.imputation.families.links import LATENT_SD
from synthdp.imputation.families.normal import NormalDraw, SemicontinuousDraw
from synthdp.imputation.families.ordered import OrderedDraw
from synthdp.imputation.families.unordered import BinaryDraw, MultinomialDraw
from synthdp.table.links import Link
from synthdp.table.microdata import Floats
from synthdp.table.schema import Kind


@dataclass(frozen=True, repr=False)
class StudentDraw:
    """One draw of the coefficients, of the scale σ and of the degrees of freedom ν."""

    beta: Floats
    scale: float
    freedom: float

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return the log density of each record."""
        nu = self.freedom
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - np.log(self.scale)
        return np.asarray(constant - 0.5 * (nu + 1) * np.log1p(((y - eta[:, 0]) / self.scale) ** 2 / nu))

    def simulate(self, eta: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw y of each record from the model alone."""
        return np.asarray(eta[:, 0] + self.scale * rng.standard_t(self.freedom, len(eta)))

    def around(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return center and sd of a normal density that resembles the middle of this one."""
        return eta[:, 0], np.full(len(eta), self.scale)


@dataclass(frozen=True, repr=False)
class LogNormalDraw:
    """One draw of the coefficients and of the residual sd σ, both of the standardised log.

    Parameters
    ----------
    zero
        Where the log begins: the column's lower bound, or zero.
    center, spread
        m and s, the mean and the sd of the logs of the records.
    link
        The column's working scale, not bent by a transform.
    """

    beta: Floats
    sd: float
    zero: float
    center: float
    spread: float
    link: Link

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return the log density of each record on the working scale; minus infinity at zero and below."""
        above = self.link.inverse(y) - self.zero
        inside = above > 0
        log = np.log(np.where(inside, above, 1.0))
        z = ((log - self.center) / self.spread - eta[:, 0]) / self.sd
        jacobian = np.log(self.link.spread) - log - np.log(self.spread * self.sd)
        return np.where(inside, -0.5 * z**2 - 0.5 * np.log(2 * np.pi) + jacobian, -np.inf)

    def simulate(self, eta: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw y of each record from the model alone."""
        return self._working(eta[:, 0] + self.sd * rng.standard_normal(len(eta)))

    def around(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return the median, and the sd of the normal density that touches there."""
        middle = self._working(eta[:, 0])
        above = self.link.inverse(middle) - self.zero
        return middle, np.asarray(above * self.spread * self.sd / self.link.spread)

    def _working(self, z: Floats) -> Floats:
        return self.link.forward(self.zero + np.exp(self.center + self.spread * z))


FamilyName = Literal[
    "normal",
    "student_t",
    "log_normal",
    "two_part",
    "bernoulli",
    "categorical",
    "ordered",
    "poisson",
    "negative_binomial",
]
# the first of each is the default
SUITED: Mapping[Kind, tuple[FamilyName, ...]] = {
    Kind.CONTINUOUS: ("normal", "student_t", "log_normal"),
    Kind.SEMICONTINUOUS: ("two_part",),
    Kind.COUNT: ("negative_binomial", "poisson"),
    Kind.BINARY: ("bernoulli",),
    Kind.ORDINAL: ("ordered", "categorical"),
    Kind.NOMINAL: ("categorical",),
}
NUMBER_LOCATION_SD = 2.5
RESIDUAL_SD = 2.0
LOG_DISPERSION = (-1.0, 2.0)
SPACING_SD = 1.5


@dataclass(frozen=True, repr=False)
class Outcome:
    """A replaced column as its program sees it.

    Parameters
    ----------
    y
        The records' values: working values of numbers, counts, positions in the levels.
    levels
        How many levels a column of levels has.
    largest
        The largest count that can be drawn.
    zero
        Where the log of a log-normal column begins.
    atom
        The working value of a semicontinuous column's point.
    """

    family: FamilyName
    y: Floats
    levels: int = 0
    largest: int = 0
    link: Link | None = None
    zero: float = 0.0
    atom: float = 0.0

    def program(self, design: Floats, prior_sd: Floats) -> Any:
        """Return the PyMC model of p(θ | records).

        Parameters
        ----------
        design
            n × d, the constant first.
        prior_sd
            Of the slopes, d - 1.
        """
        import pymc as pm

        slopes, d = design[:, 1:], design.shape[1]
        with pm.Model() as model:
            width = {"categorical": self.levels - 1, "two_part": 2}.get(self.family, 1)
            sds = np.repeat(prior_sd[:, None], width, axis=1)
            b = pm.Normal("slopes", 0.0, sds, shape=(d - 1, width)) if d > 1 else None
            eta = 0.0 if b is None else pm.math.dot(slopes, b)
            if self.family == "ordered":
                _ordered(self.y.astype(np.int64), self.levels, eta)
                return model
            center, sd = self._location()
            eta = eta + pm.Normal("constant", center, sd, shape=width)
            self._likelihood(eta)
        return model

    def _location(self) -> tuple[float, float]:
        if self.family in ("poisson", "negative_binomial"):
            return float(np.log(self.y.mean() + 0.5 / len(self.y))), NUMBER_LOCATION_SD
        return 0.0, NUMBER_LOCATION_SD if self.family in ("normal", "student_t", "log_normal") else LOCATION_SD

    def _likelihood(self, eta: Any) -> None:
        import pymc as pm

        one = eta[:, 0] if eta.ndim == 2 else eta * np.ones(len(self.y))
        match self.family:
            case "normal":
                pm.Normal("y", one, pm.HalfNormal("sd", RESIDUAL_SD), observed=self.y)
            case "log_normal":
                pm.Normal("y", one, pm.HalfNormal("sd", RESIDUAL_SD), observed=self._logs()[0])
            case "student_t":
                freedom = pm.Gamma("freedom", 2.0, 0.1)
                pm.StudentT("y", nu=freedom, mu=one, sigma=pm.HalfNormal("sd", RESIDUAL_SD), observed=self.y)
            case "bernoulli":
                pm.Bernoulli("y", logit_p=one, observed=self.y.astype(np.int64))
            case "two_part":
                off = self.y != self.atom
                both = eta if eta.ndim == 2 else eta * np.ones((len(self.y), 2))
                pm.Bernoulli("off", logit_p=both[:, 0], observed=off.astype(np.int64))
                sd = pm.HalfNormal("sd", RESIDUAL_SD)
                pm.Normal("y", both[np.flatnonzero(off), 1], sd, observed=self.y[off])
            case "categorical":
                _categorical(self.y.astype(np.int64), self.levels, eta)
            case "poisson":
                pm.Poisson("y", pm.math.exp(one), observed=self.y.astype(np.int64))
            case _:
                log_dispersion = pm.Normal("log_dispersion", *LOG_DISPERSION)
                alpha = pm.math.exp(-log_dispersion)
                pm.NegativeBinomial("y", mu=pm.math.exp(one), alpha=alpha, observed=self.y.astype(np.int64))

    def _logs(self) -> tuple[Floats, float, float]:
        """Return the standardised logs of a log-normal column, their center and their spread."""
        link = self._link()
        log = np.log(link.inverse(self.y) - self.zero)
        center, spread = float(log.mean()), float(log.std())
        return (log - center) / spread, center, spread

    def _link(self) -> Link:
        if self.link is None:
            raise TypeError("a number needs its link")
        return self.link

    def drawn(self, values: Mapping[str, Floats], width: int) -> FamilyDraw | StudentDraw | LogNormalDraw:
        """Return one draw of θ as what draws the column.

        Parameters
        ----------
        values
            Of the program's variables, one draw.
        width
            d, the columns of the design.
        """
        constant = np.zeros((1, 1)) if self.family == "ordered" else values["constant"].reshape(1, -1)
        beta = constant if width == 1 else np.vstack([constant, values["slopes"]])
        match self.family:
            case "normal":
                return NormalDraw(beta, float(values["sd"]) ** 2)
            case "student_t":
                return StudentDraw(beta, float(values["sd"]), float(values["freedom"]))
            case "log_normal":
                _, center, spread = self._logs()
                return LogNormalDraw(beta, float(values["sd"]), self.zero, center, spread, self._link())
            case "two_part":
                return SemicontinuousDraw(beta, float(values["sd"]) ** 2, self.atom, "logit")
            case "bernoulli":
                return BinaryDraw(beta, "logit")
            case "categorical":
                return MultinomialDraw(beta)
            case "ordered":
                return OrderedDraw(beta, np.atleast_1d(values["cutpoints"]), "logit")
            case "poisson":
                return NegativeBinomialDraw(beta, 0.0, self.largest, self.link)
            case _:
                return NegativeBinomialDraw(beta, float(np.exp(values["log_dispersion"])), self.largest, self.link)


def _categorical(y: Any, levels: int, eta: Any) -> None:
    """Add Σ log softmax; an n × L matrix of probabilities through pm.Categorical took several times as long."""
    import pymc as pm
    import pytensor.tensor as pt

    n = len(y)
    full = pt.concatenate([pt.zeros((n, 1)), eta + pt.zeros((n, levels - 1))], axis=1)
    pm.Potential("likelihood", (full[np.arange(n), y] - pt.logsumexp(full, axis=1)).sum())


def _ordered(y: Any, levels: int, eta: Any) -> None:
    """Add P(y = k) = F(κ_{k+1} - η) - F(κ_k - η), F logistic, with the cutpoints' prior."""
    import pymc as pm
    import pytensor.tensor as pt

    noise, middle = LATENT_SD["logit"], (levels - 1) // 2
    location = pm.Normal("location", 0.0, LOCATION_SD)
    if levels > 2:
        spacing = pm.Normal("spacing", np.log(4 * noise / levels), SPACING_SD, shape=levels - 2)
        steps = pt.concatenate([pt.zeros(1), pt.cumsum(pt.exp(spacing))])
        cutpoints = pm.Deterministic("cutpoints", location + steps - steps[middle])
    else:
        cutpoints = pm.Deterministic("cutpoints", location * pt.ones(1))
    line = eta[:, 0] if getattr(eta, "ndim", 0) == 2 else pt.zeros(len(y))
    upper = cutpoints[np.minimum(y, levels - 2)] - line
    lower = cutpoints[np.maximum(y - 1, 0)] - line
    below_top = pt.where(y < levels - 1, -pt.softplus(-upper), 0.0)
    above_bottom = pt.where(y > 0, -pt.softplus(lower), 0.0)
    inner = np.flatnonzero((y > 0) & (y < levels - 1))
    gap = pt.log(-pt.expm1(lower[inner] - upper[inner])).sum()
    pm.Potential("likelihood", (below_top + above_bottom).sum() + gap)
