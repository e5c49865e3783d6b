"""The intruder with the public files only, over shards: all rows are weighed by what a sample of the copies showed.

In memory this intruder must find out which rows of different copies belong together. Here they are told, which they can
only gain by: on kept columns that tell people apart nobody has to be told, and nobody can search all rows of a file
that is read shard by shard. What a row says is otherwise worked out as :mod:`synthdp.evaluation.risk.public_posterior`
does it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.channel import MaskDraw
from synthdp.evaluation.risk.likelihood import TUNED_ON, LikelihoodRisk
from synthdp.evaluation.risk.public import FEWEST_TUNED, TEMPERATURES, TUNING_PAIRS, chosen_channel
from synthdp.evaluation.risk.public_columns import Coding, Kept, Place
from synthdp.evaluation.risk.public_posterior import FLOOR, Chain
from synthdp.evaluation.risk.public_study import study
from synthdp.evaluation.risk.scoring import sum_chain, windows
from synthdp.evaluation.risk.traces import unchanged
from synthdp.evaluation.sharded.likelihood import Part
from synthdp.evaluation.sharded.weighing import Weighed
from synthdp.table.coded import Coded, coded, distinct, merge

# rows looked at in one go
STRETCH = 50_000


@dataclass(frozen=True, repr=False)
class PublicLesson:
    """What a sample of the copies shows: what kept columns predict, and what aligned rows have in common.

    ``expected`` stands in for keys that a person does not have; candidates lie within ``reach`` on the number that
    tells rows apart best (``lead`` among the numbers, −1 for none), in standard deviations.
    """

    coding: Coding
    kept: Kept
    slopes: Floats
    keys: tuple[Place, ...]
    chain: Chain
    gain: Floats
    expected: Floats
    lead: int
    reach: float

    @property
    def places(self) -> Codes:
        """Where the keys stand in the vector of replaced columns."""
        return np.asarray([at for key in self.keys for at in range(key.first, key.stop)], dtype=np.int64)

    @property
    def at(self) -> list[int]:
        """Where the numbers stand among the keys."""
        places = self.places
        return [int(np.flatnonzero(places == key.first)[0]) for key in self.keys if not key.levels]

    def says(self, files: Sequence[Coded]) -> tuple[Floats, Floats]:
        """Return what aligned rows say of the keys behind them, and what their kept columns alone predict."""
        predicted = [self.kept.matrix(file) @ self.slopes for file in files]
        mean = np.zeros_like(predicted[0])
        for file, by in zip(files, predicted, strict=True):
            mean += np.nan_to_num(self.coding.matrix(file) - by)
        expected = predicted[0][:, self.places]
        return expected + (mean / len(files)) @ self.gain.T, expected

    def __repr__(self) -> str:
        return f"PublicLesson({len(self.keys)} keys)"


def learn(
    sample: Comparison, *, mask_draw: MaskDraw | None, rng: np.random.Generator, wider: float = 1.0
) -> PublicLesson:
    """Learn from aligned copies of a sample of the records; no true value is used.

    Candidates are looked for ``wider`` times as far around as the farthest own row of the sample is.
    """
    public = study(sample, mask_draw=mask_draw, rng=rng)
    channel = chosen_channel(public, unchanged(sample), rng)
    places = np.asarray([at for key in public.keys for at in range(key.first, key.stop)], dtype=np.int64)
    count = len(sample.copies)
    chain = Chain.of(channel.variance(count)[np.ix_(places, places)], public.keys)
    lesson = PublicLesson(
        public.coding,
        public.kept,
        public.slopes,
        public.keys,
        chain,
        channel.gain(count)[places],
        *(np.zeros(len(places)), -1, np.inf),
    )
    found = _leading(lesson, sample)
    return replace(found, reach=found.reach * wider)


def _leading(lesson: PublicLesson, sample: Comparison) -> PublicLesson:
    """Return the lesson with the number that leads, and how far off it the rows of the sample are."""
    at = lesson.at
    files, original = [coded(copy) for copy in sample.copies], coded(sample.original)
    n = len(original)
    shown, truth, total = np.empty((n, len(at))), np.empty((n, len(at))), np.zeros(len(lesson.expected))
    for begin in range(0, n, STRETCH):
        rows = np.arange(begin, min(begin + STRETCH, n))
        said, expected = lesson.says([file.take(rows) for file in files])
        shown[rows], total = said[:, at], total + expected.sum(axis=0)
        truth[rows] = Coding(lesson.keys).matrix(original.take(rows))[:, at]
    lesson = replace(lesson, expected=total / n)
    if not at:
        return lesson
    sd = lesson.chain.alone[at]
    lead = int(np.argmax(shown.std(axis=0) / sd))
    error = np.abs(truth[:, lead] - shown[:, lead])[np.isfinite(truth[:, lead])] / sd[lead]
    # a hair more, so that rounding excludes nobody's own row
    return replace(lesson, lead=lead, reach=float(error.max(initial=0.0)) * (1 + 1e-9) + 1e-9)


def look(
    lesson: PublicLesson,
    blocks: Sequence[Part],
    held: pd.DataFrame,
    copies: Sequence[pd.DataFrame],
    own: Codes,
) -> Weighed:
    """Return what the rows of a shard weigh for people whose true keys are held.

    Parameters
    ----------
    blocks
        Keys that no copy changed: rows with other values are no candidates.
    own
        Which row of the shard is each target's, −1 where it is in another shard.
    """
    known, size = coded(held), len(own)
    at, levels = lesson.at, [key for key in lesson.keys if key.levels]
    first = np.cumsum([0, *(key.levels for key in levels)])
    here, share_here, column, target = _targets(lesson, known, first, at, levels)
    files = [coded(copy) for copy in copies]
    n = len(files[0])
    block = np.zeros(size + n, dtype=np.int64)
    for part in blocks:
        block = merge(block, distinct(np.concatenate([part.read(known), part.read(files[0])])))
    there, lead = np.empty((n, len(at))), np.zeros(n)
    share_there: npt.NDArray[np.float32] = np.empty((n, first[-1]), dtype=np.float32)
    for begin in range(0, n, STRETCH):
        rows = np.arange(begin, min(begin + STRETCH, n))
        said = lesson.says([file.take(rows) for file in files])[0]
        if lesson.lead >= 0:
            lead[rows] = said[:, at[lesson.lead]] / lesson.chain.alone[at[lesson.lead]]
        shown = lesson.chain.conditional(said)
        there[rows] = shown[:, at] / lesson.chain.sd
        share_there[rows] = shown[:, : first[-1]]
    order = np.lexsort((lead, block[size:])).astype(np.int64)
    ends = (block[size:][order], lead[order], block[:size])
    start, stop = windows(*ends, np.nan_to_num(target), lesson.reach)
    whole = windows(*ends, np.zeros(size), np.inf)
    unknown = np.isnan(target)
    start, stop = np.where(unknown, whole[0], start), np.where(unknown, whole[1], stop)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    found = sum_chain(
        start,
        stop,
        np.where(own >= 0, place[own], -1),
        here,
        np.ascontiguousarray(there[order]),
        share_here,
        np.ascontiguousarray(share_there[order]),
        column,
        FLOOR,
        TEMPERATURES,
    )
    return Weighed(found.total, found.largest, found.ties, found.mine)


def risk(found: Weighed, records: int, typical: Booleans, folds: Codes, *, rng: np.random.Generator) -> LikelihoodRisk:
    """Return what the intruder achieves once all shards have been looked at."""
    tuned_on = min(TUNED_ON, max(FEWEST_TUNED, TUNING_PAIRS // records))
    few = rng.permutation(len(folds))[:tuned_on]
    return found.risk(records, typical, TEMPERATURES, folds=folds, few=few)


def _targets(
    lesson: PublicLesson, known: Coded, first: Codes, at: Sequence[int], levels: Sequence[Place]
) -> tuple[Floats, Floats, Codes, Floats]:
    """Return what the scores need of the people looked for, and where each looks for candidates."""
    x = Coding(lesson.keys).matrix(known)
    filled = np.where(np.isnan(x), lesson.expected, x)
    shown = lesson.chain.conditional(filled)
    here = np.where(np.isnan(x[:, at]), np.nan, shown[:, at]) / lesson.chain.sd
    column = np.full((len(x), len(levels)), -1, dtype=np.int64)
    share = np.zeros((len(x), len(levels)))
    for place, key in enumerate(levels):
        column[:, place] = first[place] + key.level(known)
        # what is left is what the levels before it predict: the indicator is what is predicted, not what predicts
        share[:, place] = (filled - shown)[np.arange(len(x)), column[:, place]]
    lead = x[:, at[lesson.lead]] / lesson.chain.alone[at[lesson.lead]] if lesson.lead >= 0 else np.zeros(len(x))
    return here, share, column, lead
