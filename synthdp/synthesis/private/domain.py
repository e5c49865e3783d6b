"""The declared domain as a grid of cells, fixed before the data are seen, and records drawn from a noisy table of it.

A categorical column has a cell per level; a numeric one has equally wide bins over its bounds, in which values are
drawn evenly among those with the declared decimals; ``semicontinuous`` columns have a cell for 0, and columns named as
such a cell for missing.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synthdp.imputation.cells import ISO_DATE, write
from synthdp.privacy.mechanisms import Source
from synthdp.table.io import quoted_numbers, spelled
from synthdp.table.microdata import MISSING, Codes, Floats, Microdata, decode
from synthdp.table.schema import Column, Kind

MOST_STEPS = 2**40
MOST_CELLS = 2**62


@dataclass(frozen=True)
class Axis:
    """One column of the domain.

    Parameters
    ----------
    column
        The resolved column.
    plain
        Levels, or bins.
    steps
        How many different values the bins hold together (numeric columns).
    spike, missing
        Whether there is a cell for 0, and one for missing.
    starts
        Where bins are not equally wide: the place among the steps at which each begins.
    foreign
        Whether levels that are not the column's count as missing: some were not found.
    """

    column: Column
    plain: int
    steps: int = 0
    spike: bool = False
    missing: bool = False
    starts: tuple[int, ...] = ()
    foreign: bool = False

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.plain + self.spike + self.missing

    def encode(self, data: Microdata) -> Codes:
        """Return the cell of every record. O(n)."""
        if self.column.kind.categorical:
            column = self.column if self.foreign else data.schema[self.column.name]
            return data.coded.codes(column, missing=self.plain, foreign=self.plain)
        values = data.numbers(self.column.name)
        low, step = self._grid()
        absent = np.isnan(values)
        with np.errstate(invalid="ignore"):
            place = np.clip(np.rint((values - low) / step), 0, self.steps - 1)
        found = self.bin_of(np.where(absent, 0, place).astype(np.int64))
        if self.spike:
            found = np.where(values == 0, self.plain, found)
        return np.where(absent, self.size - 1, found)

    def bin_of(self, steps: Codes) -> Codes:
        """Return the bin of each step."""
        if self.starts:
            return np.asarray(np.searchsorted(self.starts, steps, side="right") - 1, dtype=np.int64)
        return np.asarray((steps * self.plain) // self.steps, dtype=np.int64)

    def first_of(self, bins: Codes) -> Codes:
        """Return the first step of each bin; of one past the last, how many steps there are."""
        if self.starts:
            return np.asarray([*self.starts, self.steps], dtype=np.int64)[bins]
        return np.asarray(-((-bins * self.steps) // self.plain), dtype=np.int64)

    def begun(self, edges: Iterable[int]) -> "Axis":
        """Return the axis with a bin begun at further steps."""
        starts = tuple(sorted({*map(int, self.first_of(np.arange(self.plain))), *edges}))
        return replace(self, plain=len(starts), starts=starts)

    def ends(self) -> tuple[float, float]:
        """Return the least and the largest number of the bins."""
        low, step = self._grid()
        return low, low + step * max(self.steps - 1, 0)

    def listed(self) -> tuple[Floats, Codes]:
        """Return all numbers that a numeric column can have, and the cell of each; NaN for missing. O(steps)."""
        low, step = self._grid()
        places = np.arange(self.steps)
        values, cells = low + step * places, self.bin_of(places)
        if self.spike:
            values, cells = np.append(values[values != 0], 0.0), np.append(cells[values != 0], self.plain)
        if self.missing:
            values, cells = np.append(values, np.nan), np.append(cells, self.size - 1)
        return np.asarray(values, dtype=np.float64), np.asarray(cells, dtype=np.int64)

    def values(self, cells: Codes, *, rng: np.random.Generator) -> Floats:
        """Return a number from each cell, evenly among those it holds; NaN for missing."""
        bins = np.minimum(cells, self.plain - 1)
        first, after = self.first_of(bins), self.first_of(bins + 1)
        low, step = self._grid()
        found = np.asarray(low + step * rng.integers(first, after), dtype=np.float64)
        if self.spike:
            # 0 has a cell of its own, so the bin beside it holds it no more
            found[found == 0] = step if low + step * (self.steps - 1) > 0 else -step
            found[cells == self.plain] = 0.0
        if self.missing:
            found[cells == self.plain + self.spike] = np.nan
        return found

    def centres(self) -> Floats:
        """Return the mean of the values that each bin of a numeric column holds."""
        bins = np.arange(self.plain)
        first, last = self.first_of(bins), self.first_of(bins + 1) - 1
        low, step = self._grid()
        return np.asarray(low + step * (first + last) / 2, dtype=np.float64)

    def like(self, series: pd.Series) -> pd.Series:
        """Return a series of as many rows whose dtype is the domain's: one missing cell would change the data's own."""
        if self.column.kind is Kind.DATE and pd.api.types.is_datetime64_any_dtype(series.dtype):
            return series
        if self.column.kind is Kind.DATE:
            return pd.Series("1970-01-01", index=series.index, name=series.name, dtype="str")
        zeros = np.zeros(len(series)).astype(_dtype(self.column, series))
        return pd.Series(zeros, index=series.index, name=series.name)

    def decode(self, cells: Codes, like: pd.Series, *, rng: np.random.Generator) -> pd.Series:
        """Return cells as values of the domain's dtype; of ``like`` only index and name count."""
        if self.column.kind.categorical:
            return self.labels(cells, like)
        return self.written(self.values(cells, rng=rng), like)

    def written(self, values: Floats, like: pd.Series) -> pd.Series:
        """Return numbers as values of the domain's dtype."""
        return write(values, self.column, self.like(like))

    def labels(self, cells: Codes, like: pd.Series) -> pd.Series:
        """Return cells of a categorical column as its levels."""
        positions = np.where(cells == self.plain, MISSING, cells) if self.missing else cells
        if self.column.levels:
            return decode(positions, self.column, self.like(like))
        # where none was found, as a column of text that nobody has a value in
        unnamed = replace(self, column=self.column.model_copy(update={"levels": ("",)}))
        return decode(positions, unnamed.column, unnamed.like(like))

    def _grid(self) -> tuple[float, float]:
        low, high = self.column.bounds or (0.0, 1.0)
        places = places_of(self.column)
        if places is not None:
            low = math.ceil(round(low * 10**places, 6)) / 10**places
            high = math.floor(round(high * 10**places, 6)) / 10**places
        return low, (high - low) / max(self.steps - 1, 1)


