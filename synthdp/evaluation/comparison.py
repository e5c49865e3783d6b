"""The original and its synthetic copies side by side, all that an evaluator ever sees.

Halves of the original serve as a yardstick.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.arrays import Booleans, Codes
from synthdp.inference.analyses import Analysis
from synthdp.seeding import Streams
from synthdp.table.coded import distinct
from synthdp.table.schema import Schema


@dataclass(frozen=True, repr=False)
class Origin:
    """One release among several that are attacked together.

    Parameters
    ----------
    copies
        How many of the copies are its own; those of a release stand together.
    covers
        Which records it holds, None for all of them. Rows of other records stand for nobody in it.
    columns
        Which columns it gave out, None for all of them. The others say nothing.
    """

    copies: int
    covers: npt.NDArray[np.bool_] | None = None
    columns: frozenset[str] | None = None

    def __repr__(self) -> str:
        return f"Origin({self.copies} copies)"


@dataclass(frozen=True)
class Request:
    """What the config asks of the measures, beside the files; see ``config.EvaluationSettings``.

    Parameters
    ----------
    targets
        Columns that matter most: to be predicted by an analyst, to be learnt by an intruder.
    analyses
        What a data user would run.
    propensity
        How pMSE is taken; a ``utility.propensity.Propensity``, or None for its defaults.
    intruders
        The user's own, by name: ``risk.intruders.Intruder``.
    ways, columns, most, subgroups
        Which tables of counts are compared, and the column whose levels are judged one by one.
    shadow
        The size of the membership game.
    budget
        Seconds that a measure may take where the report asks for it; None for as long as it takes.
    streams
        The randomness that several measures share: halves of the original.
    """

    targets: tuple[str, ...] = ()
    analyses: tuple[Analysis, ...] = ()
    propensity: Any = None
    intruders: Mapping[str, Any] = field(default_factory=dict)
    ways: tuple[int, ...] = (1, 2)
    columns: tuple[str, ...] = ()
    most: int = 500
    subgroups: str | None = None
    shadow: Mapping[str, Any] = field(default_factory=dict)
    budget: float | None = None
    streams: Streams = field(default_factory=lambda: Streams(0))


@dataclass(frozen=True, repr=False)
class Making:
    """How the copies were made, as far as a measure may use it; evaluation knows neither mask nor model.

    Parameters
    ----------
    intruder
        The attack of somebody who can make the copies again.
    refit, shadows
        Fit the method to some of the records: for halves of the file, and for the membership game.
    jobs, advance
        How many processes the game may use, and who is told how far it is.
    """

    intruder: Callable[..., Any] | None = None
    refit: Any = None
    shadows: Any = None
    jobs: int = 1
    advance: Callable[[int, int], None] | None = None


@dataclass(frozen=True, repr=False)
class Comparison:
    """An original file and files that claim to stand for it.

    Parameters
    ----------
    original
        The confidential records, dropped columns gone.
    copies
        Synthetic files with the same columns.
    schema
        What the columns are.
    aligned
        Whether row i of every copy was made from record i.
    groups
        The risk group of each original record, or None when records were not tagged.
    proper
        Whether the parameters behind the copies were drawn from their posterior, or None when it is not known.
    nests
        Of how many completed originals copies were made, those of one standing together: 1 unless values were imputed.
    holdout
        Records like the original's that the synthesis never saw, or None: the baseline of attacks on members.
    mask_draw
        When W was drawn (``per_copy``, ``once``, ``once_orthogonal``), as ``release.json`` tells; None when it is not
        known or nothing was masked.
    rule
        The combining rule that the design calls for; None when the design is not known.
    targets
        Which records the intruders look for, increasing; None for all of them, or as many as an attack has time for.
    origins
        Which releases the copies are from, in their order; empty when they are all of one.
    cautions
        What a reader of the numbers should know about how the files were read.
    request
        What the config asks of the measures.
    making
        How the copies were made; None for files made elsewhere.
    """

    original: pd.DataFrame
    copies: tuple[pd.DataFrame, ...]
    schema: Schema
    aligned: bool
    groups: pd.Series | None = None
    proper: bool | None = None
    cautions: tuple[str, ...] = ()
    holdout: pd.DataFrame | None = None
    nests: int = 1
    mask_draw: str | None = None
    rule: str | None = None
    targets: Codes | None = None
    origins: tuple[Origin, ...] = ()
    request: Request = Request()
    making: Making | None = None

    def __repr__(self) -> str:
        return f"Comparison({len(self.original)} records, {len(self.copies)} copies)"


def some(rows: Codes | int, most: int, *, rng: np.random.Generator) -> Codes:
    """Return all of some records (or of so many), or where there are more than ``most`` a random sample, in order."""
    every = np.arange(rows) if isinstance(rows, int) else rows
    return every if len(every) <= most else np.sort(rng.choice(every, most, replace=False))


def split(n: int, *, share: float, cluster: Codes | None, rng: np.random.Generator) -> Booleans:
    """Return which of n records are held out.

    Without clusters these are ``round(share · n)`` records drawn at random. With clusters whole clusters are drawn
    until the held-out part comes closest to that number, but never all of them when there are two or more.

    Parameters
    ----------
    n
        How many records there are.
    share
        The share to hold out, between 0 and 1.
    cluster
        The cluster of each record as codes from 0; -1 is a record on its own. None: every record is.
    rng
        Draws the records or clusters.

    Notes
    -----
    Cost O(n log n).

    Examples
    --------
    >>> held = split(6, share=0.5, cluster=np.array([0, 0, 1, 1, 2, 2]), rng=np.random.default_rng(1))
    >>> bool((held[::2] == held[1::2]).all())
    True
    """
    unit, sizes = _units(n, cluster)
    order = rng.permutation(len(sizes))
    total = np.cumsum(sizes[order])
    chosen = int(np.argmin(np.abs(total - share * n))) + 1
    taken = np.zeros(len(sizes), dtype=np.bool_)
    taken[order[: min(chosen, max(1, len(sizes) - 1))]] = True
    return np.asarray(taken[unit], dtype=np.bool_)


def folds(n: int, *, parts: int, cluster: Codes | None, rng: np.random.Generator) -> Codes:
    """Return the fold (0 to parts − 1) of each of n records; a cluster is in one fold.

    Clusters are dealt the largest first, in random order among equals, each to the fold that has fewest records.
    """
    unit, sizes = _units(n, cluster)
    order = rng.permutation(len(sizes))
    dealt = np.empty(len(sizes), dtype=np.int64)
    if (sizes == 1).all():
        dealt[order] = np.arange(len(sizes)) % parts
        return dealt[unit]
    held = np.zeros(parts, dtype=np.int64)
    for one in order[np.argsort(-sizes[order], kind="stable")]:
        smallest = int(held.argmin())
        dealt[one] = smallest
        held[smallest] += sizes[one]
    return dealt[unit]


def clusters(comparison: Comparison) -> Codes | None:
    """Return the cluster of each original record as codes (missing: -1), or None when the data have none."""
    for column in comparison.schema.columns:
        if column.design == "cluster":
            return distinct(comparison.original[column.name], missing="none")
    return None


def _units(n: int, cluster: Codes | None) -> tuple[Codes, Codes]:
    """Return what is drawn as a whole: the unit of each record, and how many records each unit has."""
    if cluster is None:
        return np.arange(n), np.ones(n, dtype=np.int64)
    alone = cluster < 0
    unit = cluster.copy()
    unit[alone] = cluster.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    _, unit = np.unique(unit, return_inverse=True)
    return unit, np.bincount(unit)


SPLITS = 4


@dataclass(frozen=True)
class Sizes:
    """How many records the two files of a comparison have: the original's (or a half) first."""

    first: float
    second: float

    @property
    def variance(self) -> float:
        """1/n₁ + 1/n₂, to which the variance of a difference between independent samples is proportional."""
        return 1 / self.first + 1 / self.second

    @property
    def share(self) -> float:
        """The share c of the second file in the stack."""
        return self.second / (self.first + self.second)


