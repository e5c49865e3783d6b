"""How strongly a replaced column of levels goes with another column, as one total of the file for each such pair.

With another replaced column of levels b, and with a kept column z on its own scale,

    Σ_i s(a_i, b_i),    s(a, b) = log (n_ab + ½) / (n_a n_b / n + ½)
    Σ_i m(a_i) z_i,     m(a) = (Σ_{a_i = a} z_i) / (n_a + 1),  less their mean over the records

Priors draw what a column of many levels has to do with others towards nothing, every level by much the same share, and
in a small file there are fewer places for totals than levels. One number that tilts all records' paths along s or m
gives the relation the strength it has in the file. Everybody makes up such a total.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synthdp.arrays import Booleans, Codes, Floats

# of so many levels and pairs of levels on; with so many records to each they have totals of their own
LEVELS, TO_A_LEVEL = 8, 100
PAIRS, TO_A_PAIR = 64, 50
# pairs of levels that are looked at, at most
MOST_PAIRS = 10_000


@dataclass(frozen=True, repr=False)
class Strength:
    """What is totalled: s of two columns, or m of one; ``kept`` is what it is multiplied by, 0 for the constant."""

    columns: tuple[str, ...]
    table: Floats
    kept: int = 0

    def at(self, values: Mapping[str, Floats]) -> Floats:
        """Return it where the columns have these values: 0 where one is missing."""
        known = np.logical_and.reduce([np.isfinite(values[name]) for name in self.columns])
        found = self.table[tuple(_positions(values[name], known) for name in self.columns)]
        return np.where(known, found, 0.0)


def _positions(values: Floats, known: Booleans) -> Codes:
    return np.where(known, values, 0.0).astype(np.int64)


def strengths(values: Mapping[str, Floats], levels: Mapping[str, int], kept: Floats) -> tuple[Strength, ...]:
    """Return those of all pairs that have too few records for totals of their own.

    Parameters
    ----------
    values, levels
        The replaced columns of levels: positions, and how many levels there are.
    kept
        The kept columns, the constant first.
    """
    n, names = len(kept), list(levels)
    return (
        *(
            _together(first, second, values, (levels[first], levels[second]))
            for place, first in enumerate(names)
            for second in names[place + 1 :]
            if n < TO_A_PAIR * (pairs := levels[first] * levels[second]) and PAIRS <= pairs <= MOST_PAIRS
        ),
        *(
            _beside(name, values[name], levels[name], kept[:, k], k)
            for name in names
            if n < TO_A_LEVEL * levels[name] and levels[name] >= LEVELS
            for k in range(1, kept.shape[1])
        ),
    )


def _together(first: str, second: str, values: Mapping[str, Floats], shape: tuple[int, int]) -> Strength:
    a, b = values[first], values[second]
    both = np.isfinite(a) & np.isfinite(b)
    pairs = a[both].astype(np.int64) * shape[1] + b[both].astype(np.int64)
    seen = np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape)
    by_chance = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / max(seen.sum(), 1)
    return Strength((first, second), np.log((seen + 0.5) / (by_chance + 0.5)))


def _beside(name: str, a: Floats, levels: int, z: Floats, kept: int) -> Strength:
    known = np.isfinite(a)
    codes = a[known].astype(np.int64)
    mean = np.bincount(codes, weights=z[known], minlength=levels) / (np.bincount(codes, minlength=levels) + 1.0)
    return Strength((name,), mean - (mean[codes].mean() if len(codes) else 0.0), kept)


def equals(held: Floats, found: Sequence[Strength], kept: Floats) -> tuple[Floats, ...]:
    """Return of how many equal records each total could be made up; 0 beside every other kept column."""
    sizes = []
    for x, one in zip(held.T, found, strict=True):
        size = np.zeros((1, kept.shape[1]))
        terms = np.abs(x * kept[:, one.kept])
        size[0, one.kept] = terms.sum() ** 2 / max(float((terms**2).sum()), 1e-300)
        sizes.append(size)
    return tuple(sizes)
