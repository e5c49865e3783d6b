"""The posterior of a numeric key in closed form, to hold the intruders against."""

from dataclasses import dataclass

import numpy as np

from synthdp.arrays import Codes, Floats


@dataclass(frozen=True, repr=False)
class GaussianChannel:
    """A numeric key released as y_m = a + b x + u + e_m, with u common to the copies of a record and e_m to none.

    Noise once for all copies has sd 0 and a common part; noise per copy has no common part. A draw from a regression
    given a Gaussian mask is of this form, with a different for every row.

    Parameters
    ----------
    x
        True values, shape (n,).
    y
        Released values, shape (M, n).
    sd, common
        Standard deviations of e and u; not both zero.
    intercept, slope
        a, one number or one for each row, and b.
    prior_mean, prior_sd
        Of x given what else a row shows, one mean or one for each row; an infinite sd says that it shows nothing.
    """

    x: Floats
    y: Floats
    sd: float
    common: float = 0.0
    intercept: Floats | float = 0.0
    slope: float = 1.0
    prior_mean: Floats | float = 0.0
    prior_sd: float = np.inf

    def __repr__(self) -> str:
        return f"GaussianChannel({len(self.x)} records, {len(self.y)} copies)"

    def __call__(self, targets: Codes, rows: Codes) -> Floats:
        """Return log p(x of targets | y of rows) up to a constant.

        With ȳ the mean of M copies and s² = sd²/M + common², the precision of x is 1/prior_sd² + b²/s², and its mean
        the average of prior_mean and (ȳ − a)/b, weighted by these two.
        """
        told = self.slope**2 / (self.sd**2 / len(self.y) + self.common**2)
        before = self.prior_sd**-2
        seen = told / self.slope * (self.y.mean(axis=0) - self.intercept) if self.slope else np.zeros(len(self.x))
        mean = (before * self.prior_mean + seen) / (before + told)
        gap = mean[rows][None, :] - self.x[targets][:, None]
        return np.asarray(-0.5 * (before + told) * gap**2)
