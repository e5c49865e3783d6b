r"""What releases of one period say about the values of another: means of a series that moves as a VAR(1).

    X_t = A X_{t−1} + B_t,   B_t ~ N(0, Σ),   Q_t = mean(X_t) + Z_t,   Z_t ~ N(0, σ_t²),   t = 1, 2

for n units whose values lie within a range Λ, so Δ = Λ/n. An intruder who knows A and Σ and sees Q_2 only has learnt
something of X_1 all the same: given X_1, Q_2 is normal around the mean of A X_1 with variance σ_2² + 1'Σ1/n². Unit i
moves that by |s_i|·Δ, s_i the sum of column i of A. So what is learnt is that of one Gaussian release, μ = |s_i|Δ/sd,
and with both releases μ² adds: exact, for every ε.

==========  =====================================  ==========  ==========================
attack      what is to be learnt                   knowledge   what is seen
==========  =====================================  ==========  ==========================
A1          one unit's value in the first period   N1          the first release
A2          one unit's value in the second         N2          the second release
A3          all values of the first period         N3          both
A4          one unit's values in both
==========  =====================================  ==========  ==========================

A statement of this kind is about the model: it holds if the series moves as supposed, and is no ε of a release. For
the worst case compose the releases (`synthdp.privacy.planning`). A2 with N1 or N3 looks back from X_2 to
X_1 = A⁻¹(X_2 − B); B is independent of X_1, not of X_2, so it takes a flat prior for X_1: heuristic, never an ε.

``printed`` is the source's formula (6.6), the noise of the series turned into a smaller ε by the classical calibration,

    ε' = Δ_g/√((Δ/ε)² + 1'Σ1/(2n ln(1.26/δ))),

``corrected`` has n² in place of n: the variance of a mean.

References
----------
Biswal (2024, PhD thesis, U. Ottawa), chapter 6. Equation 6.3 divides the variance of a mean by n; Lemma 6.3.1 has
ε_2/a for X_2 = aX_1, where the sensitivity of a·f gives aε_2; A1 with both has e^{ε_2}δ_1 for e^{ε'}δ_1, and plain
composition gives δ_1 + δ_2; the statement for A3 has ε_1 where its proof has nε_1. All R code sets Δ/ε to 1 where the
text has 1/2, which is the text's formula at ε = 1/2, and has 1.25 for 1.26; for Figure 6.1 it multiplies by the log.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import epsilon_of_mu
from synthdp.privacy.guarantees import delta_of, epsilon_of, positive
from synthdp.privacy.series import Fit
from synthdp.table.microdata import Floats

Attack = Literal["A1", "A2", "A3", "A4"]
Knowledge = Literal["N1", "N2", "N3"]
Form = Literal["exact", "printed", "corrected"]
STRICT = 1.26
"""The source writes ln(1.26/δ) where the classical calibration has 1.25, to make an inequality strict."""
HEURISTIC = "takes a flat prior for the first period, since its noise is not independent of the second: heuristic"
Two = float | tuple[float, float]


@dataclass(frozen=True)
class Leakage:
    """What an attack learns.

    Attributes
    ----------
    attack, knowledge, form
        What was asked.
    found
        ε' at ``delta``.
    delta
        The δ it is for; with both releases seen, the larger one in the exact form, and what the proof gives in others.
    mu
        μ of the Gaussian release it amounts to; None for the source's formulas.
    caution
        Why ε' must not be relied on; None where it is proven under the model.
    """

    attack: Attack
    knowledge: Knowledge
    form: Form
    found: float
    delta: float
    mu: float | None = None
    caution: str | None = None

    @property
    def epsilon(self) -> float | None:
        """ε' where it is proven under the model, else None."""
        return self.found if self.caution is None else None

    def sentence(self) -> str:
        """Return what was found in words."""
        said = f"{self.attack} with {self.knowledge}: ε' = {self.found:.4g} at δ = {self.delta:.3g} ({self.form})"
        return f"{said}; {self.caution}." if self.caution else f"{said}, if the series moves as supposed."


