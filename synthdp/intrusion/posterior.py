"""What a released row says about the true keys of the person behind it, learnt by making the copies again.

The plan is synthesised a few more times with fresh streams; every time, each record gives one pair of true keys x and a
released row: the kept columns z, and of every replaced column the mean over the copies, or the share of each level.
From these pairs the posterior is learnt key by key, categorical keys first,

    p(x | row)  =  Π_k p(x_k | x_1 … x_{k−1}, row),

a categorical key by a multinomial logit, a numeric key by a linear regression with normal errors on its working scale.

Notes
-----
*Exact* but for the error of learning it: numeric keys drawn from linear regressions given Gaussian masks. x, W and the
released y are then jointly normal given z, the mean over the copies tells all they tell about x whether W is drawn once
or per copy, and the posterior is a linear regression. For one key with residual variance τ², a mask of variance σ² and
κ = τ²/(τ² + σ²), a copy given x is normal with mean (1 − κ) μ_z + κ x and variance κ²σ², the mask's, which all copies
share when W is drawn once, plus κσ², the draw's own.

*Approximated*: everything else. Shares of levels do not tell quite all that copies of a categorical column tell;
regressions are straight; errors are normal with one variance, also under bounds, rounding, graded masks and trees.
Levels of a key beyond the most frequent ones are one to this intruder. A key that is missing for a target says nothing.
Where masks differ by risk group the intruder is taken to know which mask a row got, which is more than a release tells.
Earlier releases of the same data are taken to be made like this one.

Nobody's own record teaches the intruder: everyone is scored with what was learnt from other folds of records.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from synthdp import expressions
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.bayes import evaluate_bayes
from synthdp.evaluation.risk.likelihood import LikelihoodRisk
from synthdp.evaluation.risk.scatter import FOLDS
from synthdp.imputation import predictors
from synthdp.intrusion.laws import Law, lines, logits
from synthdp.links import Link
from synthdp.microdata import MISSING, Codes, Floats, Microdata, codes, numbers
from synthdp.schema import Column, Role
from synthdp.seeding import Streams
from synthdp.synthesis.protocol import Plan

# pairs of keys and row that are learnt from: small files are made again more often, large ones are sampled
ENOUGH, MOST = 4000, 100_000
FEWEST_TIMES, MOST_TIMES = 2, 10
MOST_LEVELS = 30
# a risk group with fewer records is learnt from everybody
SMALLEST_GROUP = 100

Remake = Callable[[Streams], Sequence[pd.DataFrame]]


class Informed(Protocol):
    """The attack of an intruder who can make the copies again."""

    def __call__(self, comparison: Comparison, *, rng: np.random.Generator) -> LikelihoodRisk:
        """Attack the copies."""


def informed_intruder(plan: Plan, remake: Remake) -> Informed:
    """Return the attack of somebody who knows how the copies of a plan are made.

    Parameters
    ----------
    remake
        Makes copies of the plan from streams of its own, all that is done to a release included.
    """

    def attack(comparison: Comparison, *, rng: np.random.Generator) -> LikelihoodRisk:
        return evaluate_bayes(comparison, learn(plan, comparison.copies, remake, rng=rng), rng=rng)

    return attack


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


@dataclass(frozen=True, repr=False)
class Posterior:
    """log p(true keys of a record | a released row): what :class:`synthdp.evaluation.risk.bayes.LogPosterior` asks for.

    Parameters
    ----------
    keys
        The true keys that are not released as they are.
    shown
        What the rows show, shape (n, p).
    folds, groups
        Of records and of rows.
    laws
        ``laws[fold][group][key]`` was learnt without the records of the fold.
    """

    keys: tuple[Key, ...]
    shown: Floats
    folds: Codes
    groups: Codes
    laws: tuple[tuple[tuple[Law, ...], ...], ...]

    def __repr__(self) -> str:
        return f"Posterior({len(self.shown)} rows, {len(self.keys)} keys)"

    def __call__(self, targets: Codes, rows: Codes) -> Floats:
        """Return the log posterior of the targets' keys given the rows: O(targets · rows) for each key."""
        found = np.zeros((len(targets), len(rows)))
        for fold in np.unique(self.folds[targets]):
            mine = np.flatnonzero(self.folds[targets] == fold)
            people = targets[mine]
            for group in np.unique(self.groups[rows]):
                theirs = np.flatnonzero(self.groups[rows] == group)
                part, known = np.zeros((len(mine), len(theirs))), np.empty((len(mine), 0))
                for key, law in zip(self.keys, self.laws[fold][group], strict=True):
                    part += law.log_density(key.values[people], known, self.shown[rows[theirs]])
                    known = np.hstack([known, key.columns[people]])
                found[np.ix_(mine, theirs)] = part
        return found


