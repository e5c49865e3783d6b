"""CART as synthpop users know it: a tree per column, grown on the original, donors drawn from its leaves.

    tree of column j:  grown on the ORIGINAL x_j given the kept columns and the original x_1 … x_(j-1)
    draw of column j:  the kept columns and the SYNTHETIC x̃_1 … x̃_(j-1) are run down that tree;
                       x̃_j is the value of a donor drawn from the leaf

A column with missing values has two trees: missing or not, then the value among those that have one. Where a column
does not apply (``applies_when``) it is missing, and the records to which it does not apply teach neither tree.

References
----------
Reiter (2005), Journal of Official Statistics 21(3), 441-462. Nowok, Raab, Dibben (2016), Journal of Statistical
Software 74(11), section 2 (synthpop). Unlike rpart's, a classification tree is not pruned back to the splits that
lower the misclassification rate: splits that only sharpen the probabilities are what a donor draw needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from synthdp.arrays import Booleans
from synthdp.errors import InputError
from synthdp.imputation.cells import settled, write
from synthdp.imputation.model import Constrains, InOrder, order_problems, settings_problems
from synthdp.imputation.trees.binning import Binned, Bins
from synthdp.imputation.trees.donors import Smoother
from synthdp.imputation.trees.tree import Growth, Tree
from synthdp.table import applies, expressions
from synthdp.table.applies import holds, without
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column


@dataclass(repr=False)
class Partial:
    """A copy while it is being drawn: columns not yet drawn still hold the original and are not looked at."""

    frame: pd.DataFrame
    codes: Bins


@dataclass(frozen=True, repr=False)
class Orchard:
    """Binned data and where each column's tree will stand."""

    data: Microdata
    binned: Binned
    kept: tuple[str, ...]
    visits: tuple[str, ...]
    growth: Growth
    rules: Mapping[str, str]
    smoothing: bool

    def start(self) -> Partial:
        """Return a copy of which nothing is drawn yet."""
        return Partial(self.data.frame.copy(), self.binned.codes.copy())

    def fit(self, name: str, *, rng: np.random.Generator | None) -> "ColumnTrees":
        """Grow a column's trees: on the records as they are, or on a Bayesian bootstrap of them.

        Parameters
        ----------
        rng
            Draws the weights of the bootstrap, Dirichlet(1, …, 1) (Rubin 1981); None for equal weights.
        """
        data, column = self.data, self.data.schema[name]
        weights = None if rng is None else rng.standard_exponential(len(data))
        predictors = self.kept + self.visits[: self.visits.index(name)]
        missing = data.frame[name].isna().to_numpy(dtype=bool)
        held = np.zeros(len(data), dtype=bool)
        if name in self.rules:
            held = expressions.evaluate(self.rules[name], data.frame).to_numpy(dtype=bool)
        absent = None
        asked = ~held & holds(column, data.frame)
        if (missing & asked).any():
            absent = Tree.grow(
                self.binned,
                predictors,
                missing.astype(np.float64),
                rows=np.flatnonzero(asked),
                weights=weights,
                growth=self.growth,
            )
        values = data.values(name)
        present = Tree.grow(
            self.binned,
            predictors,
            values,
            classes=len(column.levels),
            rows=np.flatnonzero(~held & ~missing),
            weights=weights,
            growth=self.growth,
        )
        smoother = None
        if self.smoothing and not column.kind.categorical:
            limits = column.bounds or (float(np.nanmin(values)), float(np.nanmax(values)))
            smoother = Smoother.of(present, values, limits, self.growth.min_leaf)
        return ColumnTrees(
            column=column,
            rule=self.rules.get(name),
            values=values,
            absent=absent,
            present=present,
            missing=missing,
            held=np.flatnonzero(held),
            smoother=smoother,
            binned=self.binned,
        )


