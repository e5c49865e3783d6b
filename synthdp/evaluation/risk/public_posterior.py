"""What somebody who has only the public files can say of the true keys behind each row.

Rows of different copies are linked through the kept columns; replaced columns are regressed on kept
ones in the copies; what linked rows have in common tells how much of the truth they carry (``risk.channel``). The keys
x of the person behind row r then have mean m_r and covariance V, and the posterior is followed key by key,

    p(x | row)  =  Π_j p(x_j | x_1 … x_{j−1}, row),

categorical keys first. A number given the keys before it is normal. For a level, the conditional mean of its indicator
is taken for its probability, cut to [0, 1] and mixed with a little of nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synthdp.arrays import Codes, Floats
from synthdp.evaluation.risk.channel import LARGEST_CELL, SMALLEST_SD, SURE, Channel, pair_cells
from synthdp.evaluation.risk.public_columns import Coding, Place
from synthdp.evaluation.risk.public_study import Public
from synthdp.table.coded import coded

# rows coded at once
STRETCH = 50_000
# probability of a level that the linear score rules out
FLOOR = 0.01


@dataclass(frozen=True, repr=False)
class PublicPosterior:
    """log p(true keys of a record | a row and what is linked to it), as ``risk.bayes.LogPosterior`` asks for.

    The fields are what :func:`synthdp.evaluation.risk.scoring.score_chain` reads, rows in the order of the first
    copy; ``kind`` says how many rows are linked to each, as a position in ``offset``. ``lead_here`` and ``lead_there``
    are the sharpest number of targets and rows, in standard deviations of its posterior.
    """

    kind: Codes
    offset: Floats
    here: Floats
    there: Floats
    share_here: Floats
    share_there: "np.ndarray[tuple[int, int], np.dtype[np.float32]]"
    column: Codes
    lead_here: Floats
    lead_there: Floats

    def __repr__(self) -> str:
        return f"PublicPosterior({len(self.kind)} rows, {self.there.shape[1] + self.column.shape[1]} keys)"

    def __call__(self, targets: Codes, rows: Codes) -> Floats:
        """Return the log posterior of the targets' keys given the rows: O(targets · rows) for each key."""
        kind = self.kind[rows]
        found = np.tile(self.offset[kind], (len(targets), 1))
        for key in range(self.there.shape[1]):
            gap = self.here[kind[None, :], targets[:, None], key] - self.there[rows, key]
            found -= 0.5 * np.where(np.isnan(gap), 0.0, gap) ** 2
        for key in range(self.column.shape[1]):
            level = self.column[targets, key]
            chance = self.share_here[kind[None, :], targets[:, None], key]
            chance = chance + self.share_there[rows[None, :], level[:, None]]
            found += np.where(level[:, None] >= 0, np.log(FLOOR + (1 - FLOOR) * np.clip(chance, 0.0, 1.0)), 0.0)
        return found


def posterior_of(
    public: Public, channel: Channel, *, rows: Codes | None = None, rng: np.random.Generator
) -> PublicPosterior:
    """Work out what every row says: a stretch of rows at a time, O(width²) for each row.

    Parameters
    ----------
    rows
        Only these rows and records, which are then numbered from 0; all by default.
    rng
        Decides among rows that fit equally well.
    """
    files, keys = public.comparison, public.keys
    linked = _linked(public, channel, rng)
    rows = np.arange(linked.shape[1]) if rows is None else rows
    count = (linked[:, rows] >= 0).sum(axis=0)
    sizes, kind = np.unique(count, return_inverse=True)
    places = np.asarray([at for key in keys for at in range(key.first, key.stop)], dtype=np.int64)
    chains = [Chain.of(channel.variance(int(k))[np.ix_(places, places)], keys) for k in sizes]
    gains = [channel.gain(int(k))[places] for k in sizes]
    number = [j for j, key in enumerate(keys) if not key.levels]
    levels = [key for key in keys if key.levels]
    first = np.cumsum([0, *(key.levels for key in levels)])
    n = len(rows)
    here, there = np.empty((len(sizes), n, len(number))), np.empty((n, len(number)))
    share_here, share_there = np.zeros((len(sizes), n, len(levels))), np.empty((n, first[-1]), dtype=np.float32)
    column = np.full((n, len(levels)), -1, dtype=np.int64)
    means, truth = np.empty((n, len(number))), np.empty((n, len(number)))
    at = [int(np.flatnonzero(places == keys[j].first)[0]) for j in number]
    for begin in range(0, n, STRETCH):
        part = slice(begin, min(begin + STRETCH, n))
        base = coded(files.copies[0]).take(rows[part])
        original = coded(files.original).take(rows[part])
        mean = public.residuals(0, rows[part])
        for copy in range(1, len(files.copies)):
            partner = linked[copy, rows[part]]
            mean[partner >= 0] += public.residuals(copy, partner[partner >= 0])
        mean /= count[part, None]
        expected = (public.kept.matrix(base) @ public.slopes)[:, places]
        x = Coding(keys).matrix(original)
        filled = np.where(np.isnan(x), expected.mean(axis=0), x)
        for level, key in enumerate(levels):
            column[part, level] = first[level] + key.level(original)
        for number_, (chain, gain) in enumerate(zip(chains, gains, strict=True)):
            mine = np.flatnonzero(kind[part] == number_)
            shown = expected[mine] + mean[mine] @ gain.T
            a, b = chain.conditional(shown), chain.conditional(filled)
            there[begin + mine] = a[:, at] / chain.sd
            here[number_, part] = np.where(np.isnan(x[:, at]), np.nan, b[:, at]) / chain.sd
            means[begin + mine] = shown[:, at]
            share_there[begin + mine] = a[:, : first[-1]]
            for level in range(len(levels)):
                own = column[part, level]
                # a − b leaves the level itself out of b: the indicator is what is predicted, not what predicts
                share_here[number_, part, level] = (filled - b)[np.arange(len(own)), own]
        truth[part] = x[:, at]
    offset = np.asarray([-np.log(chain.sd).sum() for chain in chains])
    lead_here, lead_there = _leading(means, truth, [chain.alone[at] for chain in chains])
    return PublicPosterior(
        kind, offset - offset.max(), here, there, share_here, share_there, column, lead_here, lead_there
    )


