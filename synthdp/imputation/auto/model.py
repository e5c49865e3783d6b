"""The model `auto`: every replaced column by its own margin, and by whatever predicts it best.

The joint p(X | Z, θ) is a sequence: each column given the kept columns and the replaced ones before it (``columns``),
numbers on the scale of their scores (``scores``). X is drawn jointly given Z and W by particles, as trees are (see
``trees.particles``): whole paths are proposed forward, each column given its W, and weighted by how well their leaves
explain what W says.

Missing values of a replaced column are drawn too: whether it is missing, by the kept columns and the columns before it,
then the value. W of a missing value is made of a draw, as where a column does not apply (see ``imputation.model``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from synthdp.arrays import Booleans
from synthdp.imputation.auto.columns import LARGE, ColumnFit, Setting
from synthdp.imputation.auto.design import Encoding, known_rows
from synthdp.imputation.auto.drawing import AutoParameters, Branch
from synthdp.imputation.auto.impossible import Impossible
from synthdp.imputation.auto.matching import Matching
from synthdp.imputation.auto.scores import HEAP, Scores
from synthdp.imputation.auto.totals import Totals
from synthdp.imputation.model import (
    Completes,
    Constrains,
    InOrder,
    Posterior,
    Task,
    nested,
    order_problems,
    settings_problems,
)
from synthdp.imputation.trees.binning import Binning, Bins
from synthdp.imputation.trees.masked import MOST_PATHS, binned_of
from synthdp.imputation.trees.tree import Growth
from synthdp.table.applies import holds
from synthdp.table.applies import visits as in_order
from synthdp.table.links import Link
from synthdp.table.microdata import Microdata

SMALLEST_LEAF, LARGEST_LEAF, LEAVES = 10, 200, 100
# large files have leaves enough: with fewer of them nobody is remembered, and totals keep what leaves do not tell
LEAVES_IN_LARGE = 50


class Auto(InOrder):
    """Every column by its own margin, and by the better of trees and a regression with trees.

    Parameters
    ----------
    order
        The replaced columns in the order they are drawn; default: file order, those that do not apply to everyone last.
    exclude
        Kept columns the model must not see.
    min_leaf
        Fewest records of a leaf; default: a hundredth of the file, at least 10; from 5,000 records on a fiftieth, at
        most 200.
    splines
        Knots of a restricted cubic spline for every numeric kept column in the regressions; 0 for straight lines.
    particles, sweeps
        How many paths a record's draw is chosen from, and how often new ones are proposed beside the chosen one;
        default 8 and 1, from 5,000 records on 4 and 1.
    totals
        Whether draws keep totals of the file (see ``matching``).

    Examples
    --------
    >>> Auto(order=("sex", "age")).splines
    4
    """

    method: Literal["auto"] = "auto"
    min_leaf: int | None = Field(default=None, ge=2)
    splines: int = Field(default=4, ge=0, le=20)
    particles: int | None = Field(default=None, ge=2, le=MOST_PATHS)
    sweeps: int | None = Field(default=None, ge=0, le=MOST_PATHS)
    totals: bool = True
    completes: ClassVar[Completes | None] = "chained"
    keeps_constraints: ClassVar[Constrains | None] = "drawn"
    keeps_gaps: ClassVar[bool] = True
    # trees or regressions are chosen by how well halves of the records, drawn at random, predict each other
    fitted_by_chance: ClassVar[bool] = True
    withdrawn: ClassVar[str | None] = "the scale on which values are masked was learnt from the data"

    def of_one(self, exclude: tuple[str, ...]) -> Self:
        """Return the same model for a single column. Where values are filled in, the file has no total to keep."""
        return super().of_one(exclude).model_copy(update={"totals": False})

    def scale(self, data: Microdata, name: str) -> Link:
        """Return the working scale of a number: its scores."""
        return Scores.of(data, name)

    def problems(self, data: Microdata) -> list[str]:
        """Return why this model cannot replace the columns the schema asks for."""
        values = {
            column.name: int((data.frame[column.name].notna() & holds(column, data.frame)).sum())
            for column in data.schema.replaced()
        }
        found = [
            f"variables.{name}: must have values of at least {HEAP} records to learn from, found {known}; set "
            "role: drop."
            for name, known in values.items()
            if known < HEAP
        ]
        return found + order_problems(data, self.order, joint=True) + settings_problems(data, self.order, self.exclude)

    def paths(self, n: int) -> tuple[int, int]:
        """Return how many paths, and how many sweeps."""
        usual = (4, 1) if n >= LARGE else (8, 1)
        return self.particles or usual[0], usual[1] if self.sweeps is None else self.sweeps

    def growth(self, n: int, predictors: int) -> Growth:
        """Return when trees stop: at leaves of enough people, and at splits that chance would give."""
        usual = n // (LEAVES if n < LARGE else LEAVES_IN_LARGE)
        least = self.min_leaf or int(np.clip(usual, SMALLEST_LEAF, LARGEST_LEAF))
        # the best of so many useless splits explains about this share of the variance
        chance = 2 * np.log(50 * max(predictors, 1)) / max(n, 1)
        return Growth(least, complexity=float(min(chance, 0.5)), min_split=2 * least)

    def fit(self, task: Task, *, rng: np.random.Generator) -> "AutoPosterior":
        """Learn every column once; coefficients and masses are drawn for each copy."""
        schema = task.data.schema
        kept = [column.name for column in schema.kept() if column.name not in self.exclude]
        order = self.order or in_order(sorted(schema.replaced(), key=lambda column: column.applies_when is not None))
        binned = binned_of(task, kept, order)
        seen = binned.names[: -len(order)] if order else binned.names
        prior = task.predictors.prior_sd(1.0)
        n = len(task.predictors.matrix)
        growth = self.growth(n, len(binned.names))
        encodings = {name: Encoding.of(schema[name], task.working[name]) for name in order}
        blocks = {name: encodings[name].columns(task.working[name]) for name in order}
        fits: list[Step] = []
        for j, name in enumerate(order):
            column, values = schema[name], task.working[name]
            applies: Booleans | None = task.asked(name)
            # where an earlier column does not apply the file has no value, but every path has one
            earlier = [other for other in order[:j] if nested(task, name, other)]
            common = Setting(
                matrix=task.predictors.matrix,
                prior=prior,
                before={other: blocks[other] for other in earlier},
                binned=binned,
                predictors=(*seen, *earlier),
                values=values,
                rows=known_rows(values, applies),
                levels=len(column.levels) if column.kind.categorical else 0,
                growth=growth,
            )
            own = {other: encodings[other] for other in earlier}
            absent = None
            missing = np.isnan(values) if applies is None else np.isnan(values) & applies
            if missing.any():
                asked = np.arange(n) if applies is None else np.flatnonzero(applies)
                gap = replace(common, values=missing.astype(np.float64), rows=asked, levels=2)
                absent = ColumnFit.of(name, gap, own, rng=rng)
            fits.append(Step(ColumnFit.of(name, common, own, rng=rng), absent))
        totals = Totals.of(task, order, self.exclude) if self.totals else None
        return AutoPosterior(
            self,
            tuple(fits),
            binned.codes,
            dict(binned.binnings),
            binned.names,
            encodings,
            None if totals is None else Matching(totals),
            Impossible.of(task, order, self.exclude),
        )


@dataclass(frozen=True, repr=False)
class Step:
    """One column: its values, and whether it is missing."""

    value: ColumnFit
    absent: ColumnFit | None


@dataclass(frozen=True, repr=False)
class AutoPosterior(Posterior):
    """What was learnt of all columns."""

    settings: Auto
    steps: tuple[Step, ...]
    codes: Bins
    binnings: Mapping[str, Binning]
    names: tuple[str, ...]
    encodings: Mapping[str, Encoding]
    matching: Matching | None
    impossible: Impossible

    def __repr__(self) -> str:
        return f"AutoPosterior({len(self.steps)} columns)"

    def draw(self, *, rng: np.random.Generator) -> "AutoParameters":
        """Draw θ."""
        branches = tuple(
            Branch(
                name=step.value.name,
                value=step.value.draw(rng=rng),
                absent=step.absent.draw(rng=rng) if step.absent is not None else None,
                binning=self.binnings[step.value.name],
                row=self.names.index(step.value.name),
            )
            for step in self.steps
        )
        codes = self.codes.copy()
        # what is drawn must not be looked at before it is drawn
        codes[[branch.row for branch in branches]] = 0
        return AutoParameters(
            codes,
            np.arange(codes.shape[1]),
            branches,
            self.encodings,
            *self.settings.paths(len(codes.T)),
            self.matching,
            self.impossible,
        )

    def diagnostics(self) -> tuple[Mapping[str, object], ...]:
        """Return how every column is learnt, and why."""
        return tuple(
            {
                "column": step.value.name,
                "learnt by": step.value.choice.method,
                "left by trees": _rounded(step.value.choice.trees),
                "left by regression": _rounded(step.value.choice.regression),
                "leaves": step.value.tree.leaves,
            }
            for step in self.steps
        )


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)
