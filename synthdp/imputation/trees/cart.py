"""CART as synthpop users know it: a tree per column, grown on the original, donors drawn from its leaves.

    tree of column j:  grown on the ORIGINAL x_j given the kept columns and the original x_1 … x_(j-1)
    draw of column j:  the kept columns and the SYNTHETIC x̃_1 … x̃_(j-1) are run down that tree;
                       x̃_j is the value of a donor drawn from the leaf

A leaf deals its donors' values evenly to the records that reach it (see ``dealing``), and has so many donors that
copies hold hardly more of the people it was grown on than of others (see ``leaf``).

References
----------
Reiter (2005), Journal of Official Statistics 21(3), 441-462. Nowok, Raab, Dibben (2016), Journal of Statistical
Software 74(11), section 2 (synthpop). Unlike rpart's, a classification tree is not pruned back to the splits that
lower the misclassification rate: splits that only sharpen the probabilities are what a donor draw needs. Times with
their events and nested columns are synthpop's ``survctree`` and ``nested``; there, the first splits by conditional
inference (Hothorn, Hornik, Zeileis 2006, Journal of Computational and Graphical Statistics 15(3), 651-674), and the
second looks at nothing but the group.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field

from synthdp.errors import InputError
from synthdp.imputation.model import Constrains, InOrder, order_problems, settings_problems
from synthdp.imputation.trees.areas import area_of
from synthdp.imputation.trees.binning import Binned
from synthdp.imputation.trees.dealing import Dealing
from synthdp.imputation.trees.leaf import choose
from synthdp.imputation.trees.orchard import Orchard
from synthdp.imputation.trees.tree import Growth
from synthdp.table import applies, expressions
from synthdp.table.applies import holds
from synthdp.table.microdata import Microdata

WHERE = "synthesis.model"
# of a column nested in another: the fewest records with a value that a group must have
FEWEST_OF_GROUP = 5


class TreeSettings(InOrder):
    """What trees share, drawn forward or given masks."""

    complexity: float = Field(default=1e-8, ge=0)
    smoothing: bool = True
    keeps_constraints: ClassVar[Constrains | None] = "drawn"


class Cart(TreeSettings):
    """Classification and regression trees, one per replaced column.

    Parameters
    ----------
    min_leaf
        Fewest donors of a leaf (synthpop's minbucket, there 5); default: the fewest, from 5 to 200, with which copies
        of half of the records hold at most .75 in a hundred more of the people of that half than of the other.
    dealing
        ``systematic``: the values of a leaf are dealt evenly to the records that reach it. ``independent``: every
        record draws for itself, as in synthpop.
    by
        A column, such as the area, within whose levels values are dealt evenly too, and have their own shares (see
        ``areas``); ``false`` for none. Default, where values are dealt: the kept or early drawn column of unordered
        levels that divides the file into the most equal parts, six at least.
    complexity
        The smallest gain of a split as a share of the root's impurity (synthpop's cp).
    smoothing
        Whether numbers that fewer than ``min_leaf`` records share get noise inside their leaf.
    order
        The replaced columns in the order they are drawn; default: file order, a column that does not apply to everyone
        after those its condition names, an event after its time, a nested column after the one it is nested in.
    exclude
        Kept columns the trees must not see.
    rules
        Column → condition under which it has one fixed value (or is missing) in the original, such as
        ``{"nociga": "smoke == 'NO'"}``; the copies then keep that rule.
    survival
        Time → event, a column of two levels of which the second says that it happened: both are drawn together, by
        trees that split where the log-rank statistic is largest (synthpop's survctree).
    nested
        Column → the column it is nested in, such as ``{"occupation": "group"}``: it is drawn among the values that
        the group has in the original.

    Examples
    --------
    >>> Cart(min_leaf=10).smoothing
    True
    """

    method: Literal["cart"] = "cart"
    min_leaf: int | None = Field(default=None, ge=1)
    dealing: Dealing = "systematic"
    by: str | Literal[False] | None = None
    rules: dict[str, str] = Field(default_factory=dict)
    survival: dict[str, str] = Field(default_factory=dict)
    nested: dict[str, str] = Field(default_factory=dict)

    def visits(self, data: Microdata) -> tuple[str, ...]:
        """Return the replaced columns in the order they are drawn."""
        if self.order is not None:
            return self.order
        return _after(applies.visits(data.schema.replaced()), self._pairs())

    def _pairs(self) -> list[tuple[str, str]]:
        """Return which columns must come after which."""
        return [*self.nested.items(), *((event, time) for time, event in self.survival.items())]

    def problems(self, data: Microdata) -> list[str]:
        """Return why these trees cannot replace the columns the schema asks for."""
        found = settings_problems(data, self.order, self.exclude)
        found += order_problems(data, self.order or self.visits(data), joint=False)
        if any(".order:" in problem for problem in found):  # the rest cannot be read without an order
            return found
        visits = self.visits(data)
        kept = self._kept(data)
        for name, rule in self.rules.items():
            if name not in visits:
                found.append(f"{WHERE}.rules.{name}: is not a replaced column.")
                continue
            allowed = {*kept, *self.exclude, *visits[: visits.index(name)]}
            why = _rule_problem(rule, allowed, data.frame, name)
            found += [f"{WHERE}.rules.{name}: {why}."] if why is not None else []
        if self.by and self.by not in (*kept, *visits):
            found.append(f"{WHERE}.by: {self.by!r} is not a kept or replaced column that the trees see.")
        for time, event in self.survival.items():
            why = _survival_problem(data, time, event, visits)
            ruled = [name for name in (time, event) if name in self.rules]
            if why is None and ruled:
                why = f"a time and its event cannot have rules, as both come from one donor; found one of {ruled[0]}"
            found += [f"{WHERE}.survival.{time}: {why}."] if why is not None else []
        taken = {*self.survival, *self.survival.values()}
        for name, group in self.nested.items():
            why = _nested_problem(data, name, group, visits, kept)
            if why is None:
                why = _few_problem(data, name, group, min(self.min_leaf or FEWEST_OF_GROUP, FEWEST_OF_GROUP))
            why = "a time or an event cannot be nested" if why is None and name in taken else why
            found += [f"{WHERE}.nested.{name}: {why}."] if why is not None else []
        return found

    def chosen(self, data: Microdata, *, rng: np.random.Generator) -> Self:
        """Return the same settings with ``by`` and ``min_leaf`` chosen, where they were left to the data."""
        settings = self
        if self.by is None and self.dealing == "systematic":
            area = area_of(data, self._kept(data), self.visits(data))
            settings = self if area is None else self.model_copy(update={"by": area})
        if self.min_leaf is not None:
            return settings

        whole = settings.prepare(data)

        def of(leaf: int) -> Orchard:
            return replace(whole, growth=replace(whole.growth, min_leaf=leaf))

        return settings.model_copy(update={"min_leaf": choose(data, of, rng=rng)})

    def _kept(self, data: Microdata) -> tuple[str, ...]:
        """Return the kept columns that the trees see."""
        return tuple(column.name for column in data.schema.kept() if column.name not in self.exclude)

    def prepare(self, data: Microdata) -> Orchard:
        """Return the data made ready for growing trees."""
        kept, visits = self._kept(data), self.visits(data)
        return Orchard(
            data=data,
            binned=Binned.of(data, [*kept, *visits]),
            kept=kept,
            visits=visits,
            growth=Growth(self.min_leaf or Growth().min_leaf, self.complexity),
            rules=self.rules,
            smoothing=self.smoothing,
            events=self.survival,
            groups=self.nested,
            dealing=self.dealing,
            by=self.by or None,
        )


def _after(order: Sequence[str], pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return an order in which the first of each pair comes after the second, moved back no further than it must."""
    found = list(order)
    for _ in pairs:
        for name, other in pairs:
            if name in found and other in found and found.index(name) < found.index(other):
                found.remove(name)
                found.insert(found.index(other) + 1, name)
    return tuple(found)


def _survival_problem(data: Microdata, time: str, event: str, visits: Sequence[str]) -> str | None:
    """Return why a time and its event cannot be drawn together, or None."""
    absent = [name for name in (time, event) if name not in visits]
    if absent:
        return f"{absent[0]!r} is not a replaced column"
    if data.schema[time].kind.categorical:
        return "the time must be a number"
    levels = data.schema[event].levels
    if len(levels) != 2:
        return f"the event {event} must have two levels, the second of which says that it happened, found {len(levels)}"
    if visits.index(event) < visits.index(time):
        return f"the event {event} must come after its time in {WHERE}.order"
    column = data.schema[time]
    gaps = int((data.frame[event].isna() & data.frame[time].notna() & holds(column, data.frame)).sum())
    if gaps:
        return f"the event {event} must be known wherever the time is, found {gaps} records where it is missing"
    return None


def _nested_problem(data: Microdata, name: str, group: str, visits: Sequence[str], kept: Sequence[str]) -> str | None:
    """Return why a column cannot be drawn within another, or None."""
    if name not in visits:
        return "is not a replaced column"
    if group not in (*kept, *visits):
        return f"{group!r} is not a kept or replaced column that the trees see"
    if not data.schema[group].kind.categorical:
        return f"the column it is nested in must have levels, {group} is a number"
    if group not in kept and visits.index(name) <= visits.index(group):
        return f"must come after {group}, in which it is nested"
    return None


def _few_problem(data: Microdata, name: str, group: str, fewest: int) -> str | None:
    """Return why a column cannot be drawn within groups of few, whose values would be released as they are, or None."""
    sizes = data.frame.loc[data.frame[name].notna(), group].value_counts()
    few = int(((sizes > 0) & (sizes < fewest)).sum())
    if few == 0:
        return None
    return (
        f"every group of {group} must have values of at least {fewest} records, found {few} with fewer, which would be "
        f"released as they are; merge rare groups first (variables.{group}.rare), or set a smaller {WHERE}.min_leaf"
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
