"""Rules for imputed missing data, and for copies of completed originals."""

from collections.abc import Iterator

import numpy as np

from synthdp.inference.rules.rule import (
    BETWEEN,
    MATA_NESTED,
    NESTED,
    PYTHON_NESTED,
    PYTHON_WITHIN,
    R_NESTED,
    R_WITHIN,
    Formula,
    Replicates,
    Rule,
    Spread,
    added,
    over,
    t_df,
)
from synthdp.synthesis.design import Design
from synthdp.table.microdata import Floats


def rubin1987(replicates: Replicates) -> Spread:
    """Return T = v̄ + (1 + 1/M) b and ν = (M − 1)(1 + v̄/((1 + 1/M) b))²: the rule for imputed missing data.

    References
    ----------
    Rubin (1987), Multiple Imputation for Nonresponse in Surveys, equations 3.1.5 and 3.1.6.
    """
    extra = (1 + 1 / replicates.m) * replicates.b
    return added(replicates.v_bar, extra, t_df(replicates.m, replicates.v_bar, extra))


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


def _after_rubin1987(design: Design) -> Iterator[str]:
    if design.completed:  # what is missing is the original itself
        return
    if not design.imputed:
        yield "is for imputed missing data, and nothing was imputed here: intervals come out too wide"
    if design.copies > 1 and design.imputations > 1:
        yield "assumes independent imputations, and here several copies come from each"
    if design.replaced != "none" and design.copies > 1:
        yield "treats replaced values as missing ones: intervals come out too wide"


def _after_reiter2004(design: Design) -> Iterator[str]:
    if not design.imputed or design.imputations < 2:
        yield "is for copies of several completed originals, and here there is one"
    if design.replaced == "none":
        yield "is for synthetic copies of completed originals, and here nothing was replaced"


def _after_rubin2003(design: Design) -> Iterator[str]:
    if not design.imputed or design.imputations < 2:
        yield "is for missing data imputed in two stages, and here they were not"
    if design.replaced != "none":
        yield "treats replaced values as missing ones: intervals come out too wide"


def _satterthwaite(total: Floats, *parts: tuple[Floats, int]) -> Floats:
    """Return ν of a sum of independent mean squares: 1/ν = Σ (part/total)²/its degrees of freedom."""
    inverse = np.sum([np.square(part) / df for part, df in parts], axis=0)
    with np.errstate(over="ignore"):
        return over(np.square(total), np.asarray(inverse))


def _beyond(complete: Floats, total: Floats) -> Floats:
    share = np.divide(complete, total, out=np.ones_like(total), where=total > 0)
    return np.asarray(np.clip(1 - share, 0.0, 1.0))


