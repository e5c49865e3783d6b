"""The model `auto`: every replaced column by its own margin, and by whatever predicts it best.

The joint p(X | Z, θ) is a sequence: each column given the kept columns and the replaced ones before it (``columns``),
numbers on the scale of their scores (``scores``). X is drawn jointly given Z and W by particles, as trees are (see
``trees.particles``): whole paths are proposed forward, each column given its W, and weighted by how well their leaves
explain what W says.

Missing values of a replaced column are drawn too: whether it is missing, by the kept columns and the columns before it,
then the value. W of a missing value is made of a draw, as where a column does not apply (see ``imputation.model``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.imputation.auto.columns import LARGE, ColumnFit, Setting
from synthdp.imputation.auto.design import Encoding, known_rows
from synthdp.imputation.auto.parts import Levels, Linear
from synthdp.imputation.auto.scores import HEAP, Scores
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
from synthdp.imputation.trees.masked import binned_of
from synthdp.imputation.trees.particles import Paths, choose_path
from synthdp.imputation.trees.tree import Growth
from synthdp.masking.evidence import Evidence, about_levels, about_numbers
from synthdp.table.applies import holds
from synthdp.table.applies import visits as in_order
from synthdp.table.links import Link
from synthdp.table.microdata import Microdata

BLOCK = 2**17
SMALLEST_LEAF, LARGEST_LEAF, LEAVES = 10, 100, 100


class Auto(InOrder):
    """Every column by its own margin, and by the better of trees and a regression with trees.

    Parameters
    ----------
    order
        The replaced columns in the order they are drawn; default: file order, those that do not apply to everyone last.
    exclude
        Kept columns the model must not see.
    min_leaf
        Fewest records of a leaf; default: a hundredth of the file, at least 10 and at most 100.
    splines
        Knots of a restricted cubic spline for every numeric kept column in the regressions; 0 for straight lines.
    particles, sweeps
        How many paths a record's draw is chosen from, and how often new ones are proposed beside the chosen one;
        default 8 and 2, from 5,000 records on 4 and 1.

    Examples
    --------
    >>> Auto(order=("sex", "age")).splines
    4
    """

    method: Literal["auto"] = "auto"
    min_leaf: int | None = Field(default=None, ge=2)
    splines: int = Field(default=4, ge=0, le=20)
    particles: int | None = Field(default=None, ge=2)
    sweeps: int | None = Field(default=None, ge=0)
    completes: ClassVar[Completes | None] = "chained"
    keeps_constraints: ClassVar[Constrains | None] = "drawn"
    keeps_gaps: ClassVar[bool] = True
    withdrawn: ClassVar[str | None] = "the scale on which values are masked was learnt from the data"

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
        usual = (4, 1) if n >= LARGE else (8, 2)
        return self.particles or usual[0], usual[1] if self.sweeps is None else self.sweeps

    def growth(self, n: int, predictors: int) -> Growth:
        """Return when trees stop: at leaves of enough people, and at splits that chance would give."""
        least = self.min_leaf or int(np.clip(n // LEAVES, SMALLEST_LEAF, LARGEST_LEAF))
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
        return AutoPosterior(self, tuple(fits), binned.codes, dict(binned.binnings), binned.names, encodings)


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
            codes, np.arange(codes.shape[1]), branches, self.encodings, *self.settings.paths(len(codes.T))
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


@dataclass(frozen=True, repr=False)
class Branch:
    """One draw of a column's distribution, and how its values enter the trees after it."""

    name: str
    value: Linear | Levels
    absent: Linear | Levels | None
    binning: Binning
    row: int


