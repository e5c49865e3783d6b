"""How much noise the sums of a private regression get, and what neighbours move.

Add_remove: X², X², XY for λ_min, X'X and X'y. Replace: |Δλ_min| ≤ X² still (a difference of two rank-one matrices has
its eigenvalues in [−X², X²]), ‖xx' − zz'‖_F ≤ √2·X² (not 2X²: its square is ‖x‖⁴ + ‖z‖⁴ − 2(x'z)²), and 2XY for X'y.

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
Wang (2018), "Revisiting differentially private linear regression", UAI, Algorithm 2. Kalaja (2020), thesis, U.
Helsinki, Algorithm 3. Balle, Wang (2018), ICML, Theorem 8.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from synthdp.dp.declarations import Budget
from synthdp.dp.noise import Noise
from synthdp.errors import InputError

Calibration = Literal["original", "fixed", "analytic", "joint"]
CALIBRATIONS: tuple[str, ...] = get_args(Calibration)
NOT_SHOWN = "the noise of Wang (2018) is less than the Gaussian mechanism at (ε/3, δ/3) needs"


@dataclass(frozen=True)
class Sds:
    """Noise of the three releases, their sensitivities, and how many sds the eigenvalue is taken down."""

    eigenvalue: float
    gram: float
    cross: float
    moves: tuple[float, float]
    caution: float


def noise_of(budget: Budget, calibration: Calibration, x_norm: float, y_bound: float, *, parts: int) -> Sds:
    """Return the noise of rows within ``x_norm`` and responses within ``y_bound``, the budget shared by so many."""
    unit = unit_sd(budget, calibration, parts)
    replacing = budget.replacing
    moves = (x_norm**2 * (math.sqrt(2) if replacing else 1.0), x_norm * y_bound * (2.0 if replacing else 1.0))
    classical = 2 * math.log(1.25 * parts / budget.delta)
    caution = math.sqrt(classical if calibration == "fixed" else math.log(2 * parts / budget.delta))
    return Sds(unit * x_norm**2, unit * moves[0], unit * moves[1], moves, caution)


def unit_sd(budget: Budget, calibration: Calibration, parts: int) -> float:
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


def checked(budget: Budget, calibration: str, *, parts: int) -> Budget:
    """Return the budget, or say why this calibration cannot keep to it."""
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
