"""Fitting a VAR(1) to the confidential series of several units, for `synthdp.privacy.leakage`.

    X_t = c + A X_{t−1} + B_t,   B_t ~ N(0, Σ)

``full``: every entry of A and Σ by least squares, which takes more periods than units. ``common``: A = aI, all
variances σ² and all correlations ρ, pooled over units, which takes four periods of any number of units: a unit's own
last value tells its next one, and shocks are shared.

The fit is made without noise: what it says is confidential, and so is whatever is computed from it. In short series
persistence comes out too low, by about (1 + a)/periods where levels of many units are pooled, and with it what is
learnt: look at larger values as well.

References
----------
Lütkepohl (2005), "New introduction to multiple time series analysis", section 3.2 (least squares). Nickell (1981),
"Biases in dynamic models with fixed effects", Econometrica 49(6) (short series).
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.table.microdata import Floats

Structure = Literal["full", "common"]
LEAST_PERIODS = 4
LARGEST = 1e70
UNIT_ROOT = 1e-9


@dataclass(frozen=True, repr=False)
class Fit:
    """A VAR(1) that was fitted.

    Attributes
    ----------
    structure, periods, units
        What was fitted to what.
    persistence
        The largest |eigenvalue| of A, under 1 for a stationary series; a where A = aI.
    matrices
        A and Σ of a ``full`` fit; None for ``common``, which many units can have.
    variance, correlation
        σ² and ρ of a ``common`` fit.
    """

    structure: Structure
    periods: int
    units: int
    persistence: float
    matrices: tuple[Floats, Floats] | None = None
    variance: float = 0.0
    correlation: float = 0.0

    def __repr__(self) -> str:
        return f"Fit({self.structure} VAR(1), {self.units} units, {self.periods} periods)"

    @property
    def transition(self) -> Floats:
        """A."""
        return self.matrices[0] if self.matrices else self.persistence * np.eye(self.units)

    @property
    def noise(self) -> Floats:
        """Σ."""
        if self.matrices:
            return self.matrices[1]
        return self.variance * ((1 - self.correlation) * np.eye(self.units) + self.correlation)

    @property
    def total_variance(self) -> float:
        """1'Σ1, the variance of the sum of all shocks."""
        if self.matrices:
            return float(self.matrices[1].sum())
        return self.units * self.variance * (1 + (self.units - 1) * self.correlation)


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
    fitted = _full(before, after) if structure == "full" else _common(before, after)
    # a trend without shocks comes out a rounding below 1
    if abs(fitted.persistence) > 1 - UNIT_ROOT:
        raise InputError("series: is not stationary as fitted (an eigenvalue of 1 or more); take differences first.")
    return fitted


def _full(before: Floats, after: Floats) -> Fit:
    steps, n = before.shape
    if np.linalg.matrix_rank(before) < n:
        raise InputError("series: some units are constant or move together exactly; leave them out, or use common.")
    transition = np.asarray(np.linalg.lstsq(before, after, rcond=None)[0].T, dtype=np.float64)
    rest = after - before @ transition.T
    noise = rest.T @ rest / (steps - 1 - n)
    return Fit("full", steps + 1, n, persistence(transition), (transition, np.asarray(noise)))


def _common(before: Floats, after: Floats) -> Fit:
    steps, n = before.shape
    spread = float((before**2).sum())
    if spread == 0:
        raise InputError("series: all units are constant; there is nothing to fit.")
    common = float((before * after).sum()) / spread
    rest = after - common * before
    variance = float((rest**2).sum()) / (n * (steps - 1))
    total = float((rest.sum(axis=1) ** 2).sum()) / (steps - 1)
    # shocks that are all 0 have no correlation
    shared = 0.0 if n == 1 or variance == 0 else float(np.clip((total / variance - n) / (n * (n - 1)), -1 / (n - 1), 1))
    return Fit("common", steps + 1, n, common, None, variance, shared)


def _numbers(frame: pd.DataFrame) -> Floats:
    if not isinstance(frame, pd.DataFrame) or not frame.shape[1]:
        raise InputError("series: must be a table with a row for each period and a column for each unit.")
    for name in frame.columns:
        if list(frame.columns).count(name) > 1:
            raise InputError(f"series.{name}: is the name of more than one column; rename them.")
        if not pd.api.types.is_numeric_dtype(frame[name]) or pd.api.types.is_complex_dtype(frame[name]):
            raise InputError(f"series.{name}: must be numbers.")
        missing = int(frame[name].isna().sum())
        if missing:
            raise InputError(f"series.{name}: {missing} values are missing; fill them in.")
        # squares of squares must still be numbers
        wild = int((np.abs(frame[name].to_numpy(dtype=np.float64)) > LARGEST).sum())
        if wild:
            raise InputError(f"series.{name}: {wild} values are infinite or beyond {LARGEST:g}; use a larger unit.")
    return frame.to_numpy(dtype=np.float64)