@dataclass(frozen=True, repr=False)
class AutoParameters:
    """One draw of θ, about some of the records."""

    codes: Bins
    rows: Codes
    branches: tuple[Branch, ...]
    encodings: Mapping[str, Encoding]
    particles: int
    sweeps: int

    def __repr__(self) -> str:
        return f"AutoParameters({len(self.branches)} columns)"

    def of(self, rows: Codes) -> "AutoParameters":
        """Return the same θ for some of the records."""
        return replace(self, codes=self.codes[:, rows], rows=self.rows[rows])

    def unbounded(self, rows: Codes) -> "AutoParameters":
        """Return the same θ for some of the records, one path each (exact without evidence)."""
        return replace(self.of(rows), particles=1, sweeps=0)

    def draw(self, evidence: Mapping[str, Evidence], *, rng: np.random.Generator) -> dict[str, Floats]:
        """Draw all replaced columns jointly from p(x | z, w, θ).

        Cost O(n · paths · (leaf groups + predictors)) per column.
        """
        drawn = np.empty((len(self.branches), self.codes.shape[1]))
        for rows in self._blocks():
            here = self.of(np.arange(rows.start, min(rows.stop, self.codes.shape[1])))
            heard = [_heard(evidence[branch.name][rows], branch.value) for branch in self.branches]
            paths = here.propose(heard, self.particles if len(self.branches) > 1 else 1, rng=rng)
            chosen = choose_path(paths, rng=rng)
            for _ in range(self.sweeps if len(self.branches) > 1 else 0):
                new = here.propose(heard, self.particles - 1, rng=rng)
                together = Paths(
                    values=np.concatenate([chosen.values[:, :, None], new.values], axis=2),
                    log_weight=np.concatenate([chosen.log_weight[:, None], new.log_weight], axis=1),
                )
                chosen = choose_path(together, rng=rng)
            drawn[:, rows] = chosen.values
        return {branch.name: drawn[j] for j, branch in enumerate(self.branches)}

    def complete(self, task: Task, *, rng: np.random.Generator) -> dict[str, Floats]:
        """Return the original's replaced columns with a draw where there is no value."""
        found: dict[str, Floats] = {}
        state = _State(self.codes.copy(), {})
        for branch in self.branches:
            x = task.working[branch.name]
            known = np.isfinite(x)
            found[branch.name] = x
            if not known.all():
                quiet = _silent(branch.value, len(x))
                found[branch.name] = np.where(known, x, self._value(branch.value, state, quiet, 1, rng=rng)[0])
            state.put(branch, self.encodings[branch.name], x)
        return found

    def propose(self, heard: "list[_Heard]", count: int, *, rng: np.random.Generator) -> Paths:
        """Return ``count`` paths of each record, drawn forward, with their log weights."""
        n = self.codes.shape[1]
        state = _State(np.repeat(self.codes, count, axis=1), {})
        values, log_weight = np.empty((len(self.branches), n, count)), np.zeros(n * count)
        for j, branch in enumerate(self.branches):
            absent = np.zeros(n * count, dtype=bool)
            if branch.absent is not None:
                absent = self._value(branch.absent, state, _silent(branch.absent, n), count, rng=rng)[0] > 0
            x, norm = self._value(branch.value, state, heard[j], count, rng=rng)
            log_weight += norm
            x = np.where(absent, np.nan, x)
            values[j] = x.reshape(n, count)
            state.put(branch, self.encodings[branch.name], x)
        return Paths(values, log_weight.reshape(n, count))

    def _value(
        self, part: Linear | Levels, state: "_State", heard: "_Heard", count: int, *, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        leaves = part.tree.apply(state.codes)
        record = np.repeat(np.arange(self.codes.shape[1]), count)
        shift = np.empty(0)
        if part.base is not None:
            shift = part.base[self.rows][record]
            for name, slopes in part.slopes.items():
                shift = shift + state.encoded[name] @ slopes
        if isinstance(part, Linear):
            return part.draw(leaves, shift, heard.center[record], heard.precision[record], rng=rng)
        return part.draw(leaves, shift, heard.levels, record, rng=rng)

    def _blocks(self) -> Iterator[slice]:
        step = max(BLOCK // self.particles, 1)
        return (slice(start, start + step) for start in range(0, self.codes.shape[1], step))


@dataclass(repr=False)
class _State:
    """Paths while they are drawn: bins for the trees, encoded values for the regressions."""

    codes: Bins
    encoded: dict[str, Floats]

    def put(self, branch: Branch, encoding: Encoding, x: Floats) -> None:
        self.codes[branch.row] = branch.binning.bins(x)
        self.encoded[branch.name] = encoding.columns(x)


@dataclass(frozen=True, repr=False)
class _Heard:
    """What W says of one column, by record."""

    center: Floats
    precision: Floats
    levels: Floats


def _heard(evidence: Evidence, part: Linear | Levels) -> _Heard:
    if isinstance(part, Linear):
        about = about_numbers(evidence)
        return _Heard(about.mean(), np.ascontiguousarray(about.precision), np.empty((len(about), 0)))
    quiet = np.zeros(len(evidence))
    return _Heard(quiet, quiet, about_levels(evidence).log_weights)


def _silent(part: Linear | Levels, n: int) -> _Heard:
    levels = 0
    if isinstance(part, Levels):
        levels = part.correction.shape[1] if part.donors is None else int(part.donors.value.max(initial=0)) + 1
    return _Heard(np.zeros(n), np.zeros(n), np.zeros((n, levels)))
