"""Every column as a few classes, the same ones in the original and in all copies, so that tables can be counted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthdp.arrays import Codes, Floats
from synthdp.evaluation.comparison import Comparison
from synthdp.table.coded import Coded, coded
from synthdp.table.schema import Column, Kind

CLASSES = 5
# beyond these, the rarer levels of a column count as one class
MOST_LEVELS = 100


@dataclass(frozen=True, eq=False, repr=False)
class Classes:
    """The class of every record in every file.

    Parameters
    ----------
    names
        The columns; the cluster of a survey is not among them, its values mean nothing.
    sizes
        How many classes each column has.
    labels
        What the classes of a column are called: levels by their name, quantile classes by their number.
    files
        For the original and then each copy, the codes of each column.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    labels: tuple[tuple[str, ...], ...]
    files: tuple[tuple[Codes, ...], ...]

    def __repr__(self) -> str:
        return f"Classes({len(self.names)} columns, {len(self.files) - 1} copies)"


def classify(comparison: Comparison) -> Classes:
    """Return the classes of all columns.

    A categorical column has its levels; values outside them are one more class, and so are missing values. A numeric
    column is cut at the quantiles (type 7) of the original and ALL copies stacked, intervals closed on the left, as
    synthpop's tables do; equal quantiles are one cut, and missing values are a class. Where a numeric column has no
    more distinct values than classes, each value is one. Numbers are taken to the decimals that copies are released
    with. The zeros of a semicontinuous column are a class and the rest
    is cut, and so is a value so common that the quantiles would leave a single class.

    Notes
    -----
    Cost O(M n) per column, and 8 bytes per value in memory.
    """
    columns = [column for column in comparison.schema.columns if column.design != "cluster"]
    frames = (comparison.original, *comparison.copies)
    made = [_classify(column, [coded(frame) for frame in frames]) for column in columns]
    return Classes(
        names=tuple(column.name for column in columns),
        sizes=tuple(len(labels) for _, labels in made),
        labels=tuple(labels for _, labels in made),
        files=tuple(tuple(found[number] for found, _ in made) for number in range(len(frames))),
    )


def _classify(column: Column, files: Sequence[Coded]) -> tuple[list[Codes], tuple[str, ...]]:
    if column.kind.categorical:
        levels = len(column.levels)
        found = [file.codes(column, foreign=levels, missing=levels + 1) for file in files]
        return _merged(found, (*map(str, column.levels), "other values", "missing"))
    values = [_released(file.numbers(column), column.decimals) for file in files]
    cuts = breaks(np.concatenate(values), classes=CLASSES, kind=column.kind)
    last = len(cuts) + 1
    found = [np.where(np.isnan(one), last, np.searchsorted(cuts, one, side="right")) for one in values]
    return found, (*(f"class {number}" for number in range(1, last + 1)), "missing")


def _released(values: Floats, decimals: int | None) -> Floats:
    """Return numbers to the decimals that copies have: a heap at a cut is on the same side of it in every file."""
    return values if decimals is None else np.asarray(np.round(values, decimals), dtype=np.float64)


def _merged(found: list[Codes], labels: tuple[str, ...]) -> tuple[list[Codes], tuple[str, ...]]:
    if len(labels) <= MOST_LEVELS + 2:
        return found, labels
    counts = sum(np.bincount(one, minlength=len(labels)) for one in found)
    common = np.sort(np.argsort(-np.asarray(counts), kind="stable")[:MOST_LEVELS])
    place = np.full(len(labels), len(common), dtype=np.int64)
    place[common] = np.arange(len(common))
    return [place[one] for one in found], (*(labels[position] for position in common), "rarer levels")


def breaks(values: Floats, *, classes: int, kind: Kind = Kind.CONTINUOUS) -> Floats:
    """Return the inner cuts of a numeric column; a value at a cut belongs to the class above it.

    Examples
    --------
    >>> breaks(np.arange(11.0), classes=5).tolist()
    [2.0, 4.0, 6.0, 8.0]
    >>> breaks(np.array([0.0] * 9 + [1.0]), classes=5).tolist()
    [1.0]
    """
    present = values[~np.isnan(values)]
    if not len(present):
        return np.empty(0)
    few = _few_values(present, classes)
    if few is not None:
        return few[1:]
    cuts = np.unique(_quantiles(present, classes))
    commonest = 0.0 if kind is Kind.SEMICONTINUOUS else float(np.median(present))
    alone = not (cuts > present.min()).any()
    if alone or (kind is Kind.SEMICONTINUOUS and (present == 0).any()):
        rest = present[present != commonest]
        cuts = np.unique([*_quantiles(rest, classes), commonest, np.nextafter(commonest, np.inf)])
    return cuts


def _quantiles(present: Floats, classes: int) -> Floats:
    return np.asarray(np.quantile(present, np.arange(1, classes) / classes), dtype=np.float64)


def _few_values(present: Floats, most: int) -> Floats | None:
    """Return the distinct values when there are at most this many, looking at a few records first."""
    if len(np.unique(present[: 50 * most])) > most:
        return None
    distinct = np.unique(present)
    return distinct if len(distinct) <= most else None