RUBIN1987 = Rule(
    name="rubin1987",
    words="Rubin (1987), for missing data",
    spread=rubin1987,
    fewest=2,
    imputed=True,
    reasons=_after_rubin1987,
    formula=lambda ratio: Formula(
        source="Rubin 1987",
        reference="Rubin, D. B. (1987). Multiple Imputation for Nonresponse in Surveys. Wiley.",
        steps=f"""{BETWEEN}    total variance      T = ū + (1 + 1/M) b
    interval            q̄ ± t(ν) · √T,   ν = (M - 1) (1 + ū / ((1 + 1/M) b))²""",
        python="""\
b = (1 + 1 / M) * q.var(axis=0, ddof=1)
T = u.mean(axis=0) + b
nu = (M - 1) * (1 + u.mean(axis=0) / b) ** 2""",
        r="""\
b <- (1 + 1 / M) * apply(q, 1, var)
T <- rowMeans(u) + b
nu <- (M - 1) * (1 + rowMeans(u) / b)^2""",
        mata="""\
b = (1 + 1 / M) :* diagonal(variance(q))'
T = mean(u) + b
nu = (M - 1) :* (1 :+ mean(u) :/ b):^2""",
    ),
)
REITER2004 = Rule(
    name="reiter2004",
    words="Reiter (2004), for missing and partially synthetic data",
    spread=reiter2004,
    fewest=2,
    nested=True,
    reasons=_after_reiter2004,
    formula=lambda ratio: Formula(
        source="Reiter 2004: missing values were imputed m times, then r copies made of each",
        reference="Reiter, J. P. (2004). Simultaneous use of multiple imputation for missing data and disclosure "
        "limitation. Survey Methodology 30, 235-242.",
        steps=f"""{NESTED}    total variance      T = (1 + 1/m) B - b̄ / r + ū;   if negative, (1 + 1/m) B + ū
    interval            q̄ ± t(ν) · √T,   1/ν = ((1 + 1/m) B / T)² / (m - 1) + (b̄ / (r T))² / (m (r - 1))""",
        python=f"""{PYTHON_NESTED}{PYTHON_WITHIN}\
T = (1 + 1 / m) * B - b / r + u.mean(axis=0)
nu = T**2 / (((1 + 1 / m) * B) ** 2 / (m - 1) + (b / r) ** 2 / (m * (r - 1)))
nu = np.where(T > 0, nu, (m - 1) * (1 + m * u.mean(axis=0) / ((m + 1) * B)) ** 2)
T = np.where(T > 0, T, (1 + 1 / m) * B + u.mean(axis=0))""",
        r=f"""{R_NESTED}{R_WITHIN}\
T <- (1 + 1 / m) * B - b / r + rowMeans(u)
nu <- T^2 / (((1 + 1 / m) * B)^2 / (m - 1) + (b / r)^2 / (m * (r - 1)))
nu <- ifelse(T > 0, nu, (m - 1) * (1 + m * rowMeans(u) / ((m + 1) * B))^2)
T <- ifelse(T > 0, T, (1 + 1 / m) * B + rowMeans(u))""",
        mata=f"""{MATA_NESTED}\
T = (1 + 1 / m) :* B - b :/ r + mean(u)
nu = T:^2 :/ (((1 + 1 / m) :* B):^2 :/ (m - 1) + (b :/ r):^2 :/ (m * (r - 1)))""",
    ),
)
RUBIN2003 = Rule(
    name="rubin2003",
    words="Rubin (2003), nested multiple imputation",
    spread=rubin2003,
    fewest=2,
    nested=True,
    imputed=True,
    reasons=_after_rubin2003,
    formula=lambda ratio: Formula(
        source="Rubin 2003: missing values were imputed in two stages",
        reference="Rubin, D. B. (2003). Nested multiple imputation of NMES via partially incompatible MCMC. "
        "Statistica Neerlandica 57, 3-18.",
        steps=f"""{NESTED}    total variance      T = ū + (1 + 1/m) B + (1 - 1/r) b̄
    interval            q̄ ± t(ν) · √T,   1/ν = ((1 + 1/m) B / T)² / (m - 1) + ((1 - 1/r) b̄ / T)² / (m (r - 1))""",
        python=f"""{PYTHON_NESTED}{PYTHON_WITHIN}\
T = u.mean(axis=0) + (1 + 1 / m) * B + (1 - 1 / r) * b
nu = T**2 / (((1 + 1 / m) * B) ** 2 / (m - 1) + ((1 - 1 / r) * b) ** 2 / (m * (r - 1)))""",
        r=f"""{R_NESTED}{R_WITHIN}\
T <- rowMeans(u) + (1 + 1 / m) * B + (1 - 1 / r) * b
nu <- T^2 / (((1 + 1 / m) * B)^2 / (m - 1) + ((1 - 1 / r) * b)^2 / (m * (r - 1)))""",
        mata=f"""{MATA_NESTED}\
T = mean(u) + (1 + 1 / m) :* B + (1 - 1 / r) :* b
nu = T:^2 :/ (((1 + 1 / m) :* B):^2 :/ (m - 1) + ((1 - 1 / r) :* b):^2 :/ (m * (r - 1)))""",
    ),
)
