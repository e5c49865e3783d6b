"""What the methods share that draw copies from tables of counts."""

import time
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field, FiniteFloat

from synthdp.arrays import Codes, Floats
from synthdp.errors import InputError
from synthdp.parallel import Advance, each
from synthdp.seeding import Streams
from synthdp.synthesis.constraints import constrained
from synthdp.synthesis.design import Design
from synthdp.synthesis.loglinear.axes import Records
from synthdp.synthesis.plan import Method, Plan, Release
from synthdp.table import applies, expressions
from synthdp.table.schema import Column

Cells = Mapping[str, Codes]
# the cells of a copy, one per record
Draw = Callable[[np.random.Generator], Cells]
# how they are drawn from a fit to weighted records; of the records as they are where there are no weights
Fit = Callable[[Floats | None, np.random.Generator], Draw]
Chain = tuple[Mapping[str, object], ...]


class Tabulated(Method):
    """The settings of ``ipf`` and ``catall``.

    Parameters
    ----------
    copies
        How many synthetic copies are released (M).
    proper
        Whether every copy has parameters of its own, drawn from their posterior.
    prior
        What is added to the counts, in records in all, spread evenly over the cells.
    bins, bins_by
        Into how many quantile bins a numeric column is cut, and the exceptions by name; with no more distinct values
        than that, each is a cell.
    exclude
        Kept columns that are not looked at.
    zeros
        Conditions under which there can be nobody, such as ``"age == '0-14' and married == 'yes'"``; they name columns
        of levels. ``constraints`` and ``applies_when`` are kept too.
    shuffle, repair
        As for ``sequential``.
    """

    method: str
    copies: int = Field(default=5, ge=1)
    proper: bool = False
    prior: FiniteFloat = Field(default=0.0, ge=0)
    bins: int = Field(default=20, ge=2)
    bins_by: dict[str, Annotated[int, Field(ge=2)]] = Field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()
    imputations: Literal[1] = 1
    shuffle: bool = True
    repair: bool = False

    @property
    def independent(self) -> bool:
        """Whether copies depend on each other only through the fit."""
        return True

    def design(self, plan: Plan) -> Design:
        """Return what inference from the copies depends on."""
        return plan.design(proper=self.proper, copies=self.copies)

    def problems(self, plan: Plan) -> list[str]:
        """Return everything that keeps this method from working on this plan."""
        schema = plan.data.schema
        kept = {column.name for column in schema.kept()}
        found = [f"synthesis.exclude: {name!r} is not a kept column." for name in self.exclude if name not in kept]
        if not schema.replaced():
            found.append("variables: no column has role: replace; nothing would be synthesised.")
        found += [f"synthesis.bins_by: no column named {name!r}." for name in self.bins_by if name not in schema]
        seen = {column.name: column for column in schema.columns if column.name not in self.exclude}
        for number, text in enumerate(self.zeros, start=1):
            why = _zero_problem(text, seen, plan.data.frame)
            found += [f"synthesis.zeros, number {number}: {why}"] if why is not None else []
        return found

    def records(self, plan: Plan) -> Records:
        """Return the records as cells."""
        return Records.of(plan.data, bins=self.bins, bins_by=self.bins_by, exclude=self.exclude)

    def prepare(self, records: Records, plan: Plan, *, rng: np.random.Generator) -> tuple[Fit, list[dict[str, object]]]:
        """Return how it is fitted, and a list that tells how fitting went, in which the first fit is written."""
        raise NotImplementedError

    def synthesize(self, plan: Plan, *, streams: Streams, jobs: int = 1, advance: Advance | None = None) -> Release:
        """Fit and draw."""
        started = time.perf_counter()
        records = self.records(plan)
        fit, told = self.prepare(records, plan, rng=streams.generator("fit", self.method))
        once = None if self.proper else fit(None, streams.generator("fit", self.method, 0))
        fitted = time.perf_counter()

        def draw(m: int) -> pd.DataFrame:
            own = once
            if own is None:
                rng = streams.generator("fit", self.method, m)
                own = fit(rng.standard_exponential(len(plan.data)), rng)
            values = streams.generator("values", self.method, m)
            return constrained(lambda: _written(records, own(values), values), plan.constraints, copy=m)

        copies = tuple(each(draw, range(1, self.copies + 1), jobs=jobs, advance=advance))
        seconds = {"fit": fitted - started, "draw": time.perf_counter() - fitted}
        return Release.of(self, plan, copies, chain=tuple(told), seconds=seconds)


def _written(records: Records, cells: Cells, rng: np.random.Generator) -> pd.DataFrame:
    frame = records.data.frame
    new = {name: records.axes[name].values(cells[name], frame[name], rng=rng) for name in records.drawn}
    return applies.blanked(frame.assign(**new), records.data.schema)


def _zero_problem(text: str, seen: Mapping[str, Column], frame: pd.DataFrame) -> str | None:
    """Return what is wrong with a condition under which there is nobody, or None."""
    try:
        names = expressions.names(text)
        unknown = sorted(name for name in names if name not in seen)
        if unknown:
            return f"may name columns that are kept or replaced and not excluded, found {', '.join(unknown)}."
        numbers = sorted(name for name in names if not seen[name].kind.categorical)
        if numbers:
            return f"may name columns of levels only, found {', '.join(numbers)}; use constraints for numbers."
        holds = expressions.evaluate(text, frame)
    except InputError as error:
        return str(error)
    if not pd.api.types.is_bool_dtype(holds.dtype):
        return "must be a condition, true or false for each record."
    count = int(holds.sum())
    if count:
        first = int(np.flatnonzero(holds.to_numpy(dtype=bool))[0]) + 1
        return f"{count} records of the data are there; first at row {first}. Correct the data, or the condition."
    return None