@dataclass(frozen=True, repr=False)
class Chain:
    """Keys one after another: what the ones before predict of each, and what is then left.

    ``before`` is lower triangular by keys: row j predicts coordinate j from the coordinates of the keys before it.
    ``sd`` is the conditional standard deviation of numbers, ``alone`` that of every coordinate by itself.
    """

    before: Floats
    sd: Floats
    alone: Floats

    @classmethod
    def of(cls, variance: Floats, keys: Sequence[Place]) -> "Chain":
        """Return the chain of keys with this covariance."""
        alone = np.sqrt(np.maximum(np.diag(variance), 0.0))
        scale = np.where(alone > 0, alone, 1.0)
        like = variance / np.outer(scale, scale)
        before, left, begin = np.zeros_like(like), [], 0
        for key in keys:
            stop = begin + max(1, key.levels)
            if begin:
                known = np.linalg.pinv(like[:begin, :begin], rcond=1e-9, hermitian=True)
                before[begin:stop, :begin] = like[begin:stop, :begin] @ known
            if not key.levels:
                rest = like[begin, begin] - before[begin, :begin] @ like[:begin, begin]
                left.append(scale[begin] * np.sqrt(max(rest, SMALLEST_SD**2)))
            begin = stop
        return cls(before * scale[:, None] / scale, np.asarray(left), scale)

    def conditional(self, vectors: Floats) -> Floats:
        """Return each coordinate less what the keys before it predict."""
        return vectors - vectors @ self.before.T


def _linked(public: Public, channel: Channel, rng: np.random.Generator) -> Codes:
    """Return for each copy the row linked to each row of the first copy, −1 for none; shape (copies, n)."""
    n, copies = len(public.cells.label), len(public.comparison.copies)
    found = np.full((copies, n), -1, dtype=np.int64)
    found[:, public.cells.size == 1] = np.flatnonzero(public.cells.size == 1)
    found[0] = np.arange(n)
    if np.all(channel.apart == 1.0):
        return found
    for size in range(2, LARGEST_CELL + 1):
        members = public.cells.of_size(size)
        step = max(1, STRETCH // size)
        for begin in range(0, len(members), step):
            some = members[begin : begin + step]
            first = public.residuals(0, some.ravel()).reshape(*some.shape, -1)
            for copy in range(1, copies):
                other = public.residuals(copy, some.ravel()).reshape(*some.shape, -1)
                chosen, sure = pair_cells(first, other, channel, rng=rng)
                found[copy, some] = np.where(sure > SURE, np.take_along_axis(some, chosen, axis=1), -1)
    return found


def _leading(means: Floats, truth: Floats, sds: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return the number that tells rows apart best, of targets and of rows, in standard deviations."""
    if not means.shape[1]:
        return np.zeros(len(means)), np.zeros(len(means))
    sd = np.max(sds, axis=0)
    best = int(np.argmax(means.std(axis=0) / sd))
    return truth[:, best] / sd[best], means[:, best] / sd[best]
