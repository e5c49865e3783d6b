"""Whether an analyst would conclude the same.

Interval overlap and standardised difference, term by term, and a Wald test of all terms.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import chdtrc, fdtrc

from synthdp.arrays import Floats
from synthdp.budget import go_on
from synthdp.errors import InputError, SynthdpError
from synthdp.evaluation.comparison import Comparison, Sizes, clusters, sizes_of, split, summarise
from synthdp.inference.analyses import Analysis, Estimates
from synthdp.inference.combining import DEFAULT_RULE, RULES, SINGLE_COPY_RULE, Pooled, half_width
from synthdp.inference.pooling import pool

# directions of the covariance with less than this share of the largest are none
RANK = 1e-10
LEVEL = 0.95


def lack_of_fit(
    difference: Floats, covariance: Floats, pooled: Pooled, order: list[int], *, sizes: Sizes, proper: bool | None
) -> dict[str, Any]:
    """Return the test that the mean coefficients of the copies are those of the original, all at once.

    With d the p differences, V the original's covariance, n its records, k those of a copy and M copies:

    * X = d′ (V n/(k M))⁻¹ d ~ χ²(p) for copies drawn whole from a model fitted to the original (plug-in, and where
      nothing is known); this is the lack-of-fit test that synthpop's comparison of fits prints. Where parameters were
      drawn from their posterior (``proper``) the variance is V (1 + n/k)/M. Kept columns make X smaller than χ².
    * ``from_copies`` holds for any design with M ≥ 2: the variance of synthesis is what the copies themselves show.
      With B the covariance between copies and ρ = tr(B V⁻¹)/p, F = d′V⁻¹d M/(p ρ) ~ F(p, p(M − 1)) when B is
      proportional to V.

    Parameters
    ----------
    difference, covariance
        d and V, in the order of the original's terms.
    pooled
        The combined estimates; ``order`` says where each term of the original is among them.
    sizes
        n and k.
    proper
        Whether the parameters behind the copies were drawn from their posterior; None when it is not known.

    Returns
    -------
    dict
        ``statistic``, ``df`` (the rank of V) and ``p_value``, None where V is zero; ``from_copies`` alike with two
        degrees of freedom, None for one copy or copies that do not differ.

    References
    ----------
    Raab, Nowok, Dibben (2016), Journal of Privacy and Confidentiality 7(3), 67–97, for the variance of plug-in
    synthesis; Nowok, Raab, Dibben (2016), Journal of Statistical Software 74(11), for the test in synthpop. Li,
    Raghunathan, Rubin (1991), JASA 86(416), 1065–1073, for the proportionality of B.
    """
    inverse, rank = _inverse(covariance)
    if rank == 0:
        return {"statistic": None, "df": 0, "p_value": None, "from_copies": None}
    squared = max(0.0, float(difference @ inverse @ difference))
    ratio = sizes.first / sizes.second
    statistic = squared * pooled.copies / (1 + ratio if proper else ratio)
    return {
        "statistic": statistic,
        "df": rank,
        "p_value": float(chdtrc(rank, statistic)),
        "from_copies": _from_copies(squared, inverse, rank, pooled, order),
    }


def _from_copies(squared: float, inverse: Floats, rank: int, pooled: Pooled, order: list[int]) -> dict[str, Any] | None:
    if pooled.moments is None or pooled.copies < 2:
        return None
    between = pooled.moments.between[np.ix_(order, order)]
    rho = float(np.sum(between * inverse)) / rank
    if rho <= RANK:
        return None
    statistic = squared * pooled.copies / (rank * rho)
    df2 = rank * (pooled.copies - 1)
    return {"statistic": statistic, "df": [rank, df2], "p_value": float(fdtrc(rank, df2, statistic))}


def _inverse(covariance: Floats) -> tuple[Floats, int]:
    """Return the inverse on the directions in which estimates vary, and how many there are."""
    sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    unit = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0)
    values, vectors = np.linalg.eigh(covariance * np.outer(unit, unit))
    large = values > RANK * max(1.0, float(values.max(initial=0.0)))
    kept = vectors[:, large] * unit[:, None]
    return np.asarray(kept / values[large] @ kept.T, dtype=np.float64), int(large.sum())


# an interval shorter than this share of its own end points is a point: its length is rounding error
POINT = 1e-12


def ci_overlap(low_original: Floats, high_original: Floats, low_synthetic: Floats, high_synthetic: Floats) -> Floats:
    """Return the overlap of two intervals as a share of each, averaged.

    ½ [(min U − max L)/(U_o − L_o) + (min U − max L)/(U_s − L_s)]: 1 for equal intervals, 0 for touching ones, negative
    for a gap between them.

    Notes
    -----
    Two equal points overlap by 1. An interval without length has no overlap with anything else: NaN.

    References
    ----------
    Karr, Kohnen, Oganian, Reiter, Sanil (2006), The American Statistician 60(3), 224–232; in the form of Jiang,
    Raftery, Steele, Wang (2022), JASA 117(537), where disjoint intervals are negative instead of zero.

    Examples
    --------
    >>> ci_overlap(np.array([0.0]), np.array([4.0]), np.array([1.0]), np.array([3.0])).tolist()
    [0.75]
    """
    ends = np.stack(np.broadcast_arrays(low_original, high_original, low_synthetic, high_synthetic)).astype(np.float64)
    common = np.minimum(ends[1], ends[3]) - np.maximum(ends[0], ends[2])
    size = POINT * np.abs(ends).max(axis=0)
    first, second = ends[1] - ends[0], ends[3] - ends[2]
    with np.errstate(divide="ignore", invalid="ignore"):
        overlap = 0.5 * (common / first + common / second)
    points = (first <= size) | (second <= size)
    equal = np.ptp(ends, axis=0) <= 2 * size
    return np.where(points, np.where(equal, 1.0, np.nan), overlap)


def std_diff(original: Floats, synthetic: Floats, se: Floats) -> Floats:
    """Return (synthetic − original)/se(original), with its sign.

    Where the standard error is zero it is 0 for equal estimates and NaN for others.

    Examples
    --------
    >>> std_diff(np.array([1.0]), np.array([0.5]), np.array([0.25])).tolist()
    [-2.0]
    """
    size = POINT * np.maximum(np.abs(original), np.abs(synthetic))
    gap = synthetic - original
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = gap / se
    return np.where(se <= size, np.where(np.abs(gap) <= 2 * size, 0.0, np.nan), ratio)


class Fits:
    """The estimates of one analysis on the files of a comparison, each made once however often it is asked for.

    Parameters
    ----------
    comparison
        Holds the files for as long as this is used.
    """

    def __init__(self, comparison: Comparison, analysis: Analysis) -> None:
        self._analysis, self._schema = analysis, comparison.schema
        self._known: dict[int, Estimates] = {}

    def of(self, frame: pd.DataFrame) -> Estimates:
        """Return the estimates on one of the files; what cannot be estimated raises each time."""
        if id(frame) not in self._known:
            go_on()
            self._known[id(frame)] = self._analysis.estimate(frame, self._schema)
        return self._known[id(frame)]


def evaluate_analyses(
    comparison: Comparison,
    analyses: Sequence[Analysis],
    *,
    default_rule: str = DEFAULT_RULE,
    level: float = LEVEL,
    fits: Mapping[str, Fits] | None = None,
) -> list[dict[str, Any]]:
    """Return, for each analysis, what the original says and what the copies say together.

    The original's interval is a t interval with the residual degrees of freedom for ``ols`` and ``mean``, normal
    otherwise; that of the copies comes from the combining rule. ``mean_se`` stands for what synthpop's comparison of
    fits shows, which gives both intervals the original's length, so its overlap is 1 − |std_diff|/(2z); every other
    rule's overlap is that of the two intervals as they are.

    Parameters
    ----------
    comparison
        The original and its copies.
    analyses
        What a data user would run.
    default_rule
        The rule for an analysis that names none. One copy says nothing of the variance between copies, so with one
        copy the default is ``mean_se`` unless the rule can do with one; the entry's ``rule`` says so.
    level
        Coverage of the intervals.
    fits
        By the name of an analysis, where its estimates are used for something else too.

    Returns
    -------
    list of dict
        The ``utility.analyses`` entries of metrics.json; a measure that is not defined (an estimate without
        variance) is None. ``sign_agrees``: both estimates are on the same side of zero; ``significance_agrees``: both
        intervals hold zero, or neither does; ``lack_of_fit``: the test of all terms together
        (:func:`synthdp.evaluation.utility.analyses.lack_of_fit`).
    """
    sizes = sizes_of(comparison)
    rule = SINGLE_COPY_RULE if len(comparison.copies) < RULES[default_rule].fewest else default_rule
    entries = []
    for analysis in analyses:
        known = fits[analysis.name] if fits is not None else Fits(comparison, analysis)
        try:
            original = known.of(comparison.original)
        except SynthdpError as error:
            # the same error, saying which file it came from
            raise type(error)(f"original: {error}") from None
        nests = comparison.nests if comparison.nests > 1 else None
        pooled = pool(
            comparison.copies,
            analysis,
            schema=comparison.schema,
            default_rule=rule,
            level=level,
            nests=nests,
            estimate=known.of,
        )
        order = _ordered(pooled, original, analysis)
        difference = pooled.estimate[order] - original.values
        fit = lack_of_fit(difference, original.covariance, pooled, order, sizes=sizes, proper=comparison.proper)
        entries.append(_entry(analysis.name, original, order, pooled, level) | {"lack_of_fit": fit})
    return entries


def _ordered(pooled: Pooled, original: Estimates, analysis: Analysis) -> list[int]:
    """Return where each term of the original is among the pooled ones."""
    vanished = [("copies", "original", name) for name in original.names if name not in pooled.names]
    vanished += [("original", "copies", name) for name in pooled.names if name not in original.names]
    if vanished:
        raise InputError(
            *(
                f"{analysis.where}: the term {name!r} of the {having} is not in the {lacking}; "
                "a level has vanished from a column: merge levels in the formula."
                for lacking, having, name in vanished
            )
        )
    return [pooled.names.index(name) for name in original.names]


def _entry(name: str, original: Estimates, order: list[int], pooled: Pooled, level: float) -> dict[str, Any]:
    low, high = _interval(original, level)
    estimate, se = pooled.estimate[order], pooled.se[order]
    differences = std_diff(original.values, estimate, original.se)
    if pooled.rule == "mean_se":
        overlaps = 1 - np.abs(differences) / (2 * half_width(np.ones(1), math.inf, level))
    else:
        overlaps = ci_overlap(low, high, pooled.low[order], pooled.high[order])
    observed = _summaries(original.values, original.se, low, high)
    synthetic = _summaries(estimate, se, pooled.low[order], pooled.high[order])
    defined = overlaps[np.isfinite(overlaps)]
    return {
        "name": name,
        "rule": pooled.rule,
        "terms": [
            {
                "term": term,
                "original": observed[j],
                "synthetic": synthetic[j],
                "ci_overlap": _number(overlaps[j]),
                "std_diff": _number(differences[j]),
                "sign_agrees": bool(np.sign(original.values[j]) == np.sign(estimate[j])),
                "significance_agrees": _holds_zero(observed[j]) == _holds_zero(synthetic[j]),
            }
            for j, term in enumerate(original.names)
        ],
        "mean_ci_overlap": float(defined.mean()) if defined.size else None,
        "min_ci_overlap": float(defined.min()) if defined.size else None,
    }


def _summaries(estimate: Floats, se: Floats, low: Floats, high: Floats) -> list[dict[str, float]]:
    keys = ("estimate", "se", "low", "high")
    return [dict(zip(keys, map(float, row), strict=True)) for row in zip(estimate, se, low, high, strict=True)]


def _holds_zero(interval: dict[str, float]) -> bool:
    return interval["low"] <= 0 <= interval["high"]


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


SPLITS = 4


def spread_of(
    comparison: Comparison, analysis: Analysis, *, rng: np.random.Generator, fits: Fits | None = None
) -> dict[str, Any]:
    """Return the mean interval overlap of each copy alone with the original, and of two halves of the original.

    Halves are as independent as two samples of one population: their intervals overlap by
    1 − E|N(0, 2)|/(2z) = 1 − 1/(z√π) = 0.71 on average at 95%, whatever the size. Copies that overlap more than that
    agree with the original better than a second survey would. Members of a cluster stay in one half.

    Cost: M + 2 · 4 fits, the latter on half the records; the former may be there already (``fits``).

    Returns
    -------
    dict
        ``per_copy``, ``low``, ``high`` of the overlap, and ``noise``, the mean over 4 splits; None where an estimate
        does not exist (a level that a half does not have).
    """
    known = fits or Fits(comparison, analysis)
    whole = _estimate(known.of, comparison.original)
    if whole is None:
        return {"per_copy": [None] * len(comparison.copies), "low": None, "high": None, "noise": None}
    each = [_overlap(whole, _estimate(known.of, copy)) for copy in comparison.copies]
    floors = []

    def alone(half: pd.DataFrame) -> Estimates:
        return analysis.estimate(half, comparison.schema)

    for _ in range(SPLITS):
        first = split(len(comparison.original), share=0.5, cluster=clusters(comparison), rng=rng)
        parts = [_estimate(alone, comparison.original[side]) for side in (first, ~first)]
        floors.append(_overlap(parts[0], parts[1]))
    found = summarise(each, floors)
    return {name: found[name] for name in ("per_copy", "low", "high", "noise")}


def _estimate(estimate: Callable[[pd.DataFrame], Estimates], frame: pd.DataFrame) -> Estimates | None:
    go_on()
    try:
        return estimate(frame)
    except SynthdpError:
        return None


def _interval(found: Estimates, level: float) -> tuple[Floats, Floats]:
    half = half_width(found.se, math.inf if found.df_residual is None else found.df_residual, level)
    return found.values - half, found.values + half


def _overlap(first: Estimates | None, second: Estimates | None) -> float | None:
    """Return the mean overlap of two sets of 95% intervals, None when they have not the same terms."""
    if first is None or second is None or set(first.names) != set(second.names):
        return None
    order = [second.names.index(name) for name in first.names]
    overlaps = ci_overlap(*_interval(first, LEVEL), *(end[order] for end in _interval(second, LEVEL)))
    defined = overlaps[np.isfinite(overlaps)]
    return float(defined.mean()) if defined.size else None
