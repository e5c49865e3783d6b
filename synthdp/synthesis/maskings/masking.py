"""What the maskings share: one masked file per copy, missing values as they were, nothing claimed."""

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from synthdp.imputation.cells import write
from synthdp.parallel import Advance, each
from synthdp.seeding import Streams
from synthdp.synthesis.design import Design
from synthdp.synthesis.maskings.exchange import exchanged, uniform_matrix
from synthdp.synthesis.plan import Method, Plan, Release
from synthdp.table.microdata import MISSING, Codes, Floats, Microdata, decode
from synthdp.table.schema import Column

UNAWARE = (
    "Intervals ignore the masking: a masked file is the original with errors in it, and an analysis of it is biased by "
    "them (correlations and slopes come out weaker, tables shifted), whatever the combining rule. Files are analysed "
    "by mean_se, which adds nothing; reiter2003 over several adds only what differs between them, not the bias."
)


class Masking(Method):
    """A masking; missing values stay missing."""

    measures: ClassVar[tuple[str, ...]] = ("moves", "odds", "group_size")

    method: str
    copies: int = Field(default=1, ge=1)
    imputations: Literal[1] = 1
    shuffle: bool = True
    repair: bool = False

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        found = []
        if not plan.data.schema.replaced():
            found.append("variables: no column has role: replace; nothing would be masked.")
        if plan.constraints:
            found.append(f"constraints: method {self.method} does not keep them; use da_mi, mi or sequential.")
        return found

    def notes(self, plan: Plan) -> list[str]:
        """Return what the signatory should know."""
        return [UNAWARE]

    def design(self, plan: Plan) -> Design:
        """Return what inference from the copies depends on: the records' own values were altered."""
        return replace(super().design(plan), altered=True)

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Mask the replaced columns; no guarantee comes with it."""
        started = time.perf_counter()

        def copy(m: int) -> pd.DataFrame:
            return plan.data.frame.assign(**self.masked(plan.data, rng=streams.generator("values", self.method, m)))

        copies = tuple(each(copy, range(1, self.copies + 1), advance=advance))
        return Release.of(self, plan, copies, seconds={"draw": time.perf_counter() - started})

    def masked(self, data: Microdata, *, rng: np.random.Generator) -> dict[str, pd.Series]:
        """Return the replaced columns after masking."""
        raise NotImplementedError


class Numeric(Masking):
    """A masking of numbers; levels are exchanged as in ``pram`` (``keep: 1`` leaves them as they are)."""

    keep: float = Field(default=0.8, ge=0, le=1)

    def masked(self, data: Microdata, *, rng: np.random.Generator) -> dict[str, pd.Series]:
        """Return all replaced columns after masking."""
        found = {}
        for column in data.schema.replaced():
            if column.kind.categorical:
                matrix = uniform_matrix(self.keep, len(column.levels))
                found[column.name] = as_levels(exchanged(data.codes(column.name), matrix, rng), column, data)
                continue
            values = data.numbers(column.name)
            there = np.isfinite(values)
            moved = values.copy()
            if there.any():
                moved[there] = self.move(values[there], column, rng)
            found[column.name] = write(moved, column, data.frame[column.name])
        return found

    def move(self, values: Floats, column: Column, rng: np.random.Generator) -> Floats:
        """Return the numbers of a column, none of them missing, after masking."""
        raise NotImplementedError


def as_levels(codes: Codes, column: Column, data: Microdata) -> pd.Series:
    """Return positions in the levels as they are written."""
    return decode(codes, column, data.frame[column.name])


def written(values: Floats, column: Column, data: Microdata) -> pd.Series:
    """Return numbers, or positions in the levels, as they are written; NaN is missing."""
    if not column.kind.categorical:
        return write(values, column, data.frame[column.name])
    return as_levels(np.where(np.isnan(values), MISSING, values).astype(np.int64), column, data)


def unknown_columns(setting: str, names: Iterable[str], columns: Iterable[Column], kind: str) -> list[str]:
    """Return a sentence for every name that is no replaced column of the kind a setting is for."""
    known = {column.name for column in columns}
    return [
        f"synthesis.{setting}.{name}: no replaced column of that name has {kind}; correct the name, or leave it out."
        for name in names
        if name not in known
    ]