def learn(plan: Plan, copies: Sequence[pd.DataFrame], remake: Remake, *, rng: np.random.Generator) -> Posterior:
    """Learn what the rows of copies say about the true keys.

    Parameters
    ----------
    copies
        What the intruder holds: one release of the plan, or several together, row i made from record i.

    Notes
    -----
    Cost: 2 to 10 syntheses, the fewer the larger the file; then O(n p²) for p features.
    """
    n = len(plan.data)
    kept = predictors.build(plan.data).matrix
    times = int(np.clip(np.ceil(ENOUGH / n), FEWEST_TIMES, MOST_TIMES))
    again = [np.hstack([kept, _shown(_held(remake, len(copies), rng), plan.data)]) for _ in range(times)]
    keys = _keys(plan.released)
    folds = rng.permutation(n) % FOLDS
    groups, teachers = _groups(plan)
    some = np.zeros(n, dtype=bool)
    some[rng.choice(n, min(n, MOST // times), replace=False)] = True
    by_group = [_laws(keys, again, np.flatnonzero(some & here), folds, rng) for here in teachers]
    laws = tuple(tuple(tuple(law[fold] for law in learnt) for learnt in by_group) for fold in range(FOLDS))
    return Posterior(keys, np.hstack([kept, _shown(copies, plan.data)]), folds, groups, laws)


def _laws(
    keys: Sequence[Key], again: Sequence[Floats], records: Codes, folds: Codes, rng: np.random.Generator
) -> list[tuple[Law, ...]]:
    """Return the law of every key by fold, learnt from these records."""
    shown = [made[records] for made in again]
    known = np.empty((len(records), 0))
    found = []
    for key in keys:
        x, apart = key.values[records], folds[records]
        found.append(
            logits(x, key.levels, known, shown, apart, rng=rng) if key.levels else lines(x, known, shown, apart)
        )
        known = np.hstack([known, key.columns[records]])
    return found


def _held(remake: Remake, count: int, rng: np.random.Generator) -> list[pd.DataFrame]:
    """Return as many copies as the intruder holds, from as many releases as that takes."""
    made: list[pd.DataFrame] = []
    while len(made) < count:
        made += remake(Streams(int(rng.integers(2**63))))
    return made[:count]


def _keys(data: Microdata) -> tuple[Key, ...]:
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


def _shown(copies: Sequence[pd.DataFrame], data: Microdata) -> Floats:
    """Return what copies show of the replaced columns, side by side: means, shares of levels and of missing values."""
    parts = [np.empty((len(data), 0))]
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
    share = np.zeros((len(data), len(wanted)))
    for copy in copies:
        share += codes(copy[column.name], column)[:, None] == wanted
    return share / len(copies)


def _groups(plan: Plan) -> tuple[Codes, list["np.ndarray[tuple[int], np.dtype[np.bool_]]"]]:
    """Return the group of each row, and of which records it is learnt from: one for all where masks do not differ."""
    everybody = np.ones(len(plan.data), dtype=bool)
    if not plan.masks_by_group:
        return np.zeros(len(plan.data), dtype=np.int64), [everybody]
    label = plan.tags.labels.cat.codes.to_numpy()
    groups = np.zeros(len(label), dtype=np.int64)
    teachers = [everybody]
    for group in np.unique(label):
        if np.sum(label == group) >= SMALLEST_GROUP:
            groups[label == group] = len(teachers)
            teachers.append(label == group)
    return groups, teachers
