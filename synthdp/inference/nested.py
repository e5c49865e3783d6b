"""Combining rules for copies in nests: m nests of r copies each.

A nest is one completed original (missing data imputed first) or one draw of W. The copies of a nest share what was
drawn for it, so their variance alone says too little, and all m·r copies taken together say it wrongly.
"""

import numpy as np

from synthdp.inference.replicates import Replicates, Spread, added, over, t_df
from synthdp.microdata import Floats


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
