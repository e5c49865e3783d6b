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
Which totals: those that are farthest off, in their standard errors, a few at a time; three for every ten records at
most, and 180, or 360 where a column of levels has few records to each (see ``strength``). With a quarter as many,
intervals of small files covered no better, copies were less useful, and hardly less was found of anybody
(reports/small_totals). In large files both the totals and where the search for λ starts are found by evenly spaced
records.

References
----------
Reiter, Kinney (2012), Journal of Official Statistics 28(4), 583-590. Efron, Tibshirani (1996), Annals of Statistics
24(6), 2431-2461 (tilts by exponential families).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from synthdp.arrays import Codes, Floats
from synthdp.imputation.auto.totals import Total, Totals
from synthdp.imputation.auto.weighing import Weighing

# a total for so many records, at most so many in a round, and how far off in standard errors is near enough
RECORDS_A_TOTAL, MOST_A_ROUND, NEAR = 5, 60, 0.1
# the second where a column has few records to a level
MOST_WHERE_LEVELS_ARE_SMALL = 120
# whether a round is one for bins: these come last, so that they take no place of what analysts estimate
ROUNDS = (False, False, True)
# records by which totals are chosen, at most
SPACED = 4_000


@dataclass(frozen=True, repr=False)
class Matching:
    """The totals that a copy keeps.

    Parameters
    ----------
    totals
        What could be matched.
    chosen
        What is, feature by feature.
    tilt
        λ.
    """

    totals: Totals
    chosen: tuple[Total, ...] = ()
    tilt: Floats = field(default_factory=lambda: np.empty(0))

    def choose(self, rows: Codes, values: Mapping[str, Floats], base: Floats) -> "Matching":
        """Choose totals by some records and their paths.

        Cost O(m · (features · (paths + kept²) + t²)) for m records and t totals.

        Parameters
        ----------
        values
            The paths of every replaced column, records by paths.
        base
            Their log weights.
        """
        most = MOST_WHERE_LEVELS_ARE_SMALL if self.totals.strengths else MOST_A_ROUND
        size = int(np.clip(len(self.totals.kept) // (RECORDS_A_TOTAL * 2), 1, most))
        kept, seen, drawn = self.totals.kept[rows], self.totals.records(rows), self.totals.paths(values)
        found, problem = self, Weighing.of(kept, seen, drawn, base, self.chosen)
        for bins in ROUNDS:
            shares = problem.shares(found.tilt)
            means = np.einsum("nkq,nk->nq", drawn, shares)
            reach = np.sqrt(np.einsum("nkq,nk->nq", (drawn - means[:, None, :]) ** 2, shares))
            new = self.totals.farthest(rows, seen - means, reach, taken=found.chosen, most=size, near=NEAR, bins=bins)
            if new:
                found = found.beside(new)
                problem = Weighing.of(kept, seen, drawn, base, found.chosen)
                found = replace(found, tilt=problem.solve(found.tilt))
        return found

    def beside(self, new: list[Total]) -> "Matching":
        """Return the same with further totals, whose λ is 0 so far."""
        chosen, tilt = (*self.chosen, *new), np.concatenate([self.tilt, np.zeros(len(new))])
        order = sorted(range(len(chosen)), key=lambda place: chosen[place])
        return replace(self, chosen=tuple(chosen[place] for place in order), tilt=tilt[order])

    def taken(
        self, rows: Codes, values: Mapping[str, Floats], log_weight: Floats, *, rng: np.random.Generator
    ) -> tuple[Codes, "Matching"]:
        """Return which path each record takes, and the totals: what was chosen for one part of a file serves the next.

        Cost O(n · (paths · features + t)) for each of about ten steps, with t totals, and O(t²) a record for each of
        about t / 16 records of the walk.
        """
        allowed = np.isfinite(log_weight).any(axis=1, keepdims=True)
        base = np.where(allowed, log_weight, 0.0)
        values = self.totals.asked(rows, values)
        found = self
        if not self.chosen:
            part = np.arange(0, len(rows), -(-len(rows) // SPACED))
            found = self.choose(rows[part], {name: paths[part] for name, paths in values.items()}, base[part])
        problem = found._problem(rows, values, base)
        found = replace(found, tilt=problem.solve(found.tilt))
        return problem.walk(found.tilt, rng=rng), found

    def _problem(self, rows: Codes, values: Mapping[str, Floats], base: Floats) -> Weighing:
        used = sorted({total[0] for total in self.chosen})
        seen, drawn = self.totals.records(rows, used), self.totals.paths(values, used)
        renumbered = tuple((used.index(f), j, k) for f, j, k in self.chosen)
        return Weighing.of(self.totals.kept[rows], seen, drawn, base, renumbered)
