"""Generalised linear models: any family and link of statsmodels, with or without weights."""

import warnings
from typing import Any, get_args

import numpy as np

from synthdp.errors import InputError, Unfinished
from synthdp.inference.formulas import Design
from synthdp.inference.models.likelihood import counts, numeric_response, orthogonal, zero_one
from synthdp.inference.models.newton import SEPARATION, VANISHED
from synthdp.inference.models.protocol import Fit
from synthdp.inference.models.settings import Link
from synthdp.microdata import Floats

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
    model: str, design: Design, weights: Floats | None, *, link: Link | None, power: float, where: str
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
    back = np.asarray(np.linalg.inv(upper), dtype=np.float64)
    inverse = np.linalg.inv(information)
    gaussian = model in ("ols", "gaussian")
    return Fit(
        names=design.names,
        values=back @ np.asarray(result.params, dtype=np.float64),
        covariance=back @ np.asarray(result.cov_params(), dtype=np.float64) @ back.T,
        influence=((each * working * (y - mean) * slope)[:, None] * basis) @ inverse @ back.T,
        df_residual=float(len(y) - len(design.names)) if gaussian else None,
    )


def weighted_least_squares(design: Design, weights: Floats, where: str) -> Fit:
    """Return least squares for records whose error variance is σ²/w_i, with the covariance that this model implies."""
    from statsmodels.regression.linear_model import WLS

    y = numeric_response(design, "wls", where)
    basis, upper = orthogonal(design.matrix)
    result = WLS(y, basis, weights=weights).fit()
    inverse = np.linalg.inv(basis.T @ (basis * weights[:, None]))
    influence = ((y - basis @ np.asarray(result.params)) * weights)[:, None] * basis @ inverse
    back = np.asarray(np.linalg.inv(upper), dtype=np.float64)
    return Fit(
        names=design.names,
        values=back @ np.asarray(result.params, dtype=np.float64),
        covariance=back @ np.asarray(result.cov_params(), dtype=np.float64) @ back.T,
        influence=influence @ back.T,
        df_residual=float(np.count_nonzero(weights) - len(design.names)),
    )


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


def _response(model: str, design: Design, where: str) -> Floats:
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