@dataclass(frozen=True)
class Domain:
    """All columns; a cell of it has a number in mixed radix, so no table needs to be held.

    Examples
    --------
    >>> sex = Column(name="sex", kind="binary", role="replace", key=True, levels=("F", "M"))
    >>> Domain((Axis(sex, 2), Axis(sex, 2))).size
    4
    """

    axes: tuple[Axis, ...]

    @property
    def size(self) -> int:
        """How many cells there are, as an exact integer."""
        return math.prod(axis.size for axis in self.axes)

    def encode(self, data: Microdata) -> Codes:
        """Return one row of cells per record."""
        return np.column_stack([axis.encode(data) for axis in self.axes])

    def flat(self, cells: Codes) -> Codes:
        """Return the number of each row's cell; the last column varies fastest."""
        found = np.zeros(len(cells), dtype=np.int64)
        for position, axis in enumerate(self.axes):
            found = found * axis.size + cells[:, position]
        return found

    def unflat(self, numbers: Codes) -> Codes:
        """Return the row of cells of each number."""
        columns, left = [], np.asarray(numbers, dtype=np.int64)
        for axis in reversed(self.axes):
            left, here = np.divmod(left, axis.size)
            columns.append(here)
        return np.column_stack(columns[::-1])

    def frame(self, cells: Codes, like: pd.DataFrame, *, rng: np.random.Generator) -> pd.DataFrame:
        """Return rows of cells as a file like the original."""
        columns = {
            axis.column.name: axis.decode(cells[:, position], like[axis.column.name], rng=rng)
            for position, axis in enumerate(self.axes)
        }
        return pd.DataFrame(columns)[list(like.columns)]


