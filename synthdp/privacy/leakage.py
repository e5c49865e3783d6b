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
from typing import Any, get_args

import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy.accounting.closed_forms import analytic_ratio, epsilon_of_mu
from synthdp.privacy.guarantees import delta_of, epsilon_of, number, positive, whole
from synthdp.privacy.influence import Attack as Attack
from synthdp.privacy.influence import Form as Form
from synthdp.privacy.influence import Knowledge as Knowledge
from synthdp.privacy.influence import Series
from synthdp.privacy.influence import farthest as farthest
from synthdp.privacy.printed import printed
from synthdp.privacy.series import Fit

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
    constant: float | None = STRICT,
) -> Leakage:
    """Return what releases of two periods say about values, under a VAR(1).

    Parameters
    ----------
    transition, noise
        A and Σ, one row and column per unit.
    epsilon, delta
        Of the Gaussian releases, one number or one for each period.
    sensitivity
        Δ of the mean, the range over n.
    attack, knowledge, form
        See the head of this module.
    unit
        Whose values A1, A2 and A4 are about, counted from 0.
    constant
        The releases have noise of sd Δ√(2 ln(constant/δ))/ε, as in the source. None: the least noise that is (ε, δ)-DP,
        which is smaller and is what `synthdp.dp` adds; for the exact form.

    Examples
    --------
    >>> half = {"epsilon": 1, "delta": 0.05, "sensitivity": 0.5, "attack": "A1", "knowledge": "N2"}
    >>> round(var_leakage([[1, 0], [1, 0]], [[1, 0], [0, 1]], **half, form="printed").found, 4)
    1.5714
    """
    return _leakage(
        Series.of(transition, noise),
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
    constant: float | None = STRICT,
) -> Leakage:
    """Return the same for a series that was fitted; for a ``common`` fit in O(n) for n units."""
    return _leakage(
        Series.of(*fit.matrices) if fit.matrices else Series.common(fit),
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
    series: "Series",
    *,
    epsilon: Two,
    delta: Two,
    sensitivity: float,
    attack: Attack,
    knowledge: Knowledge,
    form: Form,
    unit: int,
    constant: float | None,
) -> Leakage:
    both_epsilon = [epsilon_of(each) for each in _two(epsilon, "epsilon")]
    both_delta = [delta_of(each) for each in _two(delta, "delta")]
    step = positive(sensitivity, "sensitivity")
    for given, known, name in ((attack, Attack, "attack"), (knowledge, Knowledge, "knowledge"), (form, Form, "form")):
        if given not in get_args(known):
            raise InputError(f"{name}: must be one of {', '.join(get_args(known))}, found {given!r}.")
    if whole(unit, "unit", 0) >= series.n:
        raise InputError(f"unit: must be from 0 to {series.n - 1}, found {unit}.")
    caution = HEURISTIC if attack == "A2" and knowledge != "N2" else None
    if form != "exact":
        if constant is None:
            raise InputError(f"constant: must be a number above 1 for the form {form}, found None.")
        logs = [_log(constant, each) for each in both_delta]
        found, slack = printed(series, both_epsilon, both_delta, logs, step, attack, knowledge, form, unit)
        said = caution or (f"formula of the source, {'n for n²' if form == 'printed' else 'classical calibration'}")
        return Leakage(attack, knowledge, form, found, slack, None, said)
    sds = [noise_sd(each, slack, step, constant) for each, slack in zip(both_epsilon, both_delta, strict=True)]
    mu = series.mu(step, sds, attack, knowledge, unit)
    slack = {"N1": both_delta[0], "N2": both_delta[1], "N3": max(both_delta)}[knowledge]
    # what moves nothing is not learnt
    found = epsilon_of_mu(mu, slack) if mu > 0 else 0.0
    return Leakage(attack, knowledge, form, found, slack, mu, caution)


def noise_sd(epsilon: float, delta: float, sensitivity: float, constant: float | None = None) -> float:
    """Return the sd of the noise of a release: the least that is (ε, δ)-DP, or the classical one of this constant."""
    if constant is None:
        return sensitivity * analytic_ratio(epsilon, delta)
    return sensitivity * math.sqrt(_log(constant, delta)) / epsilon


def _log(constant: float, delta: float) -> float:
    number(constant, "constant")
    if not 1 < constant < math.inf:
        raise InputError(f"constant: must be a finite number above 1, found {constant:g}.")
    return 2 * math.log(constant / delta)


def total_dependence(epsilon: Two, factor: float) -> float:
    """Return ε_1 + |a|ε_2: both releases where X_2 = aX_1, which composition of two pure releases gives."""
    first, second = (epsilon_of(each) for each in _two(epsilon, "epsilon"))
    return first + abs(factor) * second


def _two(given: Two, name: str) -> tuple[float, float]:
    asked: Any = given
    if isinstance(asked, str) or not hasattr(asked, "__len__"):
        number(asked, name)
        # numpy's numbers are numbers, too
        return float(asked), float(asked)
    if len(asked) != 2:
        raise InputError(f"{name}: must be one number, or one for each of two periods, found {len(asked)}.")
    first, second = asked
    return first, second
