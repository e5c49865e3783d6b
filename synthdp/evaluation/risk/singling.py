"""Singling out: whether a copy lets somebody make a sentence that is true of exactly one person in the data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.budget import go_on
from synthdp.evaluation.combinations import classes, require_copies
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.rates import NO_HOLDOUT, Estimate, rate, require_outsiders, residual
from synthdp.table.coded import coded
from synthdp.table.schema import Column

TRIES = 20
# what a condition says of a value
EQUAL, AT_MOST, AT_LEAST, ABSENT = range(4)
Condition = tuple[int, int, float]  # column, what it says, value
Predicate = tuple[Condition, ...]


@dataclass(frozen=True, repr=False)
class Table:
    """A file as numbers: levels by code, numbers as they are, NaN where missing."""

    values: tuple[Floats, ...]
    categorical: tuple[bool, ...]

    def __repr__(self) -> str:
        return f"Table({len(self.values[0])} records x {len(self.values)} columns)"

    def __len__(self) -> int:
        return len(self.values[0])

    def count(self, predicate: Predicate) -> int:
        """Return of how many records the predicate is true. O(n), and less for each further condition."""
        (column, says, value), *others = predicate
        rows = np.flatnonzero(_holds(self.values[column], says, value))
        for column, says, value in others:
            rows = rows[_holds(self.values[column][rows], says, value)]
        return len(rows)


def tabulate(frames: Sequence[pd.DataFrame], columns: Sequence[Column]) -> list[Table]:
    """Code several files alike."""
    files = [coded(frame) for frame in frames]
    tables: list[list[Floats]] = []
    for column in columns:
        if column.kind.categorical:
            found = [one.astype(np.float64) for one in classes(frames, column)]
        else:
            found = [file.numbers(column) for file in files]
        tables.append([np.where(file.present(column.name), v, np.nan) for file, v in zip(files, found, strict=True)])
    flags = tuple(column.kind.categorical for column in columns)
    return [Table(tuple(column[number] for column in tables), flags) for number in range(len(frames))]


def univariate(copy: Table) -> list[Predicate]:
    """Return every predicate on one column that isolates a row of the copy.

    The only missing value, a value that occurs once, or (numbers) being at or beyond the extreme. O(n log n) a column.
    """
    found: list[Predicate] = []
    for column, values in enumerate(copy.values):
        absent = np.isnan(values)
        if int(absent.sum()) == 1:
            found.append(((column, ABSENT, 0.0),))
        distinct, counts = np.unique(values[~absent], return_counts=True)
        found += [((column, EQUAL, float(value)),) for value in distinct[counts == 1]]
        if len(distinct) and not copy.categorical[column]:
            if counts[0] == 1:
                found.append(((column, AT_MOST, float(distinct[0])),))
            if counts[-1] == 1:
                found.append(((column, AT_LEAST, float(distinct[-1])),))
    return found


def multivariate(copy: Table, *, attacks: int, size: int, rng: np.random.Generator) -> list[Predicate]:
    """Return predicates on several columns that isolate a row of the copy.

    A row and ``size`` columns are drawn at random; levels and missing values must be equal, numbers on the same side
    of the row's number, outwards from the median. Draws that are true of other rows too are thrown away; after 20
    draws for each predicate asked for, there are fewer.

    Notes
    -----
    O(n · size) for each draw.
    """
    size = min(size, len(copy.values))
    medians = [float(np.nanmedian(one)) if np.isfinite(one).any() else 0.0 for one in copy.values]
    found: dict[Predicate, None] = {}
    for _ in range(TRIES * attacks):
        go_on()
        if len(found) >= attacks:
            break
        row = int(rng.integers(len(copy)))
        chosen = np.sort(rng.choice(len(copy.values), size, replace=False))
        predicate = tuple(_condition(copy, int(column), row, medians) for column in chosen)
        if predicate not in found and copy.count(predicate) == 1:
            found[predicate] = None
    return list(found)


def blind(copy: Table, *, attacks: int, size: int, rng: np.random.Generator) -> list[Predicate]:
    """Return predicates made without looking at rows: columns, values between the extremes and sides at random."""
    size = min(size, len(copy.values))
    made: list[Predicate] = []
    for _ in range(attacks):
        chosen = np.sort(rng.choice(len(copy.values), size, replace=False))
        made.append(tuple(_random_condition(copy, int(column), rng) for column in chosen))
    return made


def _condition(copy: Table, column: int, row: int, medians: Sequence[float]) -> Condition:
    value = float(copy.values[column][row])
    if np.isnan(value):
        return column, ABSENT, 0.0
    if copy.categorical[column]:
        return column, EQUAL, value
    return column, AT_LEAST if value >= medians[column] else AT_MOST, value


def _random_condition(copy: Table, column: int, rng: np.random.Generator) -> Condition:
    values = copy.values[column]
    known = values[np.isfinite(values)]
    if not len(known):
        return column, ABSENT, 0.0
    if copy.categorical[column]:
        return column, EQUAL, float(rng.choice(np.unique(known)))
    return column, int(rng.choice([AT_MOST, AT_LEAST])), float(rng.uniform(known.min(), known.max()))


def _holds(values: Floats, says: int, value: float) -> Booleans:
    if says == ABSENT:
        return np.isnan(values)
    if says == EQUAL:
        return np.asarray(values == value)
    return np.asarray(values <= value if says == AT_MOST else values >= value)


def isolating(counts: Codes, size: int, sample: int) -> Floats:
    """Return the probability that a predicate true of ``counts`` of ``size`` records is true of one in a sample.

    Hypergeometric: Pr(exactly one of the c records is among m drawn without replacement from n) =
    c · m/n · Π_{j=1}^{c−1} (n − m − j + 1)/(n − j). So files of unequal size are compared at the smaller size without
    drawing.
    """
    from scipy.stats import hypergeom

    if sample >= size:
        return np.asarray(counts == 1, dtype=np.float64)
    return np.asarray(hypergeom.pmf(1, size, counts, sample), dtype=np.float64)


ATTACKS = 500
COLUMNS = 3


def evaluate_singling(
    comparison: Comparison,
    *,
    holdout: pd.DataFrame | None = None,
    attacks: int = ATTACKS,
    size: int = COLUMNS,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Make predicates that isolate rows of the copies and see whether they isolate persons.

    The intruder holds the copies and nothing else. ``univariate``: they take values of one column that occur once, the
    only missing value, the extremes. ``multivariate``: they take a row and some of its values. A predicate true of
    exactly one original record singles that person out. Rare values isolate somebody in any file of that size, so
    the same predicates are tried on people who are not in the data.

    Returns
    -------
    dict
        For each kind: ``attacks`` (predicates found, which may be fewer than asked for; rates are per predicate
        found), ``attack`` (success in the original), ``baseline`` (blind predicates), and with a holdout ``matched``
        (success at the size of the smaller of both files), ``control`` (the same in the holdout) and ``risk``,
        (matched − control)/(1 − control). ``better_than_blind`` says whether the attack is one at all.

    Raises
    ------
    InputError
        If there is no copy, or a file lacks a column.

    Notes
    -----
    O(attacks · n · columns), at most 20 times that while predicates are drawn. A file's size matters: fewer records
    are easier to be alone in. Success at the smaller size m is the exact expectation over random subsets of m records
    (hypergeometric), not a fitted curve as in the reference.

    References
    ----------
    Giomi, Boenisch, Wehmeyer and Tasnádi (2023), A unified framework for quantifying privacy risk in synthetic data,
    PoPETs 2023(2), 312-328; Cohen and Nissim (2020), PNAS 117(15), 8344-8352.
    """
    columns = [column for column in comparison.schema.columns if column.design != "cluster"]
    require_copies(comparison.copies, columns, "singling")
    outside = None if holdout is None else require_outsiders(holdout, columns, "singling")
    frames = [comparison.original, *comparison.copies, *([] if outside is None else [outside])]
    tables = tabulate(frames, columns)
    original, copies = tables[0], tables[1 : 1 + len(comparison.copies)]
    control = None if outside is None else tables[-1]
    share = -(-attacks // len(copies))
    single = [predicate for copy in copies for predicate in _some(univariate(copy), share, rng)]
    several = [predicate for copy in copies for predicate in multivariate(copy, attacks=share, size=size, rng=rng)]
    found: dict[str, Any] = {
        "univariate": _judge(single[:attacks], blind(copies[0], attacks=attacks, size=1, rng=rng), original, control),
        "multivariate": _judge(
            several[:attacks], blind(copies[0], attacks=attacks, size=size, rng=rng), original, control
        ),
    }
    return found if control is not None else found | {"reason": f"risk {NO_HOLDOUT}."}


def _judge(
    predicates: list[Predicate], blindly: list[Predicate], original: Table, control: Table | None
) -> dict[str, Any]:
    attack, baseline = _success(predicates, original), _success(blindly, original)
    section: dict[str, Any] = {"attacks": len(predicates), "attack": attack, "baseline": baseline}
    section["better_than_blind"] = attack["value"] is not None and attack["value"] > baseline["value"]
    if control is not None:
        size = min(len(original), len(control))
        section["matched"] = _success(predicates, original, size)
        section["control"] = _success(predicates, control, size)
        section["risk"] = residual(section["matched"], section["control"])
    return section


def _success(predicates: list[Predicate], table: Table, size: int | None = None) -> Estimate:
    counts = np.array([table.count(predicate) for predicate in predicates], dtype=np.int64)
    return rate(isolating(counts, len(table), size or len(table)))


def _some(predicates: list[Predicate], most: int, rng: np.random.Generator) -> list[Predicate]:
    if len(predicates) <= most:
        return predicates
    return [predicates[place] for place in np.sort(rng.choice(len(predicates), most, replace=False))]
