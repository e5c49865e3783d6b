"""Identity risk from the public files alone: regression on kept columns, spread between copies, all keys at once."""

from dataclasses import dataclass, replace

import numpy as np

from synthdp.evaluation.comparison import Comparison, some
from synthdp.evaluation.risk.channel import Channel, MaskDraw
from synthdp.evaluation.risk.identity import PERMUTATIONS, chance_hits, refuse_without_keys
from synthdp.evaluation.risk.likelihood import TUNED_ON, WORST_LOG, LikelihoodRisk, summarise, tuned
from synthdp.evaluation.risk.linking import line_up
from synthdp.evaluation.risk.public_posterior import FLOOR, PublicPosterior, posterior_of
from synthdp.evaluation.risk.public_study import Public, study
from synthdp.evaluation.risk.scatter import FOLDS
from synthdp.evaluation.risk.scoring import score_chain, windows
from synthdp.evaluation.risk.traces import unchanged
from synthdp.table.microdata import Codes, Floats

NAME = "identity_public"
# terms of scores worked out before targets are sampled: about a second
MOST_WORK = 2e8
FEWEST_TARGETS = 200
TEMPERATURES = np.outer(2.0 ** np.arange(-3, 2), [1.0, np.sqrt(2.0)]).ravel()[:9]
# pairs of a target and a row that the temperature is tuned on
TUNING_PAIRS = 3 * 10**6
FEWEST_TUNED = 100
# rows and records among which candidates are compared
COMPARED_ON = 500


