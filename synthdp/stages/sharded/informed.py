"""The intruder who knows how copies are made, over shards: taught by a sample of the records, asked about all rows.

What a row shows (kept columns, means and shares of the copies) is coded as the sample has fixed it, so that a row
says the same in whatever shard it stands; laws are learnt as :mod:`synthdp.stages.informed_intruder` learns them. Where
masks differ by risk group every group has its own, and the intruder knows which mask a row got.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.evaluation.risk.bayes import AT_ONCE
from synthdp.evaluation.risk.public_columns import Kept, code_kept
from synthdp.evaluation.sharded.likelihood import Part
from synthdp.evaluation.sharded.weighing import Weighed, nothing, weigh
from synthdp.stages.informed_intruder import FEW_FOLDS, MOST, SMALLEST_GROUP, Posterior, laws_of
from synthdp.stages.learnt_laws import Key, Law, keys_of, shown_by
from synthdp.table.coded import coded, distinct, merge
from synthdp.table.microdata import Microdata

ONE = np.ones(1)
# rows whose features stand in memory at a time
STRETCH = 50_000


@dataclass(frozen=True, repr=False)
class Informed:
    """What a sample of aligned rows teaches about the true keys behind a row.

    Parameters
    ----------
    data
        The sample's originals, by which columns are coded.
    kept
        What is seen of kept columns.
    keys
        True keys of the people looked for.
    folds
        Of these: each is scored by what other folds taught.
    laws
        By fold, group and key.
    places
        Which of the groups of laws is that of each risk group; too small ones are learnt from everybody.
    """

    data: Microdata
    kept: Kept
    keys: tuple[Key, ...]
    folds: Codes
    laws: tuple[tuple[tuple[Law, ...], ...], ...]
    places: Codes

    def __repr__(self) -> str:
        return f"Informed({len(self.keys)} keys)"

    def shown(self, copies: Sequence[pd.DataFrame], rows: Codes) -> Floats:
        """Return what some rows of aligned copies show."""
        return np.hstack([self.kept.matrix(coded(copies[0]).take(rows)), shown_by(copies, self.data, rows)])

    def posterior(self, copies: Sequence[pd.DataFrame], rows: Codes, groups: Codes | None = None) -> Posterior:
        """Return log p(true keys | row) of these rows, given the risk groups of all."""
        place = np.zeros(len(rows), dtype=np.int64) if groups is None else self.places[groups[rows]]
        return Posterior(self.keys, self.shown(copies, rows), self.folds, place, self.laws)


def learn(
    data: Microdata,
    again: Sequence[Sequence[pd.DataFrame]],
    targets: Codes,
    *,
    rng: np.random.Generator,
    groups: Codes | None = None,
) -> Informed:
    """Learn from copies of a sample of the records that were drawn several times.

    Parameters
    ----------
    data
        The sample, with the keys of the schema that is judged.
    again
        Aligned copies, once for each draw.
    targets
        Which records of the sample are looked for.
    groups
        The risk group of each record of the sample; None where masks do not depend on it.
    """
    n = len(data)
    kept = code_kept(coded(again[0][0]), data.schema.kept())
    keys = keys_of(data)
    folds = rng.permutation(n) % FEW_FOLDS
    some = np.sort(rng.choice(n, min(n, MOST // len(again)), replace=False))
    places, teachers = _teachers(np.zeros(n, dtype=np.int64) if groups is None else groups)
    blank = Informed(data, kept, keys, folds, (), places)
    shown = [blank.shown(copies, some) for copies in again]
    learnt = [laws_of(keys, shown, some, here[some], folds, FEW_FOLDS, rng) for here in teachers]
    laws = tuple(tuple(tuple(law[fold] for law in by_key) for by_key in learnt) for fold in range(FEW_FOLDS))
    mine = tuple(Key(key.values[targets], key.columns[targets], key.levels) for key in keys)
    # what is needed of the sample from here on is how columns are coded
    return replace(blank, keys=mine, folds=folds[targets], laws=laws)


# risk groups that there may be: a sample need not have met all
MOST_GROUPS = 64


def _teachers(groups: Codes) -> tuple[Codes, list[Booleans]]:
    """Return which law is that of each risk group, and from whom each is learnt: the first one from everybody."""
    teachers: list[Booleans] = [np.ones(len(groups), dtype=np.bool_)]
    places = np.zeros(max(MOST_GROUPS, int(groups.max(initial=0)) + 1), dtype=np.int64)
    several = np.unique(groups)
    for group in several if len(several) > 1 else ():
        if np.sum(groups == group) >= SMALLEST_GROUP:
            places[group] = len(teachers)
            teachers.append(groups == group)
    return places, teachers


def look(
    taught: Informed,
    blocks: Sequence[Part],
    held: pd.DataFrame,
    copies: Sequence[pd.DataFrame],
    own: Codes,
    groups: Codes | None = None,
) -> Weighed:
    """Return what the rows of a shard weigh for the people looked for; see :func:`..likelihood.look`."""
    known, first = coded(held), coded(copies[0])
    n, size = len(first), len(own)
    block = np.zeros(size + n, dtype=np.int64)
    for part in blocks:
        block = merge(block, distinct(np.concatenate([part.read(known), part.read(first)])))
    order = np.argsort(taught.folds, kind="stable")
    found = nothing(size, ONE)
    for begin in range(0, n, STRETCH):
        rows = np.arange(begin, min(begin + STRETCH, n))
        posterior = taught.posterior(copies, rows, groups)
        here = np.where((own >= begin) & (own < begin + len(rows)), own - begin, -1)
        pieces = []
        step = max(1, int(AT_ONCE // len(rows)))
        for start in range(0, size, step):
            few = order[start : start + step]
            scores = posterior(few, np.arange(len(rows)))
            if len(blocks):
                scores[block[few][:, None] != block[size + rows][None, :]] = -np.inf
            pieces.append(weigh(scores, here[few], ONE))
        found = found + _in_order(pieces, order)
    return found


def _in_order(pieces: Sequence[Weighed], order: Codes) -> Weighed:
    back = np.argsort(order)
    return Weighed(
        np.concatenate([one.total for one in pieces])[back],
        np.concatenate([one.largest for one in pieces])[back],
        np.concatenate([one.ties for one in pieces])[back],
        np.concatenate([one.own for one in pieces])[back],
    )
