"""What a released row says about the true keys of the person behind it, learnt from other draws of the copies.

Copies of the plan are made a few more times, or have been already (by a gate that judges the plan and not one draw of
it). Every time, each record gives one pair of true keys x and a released row: the kept columns z, and of every replaced
column the mean over the copies, or the share of each level.
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
Where masks differ by risk group the intruder is taken to know which mask a row got, which is more than a release tells;
where the group is a function of replaced columns, rows are told apart by the groups their copies lie in, too
(see ``classes``): predicted and real links were 135 and 141, 253 and 252 in two files, and 90 and 104, 199 and 226
without.
Earlier releases of the same data are taken to be made like this one.

Nobody's own record teaches the intruder: everyone is scored with what was learnt from other folds of records.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans
from synthdp.errors import InputError
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.bayes import evaluate_bayes
from synthdp.evaluation.risk.likelihood import LikelihoodRisk
from synthdp.evaluation.risk.scatter import FOLDS
from synthdp.imputation import predictors
from synthdp.seeding import Streams
from synthdp.stages.learnt_laws import Key, Law, Logit, classes_of, keys_of, lines, logits, shown_by, told_apart
from synthdp.synthesis.plan import Plan
from synthdp.synthesis.ruling import ruled_by
from synthdp.table.microdata import Codes, Floats

# pairs of keys and row that are learnt from: small files are made again more often, large ones are sampled
ENOUGH, MOST = 4000, 100_000
FEWEST_TIMES, MOST_TIMES = 2, 10
# of so many records half teach as much as four fifths do: no more are learnt from, and there are fewer laws to read by
MANY, FEW_FOLDS = 20_000, 2
# keys whose probabilities are multiplied before a logarithm is taken: each is at least about 1e-10
MULTIPLIED = 16
# a risk group with fewer records is learnt from everybody
SMALLEST_GROUP = 100
# numbers that laws have read and that are kept: 200 MB, and what one fold takes
MOST_KEPT = 25 * 10**6

Remake = Callable[[Streams], Sequence[pd.DataFrame]]


class Informed(Protocol):
    """The attack of an intruder who can make the copies again."""

    def __call__(
        self, comparison: Comparison, *, rng: np.random.Generator, targets: Codes | None = None
    ) -> LikelihoodRisk:
        """Attack the copies; all records, or a sample where that is too much work, or the targets named."""


def informed_intruder(plan: Plan, remake: Remake) -> Informed:
    """Return the attack of somebody who knows how the copies of a plan are made, and makes them again.

    Parameters
    ----------
    remake
        Makes copies of the plan from streams of its own, all that is done to a release included.
    """

    def attack(comparison: Comparison, *, rng: np.random.Generator, targets: Codes | None = None) -> LikelihoodRisk:
        again = make_again(plan, remake, len(comparison.copies), rng=rng)
        learnt = teach(plan, again, rng=rng)
        return evaluate_bayes(comparison, learnt.reading(plan, comparison.copies), rng=rng, targets=targets)

    return attack


def learnt_intruder(
    plan: Plan, draws: Sequence[Sequence[pd.DataFrame]], *, counts: Collection[int], rng: np.random.Generator
) -> Informed:
    """Return the same attack, learnt from draws of the copies that exist already.

    Parameters
    ----------
    draws
        Copies of the plan made several times, each time with streams of its own, row i from record i.
    counts
        How many copies will be attacked at a time: those of a release, or of several together.
    rng
        For folds and samples of what is learnt.

    Notes
    -----
    Learnt at once for each number of copies, so that attacking many draws costs no more learning than one, threads do
    not learn the same twice, and the draws need not be kept. The draw that is attacked may be one of those that were
    learnt from: a record is scored by what other records taught, so its own row still teaches nothing about it.
    """
    seed, times = int(rng.integers(2**63)), _times(len(plan.data))
    learnt: dict[int, Learnt | InputError] = {}
    for count in sorted(set(counts)):
        try:
            learnt[count] = teach(plan, _gathered(draws, count, times), rng=np.random.default_rng([seed, count]))
        except InputError as error:
            # said where the attack is asked for, like the reason of any other that cannot be made
            learnt[count] = error

    def attack(comparison: Comparison, *, rng: np.random.Generator, targets: Codes | None = None) -> LikelihoodRisk:
        known = learnt[len(comparison.copies)]
        if isinstance(known, InputError):
            raise known
        return evaluate_bayes(comparison, known.reading(plan, comparison.copies), rng=rng, targets=targets)

    return attack


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
    _memory: dict[tuple[int, int], list[Floats]] = field(default_factory=dict, init=False, compare=False)

    def __repr__(self) -> str:
        return f"Posterior({len(self.shown)} rows, {len(self.keys)} keys)"

    def __call__(self, targets: Codes, rows: Codes) -> Floats:
        """Return the log posterior of the targets' keys given the rows: O(targets · rows) for each key."""
        found = np.zeros((len(targets), len(rows)))
        whole = len(rows) == len(self.shown) and np.array_equal(rows, np.arange(len(rows)))
        local = None if whole else self._local
        for fold in np.unique(self.folds[targets]):
            mine = np.flatnonzero(self.folds[targets] == fold)
            people = targets[mine]
            for group, members in self._members.items():
                theirs = members if whole else np.flatnonzero(self.groups[rows] == group)
                if not len(theirs):
                    continue
                part, known = np.zeros((len(mine), len(theirs))), np.empty((len(mine), 0))
                product, held = np.empty((0, 0)), 0
                for key, law, read in zip(self.keys, self.laws[fold][group], self._read(fold, group), strict=True):
                    # all rows are asked about again and again, so that theirs are not looked up each time
                    shown = read if local is None else read[local[rows[theirs]]]
                    if isinstance(law, Logit):
                        # one logarithm for the levels of all keys together
                        own = law.density(key.values[people], known, shown)
                        product, held = (own if not held else np.multiply(product, own, out=product)), held + 1
                    else:
                        part += law.log_density(key.values[people], known, shown)
                    if held == MULTIPLIED:
                        part, held = part + np.log(product, out=product), 0
                    known = np.hstack([known, key.columns[people]])
                if held:
                    part += np.log(product, out=product)
                if len(theirs) == len(rows):
                    found[mine] = part
                else:
                    found[np.ix_(mine, theirs)] = part
        return found

    def _read(self, fold: int, group: int) -> list[Floats]:
        """Return what each law reads in the rows of a group, and keep it while there is room."""
        if (fold, group) not in self._memory:
            if sum(read.size for kept in self._memory.values() for read in kept) > MOST_KEPT:
                self._memory.clear()
            members = self._members[group]
            shown = self.shown if len(members) == len(self.shown) else self.shown[members]
            self._memory[fold, group] = [law.read(shown) for law in self.laws[fold][group]]
        return self._memory[fold, group]

    @cached_property
    def _members(self) -> dict[int, Codes]:
        """The rows of each group."""
        return {int(group): np.flatnonzero(self.groups == group) for group in np.unique(self.groups)}

    @cached_property
    def _local(self) -> Codes:
        """The place of each row within its group."""
        place = np.empty(len(self.groups), dtype=np.int64)
        for members in self._members.values():
            place[members] = np.arange(len(members))
        return place