def declared(column: Column, series: pd.Series) -> str | None:
    """Return what of a column's domain was read off the data, as a sentence; None when all was declared."""
    where = f"variables.{column.name}"
    if "rare" in column.coarsened:
        return f"{where}.rare: counts the data to group levels, which is not private; recode them by name."
    if column.kind.categorical:
        if not column.levels_public:
            return f"{where}.levels: a DP method needs them declared, as levels read off the data are not private."
        return None
    if column.bounds is None or not column.bounds_public:
        return f"{where}.bounds: a DP method needs them declared, as bounds read off the data are not private."
    if column.kind is Kind.DATE and not _dated(series):
        return f"{where}: a DP method must know how dates are written; name the column in data.dates with its form."
    # whole numbers are all that is taken without a word, and files in which one is not whole are refused
    if not column.decimals_public and places_of(column) != 0:
        return f"{where}.decimals: a DP method needs them declared, as decimals read off the data are not private."
    return None


def undeclared_formula(column: Column) -> str | None:
    """Return why a derived column's type would be read off the data, as a sentence; None when it was declared."""
    if column.levels_public if column.kind.categorical else column.decimals_public:
        return None
    return (
        f"variables.{column.name}: a DP method needs the levels of a derived column declared, or of numbers the "
        "decimals, as what is read off the data is not private."
    )


def places_of(column: Column) -> int | None:
    """Return the decimals of a numeric column; counts have none."""
    return 0 if column.kind is Kind.COUNT else column.decimals


def _dated(series: pd.Series) -> bool:
    """Whether dates are read as such, or are text of the one form that can be read in one way only."""
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return True
    text = series.dropna().astype(str)
    return bool(pd.to_datetime(text, format=ISO_DATE, errors="coerce").notna().all())


def _dtype(column: Column, series: pd.Series) -> type[np.generic]:
    if not column.kind.categorical:
        return np.int64 if places_of(column) == 0 else np.float64
    levels = spelled(column.levels)
    for kind, dtype in ((bool, np.bool_), (int, np.int64), (int | float, np.float64)):
        if all(isinstance(level, kind) for level in levels):
            return dtype
    # levels in quotation marks that all are numbers; a text file of them never holds text
    return np.int64 if quoted_numbers(levels) and pd.api.types.is_numeric_dtype(series.dtype) else np.str_


def domain_of(data: Microdata, *, bins: int, bins_by: Mapping[str, int], missing: Sequence[str]) -> Domain:
    """Return the domain of all columns of a file whose columns are all declared."""
    axes = []
    for column in data.schema.columns:
        absent = column.name in missing
        if column.kind.categorical:
            axes.append(Axis(column, len(column.levels), missing=absent))
            continue
        low, high = column.bounds or (0.0, 1.0)
        places = places_of(column)
        steps = MOST_STEPS
        if places is not None:
            grid = math.floor(round(high * 10**places, 6)) - math.ceil(round(low * 10**places, 6)) + 1
            steps = max(1, min(grid, MOST_STEPS))
        spike = column.kind is Kind.SEMICONTINUOUS
        axes.append(Axis(column, min(bins_by.get(column.name, bins), steps), steps, spike, absent))
    return Domain(tuple(axes))


def thin(sd: float, n: int, cells: int, what: str) -> list[str]:
    """Return a sentence where the noise of a cell is more than a mean cell holds; from public numbers alone."""
    if sd * cells <= n:
        return []
    return [
        f"synthesis.epsilon: the noise has sd {sd:.3g} in each of {cells:,} cells {what}, of which a mean one holds "
        f"{n / cells:.3g} records: the copies are mostly noise. Raise epsilon, or use fewer bins."
    ]


def rows(weights: Floats, n: int, *, rng: np.random.Generator) -> Codes:
    """Return n positions drawn in proportion to the weights."""
    cumulative = np.cumsum(weights)
    found = np.searchsorted(cumulative, rng.random(n) * cumulative[-1], side="right")
    # rounding may put a draw at the very end, behind the last cell that can occur
    return np.asarray(np.minimum(found, int(np.flatnonzero(weights)[-1])), dtype=np.int64)


def random_generator(source: Source) -> np.random.Generator:
    """Return a generator keyed with 256 bits of the source, for draws whose results are whole numbers.

    Results are integers, so the grid of floating-point numbers tells nothing; probabilities are those of double
    arithmetic, within about 10⁻¹⁵ of the law.
    """
    return np.random.default_rng([int(word) for word in source.words(4)])
