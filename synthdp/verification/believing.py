r"""From a noisy count to what may be believed, by Bayes' rule; post-processing, so it costs nothing.

S blocks of M agree, each with probability r, and s = S + Z is released, Z integer Laplace noise of scale b. With a flat
prior of r the posterior is a mixture of beta distributions,

    p(r | s) = Σ_S w_S Beta(r; S + 1, M − S + 1),   w_S ∝ e^{−|s − S|/b},

since every S is as likely as any other beforehand. r is not the probability that a statement is true: it is how often
an estimate from n/M records would agree. Where the statement is true of what the records are a sample of, r passes 1/2
as blocks grow.

For an overlap, the count is that of blocks whose estimate lies above the middle of the synthetic interval, and
r = Φ(d/√M), d being how many standard errors the confidential estimate lies above the synthetic one. Two intervals of
equal width with z standard errors to each side overlap by 1 − |d|/2z, so by more than L where |d| < 2z(1 − L).

A block's own estimate scatters √M times as much as that of the whole file, so the share of blocks inside ± c says
little of the file: it is small where the statement is true, and with ± √M·c it is large where it is false. Whether more
than half of the blocks lie above an end says on which side of it the file is, whatever the scatter; that is what
``sides`` and ``sign`` ask.

References
----------
Barrientos et al. (2018), Annals of Applied Statistics 12(2) (posterior of r). Karr, Kohnen, Oganian, Reiter, Sanil
(2006), American Statistician 60(3) (overlap).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, ndtr, ndtri

from synthdp.table.microdata import Floats

SURE = 0.95


@dataclass(frozen=True)
class Belief:
    """The posterior of r.

    Parameters
    ----------
    noisy
        The noisy count; it may be below 0 or above M.
    blocks, scale
        M, and the scale b of the noise.

    Examples
    --------
    >>> sure = Belief(noisy=24, blocks=25, scale=1.0)
    >>> round(sure.mean(), 2), sure.more_than(0.5) > 0.99
    (0.92, True)
    """

    noisy: int
    blocks: int
    scale: float

    @cached_property
    def weights(self) -> Floats:
        """How likely each true count is."""
        distance = np.abs(self.noisy - np.arange(self.blocks + 1)) / self.scale
        found = np.exp(distance.min() - distance)
        return np.asarray(found / found.sum())

    def mean(self) -> float:
        """Return the posterior mean of r."""
        return float(self.weights @ ((np.arange(self.blocks + 1) + 1) / (self.blocks + 2)))

    def below(self, r: float) -> float:
        """Return the probability that r is at most this."""
        counts = np.arange(self.blocks + 1)
        return float(self.weights @ betainc(counts + 1, self.blocks - counts + 1, min(max(r, 0.0), 1.0)))

    def more_than(self, r: float) -> float:
        """Return the probability that r is more than this."""
        return 1.0 - self.below(r)

    def interval(self, level: float = SURE) -> tuple[float, float]:
        """Return the central interval of r with this probability."""
        low, high = ((1 + sign * level) / 2 for sign in (-1, 1))
        return self._quantile(low), self._quantile(high)

    def overlapping(self, above: float, level: float) -> float:
        """Return the probability that two intervals of equal width overlap by more than ``above``."""
        reach = self._reach(above, level)
        return self.below(reach) - self.below(1 - reach)

    def overlapping_before(self, above: float, level: float) -> float:
        """Return the same probability before anything was counted, r being flat."""
        return 2 * self._reach(above, level) - 1

    def _reach(self, above: float, level: float) -> float:
        """Return the largest r that goes with such an overlap; the smallest is 1 less it."""
        return float(ndtr(2 * float(ndtri((1 + level) / 2)) * (1 - above) / np.sqrt(self.blocks)))

    def _quantile(self, probability: float) -> float:
        return float(brentq(lambda r: self.below(r) - probability, 0.0, 1.0, xtol=1e-9))


def answer_of(probability: float) -> str:
    """Return what may be said: yes or no where the probability is at least 0.95, undecided otherwise."""
    if probability >= SURE:
        return "yes"
    return "no" if probability <= 1 - SURE else "undecided"