@dataclass(frozen=True, eq=False, repr=False)
class Halves:
    """Several random splits of the original into halves: which records are in the first one."""

    masks: tuple[Booleans, ...]

    @property
    def splits(self) -> int:
        """How many splits there are."""
        return len(self.masks)

    @cached_property
    def pattern(self) -> Codes:
        """For each record a number whose bit i says whether it is in the first half of split i."""
        bits = (mask.astype(np.int64) << place for place, mask in enumerate(self.masks))
        return np.asarray(sum(bits, start=np.int64(0)), dtype=np.int64)

    def __repr__(self) -> str:
        return f"Halves({self.splits} splits)"


def halves(comparison: Comparison, *, rng: np.random.Generator, splits: int = SPLITS) -> Halves:
    """Return several random halves of the original; records of one cluster stay together.

    A file of one record, or of one cluster, has no halves: there are no splits then, and no noise floor.
    """
    n, cluster = len(comparison.original), clusters(comparison)
    found = [split(n, share=0.5, cluster=cluster, rng=rng) for _ in range(splits)]
    return Halves(tuple(half for half in found if 0 < half.sum() < n))


def sizes_of(comparison: Comparison) -> Sizes:
    """Return the sizes of the original and, on average, of the copies."""
    return Sizes(len(comparison.original), float(np.mean([len(copy) for copy in comparison.copies])))


def summarise(per_copy: Sequence[float | None], noise: Sequence[float | None] = ()) -> dict[str, Any]:
    """Return the mean over copies, every copy's value, the smallest and largest, and the noise floor.

    A copy without a value is left out of the mean; ``noise`` is the mean over splits of the original into halves,
    already at the sample size of the comparison.
    """
    found = [float(value) for value in per_copy if value is not None and np.isfinite(value)]
    floor = [float(value) for value in noise if value is not None and np.isfinite(value)]
    return {
        "value": float(np.mean(found)) if found else None,
        "low": min(found) if found else None,
        "high": max(found) if found else None,
        "per_copy": [None if value is None or not np.isfinite(value) else float(value) for value in per_copy],
        "noise": float(np.mean(floor)) if floor else None,
    }
