"""Kept columns that are sums, or products and ratios of powers, of two others."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from synthdp.microdata import Codes, Floats
from synthdp.relations.values import FEWEST_RECORDS, NEAR_R2, Relation, RelationKind, Values

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
