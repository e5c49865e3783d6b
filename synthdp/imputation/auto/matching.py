"""Draws whose totals are those of the file: what analysts estimate is kept, whatever law a column was given.

A record's draw is one of several paths, chosen by weight. A law of the replaced columns given the kept ones can be good
and still bend what an analyst asks: with y kept and x drawn given y, a slope of y on x that differs between groups, or
that is straight only on x's own scale. So the weights are tilted,

    P(path k of record i)  ∝  weight_ik · exp(λ't(x_ik, z_i))

with λ such that the expected totals Σ t are those of the file (see ``totals`` for what is totalled). It is the
likelihood of an exponential family, the original against the paths of its record, and convex in λ. Estimates that are
functions of such totals (means, variances, tables, regressions with and without products) are then those of the file
but for the draw, and the draw itself is balanced: it leaves a total off by a few records' worth.

λ is estimated, not drawn: combining rules for partially synthetic copies hold all the same (Reiter and Kinney 2012).
Which totals, and from where the search for λ starts, is learnt once for all copies, from paths that know nothing of W:
the tilt mends p(x | z), which is the same for all of them. Those that are farthest off, in their standard errors, are
taken, a few at a time; three for every forty records at most, and 180.

References
----------
Reiter, Kinney (2012), Journal of Official Statistics 28(4), 583-590. Efron, Tibshirani (1996), Annals of Statistics
24(6), 2431-2461 (tilts by exponential families).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from synthdp.arrays import Codes, Floats
from synthdp.imputation.auto.totals import Total, Totals
from synthdp.imputation.auto.weighing import Weighing

ROUNDS = 2
# a total for so many records, at most so many in a round, and how far off in standard errors is near enough
RECORDS_A_TOTAL, MOST_A_ROUND, NEAR = 20, 60, 0.1
# records by which totals are chosen, at most, and the paths each of them has then; by so many their λ is found
SPACED, PATHS = 4_000, 16
REFINED, FEWER_PATHS = 32_000, 4


@dataclass(frozen=True, repr=False)
class Matching:
    """The totals that copies keep, and where the search for λ starts.

    Parameters
    ----------
    totals
        What could be matched.
    chosen
        What is, feature by feature.
    tilt
        λ of paths that know nothing of W.
    """

    totals: Totals
    chosen: tuple[Total, ...]
    tilt: Floats

    @classmethod
    def learn(cls, totals: Totals, rows: Codes, values: Mapping[str, Floats]) -> "Matching":
        """Choose the totals by some records and their paths.

        Cost O(m · (features · (paths + kept²) + t²)) for m records and t totals.

        Parameters
        ----------
        rows
            The records, as places in the file.
        values
            The paths of every replaced column, records by paths.
        """
        size = int(np.clip(len(totals.kept) // (RECORDS_A_TOTAL * ROUNDS), 1, MOST_A_ROUND))
        seen, drawn = totals.records(rows), totals.paths(values)
        shares = np.full(drawn.shape[:2], 1 / drawn.shape[1])
        found = cls(totals, (), np.empty(0))
        # the last round is for bins, so that they take no place of what analysts estimate
        for turn in range(ROUNDS + 1):
            means = np.einsum("nkq,nk->nq", drawn, shares)
            reach = np.sqrt(np.einsum("nkq,nk->nq", (drawn - means[:, None, :]) ** 2, shares))
            new = totals.farthest(
                rows, seen - means, reach, taken=found.chosen, most=size, near=NEAR, bins=turn == ROUNDS
            )
            if new:
                found = found.beside(new)
                problem = Weighing.of(totals.kept[rows], seen, drawn, np.zeros(shares.shape), found.chosen)
                found = replace(found, tilt=problem.solve(found.tilt))
                shares = problem.shares(found.tilt)
        return found

    def refined(self, rows: Codes, values: Mapping[str, Floats]) -> "Matching":
        """Return the same with λ found by more records."""
        problem = self._problem(rows, values, np.zeros(next(iter(values.values())).shape))
        return replace(self, tilt=problem.solve(self.tilt))

    def beside(self, new: list[Total]) -> "Matching":
        """Return the same with further totals, whose λ is 0 so far."""
        chosen, tilt = (*self.chosen, *new), np.concatenate([self.tilt, np.zeros(len(new))])
        order = sorted(range(len(chosen)), key=lambda place: chosen[place])
        return replace(self, chosen=tuple(chosen[place] for place in order), tilt=tilt[order])

    def taken(
        self, rows: Codes, values: Mapping[str, Floats], log_weight: Floats, *, rng: np.random.Generator
    ) -> Codes:
        """Return which path each record takes.

        Totals that these paths cannot reach, because W has settled them, are left alone.

        Cost O(n · (paths · features + t)) for each of about ten steps, with t totals, and O(t²) a record for each of
        about t / 16 records of the walk.
        """
        allowed = np.isfinite(log_weight).any(axis=1, keepdims=True)
        base = np.where(allowed, log_weight, 0.0)
        problem = self._problem(rows, values, base)
        within = problem.within_reach(self.tilt)
        problem = problem.some(within)
        return problem.walk(problem.solve(self.tilt[within]), rng=rng)

    def _problem(self, rows: Codes, values: Mapping[str, Floats], base: Floats) -> Weighing:
        used = sorted({total[0] for total in self.chosen})
        seen, drawn = self.totals.records(rows, used), self.totals.paths(values, used)
        renumbered = tuple((used.index(f), j, k) for f, j, k in self.chosen)
        return Weighing.of(self.totals.kept[rows], seen, drawn, base, renumbered)
