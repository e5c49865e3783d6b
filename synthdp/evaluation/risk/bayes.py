"""Intruders who know how probable a person's keys are given a row: they look for one row, or for all of a person's.

Who knows mask, model and parameters has the posterior from outside; who has only the public files works it out.
"""

import itertools
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from synthdp.budget import go_on
from synthdp.evaluation.comparison import Comparison, some
from synthdp.evaluation.risk.identity import CHANCE_LEVEL, chance_hits, everybody, refuse_unless_aligned
from synthdp.evaluation.risk.likelihood import LikelihoodRisk, best_by_fold, summarise
from synthdp.evaluation.risk.persons import PersonsRisk, interval_of_persons
from synthdp.evaluation.risk.scatter import FOLDS
from synthdp.evaluation.risk.scoring import TIE
from synthdp.evaluation.risk.traces import unchanged
from synthdp.table.microdata import Codes, Floats

NAME, PERSONS = "identity_bayes", "persons"
MOST_PAIRS = 2 * 10**7
FEWEST_TARGETS, FEWEST_PERSONS = 200, 100
# pairs of a target and a row looked at in one go: 2 MB an array, which stays in the cache
AT_ONCE = 2.5 * 10**5
TUNED_ON = 200
TEMPERATURES = 2.0 ** np.arange(-4, 1.5, 0.5)
# all ways of assigning rows are tried for persons of up to so many rows
MOST_ASSIGNED = 4


class LogPosterior(Protocol):
    """What a released row says about the person behind it, as whoever made the copies can work it out.

    The evaluation knows neither mask nor model; the pipeline that does hands this in.
    """

    def __call__(self, targets: Codes, rows: Codes) -> Floats:
        """Return log p(true keys of record i | everything released in row r of all copies), shape (targets, rows).

        What depends on the target alone may be left out. The array is the caller's to change.
        """


