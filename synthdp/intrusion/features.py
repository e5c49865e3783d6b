"""The keys an intruder holds and what rows of copies show, as numbers a posterior can be learnt from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synthdp import expressions
from synthdp.links import Link
from synthdp.microdata import MISSING, Codes, Floats, Microdata, codes, numbers
from synthdp.schema import Column, Role

MOST_LEVELS = 30


@dataclass(frozen=True, repr=False)
class Key:
    """A key that is not released as it is: true values, and the columns by which they predict other keys.

    ``values`` are positions of levels (−1 where missing) or numbers on the working scale (NaN where missing);
    ``levels`` is 0 for a number.
    """

    values: Floats
    columns: Floats
    levels: int

    def __repr__(self) -> str:
        return f"Key({len(self.values)} records)"


def keys_of(data: Microdata) -> tuple[Key, ...]:
    """Return the keys that copies may change, categorical ones first; those that follow from other keys left out."""
    names = {column.name for column in data.schema.keys()}
    found = []
    for column in data.schema.keys():
        follows = column.role is Role.DERIVED and expressions.names(str(column.derived)) <= names
        if column.role is Role.KEEP or follows or data.frame[column.name].nunique() < 2:
            continue
        if column.kind.categorical:
            levels, merged = _merged(data.codes(column.name))
            columns = (merged[:, None] == np.arange(1, levels)).astype(np.float64)
            found.append(Key(merged.astype(np.float64), columns, levels))
        else:
            values = Link.of(data, column.name).forward(data.numbers(column.name))
            found.append(Key(values, np.nan_to_num(values)[:, None], 0))
    return tuple(sorted(found, key=lambda key: not key.levels))


def _merged(positions: Codes) -> tuple[int, Codes]:
    """Return how many levels there are and which each record has, the rarest ones one where there are too many."""
    present = positions[positions != MISSING]
    by_size = np.argsort(-np.bincount(present, minlength=1), kind="stable")
    rank = np.empty(len(by_size), dtype=np.int64)
    rank[by_size] = np.minimum(np.arange(len(by_size)), MOST_LEVELS - 1)
    return int(rank.max()) + 1, np.where(positions == MISSING, MISSING, rank[positions])


def shown_by(copies: Sequence[pd.DataFrame], data: Microdata, rows: Codes | None = None) -> Floats:
    """Return what copies show of the replaced columns, side by side: means, shares of levels and of missing values.

    Parameters
    ----------
    rows
        Only these; all by default.
    """
    copies = copies if rows is None else [copy.iloc[rows] for copy in copies]
    parts = [np.empty((len(data) if rows is None else len(rows), 0))]
    for column in data.schema.replaced():
        if column.kind.categorical:
            parts.append(_shares(copies, column, data))
            continue
        link = Link.of(data, column.name)
        values = np.stack([link.forward(numbers(copy[column.name], column)) for copy in copies])
        present = np.isfinite(values)
        mean = np.where(present, values, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
        parts.append(np.column_stack([mean, 1 - present.mean(axis=0)]))
    return np.hstack(parts)


def _shares(copies: Sequence[pd.DataFrame], column: Column, data: Microdata) -> Floats:
    frequent = np.argsort(-np.bincount(data.codes(column.name) + 1, minlength=len(column.levels) + 1), kind="stable")
    # the most frequent one is left out, for shares sum to one
    wanted = frequent[1 : MOST_LEVELS + 1] - 1
    share = np.zeros((len(copies[0]), len(wanted)))
    for copy in copies:
        share += codes(copy[column.name], column)[:, None] == wanted
    return share / len(copies)
