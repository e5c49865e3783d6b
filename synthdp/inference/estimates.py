"""What one analysis says on one file.

Terms, estimates and their covariance, also from what the user's own code returns.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from synthdp.errors import InputError, Unfinished
from synthdp.inference.models.fit import SEPARATION
from synthdp.table.microdata import Floats


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
    records
        How many records the estimates come from; None where nobody said.
    """

    names: tuple[str, ...]
    values: Floats
    covariance: Floats
    df_residual: float | None
    records: int | None = None

    @property
    def se(self) -> Floats:
        """The standard errors."""
        return np.sqrt(np.diag(self.covariance))


# smallest eigenvalue of the correlations of the estimates: below it some are combinations of others
SINGULAR = 1e-12
# rounding of a covariance, as a share of its largest correlation
ROUNDING = 1e-8
# a fitted probability closer than this to zero or one is on its way there
CERTAIN = 1e-6


def fitted(frame: pd.DataFrame, fit: Callable[[pd.DataFrame], Any], names: Sequence[str] | None = None) -> Estimates:
    """Return the estimates that the user's function gives on one file.

    Parameters
    ----------
    frame
        The file.
    fit
        From a frame to a fitted statsmodels model, an (estimate, covariance) pair, or :class:`Estimates`.
    names
        Of the terms, where the result has none.

    Raises
    ------
    InputError
        When the function fails, finds separation, or its result has no proper covariance.
    Unfinished
        When the fit has not converged.
    """
    if frame.empty:
        raise InputError("the file has no records.")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = fit(frame)
        except Exception as error:
            # its message may quote the data
            kind = type(error).__name__
            if kind == "PerfectSeparationError":
                raise InputError(SEPARATION) from None
            raise InputError(f"the function failed on this file ({kind}).") from None
    if any(warning.category.__name__ == "PerfectSeparationWarning" for warning in caught):
        raise InputError(SEPARATION)
    if hasattr(result, "cov_params"):
        found = from_result(result, names)
    elif isinstance(result, Estimates):
        found = result
    else:
        found = from_pair(result, names)
    return found if found.records is not None else replace(found, records=len(frame))


def from_result(result: Any, names: Sequence[str] | None = None) -> Estimates:
    """Return the estimates in a statsmodels result: its params, cov_params(), and df_resid where it uses t."""
    converged = getattr(result, "converged", None)
    if isinstance(settled := getattr(result, "mle_retvals", None), Mapping):
        converged = settled.get("converged", converged)
    if converged is not None and not converged:
        if _separated(result):
            raise InputError(SEPARATION)
        raise Unfinished("the fit did not converge; rescale or simplify the model.")
    covariance = result.cov_params()
    params = result.params
    if isinstance(params, pd.DataFrame):  # one column for each level of a multinomial response
        params = params.to_numpy().T.ravel()
    if names is None:
        names = _index(covariance) or _index(params) or getattr(getattr(result, "model", None), "exog_names", None)
    df = float(result.df_resid) if getattr(result, "use_t", False) else None
    nobs = getattr(result, "nobs", None)
    found = from_pair((params, covariance), names)
    if _smallest(found.covariance) < SINGULAR:
        raise InputError("the covariance is singular: a term is a combination of others; leave one out.")
    return replace(found, df_residual=df, records=None if nobs is None else int(nobs))


def from_pair(pair: Any, names: Sequence[str] | None = None) -> Estimates:
    """Return the estimates in an (estimate, covariance) pair.

    The estimate is a number, a vector, a Series or a mapping from names; the covariance a matrix, or a vector of
    variances. A singular covariance is allowed (shares that add to one), a negative variance is not.

    Examples
    --------
    >>> from_pair(([1.0, 2.0], [0.1, 0.2])).names
    ('estimate 1', 'estimate 2')
    """
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise InputError("must give a fitted model or an (estimate, covariance) pair.")
    given, values = named(pair[0])
    spread: Any = list(pair[1].values()) if isinstance(pair[1], Mapping) else pair[1]
    try:
        covariance = np.asarray(spread, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("the covariance must be numbers.") from None
    p = len(values)
    if covariance.size == p and covariance.ndim < 2:
        covariance = np.diag(covariance.reshape(p))
    if covariance.shape != (p, p):
        raise InputError(f"{p} estimates need {p} variances or a {p} × {p} covariance, found {covariance.shape}.")
    _check(values, covariance)
    called = tuple(str(name) for name in (names if names is not None else given))
    if len(called) != p:
        raise InputError(f"{p} estimates need {p} names, found {len(called)}.")
    return Estimates(called, values, (covariance + covariance.T) / 2, None)


def named(values: Any) -> tuple[tuple[str, ...], Floats]:
    """Return the names and numbers in a scalar, a vector, a Series or a mapping."""
    names = None
    if isinstance(values, Mapping):
        names, values = [str(name) for name in values], list(values.values())
    elif isinstance(values, pd.Series):
        names = _index(values)
    try:
        numbers = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError("the estimate must be numbers.") from None
    if numbers.ndim != 1 or not numbers.size:
        raise InputError(f"the estimate must be a number or a vector, found an array of shape {numbers.shape}.")
    if names is None:
        names = ["estimate"] if numbers.size == 1 else [f"estimate {k}" for k in range(1, numbers.size + 1)]
    return tuple(names), numbers


def _separated(result: Any) -> bool:
    """Whether a fit that did not converge gives some records of a 0/1 response a probability of zero or one."""
    try:
        with np.errstate(all="ignore"):
            share = np.asarray(result.predict(), dtype=np.float64)
        response = np.asarray(result.model.endog, dtype=np.float64)
    except Exception:  # not every result predicts
        return False
    return bool(np.isin(response, (0.0, 1.0)).all() and (np.minimum(share, 1 - share) < CERTAIN).any())


def _check(values: Floats, covariance: Floats) -> None:
    if bad := int((~np.isfinite(values)).sum()):
        raise InputError(f"{bad} of {len(values)} estimates are not finite.")
    if not np.isfinite(covariance).all():
        raise InputError("the covariance of the estimates is not finite: the fit is singular; leave a term out.")
    if (np.diag(covariance) < 0).any():
        raise InputError(f"{int((np.diag(covariance) < 0).sum())} of {len(values)} variances are negative.")
    largest = np.abs(covariance).max()
    if (np.abs(covariance - covariance.T) > ROUNDING * largest).any():
        raise InputError("the covariance must be symmetric.")
    if _smallest(covariance) < -ROUNDING * len(values):
        raise InputError("the covariance is not one: some combination of the estimates has a negative variance.")


def _smallest(covariance: Floats) -> float:
    """Return the least eigenvalue of the correlations; a variance of zero counts as singular."""
    sd = np.sqrt(np.diag(covariance))
    scale = np.divide(1.0, sd, out=np.zeros_like(sd), where=sd > 0)
    return float(np.linalg.eigvalsh(covariance * np.outer(scale, scale))[0])


def _index(values: Any) -> list[str] | None:
    """Return the labels of a Series or DataFrame, levels of several joined by a colon."""
    if not isinstance(values, pd.Series | pd.DataFrame):
        return None
    return [": ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in values.index]
