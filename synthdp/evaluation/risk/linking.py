"""The intruder who must find out which rows of the copies belong together, by the columns that were kept."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from synthdp.errors import InputError
from synthdp.evaluation.combinations import combine, require_columns
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.identity import IdentityRisk, attack_by_matching, refuse_without_keys
from synthdp.table.microdata import Codes
from synthdp.table.schema import Column
from synthdp.tagging.neighbours import average

NAME = "identity_linked"


def evaluate_linked(comparison: Comparison, *, rng: np.random.Generator, permutations: int = 200) -> IdentityRisk:
    """Attack the copies by linking their rows through the kept columns, averaging what was linked, and matching.

    The intruder holds all copies, their rows in any order, and the true keys of a target. Rows of different copies
    that agree on every kept column (missing agrees with missing) may belong to one person; where several do, the
    intruder pairs them at random. Each row of the first copy is averaged with the rows linked to it, and the result is
    matched as one file. Pointing at the row of the first copy that was made from the target is success.

    Where no two records agree on the kept columns this is ``identity_averaged``; where all do, it averages strangers.

    Parameters
    ----------
    comparison
        Copies whose kept columns are those of the original. Where rows are not aligned, a row is taken for a record
        with the same kept values, at random among several: the risk of records that are not unique on the kept
        columns is then understated.
    rng
        For the pairing among ties, and the permutations behind the chance level.

    Raises
    ------
    InputError
        If there is no key or no copy, if the kept columns of a copy are not those of the original, or if rows are not
        aligned and no record is alone on the kept columns: then nobody's row is known.

    Notes
    -----
    Sorting on coded kept columns: O(M n log n).

    Examples
    --------
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> frame = pd.DataFrame({"town": ["A", "B", "C"], "age": [20.0, 40.0, 60.0]})
    >>> data = resolve(frame, {"age": Variable(role="replace", key=True, tolerance=2)})
    >>> shuffled = tuple(frame.assign(age=frame["age"] + e).iloc[::-1].reset_index(drop=True) for e in (-5.0, 5.0))
    >>> files = Comparison(data.frame, shuffled, data.schema, aligned=False)
    >>> evaluate_linked(files, rng=np.random.default_rng(1)).true_match
    3
    """
    refuse_without_keys(comparison, NAME)
    _refuse_untold(comparison)
    averaged = linked_file(comparison, comparison.schema.keys(), rng=rng)
    return attack_by_matching(replace(comparison, aligned=True), [averaged], rng=rng, permutations=permutations)


def linked_file(comparison: Comparison, keys: Sequence[Column], *, rng: np.random.Generator) -> pd.DataFrame:
    """Return the file the intruder makes: each row of the first copy averaged with those linked to it, keys only."""
    labels = _labels(comparison)
    first, *others = labels[1:]
    base = np.arange(len(first)) if comparison.aligned else _pair(labels[0], first, rng)
    linked = [comparison.copies[0].iloc[base]]
    for copy, label in zip(comparison.copies[1:], others, strict=True):
        linked.append(copy.iloc[_pair(first[base], label, rng)])
    plain = [frame.reset_index(drop=True) for frame in linked]
    return average(plain, keys)


def line_up(comparison: Comparison, *, rng: np.random.Generator) -> Comparison:
    """Return the copies with each row where a record with the same kept values is, at random among several.

    Raises
    ------
    InputError
        If the kept columns of a copy are not those of the original.
    """
    original, *others = _labels(comparison)
    copies = [
        copy.iloc[_pair(original, label, rng)].reset_index(drop=True)
        for copy, label in zip(comparison.copies, others, strict=True)
    ]
    return replace(comparison, copies=tuple(copies), aligned=True)


def _labels(comparison: Comparison) -> Sequence[Codes]:
    """Return which combination of kept values each row has, in the original and in every copy."""
    kept = comparison.schema.kept()
    require_columns(comparison.copies, kept, NAME, which="kept")
    if all(copy[column.name].equals(comparison.original[column.name]) for column in kept for copy in comparison.copies):
        # nothing but the original has to be read, and one column without equal values tells everybody apart
        if any(_all_differ(comparison.original[column.name], column) for column in kept):
            return (np.arange(len(comparison.original)),) * (1 + len(comparison.copies))
        return (*combine([comparison.original], kept, exact=True),) * (1 + len(comparison.copies))
    # kept means unchanged: anything but equality would link people who differ
    labels = combine([comparison.original, *comparison.copies], kept, exact=True)
    wanted = np.bincount(labels[0])
    for number, label in enumerate(labels[1:], start=1):
        if not np.array_equal(np.bincount(label), wanted):
            raise InputError(
                f"{NAME}: the kept columns of copy {number} are not those of the original, so its rows cannot be "
                "linked through them; leave this attack out for files that replace every column."
            )
    return labels


def _refuse_untold(comparison: Comparison) -> None:
    """Refuse to point at rows that are nobody's for certain: a guess that hardly hits would pass for a small risk."""
    if not comparison.aligned and not (np.bincount(_labels(comparison)[0]) == 1).any():
        raise InputError(
            f"{NAME}: rows are not aligned and no record is alone on the kept columns, so nobody's row is known; set "
            "evaluation.rows to aligned or to a file with the row order."
        )


def _all_differ(series: pd.Series, column: Column) -> bool:
    return not column.kind.categorical and len(series) > 0 and bool(series.notna().all()) and bool(series.is_unique)


def _pair(here: Codes, there: Codes, rng: np.random.Generator) -> Codes:
    """Return for each row here a row there with the same label, at random among several, no row twice."""
    ties_here, ties_there = rng.random(len(here)), rng.random(len(there))
    everyone = np.arange(len(here))
    if np.array_equal(here, everyone) and np.array_equal(there, everyone):
        return everyone
    order_here, order_there = np.lexsort((ties_here, here)), np.lexsort((ties_there, there))
    paired = np.empty(len(here), dtype=np.int64)
    paired[order_here] = order_there
    return paired
