"""What a combining rule works on, and what it gives."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from synthdp.microdata import Floats


@dataclass(frozen=True, eq=False)
class Replicates:
    """The estimates q and their variances v, M copies × p terms.

    Parameters
    ----------
    q, v
        Estimates and variances; copies of one nest stand together.
    nests
        How many nests of equal size the copies form.
    ratio
        Records of a copy over records of the original.
    """

    q: Floats
    v: Floats
    nests: int = 1
    ratio: float = 1.0

    @property
    def m(self) -> int:
        """How many copies there are."""
        return len(self.q)

    @property
    def r(self) -> int:
        """How many copies a nest has."""
        return self.m // self.nests

    @cached_property
    def v_bar(self) -> Floats:
        """The mean variance within copies."""
        return np.asarray(self.v.mean(axis=0))

    @cached_property
    def b(self) -> Floats:
        """The variance between copies, Σ(q_m − q̄)²/(M − 1); zero for one copy."""
        if self.m == 1:
            return np.zeros_like(self.v_bar)
        return np.asarray(self.q.var(axis=0, ddof=1))

    @cached_property
    def between(self) -> Floats:
        """B, the variance between the means of the nests."""
        return np.asarray(self._nested.mean(axis=1).var(axis=0, ddof=1))

    @cached_property
    def within(self) -> Floats:
        """b̄, the mean over nests of the variance between the copies of one nest."""
        return np.asarray(self._nested.var(axis=1, ddof=1).mean(axis=0))

    @property
    def _nested(self) -> Floats:
        return self.q.reshape(self.nests, self.r, -1)


class Spread(NamedTuple):
    """The variance T, the degrees of freedom ν, and the share of T that is not the variance of the complete data."""

    variance: Floats
    df: Floats
    fraction: Floats


def added(complete: Floats, extra: Floats, df: Floats) -> Spread:
    """Return a variance that is the complete data's and something more."""
    total = complete + extra
    return Spread(total, df, np.divide(extra, total, out=np.zeros_like(total), where=total > 0))


def t_df(count: int, complete: Floats, extra: Floats) -> Floats:
    """Return ν = (count − 1)(1 + complete/extra)², infinite where nothing is extra."""
    with np.errstate(over="ignore"):  # next to nothing extra: as good as infinite
        return np.asarray((count - 1) * (1 + over(complete, extra)) ** 2)


def over(numerator: Floats, denominator: Floats) -> Floats:
    """Return the ratio, infinite where the denominator is zero (copies that agree exactly need no t)."""
    return np.divide(numerator, denominator, out=np.full_like(numerator, np.inf), where=denominator > 0)
