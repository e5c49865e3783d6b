"""The intruder who weighs all rows against each other, over shards: exact, because what rows weigh adds up.

A row r has the score s_r for a target; the intruder gives it exp(t s_r) / Σ exp(t s). Of a shard it takes the logarithm
of that sum for every temperature t, the largest score, and how many rows have it.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from synthdp.arrays import Booleans, Codes, Floats
from synthdp.evaluation.risk.likelihood import LikelihoodRisk, best_by_fold
from synthdp.evaluation.risk.scoring import TIE
from synthdp.evaluation.sharded.matching import sampling


@dataclass(frozen=True, repr=False)
class Weighed:
    """What rows weigh for each target.

    Parameters
    ----------
    total
        log Σ exp(t s_r) over the rows looked at, shape (targets, temperatures); −inf without candidates.
    largest, ties
        The largest score, and how many rows have it.
    own
        The score of the own row; −inf where it is no candidate, or not among the rows looked at.
    """

    total: Floats
    largest: Floats
    ties: Codes
    own: Floats

    def __repr__(self) -> str:
        return f"Weighed({len(self.own)} targets)"

    def __add__(self, other: Self) -> "Weighed":
        """Return what two parts of a file come to."""
        largest = np.maximum(self.largest, other.largest)
        ties = np.zeros(len(largest), dtype=np.int64)
        with np.errstate(invalid="ignore"):
            for one in (self, other):
                ties += np.where((one.largest >= largest - TIE) & np.isfinite(one.largest), one.ties, 0)
        return Weighed(np.logaddexp(self.total, other.total), largest, ties, np.maximum(self.own, other.own))

    def posterior(self, temperatures: Floats) -> tuple[Floats, Floats]:
        """Return log posteriors of the own row and of the row with the largest score, shape (targets, temperatures)."""
        with np.errstate(invalid="ignore"):
            mine = temperatures * self.own[:, None] - self.total
            top = temperatures * self.largest[:, None] - self.total
        return np.where(np.isfinite(self.own)[:, None], mine, -np.inf), np.where(np.isnan(top), -np.inf, top)

    @property
    def right(self) -> Floats:
        """The probability that the row pointed at is the own one."""
        with np.errstate(invalid="ignore"):
            best = np.isfinite(self.own) & (self.own >= self.largest - TIE)
        return np.where(best, 1.0 / np.maximum(self.ties, 1), 0.0)

    def risk(
        self,
        records: int,
        typical: Booleans,
        temperatures: Floats,
        *,
        folds: Codes | None = None,
        few: Codes | None = None,
    ) -> LikelihoodRisk:
        """Return what the intruder achieves; arrays are of the targets, rates of those that are a random sample.

        Parameters
        ----------
        folds, few
            The fold of each target, and the targets on which the temperature is tuned (those of other folds); None
            where there is one temperature.
        """
        mine, top = self.posterior(temperatures)
        if folds is None or few is None:
            place = np.zeros(len(self.own), dtype=np.int64)
        else:
            place = best_by_fold(mine[few], folds[few])[folds]
        every = np.arange(len(place))
        posterior, predicted = np.exp(mine[every, place]), np.exp(top[every, place])
        share = self.right
        scale = records / max(1, int(typical.sum()))
        return LikelihoodRisk(
            posterior,
            np.where(predicted > 0, predicted, np.nan),
            share,
            expected_links=float(share[typical].sum()) * scale,
            expected_links_rate=float(share[typical].mean()) if typical.any() else 0.0,
            # one row each among so many: Poisson with a mean of at most the targets over the records
            expected_links_chance=1.0 * scale if typical.any() else 0.0,
            expected_links_kept=float("nan"),
            predicted_links=float(predicted[typical].sum()) * scale,
            mean_posterior=float(posterior[typical].mean()) if typical.any() else 0.0,
            max_posterior=float(posterior.max(initial=0.0)),
            per_group=[],
            sampled=sampling(records, typical, {"expected_links": share, "mean_posterior": posterior}),
        )


def weigh(scores: Floats, own: Codes, temperatures: Floats) -> Weighed:
    """Return what rows with these scores weigh, shape (targets, rows); −inf for rows that are no candidates.

    Parameters
    ----------
    own
        Which of the rows is the own one of each target, −1 for none.

    Examples
    --------
    >>> part = weigh(np.log([[0.5, 0.25]]), np.array([0]), np.ones(1))
    >>> other = weigh(np.log([[0.25]]), np.array([-1]), np.ones(1))
    >>> np.exp((part + other).posterior(np.ones(1))[0]).round(3).tolist()
    [[0.5]]
    """
    largest = scores.max(axis=1, initial=-np.inf)
    safe = np.where(np.isfinite(largest), largest, 0.0)
    gap = scores - safe[:, None]
    ties = np.where(np.isfinite(largest), (gap >= -TIE).sum(axis=1), 0)
    total = np.empty((len(scores), len(temperatures)))
    with np.errstate(divide="ignore"):
        for place, t in enumerate(temperatures):
            total[:, place] = np.log(np.exp(t * gap).sum(axis=1)) + t * safe
    mine = np.full(len(scores), -np.inf)
    here = np.flatnonzero(own >= 0)
    mine[here] = scores[here, own[here]]
    return Weighed(total, largest, ties.astype(np.int64), mine)


def nothing(targets: int, temperatures: Floats) -> Weighed:
    """Return what no row at all weighs."""
    none: npt.NDArray[np.float64] = np.full(targets, -np.inf)
    return Weighed(np.full((targets, len(temperatures)), -np.inf), none, np.zeros(targets, dtype=np.int64), none)
