"""The models that are built in: six of numbers and levels, and fifteen regressions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.inference.formulas import ModelMatrix, Positions, build, complete
from synthdp.inference.models import descriptive
from synthdp.inference.models.fit import AnalysisModel, Asked, Fit, Link, Problem
from synthdp.inference.models.generalised import generalised, least_squares, maximum_likelihood, weighted_least_squares
from synthdp.inference.models.likelihoods import cox, multinomial, negative_binomial, ordered
from synthdp.table.microdata import Floats


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """A design matrix and the model to fit to it.

    Parameters
    ----------
    model, design
        What is fitted to what.
    link, power
        Of a generalised linear model; the power is that of Tweedie's variance.
    status
        1 where a time ends with the event, for ``cox``.
    where
        How messages name the analysis.
    """

    model: str
    design: ModelMatrix
    where: str
    link: Link | None = None
    power: float = 1.5
    status: Floats | None = None

    @property
    def rows(self) -> Positions:
        """Where the records used are in the table."""
        return self.design.rows

    def fit(self, weights: Floats | None) -> Fit:
        """Return the fit with these weights."""
        return _FITS.get(self.model, _generalised)(self, weights)


def _generalised(self: Regression, weights: Floats | None) -> Fit:
    return generalised(self.model, self.design, weights, link=self.link, power=self.power, where=self.where)


def _ols(self: Regression, weights: Floats | None) -> Fit:
    return least_squares(self.design, self.where) if weights is None else _generalised(self, weights)


def _wls(self: Regression, weights: Floats | None) -> Fit:
    return _generalised(self, weights) if weights is None else weighted_least_squares(self.design, weights, self.where)


def _likelihood(self: Regression, weights: Floats | None) -> Fit:
    if weights is None and self.link is None:
        return maximum_likelihood(self.model, self.design, self.where)
    return _generalised(self, weights)


_FITS: Mapping[str, Callable[[Regression, Floats | None], Fit]] = {
    "ols": _ols,
    "wls": _wls,
    **dict.fromkeys(("logit", "probit", "poisson"), _likelihood),
    "negative_binomial": lambda self, weights: negative_binomial(self.design, weights, self.where),
    "multinomial": lambda self, weights: multinomial(self.design, weights, self.where),
    "ordered_logit": lambda self, weights: ordered("logit", self.design, weights, self.where),
    "ordered_probit": lambda self, weights: ordered("probit", self.design, weights, self.where),
    "cox": lambda self, weights: cox(self.design, self.status, weights, self.where),
}


def events(column: pd.Series, where: str) -> Floats:
    """Return 1 where a status says that the event happened: 1 of 0/1, True, or the second of two texts."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        # with one level only, nobody can say whether it is the event
        if (found := len(column.dtype.categories)) != 2:
            count = found if found > 2 else "one; code it 0/1"
            raise InputError(f"{where}: status must take two values, found {count}.")
        return np.asarray(column.cat.codes, dtype=np.float64)
    values = column.to_numpy(dtype=np.float64)
    if not np.isin(values, (0.0, 1.0)).all():
        raise InputError(f"{where}: status must be coded 0/1, found other numbers.")
    return values


def _regression(name: str, *, linked: bool = False) -> AnalysisModel:
    def problem(asked: Asked) -> Problem:
        beside = () if asked.status is None else (asked.status,)
        design = build(asked.formula, asked.frame, asked.schema, beside=beside, where=asked.where)
        status = None if asked.status is None else events(_used(asked)[asked.status], asked.where)
        return Regression(name, design, asked.where, asked.link, asked.power, status)

    return AnalysisModel(name, problem, linked=linked)


def _cells(name: str, *, crossed: bool, total: bool = False) -> AnalysisModel:
    def problem(asked: Asked) -> Problem:
        known = asked.levels or descriptive.levels_of([asked.frame], asked.columns, asked.schema)
        return descriptive.cells(_used(asked), known, asked.where, crossed=crossed, total=total)

    return AnalysisModel(name, problem, listed=True, of_levels=True)


def _used(asked: Asked) -> pd.DataFrame:
    return complete(asked.frame, asked.columns, asked.schema, where=asked.where)


MEAN = AnalysisModel("mean", lambda asked: descriptive.means(_used(asked), asked.where), listed=True)
QUANTILE = AnalysisModel(
    "quantile", lambda asked: descriptive.quantiles(_used(asked), asked.probabilities, asked.where), listed=True
)
CORRELATION = AnalysisModel(
    "correlation", lambda asked: descriptive.correlations(_used(asked), asked.where), listed=True, fisher=True
)
PROPORTION = _cells("proportion", crossed=False)
TABLE = _cells("table", crossed=True)
COUNT = _cells("count", crossed=True, total=True)

OLS = _regression("ols")
LOGIT = _regression("logit")
PROBIT = _regression("probit")
POISSON = _regression("poisson", linked=True)
WLS = _regression("wls")
GAUSSIAN = _regression("gaussian", linked=True)
BINOMIAL = _regression("binomial", linked=True)
GAMMA = _regression("gamma", linked=True)
INVERSE_GAUSSIAN = _regression("inverse_gaussian", linked=True)
TWEEDIE = _regression("tweedie", linked=True)
NEGATIVE_BINOMIAL = _regression("negative_binomial")
MULTINOMIAL = _regression("multinomial")
ORDERED_LOGIT = _regression("ordered_logit")
ORDERED_PROBIT = _regression("ordered_probit")
COX = _regression("cox")
