"""What every association model can do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.evidence import Evidence
from synthdp.imputation.predictors import Predictors
from synthdp.links import Link
from synthdp.microdata import Codes, Floats, Microdata


@dataclass(frozen=True, repr=False)
class Task:
    """What an association model is fitted to.

    Parameters
    ----------
    data
        The confidential records.
    predictors
        What the model sees of the kept columns.
    working
        The replaced columns: working values of numbers, positions in the levels otherwise.
    links
        The working scale of each replaced numeric column.
    sweeps
        How long a chain runs, where the joint draw is not exact.
    applies
        Of each replaced column that does not apply to everyone (``applies_when``): to which records it does.

    Notes
    -----
    ``predictors``, ``working`` and ``applies`` may have further rows behind those of ``data``: draws of the model that
    broke a constraint (see ``synthesis.truncation``), which teach as records do.
    """

    data: Microdata
    predictors: Predictors
    working: Mapping[str, Floats]
    links: Mapping[str, Link]
    sweeps: int = 20
    applies: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)


class Parameters(Protocol):
    """One draw of the model's parameters θ."""

    def draw(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw all replaced columns jointly from p(x | z, w, θ), given what W says about each."""
        ...

    def complete(self, task: Task, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Return the original's replaced columns, drawn from p(x | z, x_known, θ) where they do not apply."""
        ...


@runtime_checkable
class Chained(Protocol):
    """Parameters whose joint draw is the end of a chain that can be looked at."""

    def chain(
        self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator
    ) -> tuple[dict[str, Floats], pd.DataFrame]:
        """Return the draw and, per sweep and column, the mean and the share of records that moved."""
        ...


@runtime_checkable
class Movable(Parameters, Protocol):
    """Parameters that can be asked about other records than those they were learnt from."""

    def of(self, rows: Codes) -> Parameters:
        """Return the same θ for some of the records, each as often as it is named."""
        ...

    def unbounded(self, rows: Codes) -> Parameters:
        """Return the same θ, whose draws given no evidence are those of p(x | z, θ), not yet inside their bounds."""
        ...


class Posterior(Protocol):
    """p(θ | X, Z); W adds nothing about θ once X is seen."""

    def draw(self, *, rng: np.random.Generator) -> Parameters:
        """Draw θ."""
        ...


class ImputationModel(Protocol):
    """An association model as the user writes it."""

    @property
    def exclude(self) -> tuple[str, ...]:
        """Kept columns the model must not see."""
        ...

    @property
    def splines(self) -> int:
        """Knots of the spline of each numeric kept column; 0 for a straight line."""
        ...

    def problems(self, data: Microdata) -> list[str]:
        """Return why this model cannot replace the columns the schema asks for."""
        ...

    def fit(self, task: Task, *, rng: np.random.Generator) -> Posterior:
        """Return the posterior of the parameters."""
        ...