def evaluate_public(
    comparison: Comparison,
    *,
    rng: np.random.Generator,
    mask_draw: MaskDraw | None = "per_copy",
    targets: Codes | None = None,
    most_work: float = MOST_WORK,
) -> LikelihoodRisk:
    """Attack the copies as somebody who has nothing but them, and the true keys of a target who is in the file.

    The intruder holds all copies, their rows in any order, and what ``release.json`` says of the masks. They link rows
    of different copies through the kept columns; where up to four rows share all of them, by the likeliest permutation,
    where more do, a row of the first copy stands alone. From the copies they estimate what kept columns predict, how
    residuals vary, and how much of that linked rows have in common, which gives the joint posterior of all keys of the
    person behind each row (``risk.public_posterior``). Every row being as likely the target's before,

        Pr(row r is the target's | x, copies)  ∝  p(x | row r)^t,

    rows with another value of a key that no copy changed excluded. They point at the likeliest row of the first copy,
    at random among ties; that it was made from the target is success.

    Parameters
    ----------
    comparison
        Copies whose kept columns are those of the original; rows that are not aligned are lined up as
        ``identity_linked`` does it.
    rng
        For folds, ties, samples and permutations.
    mask_draw
        ``per_copy``, ``once`` (also for ``once_orthogonal``), or ``noise`` for numbers with noise and no model behind
        them; None where nobody says: the story that suits other people's records best.
    targets
        Which records to attack; by default all, or a sample where that is too much work.
    most_work
        How many terms may be worked out before targets are sampled.

    Raises
    ------
    InputError
        If there is no key or no copy, or rows cannot be lined up.

    Notes
    -----
    *Exact* but for estimation where numbers are drawn from linear regressions given Gaussian masks of one strength and
    kept columns tell records apart. *Approximated*: levels are indicators whose conditional means are taken for
    probabilities (more than 20 levels: the rarest are one); one residual variance for all rows, also under masks by
    group; regressions are straight lines and squares. The truth enters in one place: the temperature t, by fold from
    the records of other folds, as in ``identity_likelihood``; and, where too few rows can be linked to see what copies
    have in common (no kept columns, one copy), the share of the truth they carry, which such an intruder would have to
    know. Cost: O(M n) for coding and sorting, then the number of candidates times keys: rows of the same block within
    the largest error of the sharpest number.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.table.microdata import resolve
    >>> from synthdp.table.schema import Variable
    >>> draw = np.random.default_rng(1)
    >>> frame = pd.DataFrame({"site": np.arange(300.0), "age": draw.normal(50, 10, 300)})
    >>> data = resolve(frame, {"age": Variable(role="replace", key=True)})
    >>> copies = tuple(frame.assign(age=frame["age"] + draw.normal(0, 1e-4, 300)) for _ in range(3))
    >>> files = Comparison(data.frame, copies, data.schema, aligned=True)
    >>> evaluate_public(files, rng=draw).expected_links > 295
    True
    """
    refuse_without_keys(comparison, NAME)
    files = comparison if comparison.aligned else line_up(comparison, rng=rng)
    public = study(files, mask_draw=mask_draw, rng=rng)
    block = unchanged(files)
    n = len(block)
    folds = rng.permutation(n) % FOLDS
    rows = _Rows.of(posterior_of(public, chosen_channel(public, block, rng), rng=rng), block, folds)
    if targets is None:
        most = n if rows.work <= most_work else max(FEWEST_TARGETS, int(n * most_work / rows.work))
        targets = some(n, most, rng=rng)
    tuned_on = min(TUNED_ON, max(FEWEST_TUNED, TUNING_PAIRS // n))
    few = rng.permutation(targets)[:tuned_on]
    share, winner, mine, top = tuned(rows.score, targets, few, folds, TEMPERATURES, rng=rng)
    chance = chance_hits(winner, targets, n, PERMUTATIONS, rng=rng)
    sizes = np.bincount(block)[block]
    return summarise(sizes, files.groups, targets, share, np.exp(mine), np.exp(top), chance)


@dataclass(frozen=True, repr=False)
class _Rows:
    """Rows sorted by block and sharpest number, and where the candidates of each record lie among them."""

    posterior: PublicPosterior
    folds: Codes
    order: Codes
    own: Codes
    start: Codes
    stop: Codes

    @classmethod
    def of(cls, posterior: PublicPosterior, block: Codes, folds: Codes) -> "_Rows":
        here, there = posterior.lead_here, posterior.lead_there
        order = np.lexsort((there, block)).astype(np.int64)
        known = np.isfinite(here)
        # a hair more, so that rounding excludes nobody's own row
        reach = float(np.abs(here - there)[known].max(initial=0.0)) * (1 + 1e-9) + 1e-9
        start, stop = windows(block[order], there[order], block, np.where(known, here, 0.0), reach)
        whole = windows(block[order], there[order], block, np.zeros(len(block)), np.inf)
        start, stop = np.where(known, start, whole[0]), np.where(known, stop, whole[1])
        own = np.empty_like(order)
        own[order] = np.arange(len(order))
        moved = replace(
            posterior,
            kind=posterior.kind[order],
            there=np.ascontiguousarray(posterior.there[order]),
            share_there=np.ascontiguousarray(posterior.share_there[order]),
        )
        return cls(moved, folds, order, own, start, stop)

    @property
    def work(self) -> float:
        """How many terms a full attack works out."""
        terms = max(1, self.posterior.there.shape[1] + self.posterior.column.shape[1])
        return float(np.sum(self.stop - self.start)) * float(terms)

    def score(self, targets: Codes, pick: Floats, temperatures: Floats) -> tuple[Floats, Codes, Floats, Floats]:
        """Return what ``score_chain`` does, winners as records."""
        told = self.posterior
        share, winner, mine, top = score_chain(
            *(targets, self.folds, self.start, self.stop, self.own, pick, told.kind, told.offset),
            *(told.here, told.there, told.share_here, told.share_there, told.column, FLOOR, temperatures),
        )
        return share, np.where(winner >= 0, self.order[winner], -1), mine, top


def chosen_channel(public: Public, block: Codes, rng: np.random.Generator) -> Channel:
    """Return the channel under which own rows are most probable among a few thousand, where there is a choice."""
    if len(public.channels) == 1:
        return public.channels[0]
    n = len(block)
    few = np.sort(rng.choice(n, min(n, COMPARED_ON), replace=False))
    worth = []
    for channel in public.channels:
        rows = _Rows.of(
            posterior_of(public, channel, rows=few, rng=rng), block[few], np.zeros(len(few), dtype=np.int64)
        )
        some = np.arange(len(few))[:TUNED_ON]
        _, _, mine, _ = rows.score(some, rng.random(len(some)), TEMPERATURES[None, :].copy())
        worth.append(np.maximum(mine, WORST_LOG).sum(axis=0).max())
    return public.channels[int(np.argmax(worth))]


def learn_public(
    comparison: Comparison, *, mask_draw: MaskDraw | None = "per_copy", rng: np.random.Generator
) -> PublicPosterior:
    """Return the posterior that :func:`evaluate_public` scores rows by, for attacks on several rows together."""
    refuse_without_keys(comparison, NAME)
    files = comparison if comparison.aligned else line_up(comparison, rng=rng)
    public = study(files, mask_draw=mask_draw, rng=rng)
    return posterior_of(public, chosen_channel(public, unchanged(files), rng), rng=rng)
