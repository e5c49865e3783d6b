"""Columns as the axes of a table: levels as they are, numbers in quantile bins, missing values a cell of their own.

A number is drawn inside its bin as trees draw one inside a leaf: a donor of the bin, whose value is moved where few
records share it (``imputation.trees.donors``), so that nobody's own value and no extreme is released.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.imputation.cells import write
from synthdp.imputation.trees.donors import Smoother
from synthdp.table import applies, expressions
from synthdp.table.coded import joint
from synthdp.table.microdata import Microdata, decode
from synthdp.table.schema import Column

# a number that fewer records share than this is moved
COMMON = 5


@dataclass(frozen=True, repr=False)
class Inside:
    """The records of every bin of a numeric column: those of bin k are ``rows[offsets[k] : offsets[k + 1]]``."""

    values: Floats
    offsets: Codes
    rows: Codes
    smoother: Smoother

    @property
    def leaves(self) -> int:
        """How many bins there are."""
        return len(self.offsets) - 1

    def draw(self, bins: Codes, *, rng: np.random.Generator) -> Floats:
        """Return a number of each bin."""
        start = self.offsets[bins]
        donors = self.rows[start + rng.integers(0, self.offsets[bins + 1] - start)]
        found: Floats = self.values[donors]
        moved = self.smoother.rare[donors]
        found[moved] = self.smoother.smooth(found[moved], bins[moved], rng=rng)
        return found


@dataclass(frozen=True, repr=False)
class Axis:
    """One column: the cell of every record, and how a value is drawn from a cell.

    Parameters
    ----------
    codes
        The cell of every record.
    plain
        How many levels or bins there are; one more cell is for missing values where there are any.
    inside
        What a numeric column's bins hold; None for levels.
    """

    column: Column
    codes: Codes
    plain: int
    missing: bool
    inside: Inside | None = None

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.plain + self.missing

    def values(self, cells: Codes, like: pd.Series, *, rng: np.random.Generator) -> pd.Series:
        """Return cells as values like the column's own, one per row of ``like``."""
        absent = cells >= self.plain
        place = np.where(absent, 0, cells)
        if self.inside is None:
            shown = decode(place, self.column, like)
            return shown.where(~absent) if absent.any() else shown
        return write(np.where(absent, np.nan, self.inside.draw(place, rng=rng)), self.column, like)


def axis_of(data: Microdata, name: str, *, bins: int) -> Axis:
    """Return a column as an axis; a number with no more than ``bins`` distinct values has a cell for each."""
    column = data.schema[name]
    if column.kind.categorical:
        plain = len(column.levels)
        codes = data.coded.codes(column, missing=plain, foreign=plain)
        return Axis(column, codes, plain, bool((codes == plain).any()))
    values = data.numbers(name)
    absent = np.isnan(values)
    present = values[~absent]
    cuts = cuts_of(present, bins)
    place = np.searchsorted(cuts, values, side="right")
    # a bin that nobody is in would have no donor
    filled, place[~absent] = np.unique(place[~absent], return_inverse=True)
    plain = len(filled)
    codes = np.where(absent, plain, place).astype(np.int64)
    rows = np.argsort(codes, kind="stable")[: len(present)]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(codes[~absent], minlength=plain))]).astype(np.int64)
    limits = column.bounds or (float(present.min()), float(present.max()))
    smoother = Smoother.of(Bins(offsets, rows, plain), values, limits, COMMON)
    return Axis(column, codes, plain, bool(absent.any()), Inside(values, offsets, rows, smoother))


@dataclass(frozen=True, repr=False)
class Bins:
    """Bins as the leaves of a tree."""

    offsets: Codes
    rows: Codes
    leaves: int


def cuts_of(present: Floats, bins: int) -> Floats:
    """Return the inner cuts of a column: quantiles, and around every value that fills a bin of its own.

    Examples
    --------
    >>> cuts_of(np.arange(8.0), 4).tolist()
    [1.75, 3.5, 5.25]
    >>> cuts_of(np.array([0.0, 0.0, 0.0, 5.0]), 4).tolist()
    [5.0]
    """
    distinct, counts = np.unique(present, return_counts=True)
    if len(distinct) <= bins:
        return distinct[1:]
    heaps = distinct[counts >= len(present) / bins]
    cuts = np.quantile(present, np.arange(1, bins) / bins)
    return np.unique(np.concatenate([cuts, heaps, np.nextafter(heaps, np.inf)]))


