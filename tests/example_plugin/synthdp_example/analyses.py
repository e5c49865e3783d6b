"""The mean of a column without its outer fifths, by weight; with the influence of every record."""

from dataclasses import dataclass

import numpy as np

from synthdp.inference.formulas import Positions, complete
from synthdp.inference.models.fit import AnalysisModel, Asked, Fit
from synthdp.inference.variances import simple
from synthdp.table.microdata import Floats

SHARE = 0.2


@dataclass(frozen=True, eq=False, repr=False)
class TrimmedMeans:
    rows: Positions
    names: tuple[str, ...]
    values: Floats

    def fit(self, weights: Floats | None) -> Fit:
        each = np.ones(len(self.values)) if weights is None else weights
        means, influence = np.empty(len(self.names)), np.empty_like(self.values)
        for j, y in enumerate(self.values.T):
            order = np.argsort(y, kind="stable")
            share = np.cumsum(each[order]) / each.sum()
            low, high = (y[order][np.searchsorted(share, cut)] for cut in (SHARE, 1 - SHARE))
            pulled = np.clip(y, low, high)  # the influence of a trimmed mean is that of a winsorised one
            inside = each * ((y >= low) & (y <= high))
            means[j] = inside @ y / inside.sum()
            influence[:, j] = each * (pulled - each @ pulled / each.sum()) / ((1 - 2 * SHARE) * each.sum())
        return Fit(self.names, means, simple(influence), influence, None)


def problem(asked: Asked) -> TrimmedMeans:
    used = complete(asked.frame, asked.columns, asked.schema, where=asked.where)
    rows = np.flatnonzero(asked.frame.index.isin(used.index))
    return TrimmedMeans(rows, asked.columns, used[list(asked.columns)].to_numpy(dtype=float))


TRIMMED_MEAN = AnalysisModel("trimmed_mean", problem, listed=True)