def var_leakage(
    transition: npt.ArrayLike,
    noise: npt.ArrayLike,
    *,
    epsilon: Two,
    delta: Two,
    sensitivity: float,
    attack: Attack,
    knowledge: Knowledge,
    form: Form = "exact",
    unit: int = 0,
    constant: float = STRICT,
) -> Leakage:
    """Return what releases of two periods say about values, under a VAR(1).

    Parameters
    ----------
    transition, noise
        A and Σ, one row and column per unit.
    epsilon, delta
        Of the Gaussian releases, one number or one for each period: their noise has sd Δ√(2 ln(constant/δ))/ε.
    sensitivity
        Δ of the mean, the range over n.
    attack, knowledge, form
        See the head of this module.
    unit
        Whose values A1, A2 and A4 are about, counted from 0.

    Examples
    --------
    >>> half = {"epsilon": 1, "delta": 0.05, "sensitivity": 0.5, "attack": "A1", "knowledge": "N2"}
    >>> round(var_leakage([[1, 0], [1, 0]], np.eye(2), **half, form="printed").found, 4)
    1.5714
    """
    return _leakage(
        _Series.of(transition, noise),
        epsilon=epsilon,
        delta=delta,
        sensitivity=sensitivity,
        attack=attack,
        knowledge=knowledge,
        form=form,
        unit=unit,
        constant=constant,
    )


def fit_leakage(
    fit: Fit,
    *,
    epsilon: Two,
    delta: Two,
    sensitivity: float,
    attack: Attack,
    knowledge: Knowledge,
    form: Form = "exact",
    unit: int = 0,
    constant: float = STRICT,
) -> Leakage:
    """Return the same for a series that was fitted; for a ``common`` fit in O(n) for n units."""
    return _leakage(
        _Series.of(*fit.matrices) if fit.matrices else _Series.common(fit),
        epsilon=epsilon,
        delta=delta,
        sensitivity=sensitivity,
        attack=attack,
        knowledge=knowledge,
        form=form,
        unit=unit,
        constant=constant,
    )


def _leakage(
    series: "_Series",
    *,
    epsilon: Two,
    delta: Two,
    sensitivity: float,
    attack: Attack,
    knowledge: Knowledge,
    form: Form,
    unit: int,
    constant: float,
) -> Leakage:
    both_epsilon = [epsilon_of(each) for each in _two(epsilon, "epsilon")]
    both_delta = [delta_of(each) for each in _two(delta, "delta")]
    step = positive(sensitivity, "sensitivity")
    for given, known, name in ((attack, Attack, "attack"), (knowledge, Knowledge, "knowledge"), (form, Form, "form")):
        if given not in get_args(known):
            raise InputError(f"{name}: must be one of {', '.join(get_args(known))}, found {given!r}.")
    if not 0 <= unit < series.n:
        raise InputError(f"unit: must be from 0 to {series.n - 1}, found {unit}.")
    if not constant > 1:
        raise InputError(f"constant: must be above 1, found {constant:g}.")
    logs = [2 * math.log(constant / each) for each in both_delta]
    caution = HEURISTIC if attack == "A2" and knowledge != "N2" else None
    if form != "exact":
        found, slack = _printed(series, both_epsilon, both_delta, logs, step, attack, knowledge, form, unit)
        said = caution or (f"formula of the source, {'n for n²' if form == 'printed' else 'classical calibration'}")
        return Leakage(attack, knowledge, form, found, slack, None, said)
    sds = [step * math.sqrt(log) / each for log, each in zip(logs, both_epsilon, strict=True)]
    mu = series.mu(step, sds, attack, knowledge, unit)
    slack = {"N1": both_delta[0], "N2": both_delta[1], "N3": max(both_delta)}[knowledge]
    # what moves nothing is not learnt
    found = epsilon_of_mu(mu, slack) if mu > 0 else 0.0
    return Leakage(attack, knowledge, form, found, slack, mu, caution)


