"""Least squares, logit, probit, Poisson, and any family and link of statsmodels, with or without weights."""

import warnings
from typing import Any, get_args

import numpy as np
from scipy.special import expit, ndtr

from synthdp.errors import InputError, Unfinished
from synthdp.inference.formulas import ModelMatrix
from synthdp.inference.models.fit import SEPARATION, VANISHED, Fit, Link
from synthdp.table.microdata import Floats

# steps of Newton's method, at most, and the step after which it has arrived
NEWTON_STEPS, NEAR = 30, 1e-8
EPSILON = float(np.finfo(np.float64).eps)


def least_squares(design: ModelMatrix, where: str) -> Fit:
    """Return the least-squares fit with the covariance s² (X'X)⁻¹."""
    y = numeric_response(design, "ols", where)
    rows = len(y)
    basis, upper = orthogonal(design.matrix)
    # the basis has X'X = n I
    values = basis.T @ y / rows
    residual = y - basis @ values
    left = rows - len(design.names)
    covariance = np.eye(len(values)) * (residual @ residual) / left / rows
    return turned(design, upper, values, covariance, residual[:, None] * basis / rows, float(left))


def maximum_likelihood(model: str, design: ModelMatrix, where: str) -> Fit:
    """Return the logit, probit or Poisson fit with the inverse information as covariance.

    By Newton's method, as statsmodels does it, whose import would take longer than most fits.
    """
    y, weight, centre = counts(design, model, where) if model == "poisson" else zero_one(design, model, where)
    basis, upper = orthogonal(design.matrix)
    pull = _PULLS[model]
    values, arrived = centre * basis.mean(axis=0), False
    # overflows on the way become errors below
    with np.errstate(all="ignore"):
        for _ in range(NEWTON_STEPS):
            score, curvature = pull(y, basis @ values)
            try:
                step = np.linalg.solve(basis.T @ (basis * curvature[:, None]), basis.T @ score)
            except np.linalg.LinAlgError:
                step = np.full(len(values), np.nan)
            values, arrived = values + step, not (np.abs(step) > NEAR).any()
            if arrived:
                break
        score, curvature = pull(y, basis @ values)
        information = basis.T @ (basis * curvature[:, None])
    finite = bool(np.isfinite(information).all())
    if finite and np.linalg.eigvalsh(information)[0] < VANISHED * weight * len(y):
        raise InputError(f"{where}: {SEPARATION}")
    if not (finite and arrived):
        raise Unfinished(f"{where}: the {model} fit did not converge; rescale or simplify the formula.")
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    return turned(design, upper, values, covariance, score[:, None] * basis @ covariance, None)


def _logit(y: Floats, eta: Floats) -> tuple[Floats, Floats]:
    mean = expit(eta)
    return y - mean, mean * (1 - mean)


def _probit(y: Floats, eta: Floats) -> tuple[Floats, Floats]:
    side = 2 * y - 1
    passed = np.clip(ndtr(side * eta), EPSILON, 1 - EPSILON)
    score = side * np.exp(-0.5 * eta**2) / np.sqrt(2 * np.pi) / passed
    return score, score * (score + eta)


def _poisson(y: Floats, eta: Floats) -> tuple[Floats, Floats]:
    mean = np.exp(eta)
    return y - mean, mean


# the slope of each record's log likelihood by its linear predictor, and how much it bends
_PULLS = {"logit": _logit, "probit": _probit, "poisson": _poisson}


def numeric_response(design: ModelMatrix, model: str, where: str) -> Floats:
    """Return a response that must be numbers, with records left over once the terms are fitted."""
    if design.response.shape[1] != 1:
        raise InputError(f"{where}: {model} needs a numeric response, found text.")
    rows, terms = design.matrix.shape
    if rows == terms:
        raise InputError(f"{where}: {terms} terms leave no degree of freedom in {rows} complete records.")
    return design.response[:, 0]


def zero_one(design: ModelMatrix, model: str, where: str) -> tuple[Floats, float, float]:
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


def counts(design: ModelMatrix, model: str, where: str) -> tuple[Floats, float, float]:
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


def turned(
    design: ModelMatrix, upper: Floats, values: Floats, covariance: Floats, influence: Floats, df_residual: float | None
) -> Fit:
    """Return the fit of the terms from that of the basis."""
    back = np.asarray(np.linalg.inv(upper), dtype=np.float64)
    return Fit(
        names=design.names,
        values=back @ values,
        covariance=back @ covariance @ back.T,
        influence=influence @ back.T,
        df_residual=df_residual,
    )


def _found(result: Any) -> tuple[Floats, Floats]:
    return np.asarray(result.params, dtype=np.float64), np.asarray(result.cov_params(), dtype=np.float64)


