"""Binary regression: P(y = 1) = F(η), F = Φ or logistic, η = x'β."""

from dataclasses import dataclass

import numpy as np

from synthdp.imputation.binary import BinaryPosterior, LinkName, log_probability
from synthdp.imputation.families.levels import Enumerated
from synthdp.imputation.families.protocol import LOCATION_SD, proper
from synthdp.microdata import Floats


@dataclass(frozen=True)
class Binary:
    """Probit or logit regression with a normal prior.

    Parameters
    ----------
    location_sd
        Prior sd of the constant, where its prior would be flat: the mode stays finite when everybody has one level.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> design = np.column_stack([np.ones(50), rng.normal(size=50)])
    >>> drawn = Binary().fit(design, np.zeros(50), np.array([np.inf, 2.5]), rng=rng).draw(rng=rng)
    >>> drawn.log_levels(design @ drawn.beta).shape
    (50, 2)
    """

    link: LinkName = "probit"
    location_sd: float = LOCATION_SD

    def fit(self, design: Floats, y: Floats, prior_sd: Floats, *, rng: np.random.Generator) -> "BinaryFamilyPosterior":
        """Return the posterior. Cost O(n·d²) per Newton iteration."""
        prior = proper(prior_sd, self.location_sd)
        return BinaryFamilyPosterior(BinaryPosterior.fit(design, y, prior, link=self.link, rng=rng))


@dataclass(frozen=True, repr=False)
class BinaryFamilyPosterior:
    """The posterior of the coefficients."""

    fitted: BinaryPosterior

    def draw(self, *, rng: np.random.Generator) -> "BinaryDraw":
        """Draw β."""
        return BinaryDraw(self.fitted.draw(rng=rng)[:, None], self.fitted.link)


@dataclass(frozen=True, repr=False)
class BinaryDraw(Enumerated):
    """One draw of the coefficients."""

    beta: Floats
    link: LinkName

    def log_levels(self, eta: Floats) -> Floats:
        """Return log P(y = 0) and log P(y = 1), n × 2."""
        return log_probability(eta[:, :1] * np.array([-1.0, 1.0]), self.link)

    def log_density(self, y: Floats, eta: Floats) -> Floats:
        """Return log P(y | η) of each record, without that of the other level."""
        return log_probability(np.where(y == 1, eta[:, 0], -eta[:, 0]), self.link)

    def level_values(self) -> Floats:
        """Return the positions of the levels."""
        return np.arange(2.0)