@dataclass(frozen=True, repr=False)
class _Series:
    """What of a series matters for means: sums of columns of A and of its inverse, and the variances behind them."""

    sums: Floats
    variance: float
    inverse: Floats | None
    inverse_variance: float = 0.0

    @classmethod
    def of(cls, transition: npt.ArrayLike, noise: npt.ArrayLike) -> "_Series":
        a, covariance = (np.asarray(given, dtype=np.float64) for given in (transition, noise))
        if a.ndim != 2 or a.shape[0] != a.shape[1] or not np.isfinite(a).all():
            raise InputError("transition: must be a square matrix of finite numbers, one row for each unit.")
        if covariance.shape != a.shape or not np.isfinite(covariance).all():
            raise InputError(f"noise: must be a matrix of finite numbers of {len(a)} rows and columns.")
        if not np.allclose(covariance, covariance.T) or np.linalg.eigvalsh(covariance)[0] < -1e-9 * covariance.max():
            raise InputError("noise: must be a covariance matrix, symmetric and without negative eigenvalues.")
        found = cls(a.sum(axis=0), max(float(covariance.sum()), 0.0), None)
        if np.linalg.cond(a) > 1e12:
            return found
        rows = np.asarray(np.linalg.inv(a).sum(axis=0))
        return cls(found.sums, found.variance, rows, max(float(rows @ covariance @ rows), 0.0))

    @classmethod
    def common(cls, fit: Fit) -> "_Series":
        a, ones, variance = fit.persistence, np.ones(fit.units), max(fit.total_variance, 0.0)
        return cls(a * ones, variance, ones / a, variance / a**2) if a else cls(0 * ones, variance, None)

    @property
    def n(self) -> int:
        return len(self.sums)

    def moved(self, attack: Attack, unit: int) -> tuple[Floats, float]:
        """Return by how much each unit moves the other period's mean, in Δ, and the variance 1'Σ1 that hides it."""
        if attack != "A2":
            return (self.sums if attack == "A3" else self.sums[[unit]]), self.variance
        if self.inverse is None:
            raise InputError("transition: is singular, so the second period does not tell the first; A2 needs N2.")
        return self.inverse[[unit]], self.inverse_variance

    def mu(self, step: float, sds: list[float], attack: Attack, knowledge: Knowledge, unit: int) -> float:
        seen = [float(knowledge in (period, "N3")) for period in ("N1", "N2")]
        own, other = (1, 0) if attack == "A2" else (0, 1)
        direct = seen[own] * step / sds[own]
        if attack == "A4":
            return math.hypot(direct, seen[other] * step / sds[other])
        if not seen[other]:
            return direct * (self.n if attack == "A3" else 1)
        sums, variance = self.moved(attack, unit)
        hidden = math.hypot(sds[other], math.sqrt(variance) / self.n)
        return farthest(np.column_stack([np.full(len(sums), direct), sums * step / hidden]))


def farthest(steps: Floats) -> float:
    """Return the longest of all vectors Σ ±v_i: a corner of a zonogon, whose corners follow the angles of the v_i."""
    upper = np.where((steps[:, [1]] < 0) | ((steps[:, [1]] == 0) & (steps[:, [0]] < 0)), -steps, steps)
    upper = upper[np.argsort(np.arctan2(upper[:, 1], upper[:, 0]))]
    corners = np.vstack([np.zeros(2), np.cumsum(upper, axis=0)]) * 2 - upper.sum(axis=0)
    return float(np.hypot(*corners.T).max())


def _printed(
    series: _Series,
    epsilon: list[float],
    delta: list[float],
    logs: list[float],
    step: float,
    attack: Attack,
    knowledge: Knowledge,
    form: Form,
    unit: int,
) -> tuple[float, float]:
    """Return (ε', δ') of the source's theorems; for A3 with both those of its proof."""
    divisor = series.n if form == "printed" else series.n**2
    if (attack, knowledge) in (("A1", "N1"), ("A2", "N2")):
        own = 0 if attack == "A1" else 1
        return epsilon[own], delta[own]
    if (attack, knowledge) == ("A4", "N3"):
        return sum(epsilon), _product(delta, epsilon[0], epsilon[1])
    if (attack, knowledge) not in (("A1", "N2"), ("A1", "N3"), ("A2", "N1"), ("A3", "N3")):
        raise InputError(f"{attack} with {knowledge}: the source has no formula for it; use form exact.")
    other = 0 if attack == "A2" else 1
    sums, variance = series.moved(attack, unit)
    hidden = math.sqrt((step / epsilon[other]) ** 2 + variance / (divisor * logs[other]))
    found = [float(each) for each in np.abs(sums) * step / hidden]
    if knowledge != "N3":
        return found[0], delta[other]
    if attack == "A1":
        return epsilon[0] + found[0], _product(delta, epsilon[0], found[0])
    whole = (
        delta[0] * math.fsum(math.exp(j * epsilon[0]) for j in range(series.n)),
        delta[1] * math.fsum(math.exp(math.fsum(found[:j])) for j in range(series.n)),
    )
    total = series.n * epsilon[0]
    return total + math.fsum(found), _product(list(whole), total, math.fsum(found))


def _product(delta: list[float], first: float, second: float) -> float:
    return min(1.0, math.exp(first) * delta[1] + math.exp(second) * delta[0] + delta[0] * delta[1])


def total_dependence(epsilon: Two, factor: float) -> float:
    """Return ε_1 + |a|ε_2: both releases where X_2 = aX_1, which composition of two pure releases gives."""
    first, second = (epsilon_of(each) for each in _two(epsilon, "epsilon"))
    return first + abs(factor) * second


def _two(given: Two, name: str) -> tuple[float, float]:
    if isinstance(given, int | float):
        return given, given
    if len(given) != 2:
        raise InputError(f"{name}: must be one number, or one for each of two periods, found {len(given)}.")
    return given
