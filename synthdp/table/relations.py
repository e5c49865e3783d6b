"""Which kept columns give a replaced column away: copies, functions, sums, and products or ratios of two others.

A kept column that is a function of a replaced one (logpopul of popul, agegr of age) tells its value, or its range,
whatever the mask hides; so does one that determines it, and one that does either together with a third column (bmi
of height and weight). A relation is *exact* when no record contradicts it and chance cannot explain that, and *near*
when the kept column is a copy up to little noise.

Notes
-----
Chance: a column in which most values occur once determines every other column. So a function x -> y counts when the
repeated values of x agree on y although pairs of records taken at random would not (probability under 1e-9), or when
sorting by x brings equal y together (the chance of that is L! Π nₗ! / n! for L values of y that nₗ records have). The
search looks at 2,000 records first and at all of them only where those show no contradiction: O(n log n) per pair.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import gammaln

from synthdp.table.microdata import Codes, Floats, Microdata
from synthdp.table.schema import Column, Schema

RelationKind = Literal["monotone", "coarsening", "function", "determines", "formula", "near-copy", "tells"]

FEWEST_RECORDS = 30
NEAR_R2 = 0.99


@dataclass(frozen=True)
class Relation:
    """A kept column, what it gives away, and how.

    Parameters
    ----------
    kind
        ``monotone`` (the same order), ``coarsening`` (ranges of it), ``function`` (any function of it),
        ``determines`` (the replaced column is a function of the kept one), ``formula`` (a product, ratio or sum of
        several columns), ``near-copy``, or ``tells`` (see :mod:`synthdp.table.telling`).
    kept, replaced
        The columns; ``replaced`` may name two, of which one at least is replaced.
    beside, share
        For ``tells``: the other kept column that is needed, if any, and the share of records that are told.
    """

    kind: RelationKind
    kept: str
    replaced: tuple[str, ...]
    beside: tuple[str, ...] = ()
    share: float | None = None

    @property
    def exact(self) -> bool:
        """Whether no record contradicts it."""
        return self.kind not in ("near-copy", "tells")

    @property
    def told(self) -> str:
        """What the column tells, with which other, and of how many records."""
        with_it = f"together with {' and '.join(self.beside)} " if self.beside else ""
        return f"{with_it}it tells {' and '.join(self.replaced)} for {self.share or 0:.0%} of the records"

    @property
    def sentence(self) -> str:
        """What is the matter, and what to do."""
        names = " and ".join(self.replaced)
        what = {
            "monotone": f"it is a function of {names}",
            "coarsening": f"it is a coarsening (a function) of {names}",
            "function": f"it is a function of {names}",
            "determines": f"it determines {names}",
            "formula": f"it is a function of {names}",
            "near-copy": f"it is nearly a copy of {names}",
            "tells": self.told,
        }[self.kind]
        which = "which is replaced" if len(self.replaced) == 1 else "of which one at least is replaced"
        cure = "replace it too, set role: drop"
        cure += ", or derived: with its formula." if self.kind not in ("determines", "near-copy", "tells") else "."
        return f"variables.{self.kept}: kept, but {what}, {which}: it would undo the mask; {cure}"


@dataclass(frozen=True, repr=False)
class Values:
    """A column as ranks of its distinct values (-1 for missing) and, where it has numbers, as those."""

    ranks: Codes
    numbers: Floats | None
    ordered: bool
    decimals: int | None

    @classmethod
    def of(cls, data: Microdata, column: Column) -> "Values":
        """Return a column of the data as its ranks and numbers."""
        if column.kind.categorical:
            numeric = pd.api.types.is_numeric_dtype(data.frame[column.name])
            return cls(data.codes(column.name), None, numeric or len(column.levels) == 2, None)
        numbers = data.numbers(column.name)
        ranks, _ = pd.factorize(pd.Series(numbers), sort=True)
        return cls(np.asarray(ranks, dtype=np.int64), numbers, True, column.decimals)

    def distinct(self) -> int:
        """Return how many values there are."""
        return len(np.unique(self.ranks))


def correlation(x: Floats, y: Floats) -> float:
    """Return Pearson's correlation, 0 for a constant."""
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale > 0 else 0.0


NEAR_UNIQUE = 0.9
LOG_CHANCE = math.log(1e-9)
NEAR_CORRELATION = 0.995


