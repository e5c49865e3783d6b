"""The intruder who knows the keys of all rows of a person or household, and adds up what they say."""

import itertools
from dataclasses import dataclass

import numpy as np

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.bayes import LogPosterior
from synthdp.evaluation.risk.identity import CHANCE_LEVEL, chance_hits, refuse_unless_aligned
from synthdp.evaluation.risk.likelihood import WORST_LOG
from synthdp.evaluation.risk.persons import NAME, PersonsRisk, interval
from synthdp.evaluation.risk.scatter import FOLDS
from synthdp.evaluation.risk.scoring import TIE
from synthdp.evaluation.risk.traces import unchanged
from synthdp.table.microdata import Codes, Floats

MOST_PAIRS = 2 * 10**7
FEWEST_PERSONS = 100
TUNED_ON = 200
TEMPERATURES = 2.0 ** np.arange(-4, 1.5, 0.5)
# all ways of assigning rows are tried for persons of up to so many rows
MOST_ASSIGNED = 4


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
        Whose each record is, from :func:`persons_of`.
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
    refuse_unless_aligned(comparison, NAME)
    sizes = np.bincount(person)
    rows = np.argsort(person, kind="stable")
    first = np.cumsum(sizes) - sizes
    attack = _Attack(log_posterior, unchanged(comparison), sizes, rows, first)
    count = len(sizes)
    cost = float(np.mean(sizes * np.bincount(sizes, weights=sizes)[sizes]))
    few = min(count if targets is None else len(targets), max(FEWEST_PERSONS, int(most_pairs / cost)))
    if targets is None:
        targets = np.arange(count) if few == count else np.sort(rng.choice(count, few, replace=False))
    targets = targets[np.linspace(0, len(targets) - 1, few).astype(np.int64)]
    folds = rng.permutation(count) % FOLDS
    heat = _tune(attack, rng.permutation(targets)[: min(TUNED_ON, few)], folds)
    share, posterior, predicted = np.empty(few), np.empty(few), np.empty(few)
    winner = np.empty(few, dtype=np.int64)
    for place, target in enumerate(targets):
        others, scores = attack.scores(int(target))
        scores = heat[folds[target]] * scores
        largest, own = scores.max(), int(np.flatnonzero(others == target)[0])
        tied = np.flatnonzero(scores >= largest - TIE)
        total = np.logaddexp.reduce(scores)
        share[place] = 1 / len(tied) if scores[own] >= largest - TIE else 0.0
        posterior[place], predicted[place] = np.exp(scores[own] - total), np.exp(largest - total)
        winner[place] = others[rng.choice(tied)]
    chance = chance_hits(winner, targets, count, permutations, rng=rng)
    whole = [np.full(count, np.nan), np.full(count, np.nan), np.zeros(count)]
    for all_, part in zip(whole, (posterior, predicted, share), strict=True):
        all_[targets] = part
    return PersonsRisk(
        persons=count,
        expected_links=float(share.mean()) * count,
        expected_links_rate=float(share.mean()),
        expected_links_chance=float(np.quantile(chance, CHANCE_LEVEL, method="higher")) * count / few,
        predicted_links=float(predicted.mean()) * count,
        individual=whole[0][person],
        confidence=whole[1][person],
        right=whole[2][person],
        sampled=interval(share, count),
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
    mine = np.maximum(mine, WORST_LOG)
    best = [int(np.argmax(mine[folds[few] != fold].sum(axis=0))) for fold in range(FOLDS)]
    return TEMPERATURES[best]