def evaluate_bayes(
    comparison: Comparison,
    log_posterior: LogPosterior,
    *,
    rng: np.random.Generator,
    permutations: int = 200,
    most_pairs: int = MOST_PAIRS,
    targets: Codes | None = None,
) -> LikelihoodRisk:
    """Attack aligned copies with the posterior of a person's keys given the rows.

    The intruder holds the true keys x of a target, knows that the target is in the file, holds all copies, and knows
    how they were made. Before looking at x every row is as likely to be the target's as any other, so

        Pr(row r is the target's | x, copies)  =  p(x | row r) / Σ_s p(x | row s):

    the second factor of Bayes' theorem, p(x), is the same for all rows. They point at the most probable row, at random
    among ties. Keys that no copy changed exclude every row with another value. ``predicted`` is the probability they
    give to the row they point at, not recalibrated: with the right posterior it is right by itself.

    Parameters
    ----------
    log_posterior
        Of targets' keys given rows.
    most_pairs
        How many pairs of a target and a row may be asked for; above, targets are sampled (never fewer than give an
        interval) and an interval given.
    targets
        Which records to attack; by default all, or a sample where that is too much work.

    Raises
    ------
    InputError
        If the attack cannot be made on these files.

    Notes
    -----
    O(targets · n), the targets taken a few at a time so that memory is O(n).

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> age = np.arange(30.0)
    >>> data = resolve(pd.DataFrame({"age": age}), {"age": Variable(role="replace", key=True)})
    >>> files = Comparison(data.frame, (pd.DataFrame({"age": age + 0.1}),), data.schema, aligned=True)
    >>> noise = lambda targets, rows: -0.5 * ((age[rows] + 0.1 - age[targets, None]) / 0.2) ** 2
    >>> evaluate_bayes(files, noise, rng=np.random.default_rng(1)).expected_links
    30.0
    """
    refuse_unless_aligned(comparison, NAME)
    n = len(comparison.original)
    block = unchanged(comparison)
    if targets is None:
        targets = some(n, max(FEWEST_TARGETS, most_pairs // n), rng=rng)
    # what a posterior learnt for one fold of records is used up before the next is asked for
    folds = getattr(log_posterior, "folds", np.zeros(n, dtype=np.int64))
    targets = targets[np.argsort(folds[targets], kind="stable")]
    size = len(targets)
    share, posterior, predicted = np.empty(size), np.empty(size), np.empty(size)
    winner = np.empty(size, dtype=np.int64)
    everyone = np.arange(n)
    step = max(1, int(AT_ONCE // n))
    for begin in range(0, size, step):
        go_on()
        part = slice(begin, begin + step)
        few = targets[part]
        scores = log_posterior(few, everyone)
        if block.any():
            scores[block[few][:, None] != block] = -np.inf
        own = scores[np.arange(len(few)), few]
        largest = scores.max(axis=1)
        ties = [np.flatnonzero(line >= top - TIE) for line, top in zip(scores, largest, strict=True)]
        share[part] = [
            1 / len(tied) if mine >= top - TIE else 0.0 for tied, mine, top in zip(ties, own, largest, strict=True)
        ]
        winner[part] = [tied[int(pick * len(tied))] for tied, pick in zip(ties, rng.random(len(few)), strict=True)]
        # in place: at a million rows an array is what memory has room for a few times
        scores -= largest[:, None]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        posterior[part], predicted[part] = np.exp(own - largest) / total, 1 / total
    chance = chance_hits(winner, targets, n, permutations, rng=rng)
    sizes = np.bincount(block)[block]
    return summarise(sizes, comparison.groups, targets, share, posterior, predicted, chance)


def evaluate_persons(
    comparison: Comparison,
    log_posterior: LogPosterior,
    person: Codes,
    *,
    rng: np.random.Generator,
    permutations: int = 200,
    most_pairs: int = MOST_PAIRS,
    targets: Codes | None = None,
) -> PersonsRisk:
    """Attack persons by all their rows together.

    The intruder holds the true keys x_1 … x_s of all rows of a person, knows that the person is in the file and which
    rows of a copy belong to one person (the column that says so is released), and looks among persons with as many
    rows. Person g gets

        Pr(g is the target | x, copies)  ∝  [ Σ_π Π_i p(x_i | row π(i) of g) ]^t,

    the sum over all ways of assigning rows. They point at the likeliest, at random among ties.

    Parameters
    ----------
    log_posterior
        Of one record's keys given one row: that of ``identity_bayes``, or of ``identity_public``.
    person
        Whose each record is, from :func:`synthdp.evaluation.risk.persons.persons_of`.
    most_pairs
        How many pairs of a record and a row may be asked for; above, persons are sampled.
    targets
        Which persons to attack, evenly spaced ones of them where that is too much work; by default all, or a sample.

    Raises
    ------
    InputError
        If the attack cannot be made on these files.

    Notes
    -----
    Rows are taken as independent given what copies show of each. Beyond four rows the sum over assignments is replaced
    by Π_i Σ_r p(x_i | r), which lets two records share a row. The temperature t, from persons of other folds, makes
    up for either. Cost: O(pairs) and s! for each pair of persons, s at most 4.
    """
    refuse_unless_aligned(comparison, PERSONS)
    sizes = np.bincount(person)
    rows = np.argsort(person, kind="stable")
    first = np.cumsum(sizes) - sizes
    attack = _Attack(log_posterior, unchanged(comparison), sizes, rows, first)
    count = len(sizes)
    cost = float(np.mean(sizes * np.bincount(sizes, weights=sizes)[sizes]))
    few = min(count if targets is None else len(targets), max(FEWEST_PERSONS, int(most_pairs / cost)))
    if targets is None:
        targets = some(count, few, rng=rng)
    targets = targets[np.linspace(0, len(targets) - 1, few).astype(np.int64)]
    folds = rng.permutation(count) % FOLDS
    heat = _tune(attack, rng.permutation(targets)[: min(TUNED_ON, few)], folds)
    share, posterior, predicted = np.empty(few), np.empty(few), np.empty(few)
    winner = np.empty(few, dtype=np.int64)
    for place, target in enumerate(targets):
        go_on()
        others, scores = attack.scores(int(target))
        scores = heat[folds[target]] * scores
        largest, own = scores.max(), int(np.flatnonzero(others == target)[0])
        tied = np.flatnonzero(scores >= largest - TIE)
        total = np.logaddexp.reduce(scores)
        share[place] = 1 / len(tied) if scores[own] >= largest - TIE else 0.0
        posterior[place], predicted[place] = np.exp(scores[own] - total), np.exp(largest - total)
        winner[place] = others[rng.choice(tied)]
    chance = chance_hits(winner, targets, count, permutations, rng=rng)
    individual, confidence, right = everybody(count, targets, posterior, predicted, share)
    return PersonsRisk(
        *(individual[person], confidence[person], right[person]),
        persons=count,
        expected_links=float(share.mean()) * count,
        expected_links_rate=float(share.mean()),
        expected_links_chance=float(np.quantile(chance, CHANCE_LEVEL, method="higher")) * count / few,
        predicted_links=float(predicted.mean()) * count,
        max_posterior=float(posterior.max()),
        sampled=interval_of_persons(share, count),
        chance=(1 / np.bincount(sizes)[sizes])[person],
        person=person,
    )


@dataclass(frozen=True, repr=False)
class _Attack:
    """Scores of persons: ``rows`` lists records person by person, ``first`` where each begins."""

    log_posterior: LogPosterior
    block: Codes
    sizes: Codes
    rows: Codes
    first: Codes

    def scores(self, target: int) -> tuple[Codes, Floats]:
        """Return the persons with as many rows as the target, and the evidence for each."""
        size = int(self.sizes[target])
        others = np.flatnonzero(self.sizes == size)
        mine = self.rows[self.first[target] : self.first[target] + size]
        theirs = self.rows[self.first[others][:, None] + np.arange(size)].ravel()
        pairs = np.where(self.block[mine][:, None] == self.block[theirs], self.log_posterior(mine, theirs), -np.inf)
        return others, assigned(pairs.reshape(size, len(others), size).transpose(1, 0, 2))


def assigned(pairs: Floats) -> Floats:
    """Return log Σ_π Π_i exp(pairs[:, i, π(i)]), for up to four rows; beyond, rows may be assigned twice.

    Examples
    --------
    >>> pairs = np.log(np.array([[[0.5, 0.1], [0.2, 0.4]]]))
    >>> np.exp(assigned(pairs)).round(3).tolist()  # 0.5 · 0.4 + 0.1 · 0.2
    [0.22]
    """
    size = pairs.shape[1]
    if size > MOST_ASSIGNED:
        return np.asarray(np.logaddexp.reduce(pairs, axis=2).sum(axis=1))
    orders = np.asarray(list(itertools.permutations(range(size))), dtype=np.int64)
    return np.asarray(np.logaddexp.reduce(pairs[:, np.arange(size), orders].sum(axis=2), axis=1))


def _tune(attack: _Attack, few: Codes, folds: Codes) -> Floats:
    """Return for each fold the temperature under which the own persons of other folds are most probable."""
    mine = np.empty((len(few), len(TEMPERATURES)))
    for place, target in enumerate(few):
        others, scores = attack.scores(int(target))
        own = scores[np.flatnonzero(others == target)[0]]
        for step, t in enumerate(TEMPERATURES):
            mine[place, step] = t * own - np.logaddexp.reduce(t * scores)
    return TEMPERATURES[best_by_fold(mine, folds[few])]
