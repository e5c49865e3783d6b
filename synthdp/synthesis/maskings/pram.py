"""The post-randomisation method: levels exchanged at random, and numbers by bins."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from synthdp.imputation.cells import write
from synthdp.synthesis.maskings.exchange import exchanged, invariant, shares, truth_odds, uniform_matrix
from synthdp.synthesis.maskings.masking import Masking, as_levels, unknown_columns
from synthdp.synthesis.plan import Plan
from synthdp.table.microdata import MISSING, Codes, Floats, Microdata
from synthdp.table.schema import Column

Matrix = tuple[tuple[float, ...], ...]


class Pram(Masking):
    """Levels exchanged at random, record by record; a number becomes one of somebody in the bin it is exchanged for.

    Parameters
    ----------
    keep
        Probability that a level, or a bin, stays; the others share the rest equally.
    matrix
        For a column, row k holds P(shown = l | true = k) over the levels l in schema order, in place of ``keep``.
    invariant
        Whether matrices are made invariant, so that shares stay as they are in expectation; the diagonal falls.
    bins
        Into how many bins, of about as many records each, numbers are cut.

    Examples
    --------
    >>> Pram(keep=0.8, matrix={"sex": ((0.9, 0.1), (0.2, 0.8))}).invariant
    False
    """

    method: Literal["pram"] = "pram"
    keep: float = Field(default=0.8, ge=0, le=1)
    matrix: Mapping[str, Matrix] = Field(default_factory=dict)
    invariant: bool = False
    bins: int = Field(default=10, ge=2)

    @model_validator(mode="after")
    def _stochastic(self) -> "Pram":
        for name, matrix in self.matrix.items():
            for k, row in enumerate(matrix):
                if len(row) != len(matrix) or not min(row) >= 0 or not abs(sum(row) - 1) <= 1e-9:
                    raise ValueError(
                        f"matrix.{name}: row {k + 1} must hold {len(matrix)} probabilities that sum to 1; correct it"
                    )
        return self

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        columns = [column for column in plan.data.schema.replaced() if column.kind.categorical]
        wrong = [
            f"synthesis.matrix.{column.name}: has {len(self.matrix[column.name])} rows, the column "
            f"{len(column.levels)} "
            "levels; give a row for each level, in the order of the levels."
            for column in columns
            if column.name in self.matrix and len(self.matrix[column.name]) != len(column.levels)
        ]
        return super().problems(plan) + unknown_columns("matrix", self.matrix, columns, "levels") + wrong

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know: how far a level that is shown is believed."""
        found = super().notes(plan)
        for column in plan.data.schema.replaced():
            if column.kind.categorical and len(column.levels) > 1:
                codes = plan.data.codes(column.name)
                prior = shares(codes, len(column.levels))
                odds = truth_odds(prior, self.probabilities(column.name, codes, len(column.levels)))
                rare = int(np.argmin(np.where(prior > 0, prior, np.inf)))
                found.append(
                    f"pram: the odds that a level shown in {column.name} is the record's own are {odds[rare]:.2g} "
                    "for the "
                    f"rarest level (small is safe) and {odds[prior > 0].max(initial=0.0):.2g} at most."
                )
        return found

    def probabilities(self, name: str, codes: Codes, levels: int) -> Floats:
        """Return the matrix of a column of levels, or of bins."""
        given = self.matrix.get(name)
        matrix = uniform_matrix(self.keep, levels) if given is None else np.asarray(given, dtype=np.float64)
        return invariant(shares(codes, levels), matrix) if self.invariant else matrix

    def masked(self, data: Microdata, *, rng: np.random.Generator) -> dict[str, pd.Series]:
        """Return all replaced columns after exchange. Cost O(n log n) for numbers, O(n) for levels."""
        return {column.name: self._masked(data, column, rng) for column in data.schema.replaced()}

    def _masked(self, data: Microdata, column: Column, rng: np.random.Generator) -> pd.Series:
        if column.kind.categorical:
            codes = data.codes(column.name)
            matrix = self.probabilities(column.name, codes, len(column.levels))
            return as_levels(exchanged(codes, matrix, rng), column, data)
        values = data.numbers(column.name)
        codes, levels = binned(values, self.bins)
        shown = exchanged(codes, self.probabilities(column.name, codes, levels), rng)
        return write(donated(values, codes, shown, levels, rng), column, data.frame[column.name])


def binned(values: Floats, most: int) -> tuple[Codes, int]:
    """Return the bin of every number and how many there are; equal numbers are in one bin, missing ones in none.

    Examples
    --------
    >>> codes, levels = binned(np.array([0.0, 0.0, 0.0, 1.0, 2.0, np.nan]), 2)
    >>> codes.tolist(), levels
    ([0, 0, 0, 1, 1, -1], 2)
    """
    there = np.isfinite(values)
    known = np.sort(values[there])
    if not len(known):
        return np.full(len(values), MISSING), 1
    # edges are values, and a bin begins with its edge: a heap is never cut in two
    edges = known[[len(known) * j // most for j in range(1, most)]]
    # an edge within the heap at the lowest value moves behind it, where there is anything
    behind = np.searchsorted(known, known[0], side="right")
    edges = np.unique(np.maximum(edges, known[min(behind, len(known) - 1)]))
    edges = edges[edges > known[0]]
    return np.where(there, np.searchsorted(edges, values, side="right"), MISSING), len(edges) + 1


def donated(values: Floats, codes: Codes, shown: Codes, levels: int, rng: np.random.Generator) -> Floats:
    """Return for every record the number of a random record of the bin it is shown in; missing stays missing."""
    found = np.full(len(values), np.nan)
    for level in range(levels):
        takers = np.flatnonzero(shown == level)
        donors = values[codes == level]
        if len(takers):
            found[takers] = donors[rng.integers(0, len(donors), len(takers))]
    return found
