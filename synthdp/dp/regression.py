"""Private linear regression for prediction: perturbed sufficient statistics, plain and with an adaptive ridge.

Rows x_i with ‖x_i‖ ≤ X and |y_i| ≤ Y. Released are X'X + E (E symmetric, upper triangle independent normal) and
X'y + e; AdaSSP first releases the smallest eigenvalue and adds the ridge that it calls for:

    λ̃_min = max(λ_min + σ_λ Z − c σ_λ, 0),   λ = max(0, √(d log(2d²/ρ)) σ_G − λ̃_min),   θ = (X'X + E + λI)⁻¹(X'y + e).

What neighbours move and how much noise that takes, by calibration, is in `gram_noise`.

References
----------
Wang (2018), "Revisiting differentially private linear regression", UAI, Algorithm 2; its program adds a noise matrix
that is not symmetric. Kalaja (2020), thesis, U. Helsinki, Algorithm 3. Dwork, Talwar, Thakurta, Zhang (2014), STOC,
Algorithm 1 (symmetric Gaussian noise on X'X). Balle, Wang (2018), ICML, Theorem 8.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Required, Unpack

import numpy as np
import pandas as pd

from synthdp.dp.declarations import Budget, Limits
from synthdp.dp.gram_noise import NOT_SHOWN, Calibration, Sds, checked, noise_of
from synthdp.dp.least_squares import named, symmetric
from synthdp.dp.preparing import declared
from synthdp.dp.request import Price, Priced, Request, below_noise, priced
from synthdp.errors import InputError
from synthdp.privacy.mechanisms import Source
from synthdp.table.microdata import Floats

FAILURE = 0.05


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


@dataclass(frozen=True, repr=False)
class Coefficients(Fit):
    """A released fit in the columns' own units: ``coefficients`` by ``names``, the intercept first.

    ``theta`` is what was released, on rows scaled from the bounds; the rest is arithmetic. ``confidential`` is what the
    curator should know and must not publish.
    """

    names: tuple[str, ...] = field(default=(), kw_only=True)
    coefficients: Floats = field(default_factory=lambda: np.empty(0), kw_only=True)
    confidential: tuple[str, ...] = field(default=(), kw_only=True)

    without_interval = "the ridge that holds the noise down also pulls coefficients towards 0; ols has intervals"

    def __repr__(self) -> str:
        return self.text()

    @property
    def statistic(self) -> str:
        """What was released."""
        return self.method

    def table(self) -> pd.DataFrame:
        """Return the coefficients as a table; they have no intervals."""
        return pd.DataFrame({"estimate": self.coefficients}, index=pd.Index(self.names, name="term"))


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
    return _fitted("SSP", x, y, x_norm, y_bound, calibration, Request(**price))


@priced(RegressionPrice, adjacency="add_remove")
def adassp(
    x: Any,
    y: Any,
    *,
    x_norm: float | None = None,
    y_bound: float | None = None,
    bounds_x: Sequence[Limits] | None = None,
    bounds_y: Limits | None = None,
    names: Sequence[str] | None = None,
    calibration: Calibration = "analytic",
    **price: Unpack[RegressionPrice],
) -> Fit:
    """Return the ridge regression whose ridge is no larger than the noise calls for.

    Parameters
    ----------
    x, y
        Records × predictors, and one response for each record.
    x_norm, y_bound
        For rows that are in a ball already, ‖x_i‖ ≤ ``x_norm`` and |y_i| ≤ ``y_bound``, without an intercept; longer
        rows are refused (`prepare` shortens them).
    bounds_x, bounds_y, names
        Instead of those: the bounds of every predictor and of the response, to which values are clipped. Rows are
        scaled from them, an intercept is added, and what is returned (`Coefficients`) is in the columns' own units.
        ``names`` are those of the response and of each predictor.
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
    >>> ages = rng.uniform(18, 90, (20000, 1))
    >>> own = {"bounds_x": [(18, 90)], "bounds_y": (0, 100), "names": ("score", "age")}
    >>> fit = adassp(ages, 10 + 0.5 * ages[:, 0], **own, epsilon=1, delta=1e-6, source=Simulated(rng))
    >>> fit.names, bool(abs(fit.coefficients[1] - 0.5) < 0.1)
    (('Intercept', 'age'), True)
    """
    request = Request(**price)
    balls, columns = (x_norm, y_bound), (bounds_x, bounds_y)
    if None not in balls and columns == (None, None) and names is None:
        return _fitted("AdaSSP", x, y, *balls, calibration, request)  # type: ignore[arg-type]
    if None in columns or balls != (None, None):
        raise InputError("adassp: give x_norm and y_bound for rows in a ball, or bounds_x and bounds_y for columns.")
    return _of_columns(x, y, *columns, names, calibration, request)  # type: ignore[arg-type]


def _of_columns(
    x: Any,
    y: Any,
    bounds_x: Sequence[Limits],
    bounds_y: Limits,
    names: Sequence[str] | None,
    calibration: Calibration,
    request: Request,
) -> Coefficients:
    """Fit rows scaled from their bounds, with an intercept, and return to the columns' own units."""
    table = pd.DataFrame(x)
    if not table.shape[1]:
        raise InputError("adassp: at least 1 predictor is needed, found 0.")
    names = named(names, ["y", *(f"x{j + 1}" for j in range(table.shape[1]))])
    columns = [y, *(table.iloc[:, j] for j in range(table.shape[1]))]
    response, *inside = request.columns(columns, [bounds_y, *bounds_x], names)
    ready = declared([(one.low, one.high) for one in inside], (response.low, response.high), intercept=True)
    plain = np.column_stack([one.values for one in inside])
    what = f"AdaSSP of {', '.join(names)}"
    rows, scaled = ready.rows(plain), ready.response(plain, response.values)
    fit = _fitted("AdaSSP", rows, scaled, ready.x_norm, 1.0, calibration, request, what)
    first, slopes = ready.coefficients(fit.theta)
    clipped = "for prediction; slopes of the columns as clipped to their bounds"
    return Coefficients(
        fit.method,
        fit.theta,
        fit.ridge,
        fit.budget,
        fit.reason,
        (clipped, *fit.notes),
        names=("Intercept", *names[1:]),
        coefficients=np.array([first, *slopes]),
        confidential=request.confidential,
    )


def _fitted(
    method: Literal["SSP", "AdaSSP"],
    x: Floats,
    y: Floats,
    x_norm: float,
    y_bound: float,
    calibration: Calibration,
    request: Request,
    what: str | None = None,
) -> Fit:
    """Release the sums; AdaSSP releases the smallest eigenvalue before, and shares the budget by three, not two."""
    adaptive = method == "AdaSSP"
    parts = 3 if adaptive else 2
    budget = checked(request.budget, calibration, parts=parts)
    x, y = _checked(x, y, x_norm, y_bound)
    sd = noise_of(budget, calibration, x_norm, y_bound, parts=parts)
    reason = request.reason or (NOT_SHOWN if calibration == "original" else None)
    source = request.source(what or method, reason=reason)
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


def _release(x: Floats, y: Floats, sd: Sds, source: Source) -> tuple[Floats, Floats]:
    upper = np.triu_indices(x.shape[1])
    gram = symmetric(source.gaussian((x.T @ x)[upper], sd=sd.gram, sensitivity=sd.moves[0]))
    return gram, source.gaussian(x.T @ y, sd=sd.cross, sensitivity=sd.moves[1])


def _checked(x: Floats, y: Floats, x_norm: float, y_bound: float) -> tuple[Floats, Floats]:
    try:
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("x: must be numbers, and y as well.") from None
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
