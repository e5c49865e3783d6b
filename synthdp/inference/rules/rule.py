"""What a combining rule is, and what the rules have in common: moments of replicated estimates, and words for them.

A nest is one completed original (missing data imputed first) or one draw of W. The copies of a nest share what was
drawn for it, so their variance alone says too little, and all m·r copies taken together say it wrongly.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from synthdp.synthesis.design import Design
from synthdp.table.microdata import Floats


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


@dataclass(frozen=True)
class Formula:
    """One rule in writing, for each reader; M, m and r stand for themselves.

    Parameters
    ----------
    source, reference
        Who it is from, in short and in full.
    steps
        The formula from estimates q and variances u on.
    python, r, mata
        The same as code: from ``q`` and ``u`` (copies in rows; in columns for R) to ``T`` and, for t intervals, ``nu``.
    """

    source: str
    reference: str
    steps: str
    python: str
    r: str
    mata: str

    @property
    def exact(self) -> bool:
        """Whether intervals are normal, with no degrees of freedom."""
        return "nu =" not in self.python


@dataclass(frozen=True)
class Rule:
    """A combining rule: the variance of the mean estimate, when it holds, and how it is told.

    Parameters
    ----------
    name
        How configs and releases call it.
    words
        How the report calls it, after "pooled by the rule of".
    spread
        The rule itself: variance, degrees of freedom, and the share of the variance that synthesis brought.
    fewest
        The fewest copies it can work with; of a nest, when it is ``nested``.
    reasons
        Why it does not fit a design, in half sentences that follow its name; none where it does.
    formula
        How a README writes it, given records of a copy over records of the original.
    nested
        Whether the copies form nests, of which there must be two or more.
    imputed
        Whether it is a rule for imputed data, which software for missing data applies by itself.
    label
        What a reader of the interval must know, if anything.
    """

    name: str
    words: str
    spread: Callable[[Replicates], Spread]
    fewest: int
    reasons: Callable[[Design], Iterator[str]]
    formula: Callable[[float], Formula]
    nested: bool = False
    imputed: bool = False
    label: str = ""

    def too_few(self, design: Design) -> str | None:
        """Return that a design has fewer copies than the rule needs, in half a sentence; None where it has enough."""
        found = design.copies if self.nested else design.files
        if found >= self.fewest:
            return None
        return f"needs at least {self.fewest} copies{' of each' if self.nested else ''}, found {found}"


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


def scaled(replicates: Replicates, *, original: float, extra: float) -> Spread:
    """Return T = v̄ (original + extra), normal: nothing is learnt from how the copies differ."""
    v_bar = replicates.v_bar
    return Spread(
        v_bar * (original + extra), np.full_like(v_bar, np.inf), np.full_like(v_bar, extra / (original + extra))
    )


# how formulas begin, for readers and in code
MEANS = """\
    estimate            q̄ = mean of the q
    within variance     ū = mean of the u
"""
BETWEEN = """\
    estimate            q̄ = mean of the q
    between variance    b = Σ (q - q̄)² / (M - 1)
    within variance     ū = mean of the u
"""
NESTED = """\
    estimate            q̄ = mean of all q
    within variance     ū = mean of all u
    between nests       B = variance of the means of the m nests (the first number in the files' names)
    within nests        b̄ = mean over the nests of the variance of their r estimates
"""
PYTHON_NESTED = """\
nests = q.reshape(m, r, *q.shape[1:])
B = nests.mean(axis=1).var(axis=0, ddof=1)
"""
PYTHON_WITHIN = "b = nests.var(axis=1, ddof=1).mean(axis=0)\n"
R_NESTED = """\
nest <- rep(seq_len(m), each = r)
B <- apply(q, 1, function(x) var(tapply(x, nest, mean)))
"""
R_WITHIN = "b <- apply(q, 1, function(x) mean(tapply(x, nest, var)))\n"
MATA_NESTED = """\
means = J(m, cols(q), .)
b = J(1, cols(q), 0)
for (i = 1; i <= m; i++) means[i, .] = mean(q[|(i-1)*r+1, 1 \\ i*r, cols(q)|])
for (i = 1; i <= m; i++) if (r > 1) b = b + diagonal(variance(q[|(i-1)*r+1, 1 \\ i*r, cols(q)|]))' :/ m
B = diagonal(variance(means))'
"""
RAAB_2016 = (
    "Raab, G. M., Nowok, B., Dibben, C. (2016). Practical data synthesis for large samples. Journal of Privacy and "
    "Confidentiality 7(3), 67-97."
)
