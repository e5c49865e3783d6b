"""Norm + logit: regressions drawn forward, the parametric peer of CART in synthpop.

    binary x_j:   P(x_j = 1) = F(D_j β),      number x_j:   t = D_j β + e,  e ~ N(0, σ²)  on the working scale

D_j holds the kept columns and the replaced columns before x_j: the ORIGINAL ones when β is fitted, the SYNTHETIC ones
when x̃_j is drawn. Each column is drawn given those before it only, so nothing here uses a mask. A column with missing
values has a regression for missing or not first. Where a column does not apply (``applies_when``) it is missing, and
both regressions are fitted to the records to which it does.

References
----------
Nowok, Raab, Dibben (2016), Journal of Statistical Software 74(11), section 2 (``norm`` and ``logreg``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr

from synthdp.imputation import predictors
from synthdp.imputation.cells import settled, write
from synthdp.imputation.families.links import LinkName
from synthdp.imputation.families.normal import LinearPosterior
from synthdp.imputation.families.sampling import IndependenceSampler
from synthdp.imputation.families.unordered import binary_sampler
from synthdp.imputation.model import order_problems, settings_problems
from synthdp.imputation.regression.association import RegressionSettings
from synthdp.table.applies import holds, visits
from synthdp.table.links import Link
from synthdp.table.microdata import Codes, Floats, Microdata, codes, decode, numbers
from synthdp.table.schema import Column, Kind

# the pilot that sets the length of the binary chains; it moves no value that is released without a further draw
PILOT_SEED = 0


class NormLogit(RegressionSettings):
    """A logit or probit per binary column and a normal regression per number, drawn forward.

    Parameters
    ----------
    order
        The replaced columns in the order they are drawn; default: file order, a column that does not apply to everyone
        after those its condition names.
    link
        ``logit`` or ``probit`` for binary columns.
    prior_sd
        Prior sd of the binary regressions' coefficients on standardised predictors.
    linear_prior_sd
        Prior sd of the linear regressions' coefficients in units of the residual sd.
    exclude
        Kept columns the model must not see.

    Examples
    --------
    >>> NormLogit().link
    'logit'
    """

    method: Literal["regression"] = "regression"
    link: LinkName = "logit"

    def problems(self, data: Microdata) -> list[str]:
        """Return why these regressions cannot replace the columns the schema asks for."""
        found = settings_problems(data, self.order, self.exclude) + order_problems(data, self.order, joint=False)
        return found + [
            f"variables.{column.name}: the sequential regression replaces numbers and binary columns, this one is "
            f"{column.kind}; use model: {{method: cart}}, or set role: keep."
            for column in data.schema.replaced()
            if column.kind in (Kind.ORDINAL, Kind.NOMINAL)
        ]

    def prepare(self, data: Microdata) -> "Regressions":
        """Return the data made ready for the regressions."""
        order = self.order or visits(data.schema.replaced())
        base = predictors.build(data, exclude=self.exclude)
        links = {name: Link.of(data, name) for name in order if not data.schema[name].kind.categorical}
        return self.regress(data, base, order, links)

    def regress(
        self, data: Microdata, base: predictors.Predictors, order: tuple[str, ...], links: Mapping[str, Link]
    ) -> "Regressions":
        """Return the regressions fitted to a table, with predictors and working scales that are given."""
        earlier: list[Floats] = []
        fits: dict[str, ColumnRegression] = {}
        for name in order:
            design = np.column_stack([base.matrix, *earlier])
            fits[name] = self._regress(data, data.schema[name], design, base, links.get(name))
            earlier.append(fits[name].entries(data.frame[name]))
        return Regressions(self, data, base, order, links, fits)

    def _regress(
        self, data: Microdata, column: Column, design: Floats, base: predictors.Predictors, link: Link | None
    ) -> "ColumnRegression":
        extra = design.shape[1] - base.matrix.shape[1]
        prior = np.concatenate([base.prior_sd(self.prior_sd), np.full(extra, self.prior_sd)])
        linear_prior = np.concatenate([base.prior_sd(self.linear_prior_sd), np.full(extra, self.linear_prior_sd)])
        pilot = np.random.default_rng(PILOT_SEED)
        y = _working(data.frame[column.name], column, link)
        present = np.isfinite(y)
        asked = holds(column, data.frame)
        gaps = None
        if not present[asked].all():
            absent = (~present[asked]).astype(np.float64)
            gaps = binary_sampler(design[asked], absent, prior, link=self.link, rng=pilot)
        seen: IndependenceSampler | LinearPosterior
        if link is None:
            seen = binary_sampler(design[present], y[present], prior, link=self.link, rng=pilot)
        else:
            seen = LinearPosterior.fit(design[present], y[present], linear_prior)
        return ColumnRegression(column, link, self.link, gaps, seen, complete=bool(present.all()))


@dataclass(frozen=True, repr=False)
class ColumnRegression:
    """The posteriors of one column's regressions: missing or not where it applies, and the value.

    ``complete`` says whether the original has a value for every record.
    """

    column: Column
    link: Link | None
    link_name: LinkName
    gaps: IndependenceSampler | None
    seen: IndependenceSampler | LinearPosterior
    complete: bool

    def entries(self, series: pd.Series) -> Floats:
        """Return how the column enters later regressions: its working value, and an indicator of its gaps."""
        values = _working(series, self.column, self.link)
        present = np.isfinite(values)
        filled = np.where(present, values, 0.0)
        return filled[:, None] if self.complete else np.column_stack([filled, ~present])

    def coefficients(self, *, rng: np.random.Generator | None) -> "ColumnModel":
        """Return θ: the estimate, or a draw from the posterior."""
        gaps = None if self.gaps is None else self.gaps.mode if rng is None else self.gaps.draw(rng=rng)
        if isinstance(self.seen, IndependenceSampler):
            return ColumnModel(self, gaps, self.seen.mode if rng is None else self.seen.draw(rng=rng), 0.0)
        if rng is None:
            return ColumnModel(self, gaps, self.seen.mean, float(np.sqrt(self.seen.rate / self.seen.shape)))
        drawn = self.seen.draw(rng=rng)
        return ColumnModel(self, gaps, drawn.beta[:, 0], float(np.sqrt(drawn.variance)))


@dataclass(repr=False)
class Partial:
    """A copy while it is being drawn, and the design matrix of the next column."""

    frame: pd.DataFrame
    design: Floats


@dataclass(frozen=True, repr=False)
class Regressions:
    """The fitted regressions of all columns."""

    settings: NormLogit
    data: Microdata
    base: predictors.Predictors
    visits: tuple[str, ...]
    links: Mapping[str, Link]
    fits: dict[str, ColumnRegression]

    def start(self) -> Partial:
        """Return a copy of which nothing is drawn yet."""
        return Partial(self.data.frame.copy(), self.base.matrix)

    def some(self, rows: Codes) -> Partial:
        """Return a copy of some records, each as often as it is named, of which nothing is drawn yet."""
        return Partial(self.data.frame.take(rows).reset_index(drop=True), self.base.matrix[rows])

    def longer(self, rows: Codes, frame: pd.DataFrame) -> "Regressions":
        """Return the regressions fitted to the records and to further draws of some of them."""
        data = Microdata(pd.concat([self.data.frame, frame], ignore_index=True), self.data.schema)
        base = replace(self.base, matrix=np.vstack([self.base.matrix, self.base.matrix[rows]]))
        return self.settings.regress(data, base, self.visits, self.links)

    def fit(self, name: str, *, rng: np.random.Generator | None) -> "ColumnModel":
        """Return θ of a column: the estimate, or a draw from the posterior."""
        return self.fits[name].coefficients(rng=rng)


@dataclass(frozen=True, repr=False)
class ColumnModel:
    """θ of one column."""

    regression: ColumnRegression
    gaps: Floats | None
    beta: Floats
    sd: float

    def numbers(self) -> Floats:
        """Return θ as numbers."""
        return np.concatenate([self.beta, [self.sd], *([] if self.gaps is None else [self.gaps])])

    def draw(self, copy: Partial, *, rng: np.random.Generator) -> None:
        """Draw the column for every record of a copy, given what is drawn already."""
        of, column = self.regression, self.regression.column
        like = copy.frame[column.name]
        eta = copy.design @ self.beta
        chance, noise, gap_chance = rng.random(len(eta)), rng.standard_normal(len(eta)), rng.random(len(eta))
        missing = np.zeros(len(eta), dtype=bool)
        if self.gaps is not None:
            missing = gap_chance < self._probability(copy.design @ self.gaps)
        missing |= ~holds(column, copy.frame)
        if of.link is None:
            positions = (chance < self._probability(eta)).astype(np.int64)
            released = decode(positions, column, like)
            released = released.mask(missing) if missing.any() else released
        else:
            values = of.link.inverse(np.clip(eta + self.sd * noise, *of.link.limits()))
            released = write(np.where(missing, np.nan, settled(values, column)), column, like)
        copy.frame[column.name] = released
        copy.design = np.column_stack([copy.design, of.entries(released)])

    def _probability(self, eta: Floats) -> Floats:
        return np.asarray(expit(eta) if self.regression.link_name == "logit" else ndtr(eta), dtype=np.float64)


def _working(series: pd.Series, column: Column, link: Link | None) -> Floats:
    """Return a column on its working scale; missing is NaN."""
    if link is not None:
        return link.forward(numbers(series, column))
    found = codes(series, column)
    return np.where(found < 0, np.nan, found)
