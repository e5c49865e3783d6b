"""Bring records into the unit ball before a private regression, and coefficients back to the columns' own units.

| strategy | rows | guarantee |
|---|---|---|
| ``declared`` (default) | scaled from declared bounds, divided by √p | kept |
| ``max_norm`` | z-scores divided by the largest norm (Kalaja 2020, eq. 3.5) | void |
| ``row_norm`` | every z-scored row divided by its own norm (Wang 2018; eq. 3.3) | void |
| ``row_norm_y`` | the same, and y divided by the row's norm too (eq. 3.4) | void |

Means, sds and maxima of the data, which Kalaja (2020) and Wang (2018) use without noise, void the guarantee
(`Preparation.reason`). `paid_bounds` buys bounds with budget instead. Dividing by the row's own norm is a fixed
function of the row; what voids ``row_norm`` is the z-scores and the largest |y|.

Robust private regression (Honkela et al. 2018, Biology Direct 13:1; Kalaja eq. 3.8) clips every column at mean + c·sd
before standardising (``clip=c``), or on both tails (``tails="both"``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from synthdp.dp.declarations import FROM_DATA, Budget, Limits, bounded
from synthdp.dp.quantiles import choose
from synthdp.errors import InputError
from synthdp.privacy.mechanisms import Adjacency, Secure, Source
from synthdp.table.microdata import Floats

Strategy = Literal["declared", "max_norm", "row_norm", "row_norm_y"]
STRATEGIES: tuple[str, ...] = get_args(Strategy)
Tails = Literal["upper", "both"]
CONSTANT = 1e-9
"""An sd under this share of the largest value is rounding: divided by it, a record unlike the rest would explode."""


@dataclass(frozen=True, repr=False)
class Preparation:
    """How rows get into a ball: x → (clip, centre, scale, divide), y → (y − y_centre)/y_scale.

    ``x_norm`` is the radius that results: 1, or √2 with an intercept column of ones (Kalaja's eq. 3.6 leaves that
    column undivided, which a bound of 1 does not cover).
    """

    strategy: Strategy
    low: Floats
    high: Floats
    centre: Floats
    scale: Floats
    radius: float
    y_low: float
    y_high: float
    y_centre: float
    y_scale: float
    intercept: bool
    reason: str | None

    def __repr__(self) -> str:
        return f"Preparation({self.strategy}, {len(self.centre)} predictors{', intercept' if self.intercept else ''})"

    @property
    def x_norm(self) -> float:
        """The largest norm a prepared row can have."""
        return float(np.sqrt(2)) if self.intercept else 1.0

    def rows(self, x: Floats, *, clip: bool = True) -> Floats:
        """Return prepared rows; those beyond the ball are shortened to its surface.

        ``clip=False`` leaves test rows as they are: only the training rows have to keep to the ball.
        """
        z = ((np.clip(x, self.low, self.high) if clip else x) - self.centre) / self.scale
        norms = self._norms(z)
        z = z / norms[:, None]
        if clip:
            z = z / np.maximum(np.linalg.norm(z, axis=1), 1.0)[:, None]
        return np.column_stack([np.ones(len(z)), z]) if self.intercept else z

    def response(self, x: Floats, y: Floats) -> Floats:
        """Return prepared responses in [−1, 1]."""
        scaled = (np.clip(y, self.y_low, self.y_high) - self.y_centre) / self.y_scale
        if self.strategy == "row_norm_y":
            scaled = scaled / self._norms((np.clip(x, self.low, self.high) - self.centre) / self.scale)
        return np.asarray(np.clip(scaled, -1, 1))

    def predict(self, theta: Floats, x: Floats, *, clip: bool = False) -> Floats:
        """Return predictions of y in its own units."""
        found = self.rows(x, clip=clip) @ theta
        if self.strategy == "row_norm_y":
            found = found * self._norms((x - self.centre) / self.scale)
        return np.asarray(self.y_centre + self.y_scale * found)

    def coefficients(self, theta: Floats) -> tuple[float, Floats]:
        """Return intercept and slopes in the columns' own units.

        θ'_j = y_scale·θ_j/(radius·scale_j), θ'_0 = y_centre + y_scale·θ_0 − Σ θ'_j·centre_j (Kalaja 2020, eq. 3.7,
        where y is not centred).
        """
        if self.strategy.startswith("row_norm"):
            raise InputError(
                f"coefficients: {self.strategy} divides each row by its own norm; use max_norm or declared."
            )
        first = float(theta[0]) if self.intercept else 0.0
        slopes = self.y_scale * (theta[1:] if self.intercept else theta) / (self.radius * self.scale)
        return self.y_centre + self.y_scale * first - float(slopes @ self.centre), slopes

    def _norms(self, z: Floats) -> Floats:
        if self.strategy.startswith("row_norm"):
            return np.asarray(np.maximum(np.linalg.norm(z, axis=1), 1e-300))
        return np.full(len(z), self.radius)


def declared(bounds_x: Sequence[tuple[float, float]], bounds_y: tuple[float, float], *, intercept: bool) -> Preparation:
    """Return the preparation by bounds known without the data: the guarantee is kept."""
    x = np.asarray(bounds_x, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != 2 or not np.isfinite(x).all() or (x[:, 0] >= x[:, 1]).any():
        raise InputError("bounds_x: must be an increasing pair of finite numbers for each predictor.")
    low, high = (float(bound) for bound in bounds_y)
    if not low < high:
        raise InputError("bounds_y: must be increasing.")
    return Preparation(
        "declared",
        x[:, 0],
        x[:, 1],
        x.mean(axis=1),
        (x[:, 1] - x[:, 0]) / 2,
        float(np.sqrt(len(x))),
        low,
        high,
        (low + high) / 2,
        (high - low) / 2,
        intercept,
        None,
    )


def prepare(
    x: Floats,
    y: Floats,
    *,
    strategy: Strategy,
    intercept: bool = False,
    clip: float | None = None,
    tails: Tails = "upper",
) -> Preparation:
    """Return a preparation whose means, sds and maxima are the data's: nothing formal can be claimed with it."""
    if strategy not in STRATEGIES or strategy == "declared":
        raise InputError(f"strategy: must be max_norm, row_norm or row_norm_y, found {strategy!r}; or use declared().")
    if clip is not None and not clip > 0:
        raise InputError(f"clip: must be above 0, found {clip}.")
    mean, sd = x.mean(axis=0), x.std(axis=0, ddof=1)
    high = np.full(x.shape[1], np.inf) if clip is None else mean + clip * sd
    low = mean - clip * sd if clip is not None and tails == "both" else np.full(x.shape[1], -np.inf)
    clipped = np.clip(x, low, high)
    centre, scale = clipped.mean(axis=0), clipped.std(axis=0, ddof=1)
    constant = scale <= CONSTANT * np.abs(x).max(axis=0)
    if constant.any():
        raise InputError(f"x: predictor {int(constant.argmax()) + 1} is constant; leave it out.")
    z = (clipped - centre) / scale
    norms = np.linalg.norm(z, axis=1)
    radius = float(norms.max())
    widest = float(np.abs(y).max())
    if strategy == "row_norm_y":
        widest *= float((np.abs(y) / widest / np.maximum(norms, 1e-300)).max())
    return Preparation(strategy, low, high, centre, scale, radius, -np.inf, np.inf, 0.0, widest, intercept, FROM_DATA)


def paid_bounds(
    columns: Sequence[Floats],
    *,
    within: Sequence[Limits],
    epsilon: float,
    tail: float = 0.02,
    adjacency: Adjacency = "replace",
    source: Source | None = None,
) -> list[tuple[float, float]]:
    """Return bounds bought with budget: two private quantiles of every column inside wide declared bounds.

    Every quantile costs ε/(2 × columns); add ε to what the regression costs.
    """
    budget = Budget(epsilon, 0.0, adjacency)
    source = source or Secure()
    found = []
    for column, limits in zip(columns, within, strict=True):
        inside = bounded(column, limits, budget)
        low, high = sorted(choose(inside, at, budget.part(1 / (2 * len(columns))), source) for at in (tail, 1 - tail))
        if low == high:
            raise InputError("bounds: both private quantiles of a column are equal; raise epsilon or declare bounds.")
        found.append((low, high))
    return found
