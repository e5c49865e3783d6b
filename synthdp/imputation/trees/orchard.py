"""The trees of all columns of a file: growing them on the original, and drawing a copy column by column.

A column with missing values has two trees: missing or not, then the value among those that have one. Where a column
does not apply (``applies_when``) it is missing, and the records to which it does not apply teach neither tree.

A time and its event are one draw: the tree of the time is grown by the log-rank statistic, and a record gets both from
one donor of its leaf. That is a time drawn from the leaf's Kaplan-Meier curve, a censoring drawn from the curve of
censorings, and the smaller of the two released: the product of both curves is the share of the leaf's donors still
under observation, and their jumps are those of the donors (events before censorings where both happen at one time).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.imputation.cells import settled, write
from synthdp.imputation.trees.areas import Areas, classes_of
from synthdp.imputation.trees.binning import Binned, Bins
from synthdp.imputation.trees.dealing import Dealer, Dealing
from synthdp.imputation.trees.donors import Smoother
from synthdp.imputation.trees.grouped import Grouped
from synthdp.imputation.trees.tree import Growth, Tree
from synthdp.table import expressions
from synthdp.table.applies import holds, without
from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column

# columns in pairs, of which the first is drawn with or within the second
Pairs = Mapping[str, str]


@dataclass(repr=False)
class Partial:
    """A copy while it is being drawn: columns not yet drawn still hold the original and are not looked at.

    ``donors`` are those of the times that are drawn, for their events.
    """

    frame: pd.DataFrame
    codes: Bins
    donors: dict[str, Codes] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Orchard:
    """Binned data and where each column's tree will stand.

    Parameters
    ----------
    kept, visits
        The kept columns that trees see, and the replaced ones in the order they are drawn.
    events, groups
        The event of each time; the column in which each nested one is nested.
    dealing, by
        How leaves give out their values (see ``dealing``).
    taught
        By record: whether trees are grown on it and it is a donor; None for all.
    """

    data: Microdata
    binned: Binned
    kept: tuple[str, ...]
    visits: tuple[str, ...]
    growth: Growth
    rules: Pairs
    smoothing: bool
    events: Pairs = field(default_factory=dict)
    groups: Pairs = field(default_factory=dict)
    dealing: Dealing = "independent"
    by: str | None = None
    taught: Booleans | None = None

    def start(self) -> Partial:
        """Return a copy of which nothing is drawn yet."""
        return Partial(self.data.frame.copy(), self.binned.codes.copy())

    def fit(self, name: str, *, rng: np.random.Generator | None) -> "ColumnTrees | Event":
        """Grow a column's trees: on the records as they are, or on a Bayesian bootstrap of them.

        Parameters
        ----------
        rng
            Draws the weights of the bootstrap, Dirichlet(1, …, 1) (Rubin 1981); None for equal weights.
        """
        data, column = self.data, self.data.schema[name]
        for time, event in self.events.items():
            if event == name:
                return Event(column, time, data.values(name), self.binned)
        weights = None if rng is None else rng.standard_exponential(len(data))
        missing = data.frame[name].isna().to_numpy(dtype=bool)
        held = np.zeros(len(data), dtype=bool)
        if name in self.rules:
            held = expressions.evaluate(self.rules[name], data.frame).to_numpy(dtype=bool)
        absent, taught = None, np.ones(len(data), dtype=bool) if self.taught is None else self.taught
        asked = ~held & holds(column, data.frame) & taught
        if (missing & asked).any():
            absent = self._grow(name, missing.astype(np.float64), 0, np.flatnonzero(asked), weights)
        values = data.values(name)
        told = np.flatnonzero(~held & ~missing & taught)
        present = self._grow(name, values, len(column.levels), told, weights, timed=True)
        smoother = None
        if self.smoothing and not column.kind.categorical:
            limits = column.bounds or (float(np.nanmin(values)), float(np.nanmax(values)))
            smoother = Smoother.of(present.tree, values, limits, self.growth.min_leaf)
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

    def _grow(
        self, name: str, response: Floats, classes: int, rows: Codes, weights: Floats | None, *, timed: bool = False
    ) -> Dealer:
        """Grow one tree of a column: of its values, which may be times, or of whether it is missing."""
        before = self.kept + self.visits[: self.visits.index(name)]
        tree: Tree | Grouped
        if name in self.groups:
            tree = Grouped.grow(
                self.groups[name],
                self.binned,
                before,
                response,
                classes=classes,
                rows=rows,
                weights=weights,
                growth=self.growth,
            )
        else:
            timed = timed and name in self.events
            tree = Tree.grow(
                self.binned,
                before,
                response,
                classes=classes,
                rows=rows,
                weights=weights,
                growth=self.growth,
                event=self.data.values(self.events[name]) == 1 if timed else None,
            )
        if self.by is None or self.by not in before:
            return Dealer(tree.sorted(response, weights) if self.dealing == "systematic" else tree, self.dealing)
        tree, by = tree.sorted(response, weights), self.binned.names.index(self.by)
        if not self.data.schema[self.by].kind.categorical:
            return Dealer(tree, self.dealing, by)
        at = tree.apply(np.ascontiguousarray(self.binned.codes[:, rows]))
        kinds = classes_of(response, rows, levels=classes)
        areas = Areas.of(tree, at, rows, kinds, self.binned.codes[by].astype(np.int64), weights)
        return Dealer(tree, self.dealing, by, areas)


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
    absent: Dealer | None
    present: Dealer
    missing: Booleans
    held: Codes
    smoother: Smoother | None
    binned: Binned

    def __repr__(self) -> str:
        return f"ColumnTrees({self.present.tree})"

    def draw(self, copy: Partial, *, rng: np.random.Generator) -> None:
        """Draw the column for every record of a copy, given what is drawn already."""
        name, like = self.column.name, copy.frame[self.column.name]
        leaves, donors = self.present.deal(copy.codes, rng=rng)
        drawn = np.ones(len(donors), dtype=bool)
        if self.absent is not None:
            _, found = self.absent.deal(copy.codes, rng=rng)
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
        copy.donors[name] = donors
        _write(copy, self.column, released, values, self.binned)


@dataclass(frozen=True, repr=False)
class Event:
    """How a time ended: as it did for the donor of the time."""

    column: Column
    time: str
    values: Floats
    binned: Binned

    def __repr__(self) -> str:
        return f"Event({self.column.name} of {self.time})"

    def draw(self, copy: Partial, *, rng: np.random.Generator) -> None:
        """Take the event of each record's donor."""
        donors, like = copy.donors[self.time], copy.frame[self.column.name]
        _write(copy, self.column, like.take(donors).set_axis(like.index), self.values[donors], self.binned)


def _write(copy: Partial, column: Column, released: pd.Series, values: Floats, binned: Binned) -> None:
    """Put a drawn column into a copy, and its bins where later trees look."""
    skipped = ~holds(column, copy.frame)
    copy.frame[column.name] = without(released, skipped)
    copy.codes[binned.names.index(column.name)] = binned.binnings[column.name].bins(np.where(skipped, np.nan, values))