# model → family, and the link it has by name; the others take their family's canonical link
FAMILIES = {
    "ols": ("Gaussian", None),
    "gaussian": ("Gaussian", None),
    "logit": ("Binomial", "logit"),
    "probit": ("Binomial", "probit"),
    "binomial": ("Binomial", None),
    "poisson": ("Poisson", None),
    "gamma": ("Gamma", None),
    "inverse_gaussian": ("InverseGaussian", None),
    "tweedie": ("Tweedie", None),
}
_LINKS = dict(
    zip(
        get_args(Link),
        ["Identity", "Log", "Logit", "Probit", "CLogLog", "LogLog", "Cauchy", "InversePower", "InverseSquared", "Sqrt"],
        strict=True,
    )
)
STEPS = 100


def generalised(
    model: str, design: ModelMatrix, weights: Floats | None, *, link: Link | None, power: float, where: str
) -> Fit:
    """Return the fit by iteratively reweighted least squares.

    The influence of record i is w_i (y_i − μ_i)/(V_i g'_i) A⁻¹ x_i, with A = Σ w_i x_i x_i'/(V_i g'_i²), V the variance
    function and g the link: the expected information, as R's ``svyglm`` takes it.

    Raises
    ------
    InputError
        When the response does not suit the family, or there is separation.
    Unfinished
        When the fit does not converge.
    """
    from statsmodels.genmod.generalized_linear_model import GLM

    family = _family(model, link, power)
    y = _response(model, design, where)
    basis, upper = orthogonal(design.matrix)
    failed = Unfinished(
        f"{where}: the {model} fit did not converge; rescale or simplify the formula, or choose another link."
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = GLM(y, basis, family=family, freq_weights=weights).fit(maxiter=STEPS, tol=1e-12)
        except (ValueError, FloatingPointError, np.linalg.LinAlgError):
            raise failed from None
        mean = family.link.inverse(basis @ np.asarray(result.params))
        slope = family.link.deriv(mean)
        working = 1 / (family.variance(mean) * slope**2)
        each = np.ones(len(y)) if weights is None else weights
        information = basis.T @ (basis * (each * working)[:, None])
    if not (np.isfinite(information).all() and np.isfinite(mean).all()):
        raise failed
    if model in ("logit", "probit", "binomial", "poisson"):
        centre = np.average(y, weights=each)
        null = each.sum() / float(family.variance(centre) * family.link.deriv(centre) ** 2)
        if np.linalg.eigvalsh(information)[0] < VANISHED * null * _spread(basis, each):
            raise InputError(f"{where}: {SEPARATION}")
    if not result.converged or (model == "tweedie" and (mean <= 0).any()):
        raise failed
    influence = ((each * working * (y - mean) * slope)[:, None] * basis) @ np.linalg.inv(information)
    df = float(len(y) - len(design.names)) if model in ("ols", "gaussian") else None
    return turned(design, upper, *_found(result), influence, df)


def weighted_least_squares(design: ModelMatrix, weights: Floats, where: str) -> Fit:
    """Return least squares for records whose error variance is σ²/w_i, with the covariance that this model implies."""
    from statsmodels.regression.linear_model import WLS

    y = numeric_response(design, "wls", where)
    basis, upper = orthogonal(design.matrix)
    result = WLS(y, basis, weights=weights).fit()
    inverse = np.linalg.inv(basis.T @ (basis * weights[:, None]))
    influence = ((y - basis @ np.asarray(result.params)) * weights)[:, None] * basis @ inverse
    return turned(design, upper, *_found(result), influence, float(np.count_nonzero(weights) - len(design.names)))


def _family(model: str, link: Link | None, power: float) -> Any:
    from statsmodels.genmod import families

    name, fixed = FAMILIES[model]
    chosen = link or fixed
    settings: dict[str, Any] = {} if chosen is None else {"link": getattr(families.links, _LINKS[chosen])()}
    if model == "tweedie":
        settings["var_power"] = power
    with warnings.catch_warnings():
        # a link whose means may leave the family's range is the user's choice; the fit fails if they do
        warnings.simplefilter("ignore")
        return getattr(families, name)(**settings)


def _response(model: str, design: ModelMatrix, where: str) -> Floats:
    if model in ("logit", "probit", "binomial"):
        return zero_one(design, model, where)[0]
    if model == "poisson":
        return counts(design, model, where)[0]
    y = numeric_response(design, model, where)
    if model in ("gamma", "inverse_gaussian") and (y <= 0).any():
        raise InputError(f"{where}: {model} needs a response above zero, found {int((y <= 0).sum())} that are not.")
    if model == "tweedie" and (y < 0).any():
        raise InputError(f"{where}: tweedie needs a response of zero or more, found {int((y < 0).sum())} below.")
    return y


def _spread(basis: Floats, weights: Floats) -> float:
    """Return the least weighted mean square of the basis in any direction (1 without weights)."""
    return float(np.linalg.eigvalsh(basis.T @ (basis * (weights / weights.sum())[:, None]))[0])
