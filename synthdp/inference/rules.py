"""Combining rules: from the replicated estimates to a variance and its degrees of freedom, one small function each.

A nest is one completed original (missing data imputed first) or one draw of W. The copies of a nest share what was
drawn for it, so their variance alone says too little, and all m·r copies taken together say it wrongly.

The rules for copies in nests (several imputations, several draws of W) are in ``nested``; ``RULES`` lists all.
"""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from synthdp.table.microdata import Floats

__all__ = [
    "DEFAULT_RULE",
    "RULES",
    "SINGLE_COPY_RULE",
    "Replicates",
    "Rule",
    "Spread",
    "added",
    "over",
    "reiter2003_nested",
    "reiter2004",
    "rubin2003",
    "t_df",
    "unknown_rule",
]


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


def reiter2004(replicates: Replicates) -> Spread:
    """Return T = (1 + 1/m) B − b̄/r + v̄: missing data imputed m times, then r partially synthetic copies of each.

    1/ν = ((1 + 1/m) B)²/((m − 1) T²) + (b̄/r)²/(m (r − 1) T²). Where T is not positive, and for those terms only,
    T = (1 + 1/m) B + v̄ and ν = (m − 1)(1 + m v̄/((m + 1) B))².

    References
    ----------
    Reiter (2004), Survey Methodology 30(2), 235–242: T_M, ν_M and the conservative variance of its closing remarks.
    """
    m, r, v_bar = replicates.nests, replicates.r, replicates.v_bar
    imputed, drawn = (1 + 1 / m) * replicates.between, replicates.within / r
    total = imputed - drawn + v_bar
    sound = total > 0
    kept = added(v_bar, imputed, t_df(m, v_bar, imputed))
    variance = np.where(sound, total, kept.variance)
    df = np.where(sound, _satterthwaite(variance, (imputed, m - 1), (drawn, m * (r - 1))), kept.df)
    return Spread(variance, df, _beyond(v_bar, variance))


def rubin2003(replicates: Replicates) -> Spread:
    """Return T = v̄ + (1/r)(1 + 1/m) MS_b + (1 − 1/r) MS_w: missing data imputed in two stages.

    MS_b = r B, MS_w = b̄; 1/ν = ((1/r)(1 + 1/m) MS_b/T)²/(m − 1) + ((1 − 1/r) MS_w/T)²/(m (r − 1)).

    References
    ----------
    Rubin (2003), Statistica Neerlandica 57(1), 3–18 (nested multiple imputation, after Shen 2000).
    """
    m, r, v_bar = replicates.nests, replicates.r, replicates.v_bar
    first, second = (1 + 1 / m) * replicates.between, (1 - 1 / r) * replicates.within
    variance = v_bar + first + second
    return Spread(variance, _satterthwaite(variance, (first, m - 1), (second, m * (r - 1))), _beyond(v_bar, variance))


def reiter2003_nested(replicates: Replicates) -> Spread:
    """Return T = v̄ + B/m and ν = (m − 1)(1 + m v̄/B)²: W drawn m times, r copies from each draw.

    Given the original, the nests are independent and the mean of a nest estimates what the original would give, so
    Reiter's (2003) argument holds for the means of nests as it does for copies with a W of their own (r = 1). b/(m r)
    over all copies is too small: copies of one nest share the error of their W.

    Notes
    -----
    More copies from the same draws do not make up for few draws: B/m keeps W's share whatever r is.
    """
    m, v_bar = replicates.nests, replicates.v_bar
    extra = replicates.between / m
    return added(v_bar, extra, t_df(m, v_bar, extra))


def _satterthwaite(total: Floats, *parts: tuple[Floats, int]) -> Floats:
    """Return ν of a sum of independent mean squares: 1/ν = Σ (part/total)²/its degrees of freedom."""
    inverse = np.sum([np.square(part) / df for part, df in parts], axis=0)
    with np.errstate(over="ignore"):
        return over(np.square(total), np.asarray(inverse))


def _beyond(complete: Floats, total: Floats) -> Floats:
    share = np.divide(complete, total, out=np.ones_like(total), where=total > 0)
    return np.asarray(np.clip(1 - share, 0.0, 1.0))


DEFAULT_RULE = "reiter2003"
SINGLE_COPY_RULE = "mean_se"


def reiter2003(replicates: Replicates) -> Spread:
    """Return T = b/M + v̄ and ν = (M − 1)(1 + 1/r)², r = b/(M v̄): the rule for partially synthetic copies.

    Notes
    -----
    Holds when every replaced value is drawn from a model fitted to the replaced records only, or to all records when
    all are replaced. The t interval is too short for very few copies: when a whole column is redrawn, nominal 0.95
    covers 0.929 with 2 copies, 0.945 with 3, 0.950 with 5 (by quadrature, in the tests).

    Holds for copies of which every column is drawn anew too, as long as they have as many records as the original:
    then v̄ is the variance of the original's estimate.

    References
    ----------
    Reiter (2003), Survey Methodology 29(2), 181–188: T_p, and ν_p of its t reference
    distribution.
    """
    extra = replicates.b / replicates.m
    return added(replicates.v_bar, extra, t_df(replicates.m, replicates.v_bar, extra))


def rubin1987(replicates: Replicates) -> Spread:
    """Return T = v̄ + (1 + 1/M) b and ν = (M − 1)(1 + v̄/((1 + 1/M) b))²: the rule for imputed missing data.

    References
    ----------
    Rubin (1987), Multiple Imputation for Nonresponse in Surveys, equations 3.1.5 and 3.1.6.
    """
    extra = (1 + 1 / replicates.m) * replicates.b
    return added(replicates.v_bar, extra, t_df(replicates.m, replicates.v_bar, extra))


