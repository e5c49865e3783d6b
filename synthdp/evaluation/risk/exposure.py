"""Exposure of the kept columns: who can be told from everybody else by values that are released as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from synthdp.evaluation.combinations import Booleans, classes, merge
from synthdp.evaluation.comparison import Comparison
from synthdp.microdata import Codes, Floats
from synthdp.schema import Column

LARGEST_SUBSET = 3
MOST_SUBSETS = 2000


@dataclass(frozen=True, repr=False)
class Exposure:
    """How many records are alone with their kept values.

    The intruder holds some kept columns of a target, to the digit, and looks them up in a copy, where they stand
    unchanged. Success is a single row: everything else in it is then said of the target, and that the target is in
    the file is known. No mask protects against this; only coarser, replaced or dropped columns do.

    Parameters
    ----------
    columns
        The kept columns Z.
    unique
        Which records are unique on all of Z; confidential, not part of :meth:`section`.
    knowable
        The kept columns that are marked as keys: what an intruder may know.
    subsets
        For every subset of them of up to ``largest`` columns the number and share of records that are unique on it.
    unique_on_some
        By size, which records are unique on at least one subset of at most that size.
    largest
        Of the subsets looked at; smaller than asked where there are more than 2000 subsets.
    alone
        Which records are alone on all kept columns together that are declared ``key: true``: found with certainty.
    alone_undecided
        The same with the columns that count as keys because nobody has decided
        (:func:`synthdp.evaluation.risk.undecided.with_undecided_as_keys`).
    """

    columns: tuple[str, ...]
    unique: Booleans
    knowable: tuple[str, ...]
    subsets: tuple[dict[str, Any], ...]
    unique_on_some: tuple[Booleans, ...]
    largest: int
    alone: Booleans
    alone_undecided: Booleans

    @property
    def individual(self) -> Floats:
        """1 for who is alone on the kept keys, undecided ones included, and 0 for everybody else."""
        return self.alone_undecided.astype(np.float64)

    @property
    def true_match_mask(self) -> Booleans:
        """Who is found: the only row with the kept keys of a record is its own."""
        return self.alone_undecided

    def __repr__(self) -> str:
        return f"Exposure({len(self.unique)} records, {len(self.subsets)} subsets)"

    def section(self) -> dict[str, Any]:
        """Return the section of metrics.json: numbers about the file, none about a record."""
        return {
            "columns": list(self.columns),
            "unique": int(self.unique.sum()),
            "unique_rate": float(self.unique.mean()),
            "alone": int(self.alone.sum()),
            "alone_rate": float(self.alone.mean()),
            "alone_undecided": int(self.alone_undecided.sum()),
            "knowable": list(self.knowable),
            "largest_subset": self.largest,
            "subsets": [dict(line) for line in self.subsets],
            "unique_on_some": [
                {"size": size, "unique": int(found.sum()), "unique_rate": float(found.mean())}
                for size, found in enumerate(self.unique_on_some, start=1)
            ],
        }


def evaluate_exposure(comparison: Comparison, *, size: int = LARGEST_SUBSET) -> Exposure:
    """Count the records that are unique on the kept columns, and on every small subset of the knowable ones.

    Notes
    -----
    O(n) for each subset; with k knowable columns there are C(k, 1) + … + C(k, size) of them. Missing is a value.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.microdata import resolve
    >>> from synthdp.schema import Variable
    >>> frame = pd.DataFrame({"sex": list("FFMM"), "region": list("NNNS"), "income": [1, 2, 3, 4]})
    >>> keys = {"sex": Variable(key=True), "region": Variable(key=True), "income": Variable(role="replace")}
    >>> data = resolve(frame, keys)
    >>> found = evaluate_exposure(Comparison(data.frame, (), data.schema, aligned=True))
    >>> found.section()["unique"], [(line["columns"], line["unique"]) for line in found.subsets]
    (2, [(['sex'], 0), (['region'], 1), (['sex', 'region'], 2)])
    >>> found.section()["alone"], found.individual.tolist()
    (2, [0.0, 0.0, 1.0, 1.0])
    """
    kept = comparison.schema.kept()
    knowable = [column for column in kept if column.key]
    coded = {column.name: _codes(comparison, column) for column in kept}
    n = len(comparison.original)
    largest = min(size, len(knowable))
    while largest > 1 and sum(comb(len(knowable), one) for one in range(1, largest + 1)) > MOST_SUBSETS:
        largest -= 1
    subsets: list[dict[str, Any]] = []
    some: list[Booleans] = []
    reached = np.zeros(n, dtype=np.bool_)
    for number in range(1, largest + 1):
        for chosen in combinations(knowable, number):
            together = coded[chosen[0].name]
            for column in chosen[1:]:
                together = merge(together, coded[column.name])
            alone = _alone(together)
            reached = reached | alone
            names = [column.name for column in chosen]
            subsets.append({"columns": names, "unique": int(alone.sum()), "unique_rate": float(alone.mean())})
        some.append(reached)
    return Exposure(
        columns=tuple(column.name for column in kept),
        unique=_alone_on(kept, coded, n),
        knowable=tuple(column.name for column in knowable),
        subsets=tuple(subsets),
        unique_on_some=tuple(some),
        largest=largest,
        alone=_alone_on([column for column in knowable if column.key_decided], coded, n),
        alone_undecided=_alone_on(knowable, coded, n),
    )


def _codes(comparison: Comparison, column: Column) -> Codes:
    return classes([comparison.original[column.name]], column, exact=True)[0]


def _alone_on(columns: Sequence[Column], coded: Mapping[str, Codes], n: int) -> Booleans:
    """Return who is alone on all of several columns; on none, nobody is."""
    joint = np.zeros(n, dtype=np.int64)
    for column in columns:
        joint = merge(joint, coded[column.name])
    return _alone(joint) if columns else np.zeros(n, dtype=np.bool_)


def _alone(together: Codes) -> Booleans:
    return np.asarray(np.bincount(together)[together] == 1, dtype=np.bool_)
