"""The seam between a model and the sampling design: fit with any weights, and say what each record contributed."""

from dataclasses import dataclass
from typing import Protocol

from synthdp.inference.formulas import Positions
from synthdp.microdata import Floats


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
