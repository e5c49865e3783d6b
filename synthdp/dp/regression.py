"""Private linear regression for prediction: perturbed sufficient statistics, plain and with an adaptive ridge.

Rows x_i with ‖x_i‖ ≤ X and |y_i| ≤ Y. Released are X'X + E (E symmetric, upper triangle independent normal) and
X'y + e; AdaSSP first releases the smallest eigenvalue and adds the ridge that it calls for:

    λ̃_min = max(λ_min + σ_λ Z − c σ_λ, 0),   λ = max(0, √(d log(2d²/ρ)) σ_G − λ̃_min),   θ = (X'X + E + λI)⁻¹(X'y + e).

What neighbours move: add_remove X², X², XY for λ_min, X'X and X'y. Replace: |Δλ_min| ≤ X² still (a difference of two
rank-one matrices has its eigenvalues in [−X², X²]), ‖xx' − zz'‖_F ≤ √2·X² (not 2X²: its square is ‖x‖⁴ + ‖z‖⁴ −
2(x'z)²), and 2XY for X'y.

How much noise, by `Calibration`:

``original``
    Wang's: σ = √log(6/δ)/(ε/3)·Δ, c = √log(6/δ). **Not shown to be (ε, δ)-DP**: the classical Gaussian mechanism at
    (ε/3, δ/3) needs √(2 log(3.75/δ)), which is larger. Labelled NonPrivate; here to compare with what was published.
``fixed``
    Kalaja (2020), Algorithm 3: log(6/δ) becomes 2 log(3.75/δ). Proved for ε/3 < 1 only, and refused above.
``analytic``
    The analytic Gaussian mechanism at (ε/3, δ/3) for each release: every ε, less noise than fixed.
``joint``
    The three releases together are one Gaussian mechanism with μ = √3·(Δ/σ) (Dong, Roth & Su 2022, Corollary 3.3),
    calibrated once at (ε, δ): less noise again, nothing lost to composition.

References
----------
Wang (2018), "Revisiting differentially private linear regression", UAI, Algorithm 2; its program adds a noise matrix
that is not symmetric. Kalaja (2020), thesis, U. Helsinki, Algorithm 3. Dwork, Talwar, Thakurta, Zhang (2014), STOC,
Algorithm 1 (symmetric Gaussian noise on X'X). Balle, Wang (2018), ICML, Theorem 8.
"""

import math
from dataclasses import dataclass
from typing import Literal, Required, Unpack, get_args

import numpy as np
import pandas as pd

from synthdp.dp.declarations import Budget
from synthdp.dp.least_squares import symmetric
from synthdp.dp.noise import Noise
from synthdp.dp.request import Price, Priced, Request, below_noise, priced
from synthdp.errors import InputError
from synthdp.privacy.mechanisms import Source
from synthdp.table.microdata import Floats

Calibration = Literal["original", "fixed", "analytic", "joint"]
CALIBRATIONS: tuple[str, ...] = get_args(Calibration)
FAILURE = 0.05
NOT_SHOWN = "the noise of Wang (2018) is less than the Gaussian mechanism at (ε/3, δ/3) needs"


class RegressionPrice(Price, total=False):
    """Gaussian noise, so a δ above 0 is part of the price; the number of records is confidential by default."""

    delta: Required[float]


@dataclass(frozen=True, repr=False)
class Fit(Priced):
    """A released coefficient vector on bounded rows.

    ``ridge`` is the λ that was added; ``reason`` says why nothing formal can be claimed, where that is so; ``notes``
    say what a reader should know.
    """

    method: str
    theta: Floats
    ridge: float
    budget: Budget
    reason: str | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        said = "".join(f"; {note}" for note in self.notes)
        return f"Fit({self.method}, {len(self.theta)} coefficients, ridge {self.ridge:.4g}; {self.guarantee()}{said})"

    def table(self) -> pd.DataFrame:
        """Return the coefficients as a table; they have no intervals."""
        return pd.DataFrame({"estimate": self.theta}, index=pd.RangeIndex(1, len(self.theta) + 1, name="coefficient"))

    def _headline(self) -> str:
        return f"{self.method}, ridge {self.ridge:.4g}"


@priced(RegressionPrice, adjacency="add_remove")
def ssp(
    x: Floats,
    y: Floats,
    *,
    x_norm: float,
    y_bound: float,
    calibration: Calibration = "analytic",
    **price: Unpack[RegressionPrice],
) -> Fit:
    """Return (X'X + E)⁻¹(X'y + e), half of the budget each; arbitrarily bad where X'X + E is nearly singular."""
    return _fitted("SSP", x, y, x_norm, y_bound, calibration, price)


@priced(RegressionPrice, adjacency="add_remove")
def adassp(
    x: Floats,
    y: Floats,
    *,
    x_norm: float,
    y_bound: float,
    calibration: Calibration = "analytic",
    **price: Unpack[RegressionPrice],
) -> Fit:
    """Return the ridge regression whose ridge is no larger than the noise calls for.

    Parameters
    ----------
    x, y
        Rows with ‖x_i‖ ≤ ``x_norm`` and |y_i| ≤ ``y_bound``; longer rows are refused (`prepare` shortens them).
    epsilon, delta
        The price of everything together.
    calibration
        ``analytic`` (default), ``joint``, ``fixed`` (ε < 3), or ``original`` (NonPrivate).

    Notes
    -----
    Cost: O(n d² + d³).

    Examples
    --------
    >>> import numpy as np
    >>> from synthdp.privacy.mechanisms import Simulated
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(-0.5, 0.5, (5000, 2))
    >>> fit = adassp(x, x @ [0.6, 0.2], x_norm=1, y_bound=1, epsilon=1, delta=1e-6, source=Simulated(rng))
    >>> bool(abs(fit.theta[0] - 0.6) < 0.2)
    True
    """
    return _fitted("AdaSSP", x, y, x_norm, y_bound, calibration, price)


