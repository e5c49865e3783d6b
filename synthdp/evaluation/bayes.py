"""The intruder who knows mask, model and parameters: a posterior handed in from outside decides which row is whose."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from synthdp.evaluation.comparison import Comparison
from synthdp.evaluation.identity import chance_hits, refuse_unless_aligned
from synthdp.evaluation.likelihood import FEWEST_TARGETS, LikelihoodRisk, summarise
from synthdp.microdata import Codes, Floats
from synthdp.neighbours.scoring import TIE

NAME = "identity_bayes"
MOST_PAIRS = 2 * 10**7


class LogLikelihood(Protocol):
    """How probable released rows are for a person: what whoever made the copies can say exactly.

    The evaluation knows neither mask nor model; the pipeline that does hands this in.
    """

    def __call__(self, targets: Codes, rows: Codes) -> Floats:
        """Return log p(all copies of row r | the true keys of record i), shape (targets, rows)."""


def evaluate_bayes(
    comparison: Comparison,
    log_likelihood: LogLikelihood,
    *,
    rng: np.random.Generator,
    permutations: int = 200,
    most_pairs: int = MOST_PAIRS,
) -> LikelihoodRisk:
    """Attack aligned copies with the exact likelihood of their rows.

    The intruder holds the true keys x of a target, knows that the target is in the file, holds all copies, and knows
    how they were made: row r is the target's with probability ∝ p(y_r | x) / p(y_r), where p(y_r) is the mean of
    p(y_r | x') over the people attacked. They point at the most probable row. ``predicted`` is the probability they
    give to that row, not recalibrated: with the right likelihood it is right by itself.

    Parameters
    ----------
    log_likelihood
        Of rows given targets.
    most_pairs
        How many pairs of a target and a row may be asked for; above, targets are sampled and an interval given.

    Raises
    ------
    InputError
        If the attack cannot be made on these files.

    Examples
    --------
    >>> import pandas as pd
    >>> from synthdp.microdata import resolve
    >>> from synthdp.schema import Variable
    >>> age = np.arange(30.0)
    >>> data = resolve(pd.DataFrame({"age": age}), {"age": Variable(role="replace", key=True)})
    >>> files = Comparison(data.frame, (pd.DataFrame({"age": age + 0.1}),), data.schema, aligned=True)
    >>> channel = GaussianChannel(age, (age + 0.1)[None], sd=0.2)
    >>> evaluate_bayes(files, channel, rng=np.random.default_rng(1)).expected_links
    30.0
    """
    refuse_unless_aligned(comparison, NAME)
    n = len(comparison.original)
    size = min(n, max(FEWEST_TARGETS, most_pairs // n))
    targets = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))
    scores = log_likelihood(targets, np.arange(n))
    scores = scores - np.logaddexp.reduce(scores, axis=0) + np.log(size)
    largest = scores.max(axis=1, keepdims=True)
    tied = scores >= largest - TIE
    own = scores[np.arange(size), targets]
    share = np.where(tied[np.arange(size), targets], 1 / tied.sum(axis=1), 0.0)
    total = np.logaddexp.reduce(scores, axis=1)
    winner = np.argmax(np.where(tied, rng.random(tied.shape), -1.0), axis=1)
    chance = chance_hits(winner, targets, n, permutations, rng=rng)
    predicted = np.exp(largest[:, 0] - total)
    return summarise(
        np.ones(n, dtype=np.int64) * n, comparison.groups, targets, share, np.exp(own - total), predicted, chance
    )


@dataclass(frozen=True, repr=False)
class GaussianChannel:
    """A numeric key released as y_m = a + b x + u + e_m, with u common to the copies of a record and e_m to none.

    Noise once for all copies has sd 0 and a common part; noise per copy has no common part.

    Parameters
    ----------
    x
        True values, shape (n,).
    y
        Released values, shape (M, n).
    sd, common
        Standard deviations of e and u; not both zero.
    """

    x: Floats
    y: Floats
    sd: float
    common: float = 0.0
    intercept: float = 0.0
    slope: float = 1.0

    def __repr__(self) -> str:
        return f"GaussianChannel({len(self.x)} records, {len(self.y)} copies)"

    def __call__(self, targets: Codes, rows: Codes) -> Floats:
        """Return log p(y of rows | x of targets); what does not depend on the target is left out.

        With ȳ the mean of M copies, log p = −(ȳ − a − b x)²/(2 (sd²/M + common²)) + constant.
        """
        mean = self.y.mean(axis=0)[rows]
        variance = self.sd**2 / len(self.y) + self.common**2
        gap = mean[None, :] - self.intercept - self.slope * self.x[targets][:, None]
        return np.asarray(-0.5 * gap**2 / variance)
