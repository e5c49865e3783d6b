"""Fitting a VAR(1) to the confidential series of several units, for `synthdp.privacy.leakage`.

    X_t = c + A X_{t−1} + B_t,   B_t ~ N(0, Σ)

``full``: every entry of A and Σ by least squares, which takes more periods than units. ``common``: A = aI, all
variances σ² and all correlations ρ, pooled over units, which takes four periods of any number of units: a unit's own
last value tells its next one, and shocks are shared.

The fit is made without noise: what it says is confidential, and so is whatever is computed from it.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.table.microdata import Floats

Structure = Literal["full", "common"]
LEAST_PERIODS = 4


@dataclass(frozen=True, repr=False)
class Fit:
    """A VAR(1) that was fitted: ``transition`` is A, ``noise`` is Σ; ``persistence`` the largest |eigenvalue| of A."""

    transition: Floats
    noise: Floats
    structure: Structure
    periods: int

    def __repr__(self) -> str:
        return f"Fit({self.structure} VAR(1), {len(self.transition)} units, {self.periods} periods)"

    @property
    def persistence(self) -> float:
        """The largest absolute eigenvalue of A, under 1 for a stationary series."""
        return persistence(self.transition)


def persistence(transition: Floats) -> float:
    """Return the largest absolute eigenvalue."""
    return float(np.abs(np.linalg.eigvals(transition)).max())


def fit_var(frame: pd.DataFrame, *, structure: Structure = "full") -> Fit:
    """Fit a VAR(1) to a table with a row for each period, in order, and a column for each unit.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = np.zeros((500, 2))
    >>> for t in range(1, 500):
    ...     x[t] = x[t - 1] @ np.array([[0.5, 0.0], [0.2, 0.5]]) + rng.standard_normal(2)
    >>> bool(np.abs(fit_var(pd.DataFrame(x)).transition - [[0.5, 0.2], [0.0, 0.5]]).max() < 0.15)
    True
    """
    if structure not in get_args(Structure):
        raise InputError(f"structure: must be full or common, found {structure!r}.")
    x = _numbers(frame)
    periods, n = x.shape
    needed = 2 * n + 2 if structure == "full" else LEAST_PERIODS
    if periods < needed:
        more = "; use structure common" if structure == "full" and periods >= LEAST_PERIODS else ""
        raise InputError(f"series: {needed} periods are needed for {n} units, found {periods}{more}.")
    before, after = x[:-1] - x[:-1].mean(axis=0), x[1:] - x[1:].mean(axis=0)
    if np.linalg.matrix_rank(before) < (n if structure == "full" else 1):
        raise InputError("series: some units are constant or move together exactly; leave them out, or use common.")
    if structure == "full":
        transition = np.linalg.lstsq(before, after, rcond=None)[0].T
        rest = after - before @ transition.T
        noise = rest.T @ rest / (periods - 2 - n)
    else:
        common = float((before * after).sum() / (before**2).sum())
        transition = common * np.eye(n)
        rest = after - common * before
        sums = rest.T @ rest / (periods - 2)
        variance, total = float(np.trace(sums)) / n, float(sums.sum())
        shared = 0.0 if n == 1 else float(np.clip((total / variance - n) / (n * (n - 1)), -1 / (n - 1), 1))
        noise = variance * ((1 - shared) * np.eye(n) + shared)
    if persistence(transition) >= 1:
        raise InputError("series: is not stationary as fitted (an eigenvalue of 1 or more); take differences first.")
    return Fit(np.asarray(transition), np.asarray(noise), structure, periods)


def _numbers(frame: pd.DataFrame) -> Floats:
    if not isinstance(frame, pd.DataFrame) or not frame.shape[1]:
        raise InputError("series: must be a table with a row for each period and a column for each unit.")
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            raise InputError(f"series.{name}: must be numbers.")
        missing = int(frame[name].isna().sum())
        if missing:
            raise InputError(f"series.{name}: {missing} values are missing; fill them in.")
    return frame.to_numpy(dtype=np.float64)