@dataclass(frozen=True, repr=False)
class Learnt:
    """What rows of a plan's copies say, before any particular copies are looked at; fields as in :class:`Posterior`.

    ``places`` holds the group of every class of rows, where rows are told apart by what they show (see ``classes``).
    """

    keys: tuple[Key, ...]
    kept: Floats
    folds: Codes
    groups: Codes
    laws: tuple[tuple[tuple[Law, ...], ...], ...]
    places: Codes | None = None

    def __repr__(self) -> str:
        return f"Learnt({len(self.kept)} records, {len(self.keys)} keys)"

    def reading(self, plan: Plan, copies: Sequence[pd.DataFrame]) -> Posterior:
        """Return the posterior given these copies, row i made from record i."""
        shown = np.hstack([self.kept, shown_by(copies, plan.data)])
        groups = self.groups if self.places is None else self.places[classes_of(plan, copies)]
        return Posterior(self.keys, shown, self.folds, groups, self.laws)


def teach(plan: Plan, again: Sequence[Sequence[pd.DataFrame]], *, rng: np.random.Generator) -> Learnt:
    """Learn what rows say about the true keys: O(n p²) for p features, from at most 100,000 pairs.

    Parameters
    ----------
    again
        As many copies as the intruder holds, drawn as often as there are entries.

    Raises
    ------
    ValueError
        If there is no draw to learn from.
    """
    if not again:
        raise ValueError("teach: needs at least one draw of the copies to learn from.")
    n = len(plan.data)
    kept = predictors.build(plan.data).matrix
    keys = keys_of(plan.released)
    parts = FOLDS if n < MANY else FEW_FOLDS
    folds = rng.permutation(n) % parts
    some = np.sort(rng.choice(n, min(n, MOST // len(again)), replace=False))
    shown = [np.hstack([kept[some], shown_by(copies, plan.data, some)]) for copies in again]
    if ruled_by(plan):
        places, teachers = told_apart(plan, [classes_of(plan, copies, some) for copies in again])
        groups, records, shown = np.zeros(n, dtype=np.int64), np.tile(some, len(again)), [np.vstack(shown)]
    else:
        groups, members = _groups(plan)
        places, records, teachers = None, some, [here[some] for here in members]
    by_group = [laws_of(keys, shown, records, here, folds, parts, rng) for here in teachers]
    laws = tuple(tuple(tuple(law[fold] for law in learnt) for learnt in by_group) for fold in range(parts))
    return Learnt(keys, kept, folds, groups, laws, places)


def laws_of(
    keys: Sequence[Key],
    again: Sequence[Floats],
    records: Codes,
    wanted: Booleans,
    folds: Codes,
    parts: int,
    rng: np.random.Generator,
) -> list[tuple[Law, ...]]:
    """Return the law of every key by fold, learnt from the wanted ones of these records."""
    shown, records = [made[wanted] for made in again], records[wanted]
    known = np.empty((len(records), 0))
    found = []
    for key in keys:
        x, apart = key.values[records], folds[records]
        found.append(
            logits(x, key.levels, known, shown, apart, parts=parts, rng=rng)
            if key.levels
            else lines(x, known, shown, apart, parts=parts)
        )
        known = np.hstack([known, key.columns[records]])
    return found


def make_again(plan: Plan, remake: Remake, count: int, *, rng: np.random.Generator) -> list[Sequence[pd.DataFrame]]:
    """Return ``count`` copies of a plan, made anew 2 to 10 times: the fewer, the larger the file."""
    made: list[Sequence[pd.DataFrame]] = []
    for _ in range(_times(len(plan.data))):
        held: list[pd.DataFrame] = []
        # releases together hold more copies than one making gives
        while len(held) < count:
            held += remake(Streams(int(rng.integers(2**63))))
        made.append(held[:count])
    return made


def _times(n: int) -> int:
    return int(np.clip(np.ceil(ENOUGH / n), FEWEST_TIMES, MOST_TIMES))


def _gathered(draws: Sequence[Sequence[pd.DataFrame]], count: int, times: int) -> list[Sequence[pd.DataFrame]]:
    """Return as many copies as the intruder holds, a few times, each time beginning with another draw."""
    found: list[Sequence[pd.DataFrame]] = []
    for begin in range(min(times, len(draws))):
        # round and round: a draw stands in for a release more than once where there are too few
        order = [copy for turn in range(len(draws)) for copy in draws[(begin + turn) % len(draws)]]
        found.append([order[place % len(order)] for place in range(count)])
    return found


def _groups(plan: Plan) -> tuple[Codes, list[Booleans]]:
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