def _fitted(
    method: Literal["SSP", "AdaSSP"],
    x: Floats,
    y: Floats,
    x_norm: float,
    y_bound: float,
    calibration: Calibration,
    price: RegressionPrice,
) -> Fit:
    """Release the sums; AdaSSP releases the smallest eigenvalue before, and shares the budget by three, not two."""
    request = Request(**price)
    adaptive = method == "AdaSSP"
    parts = 3 if adaptive else 2
    budget = _checked_budget(request.budget, calibration, parts=parts)
    x, y = _checked(x, y, x_norm, y_bound)
    sd = _sds(budget, calibration, x_norm, y_bound, parts=parts)
    reason = NOT_SHOWN if calibration == "original" else None
    source = request.source(method, reason=reason)
    d, ridge = x.shape[1], 0.0
    if adaptive:
        smallest = float(np.linalg.eigvalsh(x.T @ x)[0])
        noisy = float(source.gaussian(np.array([smallest]), sd=sd.eigenvalue, sensitivity=x_norm**2)[0])
        released = max(noisy - sd.caution * sd.eigenvalue, 0.0)
        ridge = max(0.0, math.sqrt(d * math.log(2 * d**2 / FAILURE)) * sd.gram - released)
    gram, cross = _release(x, y, sd, source)
    theta = np.asarray(np.linalg.lstsq(gram + ridge * np.eye(d), cross, rcond=None)[0], dtype=np.float64)
    # a note where the released X'X is no larger, per predictor, than what noise alone gives it
    size = max(float(np.trace(gram)), 0.0) / d
    notes = below_noise(sd.gram, size, "the released X'X has per predictor")
    return Fit(f"{method} {calibration}", theta, ridge, budget, reason, notes)


@dataclass(frozen=True)
class _Sds:
    """Noise of the three releases, their sensitivities, and how many sds the eigenvalue is taken down."""

    eigenvalue: float
    gram: float
    cross: float
    moves: tuple[float, float]
    caution: float


def _sds(budget: Budget, calibration: Calibration, x_norm: float, y_bound: float, *, parts: int) -> _Sds:
    unit = _unit(budget, calibration, parts)
    replacing = budget.replacing
    moves = (x_norm**2 * (math.sqrt(2) if replacing else 1.0), x_norm * y_bound * (2.0 if replacing else 1.0))
    classical = 2 * math.log(1.25 * parts / budget.delta)
    caution = math.sqrt(classical if calibration == "fixed" else math.log(2 * parts / budget.delta))
    return _Sds(unit * x_norm**2, unit * moves[0], unit * moves[1], moves, caution)


def _unit(budget: Budget, calibration: Calibration, parts: int) -> float:
    """Return σ/Δ of each of so many releases."""
    each = budget.part(1 / parts)
    if calibration == "original":
        return math.sqrt(math.log(2 / each.delta)) / each.epsilon
    if calibration == "fixed":
        return math.sqrt(2 * math.log(1.25 / each.delta)) / each.epsilon
    if calibration == "analytic":
        return Noise.of(each, 1.0).sd
    # the product is rounded, and must not be rounded towards less noise
    return math.sqrt(parts) * Noise.of(budget, 1.0).sd * (1 + 1e-12)


def _release(x: Floats, y: Floats, sd: _Sds, source: Source) -> tuple[Floats, Floats]:
    upper = np.triu_indices(x.shape[1])
    gram = symmetric(source.gaussian((x.T @ x)[upper], sd=sd.gram, sensitivity=sd.moves[0]))
    return gram, source.gaussian(x.T @ y, sd=sd.cross, sensitivity=sd.moves[1])


def _checked_budget(budget: Budget, calibration: str, *, parts: int) -> Budget:
    if budget.pure:
        raise InputError("delta: must be between 0 and 1 for Gaussian noise, found 0.")
    if calibration not in CALIBRATIONS:
        raise InputError(f"calibration: must be one of {', '.join(CALIBRATIONS)}, found {calibration!r}.")
    if calibration == "fixed" and budget.epsilon >= parts:
        raise InputError(
            f"epsilon: must be under {parts} with calibration fixed, found {budget.epsilon:g}; "
            "the classical Gaussian mechanism is proved for parts under 1. Use calibration analytic."
        )
    return budget


def _checked(x: Floats, y: Floats, x_norm: float, y_bound: float) -> tuple[Floats, Floats]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 2 or y.shape != (len(x),) or not x.size:
        raise InputError("x: must be records × predictors, with one y for each record.")
    missing = ~np.isfinite(x).all(axis=1) | ~np.isfinite(y)
    if missing.any():
        raise InputError(
            f"x, y: {int(missing.sum())} records have missing values; first at row {missing.argmax() + 1}."
        )
    slack = 1 + 1e-9
    outside = (np.linalg.norm(x, axis=1) > x_norm * slack) | (np.abs(y) > y_bound * slack)
    if outside.any():
        raise InputError(
            f"x, y: {int(outside.sum())} records exceed x_norm or y_bound; first at row {outside.argmax() + 1}. "
            "Prepare them with synthdp.dp.prepare."
        )
    # what rounding left outside is moved in, so that the sensitivities hold as they are written
    norms = np.linalg.norm(x, axis=1)
    return x * np.minimum(1.0, x_norm / np.maximum(norms, 1e-300))[:, None], np.clip(y, -y_bound, y_bound)
