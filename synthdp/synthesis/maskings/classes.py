"""Classes of at least k records that show the same values in all replaced columns.

References
----------
LeFevre, DeWitt, Ramakrishnan (2006), ICDE (Mondrian).
"""

from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from synthdp.synthesis.maskings.masking import Masking, written
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import Codes, Floats, Microdata


class KAnonymity(Masking):
    """Classes of at least k records that show the same values in all replaced columns: means, and the commonest level.

    A missing value shows what its class shows, so that it sets nobody apart.

    Examples
    --------
    >>> KAnonymity(k=3).k
    3
    """

    method: Literal["k_anonymity"] = "k_anonymity"
    k: int = Field(default=5, ge=2)
    copies: Literal[1] = 1

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = super().problems(plan)
        if len(plan.data) < self.k:
            found.append(f"synthesis.k: {self.k} records are needed for one class, found {len(plan.data)}.")
        return found

    def masked(self, data: Microdata, *, rng: np.random.Generator) -> dict[str, pd.Series]:
        """Return class means and commonest levels. Cost O(n log n · columns)."""
        columns = data.schema.replaced()
        values = np.column_stack([data.values(column.name) for column in columns])
        shown = values.copy()
        for members in classes(values, self.k):
            for j, column in enumerate(columns):
                here = values[members, j]
                shown[members, j] = _commonest(here) if column.kind.categorical else mean_of(here)
        return {column.name: written(shown[:, j], column, data) for j, column in enumerate(columns)}


def classes(values: Floats, k: int, *, largest: int | None = None) -> list[Codes]:
    """Return classes of at least k records, cut at the median of the column of widest range while both parts hold k.

    Parameters
    ----------
    largest
        Classes of so many records are not cut any further; by default they are as long as both parts hold k.
    """
    filled = scaled(values)
    waiting, found = [np.arange(len(values))], []
    while waiting:
        members = waiting.pop()
        small = len(members) < 2 * k or (largest is not None and len(members) <= largest)
        parts = None if small else _cut(filled[members], k)
        if parts is None:
            found.append(members)
        else:
            waiting += [members[parts], members[~parts]]
    return found


def scaled(values: Floats) -> Floats:
    """Return columns over their ranges; what is missing lies one range below the rest."""
    present = np.where(np.isnan(values).all(axis=0), 0.0, values)
    low, spread = np.nanmin(present, axis=0), np.nanmax(present, axis=0) - np.nanmin(present, axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    return np.asarray(np.where(np.isnan(values), low - scale, values) / scale)


def _cut(values: Floats, k: int) -> npt.NDArray[np.bool_] | None:
    for j in np.argsort(-np.ptp(values, axis=0), kind="stable"):
        middle = np.median(values[:, j])
        for part in (values[:, j] <= middle, values[:, j] < middle):
            if k <= int(part.sum()) <= len(values) - k:
                return part
    return None


def mean_of(values: Floats) -> float:
    """Return the mean of what is not missing; NaN where everything is."""
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else float("nan")


def _commonest(values: Floats) -> float:
    present = values[~np.isnan(values)]
    if not len(present):
        return float("nan")
    return float(np.bincount(present.astype(np.int64)).argmax())
