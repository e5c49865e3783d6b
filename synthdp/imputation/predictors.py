"""The design matrix.

What an association model sees of the kept columns and of the mask's strength, and how a replaced column enters it.

With knots t_1 < … < t_k the basis is x itself and, for j = 1 … k-2,

    (x - t_j)₊³ - (x - t_{k-1})₊³ (t_k - t_j)/(t_k - t_{k-1}) + (x - t_k)₊³ (t_{k-1} - t_j)/(t_k - t_{k-1})

divided by (t_k - t_1)².

References
----------
Harrell (2015), Regression Modeling Strategies, 2nd ed., section 2.4.5, equations 2.25-2.26.

Numbers are standardised, a missing number is its mean plus an indicator, levels are indicators against the most
frequent level. Where masks differ between records because of X (risk groups, graded noise), the group or the log
number of neighbours enters with a tighter prior: p(x | z, h) differs from p(x | z), and ignoring it biased a slope
by half a standard error in a test.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import numpy as np

from synthdp.arrays import mean_and_sd
from synthdp.table.links import Link
from synthdp.table.microdata import MISSING, Codes, Floats, Microdata
from synthdp.table.schema import Column, Kind

OUTER_QUANTILE = 0.05


def knots_of(values: Floats, count: int) -> Floats:
    """Return distinct knots at evenly spaced quantiles; fewer where values are heaped."""
    return np.unique(np.quantile(values, np.linspace(OUTER_QUANTILE, 1 - OUTER_QUANTILE, count)))


def basis(values: Floats, knots: Floats) -> Floats:
    """Return the k - 2 bent columns of the basis; none with fewer than three knots.

    Examples
    --------
    >>> basis(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0])).round(3).ravel().tolist()
    [0.0, 0.25, 1.5, 3.0]
    """
    if len(knots) < 3:
        return np.empty((len(values), 0))
    last, before = knots[-1], knots[-2]
    columns = []
    for knot in knots[:-2]:
        bent = np.maximum(values - knot, 0) ** 3
        bent -= np.maximum(values - before, 0) ** 3 * (last - knot) / (last - before)
        bent += np.maximum(values - last, 0) ** 3 * (before - knot) / (last - before)
        columns.append(bent / (last - knots[0]) ** 2)
    return np.column_stack(columns)


MOST_LEVELS = 50
REGULARISING_SD = 1.0


@dataclass(frozen=True, repr=False)
class Predictors:
    """A design matrix with names and prior scales; the first column is the constant.

    Parameters
    ----------
    matrix
        n × d.
    names
        What each column is.
    regularised
        How many of the last columns describe the mask's strength and get the tighter prior.
    """

    matrix: Floats
    names: tuple[str, ...]
    regularised: int = 0

    def __repr__(self) -> str:
        return f"Predictors({len(self.names)} columns)"

    def prior_sd(self, general: float) -> Floats:
        """Return the prior sd of each coefficient: flat for the constant, tighter for the mask's strength."""
        sd = np.full(len(self.names), general)
        sd[0] = np.inf
        sd[len(self.names) - self.regularised :] = min(REGULARISING_SD, general)
        return sd


def build(
    data: Microdata,
    *,
    exclude: Sequence[str] = (),
    groups: Codes | None = None,
    neighbours: Codes | None = None,
    splines: int = 0,
) -> Predictors:
    """Return the design matrix of the kept columns.

    Parameters
    ----------
    exclude
        Kept columns the model must not see.
    groups
        Risk group codes, when masks differ by group.
    neighbours
        Neighbour counts, when masks are graded.
    splines
        Knots of the spline of each numeric column; fewer than 3 leave it a straight line.
    """
    columns: list[tuple[str, Floats]] = []
    for column in data.schema.kept():
        if column.name in exclude:
            continue
        if column.kind.categorical:
            columns += _indicators(column.name, data.codes(column.name))
        else:
            columns += _standardised(column.name, data.numbers(column.name))
            columns += _bent(column.name, data.numbers(column.name), splines)
    regularised: list[tuple[str, Floats]] = []
    if groups is not None:
        regularised += _indicators("risk group", groups)
    if neighbours is not None:
        regularised += _standardised("log neighbours", np.log(np.maximum(neighbours, 1)))
    names = ("constant", *(name for name, _ in columns), *(name for name, _ in regularised))
    matrix = np.empty((len(data), len(names)))
    matrix[:, 0] = 1.0
    for position, (_, values) in enumerate(columns + regularised, start=1):
        matrix[:, position] = values
    return Predictors(matrix, names, len(regularised))


