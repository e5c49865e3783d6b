"""Coarser versions of a kept column that a person may be offered: steps from a ladder, no value of the data."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.coarsening import coarsen
from synthdp.microdata import Codes, Floats, numbers
from synthdp.schema import PERIODS, Column, Kind, Variable

LADDER = (1.0, 2.0, 5.0)
FINEST, COARSEST = 0.05, 1.0  # steps in standard deviations
SKEWED = 0.25  # of a standard deviation between mean and median, from which large values are cut off too
CUT = 0.95
RARE = (10, 20, 50, 100, 200, 500, 1000)
MOST_IN_OTHER = 0.5


@dataclass(frozen=True)
class Proposal:
    """Settings of a variable that make it coarser."""

    settings: Variable

    @property
    def setting(self) -> str:
        """The settings as they are written in a config, after ``variables.NAME.``."""
        given = self.settings.model_dump(include={"round", "topcode", "rare"}, exclude_none=True)
        return " and ".join(f"{name}: {_shown(value)}" for name, value in given.items())

    def codes(self, series: pd.Series, column: Column) -> Codes:
        """Return the column made coarser, coded.

        Raises
        ------
        InputError
            Where it cannot be, as when a single level would be left.
        """
        table, _ = coarsen(series.to_frame(), {column.name: self.settings})
        return np.asarray(pd.factorize(table[column.name], use_na_sentinel=False)[0], dtype=np.int64)


def proposals(series: pd.Series, column: Column) -> Iterator[Proposal]:
    """Yield coarser versions of a column, the finest first.

    Numbers are rounded to steps of 1, 2 or 5 times a power of ten between a twentieth of a standard deviation and a
    whole one, and where the large ones are far out also cut off near their 95% point, rounded to one digit; dates to
    month, quarter or year; and levels are grouped when fewer than 10, 20, 50 … records have them, as long as most
    records keep theirs. Where a column was rounded before, the steps are taken from what it was rounded to.
    """
    if column.kind is Kind.DATE:
        reached = PERIODS.index(column.period) + 1 if column.period is not None else 0
        yield from (Proposal(Variable(kind=Kind.DATE, round=period)) for period in PERIODS[reached:])
    elif column.kind is Kind.BINARY:
        return
    elif column.kind.categorical:
        counts = series.value_counts().to_numpy()
        for fewest in RARE:
            if 0 < counts[counts < fewest].sum() <= MOST_IN_OTHER * counts.sum():
                yield Proposal(Variable(kind=Kind.NOMINAL, rare=fewest))
    else:
        yield from _of_numbers(numbers(series, column), column)


def _of_numbers(values: Floats, column: Column) -> Iterator[Proposal]:
    present = values[np.isfinite(values)]
    if len(present) == 0 or (sd := float(present.std())) == 0:
        return
    middle, high = np.quantile(present, [0.5, CUT])
    # the sd of a skewed column is that of its tail: steps for the rest are finer
    spread = min(sd, float(high - middle)) or sd
    smallest = 10.0 ** -(column.decimals if column.decimals is not None else 15)
    top = float(f"{high:.0e}") if abs(present.mean() - middle) > SKEWED * sd and high > 0 else None
    for power in range(int(np.floor(np.log10(FINEST * spread))), int(np.ceil(np.log10(COARSEST * spread))) + 1):
        for step in LADDER:
            size = float(f"{step * 10.0**power:.1g}")
            if not max(FINEST * spread, 1.5 * smallest) <= size <= COARSEST * spread:
                continue
            yield Proposal(Variable(round=size))
            if top is not None and top > size:
                yield Proposal(Variable(topcode=top, round=size))


def _shown(value: object) -> str:
    return np.format_float_positional(value, trim="-") if isinstance(value, float) else str(value)
