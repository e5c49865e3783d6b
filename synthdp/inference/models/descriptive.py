"""Means, proportions, tables, quantiles and correlations, each with the influence of every record on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.inference.formulas import Positions
from synthdp.inference.models.fit import Fit, Levels
from synthdp.inference.variances import simple
from synthdp.table.microdata import Floats
from synthdp.table.schema import Schema

MOST_CELLS = 2000
# half the width of the interval whose ends give a quantile's density, in standard errors of the share below it
WOODRUFF = 1.96


@dataclass(frozen=True, eq=False, repr=False)
class Means:
    """The means of some columns, or their totals (``total``)."""

    rows: Positions
    names: tuple[str, ...]
    values: Floats
    total: bool = False

    def fit(self, weights: Floats | None) -> Fit:
        """Return the (weighted) means: ȳ = Σ w y / Σ w, with influence w (y − ȳ)/Σ w; or totals, with influence w y."""
        each = np.ones(len(self.values)) if weights is None else weights
        if self.total:
            return _fit(self.names, each @ self.values, each[:, None] * self.values)
        means = each @ self.values / each.sum()
        return _fit(self.names, means, (each / each.sum())[:, None] * (self.values - means))


@dataclass(frozen=True, eq=False, repr=False)
class Quantiles:
    """Quantiles of some columns.

    The p-quantile is the smallest value with at least the share p of the weight at or below it, or the mean of two
    neighbours where the share is exactly p (the ordinary median). Its influence is −(1{y ≤ q} − p) w / (Σ w f(q));
    1/f(q) comes from Woodruff's interval: the distance between the quantiles of p ± 1.96 se, over 2 · 1.96 se, with
    se² = p (1 − p) Σ w²/(Σ w)².

    Notes
    -----
    Nominal 0.95 covers 0.934 to 0.957 for n = 300 and 1,000, 0.910 to 0.943 for n = 100 (exponential data, deciles and
    median, in the tests). A column of few distinct values (heaped, rounded) has no density, and its quantiles no
    standard error that means anything: it comes out as zero or far too large.

    References
    ----------
    Woodruff (1952), JASA 47, 635–646; Francisco and Fuller (1991), Annals of Statistics 19, 454–469.
    """

    rows: Positions
    columns: tuple[str, ...]
    values: Floats
    probabilities: tuple[float, ...]

    def fit(self, weights: Floats | None) -> Fit:
        """Return the quantiles, column by column."""
        n = len(self.values)
        each = np.ones(n) if weights is None else weights
        share = each / each.sum()
        levels = np.array(self.probabilities)
        width = WOODRUFF * np.sqrt(levels * (1 - levels) * (share @ share))
        found, influence = [], []
        for column in self.values.T:
            order = np.argsort(column, kind="stable")
            ranked, below = column[order], np.cumsum(share[order])
            at = _inverse(ranked, below, levels)
            ends = _inverse(ranked, below, np.clip(np.r_[levels - width, levels + width], 0.0, 1.0)).reshape(2, -1)
            per_share = (ends[1] - ends[0]) / (np.minimum(levels + width, 1) - np.maximum(levels - width, 0))
            found.append(at)
            influence.append(-per_share * share[:, None] * ((column[:, None] <= at) - levels))
        names = tuple(f"{name} {100 * level:g}%" for name in self.columns for level in self.probabilities)
        return _fit(names, np.concatenate(found), np.column_stack(influence))


@dataclass(frozen=True, eq=False, repr=False)
class Correlations:
    """Pearson correlations of all pairs of some columns; influence w (z₁z₂ − r (z₁² + z₂²)/2)/Σ w, z standardised."""

    rows: Positions
    columns: tuple[str, ...]
    values: Floats
    where: str

    def fit(self, weights: Floats | None) -> Fit:
        """Return the correlations, named ``first, second``."""
        n = len(self.values)
        share = np.full(n, 1 / n) if weights is None else weights / weights.sum()
        centred = self.values - share @ self.values
        variance = share @ centred**2
        still = variance <= 1e-24 * np.maximum(share @ self.values**2, np.finfo(np.float64).tiny)
        if still.any():
            name = self.columns[int(np.argmax(still))]
            raise InputError(f"{self.where}: {name!r} has the same value in every record, so it has no correlation.")
        z = centred / np.sqrt(variance)
        pairs = list(combinations(range(len(self.columns)), 2))
        first, second = z[:, [i for i, _ in pairs]], z[:, [j for _, j in pairs]]
        r = np.clip(share @ (first * second), -1.0, 1.0)
        influence = share[:, None] * (first * second - r * (first**2 + second**2) / 2)
        return _fit(tuple(f"{self.columns[i]}, {self.columns[j]}" for i, j in pairs), r, influence)


def means(used: pd.DataFrame, where: str) -> Means:
    """Return the means of numeric columns as a problem."""
    return Means(_rows(used), _names(used), _numbers(used, "mean", where))


def quantiles(used: pd.DataFrame, probabilities: tuple[float, ...], where: str) -> Quantiles:
    """Return the quantiles of numeric columns as a problem."""
    return Quantiles(_rows(used), _names(used), _numbers(used, "quantile", where), probabilities)


def correlations(used: pd.DataFrame, where: str) -> Correlations:
    """Return the correlations of numeric columns as a problem."""
    if used.shape[1] < 2:
        raise InputError(f"{where}: a correlation needs at least two columns, separated by commas.")
    return Correlations(_rows(used), _names(used), _numbers(used, "correlation", where), where)


def cells(used: pd.DataFrame, levels: Levels, where: str, *, crossed: bool, total: bool) -> Means:
    """Return the shares (or totals) of levels, of each column by itself or of all columns crossed, as a problem."""
    _enough(used, "share", where)
    coded = {str(name): pd.Categorical(_labels(used[name]), categories=list(levels[str(name)])) for name in used}
    names = list(coded)
    groups = [names] if crossed else [[name] for name in names]
    size = sum(int(np.prod([len(levels[name]) for name in group])) for group in groups)
    if size > MOST_CELLS:
        raise InputError(f"{where}: {size} cells are more than the {MOST_CELLS} a table may have; merge levels.")
    called, columns = [], []
    for group in groups:
        for cell in product(*(range(len(levels[name])) for name in group)):
            called.append(", ".join(f"{name}={levels[name][k]}" for name, k in zip(group, cell, strict=True)))
            columns.append(np.all([coded[name].codes == k for name, k in zip(group, cell, strict=True)], axis=0))
    return Means(_rows(used), tuple(called), np.column_stack(columns).astype(np.float64), total)


def levels_of(files: Sequence[pd.DataFrame], columns: Sequence[str], schema: Schema | None) -> dict[str, list[str]]:
    """Return the levels of columns over several files, so that a level absent from one is a zero there, not a gap."""
    known = {} if schema is None else {column.name: column for column in schema.columns}
    found: dict[str, list[str]] = {}
    for name in columns:
        seen: dict[str, object] = {}
        if name in known and known[name].levels:
            seen = {_label(level): level for level in known[name].levels}
        fresh = {_label(value): value for file in files for value in file[name].dropna().unique()}
        numeric = all(isinstance(value, int | float | np.number) for value in fresh.values())
        order = sorted(fresh, key=lambda text: fresh[text]) if numeric else sorted(fresh)
        found[name] = list(dict.fromkeys([*seen, *order]))
    return found


def _labels(series: pd.Series) -> list[str]:
    return [_label(value) for value in series]


def _label(value: object) -> str:
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)  # type: ignore[call-overload]


def _inverse(ranked: Floats, below: Floats, levels: Floats) -> Floats:
    """Return the quantiles at some levels; rounding of the cumulated shares must not move them by a record."""
    slack = 1e-12
    first = np.minimum(np.searchsorted(below, levels - slack, side="left"), len(ranked) - 1)
    after = np.minimum(np.searchsorted(below, levels + slack, side="right"), len(ranked) - 1)
    return np.asarray((ranked[first] + ranked[after]) / 2)


def _fit(names: tuple[str, ...], values: Floats, influence: Floats) -> Fit:
    return Fit(names, np.asarray(values), simple(influence), influence, len(influence) - 1.0)


def _numbers(used: pd.DataFrame, what: str, where: str) -> Floats:
    if text := [str(name) for name in used.columns if isinstance(used[name].dtype, pd.CategoricalDtype)]:
        raise InputError(f"{where}: a {what} needs numbers, found text in {text[0]!r}.")
    _enough(used, what, where)
    return used.to_numpy(dtype=np.float64)


def _enough(used: pd.DataFrame, what: str, where: str) -> None:
    if len(used) < 2:
        raise InputError(f"{where}: the variance of a {what} needs at least 2 complete records, found {len(used)}.")


def _names(used: pd.DataFrame) -> tuple[str, ...]:
    return tuple(str(name) for name in used.columns)


def _rows(used: pd.DataFrame) -> Positions:
    return used.index.to_numpy()
