"""How an analysis fares that nobody foresaw: small regressions drawn at random from the columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Codes, Floats, compiled
from synthdp.budget import go_on
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.utility.analyses import LEVEL, ci_overlap
from synthdp.inference.combining import RULES, SINGLE_COPY_RULE, combine, half_width
from synthdp.inference.estimates import Estimates
from synthdp.table.coded import coded
from synthdp.table.schema import Column

REGRESSIONS = 30
PREDICTORS = (1, 3)
# an indicator of a level needs enough records on both sides for an interval to mean anything
RAREST_LEVEL = 0.05
MOST_LEVELS = 4
FEWEST_RECORDS = 20
NOTHING = np.empty(0)


@dataclass(frozen=True)
class Term:
    """A number made of one column: its value, or whether it has one level (``level`` is that level's position)."""

    column: Column
    level: int | None = None

    @property
    def name(self) -> str:
        """The column, and the level where there is one, as a position: levels may be confidential."""
        return self.column.name if self.level is None else f"{self.column.name}[{self.level + 1}]"

    def values(self, frame: pd.DataFrame) -> Floats:
        """Return the term for every record; NaN where the column is missing."""
        file = coded(frame)
        if self.level is None:
            return file.finite(self.column)
        return np.where(file.present(self.column.name), file.codes(self.column) == self.level, np.nan)


@dataclass(frozen=True)
class Small:
    """One regression of the panel: a response on one to three columns, by least squares with robust errors."""

    response: Term
    predictors: tuple[Term, ...]

    @property
    def formula(self) -> str:
        """The regression in a line."""
        return f"{self.response.name} ~ {' + '.join(term.name for term in self.predictors)}"

    def estimate(self, file: "_File", scale: tuple[Floats, Floats]) -> Estimates | None:
        """Return the slopes with their sandwich covariance (HC1); None where they are not determined.

        ``scale`` holds the original's means and sds of response and predictors: the same numbers for every file, so
        that "not determined" is judged alike whatever the units.
        """
        p = len(self.predictors) + 1
        chosen = file.places(self)
        moments = cross_products(file.values, chosen, *scale)
        n = round(moments[0, 0])
        if n < FEWEST_RECORDS:
            return None
        # the response comes first, after the constant
        design = np.asarray([0, *range(2, p + 1)])
        gram = moments[np.ix_(design, design)]
        if np.linalg.cond(gram) > 1e10:
            return None
        inverse = np.linalg.inv(gram)
        slopes = inverse @ moments[design, 1]
        scores = cross_products(file.values, chosen, *scale, np.asarray([slopes[0], -1.0, *slopes[1:]]))
        covariance = inverse @ scores[np.ix_(design, design)] @ inverse * (n / (n - p))
        names = tuple(term.name for term in self.predictors)
        return Estimates(names, slopes[1:], covariance[1:, 1:], float(n - p), n)


@dataclass(frozen=True, repr=False)
class _File:
    """The terms of one file, one after another, each with the values of all records."""

    place: Mapping[Term, int]
    values: Floats

    @classmethod
    def of(cls, frame: pd.DataFrame, terms: Sequence[Term]) -> "_File":
        values = np.empty((len(terms), len(frame)))
        for line, term in zip(values, terms, strict=True):
            line[:] = term.values(frame)
        return cls({term: place for place, term in enumerate(terms)}, values)

    def places(self, small: Small) -> Codes:
        """Return where response and predictors stand."""
        return np.asarray([self.place[term] for term in (small.response, *small.predictors)], dtype=np.int64)

    def rows(self, small: Small) -> Floats:
        """Return the complete records: response first, then the predictors."""
        made = self.values[self.places(small)]
        return np.asarray(made[:, np.isfinite(made).all(axis=0)].T)


def cross_products(values: Floats, chosen: Codes, centre: Floats, spread: Floats, residual: Floats = NOTHING) -> Floats:
    """Return Σ v v' over complete records, v = (1, standardised terms); with ``residual`` each v times residual · v.

    Parameters
    ----------
    values, chosen
        Terms by records, and which terms.
    centre, spread
        Of the chosen terms.
    """
    width = len(chosen) + 1
    found = np.zeros((width, width))
    _cross(values, chosen, centre, spread, residual, np.ones(width), found)
    return found


@compiled
def _cross(
    values: Floats, chosen: Codes, centre: Floats, spread: Floats, residual: Floats, v: Floats, found: Floats
) -> None:
    """Write what :func:`cross_products` returns; ``v`` is overwritten."""
    width = len(chosen) + 1
    for i in range(values.shape[1]):
        known = True
        v[0] = 1.0
        for j in range(width - 1):
            v[j + 1] = (values[chosen[j], i] - centre[j]) / spread[j]
            known = known and np.isfinite(v[j + 1])
        if not known:
            continue
        if len(residual):
            left = 0.0
            for j in range(width):
                left += residual[j] * v[j]
            for j in range(width):
                v[j] *= left
        for j in range(width):
            for k in range(j + 1):
                found[j, k] += v[j] * v[k]
    for j in range(width):
        for k in range(j):
            found[k, j] = found[j, k]


def evaluate_panel(comparison: Comparison, *, default_rule: str, rng: np.random.Generator) -> dict[str, Any]:
    """Return how far intervals of small random regressions agree between the original and the copies.

    A regression has a response and one to three predictors, columns of all kinds, at least one of them replaced; a
    categorical column enters as indicators of its levels. All are fitted by least squares with errors that are robust
    to unequal variances (HC1), which always exist, and combined by the rule that the design calls for. A slope's
    overlap is :func:`~synthdp.evaluation.utility.analyses.ci_overlap`, disjoint intervals counting 0; one that cannot
    be estimated on some copy counts 0 too.

    Parameters
    ----------
    default_rule
        Of the design. Where there are fewer copies than it needs, the interval of the mean standard error is used.
    rng
        Draws the regressions: the same generator, the same regressions.

    Returns
    -------
    dict
        ``mean`` and ``worst`` overlap over all slopes, ``n`` slopes; ``regressions``: each with its formula and mean.

    Raises
    ------
    InputError
        If no column was replaced, or there are fewer than two columns to regress.

    Notes
    -----
    Two halves of the original agree by 0.71 on average (see :func:`~synthdp.evaluation.utility.analyses.spread_of`), so
    0.6 is a little less than a second survey of the same size would give. O(regressions · M · n).

    Examples
    --------
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> draw = np.random.default_rng(1)
    >>> frame = pd.DataFrame({"a": draw.normal(size=99), "b": draw.normal(size=99)})
    >>> data = resolve(frame, {"a": Variable(role="replace")})
    >>> files = Comparison(data.frame, (data.frame, data.frame), data.schema, aligned=True)
    >>> round(evaluate_panel(files, default_rule="reiter2003", rng=np.random.default_rng(1))["mean"], 2)
    0.99
    """
    drawn = draw_panel(comparison, rng=rng)
    rule = default_rule if len(comparison.copies) >= RULES[default_rule].fewest else SINGLE_COPY_RULE
    nests = comparison.nests if comparison.nests > 1 else None
    lines, overlaps = [], []
    used = tuple(dict.fromkeys(term for small in drawn for term in (small.response, *small.predictors)))
    original, *copies = (_File.of(frame, used) for frame in (comparison.original, *comparison.copies))
    for small in drawn:
        go_on()
        found = _overlap(small, original, copies, rule, nests)
        if found is not None:
            overlaps.append(found)
            lines.append({"formula": small.formula, "overlap": float(found.mean())})
    if not overlaps:
        raise InputError("panel: no regression of these columns can be estimated on the original.")
    every = np.concatenate(overlaps)
    return {"mean": float(every.mean()), "worst": float(every.min()), "n": len(every), "regressions": lines}


def draw_panel(comparison: Comparison, *, rng: np.random.Generator, regressions: int = REGRESSIONS) -> list[Small]:
    """Return the regressions, drawn from the columns and the original's levels: the same for every set of copies."""
    terms = _terms(comparison)
    replaced = [name for name in terms if name in {column.name for column in comparison.schema.replaced()}]
    if not replaced:
        why = "that was replaced can stand in a regression (few levels, or numbers that vary)"
        if not comparison.schema.replaced():
            why = "was replaced, so every analysis of the copies is one of the original"
        raise InputError(f"panel: no column {why}.")
    if len(terms) < 2:
        raise InputError("panel: needs at least two columns that vary, to regress one on the other.")
    drawn: dict[str, Small] = {}
    for _ in range(20 * regressions):
        if len(drawn) == regressions:
            break
        first = str(rng.choice(replaced))
        others = [name for name in terms if name != first]
        count = min(int(rng.integers(PREDICTORS[0], PREDICTORS[1] + 1)), len(others))
        chosen = [first, *(str(name) for name in rng.choice(others, count, replace=False))]
        # a replaced column is response or predictor, whichever comes first
        place = int(rng.integers(len(chosen)))
        response = terms[chosen[place]][int(rng.integers(len(terms[chosen[place]])))]
        predictors = tuple(term for name in chosen if name != chosen[place] for term in terms[name])
        small = Small(response, predictors)
        drawn.setdefault(small.formula, small)
    return list(drawn.values())


def _terms(comparison: Comparison) -> Mapping[str, Sequence[Term]]:
    """Return what each column can be in a regression; columns that do not vary, and clusters, are left out."""
    found: dict[str, list[Term]] = {}
    for column in comparison.schema.columns:
        if column.design == "cluster" or any(column.name not in copy.columns for copy in comparison.copies):
            continue
        if not column.kind.categorical:
            values = Term(column).values(comparison.original)
            if np.isfinite(values).sum() >= FEWEST_RECORDS and np.nanstd(values) > 0:
                found[column.name] = [Term(column)]
            continue
        place = coded(comparison.original).codes(column)
        share = np.bincount(place[place >= 0], minlength=len(column.levels)) / max(1, len(place))
        frequent = [int(k) for k in np.argsort(-share, kind="stable") if RAREST_LEVEL <= share[k] <= 1 - RAREST_LEVEL]
        # with all levels among them, the most frequent one is the reference
        rest = frequent[1:] if len(frequent) > 1 and share[frequent].sum() > 1 - RAREST_LEVEL else frequent
        if rest:
            found[column.name] = [Term(column, level) for level in rest[:MOST_LEVELS]]
    return found


def _overlap(small: Small, file: _File, copies: Sequence[_File], rule: str, nests: int | None) -> Floats | None:
    """Return the overlap of each slope, 0 where a copy does not determine it; None where the original does not."""
    every = file.rows(small)
    if len(every) < FEWEST_RECORDS or (every.std(axis=0) == 0).any():
        return None
    scale = every.mean(axis=0), every.std(axis=0)
    original = small.estimate(file, scale)
    if original is None:
        return None
    known = [one for copy in copies if (one := small.estimate(copy, scale)) is not None]
    if len(known) < len(copies):
        return np.zeros(len(small.predictors))
    pooled = combine(known, rule, LEVEL, nests=nests)
    half = half_width(original.se, original.df_residual or np.inf, LEVEL)
    found = ci_overlap(original.values - half, original.values + half, pooled.low, pooled.high)
    return np.clip(np.nan_to_num(found), 0.0, 1.0)
