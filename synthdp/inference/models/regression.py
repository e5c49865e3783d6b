"""A regression with its data, whichever model it is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.inference.formulas import ModelMatrix, Positions
from synthdp.inference.models.fit import Fit, Link
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
        if len(column.dtype.categories) > 2:
            found = len(column.dtype.categories)
            raise InputError(f"{where}: status must take two values, found {found}.")
        # with one level only, nobody can say whether it is the event
        if len(column.dtype.categories) < 2:
            raise InputError(f"{where}: status must take two values, found one; code it 0/1.")
        return np.asarray(column.cat.codes, dtype=np.float64)
    values = column.to_numpy(dtype=np.float64)
    if not np.isin(values, (0.0, 1.0)).all():
        raise InputError(f"{where}: status must be coded 0/1, found other numbers.")
    return values