def raghunathan2003(replicates: Replicates) -> Spread:
    """Return T = (1 + 1/M) b − v̄ and ν = (M − 1)(1 − v̄/((1 + 1/M) b))²: the rule for fully synthetic copies.

    Every column is drawn anew, with parameters of its own for each copy. Where T is not positive it is (n_syn/n) v̄,
    term by term.

    Notes
    -----
    T is a difference, and b has M − 1 degrees of freedom only: with copies as large as the original T is negative for
    20% of the terms at M = 5, 3% at M = 20. Near zero ν vanishes and the interval grows without bound, so that nominal
    0.95 covers 0.996 and 0.992, and 0.952 at M = 100 (by quadrature, in the tests). Use many copies, or
    ``raab2016_proper``, which needs one. We know of no published ν for the replaced T; here it is M − 1.

    References
    ----------
    Raghunathan, Reiter, Rubin (2003), Journal of Official Statistics 19(1), 1–16: T_f and ν_f. Reiter (2002), the same
    journal 18(4), 531–544: the non-negative variance.
    """
    m, v_bar = replicates.m, replicates.v_bar
    spread = (1 + 1 / m) * replicates.b
    sound = spread > v_bar
    variance = np.where(sound, spread - v_bar, replicates.ratio * v_bar)
    share = np.divide(v_bar, spread, out=np.zeros_like(v_bar), where=sound)
    df = np.where(sound, (m - 1) * (1 - share) ** 2, m - 1.0)
    return Spread(variance, df, np.where(sound, np.minimum(over(replicates.b / m, variance), 1.0), 0.0))


def raab2016(replicates: Replicates) -> Spread:
    """Return T = v̄ (n_syn/n + 1/M), normal: every column drawn from a model fitted once; one copy is enough.

    The variance that synthesis adds is known without comparing copies, because a copy is a sample from the fitted
    model: v̄/M.

    References
    ----------
    Raab, Nowok, Dibben (2016), Journal of Privacy and Confidentiality 7(3), 67–97. The four cases (population or
    sample, plug-in or proper) are those that synthpop computes.
    """
    return _scaled(replicates, original=replicates.ratio, extra=1 / replicates.m)


def raab2016_proper(replicates: Replicates) -> Spread:
    """Return T = v̄ (n_syn/n + (1 + n_syn/n)/M), normal: as ``raab2016``, parameters drawn anew for each copy."""
    return _scaled(replicates, original=replicates.ratio, extra=(1 + replicates.ratio) / replicates.m)


def raab2016_sample(replicates: Replicates) -> Spread:
    """Return T = v̄/M, normal: how far q̄ is from the estimate that the original itself would give.

    For ``raab2016``'s design. The interval is for the original's estimate, not for the population's parameter.
    """
    return _scaled(replicates, original=0.0, extra=1 / replicates.m)


def raab2016_sample_proper(replicates: Replicates) -> Spread:
    """Return T = v̄ (1 + n_syn/n)/M, normal: ``raab2016_sample`` when parameters are drawn anew for each copy."""
    return _scaled(replicates, original=0.0, extra=(1 + replicates.ratio) / replicates.m)


def mean_se(replicates: Replicates) -> Spread:
    """Return T = v̄ with normal intervals: blind to the variance that synthesis adds.

    It is what synthpop's comparison of fits uses (its "mean standard error" is √v̄, not the mean of the standard
    errors: checked on its own output), and all that one copy of which some columns are kept can give.
    """
    return _scaled(replicates, original=1.0, extra=0.0)


@dataclass(frozen=True)
class Rule:
    """A combining rule.

    Parameters
    ----------
    spread
        The rule itself.
    fewest
        The fewest copies it can work with; of a nest, when it is ``nested``.
    nested
        Whether the copies form nests, of which there must be two or more.
    label
        What a reader of the interval must know, if anything.
    """

    spread: Callable[[Replicates], Spread]
    fewest: int
    nested: bool = False
    label: str = ""


def _scaled(replicates: Replicates, *, original: float, extra: float) -> Spread:
    v_bar = replicates.v_bar
    return Spread(
        v_bar * (original + extra), np.full_like(v_bar, np.inf), np.full_like(v_bar, extra / (original + extra))
    )


# how alike two names must be for a typing error, as difflib has it
_ALIKE = 0.6
_SAMPLE = "for the estimate that the original would give, not for the population"

RULES: Mapping[str, Rule] = {
    "reiter2003": Rule(reiter2003, fewest=2),
    "rubin1987": Rule(rubin1987, fewest=2),
    "raghunathan2003": Rule(raghunathan2003, fewest=2),
    "reiter2004": Rule(reiter2004, fewest=2, nested=True),
    "rubin2003": Rule(rubin2003, fewest=2, nested=True),
    "reiter2003_nested": Rule(reiter2003_nested, fewest=1, nested=True),
    "raab2016": Rule(raab2016, fewest=1),
    "raab2016_proper": Rule(raab2016_proper, fewest=1),
    "raab2016_sample": Rule(raab2016_sample, fewest=1, label=_SAMPLE),
    "raab2016_sample_proper": Rule(raab2016_sample_proper, fewest=1, label=_SAMPLE),
    "mean_se": Rule(mean_se, fewest=1, label="without the variance that synthesis adds"),
}


def unknown_rule(rule: str) -> str | None:
    """Return a sentence when there is no such rule, with the nearest one that there is."""
    if rule in RULES:
        return None
    likeness = {name: difflib.SequenceMatcher(None, name, rule).ratio() for name in RULES}
    nearest = max(RULES, key=likeness.__getitem__)
    hint = f"did you mean {nearest!r}?" if likeness[nearest] >= _ALIKE else f"choose from {', '.join(RULES)}"
    return f"no combining rule named {rule!r}; {hint}"