@dataclass(frozen=True)
class AsPredictor:
    """How a number enters a design matrix: standardised, its missing values at the mean and marked.

    Parameters
    ----------
    spread
        Zero, or NaN, where its values do not differ: it then has no column.
    gaps
        Whether some values are missing.
    """

    name: str
    center: float
    spread: float
    gaps: bool

    @property
    def names(self) -> tuple[str, ...]:
        """What each of its columns is."""
        if np.isnan(self.center):
            return ()
        return (*((self.name,) if self.spread > 0 else ()), *((f"{self.name} is missing",) if self.gaps else ()))

    def columns(self, values: Floats) -> list[Floats]:
        """Return its columns."""
        present = np.isfinite(values)
        found = [np.where(present, (values - self.center) / self.spread, 0.0)] if self.name in self.names else []
        return found + ([(~present).astype(np.float64)] if len(self.names) > len(found) else [])


@dataclass(frozen=True)
class AsLevels:
    """How a column of levels enters a design matrix: an indicator per level but the most frequent.

    Parameters
    ----------
    levels
        Those with an indicator; rare ones beyond the limit join the most frequent one.
    """

    name: str
    levels: tuple[int, ...]

    @classmethod
    def of(cls, name: str, levels: Codes, counts: Codes) -> Self:
        """Return it for the levels that there are, in ascending order, and how many records have each."""
        by_size = levels[np.argsort(-counts, kind="stable")]
        return cls(name, tuple(int(level) for level in by_size[1 : MOST_LEVELS + 1]))

    @property
    def names(self) -> tuple[str, ...]:
        """What each of its columns is."""
        return tuple(
            f"{self.name} is missing" if level == MISSING else f"{self.name}[{level}]" for level in self.levels
        )

    def columns(self, codes: Codes) -> list[Floats]:
        """Return its columns."""
        return [(codes == level).astype(np.float64) for level in self.levels]


def _standardised(name: str, values: Floats) -> list[tuple[str, Floats]]:
    center, spread = mean_and_sd(values)
    entry = AsPredictor(name, center, spread, gaps=not np.isfinite(values).all())
    return list(zip(entry.names, entry.columns(values), strict=True))


def _bent(name: str, values: Floats, knots: int) -> list[tuple[str, Floats]]:
    """Return the standardised spline columns of a number beyond its straight line; a missing value gets their mean."""
    present = np.isfinite(values)
    if knots < 3 or not present.any():
        return []
    known = values[present]
    found = []
    for j, part in enumerate(basis(known, knots_of(known, knots)).T, start=1):
        column = np.zeros(len(values))
        column[present] = (part - part.mean()) / part.std() if part.std() > 0 else 0.0
        found.append((f"{name} spline {j}", column))
    return found


def _indicators(name: str, codes: Codes) -> list[tuple[str, Floats]]:
    """Return an indicator per level but the most frequent; rare levels beyond the limit join that one."""
    entry = AsLevels.of(name, *np.unique(codes, return_counts=True))
    return list(zip(entry.names, entry.columns(codes), strict=True))


class Encoding(Protocol):
    """A map from a column's working value to the columns of a design matrix."""

    @property
    def width(self) -> int:
        """How many columns."""
        ...

    def columns(self, x: Floats) -> Floats:
        """Return n × width."""
        ...


@dataclass(frozen=True)
class AsNumber:
    """The value itself, standardised: numbers, counts and binary columns."""

    center: float = 0.0
    spread: float = 1.0
    width: ClassVar[int] = 1

    def columns(self, x: Floats) -> Floats:
        """Return the value as one column."""
        return (x[:, None] - self.center) / self.spread


@dataclass(frozen=True)
class AsIndicators:
    """An indicator for every level but the first: nominal and ordinal columns."""

    levels: int

    @property
    def width(self) -> int:
        """One column per level but the first."""
        return self.levels - 1

    def columns(self, x: Floats) -> Floats:
        """Return the indicators."""
        return np.asarray(x[:, None] == np.arange(1, self.levels), dtype=np.float64)


@dataclass(frozen=True)
class AsTwoParts:
    """Whether the value is off its point mass, and how large it then is: semicontinuous columns."""

    point: float
    width: ClassVar[int] = 2

    def columns(self, x: Floats) -> Floats:
        """Return the indicator and the value where it applies."""
        off = x != self.point
        return np.column_stack([off.astype(np.float64), np.where(off, x, 0.0)])


def point_of(link: Link) -> float:
    """Return the working value of zero, the point mass of a semicontinuous column."""
    return float(link.forward(np.zeros(1))[0])


def encoding_of(column: Column, link: Link | None) -> Encoding:
    """Return how a replaced column enters the regressions after it: numbers by working value, counts as they are."""
    if column.kind in (Kind.ORDINAL, Kind.NOMINAL):
        return AsIndicators(len(column.levels))
    if link is not None and column.kind is Kind.COUNT:
        return AsNumber(link.center, link.spread)
    if link is not None and column.kind is Kind.SEMICONTINUOUS:
        return AsTwoParts(point_of(link))
    return AsNumber()
