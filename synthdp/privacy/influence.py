"""How far a unit's value moves published means of a series, its own period's and the other's; see `leakage`."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from synthdp.errors import InputError
from synthdp.privacy.guarantees import floats
from synthdp.privacy.series import Fit
from synthdp.table.microdata import Floats

Attack = Literal["A1", "A2", "A3", "A4"]
Knowledge = Literal["N1", "N2", "N3"]
Form = Literal["exact", "printed", "corrected"]


@dataclass(frozen=True, repr=False)
class Series:
    """What of a series matters for means: sums of columns of A and of its inverse, and the variances behind them."""

    sums: Floats
    variance: float
    inverse: Floats | None
    inverse_variance: float = 0.0

    @classmethod
    def of(cls, transition: npt.ArrayLike, noise: npt.ArrayLike) -> "Series":
        """Return that of a transition and the covariance of its shocks."""
        a, covariance = floats(transition, "transition"), floats(noise, "noise")
        if a.ndim != 2 or a.shape[0] != a.shape[1] or not a.size or not np.isfinite(a).all():
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
    def common(cls, fit: Fit) -> "Series":
        """Return that of a fit whose units all move alike, without its matrices."""
        a, ones, variance = fit.persistence, np.ones(fit.units), max(fit.total_variance, 0.0)
        return cls(a * ones, variance, ones / a, variance / a**2) if a else cls(0 * ones, variance, None)

    @property
    def n(self) -> int:
        """How many units there are."""
        return len(self.sums)

    def moved(self, attack: Attack, unit: int) -> tuple[Floats, float]:
        """Return by how much each unit moves the other period's mean, in Δ, and the variance 1'Σ1 that hides it."""
        if attack != "A2":
            return (self.sums if attack == "A3" else self.sums[[unit]]), self.variance
        if self.inverse is None:
            raise InputError("transition: is singular, so the second period does not tell the first; A2 needs N2.")
        return self.inverse[[unit]], self.inverse_variance

    def mu(self, step: float, sds: list[float], attack: Attack, knowledge: Knowledge, unit: int) -> float:
        """Return μ of the one Gaussian release that an attack amounts to, for noise of these sds."""
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
