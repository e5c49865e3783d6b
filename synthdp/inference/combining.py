"""Combine the estimates of several copies into one estimate with an honest interval."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from synthdp.errors import InputError
from synthdp.inference.analyses import Estimates
from synthdp.inference.rules import DEFAULT_RULE, RULES, SINGLE_COPY_RULE, Replicates, unknown_rule
from synthdp.inference.wald import Moments, Wald, wald
from synthdp.showing import html
from synthdp.table.microdata import Floats

__all__ = ["DEFAULT_RULE", "RULES", "SINGLE_COPY_RULE", "Pooled", "Wald", "combine", "half_width"]

FEWEST_DF = 1.0
NAMED = 5
ALTERED = (
    "The intervals ignore the masking: the masked columns are the original ones with errors in them, which bias "
    "estimates (slopes and correlations come out weaker, tables are shifted)."
)


@dataclass(frozen=True, eq=False)
class Pooled:
    """One estimate per term from several copies, with its interval.

    Parameters
    ----------
    names
        The terms.
    estimate, se, df, low, high, p_value
        The mean estimate, its standard error √T, degrees of freedom, interval, and the two-sided p-value against 0.
    b, v_bar
        The variance between copies and the mean variance within them.
    rule, copies, level
        How they were combined.
    title
        What was estimated, for printing.
    fraction
        The share of T that synthesis or imputation brought, 1 − (variance of the complete data)/T: the fraction of
        synthetic (or missing) information for many copies.
    nests
        How many nests the copies form.
    moments
        The covariances between and within copies, for :meth:`wald`.
    altered
        Whether the copies hold the records' own values with errors in them, of which no rule knows.
    """

    names: tuple[str, ...]
    estimate: Floats
    se: Floats
    df: Floats
    low: Floats
    high: Floats
    p_value: Floats
    b: Floats
    v_bar: Floats
    rule: str
    copies: int
    level: float
    title: str = ""
    fraction: Floats = field(default_factory=lambda: np.empty(0))
    nests: int = 1
    moments: Moments | None = field(default=None, repr=False)
    altered: bool = False

    def wald(self, terms: Sequence[str] | None = None, value: float | Floats = 0.0) -> Wald:
        """Test that terms (all of them by default) have given values; see :func:`synthdp.inference.wald.wald`.

        Raises
        ------
        InputError
            When a term is unknown, the covariance is singular, or the rule has no such test.
        """
        if self.moments is None:
            raise InputError("wald: needs the covariances of the estimates, found none; use combine().")
        return wald(self.moments, self.names, self.rule, terms, value)

    def table(self) -> pd.DataFrame:
        """Return one row per term."""
        columns = ("estimate", "se", "df", "low", "high", "p_value", "b", "v_bar", "fraction")
        return pd.DataFrame({"term": list(self.names), **{name: getattr(self, name) for name in columns}})

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the intervals should know: what they ignore, and which of them say nothing."""
        ignored = (ALTERED,) if self.altered else ()
        # below one degree of freedom a t quantile is beyond 12 standard errors, and soon beyond any number
        endless = [name for name, df in zip(self.names, self.df, strict=True) if df < FEWEST_DF]
        if not endless:
            return ignored
        shown = ", ".join(endless[:NAMED]) + (f" and {len(endless) - NAMED} more" if len(endless) > NAMED else "")
        return (
            *ignored,
            f"no useful interval: {shown}. The total variance of {self.rule} came out so near 0 that less than one "
            "degree of freedom is left; more copies of each imputation help.",
        )

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        head, *rows = self._cells()
        widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in [head, *rows]]
        title = [self.title] if self.title else []
        return "\n".join([*title, lines[0], "-" * len(lines[0]), *lines[1:], self._combined(), *self.notes])

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        return html(self.title or "estimates", head, rows, [self._combined(), *self.notes])

    def _cells(self) -> list[list[str]]:
        """Return the headings, then the cells of every term."""
        percent = f"{100 * self.level:g}%"
        numbers = (self.estimate, self.se, self.low, self.high)
        return [
            ["term", "estimate", "se", f"{percent} low", f"{percent} high", "df", "p"],
            *(
                [name, *(f"{values[j]:.4g}" for values in numbers), _df_text(self.df[j]), _p_text(self.p_value[j])]
                for j, name in enumerate(self.names)
            ),
        ]

    def _combined(self) -> str:
        copies = "1 copy" if self.copies == 1 else f"{self.copies} copies"
        nests = f" in {self.nests} nests" if self.nests > 1 else ""
        label = f" ({RULES[self.rule].label})" if RULES[self.rule].label else ""
        return f"{copies}{nests} combined by {self.rule}{label}"


