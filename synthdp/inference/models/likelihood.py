"""Least squares, logit, probit and Poisson as statsmodels fits them, and what their responses must look like."""

import warnings
from typing import Any

import numpy as np

from synthdp.errors import InputError, Unfinished
from synthdp.inference.formulas import Design
from synthdp.inference.models.newton import SEPARATION, VANISHED
from synthdp.inference.models.protocol import Fit
from synthdp.microdata import Floats

NEWTON_STEPS = 30


def least_squares(design: Design, where: str) -> Fit:
    """Return the least-squares fit with the covariance s² (X'X)⁻¹."""
    from statsmodels.regression.linear_model import OLS

    y = numeric_response(design, "ols", where)
    rows = len(y)
    basis, upper = orthogonal(design.matrix)
    result = OLS(y, basis).fit()
    residual = y - basis @ np.asarray(result.params)
    # the basis has X'X = n I
    return turned(design, upper, result, residual[:, None] * basis / rows, float(rows - len(design.names)))


def maximum_likelihood(model: str, design: Design, where: str) -> Fit:
    """Return the logit, probit or Poisson fit with the inverse information as covariance."""
    from statsmodels.discrete.discrete_model import Logit, Poisson, Probit

    y, weight, centre = counts(design, model, where) if model == "poisson" else zero_one(design, model, where)
    basis, upper = orthogonal(design.matrix)
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
            raise InputError(f"{where}: {SEPARATION}")
        if result.mle_retvals["converged"]:
            influence = likelihood.score_obs(result.params) @ np.linalg.inv(information)
            return turned(design, upper, result, influence, None)
    raise Unfinished(f"{where}: the {model} fit did not converge; rescale or simplify the formula.")


def numeric_response(design: Design, model: str, where: str) -> Floats:
    """Return a response that must be numbers, with records left over once the terms are fitted."""
    if design.response.shape[1] != 1:
        raise InputError(f"{where}: {model} needs a numeric response, found text.")
    rows, terms = design.matrix.shape
    if rows == terms:
        raise InputError(f"{where}: {terms} terms leave no degree of freedom in {rows} complete records.")
    return design.response[:, 0]


def zero_one(design: Design, model: str, where: str) -> tuple[Floats, float, float]:
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


def counts(design: Design, model: str, where: str) -> tuple[Floats, float, float]:
    """Return the response as counts, their mean (and variance), and the linear predictor to start from."""
    y = design.response[:, 0]
    if design.response.shape[1] != 1 or (y < 0).any():
        raise InputError(f"{where}: {model} needs a response of counts, found text or negative numbers.")
    if not y.any():
        raise InputError(f"{where}: {model} needs a response with at least one count above zero.")
    return y, float(y.mean()), float(np.log(y.mean()))


def orthogonal(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the design as basis · upper, the basis orthogonal with columns of unit mean square.

    On that basis Newton's method and its stopping rule suit every scale and every correlation of the terms.
    """
    basis, upper = np.linalg.qr(matrix)
    root = np.sqrt(len(matrix))
    return basis * root, upper / root


def turned(design: Design, upper: Floats, result: Any, influence: Floats, df_residual: float | None) -> Fit:
    """Return the fit of the terms from that of the basis."""
    back = np.asarray(np.linalg.inv(upper), dtype=np.float64)
    return Fit(
        names=design.names,
        values=back @ np.asarray(result.params, dtype=np.float64),
        covariance=back @ np.asarray(result.cov_params(), dtype=np.float64) @ back.T,
        influence=influence @ back.T,
        df_residual=df_residual,
    )
