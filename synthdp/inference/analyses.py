"""The analyses a data user would run: a model and a formula, estimated on one file."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import field_validator

from synthdp.errors import InputError, Unfinished
from synthdp.inference.formulas import Design, absent, build, columns_used, complete
from synthdp.inference.rules import unknown_rule
from synthdp.microdata import Floats
from synthdp.schema import Schema, Settings

__all__ = ["Analysis", "Estimates", "columns_used"]

NEWTON_STEPS = 30
# least information left in any direction, as a share of what the null model has there: 30 steps of a separated fit
# leave 1e-12, and fits with a maximum keep far more
VANISHED = 1e-8


@dataclass(frozen=True, eq=False)
class Estimates:
    """What one analysis says on one file.

    Parameters
    ----------
    names
        The terms, p of them.
    values
        Their estimates.
    covariance
        The sampling covariance of the estimates, p × p.
    df_residual
        Residual degrees of freedom for t intervals; None where intervals are normal.
    """

    names: tuple[str, ...]
    values: Floats
    covariance: Floats
    df_residual: float | None

    @property
    def se(self) -> Floats:
        """The standard errors."""
        return np.sqrt(np.diag(self.covariance))


class Analysis(Settings):
    """One analysis: a model, a formula and the rule that combines its estimates over copies.

    Parameters
    ----------
    name
        What reports call it.
    model
        ``ols``, ``logit``, ``probit``, ``poisson``, or ``mean``.
    formula
        A patsy formula such as ``vote ~ age + C(region)``; for ``mean`` a column or several, separated by commas.
    rule
        The combining rule; None leaves it to the design of the release.

    Notes
    -----
    Records with a missing value in a column the formula uses are left out. For ``logit`` and ``probit`` the response
    is 0/1, or takes two values that are not numbers: then the second one is coded 1, in the order of the schema's
    levels, or sorted where there is no schema (NO/YES models YES; False/True models True). Standard errors are those
    of the model, not robust ones. For ``mean`` the variance is s²/n.

    Examples
    --------
    >>> frame = pd.DataFrame({"y": [1.0, 2.0, 4.0, 5.0], "x": [0, 1, 2, 3]})
    >>> found = Analysis(name="trend", model="ols", formula="y ~ x").estimate(frame)
    >>> dict(zip(found.names, found.values.round(6).tolist()))
    {'Intercept': 0.9, 'x': 1.4}
    """

    name: str
    model: Literal["ols", "logit", "probit", "poisson", "mean"]
    formula: str
    rule: str | None = None

    @field_validator("rule")
    @classmethod
    def _known_rule(cls, rule: str | None) -> str | None:
        if rule is not None and (sentence := unknown_rule(rule)):
            raise ValueError(sentence)
        return rule

    @property
    def where(self) -> str:
        """How messages name this analysis."""
        return f"analyses.{self.name}"

    def columns(self) -> tuple[str, ...]:
        """Return the columns this analysis uses."""
        if self.model == "mean":
            return tuple(dict.fromkeys(name.strip() for name in self.formula.split(",") if name.strip()))
        return columns_used(self.formula, where=self.where)

    def problems(self, names: Iterable[str]) -> list[str]:
        """Return what is wrong before any record is read, given the names of the columns there are."""
        try:
            columns = self.columns()
        except InputError as error:
            return list(error.problems)
        if not columns:
            return [f"{self.where}: the mean of what? Name a column in formula."]
        return absent(columns, names, where=self.where)

    def estimate(self, frame: pd.DataFrame, schema: Schema | None = None) -> Estimates:
        """Return the estimates on one file.

        Raises
        ------
        InputError
            When the formula, the response or the design does not allow an estimate, or the likelihood has no maximum
            (separation).
        Unfinished
            When the fit does not converge for another reason.
        """
        if problems := self.problems(frame.columns):
            raise InputError(*problems)
        if self.model == "mean":
            return _means(complete(frame, self.columns(), schema, where=self.where), self.where)
        design = build(self.formula, frame, schema, where=self.where)
        if self.model == "ols":
            return _least_squares(design, self.where)
        return _maximum_likelihood(self.model, design, self.where)


def _means(used: pd.DataFrame, where: str) -> Estimates:
    if text := [str(name) for name in used.columns if isinstance(used[name].dtype, pd.CategoricalDtype)]:
        raise InputError(f"{where}: a mean needs numbers, found text in {text[0]!r}.")
    values = used.to_numpy(dtype=np.float64)
    n = len(values)
    if n < 2:
        raise InputError(f"{where}: the variance of a mean needs at least 2 complete records, found {n}.")
    return Estimates(
        names=tuple(str(name) for name in used.columns),
        values=values.mean(axis=0),
        covariance=np.atleast_2d(np.cov(values, rowvar=False)) / n,
        df_residual=n - 1.0,
    )


def _least_squares(design: Design, where: str) -> Estimates:
    from statsmodels.regression.linear_model import OLS

    if design.response.shape[1] != 1:
        raise InputError(f"{where}: ols needs a numeric response, found text.")
    rows, terms = design.matrix.shape
    if rows == terms:
        raise InputError(f"{where}: {terms} terms leave no degree of freedom in {rows} complete records.")
    basis, upper = _orthogonal(design)
    return _estimates(design, upper, OLS(design.response[:, 0], basis).fit(), df_residual=float(rows - terms))


def _maximum_likelihood(model: str, design: Design, where: str) -> Estimates:
    from statsmodels.discrete.discrete_model import Logit, Poisson, Probit

    y, weight, centre = _counts(design, where) if model == "poisson" else _zero_one(design, model, where)
    basis, upper = _orthogonal(design)
    likelihood = {"logit": Logit, "probit": Probit, "poisson": Poisson}[model](y, basis)
    start = centre * basis.mean(axis=0)
    # statsmodels warns of separation and of no convergence; both become errors below
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            # statsmodels' ridge would stop a separated fit half-way and make it look slow instead
            result = likelihood.fit(start, method="newton", maxiter=NEWTON_STEPS, ridge_factor=0.0, disp=0)
        except np.linalg.LinAlgError:
            result = None
        information = None if result is None else -likelihood.hessian(result.params)
    if information is not None and np.isfinite(information).all():
        if np.linalg.eigvalsh(information)[0] < VANISHED * weight * len(y):
            raise InputError(
                f"{where}: the terms predict the response perfectly for some records (separation), "
                "so there is no finite estimate; merge levels or leave a term out."
            )
        if result.mle_retvals["converged"]:
            return _estimates(design, upper, result, df_residual=None)
    raise Unfinished(f"{where}: the {model} fit did not converge; rescale or simplify the formula.")


def _zero_one(design: Design, model: str, where: str) -> tuple[Floats, float, float]:
    """Return the 0/1 response, its variance, and the linear predictor to start from."""
    kinds = design.response.shape[1]
    if kinds > 2:
        raise InputError(f"{where}: {model} needs a response with two values, found {kinds}.")
    # text and booleans come as one column per level: the second level is the one modelled
    y = design.response[:, -1]
    if not np.isin(y, (0.0, 1.0)).all():
        raise InputError(f"{where}: {model} needs a response coded 0/1, found other numbers.")
    share = float(y.mean())
    if share in (0.0, 1.0):
        raise InputError(f"{where}: {model} needs a response that takes both values, found one.")
    return y, share * (1 - share), 0.0


def _counts(design: Design, where: str) -> tuple[Floats, float, float]:
    """Return the response as counts, their mean (and variance), and the linear predictor to start from."""
    y = design.response[:, 0]
    if design.response.shape[1] != 1 or (y < 0).any():
        raise InputError(f"{where}: poisson needs a response of counts, found text or negative numbers.")
    if not y.any():
        raise InputError(f"{where}: poisson needs a response with at least one count above zero.")
    return y, float(y.mean()), float(np.log(y.mean()))


def _orthogonal(design: Design) -> tuple[Floats, Floats]:
    """Return the design as basis · upper, the basis orthogonal with columns of unit mean square.

    On that basis Newton's method and its stopping rule suit every scale and every correlation of the terms.
    """
    basis, upper = np.linalg.qr(design.matrix)
    root = np.sqrt(len(design.matrix))
    return basis * root, upper / root


def _estimates(design: Design, upper: Floats, result: Any, df_residual: float | None) -> Estimates:
    """Return the estimates of the terms from those of the basis."""
    back = np.asarray(np.linalg.inv(upper), dtype=np.float64)
    return Estimates(
        names=design.names,
        values=back @ np.asarray(result.params, dtype=np.float64),
        covariance=back @ np.asarray(result.cov_params(), dtype=np.float64) @ back.T,
        df_residual=df_residual,
    )