def relate(kept: Values, replaced: Values, screen: Codes) -> RelationKind | None:
    """Return how a kept column gives a replaced one away, or None; ``screen`` are the records looked at first."""
    both = (kept.ranks >= 0) & (replaced.ranks >= 0)
    rows = screen[both[screen]]
    if len(rows) < FEWEST_RECORDS:
        return None
    k, r = kept.ranks[rows], replaced.ranks[rows]
    if len(np.unique(k)) < 2 or len(np.unique(r)) < 2:
        return None
    of_replaced, of_kept = _agrees(r, k), _agrees(k, r)
    near = kept.ordered and replaced.ordered and abs(correlation(_ranks(k), _ranks(r))) > NEAR_CORRELATION - 0.01
    if of_replaced or of_kept or near:
        k, r = kept.ranks[both], replaced.ranks[both]
        of_replaced, of_kept = of_replaced and _agrees(r, k), of_kept and _agrees(k, r)
    if of_replaced and of_kept and kept.ordered and replaced.ordered and _monotone(k, r):
        return "monotone"
    if of_replaced and (_by_chance_contiguous(r, k) < LOG_CHANCE):
        return "coarsening"
    if of_replaced and _by_chance_agreeing(r, k) < LOG_CHANCE:
        return "function"
    if of_kept and min(_by_chance_contiguous(k, r), _by_chance_agreeing(k, r)) < LOG_CHANCE:
        return "determines"
    if near and abs(correlation(_ranks(k), _ranks(r))) > NEAR_CORRELATION:
        return "near-copy"
    if kept.numbers is not None and replaced.numbers is not None:
        x, y = kept.numbers[rows], replaced.numbers[rows]
        if correlation(x, y) ** 2 > NEAR_R2 and correlation(kept.numbers[both], replaced.numbers[both]) ** 2 > NEAR_R2:
            return "near-copy"
    return None


def _agrees(x: Codes, y: Codes) -> bool:
    """Return whether equal x always have equal y."""
    order = np.argsort(x, kind="stable")
    same = x[order][1:] == x[order][:-1]
    return not bool((same & (y[order][1:] != y[order][:-1])).any())


def _monotone(x: Codes, y: Codes) -> bool:
    """Return whether one-to-one columns have the same or the opposite order; few values do so by chance."""
    first, at = np.unique(x, return_index=True)
    steps = np.diff(y[at])
    if not (bool((steps > 0).all()) or bool((steps < 0).all())):
        return False
    arrangements = float(gammaln(len(first) + 1)) - math.log(2)
    return -arrangements < LOG_CHANCE or _by_chance_agreeing(x, y) < LOG_CHANCE


def _by_chance_agreeing(x: Codes, y: Codes) -> float:
    """Return the log chance that all repeats of x agree on y, if the two had nothing to do with each other."""
    distinct = len(np.unique(x))
    if distinct > NEAR_UNIQUE * len(x):
        return 0.0
    shares = np.unique(y, return_counts=True)[1] / len(y)
    return float((len(x) - distinct) * math.log(float((shares**2).sum())))


def _by_chance_contiguous(x: Codes, y: Codes) -> float:
    """Return the log chance that sorting by x brings equal y together, or 0 if it does not."""
    along = y[np.argsort(x, kind="stable")]
    counts = np.unique(y, return_counts=True)[1]
    if int((along[1:] != along[:-1]).sum()) != len(counts) - 1:
        return 0.0
    return float(gammaln(len(counts) + 1) + gammaln(counts + 1).sum() - gammaln(len(y) + 1))


def _ranks(codes: Codes) -> Floats:
    """Return average ranks."""
    return np.asarray(pd.Series(codes).rank(), dtype=np.float64)


EXACT_R2 = 1 - 1e-9
# rounding hides a formula only in a column that has few distinct steps
FEWEST_STEPS = 10
MOST_TRIPLES = 20_000


def formulas(
    targets: Sequence[str],
    replaced: Sequence[str],
    kept: Sequence[str],
    columns: Mapping[str, Values],
    screen: Codes,
) -> Iterator[Relation]:
    """Yield kept columns that are sums, or products and ratios of powers, of two others with a replaced one."""
    numeric = [name for name, values in columns.items() if values.numbers is not None]
    sources = [name for name in (*replaced, *kept) if name in numeric]
    triples = (
        (target, first, second)
        for target in targets
        if target in numeric
        for first in sources
        if first in replaced and first != target
        for second in sources[sources.index(first) + 1 :]
        if second != target
    )
    best: dict[frozenset[str], Relation] = {}
    for target, first, second in islice(triples, MOST_TRIPLES):
        kind = _triple(columns[target], columns[first], columns[second], screen)
        if kind is not None:
            relation = Relation(kind, target, (first, second))
            rival = best.setdefault(frozenset((target, first, second)), relation)
            # height is a function of weight and bmi too, but the one with most values is the one that was computed
            if _likeness(relation, columns) > _likeness(rival, columns):
                best[frozenset((target, first, second))] = relation
    yield from best.values()


