"""A regression with its data, whichever model it is."""

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
        model, design, where = self.model, self.design, self.where
        if model == "multinomial":
            return multinomial(design, weights, where)
        if model == "ordered_logit":
            return ordered("logit", design, weights, where)
        if model == "ordered_probit":
            return ordered("probit", design, weights, where)
        if model == "cox":
            return cox(design, self.status, weights, where)
        if model == "negative_binomial":
            return negative_binomial(design, weights, where)
        if model == "wls" and weights is not None:
            return weighted_least_squares(design, weights, where)
        if weights is None and self.link is None:
            if model == "ols":
                return least_squares(design, where)
            if model in ("logit", "probit", "poisson"):
                return maximum_likelihood(model, design, where)
        return generalised(model, design, weights, link=self.link, power=self.power, where=where)


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
