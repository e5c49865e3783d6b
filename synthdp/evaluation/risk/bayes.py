"""The intruder who knows mask, model and parameters: a posterior handed in from outside decides which row is whose."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.risk.identity import chance_hits, refuse_unless_aligned
from synthdp.evaluation.risk.likelihood import LikelihoodRisk, summarise
from synthdp.evaluation.risk.scoring import TIE
from synthdp.evaluation.risk.traces import unchanged
from synthdp.table.microdata import Codes, Floats

NAME = "identity_bayes"
MOST_PAIRS = 2 * 10**7
FEWEST_TARGETS = 200
# pairs of a target and a row looked at in one go: 2 MB an array, which stays in the cache
AT_ONCE = 2.5 * 10**5


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
    >>> channel = GaussianChannel(age, (age + 0.1)[None], sd=0.2)
    >>> evaluate_bayes(files, channel, rng=np.random.default_rng(1)).expected_links
    30.0
    """
    refuse_unless_aligned(comparison, NAME)
    n = len(comparison.original)
    block = unchanged(comparison)
    if targets is None:
        size = min(n, max(FEWEST_TARGETS, most_pairs // n))
        targets = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))
    # what a posterior learnt for one fold of records is used up before the next is asked for
    folds = getattr(log_posterior, "folds", np.zeros(n, dtype=np.int64))
    targets = targets[np.argsort(folds[targets], kind="stable")]
    size = len(targets)
    share, posterior, predicted = np.empty(size), np.empty(size), np.empty(size)
    winner = np.empty(size, dtype=np.int64)
    everyone = np.arange(n)
    step = max(1, int(AT_ONCE // n))
    for begin in range(0, size, step):
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


@dataclass(frozen=True, repr=False)
class GaussianChannel:
    """A numeric key released as y_m = a + b x + u + e_m, with u common to the copies of a record and e_m to none.

    Noise once for all copies has sd 0 and a common part; noise per copy has no common part. A draw from a regression
    given a Gaussian mask is of this form, with a different for every row.

    Parameters
    ----------
    x
        True values, shape (n,).
    y
        Released values, shape (M, n).
    sd, common
        Standard deviations of e and u; not both zero.
    intercept, slope
        a, one number or one for each row, and b.
    prior_mean, prior_sd
        Of x given what else a row shows, one mean or one for each row; an infinite sd says that it shows nothing.
    """

    x: Floats
    y: Floats
    sd: float
    common: float = 0.0
    intercept: Floats | float = 0.0
    slope: float = 1.0
    prior_mean: Floats | float = 0.0
    prior_sd: float = np.inf

    def __repr__(self) -> str:
        return f"GaussianChannel({len(self.x)} records, {len(self.y)} copies)"

    def __call__(self, targets: Codes, rows: Codes) -> Floats:
        """Return log p(x of targets | y of rows) up to a constant.

        With ȳ the mean of M copies and s² = sd²/M + common², the precision of x is 1/prior_sd² + b²/s², and its mean
        the average of prior_mean and (ȳ − a)/b, weighted by these two.
        """
        told = self.slope**2 / (self.sd**2 / len(self.y) + self.common**2)
        before = self.prior_sd**-2
        seen = told / self.slope * (self.y.mean(axis=0) - self.intercept) if self.slope else np.zeros(len(self.x))
        mean = (before * self.prior_mean + seen) / (before + told)
        gap = mean[rows][None, :] - self.x[targets][:, None]
        return np.asarray(-0.5 * (before + told) * gap**2)
