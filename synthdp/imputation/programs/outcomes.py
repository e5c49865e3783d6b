"""Families a column may have beyond those of ``imputation.families``: Student-t and log-normal numbers.

    student_t:   t = η + σ e,  e ~ t(ν);        log_normal:   log(x - zero) = m + s (η + σ e),  e ~ N(0, 1)

Both are densities on the working scale, where the mask's evidence lives; given that evidence neither has a closed form,
so each says where a normal proposal should go (see ``candidates``).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from synthdp.links import Link
from synthdp.microdata import Floats


@dataclass(frozen=True, repr=False)
class StudentDraw:
    """One draw of the coefficients, of the scale σ and of the degrees of freedom ν."""

    beta: Floats
    scale: float
    freedom: float

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return the log density of each record."""
        nu = self.freedom
        constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) - np.log(self.scale)
        return np.asarray(constant - 0.5 * (nu + 1) * np.log1p(((y - eta[:, 0]) / self.scale) ** 2 / nu))

    def simulate(self, eta: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw y of each record from the model alone."""
        return np.asarray(eta[:, 0] + self.scale * rng.standard_t(self.freedom, len(eta)))

    def around(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return center and sd of a normal density that resembles the middle of this one."""
        return eta[:, 0], np.full(len(eta), self.scale)


@dataclass(frozen=True, repr=False)
class LogNormalDraw:
    """One draw of the coefficients and of the residual sd σ, both of the standardised log.

    Parameters
    ----------
    zero
        Where the log begins: the column's lower bound, or zero.
    center, spread
        m and s, the mean and the sd of the logs of the records.
    link
        The column's working scale, not bent by a transform.
    """

    beta: Floats
    sd: float
    zero: float
    center: float
    spread: float
    link: Link

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return the log density of each record on the working scale; minus infinity at zero and below."""
        above = self.link.inverse(y) - self.zero
        inside = above > 0
        log = np.log(np.where(inside, above, 1.0))
        z = ((log - self.center) / self.spread - eta[:, 0]) / self.sd
        jacobian = np.log(self.link.spread) - log - np.log(self.spread * self.sd)
        return np.where(inside, -0.5 * z**2 - 0.5 * np.log(2 * np.pi) + jacobian, -np.inf)

    def simulate(self, eta: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw y of each record from the model alone."""
        return self._working(eta[:, 0] + self.sd * rng.standard_normal(len(eta)))

    def around(self, eta: Floats) -> tuple[Floats, Floats]:
        """Return the median, and the sd of the normal density that touches there."""
        middle = self._working(eta[:, 0])
        above = self.link.inverse(middle) - self.zero
        return middle, np.asarray(above * self.spread * self.sd / self.link.spread)

    def _working(self, z: Floats) -> Floats:
        return self.link.forward(self.zero + np.exp(self.center + self.spread * z))
