"""What one analysis says on one file: terms, estimates and their covariance."""

from dataclasses import dataclass

import numpy as np

from synthdp.microdata import Floats


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