def _likeness(relation: Relation, columns: Mapping[str, Values]) -> tuple[bool, int]:
    return relation.exact, columns[relation.kept].distinct()


def _triple(target: Values, first: Values, second: Values, screen: Codes) -> RelationKind | None:
    columns = [values.numbers for values in (target, first, second) if values.numbers is not None]
    rows = np.column_stack([column[screen] for column in columns])
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < FEWEST_RECORDS or (np.ptp(rows, axis=0) == 0).any():
        return None
    for logs in (False, True):
        if logs and (rows <= 0).any():
            continue
        if _explained(np.log(rows) if logs else rows) <= NEAR_R2:
            continue
        values = np.column_stack(columns)
        usable = values[(np.isfinite(values) & ((values > 0) | (not logs))).all(axis=1)]
        scaled = np.log(usable) if logs else usable
        share = _explained(scaled)
        if share > EXACT_R2 or _within_rounding(scaled, usable[:, 0], target.decimals, logs=logs):
            return "formula"
        if share > NEAR_R2:
            return "near-copy"
    return None


def _explained(values: Floats) -> float:
    """Return R² of the first column on the two others, or 0 when the better of them does nearly as well alone."""
    correlation = np.asarray(np.corrcoef(values, rowvar=False))
    a, b, c = correlation[0, 1], correlation[0, 2], correlation[1, 2]
    # a third column that repeats the second says nothing more
    if abs(c) > 1 - 1e-9:
        return 0.0
    together = float((a * a + b * b - 2 * a * b * c) / (1 - c * c))
    # without the first, which is replaced, the formula must fail, and without the second as well
    alone = max(float(a * a), float(b * b))
    return together if 1 - together < 0.1 * (1 - alone) else 0.0


def _within_rounding(scaled: Floats, target: Floats, decimals: int | None, *, logs: bool) -> bool:
    """Return whether the fitted formula misses the column by no more than its last decimal."""
    if decimals is None or float(target.std()) < FEWEST_STEPS * 10.0**-decimals:
        return False
    design = np.column_stack([np.ones(len(scaled)), scaled[:, 1:]])
    fitted = design @ np.linalg.lstsq(design, scaled[:, 0], rcond=None)[0]
    missed: Floats = np.abs((np.exp(fitted) if logs else fitted) - target)
    return bool(missed.max() <= 10.0**-decimals)


MOST_SCREENED = 2_000
MOST_PAIRS = 20_000


def find(
    data: Microdata, *, kept: Sequence[str] | None = None, replaced: Sequence[str] | None = None
) -> tuple[Relation, ...]:
    """Return the relations between kept and replaced columns, at most one per pair, exact ones first.

    Parameters
    ----------
    data
        The records; fewer than 30 show nothing.
    kept, replaced
        Which columns to look at, when roles are not decided yet; by default as the schema says.
    """
    schema = data.schema
    kept = [column.name for column in schema.kept()] if kept is None else kept
    replaced = [column.name for column in schema.replaced()] if replaced is None else replaced
    rows = len(data)
    if rows < FEWEST_RECORDS or not kept or not replaced:
        return ()
    screen = np.unique(np.linspace(0, rows - 1, min(rows, MOST_SCREENED)).astype(np.int64))
    columns = {name: Values.of(data, schema[name]) for name in {*kept, *replaced}}
    pairs = ((k, r) for k in kept for r in replaced if k != r)
    found = []
    for k, r in islice(pairs, MOST_PAIRS):
        kind = relate(columns[k], columns[r], screen)
        found += [Relation(kind, k, (r,))] if kind is not None else []
    known = {relation.kept for relation in found}
    found += list(formulas([k for k in kept if k not in known], replaced, kept, columns, screen))
    return tuple(sorted(found, key=lambda relation: not relation.exact))


def refused(relation: Relation, schema: Schema) -> bool:
    """Return whether a relation stops the run: exact, and not allowed by ``keep_anyway``."""
    return relation.exact and not schema[relation.kept].keep_anyway