def combine(
    estimates: Sequence[Estimates],
    rule: str = DEFAULT_RULE,
    level: float = 0.95,
    *,
    title: str = "",
    nests: int | Sequence[int] | None = None,
    ratio: float = 1.0,
) -> Pooled:
    """Combine the estimates of several copies, term by term.

    The pooled estimate is the mean q̄; the rule gives its variance T and degrees of freedom ν; the interval is
    q̄ ± t_ν √T (normal when ν is infinite).

    Parameters
    ----------
    estimates
        What each copy gave.
    rule
        A name in ``RULES``.
    level
        Coverage of the intervals.
    title
        What was estimated, for printing.
    nests
        For rules of nested copies: how many nests of equal size there are, copies of one nest standing together (the
        order of the files of a release); or the nest of each copy.
    ratio
        Records of a copy over records of the original; ``raab2016`` and ``raghunathan2003`` use it.

    Raises
    ------
    InputError
        When the rule is unknown, needs more copies or nests, or a term is not in every copy.

    Examples
    --------
    >>> copies = [Estimates(("mean",), np.array([q]), np.array([[0.01]]), None) for q in (1.0, 1.1, 1.2)]
    >>> print(combine(copies))
    term  estimate      se  95% low  95% high    df       p
    -------------------------------------------------------
    mean       1.1  0.1155   0.8648     1.335  32.0  <0.001
    3 copies combined by reiter2003
    """
    if sentence := unknown_rule(rule):
        raise InputError(f"rule: {sentence}" + ("" if sentence.endswith("?") else "."))
    if not estimates:
        raise InputError(f"rule: {rule} needs at least one copy, found none.")
    if not 0 < level < 1:
        raise InputError(f"level: must lie between 0 and 1, found {level:g}.")
    if not 0 < ratio < np.inf:
        raise InputError(f"ratio: must be a positive number, found {ratio:g}.")
    count, places = _nests(rule, nests, len(estimates))
    estimates = [estimates[place] for place in places]
    names = estimates[0].names
    order = [_positions(names, other, copy) for copy, other in enumerate(estimates, start=1)]
    replicates = Replicates(
        q=np.stack([found.values[place] for found, place in zip(estimates, order, strict=True)]),
        v=np.stack([np.diag(found.covariance)[place] for found, place in zip(estimates, order, strict=True)]),
        nests=count,
        ratio=ratio,
    )
    estimate = replicates.q.mean(axis=0)
    variance, df, fraction = RULES[rule].spread(replicates)
    se = np.sqrt(variance)
    return Pooled(
        names=names,
        estimate=estimate,
        se=se,
        **intervals(estimate, se, df, level),
        b=replicates.b,
        v_bar=replicates.v_bar,
        rule=rule,
        copies=replicates.m,
        level=level,
        title=title,
        fraction=fraction,
        nests=count,
        moments=_moments(replicates, estimates, order),
    )


def intervals(estimate: Floats, se: Floats, df: Floats, level: float) -> dict[str, Any]:
    """Return what degrees of freedom decide: themselves, the t interval, and the p-value against 0."""
    half = half_width(se, df, level)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = 2 * stdtr(df, -np.abs(estimate / se))
    return {"df": df, "low": estimate - half, "high": estimate + half, "p_value": p_value}


def half_width(se: Floats, df: Floats | float, level: float) -> Floats:
    """Return half the length of t intervals; infinite degrees of freedom give normal ones."""
    return np.asarray(stdtrit(df, (1 + level) / 2) * se, dtype=np.float64)


def _nests(rule: str, nests: int | Sequence[int] | None, copies: int) -> tuple[int, list[int]]:
    """Return how many nests there are, and the copies in the order of their nests; or refuse."""
    fewest = RULES[rule].fewest
    if not RULES[rule].nested:
        if copies < fewest:
            raise InputError(
                f"rule: {rule} needs at least {fewest} copies, found {copies}; "
                f"give more copies, or ask for {SINGLE_COPY_RULE}."
            )
        return 1, list(range(copies))
    if nests is None:
        raise InputError(f"nests: {rule} combines copies in nests; say how many nests there are.")
    if isinstance(nests, int):
        if nests < 1 or copies % nests:
            raise InputError(f"nests: {copies} copies cannot form {nests} nests of equal size.")
        labels = np.repeat(np.arange(nests), copies // nests)
    else:
        labels = np.asarray(nests)
        if len(labels) != copies:
            raise InputError(f"nests: must name the nest of each of the {copies} copies, found {len(labels)} names.")
    sizes = np.unique(labels, return_counts=True)[1]
    if len(set(sizes.tolist())) > 1:
        raise InputError(f"nests: must be of equal size, found {', '.join(map(str, sizes))} copies.")
    if len(sizes) < 2 or sizes[0] < fewest:
        each = "1 copy" if fewest == 1 else f"{fewest} copies"
        raise InputError(
            f"nests: {rule} needs at least 2 nests of {each} each, found {len(sizes)} of {sizes[0]}; "
            f"give more copies, or ask for {SINGLE_COPY_RULE}."
        )
    return len(sizes), [int(place) for place in np.argsort(labels, kind="stable")]


def _moments(replicates: Replicates, estimates: Sequence[Estimates], order: Sequence[Sequence[int]]) -> Moments:
    centred = replicates.q - replicates.q.mean(axis=0)
    return Moments(
        q_bar=np.asarray(replicates.q.mean(axis=0)),
        between=np.asarray(centred.T @ centred / max(replicates.m - 1, 1)),
        within=np.asarray(
            np.mean([found.covariance[np.ix_(place, place)] for found, place in zip(estimates, order, strict=True)], 0)
        ),
        copies=replicates.m,
        ratio=replicates.ratio,
    )


def _positions(names: tuple[str, ...], other: Estimates, copy: int) -> list[int]:
    vanished = [(copy, 1, name) for name in names if name not in other.names]
    vanished += [(1, copy, name) for name in other.names if name not in names]
    if vanished:
        raise InputError(
            *(
                f"copy {lacking}: the term {name!r} of copy {having} is not there; "
                "a level has vanished from a column: merge levels in the formula."
                for lacking, having, name in vanished
            )
        )
    return [other.names.index(name) for name in names]


def _df_text(df: float) -> str:
    return "inf" if df > 9999 else f"{df:.1f}"


def _p_text(p: float) -> str:
    return "<0.001" if p < 0.001 else f"{p:.3f}"
