"""Tests of several coefficients at once, over several copies."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from synthdp.errors import InputError
from synthdp.inference.rules import RULES, Replicates
from synthdp.table.microdata import Floats

# share of a term's variance that the others must leave unexplained: less is rounding error
SINGULAR = 1e-10


@dataclass(frozen=True, eq=False)
class Moments:
    """The mean estimate q̄, the covariance B between copies and the mean covariance V̄ within them.

    Parameters
    ----------
    q_bar, between, within
        p, p × p, p × p.
    copies
        M.
    ratio
        Records of a copy over records of the original.
    """

    q_bar: Floats
    between: Floats
    within: Floats
    copies: int
    ratio: float = 1.0


@dataclass(frozen=True)
class Wald:
    """A test that several terms have given values.

    Parameters
    ----------
    terms
        What is tested.
    statistic, df1, df2, p_value
        The statistic and its F reference; infinite ``df2`` stands for χ²/df1.
    rule
        The combining rule it belongs to.
    """

    terms: tuple[str, ...]
    statistic: float
    df1: int
    df2: float
    p_value: float
    rule: str

    def __str__(self) -> str:
        df2 = "inf" if self.df2 > 9999 else f"{self.df2:.1f}"
        p = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"
        return f"F({self.df1}, {df2}) = {self.statistic:.4g}, {p} ({', '.join(self.terms)}; {self.rule})"


def wald(
    moments: Moments, names: Sequence[str], rule: str, terms: Sequence[str] | None = None, value: float | Floats = 0.0
) -> Wald:
    """Test that terms have given values, by the rule that combines them.

    With k terms, d = q̄ − value and ρ = tr(B V̄⁻¹)/k,

        S = d′ V̄⁻¹ d / (k c),     S ~ F(k, w),     w = 4 + (t − 4)(1 ± (1 − 2/t)/r)²,     t = k (M − 1)

    * reiter2003: r = ρ/M, c = 1 + r, +;
    * rubin1987: r = (1 + 1/M) ρ, c = 1 + r, +;
    * raghunathan2003: r = (1 + 1/M) ρ, c = r − 1, −;
    * rules with normal intervals (raab2016, mean_se): c is the rule's own multiple of V̄, and S ~ χ²(k)/k.

    For t ≤ 4, w = t (1 + 1/k)(1 ± 1/r)²/2. One term gives the square of its t test.

    Raises
    ------
    InputError
        When a term is unknown, the covariance is singular, or the rule has no such test here.

    References
    ----------
    Reiter (2005), Journal of Statistical Planning and Inference 131(2), 365–377: S_p and S_f. Li, Raghunathan, Rubin
    (1991), JASA 86(416), 1065–1073 (the missing-data case; w for t ≤ 4).
    """
    chosen = _positions(names, terms)
    tested = tuple(names[j] for j in chosen)
    d = moments.q_bar[chosen] - value
    within, between = moments.within[np.ix_(chosen, chosen)], moments.between[np.ix_(chosen, chosen)]
    inverse = _inverse(within, tested)
    k, m = len(tested), moments.copies
    rho = float(np.sum(between * inverse)) / k
    scale, r, sign = _scale(rule, rho, m, moments.ratio)
    if scale <= 0:
        raise InputError(
            f"wald: the variance that {rule} gives {', '.join(tested)} together is not positive; "
            "more copies are needed, or another rule."
        )
    statistic = float(d @ inverse @ d) / (k * scale)
    df2 = _df2(k * (m - 1), k, r, sign)
    p_value = float(fdtrc(k, min(df2, 1e12), statistic))
    return Wald(tested, statistic, k, df2, p_value, rule)


def _scale(rule: str, rho: float, m: int, ratio: float) -> tuple[float, float, int]:
    """Return c, r and the sign in w; r = 0 stands for a known variance."""
    if rule == "reiter2003":
        return 1 + rho / m, rho / m, 1
    if rule == "rubin1987":
        r = (1 + 1 / m) * rho
        return 1 + r, r, 1
    if rule == "raghunathan2003":
        r = (1 + 1 / m) * rho
        return r - 1, r, -1
    if not RULES[rule].formula(ratio).exact:
        raise InputError(f"wald: there is no test of several terms for {rule}; test them one at a time.")
    unit = Replicates(np.zeros((m, 1)), np.ones((m, 1)), ratio=ratio)
    return float(RULES[rule].spread(unit).variance[0]), 0.0, 1


def _df2(t: int, k: int, r: float, sign: int) -> float:
    if r == 0:
        return np.inf
    if t > 4:
        return float(4 + (t - 4) * (1 + sign * (1 - 2 / t) / r) ** 2)
    return float(t * (1 + 1 / k) * (1 + sign / r) ** 2 / 2)


def _inverse(within: Floats, tested: Sequence[str]) -> Floats:
    """Return V̄⁻¹, or refuse."""
    sd = np.sqrt(np.diag(within))
    units = np.outer(sd, sd)
    sound = bool(np.all(np.isfinite(within)) and np.all(sd > 0))
    if not sound or float(np.linalg.eigvalsh(within / units)[0]) < SINGULAR:
        raise InputError(
            f"wald: the covariance of {', '.join(tested)} is singular; leave out a term that the others determine."
        )
    return np.asarray(np.linalg.inv(within / units) / units)


def _positions(names: Sequence[str], terms: Sequence[str] | None) -> list[int]:
    if terms is not None and not isinstance(terms, Sequence):
        raise InputError(f"wald: terms must be a list of names, found {type(terms).__name__}.")
    wanted = [terms] if isinstance(terms, str) else list(names if terms is None else terms)
    if not wanted:
        raise InputError("wald: needs at least one term, found none.")
    if unknown := [term for term in wanted if term not in names]:
        raise InputError(f"wald: no term named {unknown[0]!r}; there are {', '.join(names)}.")
    return [list(names).index(term) for term in wanted]
