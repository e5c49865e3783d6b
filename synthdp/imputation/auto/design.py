"""What the regressions of this engine see: kept columns, products of them that help, and the columns drawn before."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.table.schema import Column

FEWEST = 10
MOST_LEVELS = 12
MOST_PRODUCTS = 8
MOST_TERMS = 24
MOST_FACTORS = 24
MOST_ROWS = 20_000


@dataclass(frozen=True, repr=False)
class Encoding:
    """How a column that was drawn before enters: a score and its square, or frequent levels; and whether it is missing.

    Parameters
    ----------
    levels
        The levels that have an indicator; None for a number.
    gaps
        Whether there is an indicator of missing values.
    """

    levels: Codes | None
    gaps: bool

    @classmethod
    def of(cls, column: Column, x: Floats) -> "Encoding":
        """Return the encoding of a column; the most frequent level, and rare ones, are the constant."""
        present = np.isfinite(x)
        levels: Codes | None = None
        if column.kind.categorical:
            counts = np.bincount(x[present].astype(np.int64), minlength=len(column.levels))
            frequent = np.argsort(-counts, kind="stable")[1 : 1 + MOST_LEVELS]
            levels = np.asarray(frequent[counts[frequent] >= FEWEST], dtype=np.int64)
        return cls(levels, int((~present).sum()) >= FEWEST)

    @property
    def width(self) -> int:
        """How many columns."""
        return (2 if self.levels is None else len(self.levels)) + self.gaps

    def columns(self, x: Floats) -> Floats:
        """Return one row of predictors for each value; missing is NaN."""
        missing = np.isnan(x)
        if self.levels is None:
            known = np.where(missing, 0.0, x)
            found = np.column_stack([known, np.where(missing, 0.0, (known**2 - 1) / np.sqrt(2))])
        else:
            found = np.asarray(x[:, None] == self.levels, dtype=np.float64)
        return np.column_stack([found, missing.astype(np.float64)]) if self.gaps else found


Pairs = tuple[tuple[int, int], ...]


def products(matrix: Floats, pairs: Pairs) -> Floats:
    """Return the predictors with the products of some of them beside."""
    if not pairs:
        return matrix
    return np.column_stack([matrix, *(matrix[:, a] * matrix[:, b] for a, b in pairs)])


def choose_products(matrix: Floats, residuals: Sequence[Floats], *, rng: np.random.Generator) -> Pairs:
    """Return the pairs of predictors whose products say something that the predictors alone do not.

    Parameters
    ----------
    matrix
        The predictors, the constant first.
    residuals
        What the predictors leave of the response, or of each indicator of its levels.

    Notes
    -----
    A product enters where its squared t statistic, after the predictors, exceeds 2 log(candidates) + 4: a false one
    then enters in few files. Where a group has a slope of its own it may have others: all products with it enter.
    Cost O(n · d²), from at most 20,000 records.
    """
    n, d = matrix.shape
    rows = np.arange(n) if n <= MOST_ROWS else rng.choice(n, MOST_ROWS, replace=False)
    part = matrix[rows]
    spread = part.std(axis=0)
    factors = np.argsort(-_strength(part, [r[rows] for r in residuals]), kind="stable")
    factors = np.sort([f for f in factors if f > 0 and spread[f] > 0][:MOST_FACTORS])
    indicator: Booleans = np.asarray(np.isin(part, (0.0, 1.0)).all(axis=0))
    # the square of an indicator is the indicator
    pairs = [(int(a), int(b)) for i, a in enumerate(factors) for b in factors[i:] if a != b or not indicator[a]]
    if not pairs or len(rows) < 5 * (d + 10):
        return ()
    basis, _ = np.linalg.qr(part)
    made = np.column_stack([part[:, a] * part[:, b] for a, b in pairs])
    made -= basis @ (basis.T @ made)
    length = np.sqrt((made**2).sum(axis=0))
    usable = length > 1e-3 * np.sqrt(len(rows))
    bound = 2 * np.log(len(pairs)) + 4
    chosen: list[tuple[int, int]] = []
    for response in residuals:
        left = response[rows] - basis @ (basis.T @ response[rows])
        for _ in range(MOST_PRODUCTS):
            t = np.where(usable, (made.T @ left) / np.where(usable, length, 1.0), 0.0) / max(float(left.std()), 1e-12)
            best = int(np.argmax(np.abs(t)))
            if t[best] ** 2 <= bound or len(chosen) >= MOST_PRODUCTS:
                break
            chosen.append(pairs[best])
            usable[best] = False
            direction = made[:, best] / length[best]
            left = left - direction * (direction @ left)
    return _with_groups(indicator, chosen)


def _with_groups(indicator: Booleans, chosen: list[tuple[int, int]]) -> Pairs:
    """Return the pairs, and with each indicator among them its products with all numbers."""
    whole = [j for j in range(1, len(indicator)) if not indicator[j]]
    found = dict.fromkeys(chosen)
    for a, b in chosen:
        for group in {a, b}:
            if indicator[group]:
                found.update(dict.fromkeys((min(group, j), max(group, j)) for j in whole))
    return tuple(found)[:MOST_TERMS]


def _strength(matrix: Floats, residuals: Sequence[Floats]) -> Floats:
    """Return how much the size of each predictor goes with what is left: where to look for products first."""
    size = np.abs(np.stack(residuals)).sum(axis=0)
    size = size - size.mean()
    centred = matrix - matrix.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=0))
    return np.asarray(np.abs(centred.T @ size) / np.where(scale > 0, scale, 1.0))


def known_rows(x: Floats, applies: Booleans | None) -> Codes:
    """Return the records that have a value where the column applies."""
    present = np.isfinite(x)
    return np.flatnonzero(present if applies is None else present & applies)
