"""Margins of latents that covariates move: over all records these are a mixture of normals, not one.

    y_i = shift_i + e_i,   e_i ~ N(0, 1),   G(y) = mean of Φ(y − shift_i),   x = F⁻¹(G(y))

Read through one normal of the same sd, F⁻¹(Φ(y / s)), values would come out with another distribution than F wherever
risk groups lie far apart.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from synthdp.imputation.copula.latent import Flags
from synthdp.imputation.copula.margins import LevelCurve, NumberCurve
from synthdp.microdata import Floats

BINS, KNOTS, FARTHEST = 512, 2001, 9.0
ROUNDS = 3
LARGEST_SHARE = 0.8  # of the latents' variance that covariates may have


@dataclass(frozen=True, repr=False)
class Mixture:
    """G, as a line.

    Parameters
    ----------
    z, y
        The knots: Φ(z) = G(y).
    """

    z: Floats
    y: Floats

    @classmethod
    def of(cls, shift: Floats) -> "Mixture":
        """Return G of these shifts. O(n), and O(bins · knots)."""
        low, high = float(shift.min()), float(shift.max())
        place = np.minimum(((shift - low) / max(high - low, 1e-12) * BINS).astype(np.int64), BINS - 1)
        counts = np.bincount(place, minlength=BINS)
        used = counts > 0
        centers = np.bincount(place, shift, minlength=BINS)[used] / counts[used]
        share = counts[used] / len(shift)
        y = np.linspace(low - FARTHEST, high + FARTHEST, KNOTS)
        below, above = (ndtr(sign * (y[:, None] - centers)) @ share for sign in (1, -1))
        # from whichever tail keeps the digits
        return cls(np.where(below < above, ndtri(below), -ndtri(above)), y)

    def latents(self, z: Floats) -> Floats:
        """Return G⁻¹(Φ(z)); infinite where z is."""
        return np.where(np.isinf(z), z, np.interp(z, self.z, self.y))

    def applied(self, curve: NumberCurve | LevelCurve, scale: float) -> NumberCurve | LevelCurve:
        """Return the margin read through G, for latents that are divided by ``scale``."""
        if isinstance(curve, LevelCurve):
            return replace(curve, cuts=self.latents(curve.cuts) / scale)
        low, high = (self.latents(limit) / scale for limit in (curve.low, curve.high))
        return replace(curve, u=ndtr(self.latents(ndtri(curve.u)) / scale), low=low, high=high)


def first_shift(scores: Floats, known: Flags, moved: Floats) -> Floats:
    """Return what least squares of a column's latents on covariates says of their shifts, in residual sds.

    Parameters
    ----------
    scores
        The column's normal scores.
    known
        Whose are known.
    moved
        The covariates, n × d, of mean zero.
    """
    y, shift = scores, np.zeros(len(scores))
    for _ in range(ROUNDS):
        effects = np.linalg.lstsq(moved[known], y[known], rcond=None)[0]
        fitted = moved @ effects
        total = float(np.mean(y[known] ** 2))
        rest = max(total - float(np.mean(fitted[known] ** 2)), (1 - LARGEST_SHARE) * total)
        shift = fitted / np.sqrt(rest)
        y = Mixture.of(shift).latents(scores)
    return shift
