"""What a released row says about one key of the person behind it, learnt from pairs of keys and rows.

A copy whose value lies where masks are narrow was most likely drawn under the narrow mask, and says much; the same
record may lie elsewhere in another copy. So rows are of one class if all their copies lie in the same group, or do not,
and got the same mask. One law for all would take narrow and wide errors for one normal error of a spread between them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.stages.logit_fit import fit_logit
from synthdp.synthesis.plan import Plan
from synthdp.table import expressions
from synthdp.table.coded import MISSING, Coded, coded
from synthdp.table.links import Link
from synthdp.table.microdata import Microdata
from synthdp.table.schema import Column, Role

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
    files = [coded(copy) if rows is None else coded(copy).take(rows) for copy in copies]
    parts = [np.empty((len(data) if rows is None else len(rows), 0))]
    for column in data.schema.replaced():
        if column.kind.categorical:
            parts.append(_shares(files, column, data))
            continue
        link = Link.of(data, column.name)
        values = np.stack([link.forward(file.numbers(column)) for file in files])
        present = np.isfinite(values)
        mean = np.where(present, values, 0.0).sum(axis=0) / np.maximum(present.sum(axis=0), 1)
        parts.append(np.column_stack([mean, 1 - present.mean(axis=0)]))
    return np.hstack(parts)


def _shares(files: Sequence[Coded], column: Column, data: Microdata) -> Floats:
    frequent = np.argsort(-np.bincount(data.codes(column.name) + 1, minlength=len(column.levels) + 1), kind="stable")
    # the most frequent one is left out, for shares sum to one
    wanted = frequent[1 : MOST_LEVELS + 1] - 1
    share = np.zeros((len(files[0]), len(wanted)))
    for file in files:
        share += file.codes(column)[:, None] == wanted
    return share / len(files)


# a class with fewer pairs is learnt from those that show the same, and if they are few, from everybody
SMALLEST_CLASS = 200


def classes_of(plan: Plan, copies: Sequence[pd.DataFrame], rows: Codes | None = None) -> Codes:
    """Return the class of every row: which mask it got, and in which group all its copies lie, if in one."""
    whole, tags = plan.released, plan.tags
    own = tags.labels.cat.codes.to_numpy(dtype=np.int64)
    count = len(tags.labels.cat.categories)
    voted = np.zeros((len(own), count), dtype=np.int64)
    for copy in copies:
        said = tags.again(Microdata(copy.reset_index(drop=True), whole.schema)).labels.cat.codes.to_numpy()
        voted[np.arange(len(own)), said] += 1
    agreed = np.where(voted.max(axis=1) == len(copies), voted.argmax(axis=1), count)
    found = own * (count + 1) + agreed
    return np.asarray(found if rows is None else found[rows], dtype=np.int64)


def told_apart(plan: Plan, classes: Sequence[Codes]) -> tuple[Codes, list[Booleans]]:
    """Return the law of every class, and from which pairs of a record and a row each law is learnt.

    Parameters
    ----------
    classes
        Of the same records, once for every time the copies were made.
    """
    pairs = np.concatenate(classes)
    kinds = len(plan.tags.labels.cat.categories) + 1
    everybody = np.ones(len(pairs), dtype=np.bool_)
    teachers, places = [everybody], np.zeros((kinds - 1) * kinds, dtype=np.int64)
    for agreed in range(kinds):
        alike = pairs % kinds == agreed
        if alike.sum() >= SMALLEST_CLASS:
            places[agreed::kinds] = len(teachers)
            teachers.append(alike)
        for place in range(agreed, len(places), kinds):
            if np.sum(pairs == place) >= SMALLEST_CLASS:
                places[place] = len(teachers)
                teachers.append(pairs == place)
    return places, teachers


# a logit is learnt from no more pairs than this
MOST_PAIRS = 20_000
# how many pairs the prior of a logit's slopes is worth, against a slope of one
WEAK = 10.0
# relative to a standard deviation of one: below it, errors are rounding
SMALLEST_SD = 1e-6
PENALTIES = (1e-6, 1.0, 30.0, 1000.0)


class Law(Protocol):
    """The density of a key given the keys before it and a row."""

    def read(self, shown: Floats) -> Floats:
        """Return all that this law takes from rows, worked out once for many targets; ``shown`` has shape (rows, p)."""

    def log_density(self, x: Floats, known: Floats, read: Floats) -> Floats:
        """Return log p(x_i | known_i, row r), shape (targets, rows); zero where x is missing.

        Parameters
        ----------
        x
            The key of the targets; positions of levels for a categorical one.
        known
            Their keys before this one, shape (targets, j).
        read
            What :meth:`read` returned for the rows.
        """


@dataclass(frozen=True, repr=False)
class Line:
    """A numeric key: x = known · γ + shown · β + e, with e normal of one standard deviation."""

    known: Floats
    shown: Floats
    sd: float

    def __repr__(self) -> str:
        return f"Line({len(self.shown)} features)"

    def read(self, shown: Floats) -> Floats:
        """Return shown · β, in standard deviations of e."""
        return np.asarray(shown @ self.shown / self.sd)

    def log_density(self, x: Floats, known: Floats, read: Floats) -> Floats:
        """Return log p(x | known, row) but for the constant of the normal."""
        here = (x - known @ self.known) / self.sd
        found = here[:, None] - read[None, :]
        found *= found
        found *= -0.5
        found -= np.log(self.sd)
        found[np.isnan(here)] = 0.0
        return found


@dataclass(frozen=True, repr=False)
class Logit:
    """A categorical key: Pr(level l) ∝ exp(c_l + known · γ_l + shown · β_l), mixed with a little of its frequency.

    The mixture, one pair's worth, keeps a level that was never seen with such rows possible.
    """

    constant: Floats
    known: Floats
    shown: Floats
    frequency: Floats
    share: float

    def __repr__(self) -> str:
        return f"Logit({len(self.frequency)} levels)"

    def read(self, shown: Floats) -> Floats:
        """Return exp(c + shown · β) by level, against the largest of the row; shape (rows, levels)."""
        scores = shown @ self.shown.T + self.constant
        return np.asarray(np.exp(scores - scores.max(axis=1, keepdims=True)))

    def log_density(self, x: Floats, known: Floats, read: Floats) -> Floats:
        """Return log Pr(x | known, row)."""
        found = self.density(x, known, read)
        np.log(found, out=found)
        return found

    def density(self, x: Floats, known: Floats, read: Floats) -> Floats:
        """Return Pr(x | known, row)."""
        weight = known @ self.known.T
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        missing = x == MISSING
        level = np.where(missing, 0, x).astype(np.int64)
        found: Floats = weight[np.arange(len(x)), level][:, None] * read.T[level]
        # all weights may be on levels that the row rules out; the mixture then speaks alone
        found /= np.maximum(weight @ read.T, np.finfo(np.float64).tiny)
        found *= 1 - self.share
        found += self.share * self.frequency[level][:, None]
        found[missing] = 1.0
        return found


def lines(x: Floats, known: Floats, shown: Sequence[Floats], folds: Codes, *, parts: int) -> tuple[Law, ...]:
    """Learn a numeric key's law for every fold, each without its own records.

    Parameters
    ----------
    x, known
        Of the records, NaN where x is missing.
    shown
        What rows made from these records show, once for every time the copies were made; the first column is one.
    folds, parts
        Of the records, and how many folds there are.

    Notes
    -----
    Ridge regression; the penalty is the one under which records are predicted best by other folds, and the standard
    deviation is that of these predictions. O(T n p²) for T makings.
    """
    present = np.isfinite(x)
    pairs = [np.hstack([known, made])[present] for made in shown]
    x, folds = x[present], folds[present]
    width = pairs[0].shape[1]
    grams = np.zeros((parts, width, width))
    sums = np.zeros((parts, width))
    for part in pairs:
        for fold in range(parts):
            rows = part[folds == fold]
            grams[fold] += rows.T @ rows
            sums[fold] += rows.T @ x[folds == fold]
    penalised = np.ones(width)
    penalised[known.shape[1]] = 0.0
    best: tuple[float, Floats, Floats] = (np.inf, np.zeros((parts, width)), np.ones(parts))
    for penalty in PENALTIES:
        slopes = np.stack(
            [
                np.linalg.lstsq(
                    grams.sum(axis=0) - grams[fold] + np.diag(penalty * penalised), sums.sum(axis=0) - sums[fold]
                )[0]
                for fold in range(parts)
            ]
        )
        square = np.mean([(x - np.einsum("ij,ij->i", part, slopes[folds])) ** 2 for part in pairs], axis=0)
        by_fold = np.asarray([square[folds != fold].mean() if np.any(folds != fold) else 1.0 for fold in range(parts)])
        if by_fold.sum() < best[0]:
            best = (float(by_fold.sum()), slopes, by_fold)
    _, slopes, variance = best
    j = known.shape[1]
    return tuple(
        Line(slopes[fold][:j], slopes[fold][j:], float(max(np.sqrt(variance[fold]), SMALLEST_SD)))
        for fold in range(parts)
    )


def logits(
    x: Floats,
    levels: int,
    known: Floats,
    shown: Sequence[Floats],
    folds: Codes,
    *,
    parts: int,
    rng: np.random.Generator,
) -> tuple[Law, ...]:
    """Learn a categorical key's law for every fold, each without its own records; arguments as :func:`lines`."""
    owner = np.tile(np.arange(len(x)), len(shown))
    features = np.hstack([np.tile(known, (len(shown), 1)), np.vstack(shown)])
    present = x[owner] != MISSING
    found = []
    for fold in range(parts):
        pairs = np.flatnonzero(present & (folds[owner] != fold))
        pairs = rng.permutation(pairs)[:MOST_PAIRS]
        found.append(_logit(x[owner[pairs]].astype(np.int64), levels, features[pairs], known.shape[1]))
    return tuple(found)


def _logit(x: Codes, levels: int, features: Floats, j: int) -> Logit:
    """Return the law; a level that does not occur is as probable as its share of the mixture makes it."""
    counts = np.bincount(x, minlength=levels)
    seen = np.flatnonzero(counts)
    constant, slopes = np.full(levels, -np.inf), np.zeros((levels, features.shape[1]))
    constant[seen] = 0.0
    if len(seen) > 1:
        place = np.cumsum(counts > 0) - 1
        constant[seen], slopes[seen] = fit_logit(features, place[x], len(seen), weak=WEAK)
    frequency = (counts + 0.5) / (counts.sum() + 0.5 * levels)
    return Logit(constant, slopes[:, :j], slopes[:, j:], frequency, 1 / (len(x) + 2))
