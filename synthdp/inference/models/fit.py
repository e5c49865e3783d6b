"""What a model is, and what it owes the sampling design.

By name it turns a file and what is asked of it into a problem, which can be fitted with any weights and says what each
record contributed; maximum likelihood by Newton's method.

Newton's method on Σ w_i ℓ_i(θ), with halved steps where a full one does not go up. Separation shows as information
that vanishes while the likelihood still rises.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import pandas as pd

from synthdp import newton as newtons
from synthdp import plugins
from synthdp.errors import InputError, Unfinished
from synthdp.inference.formulas import Positions
from synthdp.table.microdata import Floats
from synthdp.table.schema import Schema

Link = Literal[
    "identity", "log", "logit", "probit", "cloglog", "loglog", "cauchy", "inverse", "inverse_squared", "sqrt"
]
ReplicateMethod = Literal["brr", "jk1", "jkn", "bootstrap"]
Levels = Mapping[str, Sequence[str]]


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """One fit of a model to one file.

    Parameters
    ----------
    names, values
        The p terms and their estimates.
    covariance
        Their covariance if the records are a simple random sample and the model holds.
    influence
        n × p: what each record adds to the estimates, to first order (its weight included), so that the variance of
        the estimates under a sampling design is the variance of a total.
    df_residual
        For t intervals; None where intervals are normal.
    """

    names: tuple[str, ...]
    values: Floats
    covariance: Floats
    influence: Floats
    df_residual: float | None


class Problem(Protocol):
    """A model with its data: records complete, formula computed, ready to be fitted with any weights."""

    @property
    def rows(self) -> Positions:
        """Where the records used are in the table."""
        ...

    def fit(self, weights: Floats | None) -> Fit:
        """Return the fit that weighs record i by ``weights[i]``; None weighs all records equally."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Asked:
    """What is to be estimated from one file; the fields are those of :class:`~synthdp.inference.analyses.Analysis`.

    Parameters
    ----------
    columns
        Those that the analysis estimates from.
    levels
        Of the columns of a table, where they are known from elsewhere.
    where
        How messages name the analysis.
    """

    frame: pd.DataFrame
    schema: Schema | None
    formula: str
    columns: tuple[str, ...]
    where: str
    status: str | None = None
    probabilities: tuple[float, ...] = ()
    link: Link | None = None
    power: float = 1.5
    levels: Levels | None = None


@dataclass(frozen=True)
class AnalysisModel:
    """A model that an analysis may name.

    Parameters
    ----------
    name
        How ``analyses`` and ``synthdp analyse --model`` call it.
    problem
        Return the model with its data, ready to be fitted with any weights.
    listed
        Whether it takes columns separated by commas where others take a formula.
    linked
        Whether it takes a link of the user's choice.
    of_levels
        Whether its terms are levels of its columns, which must be those of all copies.
    fisher
        Whether its estimates are correlations, combined as Fisher's z.
    """

    name: str
    problem: Callable[[Asked], Problem]
    listed: bool = False
    linked: bool = False
    of_levels: bool = False
    fisher: bool = False


MODELS: Mapping[str, AnalysisModel] = plugins.Registry("analyses")


STEPS = 60
# squared distance to the maximum in standard errors; Newton doubles the digits, so what is left is its square
NEAR = 1e-12
# least information left in any direction, as a share of what the null model has there: a separated fit leaves 1e-12
# when it stops, and fits with a maximum keep far more
VANISHED = 1e-8
# rounding of the log-likelihood, as a share of it
LEVEL = 1e-10

SEPARATION = (
    "the terms predict the response perfectly for some records (separation), so there is no finite estimate; merge "
    "levels or leave a term out."
)


class Likelihood(Protocol):
    """What each record says about θ."""

    def log_likelihood(self, theta: Floats, weights: Floats) -> float:
        """Return Σ w_i ℓ_i(θ)."""
        ...

    def scores(self, theta: Floats, weights: Floats) -> Floats:
        """Return w_i ∂ℓ_i/∂θ, n × p; they sum to zero at the maximum."""
        ...

    def information(self, theta: Floats, weights: Floats) -> Floats:
        """Return −Σ w_i ∂²ℓ_i/∂θ∂θ', p × p."""
        ...


def maximise(
    likelihood: Likelihood, start: Floats, weights: Floats, *, where: str, model: str
) -> tuple[Floats, Floats]:
    """Return the maximum and the information there; O(n p²) a step.

    Raises
    ------
    InputError
        When there is no finite maximum (separation).
    Unfinished
        When the maximum is not found for another reason.
    """
    failed = Unfinished(f"{where}: the {model} fit did not converge; rescale or simplify the formula.")
    informations: list[Floats] = []

    def newton(theta: Floats, _: None) -> tuple[Floats, float, None]:
        informations.append(likelihood.information(theta, weights))
        gradient = likelihood.scores(theta, weights).sum(axis=0)
        step = _step(informations[-1], gradient)
        return step, float(gradient @ step), None

    with np.errstate(all="ignore"):
        found = newtons.maximise(
            lambda theta: (likelihood.log_likelihood(theta, weights), None),
            newton,
            start,
            steps=STEPS,
            near=NEAR,
            rounding=LEVEL,
            last=True,
        )
        information = likelihood.information(found.theta, weights)
    if not np.isfinite(information).all():
        raise failed
    if _vanished(information, informations[0]):
        raise InputError(f"{where}: {SEPARATION}")
    if not found.reached:
        raise failed
    return found.theta, information


def conclude(
    likelihood: Likelihood, found: tuple[Floats, Floats], weights: Floats, names: tuple[str, ...], back: Floats
) -> Fit:
    """Return the fit in the user's terms: θ on the working scale is turned by ``back`` into what ``names`` name."""
    theta, information = found
    inverse = np.linalg.inv(information)
    return Fit(
        names=names,
        values=back @ theta,
        covariance=back @ inverse @ back.T,
        influence=likelihood.scores(theta, weights) @ inverse @ back.T,
        df_residual=None,
    )


def _step(information: Floats, gradient: Floats) -> Floats:
    """Return Newton's step, uphill also where the likelihood is not concave; NaN where it is not defined."""
    if not (np.isfinite(information).all() and np.isfinite(gradient).all()):
        return np.full_like(gradient, np.nan)
    values, vectors = np.linalg.eigh(information)
    bent = np.maximum(np.abs(values), np.finfo(np.float64).tiny)
    return np.asarray(vectors @ ((vectors.T @ gradient) / bent), dtype=np.float64)


def _vanished(information: Floats, null: Floats) -> bool:
    """Whether some direction has lost nearly all the information that the null model has there."""
    values, vectors = np.linalg.eigh(null)
    values = np.maximum(values, np.finfo(np.float64).eps * values[-1])  # away from the maximum it may be indefinite
    root = vectors / np.sqrt(values)
    return bool(np.linalg.eigvalsh(root.T @ information @ root)[0] < VANISHED)