@dataclass(frozen=True, repr=False)
class Records:
    """The records as cells of a table.

    Parameters
    ----------
    kept, drawn
        The columns that are given, and those that are drawn.
    group
        By record: which combination of the kept columns' cells it has, from 0.
    first
        By group: a record of it.
    """

    data: Microdata
    axes: dict[str, Axis]
    kept: tuple[str, ...]
    drawn: tuple[str, ...]
    group: Codes
    first: Codes

    @classmethod
    def of(
        cls, data: Microdata, *, bins: int, bins_by: Mapping[str, int] | None = None, exclude: Sequence[str] = ()
    ) -> "Records":
        """Return the records of a file; kept columns that are excluded are not looked at."""
        own = bins_by or {}
        kept = tuple(column.name for column in data.schema.kept() if column.name not in exclude)
        drawn = tuple(column.name for column in data.schema.replaced())
        axes = {name: axis_of(data, name, bins=own.get(name, bins)) for name in (*kept, *drawn)}
        group = joint([axes[name].codes for name in kept]) if kept else np.zeros(len(data), dtype=np.int64)
        return cls(data, axes, kept, drawn, group, np.unique(group, return_index=True)[1].astype(np.int64))

    def __repr__(self) -> str:
        return f"Records({len(self.group)} records in {self.groups} groups)"

    @property
    def groups(self) -> int:
        """How many combinations of the kept columns occur."""
        return len(self.first)

    @property
    def size(self) -> int:
        """How many combinations of the drawn columns' cells there are, as an exact integer."""
        return math.prod(self.axes[name].size for name in self.drawn)

    def cells(self, rows: Codes | None = None) -> dict[str, Codes]:
        """Return the cells of records, by column."""
        return {name: axis.codes if rows is None else axis.codes[rows] for name, axis in self.axes.items()}

    def table(self, cells: dict[str, Codes], names: Sequence[str]) -> pd.DataFrame:
        """Return cells of categorical columns as a table of their values."""
        rng = np.random.default_rng(0)  # levels take none of it
        frame = {}
        for name in names:
            like = pd.Series(self.data.frame[name].iloc[:1].repeat(len(cells[name])).to_numpy(), name=name)
            like = like.astype(self.data.frame[name].dtype)
            frame[name] = self.axes[name].values(cells[name], like, rng=rng)
        return pd.DataFrame(frame)


def possible(records: Records, cells: dict[str, Codes], zeros: Sequence[str], constraints: Sequence[str]) -> Booleans:
    """Return which cells may hold records at all.

    Conditions that name numbers are left to the draw: a bin may hold values of both kinds.

    Parameters
    ----------
    zeros
        Conditions under which there is nobody.
    constraints
        Conditions that everybody keeps, as far as the columns they name are not missing.
    """
    whole = len(next(iter(cells.values())))
    found = np.ones(whole, dtype=np.bool_)

    def listed(names: set[str]) -> bool:
        return names <= set(records.axes) and all(records.axes[name].inside is None for name in names)

    for text in zeros:
        frame = records.table(cells, sorted(expressions.names(text)))
        found &= ~expressions.evaluate(text, frame).to_numpy(dtype=bool)
    for text in constraints:
        names = expressions.names(text)
        if listed(names):
            frame = records.table(cells, sorted(names))
            known = frame.notna().all(axis=1).to_numpy() if "isnull" not in text else np.ones(whole, dtype=bool)
            found &= expressions.evaluate(text, frame).to_numpy(dtype=bool) | ~known
    for column in applies.conditional(records.data.schema):
        names = applies.needs(column)
        if listed(names | {column.name}):
            frame = records.table(cells, sorted(names))
            found &= applies.holds(column, frame) | (cells[column.name] >= records.axes[column.name].plain)
    return found