@dataclass(frozen=True, repr=False)
class ColumnTrees:
    """The trees of one column.

    Parameters
    ----------
    absent
        Missing or not; None for a column without gaps.
    present
        The values among those that have one.
    missing
        By record: whether it is missing in the original.
    held
        The records for which the column's rule holds.
    smoother
        The noise of a numeric column; None where donors' values are released as they are.
    """

    column: Column
    rule: str | None
    values: Floats
    absent: Tree | None
    present: Tree
    missing: Booleans
    held: Codes
    smoother: Smoother | None
    binned: Binned

    def __repr__(self) -> str:
        return f"ColumnTrees({self.present})"

    def draw(self, copy: Partial, *, rng: np.random.Generator) -> None:
        """Draw the column for every record of a copy, given what is drawn already."""
        name, like = self.column.name, copy.frame[self.column.name]
        leaves = self.present.apply(copy.codes)
        donors = self.present.draw(leaves, rng=rng)
        drawn = np.ones(len(donors), dtype=bool)
        if self.absent is not None:
            found = self.absent.draw(self.absent.apply(copy.codes), rng=rng)
            drawn = ~self.missing[found]
            donors = np.where(drawn, donors, found)
        if self.rule is not None:
            ruled = expressions.evaluate(self.rule, copy.frame).to_numpy(dtype=bool)
            donors[ruled] = self.held[0]
            drawn &= ~ruled
        values = self.values[donors]
        moved = drawn & self.smoother.rare[donors] if self.smoother is not None else np.zeros(len(donors), dtype=bool)
        if self.smoother is not None and moved.any():
            values[moved] = self.smoother.smooth(values[moved], leaves[moved], rng=rng)
        released = like.take(donors).set_axis(like.index)
        if not self.column.kind.categorical:
            whole = pd.api.types.is_integer_dtype(like.dtype)
            values = settled(values, self.column, whole=whole)
            changed = moved | (values != self.values[donors]) & ~np.isnan(values)
            if changed.any():
                released = released.where(~changed, write(values, self.column, like))
        skipped = ~holds(self.column, copy.frame)
        copy.frame[name] = without(released, skipped)
        bins = self.binned.binnings[name].bins(np.where(skipped, np.nan, values))
        copy.codes[self.binned.names.index(name)] = bins


class TreeSettings(InOrder):
    """What trees share, drawn forward or given masks."""

    min_leaf: int = Field(default=5, ge=1)
    complexity: float = Field(default=1e-8, ge=0)
    smoothing: bool = True
    keeps_constraints: ClassVar[Constrains | None] = "drawn"


class Cart(TreeSettings):
    """Classification and regression trees, one per replaced column.

    Parameters
    ----------
    min_leaf
        Fewest donors of a leaf (synthpop's minbucket).
    complexity
        The smallest gain of a split as a share of the root's impurity (synthpop's cp).
    smoothing
        Whether numbers that fewer than ``min_leaf`` records share get noise inside their leaf.
    order
        The replaced columns in the order they are drawn; default: file order, a column that does not apply to everyone
        after those its condition names.
    exclude
        Kept columns the trees must not see.
    rules
        Column → condition under which it has one fixed value (or is missing) in the original, such as
        ``{"nociga": "smoke == 'NO'"}``; the copies then keep that rule.

    Examples
    --------
    >>> Cart(min_leaf=10).smoothing
    True
    """

    method: Literal["cart"] = "cart"
    rules: dict[str, str] = Field(default_factory=dict)

    def visits(self, data: Microdata) -> tuple[str, ...]:
        """Return the replaced columns in the order they are drawn."""
        return self.order or applies.visits(data.schema.replaced())

    def problems(self, data: Microdata) -> list[str]:
        """Return why these trees cannot replace the columns the schema asks for."""
        found = settings_problems(data, self.order, self.exclude) + order_problems(data, self.order, joint=False)
        if any(".order:" in problem for problem in found):  # rules cannot be read without an order
            return found
        where = "synthesis.model"
        kept = [column.name for column in data.schema.kept()]
        visits = self.visits(data)
        for name, rule in self.rules.items():
            if name not in visits:
                found.append(f"{where}.rules.{name}: is not a replaced column.")
                continue
            allowed = {*kept, *visits[: visits.index(name)]}
            why = _rule_problem(rule, allowed, data.frame, name)
            found += [f"{where}.rules.{name}: {why}."] if why is not None else []
        return found

    def prepare(self, data: Microdata) -> Orchard:
        """Return the data made ready for growing trees."""
        kept = [column.name for column in data.schema.kept() if column.name not in self.exclude]
        visits = self.visits(data)
        return Orchard(
            data=data,
            binned=Binned.of(data, [*kept, *visits]),
            kept=tuple(kept),
            visits=visits,
            growth=Growth(self.min_leaf, self.complexity),
            rules=self.rules,
            smoothing=self.smoothing,
        )


def _rule_problem(rule: str, allowed: set[str], frame: pd.DataFrame, name: str) -> str | None:
    """Return what is wrong with a rule, or None."""
    try:
        unknown = sorted(expressions.names(rule) - allowed)
        if unknown:
            return f"may name kept columns and those drawn before, found {', '.join(unknown)}"
        holds = expressions.evaluate(rule, frame)
    except InputError as error:
        return str(error).rstrip(".")
    if not pd.api.types.is_bool_dtype(holds.dtype):
        return "must be a condition, true or false for each record"
    if not holds.any() or holds.all():
        return f"must hold for some records, not for {'all' if holds.all() else 'none'}"
    if frame.loc[~holds.to_numpy(), name].isna().all():
        return "the column must have values where the rule does not hold, found none"
    distinct = frame.loc[holds.to_numpy(), name].nunique(dropna=False)
    if distinct > 1:
        return f"the column must have one value where the rule holds, found {distinct}"
    return None
